//! Random numbers, warps and discrete distributions.
//!
//! [`sampler`] yields points of the unit cube, [`warp`] maps them to disks, triangles and
//! directions, [`discrete`] and [`piecewise`] draw from tables, and [`mis`] combines strategies.
//! Every point is a pure function of (seed, pixel, sample, dimension set), so a picture does not
//! depend on threads or on the order of the work.

pub mod discrete;
pub mod mis;
pub mod piecewise;
pub mod sampler;
pub mod warp;

pub use crate::spectrum::luminance;
pub use discrete::AliasTable;
pub use mis::power_heuristic;
pub use piecewise::{Part, PiecewiseConstant2d};
pub use sampler::{PathKey, Sampler, SamplerKind};

/// The greatest float below 1.
pub const ONE_MINUS_EPSILON: f32 = 1.0 - f32::EPSILON / 2.0;

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
    // Signed, which machines convert at once.
    (bits >> 8) as i32 as f32 * (1.0 / (1 << 24) as f32)
}

/// What the tests of this crate's samplers share.
#[cfg(test)]
pub(crate) mod testing {
    use super::{Sampler, SamplerKind, chi_square};
    use crate::math::{Vec2, vec2};

    /// `n` independent points of the unit square, the same in every run.
    pub fn points(n: u32, seed: u32) -> impl Iterator<Item = Vec2> {
        let sampler = Sampler::new(SamplerKind::Independent, seed);
        (0..n).map(move |i| {
            let [x, y, ..] = sampler.get4(sampler.path(0, 0, i), 0);
            vec2(x, y)
        })
    }

    /// Pearson's χ² test of counts against expectations; panics below p = 3·10⁻⁵, or where a cell
    /// that expects nothing holds something.
    pub fn assert_chi_square(observed: &[u32], expected: &[f64], what: &str) {
        let pairs: Vec<(f64, f64)> =
            observed.iter().map(|&o| o.into()).zip(expected.iter().copied()).collect();
        assert!(
            pairs.iter().all(|&(o, e)| e > 0.0 || o == 0.0),
            "{what}: samples where none may fall"
        );
        let (statistic, freedom, p) = chi_square::pearson(pairs);
        assert!(
            p > 3e-5,
            "{what}: χ² = {statistic} with {freedom} degrees of freedom, p = {p:.1e}"
        );
    }
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
