struct Medium {
    /// Density of the core. range: [0, 10]
    core: f32,
}

fn density(p: vec3f, m: Medium) -> vec2f {
    return m.core - p.xy;
}
