//! An iteration until convergence.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    // Newton's method for x³ = n.
    var x = m.n;
    var rounds = 0;
    while abs(x * x * x - m.n) > 1e-3 * m.n && rounds < 50 {
        x -= (x * x * x - m.n) / (3.0 * x * x);
        rounds++;
    }
    return m.kd * x * 0.2 + f32(rounds) * 0.01;
}
