//! Statistics of cuts through light trees, summed over all shading points.

use serde::{Deserialize, Serialize};
use std::ops::AddAssign;
use std::time::Duration;

/// Counters of cuts, summed over all shading points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CutCounts {
    /// Sizes of the cuts.
    pub sizes: CutSizes,
    /// Shading points in cuts of whole pixels.
    #[serde(default)]
    pub gather_points: u64,
    /// Pairs of clusters of shading points and of lights in cuts of whole pixels.
    #[serde(default)]
    pub pairs: u64,
    /// Cuts that stopped at the maximum number of clusters before they reached the error limit.
    pub capped: u64,
    /// Evaluations of cluster bounds.
    pub bound_evaluations: u64,
    /// Shadow rays.
    pub shadow_rays: u64,
    /// Representatives for which the material was evaluated.
    pub representatives: u64,
    /// Cluster bounds that were checked against a random light of the cluster.
    pub checks: u64,
    /// Cluster bounds that failed the check.
    pub violations: u64,
    /// Light of all cuts, if there is indirect light.
    #[serde(default)]
    pub light: LightSums,
    /// Times.
    pub times: CutTimes,
}

/// Luminances of light towards the camera, summed over all samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LightSums {
    /// Light that cuts found.
    pub found: f64,
    /// Estimate of the light that clamping of virtual lights took away.
    pub clamped: f64,
}

/// Times summed over all threads. Only one in 16 shading points is timed, since reading the clock
/// is slow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutTimes {
    /// All work on cuts.
    pub total: Duration,
    /// Computing bounds on clusters.
    pub bounds: Duration,
    /// Evaluating the material for representatives.
    pub shading: Duration,
    /// Tracing shadow rays.
    pub visibility: Duration,
}

impl CutCounts {
    /// Returns whether all counts are 0.
    pub fn is_empty(&self) -> bool {
        *self == CutCounts::default()
    }
}

impl AddAssign for CutCounts {
    fn add_assign(&mut self, other: CutCounts) {
        self.sizes += other.sizes;
        // Counts read from files may be arbitrarily large.
        for (sum, x) in [
            (&mut self.gather_points, other.gather_points),
            (&mut self.pairs, other.pairs),
            (&mut self.capped, other.capped),
            (&mut self.bound_evaluations, other.bound_evaluations),
            (&mut self.shadow_rays, other.shadow_rays),
            (&mut self.representatives, other.representatives),
            (&mut self.checks, other.checks),
            (&mut self.violations, other.violations),
        ] {
            *sum = sum.saturating_add(x);
        }
        self.light.add_found(other.light.found);
        self.light.add_clamped(other.light.clamped);
        self.times += other.times;
    }
}

impl LightSums {
    /// Adds to the light that cuts found. Infinite values and NaN do not count.
    pub fn add_found(&mut self, luminance: f64) {
        add_finite(&mut self.found, luminance);
    }

    /// Adds to the light that clamping took away. Infinite values and NaN do not count.
    pub fn add_clamped(&mut self, luminance: f64) {
        add_finite(&mut self.clamped, luminance);
    }

    /// Returns the share of the light that clamping took away; `None` if it was not measured.
    pub fn clamped_share(&self) -> Option<f64> {
        let share = self.clamped / (self.found + self.clamped);
        (self.clamped > 0.0 && share.is_finite()).then_some(share)
    }
}

/// Adds a number if the sum remains finite, since JSON has no infinities and no NaN.
fn add_finite(sum: &mut f64, x: f64) {
    let total = *sum + x;
    if total.is_finite() {
        *sum = total;
    }
}

impl AddAssign for CutTimes {
    fn add_assign(&mut self, other: CutTimes) {
        for (sum, x) in [
            (&mut self.total, other.total),
            (&mut self.bounds, other.bounds),
            (&mut self.shading, other.shading),
            (&mut self.visibility, other.visibility),
        ] {
            *sum = sum.saturating_add(x);
        }
    }
}

/// Number of bins per power of 2. Each size below twice this number has its own bin.
const BINS_PER_OCTAVE: u32 = 16;

/// Total number of bins.
const BINS: usize = bin(u32::MAX) + 1;

/// Returns the bin of a size.
const fn bin(size: u32) -> usize {
    if size < 2 * BINS_PER_OCTAVE {
        return size as usize;
    }
    // `size >> shift` is from 16 to 31.
    let shift = size.ilog2() - BINS_PER_OCTAVE.ilog2();
    (shift * BINS_PER_OCTAVE + (size >> shift)) as usize
}

/// Returns the centre of a bin: exact below 32, otherwise within a relative error of 1/32 of every
/// size in the bin.
fn center(bin: usize) -> f64 {
    let bin = bin as u32;
    if bin < 2 * BINS_PER_OCTAVE {
        return bin.into();
    }
    let shift = bin / BINS_PER_OCTAVE - 1;
    let lowest = u64::from(bin - shift * BINS_PER_OCTAVE) << shift;
    lowest as f64 + ((1u64 << shift) - 1) as f64 / 2.0
}

/// Histogram of cut sizes: exact below 32, then 16 bins per power of 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "SerializedCutSizes", into = "SerializedCutSizes")]
pub struct CutSizes {
    bins: [u64; BINS],
    sum: u64,
    max: u32,
}

impl Default for CutSizes {
    fn default() -> CutSizes {
        CutSizes { bins: [0; BINS], sum: 0, max: 0 }
    }
}

impl CutSizes {
    /// Adds the size of a cut.
    pub fn add(&mut self, size: u32) {
        self.bins[bin(size)] += 1;
        self.sum = self.sum.saturating_add(size.into());
        self.max = self.max.max(size);
    }

    /// Returns the number of cuts.
    pub fn count(&self) -> u64 {
        self.bins.iter().fold(0, |n, &x| n.saturating_add(x))
    }

    /// Returns the mean size; `None` without cuts.
    pub fn mean(&self) -> Option<f64> {
        let n = self.count();
        (n > 0).then(|| self.sum as f64 / n as f64)
    }

    /// Returns the lower median of the sizes: exact below 32, otherwise within a relative error of
    /// 1/32. `None` without cuts.
    pub fn median(&self) -> Option<f64> {
        let half = self.count().div_ceil(2);
        let mut cumulative = 0u64;
        let bin = self.bins.iter().position(|&n| {
            cumulative = cumulative.saturating_add(n);
            n > 0 && cumulative >= half
        });
        // The centre of a bin may exceed the largest size.
        bin.map(|bin| center(bin).min(self.max.into()))
    }

    /// Returns the largest size.
    pub fn max(&self) -> u32 {
        self.max
    }
}

impl AddAssign for CutSizes {
    fn add_assign(&mut self, other: CutSizes) {
        self.bins.iter_mut().zip(other.bins).for_each(|(sum, n)| *sum = sum.saturating_add(n));
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
    }
}

/// Serialized form of [`CutSizes`]: the nonempty bins with their indices.
#[derive(Serialize, Deserialize)]
struct SerializedCutSizes {
    bins: Vec<(usize, u64)>,
    sum: u64,
    max: u32,
}

impl From<CutSizes> for SerializedCutSizes {
    fn from(sizes: CutSizes) -> SerializedCutSizes {
        let bins = sizes.bins.into_iter().enumerate().filter(|(_, n)| *n > 0).collect();
        SerializedCutSizes { bins, sum: sizes.sum, max: sizes.max }
    }
}

impl TryFrom<SerializedCutSizes> for CutSizes {
    type Error = &'static str;

    fn try_from(serialized: SerializedCutSizes) -> Result<CutSizes, &'static str> {
        let mut sizes =
            CutSizes { sum: serialized.sum, max: serialized.max, ..CutSizes::default() };
        for (bin, n) in serialized.bins {
            *sizes.bins.get_mut(bin).ok_or("cut size bin index out of range")? = n;
        }
        Ok(sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(sizes: impl IntoIterator<Item = u32>) -> CutSizes {
        let mut histogram = CutSizes::default();
        sizes.into_iter().for_each(|size| histogram.add(size));
        histogram
    }

    #[test]
    fn bins_are_contiguous_and_narrow() {
        assert_eq!(
            (bin(0), bin(31), bin(32), bin(33), bin(34), bin(64), BINS),
            (0, 31, 32, 32, 33, 48, 464)
        );
        let sizes = (0..5000)
            .chain((13..32).flat_map(|power| [0, 1, 2].map(|i| (1u32 << power) - 1 + i)))
            .chain([u32::MAX]);
        let mut previous = 0;
        for size in sizes {
            let bin = bin(size);
            assert!(bin == previous || bin == previous + 1 || size > 5000, "{size}");
            assert!((center(bin) - f64::from(size)).abs() <= f64::from(size) / 32.0, "{size}");
            previous = bin;
        }
    }

    #[test]
    fn mean_median_and_max_match_the_sizes() {
        let empty = CutSizes::default();
        assert_eq!((empty.count(), empty.mean(), empty.median(), empty.max()), (0, None, None, 0));
        let few = histogram([9, 1, 3, 3]);
        assert_eq!(
            (few.count(), few.mean(), few.median(), few.max()),
            (4, Some(4.0), Some(3.0), 9)
        );
        let many = histogram(0..=1000);
        assert_eq!((many.count(), many.mean(), many.max()), (1001, Some(500.0), 1000));
        assert!((many.median().unwrap() - 500.0).abs() <= 500.0 / 32.0);
        // The centre of the last bin exceeds the only size in it.
        assert_eq!(histogram([1024]).median(), Some(1024.0));
    }

    #[test]
    fn counts_round_trip_through_json() {
        let mut counts = CutCounts {
            sizes: histogram([0, 5, 5, 700]),
            capped: 1,
            violations: 2,
            light: LightSums { found: 0.75, clamped: 0.25 },
            ..CutCounts::default()
        };
        counts.times.visibility = Duration::from_nanos(7);
        let text = serde_json::to_string(&counts).unwrap();
        assert!(text.contains("[[0,1],[5,2],["), "{text}");
        assert_eq!(serde_json::from_str::<CutCounts>(&text).unwrap(), counts);
        let invalid = text.replace("[5,2]", "[999,2]");
        assert!(
            serde_json::from_str::<CutCounts>(&invalid)
                .unwrap_err()
                .to_string()
                .contains("cut size bin index out of range")
        );
        let mut twice = counts;
        twice += counts;
        assert_eq!((twice.sizes, twice.violations), (histogram([0, 5, 5, 700].repeat(2)), 4));
        twice.light.add_found(f64::NAN);
        twice.light.add_clamped(f64::INFINITY);
        assert_eq!(twice.light, LightSums { found: 1.5, clamped: 0.5 });
        assert_eq!(twice.light.clamped_share(), Some(0.25));
        assert_eq!(LightSums::default().clamped_share(), None);
        assert!(!twice.is_empty() && CutCounts::default().is_empty());
    }
}
