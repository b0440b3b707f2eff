//! Random numbers, warps and discrete distributions.

#[cfg(test)]
pub mod chi_square;

/// Mixes `word` into `state`; a 32-bit permutation-based hash (PCG, Jarzynski & Olano 2020).
pub fn hash(state: u32, word: u32) -> u32 {
    let x = (state ^ word).wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    let x = ((x >> ((x >> 28) + 4)) ^ x).wrapping_mul(277_803_737);
    (x >> 22) ^ x
}

/// The upper 24 bits as a float in [0, 1).
pub fn unit_float(bits: u32) -> f32 {
    (bits >> 8) as f32 * (1.0 / (1 << 24) as f32)
}

/// Relative luminance of linear sRGB.
pub fn luminance(rgb: crate::math::Vec3) -> f32 {
    rgb.dot(crate::math::vec3(0.2126, 0.7152, 0.0722))
}
