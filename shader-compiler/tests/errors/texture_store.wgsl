struct Material {
    /// Diffuse albedo. range: [0, 1]
    kd: vec3f,
}

var wood: texture_2d<f32>;
var smoothly: sampler;

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    textureStore(wood, vec2(0, 0), vec4f());
    return m.kd;
}
