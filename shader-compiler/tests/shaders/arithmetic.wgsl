//! Arithmetic operators on floats, scalar and vector.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let a = wi.x * wo.x + wi.y / (wo.z + 2.0) - wi.z;
    let b = (a + 3.0) % 1.25;
    let v = -wi * 2.0 + m.kd / 3.0 - vec3f(b) % m.kd;
    return abs(v) * m.kd + b;
}
