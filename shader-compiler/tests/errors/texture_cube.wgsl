struct Material {
    /// Diffuse albedo. range: [0, 1]
    kd: vec3f,
}

var sky: texture_cube<f32>;
var smoothly: sampler;

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd * textureSample(sky, smoothly, wi).rgb;
}
