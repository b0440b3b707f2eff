struct Material {
    g: mat2x2f,
}

fn phase(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    return m.g[0][0];
}
