//! What cuts through trees of lights took: sums over all points that were shaded by one.

use serde::{Deserialize, Serialize};
use std::ops::AddAssign;
use std::time::Duration;

/// Sums over cuts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutCounts {
    /// Sizes of the cuts.
    pub sizes: CutSizes,
    /// Cuts that ended at the most clusters they may have, whatever their error.
    pub capped: u64,
    /// Clusters that were bounded.
    pub bound_evaluations: u64,
    /// Shadow rays.
    pub shadow_rays: u64,
    /// Representatives for which the material was evaluated.
    pub representatives: u64,
    /// Bounds that were held against what they bound.
    pub checks: u64,
    /// Those that were below it.
    pub violations: u64,
    /// Time.
    pub times: CutTimes,
}

/// Where the time went, over all threads: at one point in 16, since taking it takes time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutTimes {
    /// All the work on cuts.
    pub total: Duration,
    /// Bounds of clusters.
    pub bounds: Duration,
    /// Materials of representatives.
    pub shading: Duration,
    /// Shadow rays.
    pub visibility: Duration,
}

impl CutCounts {
    /// Whether there was no cut, nor anything else.
    pub fn is_empty(&self) -> bool {
        *self == CutCounts::default()
    }
}

impl AddAssign for CutCounts {
    fn add_assign(&mut self, other: CutCounts) {
        self.sizes += other.sizes;
        // Those of files may be anything.
        for (sum, x) in [
            (&mut self.capped, other.capped),
            (&mut self.bound_evaluations, other.bound_evaluations),
            (&mut self.shadow_rays, other.shadow_rays),
            (&mut self.representatives, other.representatives),
            (&mut self.checks, other.checks),
            (&mut self.violations, other.violations),
        ] {
            *sum = sum.saturating_add(x);
        }
        self.times += other.times;
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

/// How many bins a power of 2 has, and below twice that many each size has its own.
const PER_OCTAVE: u32 = 16;

/// The bins of all sizes.
const BINS: usize = bin(u32::MAX) + 1;

/// The bin of a size.
const fn bin(size: u32) -> usize {
    if size < 2 * PER_OCTAVE {
        return size as usize;
    }
    // The leading bits of a size: 16 to 31.
    let shift = size.ilog2() - PER_OCTAVE.ilog2();
    (shift * PER_OCTAVE + (size >> shift)) as usize
}

/// The middle of a bin: exact below 32, elsewhere within 1/32 of every size in it.
fn middle(bin: usize) -> f64 {
    let bin = bin as u32;
    if bin < 2 * PER_OCTAVE {
        return bin.into();
    }
    let shift = bin / PER_OCTAVE - 1;
    let lowest = u64::from(bin - shift * PER_OCTAVE) << shift;
    lowest as f64 + ((1u64 << shift) - 1) as f64 / 2.0
}

/// Sizes of cuts: how many there are of each, exactly below 32 and in 16 bins for each power of 2
/// from there on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "SizesText", into = "SizesText")]
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
    /// Adds a cut.
    pub fn add(&mut self, size: u32) {
        self.bins[bin(size)] += 1;
        self.sum = self.sum.saturating_add(size.into());
        self.max = self.max.max(size);
    }

    /// How many cuts there are.
    pub fn count(&self) -> u64 {
        self.bins.iter().fold(0, |n, &x| n.saturating_add(x))
    }

    /// The mean; `None` where there is no cut.
    pub fn mean(&self) -> Option<f64> {
        let n = self.count();
        (n > 0).then(|| self.sum as f64 / n as f64)
    }

    /// The median (the lower one of two): exact below 32, elsewhere within 1/32 of it. `None` where
    /// there is no cut.
    pub fn median(&self) -> Option<f64> {
        let half = self.count().div_ceil(2);
        let mut below = 0u64;
        let found = self.bins.iter().position(|&n| {
            below = below.saturating_add(n);
            n > 0 && below >= half
        });
        // No cut is larger than the largest.
        found.map(|bin| middle(bin).min(self.max.into()))
    }

    /// The largest.
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

/// The sizes as files have them: bins that are not empty, with their number.
#[derive(Serialize, Deserialize)]
struct SizesText {
    bins: Vec<(usize, u64)>,
    sum: u64,
    max: u32,
}

impl From<CutSizes> for SizesText {
    fn from(sizes: CutSizes) -> SizesText {
        let bins = sizes.bins.into_iter().enumerate().filter(|(_, n)| *n > 0).collect();
        SizesText { bins, sum: sizes.sum, max: sizes.max }
    }
}

impl TryFrom<SizesText> for CutSizes {
    type Error = &'static str;

    fn try_from(text: SizesText) -> Result<CutSizes, &'static str> {
        let mut sizes = CutSizes { sum: text.sum, max: text.max, ..CutSizes::default() };
        for (bin, n) in text.bins {
            *sizes.bins.get_mut(bin).ok_or("a bin of cut sizes is beyond all sizes")? = n;
        }
        Ok(sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sizes: impl IntoIterator<Item = u32>) -> CutSizes {
        let mut all = CutSizes::default();
        sizes.into_iter().for_each(|size| all.add(size));
        all
    }

    #[test]
    fn bins_follow_each_other_and_are_narrow() {
        assert_eq!(
            (bin(0), bin(31), bin(32), bin(33), bin(34), bin(64), BINS),
            (0, 31, 32, 32, 33, 48, 464)
        );
        let sizes = (0..5000)
            .chain((13..32).flat_map(|power| [0, 1, 2].map(|i| (1u32 << power) - 1 + i)))
            .chain([u32::MAX]);
        let mut last = 0;
        for size in sizes {
            let bin = bin(size);
            assert!(bin == last || bin == last + 1 || size > 5000, "{size}");
            assert!((middle(bin) - f64::from(size)).abs() <= f64::from(size) / 32.0, "{size}");
            last = bin;
        }
    }

    #[test]
    fn figures_are_those_of_the_sizes() {
        let none = CutSizes::default();
        assert_eq!((none.count(), none.mean(), none.median(), none.max()), (0, None, None, 0));
        let few = of([9, 1, 3, 3]);
        assert_eq!(
            (few.count(), few.mean(), few.median(), few.max()),
            (4, Some(4.0), Some(3.0), 9)
        );
        let many = of(0..=1000);
        assert_eq!((many.count(), many.mean(), many.max()), (1001, Some(500.0), 1000));
        assert!((many.median().unwrap() - 500.0).abs() <= 500.0 / 32.0);
        // The middle of a bin can be beyond all sizes in it.
        assert_eq!(of([1024]).median(), Some(1024.0));
    }

    #[test]
    fn sums_come_back_from_files() {
        let mut counts = CutCounts {
            sizes: of([0, 5, 5, 700]),
            capped: 1,
            violations: 2,
            ..CutCounts::default()
        };
        counts.times.visibility = Duration::from_nanos(7);
        let text = serde_json::to_string(&counts).unwrap();
        assert!(text.contains("[[0,1],[5,2],["), "{text}");
        assert_eq!(serde_json::from_str::<CutCounts>(&text).unwrap(), counts);
        let wrong = text.replace("[5,2]", "[999,2]");
        assert!(
            serde_json::from_str::<CutCounts>(&wrong)
                .unwrap_err()
                .to_string()
                .contains("beyond all sizes")
        );
        let mut twice = counts;
        twice += counts;
        assert_eq!((twice.sizes, twice.violations), (of([0, 5, 5, 700].repeat(2)), 4));
        assert!(!twice.is_empty() && CutCounts::default().is_empty());
    }
}
