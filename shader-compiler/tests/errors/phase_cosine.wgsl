struct Material {
    /// Asymmetry. range: (-1, 1)
    g: f32,
}

//! cosine: included

fn phase(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    return m.g;
}
