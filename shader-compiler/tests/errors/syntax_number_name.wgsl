fn brdf(wi: vec3f, wo: vec3f) -> vec3f {
    let x = 0.5;
    return vec3f(2x);
}
