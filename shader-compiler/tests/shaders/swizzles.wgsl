//! Swizzles as values, and assignments to single components.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    var v = vec4f(wi.zyx, wo.y).wxyz;
    v.x = m.kd.z;
    v[1] = m.kd.r;
    v.b += v.g * 0.5;
    v.w *= 0.25;
    return abs(v.zwx + v.yyy) * 0.5;
}
