//! Vector constructors from scalars and vectors.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let a = vec4f(wi.xy, vec2f(m.n, 1.0));
    let b = vec2f(0.5) * a.zw;
    let c = vec3(b, a.x) + vec3f(1.0) - vec3f(wo.x, b);
    return m.kd * abs(c) * 0.02;
}
