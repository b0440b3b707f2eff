//! A wall of bricks, by texture coordinates, with a rough face.

struct Params {
    /// Bricks along u and v. range: (0, 1000], default: 8, 16
    count: vec2f,
    /// Width of the joints, relative to a brick. range: [0, 0.5], default: 0.06
    joint: f32,
    /// Depth of the joints. range: [0, 10], default: 0.06
    depth: f32,
}

fn displace(uv: vec2f, p: vec3f, n: vec3f, m: Params) -> f32 {
    let q = m.count * uv;
    let row = floor(q.y);
    let x = q.x + 0.5 * (row - 2.0 * floor(0.5 * row));
    let edge = 0.5 - abs(vec2f(fract(x), fract(q.y)) - 0.5);
    let face = smoothstep(0.0, m.joint, edge.x) * smoothstep(0.0, 2.0 * m.joint, edge.y);
    let grain = sin(61.0 * x + 7.0 * row) * sin(47.0 * q.y) * sin(23.0 * x - 31.0 * q.y);
    return m.depth * face * (1.0 + 0.12 * grain + 0.2 * sin(5.0 * floor(x) + 3.0 * row));
}
