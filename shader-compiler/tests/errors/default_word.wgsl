struct Material {
    kd: vec3f,
    /// Specular exponent. default: many
    k: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd / 3.14159265;
}
