//! Sum of the fields of a vector of packed bit fields.

struct Material {
    /// Bits of a field. range: [1, 31]
    bits: i32,
    /// Number of words after which a field starts at a word again. range: [1, 31]
    period: i32,
    /// Number of periods. range: [0, 1000]
    groups: i32,
    /// Index of the first word. range: [0, 1000]
    start: i32,
}

@group(0) @binding(0) var words: texture_2d<f32>;

fn word(index: u32) -> u32 {
    return bitcast<u32>(textureLoad(words, vec2u(index, 0u), 0).r);
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let width = u32(m.bits);
    let mask = (1u << width) - 1u;
    var sum = 0u;
    for (var group = 0; group < m.groups; group++) {
        let base = u32(m.start + group * m.period);
        for (var bit = 0; bit < 32 * m.period; bit += m.bits) {
            let at = base + u32(bit >> 5u);
            let shift = u32(bit) & 31u;
            var field = word(at) >> shift;
            if shift + width > 32u {
                field |= word(at + 1u) << (32u - shift);
            }
            sum += field & mask;
        }
    }
    return vec3f(bitcast<f32>(sum));
}
