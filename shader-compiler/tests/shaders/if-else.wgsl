//! Nested ifs with assignments.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    var c = m.kd;
    if wi.x > wo.x {
        c.x *= 0.5;
        if wi.y > 0.0 { c.y = wi.y; } else { c.z = 0.25; }
    } else if wi.z > 0.5 {
        c = c.yzx;
    } else {
        c += 0.125;
    }
    return c;
}
