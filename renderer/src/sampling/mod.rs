//! Random numbers, warps and discrete distributions.
//!
//! [`sampler`] yields points of the unit cube, [`warp`] maps them to disks, triangles and directions, [`discrete`] and [`piecewise`]
//! draw from tables, and [`mis`] combines strategies. Every point is a pure function of (seed, pixel, sample, dimension set), so a
//! picture does not depend on threads or on the order of the work.

pub mod discrete;
pub mod mis;
pub mod piecewise;
pub mod sampler;
pub mod warp;

pub use crate::spectrum::luminance;
pub use discrete::AliasTable;
pub use mis::power_heuristic;
pub use piecewise::PiecewiseConstant2d;
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
    (bits >> 8) as f32 * (1.0 / (1 << 24) as f32)
}

/// What the tests of this crate's samplers share.
#[cfg(test)]
pub(crate) mod testing {
    use super::{Sampler, SamplerKind};
    use crate::math::{Vec2, vec2};

    /// `n` independent points of the unit square, the same in every run.
    pub fn points(n: u32, seed: u32) -> impl Iterator<Item = Vec2> {
        let sampler = Sampler::new(SamplerKind::Independent, seed);
        (0..n).map(move |i| {
            let [x, y, ..] = sampler.get4(sampler.path(0, 0, i), 0);
            vec2(x, y)
        })
    }

    /// Pearson's χ² test of counts against expectations; cells that expect fewer than five are pooled.
    ///
    /// Panics past the 1 − 3·10⁻⁵ quantile (Wilson & Hilferty 1931), or where a cell that expects nothing holds something.
    pub fn assert_chi_square(observed: &[u32], expected: &[f64], what: &str) {
        let (mut statistic, mut cells, mut pool) = (0.0, 0.0, (0.0, 0.0));
        for (&o, &e) in observed.iter().zip(expected) {
            assert!(e > 0.0 || o == 0, "{what}: {o} samples where none may fall");
            if e >= 5.0 {
                statistic += (f64::from(o) - e).powi(2) / e;
                cells += 1.0;
            } else {
                pool = (pool.0 + f64::from(o), pool.1 + e);
            }
        }
        if pool.1 >= 5.0 {
            statistic += (pool.0 - pool.1) * (pool.0 - pool.1) / pool.1;
            cells += 1.0;
        }
        let dof: f64 = cells - 1.0;
        if dof < 1.0 {
            return;
        }
        let spread = 2.0 / (9.0 * dof);
        let limit = dof * (1.0 - spread + 4.0 * spread.sqrt()).powi(3);
        assert!(statistic < limit, "{what}: χ² = {statistic} with {dof} degrees of freedom, at most {limit}");
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
        let flips: u32 = (0..32 * 64).map(|i| (hash(7, i / 32) ^ hash(7, (i / 32) ^ (1 << (i % 32)))).count_ones()).sum();
        let mean = f64::from(flips) / f64::from(32 * 64);
        assert!((mean - 16.0).abs() < 1.0, "{mean} bits of 32");
    }
}
