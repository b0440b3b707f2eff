//! A return from within two nested loops and a switch.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn search(x: f32, n: f32) -> f32 {
    for (var i = 0; i < 5; i++) {
        for (var j = 0; j < 5; j++) {
            let y = f32(i * 5 + j) * 0.04;
            switch j {
                case 3 { continue; }
                case 1 { if y * n > 20.0 { return -y; } }
                default {}
            }
            if y > x { return y; }
        }
    }
    return 2.0;
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd * abs(search(wi.z, m.n)) + abs(search(abs(wo.x), 1.0));
}
