struct Material {
    /// Asymmetry. range: (-1, 1)
    g: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return vec3f(m.g);
}

fn phase(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    return m.g;
}
