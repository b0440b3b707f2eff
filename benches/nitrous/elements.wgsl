//! Sum of packed bit fields, which are read one by one.

struct Material {
    /// Bits of a field. range: [1, 31]
    bits: i32,
    /// Number of fields. range: [0, 8000]
    count: i32,
    /// Index of the first word. range: [0, 1000]
    start: i32,
}

@group(0) @binding(0) var words: texture_2d<f32>;

fn word(index: i32) -> u32 {
    return bitcast<u32>(textureLoad(words, vec2i(index, 0), 0).r);
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let width = u32(m.bits);
    let mask = (1u << width) - 1u;
    var sum = 0u;
    for (var i = 0; i < m.count; i++) {
        let bit = i * m.bits;
        let at = m.start + (bit >> 5u);
        let shift = u32(bit) & 31u;
        var field = word(at) >> shift;
        if shift + width > 32u {
            field |= word(at + 1) << (32u - shift);
        }
        sum += field & mask;
    }
    return vec3f(bitcast<f32>(sum));
}
