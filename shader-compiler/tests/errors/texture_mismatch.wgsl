struct Material {
    /// Diffuse albedo. range: [0, 1]
    kd: vec3f,
}

var wood: texture_2d<f32>;
var smoothly: sampler;

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd * look(smoothly, wi.xy);
}

fn look(image: texture_2d<f32>, at: vec2f) -> vec3f {
    return textureSample(image, smoothly, at).rgb;
}
