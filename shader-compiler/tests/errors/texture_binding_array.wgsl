struct Material {
    /// Diffuse albedo. range: [0, 1]
    kd: vec3f,
}

var woods: binding_array<texture_2d<f32>, 4>;

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd * textureLoad(woods[1], vec2(0, 0), 0).rgb;
}
