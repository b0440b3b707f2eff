//! Samplers, warps and discrete distributions.
//!
//! [`sampler`] generates points of the unit cube. [`warp`] maps them to disks, triangles and
//! directions, and [`spherical_triangle`] to the directions of a triangle. [`discrete`],
//! [`piecewise`] and [`windowed`] sample tabulated distributions, and [`mis`] combines sampling
//! strategies. [`stream`] has the random numbers of random walks. [`pdf_check`] tests samplers of
//! directions against their densities.
//!
//! Every point is a pure function of seed, pixel, sample index and dimension set. So images depend
//! neither on the number of threads nor on the order of work.

pub mod discrete;
pub mod mis;
pub mod pdf_check;
pub mod piecewise;
pub mod sampler;
pub mod spherical_triangle;
pub mod stream;
pub mod warp;
pub mod windowed;

pub use crate::spectrum::luminance;
pub use discrete::AliasTable;
pub use mis::power_heuristic;
pub use piecewise::{PiecewiseConstant2d, PiecewisePart};
pub use sampler::{PathKey, Sampler, SamplerKind};
pub use spherical_triangle::SphericalTriangle;
pub use stream::RandomStream;
pub use windowed::{SquareWindow, WindowedPiecewiseConstant2d};

/// The largest float below 1.
pub const ONE_MINUS_EPSILON: f32 = 1.0 - f32::EPSILON / 2.0;

/// Fractional part of the golden ratio. The fractional parts of its multiples are evenly distributed.
pub const GOLDEN_RATIO: f32 = 0.618_034;

#[cfg(any(test, feature = "testing"))]
#[allow(clippy::disallowed_methods, reason = "test code")]
pub mod chi_square;
#[cfg(any(test, feature = "testing"))]
#[allow(clippy::disallowed_methods, reason = "test code")]
pub mod testing;

/// Mixes `word` into `state`; a 32-bit permutation-based hash (PCG, Jarzynski & Olano 2020).
#[inline(always)]
pub fn hash(state: u32, word: u32) -> u32 {
    let x = (state ^ word).wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    let x = ((x >> ((x >> 28) + 4)) ^ x).wrapping_mul(277_803_737);
    (x >> 22) ^ x
}

/// Converts the upper 24 bits to a float in [0, 1).
#[inline(always)]
pub fn unit_float(bits: u32) -> f32 {
    // Signed, since CPUs convert signed integers in one instruction.
    (bits >> 8) as i32 as f32 * (1.0 / (1 << 24) as f32)
}

/// Replaces negative, infinite and NaN weights by 0.
fn sanitize_weight(weight: f64) -> f64 {
    if weight.is_finite() { weight.max(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_floats_stay_below_one() {
        assert_eq!(unit_float(0), 0.0);
        assert_eq!(unit_float(u32::MAX), ONE_MINUS_EPSILON);
    }

    #[test]
    fn hash_flips_half_the_bits() {
        let flips: u32 = (0..32 * 64)
            .map(|i| (hash(7, i / 32) ^ hash(7, (i / 32) ^ (1 << (i % 32)))).count_ones())
            .sum();
        let mean = f64::from(flips) / f64::from(32 * 64);
        assert!((mean - 16.0).abs() < 1.0, "{mean} bits of 32");
    }
}
