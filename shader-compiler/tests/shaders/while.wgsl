//! A loop with its condition at the start.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    var x = abs(wi.x) + 0.01;
    var rounds = 0.0;
    while x < 1.0 && rounds < 20.0 {
        x *= 1.5;
        rounds += 1.0;
    }
    return m.kd * rounds * 0.05 + x * 0.1;
}
