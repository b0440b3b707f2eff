struct Medium {
    /// Density of the core. range: [0, 10]
    p: f32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    return m.p - length(p);
}
