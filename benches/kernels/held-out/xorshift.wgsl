//! A random walk on a ring of 100 places, by xorshift.

struct Medium {
    /// Seed. range: [1, 4294967295]
    seed: u32,
    /// Number of steps. range: [0, 500]
    steps: i32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var state = m.seed;
    var place = 50;
    var least = 50;
    for (var step = 0; step < m.steps; step++) {
        state ^= state << 13u;
        state ^= state >> 17u;
        state ^= state << 5u;
        if (state & 1u) == 1u {
            place += 1;
        } else {
            place -= 1;
        }
        if place >= 100 {
            place = 0;
        }
        if place < 0 {
            place = 99;
        }
        least = min(least, place);
    }
    return f32(place + least);
}
