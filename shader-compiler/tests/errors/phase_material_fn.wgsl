struct Material {
    /// Asymmetry. range: (-1, 1)
    g: f32,
}

fn material(p: SurfacePoint) -> Material {
    return Material(p.uv.x);
}

fn phase(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    return m.g;
}
