//! Conversions between numeric types and bool.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let i = vec3i(wi * 10.0);
    let u = vec3u(abs(wo) * 10.0);
    let b = vec3<bool>(i);
    return m.kd * vec3f(i + vec3i(u)) * 0.05 + vec3f(b) * 0.25 + f32(u32(m.n)) * 0.001 + f32(bool(i.x)) * 0.1;
}
