fn brdf(wi: vec3f, wo: vec3f) -> vec3f {
    if (wi.z = 0.0) { return wi; }
    return wo;
}
