fn brdf(wi: vec3f, wo: vec3f) -> vec3f {
    let sum = 1.0f32 + wi.z;
    return vec3f(sum);
}
