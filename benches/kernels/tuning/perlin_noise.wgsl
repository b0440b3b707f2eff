//! Gradient noise in two dimensions, with eight gradients and a quintic fade.

struct Medium {
    /// Position. range: [-100, 100]
    at: vec2f,
}

fn gradient(cell: vec2i, offset: vec2f) -> f32 {
    var h = bitcast<u32>(cell.x) * 0x9e3779b1u + bitcast<u32>(cell.y) * 0x85ebca77u;
    h ^= h >> 15u;
    h *= 0x2c1b3c6du;
    h ^= h >> 12u;
    let u = select(offset.y, offset.x, (h & 4u) == 0u);
    let v = select(offset.x, offset.y, (h & 4u) == 0u);
    return select(u, -u, (h & 1u) != 0u) + 0.5 * select(v, -v, (h & 2u) != 0u);
}

fn density(p: vec3f, m: Medium) -> f32 {
    let corner = floor(m.at);
    let cell = vec2i(corner);
    let f = m.at - corner;
    let w = f * f * f * (f * (f * 6.0 - 15.0) + 10.0);
    let bottom = mix(gradient(cell, f), gradient(cell + vec2i(1, 0), f - vec2f(1.0, 0.0)), w.x);
    let top = mix(
        gradient(cell + vec2i(0, 1), f - vec2f(0.0, 1.0)),
        gradient(cell + vec2i(1, 1), f - vec2f(1.0, 1.0)),
        w.x,
    );
    return 0.5 + 0.5 * mix(bottom, top, w.y);
}
