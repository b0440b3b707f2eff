//! Cyclic redundancy check of up to four bytes, bit by bit.

struct Medium {
    /// The bytes. range: [0, 4294967295]
    bytes: u32,
    /// Number of bytes. range: [1, 4]
    count: i32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var crc = 0xffffffffu;
    for (var k = 0; k < m.count; k++) {
        let byte = (m.bytes >> u32(8 * k)) & 255u;
        crc ^= byte;
        for (var bit = 0; bit < 8; bit++) {
            let mask = 0u - (crc & 1u);
            crc = (crc >> 1u) ^ (0xedb88320u & mask);
        }
    }
    return f32((crc >> 16u) & 255u);
}
