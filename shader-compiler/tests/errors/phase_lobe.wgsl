struct Material {
    /// Asymmetry. range: [-1, 1], lobe: diffuse
    g: f32,
}

fn phase(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    return m.g;
}
