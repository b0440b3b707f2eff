struct Material {
    /// Asymmetry. range: (-1, 1)
    g: f32,
}

fn henyey_greenstein(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    return m.g;
}
