//! Counts the set bits of a word: clears the lowest one until none is left, and compares with sums
//! of bit fields.

struct Medium {
    /// The word. range: [0, 4294967295]
    word: u32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var rest = m.word;
    var count = 0;
    while rest != 0u && count < 32 {
        rest &= rest - 1u;
        count += 1;
    }
    var fields = m.word - ((m.word >> 1u) & 0x55555555u);
    fields = (fields & 0x33333333u) + ((fields >> 2u) & 0x33333333u);
    fields = (fields + (fields >> 4u)) & 0x0f0f0f0fu;
    let sum = (fields * 0x01010101u) >> 24u;
    return f32(count) + f32(sum);
}
