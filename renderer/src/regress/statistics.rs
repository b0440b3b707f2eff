//! Is a noisy picture the same as its reference? Two tests, both of the null hypothesis that all
//! means are equal.
//!
//! *Pixels*: a z-test for each pixel and channel. The limit has Šidák's correction for the number
//! of tests (Šidák 1967), and a share of the tests must pass, 99.75 % if the suite says nothing
//! else; both as in the rendering tests of Mitsuba 3 (`src/render/tests/test_renders.py`). It finds
//! what is wrong in places: edges, shadows, fireflies.
//!
//! *Blocks*: a z-test for the mean of each block of 8², 16², … pixels up to the whole picture, of
//! which all must pass. It finds what is wrong by less than the noise of a pixel: a block's mean
//! has 1/64 of a pixel's variance, or less. Blocks contain each other and channels share paths, so
//! the tests depend on each other; Šidák's correction holds then, too, for normal variables and two
//! sides.
//!
//! **Variances.** A difference d = result − reference has the variance of both. That of the
//! reference (r) is known, from many samples; it predicts the result's, r · n_r / n. The result has
//! an estimate of its own, the sample variance over n, and the larger of the two counts. Light
//! transport is skewed: most samples say little and a few say nearly all. A mean of few such
//! samples is far too high now and then, but then the sample variance is as well, since the same
//! outliers make both, and d over its own deviation stays small: one firefly among zeros gives z ≈
//! 1, whatever its size (self-normalised sums have light tails whatever the distribution; de la
//! Peña, Lai, Shao 2009). More often the mean is somewhat too low, and the sample variance with it,
//! since outliers are missing; there the prediction counts. For blocks, variances are added up
//! first and compared then, since the larger of two estimates is too large on average, the more so
//! the fewer samples they are of. Where sample points are more even than random ones (Sobol'), both
//! estimates are too large, and the tests miss a little but cry wolf less.
//!
//! **No variance**: where all samples agree, as on a background, what is left is rounding, and it
//! is the same rounding everywhere, so it does not average out in blocks. Differences up to 2⁻¹⁶ of
//! the reference therefore do not count, before all else.

use super::suite::Tolerance;
use std::f64::consts::FRAC_1_SQRT_2;

/// The mean of each pixel, and how well it is known.
#[derive(Clone, Copy, Debug)]
pub struct Estimate<'a> {
    /// Row by row from the top.
    pub mean: &'a [[f32; 3]],
    /// Variance of `mean`; not finite where it is not known.
    pub variance: &'a [[f32; 3]],
    /// Samples of each pixel.
    pub samples: u32,
}

/// What the tests found.
#[derive(Clone, Debug, PartialEq)]
pub struct Findings {
    /// Share of the tests of single pixels that passed.
    pub accepted: f64,
    /// Most that a pixel's z may be.
    pub pixel_limit: f64,
    /// The pixel with the largest z, as a block of one.
    pub worst_pixel: Block,
    /// Blocks that were refused.
    pub refused_blocks: usize,
    /// Most that a block's z may be.
    pub block_limit: f64,
    /// The block with the largest z.
    pub worst_block: Block,
    /// Variance of the result over what the reference predicts, of the picture as a whole; 1 for
    /// the same noise.
    pub noise: f64,
}

/// A part of the picture in one channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// First column.
    pub x: usize,
    /// First row.
    pub y: usize,
    /// Columns and rows.
    pub size: (usize, usize),
    /// 0, 1, 2 for red, green, blue.
    pub channel: usize,
    /// Mean of the result.
    pub result: f64,
    /// Mean of the reference.
    pub reference: f64,
    /// |result − reference| less what rounding explains, over its standard deviation.
    pub z: f64,
}

/// Smallest blocks that are tested.
const SMALLEST: usize = 8;

/// Part of the reference that rounding may change.
const ROUNDING: f64 = 1.0 / 65536.0;

/// Tests a picture of `width` columns against its reference.
///
/// # Panics
/// If the sizes differ or there is no pixel.
pub fn test(
    width: usize,
    result: Estimate,
    reference: Estimate,
    tolerance: &Tolerance,
) -> Findings {
    let count = result.mean.len();
    assert!([result.variance.len(), reference.mean.len(), reference.variance.len()] == [count; 3]);
    assert!(count > 0 && count.is_multiple_of(width));
    let sums = Sums { result, reference, width };
    let height = count / width;

    let pixels = sums.blocks(1, height);
    let pixel_limit = limit(tolerance.significance, pixels.len());
    let passed = pixels.iter().filter(|pixel| pixel.z <= pixel_limit).count();

    let larger = (0..).map(|i| SMALLEST << i).take_while(|&side| side < width.max(height));
    let mut blocks: Vec<Block> = larger.flat_map(|side| sums.blocks(side, height)).collect();
    blocks.extend(sums.blocks(width.max(height), height));
    let block_limit = limit(tolerance.significance, blocks.len());
    Findings {
        accepted: passed as f64 / pixels.len() as f64,
        pixel_limit,
        worst_pixel: worst(&pixels),
        refused_blocks: blocks.iter().filter(|block| block.z > block_limit).count(),
        block_limit,
        worst_block: worst(&blocks),
        noise: sums.noise(),
    }
}

/// The block of the largest z.
fn worst(blocks: &[Block]) -> Block {
    *blocks.iter().max_by(|a, b| a.z.total_cmp(&b.z)).expect("a picture has pixels")
}

/// A result and its reference.
struct Sums<'a> {
    result: Estimate<'a>,
    reference: Estimate<'a>,
    width: usize,
}

impl Sums<'_> {
    /// Tests of all blocks of a size, those at the right and lower edge cut off, in all channels.
    fn blocks(&self, side: usize, height: usize) -> Vec<Block> {
        let mut blocks = Vec::new();
        for y in (0..height).step_by(side) {
            for x in (0..self.width).step_by(side) {
                let size = (side.min(self.width - x), side.min(height - y));
                blocks.extend([0, 1, 2].map(|channel| self.block(x, y, size, channel)));
            }
        }
        blocks
    }

    fn block(&self, x: usize, y: usize, size: (usize, usize), channel: usize) -> Block {
        let (mut result, mut reference, mut magnitude) = (0.0, 0.0, 0.0);
        let (mut own, mut known, mut predicted) = (0.0, 0.0, 0.0);
        for row in y..y + size.1 {
            for i in row * self.width + x..row * self.width + x + size.0 {
                result += f64::from(self.result.mean[i][channel]);
                let mean = f64::from(self.reference.mean[i][channel]);
                reference += mean;
                magnitude += mean.abs();
                let [a, b, c] = self.variances(i, channel);
                (own, known, predicted) = (own + a, known + b, predicted + c);
            }
        }
        let pixels = (size.0 * size.1) as f64;
        let excess = (result - reference).abs() - ROUNDING * magnitude;
        // Nothing but rounding is no deviation, however small the variance is; a result that is not
        // a number is none that could pass.
        let z = if excess <= 0.0 { 0.0 } else { excess / (own.max(predicted) + known).sqrt() };
        let z = if z.is_nan() { f64::INFINITY } else { z };
        Block { x, y, size, channel, result: result / pixels, reference: reference / pixels, z }
    }

    /// The variances of a pixel: the result's own, the reference's, and what that predicts of the
    /// result.
    fn variances(&self, pixel: usize, channel: usize) -> [f64; 3] {
        let known = f64::from(self.reference.variance[pixel][channel]);
        let own = f64::from(self.result.variance[pixel][channel]);
        let predicted =
            known * f64::from(self.reference.samples) / f64::from(self.result.samples.max(1));
        // A single sample has no variance.
        [if own.is_finite() { own } else { predicted }, known, predicted]
    }

    fn noise(&self) -> f64 {
        let (mut own, mut predicted) = (0.0, 0.0);
        for (pixel, channel) in
            (0..self.result.mean.len()).flat_map(|pixel| [0, 1, 2].map(|channel| (pixel, channel)))
        {
            let [a, _, b] = self.variances(pixel, channel);
            (own, predicted) = (own + a, predicted + b);
        }
        if own == predicted { 1.0 } else { own / predicted }
    }
}

/// The |z| that one of so many independent standard normal variables exceeds with probability
/// `significance`.
fn limit(significance: f64, tests: usize) -> f64 {
    // Šidák: 1 − (1 − significance)^(1 / tests), without the loss of digits.
    let alone = -libm::expm1(libm::log1p(-significance) / tests as f64);
    let (mut low, mut high) = (0.0, 40.0);
    while high - low > 1e-9 {
        let middle = 0.5 * (low + high);
        // Both tails beyond `middle`.
        match libm::erfc(middle * FRAC_1_SQRT_2) > alone {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::{Sampler, SamplerKind};

    const TOLERANCE: Tolerance = Tolerance { significance: 0.05, accepted: 0.9975 };
    const SIDE: u32 = 16;

    /// A distribution of samples with mean 1, from four uniform numbers.
    type Noise = fn([f32; 4]) -> f64;

    fn normal(u: [f32; 4]) -> f64 {
        (-2.0 * (1.0 - f64::from(u[0])).ln()).sqrt()
            * (std::f64::consts::TAU * f64::from(u[1])).cos()
    }

    const NOISES: [(&str, Noise); 5] = [
        ("normal", |u| 1.0 + 0.5 * normal(u)),
        ("exponential", |u| -(1.0 - f64::from(u[0])).ln()),
        // Skewness 24.
        ("log-normal", |u| (1.4 * normal(u) - 0.5 * 1.4 * 1.4).exp()),
        ("fireflies", |u| 0.5 + if u[0] < 0.001 { 500.0 } else { 0.0 }),
        // Rarer than once in a picture, and now and then in a reference.
        ("rare fireflies", |u| 0.9 + if u[0] < 1e-5 { 10_000.0 } else { 0.0 }),
    ];

    struct Simulated {
        mean: Vec<[f32; 3]>,
        variance: Vec<[f32; 3]>,
        samples: u32,
    }

    impl Simulated {
        fn estimate(&self) -> Estimate<'_> {
            Estimate { mean: &self.mean, variance: &self.variance, samples: self.samples }
        }
    }

    /// A picture of `samples` samples, all of mean `level(pixel)`; its channels share their paths,
    /// as in renderings.
    fn simulate(
        noise: Noise,
        seed: u32,
        samples: u32,
        level: impl Fn(u32, u32) -> f64,
    ) -> Simulated {
        let sampler = Sampler::new(SamplerKind::Independent, seed);
        let pixel = |i: u32| {
            let (x, y) = (i % SIDE, i / SIDE);
            let (mut sum, mut squares) = (0.0, 0.0);
            for sample in 0..samples {
                let value = level(x, y) * noise(sampler.get4(sampler.path(x, y, sample), 0));
                (sum, squares) = (sum + value, squares + value * value);
            }
            let n = f64::from(samples);
            let variance = ((squares - sum * sum / n) / (n - 1.0) / n).max(0.0);
            (
                [1.0, 0.7, 0.2].map(|c| (c * sum / n) as f32),
                [1.0, 0.7, 0.2].map(|c| (c * c * variance) as f32),
            )
        };
        let (mean, variance) = (0..SIDE * SIDE).map(pixel).unzip();
        Simulated { mean, variance, samples }
    }

    fn check(result: &Simulated, reference: &Simulated) -> Findings {
        test(SIDE as usize, result.estimate(), reference.estimate(), &TOLERANCE)
    }

    fn refused(findings: &Findings) -> bool {
        findings.refused_blocks > 0 || findings.accepted < TOLERANCE.accepted
    }

    #[test]
    fn limits_are_those_of_tables() {
        for (significance, tests, expected) in [
            (0.05, 1, 1.959_964),
            (0.01, 1, 2.575_829),
            (0.05, 10, 2.799_625),
            (1e-3, 12288, 5.363_951),
        ] {
            let found = limit(significance, tests);
            assert!((found - expected).abs() < 1e-6, "{significance} {tests}: {found}");
        }
    }

    #[test]
    fn false_alarms_are_no_more_frequent_than_stated() {
        for (name, noise) in NOISES {
            let mut alarms = 0;
            for seed in 0..30 {
                let reference = simulate(noise, 1000 + seed, 1024, |x, _| f64::from(x));
                let pictures = (0..10)
                    .map(|i| simulate(noise, 100_000 + 10 * seed + i, 16, |x, _| f64::from(x)));
                alarms += pictures.filter(|picture| refused(&check(picture, &reference))).count();
            }
            // 15 are expected; 30 have a probability of 3·10⁻⁴.
            assert!(alarms < 30, "{name}: {alarms} of 300");
        }
    }

    #[test]
    fn a_shift_of_a_hundredth_is_seen_where_no_pixel_shows_it() {
        let noise = NOISES[1].1;
        let reference = simulate(noise, 1, 16_384, |_, _| 1.0);
        for seed in 0..5 {
            let shifted = check(&simulate(noise, 10 + seed, 2048, |_, _| 0.99), &reference);
            assert!(shifted.refused_blocks > 0 && shifted.accepted > 0.99, "{seed}: {shifted:?}");
            assert!(shifted.worst_block.result < shifted.worst_block.reference);
            let right = check(&simulate(noise, 10 + seed, 2048, |_, _| 1.0), &reference);
            assert!(!refused(&right), "{seed}: {right:?}");
        }
    }

    #[test]
    fn a_few_wrong_pixels_are_tolerated_and_more_are_not() {
        let noise = NOISES[0].1;
        let reference = simulate(noise, 1, 4096, |_, _| 1.0);
        // Opposite errors, so that blocks do not see them.
        let with = |pairs: u32| {
            let level = move |x: u32, y: u32| match (y, x / 2 < pairs) {
                (0, true) => 1.0 + if x.is_multiple_of(2) { 2.0 } else { -2.0 },
                _ => 1.0,
            };
            check(&simulate(noise, 2, 64, level), &reference)
        };
        assert!(with(0).accepted == 1.0);
        let few = Findings { refused_blocks: 0, ..with(8) };
        assert!(few.accepted < 0.99 && refused(&few), "{few:?}");
    }

    #[test]
    fn local_errors_are_found_in_their_block() {
        let noise = NOISES[1].1;
        let reference = simulate(noise, 1, 4096, |_, _| 1.0);
        let level = |x, y| if x >= 8 && y < 8 { 1.1 } else { 1.0 };
        let found = check(&simulate(noise, 2, 1024, level), &reference).worst_block;
        assert_eq!((found.x, found.y, found.size), (8, 0, (8, 8)));
        assert!(found.result > 1.05 * found.reference, "{found:?}");
    }

    #[test]
    fn rounding_is_no_deviation_and_more_is() {
        let flat = |value: f32| Simulated {
            mean: vec![[value, value, 0.0]; (SIDE * SIDE) as usize],
            variance: vec![[0.0; 3]; (SIDE * SIDE) as usize],
            samples: 4,
        };
        let reference = flat(0.8);
        assert!(!refused(&check(&flat(0.8), &reference)));
        assert!(!refused(&check(&flat(0.8 * (1.0 + 1e-5)), &reference)));
        let found = check(&flat(0.8 * (1.0 + 1e-4)), &reference);
        assert!(
            found.accepted < 0.5
                && found.refused_blocks > 0
                && found.worst_block.z == f64::INFINITY,
            "{found:?}"
        );
        assert!(refused(&check(&flat(f32::NAN), &reference)));
    }

    #[test]
    fn a_single_sample_has_the_predicted_variance() {
        let noise = NOISES[0].1;
        let reference = simulate(noise, 1, 4096, |_, _| 1.0);
        let mut single = simulate(noise, 2, 2, |_, _| 1.0);
        (single.samples, single.variance) = (1, vec![[f32::INFINITY; 3]; single.mean.len()]);
        assert!(!refused(&check(&single, &reference)));
        single.mean.iter_mut().for_each(|mean| mean[1] *= 1.2);
        assert!(refused(&check(&single, &reference)));
    }

    #[test]
    fn blocks_cover_pictures_of_any_shape() {
        let mean = vec![[1.0; 3]; 19 * 5];
        let variance = vec![[0.01; 3]; 19 * 5];
        let estimate = Estimate { mean: &mean, variance: &variance, samples: 4 };
        let sums = Sums { result: estimate, reference: estimate, width: 19 };
        let blocks = sums.blocks(8, 5);
        assert_eq!(blocks.iter().map(|b| b.size.0 * b.size.1).sum::<usize>(), 3 * 19 * 5);
        assert_eq!(blocks.last().unwrap().size, (3, 5));
        assert_eq!(test(19, estimate, estimate, &TOLERANCE).worst_block.z, 0.0);
        assert_eq!(test(19, estimate, estimate, &TOLERANCE).noise, 1.0);
    }
}
