struct Material {
    /// Diffuse albedo. range: [0, 1]
    kd: vec3f,
}

var canvas: texture_storage_2d<rgba8unorm, write>;

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    textureStore(canvas, vec2(0, 0), vec4f());
    return m.kd;
}
