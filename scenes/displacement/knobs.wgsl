//! Knobs at the corners of a grid in space, and grooves in their middle.

struct Params {
    /// Height of the knobs. range: [0, 10], default: 0.12
    height: f32,
    /// Radians per unit of length. range: [0, 1000], default: 7
    frequency: f32,
}

fn displace(uv: vec2f, p: vec3f, n: vec3f, m: Params) -> f32 {
    let s = sin(m.frequency * p);
    let knob = abs(s.x * s.y) + abs(s.y * s.z) + abs(s.z * s.x);
    return m.height * (smoothstep(0.6, 1.0, knob) - 0.5 * smoothstep(1.3, 1.6, knob));
}
