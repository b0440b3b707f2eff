//! select with scalar and vector conditions.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let a = select(wi, wo, wi.x > wo.x);
    let b = select(m.kd, m.kd.zyx, wi < wo);
    return b * select(0.25, 0.75, m.n > 10.0) + abs(a) * 0.125;
}
