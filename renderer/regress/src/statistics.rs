//! Two statistical tests of a noisy image against its reference. The null hypothesis is that all
//! means are equal.
//!
//! **Pixels**: a z-test for each pixel and channel. The limit is Šidák-corrected for the number of
//! tests (Šidák 1967), and a given fraction of the tests must pass, by default 99.75 %. Both are as
//! in the rendering tests of Mitsuba 3 (`src/render/tests/test_renders.py`). This test finds local
//! errors: edges, shadows, fireflies.
//!
//! **Blocks**: a z-test for the mean of each block of 8², 16², … pixels, up to the entire image.
//! All blocks must pass. This test finds errors below the noise of a pixel, since the mean of a
//! block has at most 1/64 of a pixel's variance. Blocks are nested and channels share paths, so the
//! tests are dependent. Šidák's correction still holds for two-sided tests of normal variables.
//!
//! **Variances.** The variance of d = result − reference is the sum of both variances. The variance
//! v of the reference is known from many samples. It predicts the variance of the result, v · n_ref
//! / n, where n_ref and n are the sample counts. The result has its own estimate, the sample
//! variance divided by n. The larger of the two is used. Light transport has skewed distributions:
//! a few samples carry nearly all of the energy. If a mean of few samples is far too high, the
//! sample variance is too high as well, since the same outliers cause both, and d divided by its
//! own standard deviation stays small: one firefly among zeros gives z ≈ 1, however bright it is
//! (self-normalised sums have light tails for any distribution; de la Peña, Lai, Shao 2009). More
//! often, outliers are missing, and both the mean and the sample variance are somewhat too low.
//! Then the prediction is used. For blocks, variances are summed before the comparison, since the
//! maximum of two estimates is biased upwards, and more so with fewer samples. Sobol' points are
//! more evenly distributed than random points, so both estimates are too large. This slightly
//! reduces the power of the tests, but also the rate of false alarms.
//!
//! **Zero variance.** Where all samples agree, as on a background, images differ only by rounding.
//! This difference is the same in all pixels and does not average out in blocks. Therefore, the
//! tests ignore differences up to 2⁻¹⁶ of the reference.

use super::suite::Tolerance;
use std::f64::consts::FRAC_1_SQRT_2;

/// The estimated mean of each pixel, with the variance of the estimate.
#[derive(Clone, Copy, Debug)]
pub struct Estimate<'a> {
    /// Means, row by row from the top.
    pub mean: &'a [[f32; 3]],
    /// Variance of `mean`; not finite if unknown.
    pub variance: &'a [[f32; 3]],
    /// Samples per pixel.
    pub samples: u32,
}

/// The results of the tests.
#[derive(Clone, Debug, PartialEq)]
pub struct TestResults {
    /// Fraction of the pixel tests that passed.
    pub accepted: f64,
    /// Largest z at which a pixel passes.
    pub pixel_limit: f64,
    /// The pixel with the largest z, as a block of one pixel.
    pub worst_pixel: BlockResult,
    /// Number of blocks that failed.
    pub failed_blocks: usize,
    /// Largest z at which a block passes.
    pub block_limit: f64,
    /// The block with the largest z.
    pub worst_block: BlockResult,
    /// Variance of the result, summed over the image and divided by the prediction from the
    /// reference.
    pub variance_ratio: f64,
}

/// A block of pixels in one channel, with the result of its test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockResult {
    /// First column.
    pub x: usize,
    /// First row.
    pub y: usize,
    /// Width and height in pixels.
    pub size: (usize, usize),
    /// The channel: 0, 1, 2 for red, green, blue.
    pub channel: usize,
    /// Mean of the result.
    pub result: f64,
    /// Mean of the reference.
    pub reference: f64,
    /// |result − reference|, minus the tolerance for rounding, divided by its standard deviation.
    pub z: f64,
}

/// Width and height of the smallest tested blocks, in pixels.
const MIN_BLOCK_SIZE: usize = 8;

/// Relative difference from the reference that is attributed to rounding.
const ROUNDING_TOLERANCE: f64 = 1.0 / 65536.0;

/// Tests an image of `width` columns against its reference.
///
/// # Panics
/// If the sizes differ or the image has no pixels.
pub fn test(
    width: usize,
    result: Estimate,
    reference: Estimate,
    tolerance: &Tolerance,
) -> TestResults {
    let count = result.mean.len();
    assert!([result.variance.len(), reference.mean.len(), reference.variance.len()] == [count; 3]);
    assert!(count > 0 && count.is_multiple_of(width));
    let tester = BlockTester { result, reference, width };
    let height = count / width;

    let pixels = tester.blocks(1, height);
    let pixel_limit = critical_value(tolerance.significance, pixels.len());
    let passed = pixels.iter().filter(|pixel| pixel.z <= pixel_limit).count();

    let sizes = (0..).map(|i| MIN_BLOCK_SIZE << i).take_while(|&side| side < width.max(height));
    let mut blocks: Vec<BlockResult> = sizes.flat_map(|side| tester.blocks(side, height)).collect();
    blocks.extend(tester.blocks(width.max(height), height));
    let block_limit = critical_value(tolerance.significance, blocks.len());
    TestResults {
        accepted: passed as f64 / pixels.len() as f64,
        pixel_limit,
        worst_pixel: worst(&pixels),
        failed_blocks: blocks.iter().filter(|block| block.z > block_limit).count(),
        block_limit,
        worst_block: worst(&blocks),
        variance_ratio: tester.variance_ratio(),
    }
}

/// Returns the block with the largest z.
fn worst(blocks: &[BlockResult]) -> BlockResult {
    *blocks.iter().max_by(|a, b| a.z.total_cmp(&b.z)).expect("an image has pixels")
}

/// Tests blocks of a result against its reference.
struct BlockTester<'a> {
    result: Estimate<'a>,
    reference: Estimate<'a>,
    width: usize,
}

impl BlockTester<'_> {
    /// Tests all blocks of a size in all channels; blocks are cropped at the right and lower edges.
    fn blocks(&self, side: usize, height: usize) -> Vec<BlockResult> {
        let mut blocks = Vec::new();
        for y in (0..height).step_by(side) {
            for x in (0..self.width).step_by(side) {
                let size = (side.min(self.width - x), side.min(height - y));
                blocks.extend([0, 1, 2].map(|channel| self.block(x, y, size, channel)));
            }
        }
        blocks
    }

    /// Tests a block in one channel.
    fn block(&self, x: usize, y: usize, size: (usize, usize), channel: usize) -> BlockResult {
        let (mut result, mut reference, mut magnitude) = (0.0, 0.0, 0.0);
        let (mut result_variance, mut reference_variance, mut predicted_variance) = (0.0, 0.0, 0.0);
        for row in y..y + size.1 {
            for i in row * self.width + x..row * self.width + x + size.0 {
                result += f64::from(self.result.mean[i][channel]);
                let mean = f64::from(self.reference.mean[i][channel]);
                reference += mean;
                magnitude += mean.abs();
                let [own, known, predicted] = self.variances(i, channel);
                result_variance += own;
                reference_variance += known;
                predicted_variance += predicted;
            }
        }
        let pixels = (size.0 * size.1) as f64;
        let excess = (result - reference).abs() - ROUNDING_TOLERANCE * magnitude;
        // A difference within rounding passes, even at zero variance. A NaN always fails.
        let z = if excess <= 0.0 {
            0.0
        } else {
            excess / (result_variance.max(predicted_variance) + reference_variance).sqrt()
        };
        let z = if z.is_nan() { f64::INFINITY } else { z };
        BlockResult {
            x,
            y,
            size,
            channel,
            result: result / pixels,
            reference: reference / pixels,
            z,
        }
    }

    /// Returns the variances of a pixel: the result's own estimate, the reference's estimate, and
    /// the prediction for the result.
    fn variances(&self, pixel: usize, channel: usize) -> [f64; 3] {
        let known = f64::from(self.reference.variance[pixel][channel]);
        let own = f64::from(self.result.variance[pixel][channel]);
        let predicted =
            known * f64::from(self.reference.samples) / f64::from(self.result.samples.max(1));
        // A single sample has no variance estimate.
        [if own.is_finite() { own } else { predicted }, known, predicted]
    }

    /// See [`TestResults::variance_ratio`].
    fn variance_ratio(&self) -> f64 {
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

/// Returns the critical value of two-sided z-tests: the value that the largest |z| among `tests`
/// independent standard normal variables exceeds with probability `significance`.
fn critical_value(significance: f64, tests: usize) -> f64 {
    // Šidák: 1 − (1 − significance)^(1 / tests), without cancellation.
    let per_test = -libm::expm1(libm::log1p(-significance) / tests as f64);
    let (mut low, mut high) = (0.0, 40.0);
    while high - low > 1e-9 {
        let middle = 0.5 * (low + high);
        // The probability of both tails beyond `middle`.
        match libm::erfc(middle * FRAC_1_SQRT_2) > per_test {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::sampling::{Sampler, SamplerKind};

    const TOLERANCE: Tolerance = Tolerance { significance: 0.05, accepted: 0.9975 };
    const SIDE: u32 = 16;

    /// Maps four uniform numbers to a sample of a distribution with mean 1.
    type Distribution = fn([f32; 4]) -> f64;

    fn normal(u: [f32; 4]) -> f64 {
        (-2.0 * (1.0 - f64::from(u[0])).ln()).sqrt()
            * (std::f64::consts::TAU * f64::from(u[1])).cos()
    }

    const DISTRIBUTIONS: [(&str, Distribution); 5] = [
        ("normal", |u| 1.0 + 0.5 * normal(u)),
        ("exponential", |u| -(1.0 - f64::from(u[0])).ln()),
        // Skewness 22.5.
        ("log-normal", |u| (1.4 * normal(u) - 0.5 * 1.4 * 1.4).exp()),
        ("fireflies", |u| 0.5 + if u[0] < 0.001 { 500.0 } else { 0.0 }),
        // Fewer than one per image, but some in a reference.
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

    /// Simulates an image with `samples` samples per pixel and the mean `level(x, y)`. Channels
    /// share their samples, as in renderings.
    fn simulate(
        noise: Distribution,
        seed: u32,
        samples: u32,
        level: impl Fn(u32, u32) -> f64,
    ) -> Simulated {
        let sampler = Sampler::new(SamplerKind::Independent, seed);
        let pixel = |i: u32| {
            let (x, y) = (i % SIDE, i / SIDE);
            let (mut sum, mut squares) = (0.0, 0.0);
            for sample in 0..samples {
                let value = level(x, y) * noise(sampler.get4(sampler.path_key(x, y, sample), 0));
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

    fn check(result: &Simulated, reference: &Simulated) -> TestResults {
        test(SIDE as usize, result.estimate(), reference.estimate(), &TOLERANCE)
    }

    fn is_rejected(results: &TestResults) -> bool {
        results.failed_blocks > 0 || results.accepted < TOLERANCE.accepted
    }

    #[test]
    fn critical_values_match_tables() {
        for (significance, tests, expected) in [
            (0.05, 1, 1.959_964),
            (0.01, 1, 2.575_829),
            (0.05, 10, 2.799_625),
            (1e-3, 12288, 5.363_951),
        ] {
            let found = critical_value(significance, tests);
            assert!((found - expected).abs() < 1e-6, "{significance} {tests}: {found}");
        }
    }

    #[test]
    fn false_alarm_rate_does_not_exceed_the_significance() {
        for (name, noise) in DISTRIBUTIONS {
            let mut alarms = 0;
            for seed in 0..30 {
                let reference = simulate(noise, 1000 + seed, 1024, |x, _| f64::from(x));
                let images = (0..10)
                    .map(|i| simulate(noise, 100_000 + 10 * seed + i, 16, |x, _| f64::from(x)));
                alarms += images.filter(|image| is_rejected(&check(image, &reference))).count();
            }
            // 15 are expected; 30 or more have a probability of 3·10⁻⁴.
            assert!(alarms < 30, "{name}: {alarms} of 300");
        }
    }

    #[test]
    fn blocks_detect_a_shift_below_pixel_noise() {
        let noise = DISTRIBUTIONS[1].1;
        let reference = simulate(noise, 1, 16_384, |_, _| 1.0);
        for seed in 0..5 {
            let shifted = check(&simulate(noise, 10 + seed, 2048, |_, _| 0.99), &reference);
            assert!(shifted.failed_blocks > 0 && shifted.accepted > 0.99, "{seed}: {shifted:?}");
            assert!(shifted.worst_block.result < shifted.worst_block.reference);
            let unshifted = check(&simulate(noise, 10 + seed, 2048, |_, _| 1.0), &reference);
            assert!(!is_rejected(&unshifted), "{seed}: {unshifted:?}");
        }
    }

    #[test]
    fn too_many_wrong_pixels_are_rejected() {
        let noise = DISTRIBUTIONS[0].1;
        let reference = simulate(noise, 1, 4096, |_, _| 1.0);
        // Errors that cancel in blocks.
        let check_with_errors = |pairs: u32| {
            let level = move |x: u32, y: u32| match (y, x / 2 < pairs) {
                (0, true) => 1.0 + if x.is_multiple_of(2) { 2.0 } else { -2.0 },
                _ => 1.0,
            };
            check(&simulate(noise, 2, 64, level), &reference)
        };
        assert!(check_with_errors(0).accepted == 1.0);
        let pixels_only = TestResults { failed_blocks: 0, ..check_with_errors(8) };
        assert!(pixels_only.accepted < 0.99 && is_rejected(&pixels_only), "{pixels_only:?}");
    }

    #[test]
    fn local_errors_are_located_in_their_block() {
        let noise = DISTRIBUTIONS[1].1;
        let reference = simulate(noise, 1, 4096, |_, _| 1.0);
        let level = |x, y| if x >= 8 && y < 8 { 1.1 } else { 1.0 };
        let worst = check(&simulate(noise, 2, 1024, level), &reference).worst_block;
        assert_eq!((worst.x, worst.y, worst.size), (8, 0, (8, 8)));
        assert!(worst.result > 1.05 * worst.reference, "{worst:?}");
    }

    #[test]
    fn rounding_differences_pass_and_larger_ones_fail() {
        let flat = |value: f32| Simulated {
            mean: vec![[value, value, 0.0]; (SIDE * SIDE) as usize],
            variance: vec![[0.0; 3]; (SIDE * SIDE) as usize],
            samples: 4,
        };
        let reference = flat(0.8);
        assert!(!is_rejected(&check(&flat(0.8), &reference)));
        assert!(!is_rejected(&check(&flat(0.8 * (1.0 + 1e-5)), &reference)));
        let results = check(&flat(0.8 * (1.0 + 1e-4)), &reference);
        assert!(
            results.accepted < 0.5
                && results.failed_blocks > 0
                && results.worst_block.z == f64::INFINITY,
            "{results:?}"
        );
        assert!(is_rejected(&check(&flat(f32::NAN), &reference)));
    }

    #[test]
    fn a_single_sample_has_the_predicted_variance() {
        let noise = DISTRIBUTIONS[0].1;
        let reference = simulate(noise, 1, 4096, |_, _| 1.0);
        let mut single = simulate(noise, 2, 2, |_, _| 1.0);
        (single.samples, single.variance) = (1, vec![[f32::INFINITY; 3]; single.mean.len()]);
        assert!(!is_rejected(&check(&single, &reference)));
        single.mean.iter_mut().for_each(|mean| mean[1] *= 1.2);
        assert!(is_rejected(&check(&single, &reference)));
    }

    #[test]
    fn blocks_cover_images_of_any_shape() {
        let mean = vec![[1.0; 3]; 19 * 5];
        let variance = vec![[0.01; 3]; 19 * 5];
        let estimate = Estimate { mean: &mean, variance: &variance, samples: 4 };
        let tester = BlockTester { result: estimate, reference: estimate, width: 19 };
        let blocks = tester.blocks(8, 5);
        assert_eq!(blocks.iter().map(|b| b.size.0 * b.size.1).sum::<usize>(), 3 * 19 * 5);
        assert_eq!(blocks.last().unwrap().size, (3, 5));
        assert_eq!(test(19, estimate, estimate, &TOLERANCE).worst_block.z, 0.0);
        assert_eq!(test(19, estimate, estimate, &TOLERANCE).variance_ratio, 1.0);
    }
}
