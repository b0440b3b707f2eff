//! The part of the unit sphere inside a box: the domain of a bound over directions.

use crate::cost::boxes::uniform;
use lightbound_shader::random::Random;

/// The unit vectors within a box, in single precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Patch {
    /// Minimum and maximum of each component.
    pub endpoints: [[f32; 2]; 3],
}

impl Patch {
    /// The hemisphere around +z.
    pub const UPPER: Patch = Patch { endpoints: [[-1.0, 1.0], [-1.0, 1.0], [0.0, 1.0]] };

    /// Returns the patch for a cone: the smallest box that contains all directions within
    /// `half_angle` radians of `axis`, rounded outwards.
    pub fn around_cone(axis: [f64; 3], half_angle: f64) -> Patch {
        let endpoints = axis.map(|x| {
            let from_axis = libm::acos(x.clamp(-1.0, 1.0));
            let end = |angle: f64| libm::cos(angle.clamp(0.0, std::f64::consts::PI)) as f32;
            // Rounding to `f32` changes the value by up to half an ulp, and the error of the cosine
            // is far smaller, so one ulp outwards suffices.
            let [low, high] =
                [end(from_axis + half_angle).next_down(), end(from_axis - half_angle).next_up()];
            [low.max(-1.0), high.min(1.0)]
        });
        Patch { endpoints }
    }

    /// Whether a vector lies in the box.
    pub fn contains(&self, v: [f32; 3]) -> bool {
        std::iter::zip(v, self.endpoints).all(|(x, [low, high])| (low..=high).contains(&x))
    }

    /// Returns the length of the box's longest side.
    pub fn size(&self) -> f64 {
        self.endpoints
            .map(|[low, high]| f64::from(high) - f64::from(low))
            .into_iter()
            .fold(0.0, f64::max)
    }

    /// Returns a member near a vector; `None` if it finds none. Clamps components outside the box
    /// to its endpoints and scales the others to restore unit length, so that members can lie
    /// exactly on the boundary.
    pub fn near(&self, v: [f64; 3]) -> Option<[f32; 3]> {
        let mut fixed: [Option<f64>; 3] = [None; 3];
        loop {
            let remaining = 1.0 - fixed.iter().flatten().map(|x| x * x).sum::<f64>();
            let free = std::iter::zip(fixed, v)
                .filter(|(fixed, _)| fixed.is_none())
                .map(|(_, x)| x * x)
                .sum::<f64>();
            if remaining < 0.0 || free <= 0.0 {
                return None;
            }
            let scale = (remaining / free).sqrt();
            let unit: [f64; 3] = std::array::from_fn(|k| fixed[k].unwrap_or(v[k] * scale));
            let mut inside = true;
            for (k, x) in unit.into_iter().enumerate() {
                let [low, high] = self.endpoints[k].map(f64::from);
                if !(low..=high).contains(&x) {
                    fixed[k] = Some(x.clamp(low, high));
                    inside = false;
                }
            }
            if inside {
                return Some(unit.map(|x| x as f32));
            }
        }
    }

    /// Returns a random member, with positive density everywhere; `None` if it finds none, for
    /// example in boxes that contain little more than a single point of the sphere.
    pub fn sample(&self, random: &mut Random) -> Option<[f32; 3]> {
        let inside = self.endpoints.map(|[low, high]| {
            f64::from(low) + (f64::from(high) - f64::from(low)) * uniform(random)
        });
        self.near(inside)
    }

    /// Returns members along the boundary, including corners.
    pub fn boundary(&self) -> Vec<[f32; 3]> {
        /// Subdivisions of each edge.
        const STEPS: u32 = 16;
        let mut members = vec![];
        for (face, end) in [0, 1, 2].into_iter().flat_map(|face| [0, 1].map(|end| (face, end))) {
            let across = f64::from(self.endpoints[face][end]);
            for (along, step) in [1, 2]
                .into_iter()
                .flat_map(|next| (0..=STEPS).map(move |step| ((face + next) % 3, step)))
            {
                let [low, high] = self.endpoints[along].map(f64::from);
                let x = low + (high - low) * f64::from(step) / f64::from(STEPS);
                let rest = (1.0 - across * across - x * x).max(0.0).sqrt();
                for third in [-rest, rest] {
                    let mut v = [third; 3];
                    (v[face], v[along]) = (across, x);
                    members.extend(self.near(v));
                }
            }
        }
        members
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::boxes::{polar, to_world};
    use lightbound_shader::bounding::hand::tangents;
    use std::f64::consts::TAU;

    fn length(v: [f32; 3]) -> f64 {
        v.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt()
    }

    #[test]
    fn boxes_are_tight_around_their_cones() {
        let random = &mut Random::new(3);
        for _ in 0..300 {
            let axis = polar(2.0 * uniform(random) - 1.0, TAU * uniform(random));
            let angle = 0.9 * uniform(random) + 0.01;
            let patch = Patch::around_cone(axis, angle);
            let [t, b] = tangents(axis);
            let mut extremes = [[f64::INFINITY, f64::NEG_INFINITY]; 3];
            for k in 0..2000 {
                let height = if k % 2 == 0 {
                    libm::cos(angle)
                } else {
                    1.0 - uniform(random) * (1.0 - libm::cos(angle))
                };
                let v = to_world([t, b, axis], polar(height, TAU * uniform(random)));
                assert!(patch.contains(v.map(|x| x as f32)), "{v:?} of {patch:?}");
                for (extremes, x) in extremes.iter_mut().zip(v) {
                    *extremes = [extremes[0].min(x), extremes[1].max(x)];
                }
            }
            for (extremes, endpoints) in extremes.iter().zip(patch.endpoints) {
                let gap = (extremes[0] - f64::from(endpoints[0]))
                    .max(f64::from(endpoints[1]) - extremes[1]);
                assert!(gap < 0.02 * angle, "{extremes:?} of {endpoints:?}");
            }
        }
    }

    #[test]
    fn members_are_unit_vectors_and_reach_the_endpoints() {
        let random = &mut Random::new(4);
        for _ in 0..200 {
            let axis = polar(2.0 * uniform(random) - 1.0, TAU * uniform(random));
            let patch = Patch::around_cone(axis, 0.7 * uniform(random) + 0.02);
            let samples: Vec<_> = (0..500).filter_map(|_| patch.sample(random)).collect();
            assert!(samples.len() > 250, "{} of 500 in {patch:?}", samples.len());
            let boundary = patch.boundary();
            for v in samples.iter().chain(&boundary) {
                assert!(
                    patch.contains(*v) && (length(*v) - 1.0).abs() < 2e-7,
                    "{v:?} of {patch:?}"
                );
            }
            for (k, endpoints) in patch.endpoints.iter().enumerate() {
                // Outward rounding may move an endpoint beyond all `f32` vectors on the sphere.
                let near = |v: &[f32; 3], end: f32| (v[k] - end).abs() < 1e-3;
                assert!(
                    endpoints.iter().all(|&end| boundary.iter().any(|v| near(v, end))),
                    "{patch:?}, axis {k}"
                );
            }
        }
    }

    #[test]
    fn boxes_that_miss_the_sphere_have_no_members() {
        let patch = Patch { endpoints: [[0.8, 0.9], [0.8, 0.9], [-1.0, 1.0]] };
        assert!(patch.near([1.0, 1.0, 0.0]).is_none() && patch.boundary().is_empty());
    }
}
