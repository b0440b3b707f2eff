//! Sharp ridges of several sizes, along the normal.

struct Params {
    /// Height of the largest ridges. range: [0, 100], default: 0.3
    height: f32,
    /// Frequency of the largest ridges, radians per unit of length. range: [0, 1000], default: 1.1
    frequency: f32,
    /// Number of sizes of ridges. range: [1, 12], default: 7
    octaves: i32,
}

fn displace(uv: vec2f, p: vec3f, n: vec3f, m: Params) -> f32 {
    var q = m.frequency * p.xz;
    var height = 0.0;
    var weight = m.height;
    for (var k = 0; k < m.octaves; k++) {
        let ridge = 1.0 - abs(sin(q.x + 0.8 * sin(q.y)));
        height += weight * ridge * ridge;
        q = 1.9 * vec2f(0.8 * q.x + 0.6 * q.y, 0.8 * q.y - 0.6 * q.x) + vec2f(1.7, -0.9);
        weight *= 0.42;
    }
    return height;
}
