struct Medium {
    /// Density of the core. range: [0, 10]
    core: f32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    return m.core - length(p);
}

fn phase(wi: vec3f, wo: vec3f) -> f32 {
    return 0.25 / 3.14159265;
}
