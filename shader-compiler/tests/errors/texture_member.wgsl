struct Material {
    /// The grain.
    wood: texture_2d<f32>,
}

var smoothly: sampler;

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return textureSample(m.wood, smoothly, wi.xy).rgb;
}
