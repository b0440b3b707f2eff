//! Matrix sums and products.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let r = mat3x3f(0.8, 0.6, 0.0, -0.6, 0.8, 0.0, 0.0, 0.0, 1.0);
    let s = 0.5 * (r + transpose(r) * m.n * 0.01) - mat3x3f();
    let v = s * wi + wo * r;
    let p = r * s * 2.0;
    let q = mat2x3f(wi, wo) * vec2f(0.25, 0.75);
    return m.kd * abs(v) + abs(p[0] + q) * 0.125 + abs(determinant(p)) * 0.1;
}
