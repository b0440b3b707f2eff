//! Bools in vectors, struct members and expressions.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

struct Flags { up: bool, side: vec2<bool> }

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let f = Flags(wi.z > 0.5, wi.xy < wo.xy);
    let both = all(f.side) != f.up;
    let some = (any(f.side) & !f.up) | (f.side.x == f.side.y);
    return m.kd * (f32(both) + 0.5 * f32(some)) + select(0.0, 0.125, both && !some);
}
