struct Material {
    kd: vec3f,
    /// Lobes. range: [0.5, 4]
    k: i32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd / 3.14159265;
}
