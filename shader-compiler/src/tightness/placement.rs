//! Placements: from where a material is seen, and of which directions the maximum is asked.
//!
//! View directions are uniform on the upper hemisphere. Half of the cones have an axis uniform on
//! the upper hemisphere as well; the others lie about the mirror direction, up to three half-angles
//! off it, where lobes are. A placement is a function of seed, half-angle and number alone, so all
//! materials are seen under the same ones.

use super::patch::Patch;
use crate::cost::boxes::{polar, tangents, to_world, uniform};
use crate::ir::random::Random;
use std::f64::consts::TAU;

/// A view direction and a set of light directions, in the shading frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    /// The view direction.
    pub wo: [f32; 3],
    /// Light directions.
    pub patch: Patch,
}

/// A generator for one case, which others are independent of.
pub(super) fn generator(seed: u64, half_angle: f64, index: usize) -> Random {
    let mix = |seed: u64, with: u64| Random::new(seed ^ with).bits();
    Random::new(mix(mix(seed, half_angle.to_bits()), index as u64))
}

impl Placement {
    /// A placement of a cone of this half-angle, in degrees.
    pub fn new(seed: u64, half_angle: f64, index: usize) -> Placement {
        let random = &mut generator(seed, half_angle, index);
        let wo = hemisphere(random).map(|x| x as f32);
        let angle = half_angle.to_radians();
        let axis = if index.is_multiple_of(2) {
            hemisphere(random)
        } else {
            let mirror = mirror(wo);
            let [t, b] = tangents(mirror);
            let off = 3.0 * angle * uniform(random);
            to_world([t, b, mirror], polar(libm::cos(off), TAU * uniform(random)))
        };
        Placement { wo, patch: Patch::around_cone(axis, angle) }
    }
}

/// The direction in which a mirror shows what is seen from `wo`.
pub fn mirror(wo: [f32; 3]) -> [f64; 3] {
    let [x, y, z] = wo.map(f64::from);
    [-x, -y, z]
}

/// A direction of the upper hemisphere, not at the horizon.
fn hemisphere(random: &mut Random) -> [f64; 3] {
    polar(1.0 - uniform(random), TAU * uniform(random))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_cones_are_about_the_mirror_direction() {
        for half_angle in [1.0f64, 45.0] {
            let placements: Vec<_> =
                (0..400).map(|index| Placement::new(1, half_angle, index)).collect();
            let off: Vec<f64> = placements
                .iter()
                .map(|p| {
                    let middle = p.patch.ends.map(|[low, high]| f64::from(low) + f64::from(high));
                    let length = middle.iter().map(|x| x * x).sum::<f64>().sqrt();
                    let cos: f64 =
                        std::iter::zip(middle, mirror(p.wo)).map(|(a, b)| a * b / length).sum();
                    libm::acos(cos.clamp(-1.0, 1.0)).to_degrees()
                })
                .collect();
            // A box's middle is only about on the axis where ends are cut to ±1.
            let near = (1..400).step_by(2).filter(|&k| off[k] < 3.3 * half_angle + 1.0).count();
            assert!(near >= 199, "{half_angle}: {near}");
            let above = placements.iter().filter(|p| p.wo[2] > 0.5).count();
            assert!((160..240).contains(&above), "{above}");
        }
        assert_eq!(Placement::new(7, 5.0, 3), Placement::new(7, 5.0, 3));
        assert_ne!(Placement::new(7, 5.0, 3).wo, Placement::new(8, 5.0, 3).wo);
    }
}
