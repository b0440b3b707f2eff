struct Medium {
    /// Density of the core. range: [0, 10]
    core: f32,
}

fn cloud(p: vec3f, m: Medium) -> f32 {
    return m.core - length(p);
}
