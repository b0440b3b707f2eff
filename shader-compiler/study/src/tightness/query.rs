//! Queries: the view directions and cones of light directions for which bounds are measured.
//!
//! View directions are uniform on the upper hemisphere, and so are the axes of half of the cones.
//! The axes of the others are within three half-angles of the mirror direction, where specular
//! lobes peak. A query depends only on seed, half-angle and index, so all materials get the same
//! queries.

use super::patch::Patch;
use crate::cost::boxes::{polar, to_world, uniform};
use lightbound_shader::bounding::hand::{mirror, tangents};
use lightbound_shader::random::Random;
use std::f64::consts::TAU;

/// A view direction and a set of light directions, in the shading frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundQuery {
    /// The view direction.
    pub wo: [f32; 3],
    /// The light directions.
    pub patch: Patch,
}

/// Returns the random number generator of one case, independent of those of other cases.
pub(super) fn generator(seed: u64, half_angle: f64, index: usize) -> Random {
    let mix = |seed: u64, value: u64| Random::new(seed ^ value).bits();
    Random::new(mix(mix(seed, half_angle.to_bits()), index as u64))
}

impl BoundQuery {
    /// Generates the query of a case, with a cone of this half-angle in degrees.
    pub fn new(seed: u64, half_angle: f64, index: usize) -> BoundQuery {
        let random = &mut generator(seed, half_angle, index);
        let wo = hemisphere(random).map(|x| x as f32);
        let angle = half_angle.to_radians();
        let axis = if index.is_multiple_of(2) {
            hemisphere(random)
        } else {
            let mirror = mirror(wo);
            let [t, b] = tangents(mirror);
            let deviation = 3.0 * angle * uniform(random);
            to_world([t, b, mirror], polar(libm::cos(deviation), TAU * uniform(random)))
        };
        BoundQuery { wo, patch: Patch::around_cone(axis, angle) }
    }
}

/// Returns a random direction in the upper hemisphere, excluding the horizon.
fn hemisphere(random: &mut Random) -> [f64; 3] {
    polar(1.0 - uniform(random), TAU * uniform(random))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_cones_are_about_the_mirror_direction() {
        for half_angle in [1.0f64, 45.0] {
            let queries: Vec<_> =
                (0..400).map(|index| BoundQuery::new(1, half_angle, index)).collect();
            let deviation: Vec<f64> = queries
                .iter()
                .map(|p| {
                    let middle =
                        p.patch.endpoints.map(|[low, high]| f64::from(low) + f64::from(high));
                    let length = middle.iter().map(|x| x * x).sum::<f64>().sqrt();
                    let cos: f64 =
                        std::iter::zip(middle, mirror(p.wo)).map(|(a, b)| a * b / length).sum();
                    libm::acos(cos.clamp(-1.0, 1.0)).to_degrees()
                })
                .collect();
            // The centre of a box is close to the axis only if its endpoints are clamped to ±1.
            let near =
                (1..400).step_by(2).filter(|&k| deviation[k] < 3.3 * half_angle + 1.0).count();
            assert!(near >= 199, "{half_angle}: {near}");
            let above = queries.iter().filter(|p| p.wo[2] > 0.5).count();
            assert!((160..240).contains(&above), "{above}");
        }
        assert_eq!(BoundQuery::new(7, 5.0, 3), BoundQuery::new(7, 5.0, 3));
        assert_ne!(BoundQuery::new(7, 5.0, 3).wo, BoundQuery::new(8, 5.0, 3).wo);
    }
}
