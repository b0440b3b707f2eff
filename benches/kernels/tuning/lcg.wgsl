//! The linear congruential generator of the Stanford suite: the mean of up to 1000 numbers.

struct Medium {
    /// Seed. range: [0, 65535]
    seed: i32,
    /// Number of numbers. range: [1, 1000]
    count: i32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var seed = m.seed;
    var sum = 0;
    var largest = 0;
    for (var k = 0; k < m.count; k++) {
        seed = (seed * 1309 + 13849) & 65535;
        sum += seed >> 6u;
        largest = max(largest, seed);
    }
    return f32(sum / m.count) + f32(largest);
}
