struct Material {
    kd: vec3f,
    /// Colour. range: [0, 1], default: (0.5, 0.2)
    k: vec3f,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd / 3.14159265;
}
