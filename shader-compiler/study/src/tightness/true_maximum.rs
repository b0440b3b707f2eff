//! Search for the true maxima of point shaders over [patches](Patch) of the sphere.
//!
//! The compiled point shader is evaluated at dense samples, on the boundary, and where a maximum is
//! expected. Ever smaller random perturbations refine the best of these points. All points are
//! float vectors inside the box, so the result never exceeds the true maximum, and correct bounds
//! are never below the result.

use super::patch::Patch;
use crate::cost::boxes::uniform;
use lightbound_shader::kernel::{Batch, Kernel};
use lightbound_shader::random::Random;

/// Number of rows per kernel call.
const BATCH_ROWS: usize = 256;
/// Number of random samples of a patch, in addition to its boundary.
const SAMPLE_COUNT: usize = 2048;
/// Number of points that are refined separately.
const REFINED_POINTS: usize = 8;
/// Initial radius of perturbations, relative to the size of the patch.
const INITIAL_RADIUS: f64 = 0.25;
/// Factor by which the radius shrinks per round.
const RADIUS_SHRINK_FACTOR: f64 = 0.6;
/// Minimum radius: smaller perturbations change no significant digits.
const MIN_RADIUS: f64 = 1e-7;

/// A direction with the point shader's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvaluatedDirection {
    /// The value.
    pub value: f32,
    /// The direction.
    pub wi: [f32; 3],
}

/// A search for maxima of a point shader's first output over its first three inputs, a direction.
/// The other inputs are fixed.
pub struct MaximumSearch<'a> {
    kernel: &'a Kernel,
    random: Random,
    inputs: Batch,
    outputs: Batch,
}

impl<'a> MaximumSearch<'a> {
    /// Creates a search for a kernel without textures. `fixed` are the bits of the inputs after the
    /// direction.
    ///
    /// # Panics
    ///
    /// Panics if the number of inputs does not match the kernel's.
    pub fn new(kernel: &'a Kernel, fixed: &[u32], random: Random) -> MaximumSearch<'a> {
        assert_eq!(
            kernel.inputs().len(),
            3 + fixed.len(),
            "the kernel has a different number of inputs"
        );
        let mut inputs = Batch::new(kernel.target(), kernel.inputs().len(), BATCH_ROWS);
        (0..BATCH_ROWS).for_each(|row| inputs.set_row(row, 3, fixed));
        let outputs = Batch::new(kernel.target(), kernel.outputs().len(), BATCH_ROWS);
        MaximumSearch { kernel, random, inputs, outputs }
    }

    /// Returns the maximum over a patch; `None` if all values are NaN or no members are found. The
    /// search also starts from members near `starts`.
    pub fn maximum(&mut self, patch: &Patch, starts: &[[f64; 3]]) -> Option<EvaluatedDirection> {
        let mut directions = patch.boundary();
        directions.extend(starts.iter().filter_map(|&start| patch.near(start)));
        directions.extend((0..SAMPLE_COUNT).filter_map(|_| patch.sample(&mut self.random)));
        let mut points = self.evaluate(&directions);
        points.retain(|point| !point.value.is_nan());
        points.sort_by(|a, b| b.value.total_cmp(&a.value));
        points.truncate(REFINED_POINTS);
        let mut radius = INITIAL_RADIUS * patch.size();
        while radius > MIN_RADIUS && !points.is_empty() {
            self.refine(patch, &mut points, radius);
            radius *= RADIUS_SHRINK_FACTOR;
        }
        points.into_iter().max_by(|a, b| a.value.total_cmp(&b.value))
    }

    /// Replaces points by their best perturbations, where these are better.
    fn refine(&mut self, patch: &Patch, points: &mut [EvaluatedDirection], radius: f64) {
        let perturbations = BATCH_ROWS / points.len();
        let perturb = |point: &EvaluatedDirection, random: &mut Random| {
            let moved = point.wi.map(|x| f64::from(x) + radius * (2.0 * uniform(random) - 1.0));
            patch.near(moved).unwrap_or(point.wi)
        };
        let directions: Vec<_> =
            points.iter().flat_map(|point| std::iter::repeat_n(point, perturbations)).collect();
        let directions: Vec<_> =
            directions.into_iter().map(|point| perturb(point, &mut self.random)).collect();
        let perturbed = self.evaluate(&directions);
        for (point, perturbed) in points.iter_mut().zip(perturbed.chunks(perturbations)) {
            for other in perturbed {
                if other.value > point.value {
                    *point = *other;
                }
            }
        }
    }

    /// Evaluates directions; values may be NaN.
    fn evaluate(&mut self, directions: &[[f32; 3]]) -> Vec<EvaluatedDirection> {
        let mut points = Vec::with_capacity(directions.len());
        for chunk in directions.chunks(BATCH_ROWS) {
            for (row, wi) in chunk.iter().enumerate() {
                self.inputs.set_row(row, 0, &wi.map(f32::to_bits));
            }
            // Rows after the chunk still have the directions of an earlier chunk.
            self.kernel.run(&[], &self.inputs, &mut self.outputs);
            points.extend(
                chunk
                    .iter()
                    .enumerate()
                    .map(|(row, &wi)| EvaluatedDirection { value: self.outputs.get(row, 0), wi }),
            );
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tightness::query::BoundQuery;
    use lightbound_shader::bounding::hand::mirror;
    use lightbound_shader::bounding::{Frame, Integrand};
    use lightbound_shader::frontend::{Settings, Shader};
    use lightbound_shader::jit::Arena;
    use lightbound_shader::passes;
    use lightbound_shader::target::Target;

    /// Compiles the first colour component of the integrand of a library shader.
    fn kernel(name: &str) -> Kernel {
        let path = format!("{}/../../assets/shaders/{name}.wgsl", env!("CARGO_MANIFEST_DIR"));
        let shader =
            Shader::parse(name, &std::fs::read_to_string(path).expect("the file can be read"))
                .expect("the shader is valid");
        let integrand = Integrand::new(&shader, &Settings::default(), Frame::Local)
            .expect("the shader is valid");
        let point = crate::tightness::point_shader(&crate::tightness::first_colour(integrand));
        Kernel::compile(&Arena::new(), &passes::lower(&point), Target::best()).expect("it compiles")
    }

    fn words(values: &[f32]) -> Vec<u32> {
        values.iter().map(|x| x.to_bits()).collect()
    }

    #[test]
    fn the_maximum_of_diffuse_is_at_the_top_of_the_box() {
        let kernel = kernel("diffuse");
        for index in 0..200 {
            let half_angle = [1.0, 5.0, 45.0][index % 3];
            let query = BoundQuery::new(5, half_angle, index);
            let fixed = words(&[&query.wo[..], &[1.0; 3]].concat());
            let found = MaximumSearch::new(&kernel, &fixed, Random::new(9))
                .maximum(&query.patch, &[])
                .expect("the patch has members");
            // The endpoint may be one ulp off the sphere.
            let expected = f64::from(query.patch.endpoints[2][1].max(0.0)) / std::f64::consts::PI;
            assert!(
                (f64::from(found.value) - expected).abs() < 1e-6,
                "case {index}: found {found:?}, expected {expected}"
            );
        }
    }

    /// Finds the angle α from the mirror direction towards the normal that maximizes cosⁿ α cos (θ
    /// − α), where θ is the angle between the mirror direction and the normal: n tan α = tan (θ −
    /// α).
    fn best_angle(exponent: f64, theta: f64) -> f64 {
        let (mut low, mut high) = (0.0, theta);
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if exponent * libm::tan(middle) < libm::tan(theta - middle) {
                low = middle
            } else {
                high = middle
            }
        }
        low
    }

    #[test]
    fn the_maximum_of_phong_matches_the_analytic_one() {
        let kernel = kernel("phong");
        for (exponent, theta) in
            [(10.0f64, 0.3f64), (100.0, 1.0), (10000.0, 0.7), (100.0, 1.4), (1000.0, 0.0)]
        {
            let wo = [-libm::sin(theta) as f32, 0.0, libm::cos(theta) as f32];
            let at = |alpha: f64| {
                let (x, z) = (libm::sin(theta - alpha), libm::cos(theta - alpha));
                let scale = (exponent + 2.0) / (2.0 * std::f64::consts::PI);
                ([x, 0.0, z], scale * libm::pow(libm::cos(alpha), exponent) * z)
            };
            let best = best_angle(exponent, theta);
            // The entire hemisphere, a neighbourhood of the maximum, and a region to one side of
            // it. The maximum over that region is on its boundary.
            for (patch, alpha) in [
                (Patch::UPPER, best),
                (Patch::around_cone(at(best).0, 0.1), best),
                (Patch::around_cone(at(best + 0.06).0, 0.05), best + 0.01),
            ] {
                let fixed = words(&[&wo[..], &[0.0; 3], &[1.0; 3], &[exponent as f32]].concat());
                let mut search = MaximumSearch::new(&kernel, &fixed, Random::new(11));
                let found = f64::from(
                    search.maximum(&patch, &[mirror(wo)]).expect("the patch has members").value,
                );
                let expected = at(alpha).1;
                // Cosines in single precision have errors of about 1e-7, amplified by the exponent.
                let error = 3e-6 + 3e-7 * exponent;
                assert!(
                    (found / expected - 1.0).abs() < error,
                    "n {exponent}, θ {theta}: found {found}, expected {expected}"
                );
            }
        }
    }
}
