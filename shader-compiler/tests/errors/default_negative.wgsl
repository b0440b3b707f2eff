struct Material {
    /// Seed. default: -1
    seed: u32,
}
fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return wi;
}
