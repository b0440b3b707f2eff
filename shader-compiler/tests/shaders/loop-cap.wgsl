//! A loop that may exceed the iteration cap.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    var x = wi.z;
    while x > m.n * -1e-6 {
        x -= 1e-6;
    }
    return m.kd * (x + 1.0);
}
