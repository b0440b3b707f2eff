//! A loop with break and continue, and variables that are used after the loop.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    var sum = 0.0;
    var weight = 1.0;
    for (var i = 0; i < 16; i++) {
        let x = fract(wi.x * f32(i) + m.n * 0.1);
        if x < 0.25 { continue; }
        if x > 0.95 { break; }
        weight *= 0.75;
        if weight < 0.05 { break; }
        sum += x * weight;
    }
    return m.kd * sum + weight;
}
