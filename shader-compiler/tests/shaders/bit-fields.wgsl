//! Extraction and insertion of bit fields.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let bits = bitcast<u32>(wi.z);
    let exponent = extractBits(bits, 23u, 8u);
    let word = insertBits(0u, u32(m.n), 4u, 7u) | exponent;
    let low = extractBits(bitcast<i32>(wo.x), 0u, 5u);
    return m.kd * f32(word) / 4096.0 + abs(f32(low)) / 32.0;
}
