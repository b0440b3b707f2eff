//! Draws from a finite list in constant time: the alias table of Walker 1977, built in linear time
//! after Vose 1991.
//!
//! The n entries share n bins of equal width; a bin holds a part of its own entry and, above it, a
//! part of one other. Sums are taken in double precision, and an entry is drawn only where its
//! stored probability is positive.

/// A discrete distribution proportional to given weights.
#[derive(Clone, Debug)]
pub struct AliasTable {
    bins: Vec<Bin>,
}

/// One bin: the share of its own entry, the entry above it, and the probability of the own entry in
/// the whole table.
#[derive(Clone, Copy, Debug)]
struct Bin {
    threshold: f32,
    alias: u32,
    pmf: f32,
}

/// An entry drawn from an [`AliasTable`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pick {
    /// Which entry.
    pub index: usize,
    /// Its probability, above 0.
    pub pmf: f32,
}

impl AliasTable {
    /// A table over `weights`; `None` where no weight is positive.
    ///
    /// Weights that are negative, infinite or NaN count as 0, as do those whose share of the sum is
    /// below what a float holds.
    ///
    /// # Panics
    /// With 2³² entries or more.
    pub fn new(weights: &[f32]) -> Option<AliasTable> {
        assert!(
            u32::try_from(weights.len()).is_ok(),
            "an alias table holds fewer than 2³² entries"
        );
        let usable = |w: f32| if w.is_finite() { f64::from(w.max(0.0)) } else { 0.0 };
        let sum: f64 = weights.iter().map(|&w| usable(w)).sum();
        if sum <= 0.0 {
            return None;
        }
        let n = weights.len() as f64;
        let pmf: Vec<f32> = weights.iter().map(|&w| (usable(w) / sum) as f32).collect();
        // Shares in units of a bin; 0 exactly where the float probability is.
        let mut share: Vec<f64> = weights
            .iter()
            .zip(&pmf)
            .map(|(&w, &p)| if p > 0.0 { usable(w) / sum * n } else { 0.0 })
            .collect();
        let heaviest =
            (0..pmf.len()).max_by(|&a, &b| share[a].total_cmp(&share[b])).unwrap_or(0) as u32;
        let mut bins: Vec<Bin> =
            pmf.iter().map(|&pmf| Bin { threshold: 1.0, alias: heaviest, pmf }).collect();
        let (mut small, mut large): (Vec<u32>, Vec<u32>) =
            (0..bins.len() as u32).partition(|&i| share[i as usize] < 1.0);
        while let (Some(&s), Some(&l)) = (small.last(), large.last()) {
            small.pop();
            let part = share[s as usize];
            bins[s as usize] = Bin { threshold: part as f32, alias: l, ..bins[s as usize] };
            share[l as usize] -= 1.0 - part;
            if share[l as usize] < 1.0 {
                large.pop();
                small.push(l);
            }
        }
        // What rounding left over is full up to rounding, unless it is empty.
        for s in small {
            if bins[s as usize].pmf == 0.0 {
                bins[s as usize].threshold = 0.0;
            }
        }
        Some(AliasTable { bins })
    }

    /// Probability of an entry.
    pub fn pmf(&self, index: usize) -> f32 {
        self.bins[index].pmf
    }

    /// Draws an entry by the first 23 bits of `u` followed by 24 of `fine`, both in [0, 1).
    ///
    /// One number of 2²³ steps would leave 2²³/n of them to a bin, to which probabilities were
    /// rounded; two are exact for tables of millions.
    #[inline]
    pub fn sample(&self, u: f32, fine: f32) -> Pick {
        // In fixed point: the number of the bin before the point, the place within it behind.
        let [u, fine] =
            [(u, 23), (fine, 24)].map(|(x, bits)| (x * (1 << bits) as f32) as i32 as u64);
        let x = u128::from((u << 24 | fine) << (64 - 47)) * self.bins.len() as u128;
        let i = (x >> 64) as usize;
        let Bin { threshold, alias, .. } = self.bins[i];
        let place = (x as u64 >> 11) as i64 as f64 * (1.0 / (1u64 << 53) as f64);
        let index = if place < f64::from(threshold) { i } else { alias as usize };
        Pick { index, pmf: self.bins[index].pmf }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_chi_square, points};
    use super::*;

    #[test]
    fn follows_the_weights() {
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
                let pick = t.sample(p.x, p.y);
                assert_eq!(pick.pmf, t.pmf(pick.index));
                counts[pick.index] += 1;
            }
            let expected: Vec<f64> =
                (0..weights.len()).map(|i| f64::from(t.pmf(i)) * f64::from(n)).collect();
            assert_chi_square(&counts, &expected, "picks");
        }
    }

    #[test]
    fn bins_add_up_to_the_probabilities() {
        // Including sums that rounding leaves uneven.
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
    fn long_tables_are_exact() {
        // Two million entries: one number sees four steps of each bin, and could not tell the
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
    fn nothing_to_draw() {
        for weights in [&[][..], &[0.0, 0.0], &[f32::NAN, -1.0]] {
            assert!(AliasTable::new(weights).is_none());
        }
    }
}
