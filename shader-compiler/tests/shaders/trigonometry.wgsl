//! Trigonometric functions and their inverses.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let phi = atan2(wi.y, wi.x);
    let theta = acos(clamp(wi.z, -1.0, 1.0));
    let a = sin(phi * 2.0) + cos(theta) + tan(theta * 0.25);
    let b = asin(clamp(wo.x, -1.0, 1.0)) + atan(m.n);
    return m.kd * abs(vec3f(a, b, a * b)) * 0.25;
}
