//! Hyperbolic functions and their inverses.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let a = sinh(wi.x) + cosh(wi.y) + tanh(m.n * 0.1);
    let b = asinh(wo.x) + acosh(1.0 + wo.z) + atanh(wo.y * 0.5);
    return m.kd * abs(vec3f(a, b, a - b)) * 0.25;
}
