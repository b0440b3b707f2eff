//! True maxima of point shaders over [patches](Patch) of the sphere, to compare bounds with.
//!
//! The compiled point shader is evaluated at dense samples, on the boundary, and where a maximum is
//! expected. The best of these points are refined by ever smaller random perturbations. All points
//! are floats inside the box, so the result never exceeds the true maximum, and correct bounds are
//! never below it.

use super::patch::Patch;
use crate::cost::boxes::uniform;
use lightbound_shader::kernel::{Batch, Kernel};
use lightbound_shader::random::Random;

/// Rows per call of the kernel.
const ROWS: usize = 256;
/// Random samples of a patch, in addition to its boundary.
const SAMPLES: usize = 2048;
/// Number of points that are refined separately.
const KEPT: usize = 8;
/// Initial perturbation relative to the size of the patch.
const FIRST: f64 = 0.25;
/// Factor by which perturbations shrink per round.
const SHRINK: f64 = 0.6;
/// Smaller perturbations change no significant digits.
const LAST: f64 = 1e-7;

/// A direction and the value there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The value.
    pub value: f32,
    /// The direction.
    pub wi: [f32; 3],
}

/// A search for maxima of a point shader's first output. Its first inputs are the direction; the
/// others are constant.
pub struct Search<'a> {
    kernel: &'a Kernel,
    random: Random,
    inputs: Batch,
    outputs: Batch,
}

impl<'a> Search<'a> {
    /// A search over the first output of a kernel without textures. `fixed` are the bits of the
    /// inputs after the direction.
    ///
    /// *Panics* if their number does not match the kernel's inputs.
    pub fn new(kernel: &'a Kernel, fixed: &[u32], random: Random) -> Search<'a> {
        assert_eq!(kernel.inputs().len(), 3 + fixed.len(), "a word for each input");
        let mut inputs = Batch::new(kernel.target(), kernel.inputs().len(), ROWS);
        (0..ROWS).for_each(|row| inputs.set_row(row, 3, fixed));
        let outputs = Batch::new(kernel.target(), kernel.outputs().len(), ROWS);
        Search { kernel, random, inputs, outputs }
    }

    /// The maximum over a patch. Members near `starts` are tried too. `None` if the patch has no
    /// members whose value is not NaN.
    pub fn maximum(&mut self, patch: &Patch, starts: &[[f64; 3]]) -> Option<Point> {
        let mut directions = patch.boundary();
        directions.extend(starts.iter().filter_map(|&start| patch.near(start)));
        directions.extend((0..SAMPLES).filter_map(|_| patch.sample(&mut self.random)));
        let mut points = self.evaluate(&directions);
        points.retain(|point| !point.value.is_nan());
        points.sort_by(|a, b| b.value.total_cmp(&a.value));
        points.truncate(KEPT);
        let mut radius = FIRST * patch.size();
        while radius > LAST && !points.is_empty() {
            self.refine(patch, &mut points, radius);
            radius *= SHRINK;
        }
        points.into_iter().max_by(|a, b| a.value.total_cmp(&b.value))
    }

    /// Replaces each point by its best perturbation, if that is better.
    fn refine(&mut self, patch: &Patch, points: &mut [Point], radius: f64) {
        let tried = ROWS / points.len();
        let around = |point: &Point, random: &mut Random| {
            let moved = point.wi.map(|x| f64::from(x) + radius * (2.0 * uniform(random) - 1.0));
            patch.near(moved).unwrap_or(point.wi)
        };
        let directions: Vec<_> =
            points.iter().flat_map(|point| std::iter::repeat_n(point, tried)).collect();
        let directions: Vec<_> =
            directions.into_iter().map(|point| around(point, &mut self.random)).collect();
        let found = self.evaluate(&directions);
        for (point, found) in points.iter_mut().zip(found.chunks(tried)) {
            for other in found {
                if other.value > point.value {
                    *point = *other;
                }
            }
        }
    }

    /// Evaluates directions; values may be NaN.
    fn evaluate(&mut self, directions: &[[f32; 3]]) -> Vec<Point> {
        let mut points = Vec::with_capacity(directions.len());
        for chunk in directions.chunks(ROWS) {
            for (row, wi) in chunk.iter().enumerate() {
                self.inputs.set_row(row, 0, &wi.map(f32::to_bits));
            }
            // Rows after the chunk keep the values of an earlier one.
            self.kernel.run(&[], &self.inputs, &mut self.outputs);
            points.extend(
                chunk
                    .iter()
                    .enumerate()
                    .map(|(row, &wi)| Point { value: self.outputs.get(row, 0), wi }),
            );
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tightness::placement::Placement;
    use lightbound_shader::bounding::hand::mirror;
    use lightbound_shader::bounding::{Frame, Integrand};
    use lightbound_shader::frontend::{Settings, Shader};
    use lightbound_shader::jit::Arena;
    use lightbound_shader::passes;
    use lightbound_shader::target::Target;

    /// The first colour component of the integrand of a library material.
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
            let placement = Placement::new(5, half_angle, index);
            let fixed = words(&[&placement.wo[..], &[1.0; 3]].concat());
            let found = Search::new(&kernel, &fixed, Random::new(9))
                .maximum(&placement.patch, &[])
                .expect("the patch has members");
            // The endpoint itself may be one float off the sphere.
            let expected = f64::from(placement.patch.ends[2][1].max(0.0)) / std::f64::consts::PI;
            assert!(
                (f64::from(found.value) - expected).abs() < 1e-6,
                "case {index}: {found:?}, not {expected}"
            );
        }
    }

    /// Angle from the mirror direction towards the normal that maximizes cosⁿα cos θ, with both on
    /// one meridian: n tan α = tan θ.
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
            // The whole lobe, its neighbourhood, and a region to one side of the maximum, which
            // then lies on the boundary.
            for (patch, alpha) in [
                (Patch::UPPER, best),
                (Patch::around_cone(at(best).0, 0.1), best),
                (Patch::around_cone(at(best + 0.06).0, 0.05), best + 0.01),
            ] {
                let fixed = words(&[&wo[..], &[0.0; 3], &[1.0; 3], &[exponent as f32]].concat());
                let mut search = Search::new(&kernel, &fixed, Random::new(11));
                let found = f64::from(
                    search.maximum(&patch, &[mirror(wo)]).expect("the patch has members").value,
                );
                let expected = at(alpha).1;
                // Cosines in single precision have errors of about 1e-7, amplified by the exponent.
                let error = 3e-6 + 3e-7 * exponent;
                assert!(
                    (found / expected - 1.0).abs() < error,
                    "n {exponent}, θ {theta}: {found}, not {expected}"
                );
            }
        }
    }
}
