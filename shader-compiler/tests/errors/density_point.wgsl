struct Medium {
    /// Density of the core. range: [0, 10]
    core: f32,
}

fn density(p: vec2f, m: Medium) -> f32 {
    return m.core - length(p);
}
