//! min, max, clamp and step functions.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let a = clamp(wi, vec3f(-0.5), vec3f(0.5));
    let b = saturate(wo * 1.5) + min(a, wo) + max(a, wo);
    return m.kd * abs(b) + step(vec3f(0.25), wi) * 0.1 + smoothstep(vec3f(-1.0), vec3f(1.0), wo) * 0.2;
}
