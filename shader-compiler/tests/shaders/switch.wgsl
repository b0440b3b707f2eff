//! Switch cases with several selectors, breaks and returns.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    var c = m.kd;
    switch i32(wi.x * 6.0) {
        case 0 { c *= 0.5; }
        case 1, 2 {
            if wo.z > 0.5 { break; }
            c = c.zxy;
        }
        case -1 { return vec3f(0.25); }
        case 3, default {
            c += 0.125;
        }
        case -3, -2 {
            for (var i = 0; i < 4; i++) {
                if f32(i) > wo.z * 4.0 { break; }
                c *= 0.9;
            }
        }
    }
    return c;
}
