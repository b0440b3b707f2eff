struct Material {
    /// Diffuse albedo. range: [0, 1]
    kd: vec3f,
    /// Specular exponent. range: [1, 10000], default: 50
    exponent: f32,
}

@group(0) @binding(0) var albedo: texture_2d<f32>;
@group(0) @binding(1) var albedo_sampler: sampler;

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd * textureSample(albedo, albedo_sampler, wi.xy).rgb;
}
