struct Material {
    /// Diffuse albedo. range: [0, 1]
    kd: vec3f,
}

@group(0) @binding(0) var shadow: texture_depth_2d;

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd * textureLoad(shadow, vec2(0, 0), 0);
}
