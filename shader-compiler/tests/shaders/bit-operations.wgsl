//! Bitwise operators, bit counts and bit searches.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn hash(x: u32) -> u32 {
    var h = x;
    h ^= h >> 16u;
    h *= 0x7feb352du;
    h ^= h >> 15u;
    return ~h & 0x00ffffffu | 1u;
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let h = hash(bitcast<u32>(wi.x)) ^ hash(u32(m.n));
    let counts = vec3u(countOneBits(h), firstLeadingBit(h), firstTrailingBit(reverseBits(h)));
    return m.kd * vec3f(counts) / 32.0 + f32(countLeadingZeros(h) + countTrailingZeros(h)) * 0.01;
}
