struct Material {
    /// Diffuse albedo. range: [0, 1]
    kd: vec3f,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material, wood: texture_2d<f32>) -> vec3f {
    return m.kd;
}
