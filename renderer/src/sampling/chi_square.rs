//! A χ² test of direction samplers against the density they claim; test code only.
//!
//! The sphere is cut into rectangles of (cos θ, φ), where area is solid angle. Independent pilot
//! samples decide where the rectangles are halved, so that narrow lobes are resolved as well as
//! broad ones and the cells stay fixed with respect to the samples that are counted. The density is
//! integrated over each cell by adaptive Gauss quadrature, cells with fewer than five expected
//! samples are pooled, and rejected samples (`None`) are one more cell. The p-value is the
//! regularised incomplete gamma function; with `tests` tests at once each runs at the significance
//! of Šidák's correction, 1 − (1 − 0.01)^(1/tests).
//!
//! Sampler and density work on batches, as compiled shaders do: groups of SIMD lanes are filled.
//!
//! Not seen: a spike of the density that is both narrower than the quadrature's first points and
//! never hit by the sampler.

use super::{hash, unit_float};
use crate::math::{Vec3, vec3};
use std::f64::consts::TAU;

/// Chance that a whole family of correct samplers is refused.
const SIGNIFICANCE: f64 = 0.01;
/// Cells with fewer expected samples are pooled.
const MIN_EXPECTED: f64 = 5.0;
/// The pilot splits cells until each holds at most this share of the samples.
const CELL_SHARE: f64 = 1.0 / 200.0;
/// Halvings that happen whatever the pilot says, and the most that may happen.
const HALVINGS: std::ops::Range<u32> = 6..40;
/// Quarterings of a cell by the quadrature: those that happen whatever it finds, for densities that
/// end within, and the most.
const QUARTERINGS: std::ops::RangeInclusive<u32> = 3..=8;
/// Samples that are drawn at a time.
const BATCH: usize = 4096;

/// Tests that `sample`, fed with uniform numbers in [0, 1), draws unit directions with the density
/// `pdf` (per steradian).
///
/// Also checks that the density integrates to the share of accepted samples and is positive where
/// samples land. `tests` is the number of tests the significance is shared by.
///
/// *Panics* with name, seed, statistic and the worst cells where the two disagree.
pub fn chi_square_sphere(
    name: &str,
    samples: usize,
    sample: impl Fn([f32; 3]) -> Option<Vec3>,
    pdf: impl Fn(Vec3) -> f32,
    tests: usize,
) {
    let sample = |numbers: &[[f32; 3]]| numbers.iter().map(|&u| sample(u)).collect();
    let pdf = |directions: &[Vec3]| directions.iter().map(|&w| pdf(w)).collect();
    chi_square_batches(name, samples, sample, pdf, tests);
}

/// [`chi_square_sphere`] of functions that give, for a batch of inputs, as many results.
pub fn chi_square_batches(
    name: &str,
    samples: usize,
    sample: impl Fn(&[[f32; 3]]) -> Vec<Option<Vec3>>,
    pdf: impl Fn(&[Vec3]) -> Vec<f32>,
    tests: usize,
) {
    let seed = name.bytes().fold(0x5eed, |h, b| hash(h, u32::from(b)));
    if let Err(why) = goodness_of_fit(seed, samples, &sample, &pdf, tests) {
        panic!("{name} (seed {seed:#x}, {samples} samples): {why}");
    }
}

/// A rectangle of (cos θ, φ), with what was counted and what was expected.
#[derive(Clone, Copy, Debug)]
struct Cell {
    /// Bounds: `[cos θ, φ]` at the low and at the high corner.
    lo: [f64; 2],
    hi: [f64; 2],
    observed: f64,
    expected: f64,
}

fn goodness_of_fit(
    seed: u32,
    samples: usize,
    sample: &impl Fn(&[[f32; 3]]) -> Vec<Option<Vec3>>,
    pdf: &impl Fn(&[Vec3]) -> Vec<f32>,
    tests: usize,
) -> Result<(), String> {
    let draw = |stream: u32, count: usize| -> Vec<Vec3> {
        let stream = hash(seed, stream);
        let numbers: Vec<_> = (0..count as u32)
            .map(|i| [0, 1, 2].map(|d| unit_float(hash(hash(stream, i), d))))
            .collect();
        numbers.chunks(BATCH).flat_map(|numbers| sample(numbers).into_iter().flatten()).collect()
    };
    let n = samples as f64;
    let directions = draw(0, samples);
    if let Some(bad) = directions.iter().find(|w| w.is_nan() || (w.length() - 1.0).abs() > 1e-5) {
        return Err(format!("the sample {bad} is not a unit vector"));
    }
    let densities = directions.chunks(BATCH).flat_map(pdf);
    let impossible = densities.filter(|density| density.is_nan() || *density <= 0.0).count();
    if impossible > samples / 5000 {
        return Err(format!("{impossible} samples lie where the density is not positive"));
    }

    let points = |w: Vec<Vec3>| w.into_iter().map(coordinates).collect::<Vec<_>>();
    let sphere = Cell { lo: [-1.0, 0.0], hi: [1.0, TAU], observed: 0.0, expected: 0.0 };
    let mut cells = Vec::new();
    let integral = Integral { pdf, tolerance: 0.02 / n };
    split(
        sphere,
        points(draw(1, samples / 4)),
        points(directions),
        samples,
        0,
        &integral,
        &mut cells,
    );

    let accepted = cells.iter().map(|c| c.observed).sum::<f64>() / n;
    let total = cells.iter().map(|c| c.expected).sum::<f64>() / n;
    let deviation = (accepted * (1.0 - accepted) / n).sqrt();
    if total.is_nan() || (total - accepted).abs() > 4.5 * deviation + 2e-3 {
        return Err(format!(
            "the density integrates to {total:.5}, but {accepted:.5} of the samples are accepted"
        ));
    }
    // Where nothing is rejected, what the density lacks is rounding, and small beside the tolerance
    // above.
    if accepted < 1.0 {
        cells.push(Cell {
            observed: n * (1.0 - accepted),
            expected: n * (1.0 - total).max(0.0),
            ..sphere
        });
    }

    let (statistic, freedom, p) = pearson(cells.iter().map(|c| (c.observed, c.expected)).collect());
    let threshold = 1.0 - (1.0 - SIGNIFICANCE).powf(1.0 / tests.max(1) as f64);
    if p >= threshold {
        return Ok(());
    }
    let term = |c: &Cell| (c.observed - c.expected).powi(2) / c.expected.max(1.0);
    cells.sort_by(|a, b| term(b).total_cmp(&term(a)));
    let worst: String = cells.iter().take(4).map(|c| format!("\n  {c:?}")).collect();
    Err(format!(
        "χ² = {statistic:.1} with {freedom} degrees of freedom, p = {p:.2e} < {threshold:.2e}; worst cells:{worst}"
    ))
}

fn coordinates(w: Vec3) -> [f64; 2] {
    [f64::from(w.z), f64::from(w.y).atan2(f64::from(w.x)).rem_euclid(TAU)]
}

fn direction([c, phi]: [f64; 2]) -> Vec3 {
    let s = (1.0 - c * c).max(0.0).sqrt();
    vec3((s * phi.cos()) as f32, (s * phi.sin()) as f32, c as f32)
}

/// Halves `cell`, axes in turn, until few enough pilot points are left in each part; counts and
/// integrates the parts.
fn split<F: Fn(&[Vec3]) -> Vec<f32>>(
    cell: Cell,
    pilot: Vec<[f64; 2]>,
    points: Vec<[f64; 2]>,
    samples: usize,
    depth: u32,
    integral: &Integral<F>,
    out: &mut Vec<Cell>,
) {
    let crowded = pilot.len() as f64 > CELL_SHARE * (samples / 4) as f64;
    if depth >= HALVINGS.end || depth >= HALVINGS.start && !crowded {
        let expected = samples as f64 * integral.over(cell.lo, cell.hi);
        // Many more pilot points than expected: the quadrature has missed a spike, or the sampler
        // is wrong. Smaller cells tell.
        let surprising = pilot.len() as f64 > 4.0 + 2.0 * (0.25 * expected);
        if depth >= HALVINGS.end || !surprising {
            out.push(Cell { observed: points.len() as f64, expected, ..cell });
            return;
        }
    }
    let axis = (depth % 2) as usize;
    let middle = 0.5 * (cell.lo[axis] + cell.hi[axis]);
    let (mut low, mut high) = (cell, cell);
    low.hi[axis] = middle;
    high.lo[axis] = middle;
    let (pilot_low, pilot_high) = pilot.into_iter().partition(|p| p[axis] < middle);
    let (points_low, points_high) = points.into_iter().partition(|p| p[axis] < middle);
    split(low, pilot_low, points_low, samples, depth + 1, integral, out);
    split(high, pilot_high, points_high, samples, depth + 1, integral, out);
}

/// Adaptive quadrature of a density over rectangles of (cos θ, φ).
struct Integral<'a, F> {
    pdf: &'a F,
    /// Absolute error at which quartering stops; the relative one is 10⁻⁴.
    tolerance: f64,
}

/// A rectangle with what the Gauss rule finds for it.
type Estimate = ([f64; 2], [f64; 2], f64);

impl<F: Fn(&[Vec3]) -> Vec<f32>> Integral<'_, F> {
    /// Quarters rectangles until the sum of the quarters agrees with what was found for the whole.
    fn over(&self, lo: [f64; 2], hi: [f64; 2]) -> f64 {
        let mut integral = 0.0;
        let mut open = vec![(lo, hi, f64::INFINITY)];
        for quartering in 1..=*QUARTERINGS.end() {
            let quarters = self.quarters(&open);
            let mut next = vec![];
            for ((.., coarse), quarters) in open.iter().zip(quarters.chunks(4)) {
                let fine: f64 = quarters.iter().map(|quarter| quarter.2).sum();
                let settled = QUARTERINGS.contains(&quartering)
                    && (fine - coarse).abs() <= 1e-4 * fine + self.tolerance;
                if settled || quartering == *QUARTERINGS.end() {
                    integral += fine;
                } else {
                    next.extend_from_slice(quarters);
                }
            }
            open = next;
        }
        integral
    }

    /// The quarters of rectangles, four of each.
    fn quarters(&self, wholes: &[Estimate]) -> Vec<Estimate> {
        let quarters = wholes.iter().flat_map(|&(lo, hi, _)| {
            let middle = [0.5 * (lo[0] + hi[0]), 0.5 * (lo[1] + hi[1])];
            [0, 1, 2, 3].map(|i: usize| {
                let pick = |a: usize, if_low: [f64; 2], if_high: [f64; 2]| {
                    if i >> a & 1 == 0 { if_low[a] } else { if_high[a] }
                };
                ([0, 1].map(|a| pick(a, lo, middle)), [0, 1].map(|a| pick(a, middle, hi)))
            })
        });
        let mut quarters: Vec<_> = quarters.map(|(lo, hi)| (lo, hi, 0.0)).collect();
        let points =
            |&(lo, hi, _): &Estimate| gauss_rule(lo, hi).map(|(point, _)| direction(point));
        let densities = (self.pdf)(&quarters.iter().flat_map(points).collect::<Vec<_>>());
        for (quarter, densities) in quarters.iter_mut().zip(densities.chunks(9)) {
            let weights = gauss_rule(quarter.0, quarter.1).map(|(_, weight)| weight);
            quarter.2 = weights
                .iter()
                .zip(densities)
                .map(|(weight, &density)| weight * f64::from(density))
                .sum();
        }
        quarters
    }
}

/// Points and weights of the product of two three-point Gauss rules over a rectangle.
fn gauss_rule(lo: [f64; 2], hi: [f64; 2]) -> [([f64; 2], f64); 9] {
    let rule = [(-0.6f64.sqrt(), 5.0 / 18.0), (0.0, 8.0 / 18.0), (0.6f64.sqrt(), 5.0 / 18.0)];
    let at = |axis: usize, x: f64| 0.5 * (lo[axis] + hi[axis] + x * (hi[axis] - lo[axis]));
    let area = (hi[0] - lo[0]) * (hi[1] - lo[1]);
    std::array::from_fn(|k| {
        let ((x, wx), (y, wy)) = (rule[k / 3], rule[k % 3]);
        ([at(0, x), at(1, y)], wx * wy * area)
    })
}

/// Pearson's test of pairs of observed and expected counts, small ones pooled: the statistic, its
/// degrees of freedom, and p.
pub fn pearson(mut pairs: Vec<(f64, f64)>) -> (f64, usize, f64) {
    pairs.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut pooled: Vec<(f64, f64)> = Vec::new();
    for (observed, expected) in pairs {
        match pooled.last_mut() {
            Some(last) if last.1 < MIN_EXPECTED => *last = (last.0 + observed, last.1 + expected),
            _ => pooled.push((observed, expected)),
        }
    }
    let statistic = pooled.iter().map(|&(o, e)| (o - e).powi(2) / e.max(1e-9)).sum();
    let freedom = pooled.len() - 1;
    (statistic, freedom, chi_square_p(statistic, freedom))
}

/// Probability that a χ² variable with `freedom` degrees of freedom exceeds `statistic`:
/// Q(freedom/2, statistic/2).
fn chi_square_p(statistic: f64, freedom: usize) -> f64 {
    if freedom == 0 { 1.0 } else { gamma_q(0.5 * freedom as f64, 0.5 * statistic) }
}

/// Regularised upper incomplete gamma function Q(a, x) = Γ(a, x) / Γ(a), for a > 0.
///
/// The power series of 1 − Q converges fast below x = a + 1, the continued fraction (evaluated by
/// Lentz's method) above.
fn gamma_q(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut k) = (1.0 / a, 1.0 / a, a);
        while term > 1e-15 * sum {
            k += 1.0;
            term *= x / k;
            sum += term;
        }
        return 1.0 - front * sum;
    }
    let mut b = x + 1.0 - a;
    let mut c = f64::INFINITY;
    let mut d = 1.0 / b;
    let mut fraction = d;
    for i in 1..2000 {
        let i = f64::from(i);
        let numerator = i * (a - i);
        b += 2.0;
        d = 1.0 / (b + numerator * d);
        c = b + numerator / c;
        fraction *= c * d;
        if (c * d - 1.0).abs() < 1e-14 {
            break;
        }
    }
    front * fraction
}

/// ln Γ(x) for x > 0: Stirling's series, after the recurrence has moved x above 10.
fn ln_gamma(x: f64) -> f64 {
    if x < 10.0 {
        return ln_gamma(x + 1.0) - x.ln();
    }
    let r = 1.0 / (x * x);
    (x - 0.5) * x.ln() - x + 0.5 * TAU.ln() + (1.0 / 12.0 - r * (1.0 / 360.0 - r / 1260.0)) / x
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f32::consts::{PI, TAU};

    fn around_z(z: f32, u: f32) -> Vec3 {
        let (s, c) = (TAU * u).sin_cos();
        vec3(c, s, 0.0) * (1.0 - z * z).max(0.0).sqrt() + vec3(0.0, 0.0, z)
    }

    #[test]
    fn p_values_match_tables() {
        for (statistic, freedom, p) in [
            (3.841_459, 1, 0.05),
            (18.307_038, 10, 0.05),
            (124.342_113, 100, 0.05),
            (61.754_079, 40, 0.015),
            (2.705_543, 1, 0.1),
        ] {
            let tolerance = 1e-6_f64.max(if p == 0.015 { 1e-3 } else { 0.0 });
            assert!(
                (chi_square_p(statistic, freedom) - p).abs() < tolerance,
                "{statistic} {freedom}"
            );
        }
        assert!((ln_gamma(0.5) - 0.5 * std::f64::consts::PI.ln()).abs() < 1e-10);
        assert!((chi_square_p(4.0, 2) - (-2.0f64).exp()).abs() < 1e-10);
    }

    #[test]
    fn right_samplers_pass() {
        chi_square_sphere(
            "uniform",
            40_000,
            |u| Some(around_z(1.0 - 2.0 * u[0], u[1])),
            |_| 0.5 / TAU,
            4,
        );
        let cosine = |w: Vec3| w.z.max(0.0) / PI;
        chi_square_sphere(
            "cosine",
            40_000,
            |u| Some(around_z((1.0 - u[0]).sqrt(), u[1])),
            cosine,
            4,
        );
        // A narrow cone off the axis, its rim not aligned with any cell.
        let (rim, axis) = (0.999, vec3(0.6, 0.0, 0.8));
        let frame = crate::math::Frame::from_normal(axis);
        let cone = |w: Vec3| if w.dot(axis) >= rim { 1.0 / (TAU * (1.0 - rim)) } else { 0.0 };
        let inner = |u: f32| 1.0 + (rim + 1e-6 - 1.0) * u;
        chi_square_sphere(
            "cone",
            40_000,
            |u| Some(frame.to_world(around_z(inner(u[0]), u[1]))),
            cone,
            4,
        );
        // Half of the samples rejected.
        let half = |u: [f32; 3]| (u[2] < 0.5).then(|| around_z((1.0 - u[0]).sqrt(), u[1]));
        chi_square_sphere("rejecting", 40_000, half, |w| 0.5 * cosine(w), 4);
    }

    #[test]
    fn wrong_densities_are_refused() {
        let cosine =
            |u: &[[f32; 3]]| u.iter().map(|u| Some(around_z((1.0 - u[0]).sqrt(), u[1]))).collect();
        let refused = |pdf: &dyn Fn(Vec3) -> f32| {
            let pdf = |w: &[Vec3]| w.iter().map(|&w| pdf(w)).collect();
            goodness_of_fit(7, 40_000, &cosine, &pdf, 1).is_err()
        };
        assert!(!refused(&|w| w.z.max(0.0) / PI));
        assert!(refused(&|w| 0.95 * w.z.max(0.0) / PI), "not normalised");
        assert!(refused(&|w| if w.z > 0.0 { 1.0 / TAU } else { 0.0 }), "uniform");
        assert!(refused(&|w| w.z.max(0.0) / PI * (1.0 + 0.1 * w.x)), "skewed by a tenth");
        assert!(refused(&|w| (-w.z).max(0.0) / PI), "the other side");
        assert!(refused(&|_| f32::NAN), "not a number");
    }
}
