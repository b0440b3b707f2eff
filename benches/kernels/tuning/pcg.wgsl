//! A PCG hash, and dice from its bits.

struct Medium {
    /// Seed. range: [0, 4294967295]
    seed: u32,
    /// Number of dice. range: [1, 20]
    dice: i32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var state = m.seed;
    var sum = 0u;
    for (var k = 0; k < m.dice; k++) {
        state = state * 747796405u + 2891336453u;
        let word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
        let hash = (word >> 22u) ^ word;
        let die = 1u + hash % 6u;
        sum += die;
    }
    return f32(sum);
}
