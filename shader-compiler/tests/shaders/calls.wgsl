//! Nested function calls, with and without results.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn square(x: f32) -> f32 { return x * x; }
fn fourth(x: f32) -> f32 { return square(square(x)); }
fn schlick(f0: vec3f, cos: f32) -> vec3f { return f0 + (1.0 - f0) * fourth(1.0 - cos) * (1.0 - cos); }
fn nothing(x: f32) { let y = square(x); }

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    nothing(m.n);
    let h = normalize(wi + wo);
    return schlick(m.kd, max(dot(h, wi), 0.0));
}
