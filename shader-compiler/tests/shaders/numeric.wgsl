//! Rounding, fractional parts, sign and angle conversion.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let x = wi * 5.0;
    let whole = floor(x) + ceil(x) * 2.0 + round(x) * 4.0 + trunc(x) * 8.0;
    return m.kd * abs(whole) * 0.02 + fract(x) * 0.5 + sign(wo) * 0.125 + 0.125 + abs(x % 2.0) * 0.1 + radians(m.n) * 0.1
        + degrees(wo.z) * 0.001;
}
