//! Powers, exponentials and logarithms.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let h = normalize(wi + wo);
    let a = pow(max(h.z, 0.0), m.n);
    let b = exp(-m.n * (1.0 - h.z)) + exp2(-m.n);
    let c = log(1.0 + m.n) * log2(1.0 + wi.z) + sqrt(abs(wo.x)) * inverseSqrt(1.0 + m.n);
    return m.kd * vec3f(a, b, c);
}
