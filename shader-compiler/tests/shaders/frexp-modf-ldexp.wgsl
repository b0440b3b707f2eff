//! frexp and modf, which return structs, and ldexp.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let parts = frexp(m.n);
    let split = modf(wi * 3.0);
    let scaled = ldexp(parts.fract, parts.exp - 4);
    return m.kd * scaled + abs(split.fract) * 0.5 + abs(split.whole) * 0.125 + abs(ldexp(wo, vec3i(-2)));
}
