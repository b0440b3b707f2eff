//! Steps a ray from cell to cell of a 16 × 16 grid (Amanatides and Woo 1987).

struct Medium {
    /// Origin of the ray. range: [0, 15.99]
    origin: vec2f,
    /// Its direction, in radians. range: [0.01, 1.56]
    angle: f32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    let direction = vec2f(cos(m.angle), sin(m.angle));
    var cell = vec2i(m.origin);
    let delta = 1.0 / direction;
    var next = (vec2f(cell + vec2i(1, 1)) - m.origin) * delta;
    var t = 0.0;
    var steps = 0;
    while cell.x < 16 && cell.y < 16 {
        if next.x < next.y {
            t = next.x;
            next.x += delta.x;
            cell.x += 1;
        } else {
            t = next.y;
            next.y += delta.y;
            cell.y += 1;
        }
        steps += 1;
    }
    return t + f32(steps);
}
