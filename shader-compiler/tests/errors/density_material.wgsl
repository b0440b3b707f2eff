struct Material {
    core: f32,
}

fn density(p: vec3f, m: Material) -> f32 {
    return m.core - length(p);
}
