//! Distance to the nearest of the random points in nine cells.

struct Medium {
    /// Position. range: [0, 100]
    at: vec2f,
}

fn density(p: vec3f, m: Medium) -> f32 {
    let corner = floor(m.at);
    let f = m.at - corner;
    var nearest = 8.0;
    for (var j = -1; j <= 1; j++) {
        for (var i = -1; i <= 1; i++) {
            let cell = vec2i(corner) + vec2i(i, j);
            var h = bitcast<u32>(cell.x * 1597334677) ^ bitcast<u32>(cell.y * 668265263);
            h = (h ^ (h >> 16u)) * 0x7feb352du;
            h ^= h >> 15u;
            let x = f32(h & 1023u) / 1023.0;
            let y = f32((h >> 10u) & 1023u) / 1023.0;
            let offset = vec2f(f32(i) + x, f32(j) + y) - f;
            nearest = min(nearest, dot(offset, offset));
        }
    }
    return sqrt(nearest);
}
