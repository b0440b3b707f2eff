struct Material {
    /// Asymmetry. range: (-1, 1)
    g: f32,
}

fn phase(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    return m.g;
}

fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    return vec3f(u, m.g);
}
