//! Medians of timing samples and their confidence intervals.
//!
//! The interval is distribution-free: the number of n independent samples below the median is
//! binomial with p = ½, so the order statistics of ranks k and n + 1 − k enclose the median with a
//! known probability, whatever the distribution (Hollander and Wolfe 1999 §3.6). Adjacent samples
//! of a timing are not independent, since clock rates and the load of other cores change slowly.
//! The interval is therefore computed over medians of at most 32 blocks of consecutive samples
//! (batch means, Law 2007 §9.5.3, with medians instead of means).

/// Maximum number of blocks.
const MAX_BLOCKS: usize = 32;

/// A median and its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The median of all samples.
    pub median: f64,
    /// Endpoints of the confidence interval; `None` for fewer than 6 samples. Variation that
    /// recurs within every block of samples does not widen it, for example variation among the
    /// placements of code in a [measurement](super::measure()) of 1024 rounds or more.
    pub interval: Option<[f64; 2]>,
}

impl Estimate {
    /// Estimates the median from samples in chronological order.
    ///
    /// # Panics
    ///
    /// Panics if there are no samples.
    pub fn from_samples(samples: &[f64]) -> Estimate {
        let size = samples.len().div_ceil(MAX_BLOCKS);
        let mut blocks: Vec<f64> = samples.chunks_exact(size).map(median).collect();
        blocks.sort_by(f64::total_cmp);
        let interval =
            lower_rank(blocks.len()).map(|rank| [blocks[rank], blocks[blocks.len() - 1 - rank]]);
        // The median of the blocks may differ from that of all samples.
        let median = median(samples);
        Estimate { median, interval: interval.map(|[lo, hi]| [lo.min(median), hi.max(median)]) }
    }

    /// Returns the width of the interval as a fraction of the median; infinite without an interval.
    pub fn relative_width(&self) -> f64 {
        self.interval.map_or(f64::INFINITY, |[lo, hi]| (hi - lo) / self.median.abs())
    }

    /// Returns the estimate of a constant times the quantity.
    pub fn scaled(self, factor: f64) -> Estimate {
        Estimate {
            median: self.median * factor,
            interval: self.interval.map(|endpoints| endpoints.map(|end| end * factor)),
        }
    }
}

/// Returns the median. Panics if there are no samples.
pub fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { 0.5 * (sorted[middle - 1] + sorted[middle]) }
}

/// Returns the largest k for which the probability that at most k of n samples lie below the median
/// does not exceed 2.5 %; `None` for fewer than 6 samples. The 95 % interval extends from sorted
/// sample k to sample n − 1 − k, counted from 0.
fn lower_rank(n: usize) -> Option<usize> {
    let mut probability = 0.5f64.powi(n as i32);
    let (mut tail, mut rank) = (0.0, None);
    for k in 0..n {
        tail += probability;
        if tail > 0.025 {
            break;
        }
        rank = Some(k);
        probability *= (n - k) as f64 / (k + 1) as f64;
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::boxes::uniform;
    use lightbound_shader::random::Random;

    #[test]
    fn ranks_match_published_tables() {
        // Critical values of the two-sided sign test at 5 %.
        for (n, rank) in
            [(5, None), (6, Some(0)), (8, Some(0)), (9, Some(1)), (20, Some(5)), (32, Some(9))]
        {
            assert_eq!(lower_rank(n), rank, "{n}");
        }
    }

    #[test]
    fn intervals_cover_the_median_of_skewed_samples() {
        let mut random = Random::new(1);
        let covered = (0..1000).filter(|_| {
            // An exponential distribution with median ln 2.
            let samples: Vec<f64> =
                (0..320).map(|_| -libm::log(1.0 - uniform(&mut random))).collect();
            let [lo, hi] = Estimate::from_samples(&samples).interval.unwrap();
            lo <= std::f64::consts::LN_2 && std::f64::consts::LN_2 <= hi
        });
        let covered = covered.count();
        assert!((930..=990).contains(&covered), "{covered} of 1000");
    }

    #[test]
    fn outliers_move_neither_median_nor_interval() {
        let samples: Vec<f64> = (0..640)
            .map(|k| if k % 10 == 3 { 50.0 } else { 1.0 + 0.001 * (k % 7) as f64 })
            .collect();
        let estimate = Estimate::from_samples(&samples);
        assert!(
            (estimate.median - 1.003).abs() < 1e-3 && estimate.relative_width() < 0.002,
            "{estimate:?}"
        );
    }

    #[test]
    fn slow_changes_widen_the_interval() {
        // Two machine states, each lasting 160 samples.
        let samples: Vec<f64> =
            (0..640).map(|k| if k / 160 % 2 == 0 { 1.0 } else { 1.2 }).collect();
        assert!(Estimate::from_samples(&samples).relative_width() > 0.15);
    }

    #[test]
    fn few_samples_have_no_interval() {
        let estimate = Estimate::from_samples(&[1.0, 3.0, 2.0]);
        assert_eq!(estimate, Estimate { median: 2.0, interval: None });
        assert_eq!(estimate.relative_width(), f64::INFINITY);
        assert_eq!(Estimate::from_samples(&[4.0, 2.0]).scaled(2.0).median, 6.0);
    }
}
