//! Integer division and remainder, including division by zero.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let a = i32(wi.x * 100.0);
    let b = i32(wo.y * 4.0);
    let u = u32(m.n);
    let q = vec3f(f32(a / b), f32(a % b), f32(u / 7u + u % 7u));
    return m.kd * abs(q) * 0.01;
}
