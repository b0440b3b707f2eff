//! Alias tables (Walker 1977), which sample a discrete distribution in constant time. They are
//! built in linear time (Vose 1991).
//!
//! The n entries share n bins of equal width. Bin i belongs to entry i below its threshold and to
//! one other entry, the alias, above it. Sums are computed in double precision. An entry is sampled
//! only if its stored probability is positive.

use super::sanitize_weight;

/// A discrete distribution proportional to given weights.
#[derive(Clone, Debug)]
pub struct AliasTable {
    bins: Vec<AliasBin>,
}

/// Bin i of an alias table.
#[derive(Clone, Copy, Debug)]
struct AliasBin {
    /// Fraction of the bin that belongs to entry i.
    threshold: f32,
    /// The entry above the threshold.
    alias: u32,
    /// Probability of entry i.
    pmf: f32,
}

/// A sample of an [`AliasTable`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiscreteSample {
    /// Index of the entry.
    pub index: usize,
    /// Probability of the entry; positive.
    pub pmf: f32,
}

impl AliasTable {
    /// Builds the table of `weights`; `None` if no weight is positive.
    ///
    /// Negative, infinite and NaN weights count as 0. So do weights that underflow an `f32` after
    /// division by the sum.
    ///
    /// # Panics
    /// If there are 2³² entries or more.
    pub fn new(weights: &[f32]) -> Option<AliasTable> {
        assert!(
            u32::try_from(weights.len()).is_ok(),
            "an alias table holds fewer than 2³² entries"
        );
        let sum: f64 = weights.iter().map(|&w| sanitize_weight(w.into())).sum();
        if sum <= 0.0 {
            return None;
        }
        let n = weights.len() as f64;
        let pmf: Vec<f32> =
            weights.iter().map(|&w| (sanitize_weight(w.into()) / sum) as f32).collect();
        // Shares in units of a bin; 0 if the float probability is 0.
        let mut share: Vec<f64> = weights
            .iter()
            .zip(&pmf)
            .map(|(&w, &p)| if p > 0.0 { sanitize_weight(w.into()) / sum * n } else { 0.0 })
            .collect();
        let heaviest =
            (0..pmf.len()).max_by(|&a, &b| share[a].total_cmp(&share[b])).unwrap_or(0) as u32;
        let mut bins: Vec<AliasBin> =
            pmf.iter().map(|&pmf| AliasBin { threshold: 1.0, alias: heaviest, pmf }).collect();
        let (mut small, mut large): (Vec<u32>, Vec<u32>) =
            (0..bins.len() as u32).partition(|&i| share[i as usize] < 1.0);
        while let (Some(&s), Some(&l)) = (small.last(), large.last()) {
            small.pop();
            let threshold = share[s as usize];
            bins[s as usize] =
                AliasBin { threshold: threshold as f32, alias: l, ..bins[s as usize] };
            share[l as usize] -= 1.0 - threshold;
            if share[l as usize] < 1.0 {
                large.pop();
                small.push(l);
            }
        }
        // The remaining bins are full, up to rounding, or empty.
        for s in small {
            if bins[s as usize].pmf == 0.0 {
                bins[s as usize].threshold = 0.0;
            }
        }
        Some(AliasTable { bins })
    }

    /// Returns the probability of an entry.
    pub fn pmf(&self, index: usize) -> f32 {
        self.bins[index].pmf
    }

    /// Samples an entry from two uniform numbers in [0, 1): the first 23 bits of `u`, followed by
    /// 24 bits of `fine`.
    ///
    /// With `u` alone, a bin would have only 2²³/n distinct positions. Two numbers suffice for
    /// tables of millions of entries.
    #[inline]
    pub fn sample(&self, u: f32, fine: f32) -> DiscreteSample {
        // Fixed point: the integer part is the bin, the fraction the position in the bin.
        let [u, fine] =
            [(u, 23), (fine, 24)].map(|(x, bits)| (x * (1 << bits) as f32) as i32 as u64);
        let x = u128::from((u << 24 | fine) << (64 - 47)) * self.bins.len() as u128;
        let i = (x >> 64) as usize;
        let AliasBin { threshold, alias, .. } = self.bins[i];
        let position = (x as u64 >> 11) as i64 as f64 * (1.0 / (1u64 << 53) as f64);
        // Index an array: a branch could not be predicted.
        let index = [alias as usize, i][usize::from(position < f64::from(threshold))];
        DiscreteSample { index, pmf: self.bins[index].pmf }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_chi_square, points};
    use super::*;

    #[test]
    fn samples_follow_the_weights() {
        let tables: [&[f32]; 6] = [
            &[1.0],
            &[0.0, 3.0, 0.0],
            &[1.0, 2.0, 3.0, 0.0, 10.0],
            &[1e30, 2e30, 3e38],
            &[1e-30, 5.0, f32::NAN, -1.0, f32::INFINITY, 2.0],
            &std::array::from_fn::<f32, 1000, _>(|i| {
                if i % 3 == 0 { 0.0 } else { 1.0 + (i % 7) as f32 }
            }),
        ];
        for weights in tables {
            let t = AliasTable::new(weights).unwrap();
            let sum: f64 = (0..weights.len()).map(|i| f64::from(t.pmf(i))).sum();
            assert!((sum - 1.0).abs() < 1e-6, "{sum}");
            let n = 200_000;
            let mut counts = vec![0; weights.len()];
            for p in points(n, 3) {
                let sample = t.sample(p.x, p.y);
                assert_eq!(sample.pmf, t.pmf(sample.index));
                counts[sample.index] += 1;
            }
            let expected: Vec<f64> =
                (0..weights.len()).map(|i| f64::from(t.pmf(i)) * f64::from(n)).collect();
            assert_chi_square(&counts, &expected, "samples");
        }
    }

    #[test]
    fn bins_sum_to_the_probabilities() {
        // These weights have inexact sums.
        let weights: Vec<f32> =
            (0..777).map(|i| if i % 5 == 0 { 0.0 } else { 0.1 + (i as f32).sin().abs() }).collect();
        let t = AliasTable::new(&weights).unwrap();
        let mut mass = vec![0.0; weights.len()];
        for (i, b) in t.bins.iter().enumerate() {
            mass[i] += f64::from(b.threshold);
            mass[b.alias as usize] += 1.0 - f64::from(b.threshold);
        }
        for (i, m) in mass.iter().enumerate() {
            let p = f64::from(t.pmf(i));
            assert!((m / weights.len() as f64 - p).abs() <= 1e-6 * p, "{i}");
        }
    }

    #[test]
    fn large_tables_are_exact() {
        // Two million entries: a single number has four positions per bin, too few to tell the
        // weights 1 and 3 apart.
        let weights: Vec<f32> = (0..1 << 21).map(|i| if i % 2 == 0 { 1.0 } else { 3.0 }).collect();
        let t = AliasTable::new(&weights).unwrap();
        let n = 100_000;
        let odd = points(n, 8).filter(|p| t.sample(p.x, p.y).index % 2 == 1).count() as u32;
        assert_chi_square(
            &[n - odd, odd],
            &[f64::from(n) * 0.25, f64::from(n) * 0.75],
            "odd entries",
        );
    }

    #[test]
    fn no_table_without_a_positive_weight() {
        for weights in [&[][..], &[0.0, 0.0], &[f32::NAN, -1.0]] {
            assert!(AliasTable::new(weights).is_none());
        }
    }
}
