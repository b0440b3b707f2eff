//! A loop with a continuing block that also runs after `continue`.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    var i = 0u;
    var sum = vec3f(0.0);
    loop {
        let f = f32(i) * 0.125;
        if i >= 8u { break; }
        if f > abs(wi.x) && f < abs(wo.y) + 0.5 { continue; }
        sum += m.kd * f;
        continuing {
            sum += f * 0.0625;
            i += 1u;
        }
    }
    return sum;
}
