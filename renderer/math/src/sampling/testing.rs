//! Test support for samplers, shared with other crates.

use super::pdf_check::{DirectionSampler, Domain, Settings, check};
use super::{Sampler, SamplerKind, chi_square, hash};
use crate::{Vec2, Vec3, vec2};

/// Returns `n` independent uniform points in the unit square, the same in every run.
pub fn points(n: u32, seed: u32) -> impl Iterator<Item = Vec2> {
    let sampler = Sampler::new(SamplerKind::Independent, seed);
    (0..n).map(move |i| {
        let [x, y, ..] = sampler.get4(sampler.path_key(0, 0, i), 0);
        vec2(x, y)
    })
}

/// Returns settings for a thorough check with `samples` samples of p and of q, without tolerance.
pub fn thorough_settings(samples: u32) -> Settings {
    // At least 64 samples in each of the smallest compared cells, which have four leaves.
    let compared_depth = (samples / 64).ilog2().min(9);
    let depth = compared_depth + 2;
    let square = |count: u32| [count.isqrt(); 2];
    Settings {
        pilot_strata: square(samples / 4),
        p_strata: square(samples),
        q_strata_per_cell: square((samples >> depth).max(16)),
        depth,
        compared_depth,
        min_pooled_depth: 5,
        independent: true,
        squared_length_tolerance: 2e-5,
        tolerance: 0.0,
        max_standard_errors: 5.5,
    }
}

/// Checks that `sample` maps uniform points in the unit square to unit directions with the density
/// `pdf` (per steradian). At most 1 in 5000 sampled directions may have density 0.
pub fn check_sampler(
    seed: u32,
    samples: u32,
    sample: impl Fn(Vec2) -> Option<Vec3>,
    pdf: impl Fn(Vec3) -> f32,
) -> Result<(), String> {
    struct Functions<S, P> {
        sample: S,
        pdf: P,
        zero_pdf: u32,
    }
    impl<S: Fn(Vec2) -> Option<Vec3>, P: Fn(Vec3) -> f32> DirectionSampler for Functions<S, P> {
        fn sample(&mut self, points: &[Vec2]) -> Vec<(Vec3, f32)> {
            let sample = |&u: &Vec2| match (self.sample)(u) {
                None => (Vec3::Z, 0.0),
                Some(w) => {
                    let pdf = (self.pdf)(w);
                    self.zero_pdf += u32::from(pdf == 0.0);
                    (w, pdf)
                }
            };
            points.iter().map(sample).collect()
        }

        fn pdf(&mut self, directions: &[Vec3]) -> Vec<f32> {
            directions.iter().map(|&w| (self.pdf)(w)).collect()
        }
    }
    let mut functions = Functions { sample, pdf, zero_pdf: 0 };
    check(&mut functions, Domain::Sphere, &thorough_settings(samples), seed)
        .map_err(|mismatch| mismatch.to_string())?;
    match functions.zero_pdf {
        count if count > samples / 5000 => {
            Err(format!("`pdf` is 0 for {count} sampled directions"))
        }
        _ => Ok(()),
    }
}

/// Runs [`check_sampler`] with a seed derived from `name`; panics if the check fails.
pub fn assert_sampler_matches_pdf(
    name: &str,
    samples: u32,
    sample: impl Fn(Vec2) -> Option<Vec3>,
    pdf: impl Fn(Vec3) -> f32,
) {
    let seed = name.bytes().fold(0x5eed, |h, b| hash(h, u32::from(b))) >> 2;
    if let Err(mismatch) = check_sampler(seed, samples, sample, pdf) {
        panic!("{name} (seed {seed:#x}, {samples} samples): {mismatch}");
    }
}

/// Applies Pearson's χ² test to observed and expected counts. Panics if p is below 3·10⁻⁵, or if a
/// cell with an expected count of 0 has samples.
pub fn assert_chi_square(observed: &[u32], expected: &[f64], label: &str) {
    let pairs: Vec<(f64, f64)> =
        observed.iter().map(|&o| o.into()).zip(expected.iter().copied()).collect();
    assert!(
        pairs.iter().all(|&(o, e)| e > 0.0 || o == 0.0),
        "{label}: samples in a cell of probability 0"
    );
    let (statistic, dof, p) = chi_square::pearson(pairs);
    assert!(p > 3e-5, "{label}: χ² = {statistic} with {dof} degrees of freedom, p = {p:.1e}");
}
