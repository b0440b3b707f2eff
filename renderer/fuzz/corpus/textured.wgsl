struct Material {
    /// Albedo. range: [0, 1]
    kd: vec3f,
    /// Roughness. range: [0.01, 1]
    alpha: f32,
}

var wood: texture_2d<f32>;

override sharpness: f32 = 2.0;

fn material(p: SurfacePoint, m: Material) -> Material {
    var result = m;
    result.kd = textureLoad(wood, vec2i(0, 0), 0).rgb * m.kd;
    result.alpha = clamp(sharpness * fract(p.uv.x), 0.01, 1.0);
    return result;
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let d = dot(wi, wo);
    let t = mat2x2f(m.alpha, 0.0, d, 1.0) * vec2f(wi.x, wo.x);
    return m.kd * exp(-abs(t.x)) * inverseSqrt(1.0 + t.y * t.y);
}
