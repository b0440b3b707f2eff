fn brdf(wi: vec3f, wo: vec3f) -> vec3f {
    return vec3f(rcp(wi.z));
}
