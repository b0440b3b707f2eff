//! Piecewise constant densities on the unit square.

use fearless_simd::f32x8;
use fearless_simd::prelude::*;
use lightbound_math::direction_box::lesser;
use lightbound_math::sampling::ONE_MINUS_EPSILON;
use lightbound_math::{COLUMN_LEN, Column, Columns};

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

/// Shares of the uniform density to choose from. The smallest bounds the weight of a contribution;
/// the last is the uniform density itself.
pub(super) const UNIFORM_SHARES: [f32; 3] = [0.25, 0.5, 1.0];

/// Returns the second moments of the contributions under the density of a cell with each of the
/// [`UNIFORM_SHARES`]. Cross-validation estimates them: `folds` are the samples of two folds, and
/// the density of each is tested on the samples of the other.
pub(super) fn held_out_moments(folds: &[Histogram; 2]) -> [f64; UNIFORM_SHARES.len()] {
    let blurred = folds.each_ref().map(Histogram::blurred);
    UNIFORM_SHARES.map(|share| {
        let held_out_moment = |fold: usize| -> f64 {
            let density = mixed_density(&blurred[fold], share);
            let held_out = &folds[1 - fold].bins;
            let moments = held_out.iter().zip(density);
            moments.map(|(&moment, q)| f64::from(moment) / f64::from(q)).sum()
        };
        held_out_moment(0) + held_out_moment(1)
    })
}

/// A piecewise constant density on the unit square, for sampling.
#[derive(Clone, Debug)]
pub(super) struct UnitSquareDensity {
    rows: Cumulative,
    /// The columns of each row, given the row.
    columns: [Cumulative; RESOLUTION],
}

/// The probability of the bins before each of a row of bins; the last number is 1.
type Cumulative = [f32; RESOLUTION + 1];

impl UnitSquareDensity {
    /// Creates the density of a cell from the samples of two folds; `uniform` is the share of the
    /// uniform density.
    pub fn of_cell(folds: &[Histogram; 2], uniform: f32) -> UnitSquareDensity {
        let mut both = folds[0];
        both.merge(&folds[1]);
        UnitSquareDensity::new(&mixed_density(&both.blurred(), uniform))
    }

    /// Creates a density from positive weights of the bins.
    fn new(bins: &[f32; BINS]) -> UnitSquareDensity {
        let (rows, _) = bins.as_chunks::<RESOLUTION>();
        let row = |y: usize| &rows[y];
        UnitSquareDensity {
            rows: cumulative(&std::array::from_fn(|y| row(y).iter().sum())),
            columns: std::array::from_fn(|y| cumulative(row(y))),
        }
    }
}

/// Maps uniform points in [0, 1)² to points with the densities of the lanes. Returns the densities
/// at them.
#[inline(always)]
pub(super) fn sample_columns<'a, S: Simd>(
    simd: S,
    densities: impl Fn(usize) -> &'a UnitSquareDensity,
    u: &mut Columns<2>,
) -> Column {
    let [u, v] = &mut u.0;
    let (rows, mut pdf) = sample_intervals(simd, |lane| &densities(lane).rows, v);
    let columns = |lane: usize| &densities(lane).columns[rows[lane]];
    let (_, column_densities) = sample_intervals(simd, columns, u);
    pdf.iter_mut().zip(column_densities).for_each(|(pdf, density)| *pdf *= density);
    pdf
}

/// Returns the sums of the weights before each, over the sum of all.
fn cumulative(weights: &[f32; RESOLUTION]) -> Cumulative {
    let total: f32 = weights.iter().sum();
    let mut cumulative = [1.0; RESOLUTION + 1];
    let mut sum = 0.0;
    for (before, weight) in cumulative.iter_mut().zip(weights) {
        *before = sum / total;
        sum += weight;
    }
    cumulative
}

/// Maps uniform numbers in [0, 1) to numbers with densities that are constant in each interval.
/// Returns the intervals and the densities.
#[inline(always)]
fn sample_intervals<'a, S: Simd>(
    simd: S,
    cumulative: impl Fn(usize) -> &'a Cumulative,
    u: &mut Column,
) -> ([usize; COLUMN_LEN], Column) {
    let (mut intervals, mut starts, mut ends) =
        ([0; COLUMN_LEN], [0.0; COLUMN_LEN], [0.0; COLUMN_LEN]);
    for (lane, &u) in u.iter().enumerate() {
        let cumulative = cumulative(lane);
        let before = f32x8::from_slice(simd, &cumulative[..RESOLUTION]).simd_le(u);
        // The first interval starts at 0 and always counts.
        let interval = before.to_bitmask().count_ones().saturating_sub(1) as usize % RESOLUTION;
        intervals[lane] = interval;
        (starts[lane], ends[lane]) = (cumulative[interval], cumulative[interval + 1]);
    }
    let mut pdf = [0.0; COLUMN_LEN];
    for lane in 0..COLUMN_LEN {
        let probability = ends[lane] - starts[lane];
        let x = intervals[lane] as f32 + (u[lane] - starts[lane]) / probability;
        u[lane] = lesser(x * (1.0 / RESOLUTION as f32), ONE_MINUS_EPSILON);
        pdf[lane] = probability * RESOLUTION as f32;
    }
    (intervals, pdf)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fearless_simd::{Level, dispatch};
    use lightbound_math::sampling::{hash, unit_float};

    /// Returns the sample of a density at a uniform point.
    fn sample(density: &UnitSquareDensity, u: [f32; 2]) -> ([f32; 2], f32) {
        let mut columns = Columns::splat(u);
        let pdf = dispatch!(Level::new(), simd => sample_columns(simd, |_| density, &mut columns));
        (columns.get(5), pdf[5])
    }

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
            let (point, pdf) = sample(&density, u);
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
            let (point, pdf) = sample(&density, u);
            assert!(point.iter().all(|x| (0.0..1.0).contains(x)) && pdf > 0.0, "{point:?} {pdf}");
        }
    }

    #[test]
    fn densities_follow_moments_that_both_folds_share() {
        let folds = folds(2_000, |[u, _], _| if u < 0.25 { 1.0 } else { 0.0 });
        let [least, other, uniform] = held_out_moments(&folds);
        assert!(least < other && least < 0.5 * uniform, "{least} {other} {uniform}");
        let density = UnitSquareDensity::of_cell(&folds, UNIFORM_SHARES[0]);
        let (_, inside) = sample(&density, [0.2, 0.5]);
        assert!(inside > 2.0, "{inside}");
    }

    #[test]
    fn single_large_samples_favour_the_uniform_density() {
        let folds = folds(2_000, |_, i| if i % 333 == 17 { 1e6 } else { 1.0 });
        let [least, other, uniform] = held_out_moments(&folds);
        assert!(uniform < least.min(other), "{least} {other} {uniform}");
    }

    #[test]
    fn cells_without_light_are_uniform() {
        let folds = folds(100, |_, _| 0.0);
        assert_eq!(held_out_moments(&folds), [0.0; UNIFORM_SHARES.len()]);
        let density = UnitSquareDensity::of_cell(&folds, 0.25);
        assert_eq!(sample(&density, [0.3, 0.6]), ([0.3, 0.6], 1.0));
    }
}
