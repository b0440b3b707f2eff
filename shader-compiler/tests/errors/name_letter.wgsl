fn brdf(wi: vec3f, wo: vec3f) -> vec3f {
    let m = wi;
    return m * t;
}
