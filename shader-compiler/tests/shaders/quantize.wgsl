//! Rounding to half precision.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return abs(quantizeToF16(wi * m.n) - wi * m.n) * 100.0 + quantizeToF16(m.kd);
}
