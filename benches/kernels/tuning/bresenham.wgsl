//! Bresenham's line: the pixels between two points of a 64 × 64 image.

struct Medium {
    /// First point. range: [0, 63]
    first: vec2i,
    /// Last point. range: [0, 63]
    last: vec2i,
}

fn density(p: vec3f, m: Medium) -> f32 {
    let dx = abs(m.last.x - m.first.x);
    let dy = -abs(m.last.y - m.first.y);
    let sx = select(-1, 1, m.first.x < m.last.x);
    let sy = select(-1, 1, m.first.y < m.last.y);
    var x = m.first.x;
    var y = m.first.y;
    var error = dx + dy;
    var covered = 0;
    for (var step = 0; step < 64; step++) {
        covered += (x ^ y) & 1;
        if x == m.last.x && y == m.last.y {
            break;
        }
        let twice = 2 * error;
        if twice >= dy {
            error += dy;
            x += sx;
        }
        if twice <= dx {
            error += dx;
            y += sy;
        }
    }
    return f32(covered) + f32(x);
}
