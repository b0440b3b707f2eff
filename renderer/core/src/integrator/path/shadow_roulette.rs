//! Russian roulette of shadow rays.
//!
//! Next-event estimation knows what its sample contributes before its shadow ray is traced, except
//! for visibility. Contributions below a threshold relative to the brightness of the pixel get a
//! shadow ray with a probability, and are divided by it (Russian roulette; Arvo and Kirk 1990). All
//! survivors then contribute at least the threshold.
//!
//! The training chooses the threshold with the least product of variance and work. The variance
//! that roulette adds is independent of all other noise, so the shadow rays of training paths
//! without roulette tell it for all thresholds: a contribution v with survival probability p adds
//! v² (1/p − 1).

use super::roulette::BrightnessMap;
use crate::integrator::samples::TileSamples;
use fearless_simd::Simd;
use lightbound_math::{COLUMN_LEN, Column, Columns, Vec3};

/// Candidate thresholds are 2⁻ᵏ, for k below this.
const THRESHOLDS: usize = 12;

/// Work of a shadow ray in units of that of a ray from vertex to vertex, with the shading of the
/// vertex, next-event estimation and sampling. Seven scenes have 0.11 to 0.12 (few triangles), 0.24,
/// and 0.7 to 0.9 (curves, instances).
const SHADOW_RAY_WORK: f64 = 0.3;

/// Variance of a sample of the image over that of training samples. Images have less noise than a
/// few independent samples: that of the harness's scenes is 0.24 to 1.2 of it.
const IMAGE_VARIANCE: f64 = 0.25;

/// Roulette is used if variance × work is expected to be below this, relative to that without it.
const MAX_COST_RATIO: f64 = 0.98;

/// A shadow ray of a training path.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShadowRaySample {
    /// Pixel of the training image.
    pub pixel: (u32, u32),
    /// Whether it starts at a first vertex.
    pub is_first: bool,
    /// Contribution to the sample, if nothing is in the way.
    pub expected: f32,
    /// Actual contribution.
    pub actual: f32,
}

/// Records the shadow rays of a tile.
#[derive(Default)]
pub(super) struct ShadowRayRecorder {
    /// Index of the sample within the wavefront, with a shadow ray whose pixel is not set yet.
    rays: Vec<(u32, ShadowRaySample)>,
    /// Number of rays with their actual contributions.
    traced: usize,
}

impl ShadowRayRecorder {
    /// Adds a ray before it is traced.
    pub fn add(&mut self, sample: u32, contribution: Vec3, is_first: bool) {
        let expected = contribution.abs().element_sum();
        let ray = ShadowRaySample { pixel: (0, 0), is_first, expected, actual: 0.0 };
        self.rays.push((sample, ray));
    }

    /// Sets the contributions of all rays that were added since the last call, in their order.
    pub fn set_actual(&mut self, contributions: impl Iterator<Item = Vec3>) {
        for ((_, ray), contribution) in self.rays[self.traced..].iter_mut().zip(contributions) {
            ray.actual = contribution.abs().element_sum();
        }
        self.traced = self.rays.len();
    }

    /// Returns the rays of a tile and removes them.
    pub fn take(&mut self, samples: &TileSamples) -> Vec<ShadowRaySample> {
        let pixels: Vec<(u32, u32)> = samples.iter().map(|sample| (sample.x, sample.y)).collect();
        self.traced = 0;
        self.rays
            .drain(..)
            .map(|(sample, ray)| ShadowRaySample { pixel: pixels[sample as usize], ..ray })
            .collect()
    }
}

/// Variance and work of training samples, without roulette of shadow rays.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampleCost {
    /// Number of samples.
    pub samples: f64,
    /// Variance of a sample relative to the squared brightness of its pixel, with `branches`.
    pub variance: f64,
    /// Number of rays from vertex to vertex for each sample, with `branches`.
    pub rays: f64,
    /// Number of continuations at first vertices. The recorded paths have one.
    pub branches: u32,
}

/// Russian roulette of shadow rays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ShadowRoulette {
    /// Contributions below this are subject to roulette, in a pixel of brightness 1.
    threshold: f32,
}

impl ShadowRoulette {
    /// Chooses the threshold by the shadow rays of training samples. Returns `None` if roulette does
    /// not pay.
    pub fn new(
        rays: &[Vec<ShadowRaySample>],
        brightness: &BrightnessMap,
        cost: SampleCost,
    ) -> Option<ShadowRoulette> {
        let branches = f64::from(cost.branches);
        let mut bins = [BinSums::default(); THRESHOLDS + 1];
        let mut count = 0.0;
        for ray in rays.iter().flatten() {
            let (x, y) = ray.pixel;
            let inverse = f64::from(brightness.inverse_at(x, y));
            // Each of several branches contributes less.
            let (scale, weight) =
                if ray.is_first { (inverse, 1.0) } else { (inverse / branches, branches) };
            let (expected, actual) =
                (scale * f64::from(ray.expected), scale * f64::from(ray.actual));
            count += weight;
            if expected > 0.0 && expected < 1.0 {
                bins[bin(expected)].add(expected, actual, weight);
            }
        }
        let variance = IMAGE_VARIANCE * cost.variance;
        let work = cost.rays + SHADOW_RAY_WORK * count / cost.samples;
        // Contributions in a bin are below its upper edge, which is the threshold.
        let mut candidates = Vec::new();
        let mut below = BinSums::default();
        for (k, bin) in bins.iter().enumerate().rev() {
            below.merge(bin);
            if k < THRESHOLDS {
                let threshold = threshold(k);
                let added = below.added_variance(threshold) / cost.samples;
                let saved = SHADOW_RAY_WORK * below.saved_rays(threshold) / cost.samples;
                candidates.push(((variance + added) * (work - saved), threshold));
            }
        }
        let limit = MAX_COST_RATIO * variance * work;
        let (_, threshold) = candidates
            .into_iter()
            .filter(|&(cost, _)| cost < limit)
            .min_by(|(a, _), (b, _)| a.total_cmp(b))?;
        Some(ShadowRoulette { threshold: threshold as f32 })
    }

    /// Computes the probabilities with which shadow rays are traced; 1 for NaN. `inverse_brightness`
    /// is that of the pixels.
    #[inline(always)]
    pub fn survival_columns<S: Simd>(
        self,
        _: S,
        contributions: &Columns<3>,
        inverse_brightness: &Column,
        out: &mut Column,
    ) {
        let [r, g, b] = &contributions.0;
        for lane in 0..COLUMN_LEN {
            let sum = r[lane].abs() + g[lane].abs() + b[lane].abs();
            let relative = sum * inverse_brightness[lane] / self.threshold;
            out[lane] = if relative < 1.0 { relative } else { 1.0 };
        }
    }

    pub fn threshold(self) -> f32 {
        self.threshold
    }
}

/// Returns a candidate threshold: the upper edge of a bin.
fn threshold(bin: usize) -> f64 {
    1.0 / f64::from(1u32 << bin)
}

/// Returns the bin of a contribution in (0, 1). The last bin has all small contributions.
fn bin(contribution: f64) -> usize {
    // 2⁻ᵏ⁻¹ ≤ contribution < 2⁻ᵏ, exactly.
    let exponent = (contribution.to_bits() >> 52) as i32 - 1023;
    (-1 - exponent).clamp(0, THRESHOLDS as i32) as usize
}

/// Sums over shadow rays with expected contributions t and actual contributions v.
#[derive(Clone, Copy, Default)]
struct BinSums {
    count: f64,
    /// Σ t.
    expected: f64,
    /// Σ v² / t.
    ratio: f64,
    /// Σ v².
    moment: f64,
}

impl BinSums {
    fn add(&mut self, expected: f64, actual: f64, weight: f64) {
        self.count += weight;
        self.expected += weight * expected;
        self.ratio += weight * actual * actual / expected;
        self.moment += weight * actual * actual;
    }

    fn merge(&mut self, other: &BinSums) {
        self.count += other.count;
        self.expected += other.expected;
        self.ratio += other.ratio;
        self.moment += other.moment;
    }

    /// Returns Σ v² (1/p − 1) for survival probabilities p = t / `threshold`.
    fn added_variance(&self, threshold: f64) -> f64 {
        threshold * self.ratio - self.moment
    }

    /// Returns Σ (1 − p).
    fn saved_rays(&self, threshold: f64) -> f64 {
        self.count - self.expected / threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fearless_simd::{Level, dispatch};

    /// Returns rays with these contributions, in equal numbers, all unoccluded, from the one pixel
    /// of an image with brightness 1.
    fn learn(contributions: &[f32], is_first: bool, cost: SampleCost) -> Option<ShadowRoulette> {
        let ray = |&c: &f32| ShadowRaySample { pixel: (0, 0), is_first, expected: c, actual: c };
        let brightness = BrightnessMap::new(&[1.0], (1, 1), (7, 7));
        ShadowRoulette::new(&[contributions.iter().map(ray).collect()], &brightness, cost)
    }

    const COST: SampleCost = SampleCost { samples: 10.0, variance: 4.0, rays: 1.0, branches: 1 };

    #[test]
    fn bins_end_at_thresholds() {
        for k in 0..THRESHOLDS {
            let edge = threshold(k);
            assert_eq!(bin(edge * (1.0 - 1e-9)), k);
            assert!(k == 0 || bin(edge) == k - 1);
        }
        assert_eq!((bin(1e-9), bin(1e-310)), (THRESHOLDS, THRESHOLDS));
    }

    #[test]
    fn small_contributions_are_dropped_and_large_ones_are_not() {
        // Contributions of 0.001 add little variance.
        let small = learn(&[0.001; 50], true, COST).unwrap();
        assert!(small.threshold > 0.01, "{small:?}");
        let survival = |contribution: f32, inverse_brightness| {
            let mut out = [0.0; COLUMN_LEN];
            let contributions = Columns::splat(Vec3::splat(contribution).into());
            dispatch!(Level::new(), simd => small.survival_columns(
                simd,
                &contributions,
                &[inverse_brightness; COLUMN_LEN],
                &mut out
            ));
            out[0]
        };
        assert!(survival(0.0003, 1.0) < 0.1);
        assert_eq!(survival(0.5, 1.0), 1.0);
        // Brightness matters.
        assert_eq!(survival(0.0003, 10_000.0), 1.0);
        assert_eq!(survival(f32::NAN, 1.0), 1.0);
        // Contributions of 0.9 in a sample with little variance must stay.
        let little = SampleCost { variance: 0.001, ..COST };
        assert_eq!(learn(&[0.9; 10], true, little), None);
        // Nor does roulette pay with a single small ray, in ten samples of three other rays.
        let long = SampleCost { rays: 3.0, ..COST };
        assert_eq!(learn(&[0.001], true, long), None);
        assert_eq!(learn(&[], true, COST), None);
    }

    #[test]
    fn branches_divide_contributions() {
        let (one, four) = (
            SampleCost { variance: 0.5, ..COST },
            SampleCost { variance: 0.5, branches: 4, ..COST },
        );
        let contributions = [0.2; 20];
        assert_eq!(learn(&contributions, false, one), None);
        assert!(learn(&contributions, false, four).is_some());
        // Those of first vertices are not divided.
        assert_eq!(learn(&contributions, true, four), None);
    }

    #[test]
    fn sums_predict_variance_and_saved_rays() {
        let rays = [(0.01, 0.01), (0.02, 0.0), (0.1, 0.05)];
        let mut sums = BinSums::default();
        rays.iter().for_each(|&(t, v)| sums.add(t, v, 1.0));
        let (mut variance, mut saved) = (0.0, 0.0);
        for (t, v) in rays {
            let p = t / 0.125;
            variance += v * v * (1.0 / p - 1.0);
            saved += 1.0 - p;
        }
        assert!((sums.added_variance(0.125) - variance).abs() < 1e-12);
        assert!((sums.saved_rays(0.125) - saved).abs() < 1e-12);
    }
}
