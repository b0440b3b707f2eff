//! Early returns in nested and consecutive ifs.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    if wi.z <= 0.0 {
        return vec3f(0.0);
    }
    let h = normalize(wi + wo);
    if h.z > 0.9 {
        if wi.x > 0.0 {
            return m.kd;
        }
        if wi.y > 0.0 {
            return m.kd.zyx;
        }
    } else if h.z > 0.5 {
        return m.kd * pow(h.z, m.n);
    }
    return m.kd * h.z * 0.25;
}
