struct Material {
    kd: vec3f,
    exponent: f32,
    /// range: [0, 1]
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd / 3.14159265;
}
