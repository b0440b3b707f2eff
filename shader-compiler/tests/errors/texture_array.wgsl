struct Material {
    /// Diffuse albedo. range: [0, 1]
    kd: vec3f,
}

var layers: texture_2d_array<f32>;
var smoothly: sampler;

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd * textureSample(layers, smoothly, wi.xy, 0).rgb;
}
