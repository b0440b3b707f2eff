//! A loop with its condition at the end.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    var x = 1.0;
    var rounds = 0;
    loop {
        x *= 0.5 + 0.25 * wi.z;
        continuing {
            rounds++;
            break if x < 0.125 || rounds > 10;
        }
    }
    return m.kd * x + f32(rounds) * 0.0625;
}
