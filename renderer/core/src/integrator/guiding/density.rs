//! Piecewise constant densities on the unit square.

use lightbound_math::sampling::ONE_MINUS_EPSILON;

/// Number of bins along each axis.
const RESOLUTION: usize = 8;

/// Number of bins.
const BINS: usize = RESOLUTION * RESOLUTION;

/// The index of a bin, row by row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct BinIndex(u8);

impl BinIndex {
    /// Returns the bin of a point in [0, 1)².
    pub fn new(u: [f32; 2]) -> BinIndex {
        let [x, y] = u.map(|u| ((u * RESOLUTION as f32) as usize).min(RESOLUTION - 1));
        BinIndex((y * RESOLUTION + x) as u8)
    }
}

/// Second moments of contributions: the weights of training samples, summed over each bin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Histogram {
    bins: [f32; BINS],
    /// Number of samples.
    samples: f32,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { bins: [0.0; BINS], samples: 0.0 }
    }
}

impl Histogram {
    /// Adds a training sample.
    pub fn add(&mut self, BinIndex(bin): BinIndex, weight: f32) {
        self.bins[usize::from(bin)] += weight;
        self.samples += 1.0;
    }

    /// Adds the samples of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        self.bins.iter_mut().zip(&other.bins).for_each(|(sum, bin)| *sum += bin);
        self.samples += other.samples;
    }

    /// Adds `samples` samples with the distribution of the parent.
    pub fn add_prior(&mut self, parent: &Histogram, samples: f32) {
        if parent.samples > 0.0 {
            let scale = samples / parent.samples;
            self.bins.iter_mut().zip(&parent.bins).for_each(|(sum, bin)| *sum += scale * bin);
            self.samples += samples;
        }
    }

    /// Returns the bins convolved with (1, 2, 1) / 4 along both axes. Bins outside the square equal
    /// those at its border.
    fn blurred(&self) -> [f32; BINS] {
        let along = |bins: &[f32; BINS], stride: usize| -> [f32; BINS] {
            std::array::from_fn(|i| {
                let at = i / stride % RESOLUTION;
                let before = if at > 0 { bins[i - stride] } else { bins[i] };
                let after = if at + 1 < RESOLUTION { bins[i + stride] } else { bins[i] };
                0.25 * (before + 2.0 * bins[i] + after)
            })
        };
        along(&along(&self.bins, 1), RESOLUTION)
    }
}

/// Returns a density proportional to the roots of second moments, mixed with the uniform density;
/// `uniform` is its share. The roots minimise the variance (Rath et al. 2020, §4), the mixture
/// limits the weights of contributions.
fn mixed_density(moments: &[f32; BINS], uniform: f32) -> [f32; BINS] {
    let roots = moments.map(f32::sqrt);
    let scale = BINS as f32 / roots.iter().sum::<f32>();
    if scale > 0.0 && scale.is_finite() {
        roots.map(|root| uniform + (1.0 - uniform) * (scale * root))
    } else {
        [1.0; BINS]
    }
}

/// Shares of the uniform density to choose from. The smallest bounds the weight of a contribution.
const UNIFORM_SHARES: [f32; 3] = [0.25, 0.5, 1.0];

/// The density of a cell, with second moments of contributions.
pub(super) struct CellDensity {
    pub density: UnitSquareDensity,
    /// Second moment under the density, estimated by cross-validation.
    pub moment: f64,
    /// Second moment under the uniform density.
    pub uniform: f64,
}

impl CellDensity {
    /// Computes the density from the histograms of two folds. The share of the uniform density is
    /// the one for which the densities of both folds have the least second moments on the samples
    /// of the other fold.
    pub fn new(folds: &[Histogram; 2]) -> CellDensity {
        let blurred = folds.each_ref().map(Histogram::blurred);
        let moment = |share: f32| -> f64 {
            let held_out_moment = |fold: usize| -> f64 {
                let density = mixed_density(&blurred[fold], share);
                let held_out = &folds[1 - fold].bins;
                let moments = held_out.iter().zip(density);
                moments.map(|(&moment, q)| f64::from(moment) / f64::from(q)).sum()
            };
            held_out_moment(0) + held_out_moment(1)
        };
        let moments = UNIFORM_SHARES.map(|share| (share, moment(share)));
        let by_moment = |a: &(f32, f64), b: &(f32, f64)| a.1.total_cmp(&b.1);
        let (share, moment) = moments.into_iter().min_by(by_moment).expect("there are shares");
        let mut both = folds[0];
        both.merge(&folds[1]);
        CellDensity {
            density: UnitSquareDensity::new(&mixed_density(&both.blurred(), share)),
            moment,
            uniform: moments[UNIFORM_SHARES.len() - 1].1,
        }
    }
}

/// A piecewise constant density on the unit square, for sampling.
#[derive(Clone, Debug)]
pub(super) struct UnitSquareDensity {
    /// For each row, the probability of the rows before it.
    rows: [f32; RESOLUTION],
    /// For each row and column, the probability of the columns before it, given the row.
    columns: [[f32; RESOLUTION]; RESOLUTION],
}

impl UnitSquareDensity {
    /// Creates a density from positive weights of the bins.
    fn new(bins: &[f32; BINS]) -> UnitSquareDensity {
        let (rows, _) = bins.as_chunks::<RESOLUTION>();
        let row = |y: usize| &rows[y];
        UnitSquareDensity {
            rows: cumulative(&std::array::from_fn(|y| row(y).iter().sum())),
            columns: std::array::from_fn(|y| cumulative(row(y))),
        }
    }

    /// Maps a uniform point in [0, 1)² to one with this density. Returns it with its density.
    #[inline(always)]
    pub fn sample(&self, [u, v]: [f32; 2]) -> ([f32; 2], f32) {
        let (row, v, row_density) = sample_interval(&self.rows, v);
        let (_, u, column_density) = sample_interval(&self.columns[row], u);
        ([u, v], row_density * column_density)
    }
}

/// Returns the sums of the weights before each, over the sum of all.
fn cumulative(weights: &[f32; RESOLUTION]) -> [f32; RESOLUTION] {
    let total: f32 = weights.iter().sum();
    let mut sum = 0.0;
    weights.map(|weight| {
        let before = sum / total;
        sum += weight;
        before
    })
}

/// Maps a uniform number in [0, 1) to one with a density that is constant in each interval.
/// `cumulative` holds the probabilities of the intervals before each. Returns the interval, the
/// number and its density.
#[inline(always)]
fn sample_interval(cumulative: &[f32; RESOLUTION], u: f32) -> (usize, f32, f32) {
    let interval = cumulative[1..].iter().filter(|&&start| start <= u).count() % RESOLUTION;
    let start = cumulative[interval];
    let end = cumulative.get(interval + 1).copied().unwrap_or(1.0);
    let probability = end - start;
    let x = (interval as f32 + (u - start) / probability) * (1.0 / RESOLUTION as f32);
    (interval, x.min(ONE_MINUS_EPSILON), probability * RESOLUTION as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::sampling::{hash, unit_float};

    /// Returns two folds of samples at random points, with weights from a function of the point.
    fn folds(count: u32, weight: impl Fn([f32; 2], u32) -> f32) -> [Histogram; 2] {
        let mut folds = [Histogram::default(); 2];
        for i in 0..count {
            let u = [0, 1].map(|axis| unit_float(hash(hash(axis, i), 5)));
            folds[i as usize % 2].add(BinIndex::new(u), weight(u, i));
        }
        folds
    }

    #[test]
    fn samples_have_the_density_of_their_bin() {
        let weights: [f32; BINS] = std::array::from_fn(|i| 0.01 + (i * i % 23) as f32);
        let density = UnitSquareDensity::new(&weights);
        let total: f32 = weights.iter().sum();
        let (mut counts, n) = ([0u32; BINS], 512);
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let u = [i, j].map(|i| (i as f32 + 0.5) / n as f32);
            let (point, pdf) = density.sample(u);
            let bin = usize::from(BinIndex::new(point).0);
            counts[bin] += 1;
            let expected = weights[bin] / total * BINS as f32;
            assert!((pdf / expected - 1.0).abs() < 1e-3, "{pdf} {expected}");
        }
        for (&count, &weight) in counts.iter().zip(&weights) {
            let expected = weight / total * (n * n) as f32;
            // The numbers of rows and columns of points in a bin are off by at most one.
            assert!((count as f32 - expected).abs() <= 2.0 * n as f32, "{count} {expected}");
        }
    }

    #[test]
    fn points_at_the_corners_stay_in_the_square() {
        let density = UnitSquareDensity::new(&std::array::from_fn(|i| 1.0 + 9.0 * (i % 3) as f32));
        for u in [[0.0, 0.0], [ONE_MINUS_EPSILON; 2], [0.0, ONE_MINUS_EPSILON]] {
            let (point, pdf) = density.sample(u);
            assert!(point.iter().all(|x| (0.0..1.0).contains(x)) && pdf > 0.0, "{point:?} {pdf}");
        }
    }

    #[test]
    fn densities_follow_moments_that_both_folds_share() {
        let cell = CellDensity::new(&folds(2_000, |[u, _], _| if u < 0.25 { 1.0 } else { 0.0 }));
        assert!(cell.moment < 0.5 * cell.uniform);
        let (_, inside) = cell.density.sample([0.3, 0.5]);
        assert!(inside > 2.0, "{inside}");
    }

    #[test]
    fn densities_do_not_trust_single_large_samples() {
        let cell = CellDensity::new(&folds(2_000, |_, i| if i % 333 == 17 { 1e6 } else { 1.0 }));
        assert_eq!(cell.moment, cell.uniform);
        let (_, pdf) = cell.density.sample([0.3, 0.5]);
        assert!((pdf - 1.0).abs() < 1e-5, "{pdf}");
    }

    #[test]
    fn cells_without_light_are_uniform() {
        let cell = CellDensity::new(&folds(100, |_, _| 0.0));
        assert_eq!((cell.moment, cell.uniform), (0.0, 0.0));
        assert_eq!(cell.density.sample([0.3, 0.6]), ([0.3, 0.6], 1.0));
    }
}
