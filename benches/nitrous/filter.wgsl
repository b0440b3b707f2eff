//! Finite impulse response of a vector of integers.

struct Material {
    /// Number of taps, and of results of a group. range: [1, 8]
    taps: i32,
    /// Number of groups. range: [0, 1000]
    groups: i32,
    /// Index of the first word. range: [0, 1000]
    start: i32,
}

@group(0) @binding(0) var weights: texture_2d<f32>;
@group(0) @binding(1) var words: texture_2d<f32>;

fn weight(index: i32) -> u32 {
    return bitcast<u32>(textureLoad(weights, vec2i(index, 0), 0).r);
}

fn word(index: i32) -> u32 {
    return bitcast<u32>(textureLoad(words, vec2i(index, 0), 0).r);
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    var combined = 0u;
    for (var group = 0; group < m.groups; group++) {
        let base = m.start + group * m.taps;
        for (var i = 0; i < m.taps; i++) {
            var sum = 0u;
            for (var j = 0; j < m.taps; j++) {
                sum += weight(j) * word(base + i + j);
            }
            combined ^= sum;
        }
    }
    return vec3f(bitcast<f32>(combined));
}
