//! True maxima of point shaders over [patches](Patch) of the sphere: what bounds are held against.
//!
//! Dense samples, the boundary and places where a maximum is expected are evaluated by the compiled
//! point shader; about the best of them random perturbations are tried, ever smaller ones. All
//! points are floats that the box holds, so what is found is never above the greatest value there
//! is, and bounds that contain are never below it.

use super::patch::Patch;
use crate::cost::boxes::uniform;
use crate::ir::random::Random;
use crate::kernel::{Batch, Kernel};

/// Evaluations of one call.
const ROWS: usize = 256;
/// Samples of a patch, beside its boundary.
const SAMPLES: usize = 2048;
/// Best points that are refined, each on its own.
const KEPT: usize = 8;
/// Perturbations relative to the size of the patch, at first.
const FIRST: f64 = 0.25;
/// And what becomes of them from round to round.
const SHRINK: f64 = 0.6;
/// Perturbations below it change no digits that matter.
const LAST: f64 = 1e-7;

/// A direction and the value there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The value.
    pub value: f32,
    /// The direction.
    pub wi: [f32; 3],
}

/// Searches maxima of one output of a point shader, whose first inputs are the direction, while the
/// other inputs stay as they are.
pub struct Search<'a> {
    kernel: &'a Kernel,
    random: Random,
    inputs: Batch,
    outputs: Batch,
}

impl<'a> Search<'a> {
    /// A search in the first output of a kernel that reads no textures; `fixed` are the bits of the
    /// inputs behind the direction.
    ///
    /// *Panics* if that are not as many as the kernel has.
    pub fn new(kernel: &'a Kernel, fixed: &[u32], random: Random) -> Search<'a> {
        assert_eq!(kernel.inputs().len(), 3 + fixed.len(), "a word for each input");
        let mut inputs = Batch::new(kernel.target(), kernel.inputs().len(), ROWS);
        (0..ROWS).for_each(|row| inputs.set_row(row, 3, fixed));
        let outputs = Batch::new(kernel.target(), kernel.outputs().len(), ROWS);
        Search { kernel, random, inputs, outputs }
    }

    /// The greatest value in a patch; members near `starts` are tried too. None where the patch has
    /// no points but those with NaN.
    pub fn maximum(&mut self, patch: &Patch, starts: &[[f64; 3]]) -> Option<Point> {
        let mut directions = patch.boundary();
        directions.extend(starts.iter().filter_map(|&start| patch.near(start)));
        directions.extend((0..SAMPLES).filter_map(|_| patch.draw(&mut self.random)));
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

    /// Replaces each point by the best of its perturbations, if that is better.
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

    /// The values, NaN among them.
    fn evaluate(&mut self, directions: &[[f32; 3]]) -> Vec<Point> {
        let mut points = Vec::with_capacity(directions.len());
        for chunk in directions.chunks(ROWS) {
            for (row, wi) in chunk.iter().enumerate() {
                self.inputs.set_row(row, 0, &wi.map(f32::to_bits));
            }
            // Rows behind the chunk are those of an earlier one.
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
    use crate::bounding::{Frame, Integrand};
    use crate::frontend::{Settings, Shader};
    use crate::jit::Arena;
    use crate::passes;
    use crate::target::Target;
    use crate::tightness::placement::{Placement, mirror};

    /// The first colour of s of a material of the library.
    fn kernel(name: &str) -> Kernel {
        let path = format!("{}/../assets/shaders/{name}.wgsl", env!("CARGO_MANIFEST_DIR"));
        let shader = Shader::parse(name, &std::fs::read_to_string(path).expect("it is there"))
            .expect("it is right");
        let integrand =
            Integrand::new(&shader, &Settings::default(), Frame::Local).expect("it is right");
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
                .expect("there are points");
            // The end itself may be one float off the sphere.
            let expected = f64::from(placement.patch.ends[2][1].max(0.0)) / std::f64::consts::PI;
            assert!(
                (f64::from(found.value) - expected).abs() < 1e-6,
                "case {index}: {found:?}, not {expected}"
            );
        }
    }

    /// Angle from the mirror direction towards the normal at which cosⁿα cos θ is greatest, both on
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
    fn the_maximum_of_phong_is_where_calculus_has_it() {
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
            // The whole lobe, its neighbourhood, and what lies to one side of the maximum, where it
            // is on the boundary.
            for (patch, alpha) in [
                (Patch::UPPER, best),
                (Patch::around_cone(at(best).0, 0.1), best),
                (Patch::around_cone(at(best + 0.06).0, 0.05), best + 0.01),
            ] {
                let fixed = words(&[&wo[..], &[0.0; 3], &[1.0; 3], &[exponent as f32]].concat());
                let mut search = Search::new(&kernel, &fixed, Random::new(11));
                let found = f64::from(
                    search.maximum(&patch, &[mirror(wo)]).expect("there are points").value,
                );
                let expected = at(alpha).1;
                // Single precision has cosines to about 1e-7, of which this is a power.
                let error = 3e-6 + 3e-7 * exponent;
                assert!(
                    (found / expected - 1.0).abs() < error,
                    "n {exponent}, θ {theta}: {found}, not {expected}"
                );
            }
        }
    }
}
