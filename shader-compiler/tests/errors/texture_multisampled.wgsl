struct Material {
    /// Diffuse albedo. range: [0, 1]
    kd: vec3f,
}

var wood: texture_multisampled_2d<f32>;

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd * textureLoad(wood, vec2(0, 0), 0).rgb;
}
