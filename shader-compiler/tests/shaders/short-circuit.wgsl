//! Short-circuit evaluation with side effects in the right operand.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

var<private> seen: f32;

fn touch(x: f32) -> bool {
    seen += 0.125;
    return x > 0.0;
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let a = wi.z > 0.5 && touch(wi.x);
    let b = wo.z > 0.5 || touch(wo.x) && touch(wo.y);
    return m.kd * (f32(a) * 0.5 + f32(b) * 0.25) + seen;
}
