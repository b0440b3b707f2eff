//! Tests statistically whether a direction sampler has the density that it claims.
//!
//! Some directions are drawn from the sampler (density p), others from a density q that
//! approximates p: the medians of a pilot set of samples split the sphere into cells of equal
//! probability, and q is uniform within a cell. For the true density p and any set C of directions,
//!
//! ```text
//! ∫ p q/(p + q) over C  =  E_p[1_C q/(p + q)]  =  E_q[1_C p/(p + q)],
//! ```
//!
//! which is the balance heuristic for either sampler (Veach 1997 §9; Meng and Wong 1996 for the
//! identity). With the *claimed* density in place of p within the brackets, both sides can be
//! estimated. All averaged values lie in [0, 1], so a narrow lobe that a quadrature would miss
//! reduces the power of the test, but causes no false alarms. Both sides are compared in all cells
//! of a tree whose root is the entire domain. They may differ by a tolerance plus a number of
//! standard errors. The test is deterministic for a given seed.
//!
//! [`Settings`] select between a quick check at load time, which finds gross errors, and a thorough
//! test.

mod estimates;
mod partition;

pub use partition::{DirectionCell, Domain};

use super::{hash, unit_float};
use crate::{Vec2, Vec3};
use estimates::{Estimates, compare};
use partition::{CellTree, coordinates};
use std::fmt;

/// Sizes and tolerances of a check.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Columns and rows of strata in the unit square for the pilot samples, whose medians define
    /// the cells. There is one sample per stratum.
    pub pilot_strata: [u32; 2],
    /// Columns and rows of strata for the samples of p in the test.
    pub p_strata: [u32; 2],
    /// Columns and rows of strata for the samples of q in each of its cells.
    pub q_strata_per_cell: [u32; 2],
    /// Depth of the tree. Its leaves are the cells of q.
    pub depth: u32,
    /// Depth of the smallest cells that are compared.
    pub compared_depth: u32,
    /// Smallest depth at which all cells are also tested jointly.
    pub min_pooled_depth: u32,
    /// Whether the samples of p use independent random numbers instead of stratified ones. With
    /// stratification, fewer samples suffice, but standard errors are overestimated, and the joint
    /// test of all cells loses power.
    pub independent: bool,
    /// Accepted deviation of a direction's squared length from 1.
    pub squared_length_tolerance: f32,
    /// Accepted relative difference.
    pub tolerance: f64,
    /// Accepted difference in standard errors.
    pub max_standard_errors: f64,
}

impl Settings {
    /// Returns the number of cells of q.
    fn cell_count(&self) -> usize {
        1 << self.depth
    }
}

/// A sampler of directions and its density, both evaluated in batches.
pub trait DirectionSampler {
    /// Maps points of the unit square to unit directions with their densities per steradian. The
    /// density is 0 if a point yields no direction.
    fn sample(&mut self, points: &[Vec2]) -> Vec<(Vec3, f32)>;

    /// Returns the densities of unit directions, per steradian.
    fn pdf(&mut self, directions: &[Vec3]) -> Vec<f32>;
}

/// A disagreement between a sampler and its density.
#[derive(Clone, Debug, PartialEq)]
pub enum Mismatch {
    /// A sampled direction has the given length instead of 1.
    Length(f32),
    /// A density is negative or not finite.
    Density {
        /// The density.
        value: f32,
        /// Whether it belongs to a sampled direction.
        sampled: bool,
    },
    /// Samples and density disagree about the probability of a cell.
    Probability {
        /// The cell.
        cell: DirectionCell,
        /// Fraction of the samples in the cell.
        sampled_fraction: f64,
        /// Integral of the density over the cell.
        pdf_integral: f64,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Length(length) => {
                write!(f, "`sample` yields a direction of length {length}")
            }
            Mismatch::Density { value, sampled } => {
                let which = if *sampled { "a sampled direction" } else { "a direction" };
                write!(f, "`pdf` of {which} is {value}")
            }
            Mismatch::Probability { cell, sampled_fraction, pdf_integral } => {
                let (sampled, integral) = (100.0 * sampled_fraction, 100.0 * pdf_integral);
                write!(
                    f,
                    "`sample` draws {sampled:.1} % of its directions {cell}, but `pdf` integrates \
                     to {integral:.1} % there"
                )
            }
        }
    }
}

impl std::error::Error for Mismatch {}

/// Number of directions per batch.
const BATCH: usize = 4096;

/// Checks that `sampler` samples `domain` with its density. Ignores directions outside the domain.
/// `seed` selects the random numbers.
pub fn check(
    sampler: &mut impl DirectionSampler,
    domain: Domain,
    settings: &Settings,
    seed: u32,
) -> Result<(), Mismatch> {
    let pilot =
        draw(sampler, domain, settings, stratified_points(3 * seed, settings.pilot_strata))?;
    let mut pilot: Vec<_> = pilot.into_iter().map(|(point, _)| point).collect();
    let tree = CellTree::new(domain, settings.depth, &mut pilot);
    let mut cells = vec![Estimates::default(); settings.cell_count()];
    add_samples_of_p(sampler, domain, settings, seed, &tree, &mut cells)?;
    add_samples_of_q(sampler, settings, seed, &tree, &mut cells)?;
    compare(settings, &tree, &cells)
}

/// Draws samples of p and adds them to the estimates of their cells.
fn add_samples_of_p(
    sampler: &mut impl DirectionSampler,
    domain: Domain,
    settings: &Settings,
    seed: u32,
    tree: &CellTree,
    cells: &mut [Estimates],
) -> Result<(), Mismatch> {
    let cell_probability = 1.0 / settings.cell_count() as f64;
    let count = settings.p_strata[0] * settings.p_strata[1];
    let points = match settings.independent {
        true => (0..count).map(|i| random_point(3 * seed + 1, i)).collect(),
        false => stratified_points(3 * seed + 1, settings.p_strata),
    };
    let samples = draw(sampler, domain, settings, points)?;
    let weight = 1.0 / f64::from(count);
    for (point, p) in samples {
        let leaf = tree.leaf(point);
        let q = cell_probability / tree.leaves()[leaf].solid_angle();
        let (g, cell) = (q / (p + q), &mut cells[leaf]);
        cell.sampled_fraction += weight;
        cell.sides[0] += weight * g;
        cell.second_moments[0][0] += weight * g * g;
        // q h² = p g (1 − g) with h = p/(p + q); likewise p g² = q h (1 − h) below.
        cell.second_moments[1][0] += weight * g * (1.0 - g);
    }
    Ok(())
}

/// Draws samples of q and adds them to the estimates of their cells.
fn add_samples_of_q(
    sampler: &mut impl DirectionSampler,
    settings: &Settings,
    seed: u32,
    tree: &CellTree,
    cells: &mut [Estimates],
) -> Result<(), Mismatch> {
    let cell_probability = 1.0 / settings.cell_count() as f64;
    let points: Vec<Vec3> = (0..)
        .zip(tree.leaves())
        .flat_map(|(k, cell)| {
            let points = stratified_points(hash(3 * seed + 2, k), settings.q_strata_per_cell);
            points.into_iter().map(|s| cell.direction(s))
        })
        .collect();
    let densities: Vec<f32> = points.chunks(BATCH).flat_map(|batch| sampler.pdf(batch)).collect();
    let samples_per_cell = densities.len() / settings.cell_count();
    let weight = cell_probability / samples_per_cell as f64;
    for ((cell, bounds), densities) in
        cells.iter_mut().zip(tree.leaves()).zip(densities.chunks(samples_per_cell))
    {
        let q = cell_probability / bounds.solid_angle();
        let mut cell_sum = 0.0;
        for &p in densities {
            if !(0.0..f32::INFINITY).contains(&p) {
                return Err(Mismatch::Density { value: p, sampled: false });
            }
            let p = f64::from(p);
            let h = p / (p + q);
            cell.pdf_integral += weight * p / q;
            cell_sum += weight * h;
            cell.second_moments[1][1] += weight * h * h;
            cell.second_moments[0][1] += weight * h * (1.0 - h);
        }
        cell.sides[1] += cell_sum;
        cell.squared_cell_means += cell_sum * cell_sum / cell_probability;
    }
    Ok(())
}

/// Samples a direction for each of `points` in the unit square. Returns the coordinates and
/// densities of those in the domain.
fn draw(
    sampler: &mut impl DirectionSampler,
    domain: Domain,
    settings: &Settings,
    points: Vec<Vec2>,
) -> Result<Vec<([f64; 2], f64)>, Mismatch> {
    let bounds = DirectionCell::new(domain);
    let mut samples = Vec::with_capacity(points.len());
    for (w, pdf) in points.chunks(BATCH).flat_map(|batch| sampler.sample(batch)) {
        if pdf == 0.0 || domain == Domain::UpperHemisphere && w.z <= 0.0 {
            continue;
        }
        if !(pdf > 0.0 && pdf < f32::INFINITY) {
            return Err(Mismatch::Density { value: pdf, sampled: true });
        }
        let error = (w.length_squared() - 1.0).abs();
        if error.is_nan() || error > settings.squared_length_tolerance {
            return Err(Mismatch::Length(w.length()));
        }
        let point = coordinates(w);
        if point[0] < bounds.hi[0] {
            samples.push((point, f64::from(pdf)));
        }
    }
    Ok(samples)
}

/// Returns point `i` of a sequence of independent uniform points in the unit square.
fn random_point(seed: u32, i: u32) -> Vec2 {
    Vec2::from([0, 1].map(|axis| unit_float(hash(hash(seed, i), axis))))
}

/// Returns jittered points in the unit square, one per stratum.
fn stratified_points(seed: u32, [columns, rows]: [u32; 2]) -> Vec<Vec2> {
    let point = |i: u32| {
        let jitter = random_point(seed, i);
        let x = ((i % columns) as f32 + jitter.x) / columns as f32;
        let y = ((i / columns) as f32 + jitter.y) / rows as f32;
        Vec2::new(x, y).min(Vec2::splat(1.0 - f32::EPSILON))
    };
    (0..columns * rows).map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_sampler_matches_pdf, check_sampler};
    use super::*;
    use crate::{Frame, vec2, vec3};
    use std::f32::consts::{PI, TAU};

    /// Returns the unit vector at height `z` and azimuth 2π `u`.
    fn from_cylindrical(z: f32, u: f32) -> Vec3 {
        let (s, c) = (TAU * u).sin_cos();
        vec3(c, s, 0.0) * (1.0 - z * z).max(0.0).sqrt() + vec3(0.0, 0.0, z)
    }

    fn cosine(u: Vec2) -> Vec3 {
        from_cylindrical((1.0 - u.x).sqrt(), u.y)
    }

    fn cosine_pdf(w: Vec3) -> f32 {
        w.z.max(0.0) / PI
    }

    #[test]
    fn correct_samplers_pass() {
        let uniform = |u: Vec2| Some(from_cylindrical(1.0 - 2.0 * u.x, u.y));
        assert_sampler_matches_pdf("uniform", 40_000, uniform, |_| 0.5 / TAU);
        assert_sampler_matches_pdf("cosine", 40_000, |u| Some(cosine(u)), cosine_pdf);
        // A narrow cone that is not around z, and whose boundary is not aligned with any cell.
        let (min_cos, axis) = (0.999, vec3(0.6, 0.0, 0.8));
        let frame = Frame::from_normal(axis);
        let inner = |u: f32| 1.0 + (min_cos + 1e-6 - 1.0) * u;
        assert_sampler_matches_pdf(
            "cone",
            40_000,
            |u| Some(frame.to_world(from_cylindrical(inner(u.x), u.y))),
            |w| if w.dot(axis) >= min_cos { 1.0 / (TAU * (1.0 - min_cos)) } else { 0.0 },
        );
        let half = |u: Vec2| (u.x < 0.5).then(|| cosine(vec2(2.0 * u.x, u.y)));
        assert_sampler_matches_pdf("half rejected", 40_000, half, |w| 0.5 * cosine_pdf(w));
    }

    #[test]
    fn samplers_with_wrong_densities_fail() {
        let rejected =
            |pdf: &dyn Fn(Vec3) -> f32| check_sampler(7, 40_000, |u| Some(cosine(u)), pdf).is_err();
        assert!(!rejected(&cosine_pdf));
        assert!(rejected(&|w| 0.95 * cosine_pdf(w)), "not normalised");
        assert!(rejected(&|w| if w.z > 0.0 { 1.0 / TAU } else { 0.0 }), "uniform");
        assert!(rejected(&|w| cosine_pdf(w) * (1.0 + 0.1 * w.x)), "skewed by 10 %");
        assert!(rejected(&|w| cosine_pdf(-w)), "opposite hemisphere");
        assert!(rejected(&|w| if w.x > 0.9 { 0.0 } else { cosine_pdf(w) }), "a hole");
        assert!(rejected(&|_| f32::NAN), "NaN");
    }
}
