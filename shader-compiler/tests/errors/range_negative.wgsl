struct Material {
    kd: vec3f,
    /// Lobes. range: [-1, 4]
    k: u32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd / 3.14159265;
}
