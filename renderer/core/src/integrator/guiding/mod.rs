//! Path guiding: directions are sampled in proportion to the light that training paths found in
//! them.
//!
//! The guide is a density of the two random numbers from which a shader samples its direction, for
//! each cell of the scene (Guo et al. 2018, *Primary Sample Space Path Guiding*). Shaders map
//! uniform numbers to directions in proportion to the BSDF, so the densities multiply to one that
//! resembles BSDF × incident light, and shaders need no changes. Contributions are divided by the
//! guide's density, which is positive everywhere, so the image is unbiased.
//!
//! Cells are the leaves of a [`SpatialTree`] over positions and normals, and have about the same
//! number of training samples (after Müller et al. 2017, *Practical Path Guiding*). The density of
//! a cell is proportional to the root of the second moment of the contributions to the image (Rath
//! et al. 2020, *Variance-Aware Path Guiding*), mixed with the uniform density. Cross-validation
//! selects the share of the uniform density.

mod density;
mod spatial_tree;

use density::{Histogram, UNIFORM_SHARES, UnitSquareDensity, held_out_moments};
use fearless_simd::dispatch;
use lightbound_math::{COLUMN_LEN, Column, Columns, simd_level};
use std::ops::Range;

pub(super) use density::BinIndex;
pub(super) use spatial_tree::{GUIDE_AXES, SpatialTree};

/// A sample of the light that training paths found in a direction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TrainingSample {
    /// Position and normal.
    pub point: [f32; GUIDE_AXES],
    /// The bin of the random numbers for the direction.
    pub bin: BinIndex,
    /// Squared contribution to the image × density of the random numbers.
    pub weight: f32,
    /// Fold of the cross-validation, 0 or 1. Samples of a path belong to the same fold.
    pub fold: u8,
}

/// Densities of the random numbers for directions in each cell of a [`SpatialTree`].
#[derive(Debug)]
pub(super) struct Guide {
    densities: Vec<UnitSquareDensity>,
    moment_ratio: f64,
}

/// Minimum number of training samples per cell on average; the maximum is twice that.
pub(super) const CELL_SAMPLES: usize = 256;

/// Weight of the prior in the histogram of a cell, in training samples. The prior is the histogram
/// of the cell's parent in the tree.
const PRIOR_SAMPLES: f32 = 64.0;

impl Guide {
    /// Creates a guide from training samples, sorted by cell.
    pub fn new(samples: &[TrainingSample], cells: &[Range<usize>]) -> Guide {
        // Nodes in breadth-first order, with a histogram for each fold.
        let inner = cells.len() - 1;
        let mut nodes = vec![[Histogram::default(); 2]; inner + cells.len()];
        for (folds, cell) in nodes[inner..].iter_mut().zip(cells) {
            for sample in &samples[cell.clone()] {
                folds[usize::from(sample.fold)].add(sample.bin, sample.weight);
            }
        }
        for node in (1..nodes.len()).rev() {
            let (before, from_node) = nodes.split_at_mut(node);
            for (parent, child) in before[(node - 1) / 2].iter_mut().zip(&from_node[0]) {
                parent.merge(child);
            }
        }
        for node in 1..nodes.len() {
            let (before, from_node) = nodes.split_at_mut(node);
            for (parent, child) in before[(node - 1) / 2].iter().zip(&mut from_node[0]) {
                child.add_prior(parent, PRIOR_SAMPLES);
            }
        }
        let cells = &nodes[inner..];
        let moments: Vec<_> = cells.iter().map(held_out_moments).collect();
        let (uniform, moment_ratio) = uniform_share(&moments);
        let densities =
            cells.iter().map(|folds| UnitSquareDensity::of_cell(folds, uniform)).collect();
        Guide { densities, moment_ratio }
    }

    /// Returns the second moment of the contributions with the guide, relative to that without: the
    /// weighted mean of the cells, estimated by cross-validation.
    pub fn moment_ratio(&self) -> f64 {
        self.moment_ratio
    }

    /// Returns the number of cells.
    pub fn cell_count(&self) -> usize {
        self.densities.len()
    }

    /// Maps uniform random numbers `u` to numbers with the densities of `cells`. Returns the
    /// densities.
    pub fn sample(&self, cells: &[u32; COLUMN_LEN], u: &mut Columns<2>) -> Column {
        let densities = |lane: usize| &self.densities[cells[lane] as usize];
        dispatch!(simd_level(), simd => density::sample_columns(simd, densities, u))
    }
}

/// Returns the share of the uniform density with the least second moment of the contributions in
/// total, and the ratio of their moments to those with the uniform density. All cells have the same
/// share: the best share of each would fit its noise, and overestimate the gain. A few rare large
/// contributions may have most of the total, so the ratio is a mean over the cells, weighted by the
/// root of a cell's moment: a guide must gain by both measures.
fn uniform_share(moments: &[[f64; UNIFORM_SHARES.len()]]) -> (f32, f64) {
    let (mut totals, mut weighted) = ([0.0; UNIFORM_SHARES.len()], [0.0; UNIFORM_SHARES.len()]);
    for cell in moments {
        let [.., uniform] = *cell;
        if uniform > 0.0 && uniform.is_finite() {
            totals.iter_mut().zip(cell).for_each(|(sum, moment)| *sum += moment);
            weighted.iter_mut().zip(cell).for_each(|(sum, moment)| *sum += moment / uniform.sqrt());
        }
    }
    // The uniform density comes first, so that it is preferred if all are equal.
    let shares = (0..UNIFORM_SHARES.len()).rev();
    let least = shares.min_by(|&a, &b| totals[a].total_cmp(&totals[b])).expect("there are shares");
    let [.., uniform] = weighted;
    let ratio = if uniform > 0.0 { weighted[least] / uniform } else { 1.0 };
    (UNIFORM_SHARES[least], ratio)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fearless_simd::Level;
    use lightbound_math::sampling::{hash, unit_float};

    fn random(seed: u32, index: u32) -> f32 {
        unit_float(hash(hash(seed, index), 7))
    }

    /// Returns samples in [0, 1]³ with a uniform density of random numbers. Where x < ½, light
    /// comes from the first quarter of the unit square alone, elsewhere from the last.
    fn samples(count: u32) -> Vec<TrainingSample> {
        let sample = |i| {
            let [x, y, z, u, v] = [0, 1, 2, 3, 4].map(|axis| random(axis, i));
            let is_lit = if x < 0.5 { u.max(v) < 0.5 } else { u.min(v) >= 0.5 };
            TrainingSample {
                point: [x, y, z, 0.0, 0.0, 1.0],
                bin: BinIndex::new([u, v]),
                weight: if is_lit { 1.0 } else { 0.0 },
                fold: (i % 2) as u8,
            }
        };
        (0..count).map(sample).filter(|sample| sample.weight > 0.0).collect()
    }

    /// Returns the guide of samples with its cells.
    fn guide(mut samples: Vec<TrainingSample>) -> (SpatialTree, Guide) {
        let (tree, cells) = SpatialTree::new(&mut samples, CELL_SAMPLES);
        let guide = Guide::new(&samples, &cells);
        (tree, guide)
    }

    fn columns<const N: usize>(seed: u32) -> Columns<N> {
        let column = |k| std::array::from_fn(|lane| random(seed + k as u32, lane as u32));
        Columns(std::array::from_fn(column))
    }

    #[test]
    fn guides_sample_where_the_light_of_the_cell_comes_from() {
        let (tree, guide) = guide(samples(40_000));
        assert!(guide.cell_count() >= 16 && guide.moment_ratio() < 0.5, "{}", guide.moment_ratio());
        let (mut lit, mut integral, mut count) = (0, 0.0, 0.0);
        for seed in 0..500 {
            let mut points = columns(100 + 10 * seed);
            // Away from the border, which cells straddle.
            points.0[0] = points.0[0].map(|x| if x < 0.5 { 0.8 * x } else { 0.2 + 0.8 * x });
            let mut u = columns(50_000 + 10 * seed);
            let pdf = guide.sample(&tree.find_cells(&points), &mut u);
            for (lane, pdf) in pdf.into_iter().enumerate() {
                let [x, y]: [f32; 2] = u.get(lane);
                assert!((0.0..1.0).contains(&x) && (0.0..1.0).contains(&y));
                let is_lower = points.0[0][lane] < 0.5;
                lit += u32::from(if is_lower { x.max(y) < 0.5 } else { x.min(y) >= 0.5 });
                integral += f64::from(1.0 / pdf);
                count += 1.0;
            }
        }
        // A quarter of uniform samples. Blurred borders of the quarter and the uniform share of the
        // density limit the guide.
        assert!(f64::from(lit) > 0.6 * count, "{lit} of {count}");
        assert!((integral / count - 1.0).abs() < 0.05, "{}", integral / count);
    }

    #[test]
    fn shares_of_the_uniform_density_need_a_gain_in_total_and_in_most_cells() {
        let (gain, loss, dark) = ([0.5, 0.7, 1.0], [1.2, 1.1, 1.0], [0.0; 3]);
        assert_eq!(uniform_share(&[gain, dark]), (0.25, 0.5));
        assert_eq!(uniform_share(&[loss, dark]), (1.0, 1.0));
        assert_eq!(uniform_share(&[dark]), (1.0, 1.0));
        assert_eq!(uniform_share(&[gain, [f64::INFINITY; 3]]), (0.25, 0.5));
        // A cell with a thousandfold moment has most of the total, but little of the ratio.
        let bright = gain.map(|moment| 1e3 * moment);
        let mut cells = [loss; 100];
        cells[7] = bright;
        let (share, ratio) = uniform_share(&cells);
        assert!(share == 0.25 && ratio > 1.0, "{share} {ratio}");
    }

    #[test]
    fn guides_of_noise_do_not_seem_to_gain() {
        // One sample in 300 has nearly all of the light, wherever it comes from.
        let mut samples = samples(40_000);
        for (i, sample) in samples.iter_mut().enumerate() {
            let u = [5, 6].map(|axis| random(axis, i as u32));
            sample.bin = BinIndex::new(u);
            sample.weight = if random(7, i as u32) < 1.0 / 300.0 { 1e4 } else { 1.0 };
        }
        let ratio = guide(samples).1.moment_ratio();
        assert!((0.98..1.3).contains(&ratio), "{ratio}");
    }

    #[test]
    fn guides_without_samples_are_uniform() {
        let (tree, guide) = guide(Vec::new());
        assert_eq!(guide.moment_ratio(), 1.0);
        let before: Columns<2> = columns(1);
        let mut u = before;
        let pdf = guide.sample(&tree.find_cells(&columns(5)), &mut u);
        assert_eq!(pdf, [1.0; COLUMN_LEN]);
        assert_eq!(u.0, before.0);
    }

    #[test]
    fn guides_do_not_depend_on_the_simd_level() {
        let (tree, guide) = guide(samples(5_000));
        for seed in 0..50 {
            let (points, u) = (columns(10 * seed), columns(10 * seed + 6));
            let (mut baseline, mut best) = (u, u);
            let cells = tree.find_cells(&points);
            let pdf = dispatch!(Level::baseline(), simd => {
                let densities = |lane: usize| &guide.densities[cells[lane] as usize];
                density::sample_columns(simd, densities, &mut baseline)
            });
            assert_eq!(pdf, guide.sample(&cells, &mut best));
            assert_eq!(baseline.0, best.0);
        }
    }
}
