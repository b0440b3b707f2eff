//! Cones of directions.

use super::{Aabb, Vec3};
use glam::DVec3;

/// All directions d with d·axis ≥ cos |d| |axis|.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cone {
    /// Unit, up to rounding.
    pub axis: Vec3,
    /// Cosine of the half angle: 1 for the axis alone, −1 for all directions.
    pub cos: f32,
}

impl Cone {
    /// All directions.
    pub const SPHERE: Cone = Cone { axis: Vec3::Z, cos: -1.0 };

    /// The axis alone.
    pub fn ray(axis: Vec3) -> Cone {
        Cone { axis, cos: 1.0 }
    }

    /// A cone around `axis` that holds all of `cones`, as narrow as it gets around that axis, but
    /// for rounding.
    pub fn around(axis: Vec3, cones: impl Iterator<Item = Cone>) -> Cone {
        let mut least = 1.0f64;
        for cone in cones {
            if cone.axis == axis {
                least = least.min(cone.cos.into());
                continue;
            }
            let (a, b) = (axis.as_dvec3(), cone.axis.as_dvec3());
            let cos = a.dot(b) / (a.length_squared() * b.length_squared()).sqrt();
            let cos = widen(cos.clamp(-1.0, 1.0), cone.cos.into());
            if cos.is_nan() {
                return Cone { axis, ..Cone::SPHERE };
            }
            least = least.min(cos);
        }
        Cone { axis, cos: below(least) }
    }

    /// A cone that holds all sums of non-negative multiples of `vectors`, zero vectors among them
    /// or not, and of floats near to them: the directions of their convex hull. [`Cone::SPHERE`]
    /// where no acute cone does.
    pub fn around_hull(vectors: impl Iterator<Item = DVec3> + Clone) -> Cone {
        let units = vectors.filter_map(DVec3::try_normalize);
        let axis = Cone::mean(units.clone().sum());
        let least = units.map(|v| v.dot(axis.as_dvec3().normalize())).fold(1.0, f64::min);
        // Acute cones are convex.
        if least > HULL_SLACK {
            Cone { axis, cos: below(least - HULL_SLACK) }
        } else {
            Cone { axis, ..Cone::SPHERE }
        }
    }

    /// A cone around `axis` with a half angle in radians; π and more are all directions.
    pub fn of_angle(axis: Vec3, angle: f64) -> Cone {
        Cone {
            axis,
            cos: if angle < std::f64::consts::PI { below(libm::cos(angle.max(0.0))) } else { -1.0 },
        }
    }

    /// The smallest box around the unit vectors within, but for rounding.
    pub fn bounds(&self) -> Aabb {
        let axis = self.axis.as_dvec3().normalize_or(DVec3::Z);
        let (cos, sin) = (f64::from(self.cos), sine(self.cos.into()));
        // cos(β ± θ), with β the angle between the axis and that of a coordinate.
        let most = |c: f64| if c >= cos { 1.0 } else { (c * cos + sine(c) * sin).min(1.0) };
        let hi = DVec3::new(most(axis.x), most(axis.y), most(axis.z)) + BOX_SLACK;
        let lo = DVec3::new(most(-axis.x), most(-axis.y), most(-axis.z)) + BOX_SLACK;
        Aabb { min: -lo.as_vec3(), max: hi.as_vec3() }
    }

    /// Whether the direction lies within, as exactly as double precision tells.
    pub fn contains(&self, d: Vec3) -> bool {
        let (a, d) = (self.axis.as_dvec3(), d.as_dvec3());
        self.cos <= -1.0
            || a.dot(d)
                >= f64::from(self.cos) * (a.length_squared() * d.length_squared()).sqrt() - 1e-14
    }

    /// The axis along a sum of directions; z where they cancel.
    pub fn mean(sum: DVec3) -> Vec3 {
        sum.try_normalize().unwrap_or(DVec3::Z).as_vec3()
    }
}

/// Subtracted from cosines for rounding of normals to floats.
const HULL_SLACK: f64 = 1e-6;

/// Added to coordinates for rounding of unit vectors to floats.
const BOX_SLACK: f64 = 1e-6;

fn sine(cos: f64) -> f64 {
    ((1.0 - cos) * (1.0 + cos)).max(0.0).sqrt()
}

/// The cosine of the sum of two angles with the given cosines; −1 beyond π.
fn widen(a: f64, b: f64) -> f64 {
    if a <= -b {
        return -1.0;
    }
    a * b - sine(a) * sine(b)
}

/// A float at most `cos`, less what rounding in double precision may have added; 1 stays 1.
fn below(cos: f64) -> f32 {
    if cos >= 1.0 {
        return 1.0;
    }
    let low = cos - 1e-13;
    let rounded = low as f32;
    (if f64::from(rounded) > low { rounded.next_down() } else { rounded }).max(-1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Frame;
    use crate::sampling::testing::points;
    use crate::sampling::warp::{uniform_cone, uniform_sphere};

    /// A direction within the cone.
    fn within(cone: Cone, u: crate::math::Vec2) -> Vec3 {
        Frame::from_normal(cone.axis).to_world(uniform_cone(u, (1.0 - cone.cos).max(1e-12)))
    }

    #[test]
    fn holds_cones_and_boxes_hold_it() {
        let directions: Vec<Vec3> = points(100, 1).map(uniform_sphere).collect();
        for (i, chunk) in directions.chunks(4).enumerate() {
            let cones =
                |k: usize| Cone { axis: chunk[k], cos: [1.0, 0.9999, 0.8, 0.0][(i + k) % 4] };
            let cone = Cone::around(chunk[0], (0..1 + i % 4).map(cones));
            let bounds = cone.bounds();
            for k in 0..1 + i % 4 {
                for u in points(50, 2) {
                    let d = within(cones(k), u);
                    // The test's own direction is a float.
                    assert!(
                        Cone { cos: (cone.cos - 1e-6).max(-1.0), ..cone }.contains(d),
                        "{cone:?} {d}"
                    );
                    assert!(bounds.min.cmple(d + 1e-6).all() && bounds.max.cmpge(d - 1e-6).all());
                }
            }
        }
        assert_eq!(Cone::around(Vec3::X, [Cone::ray(Vec3::X); 3].into_iter()), Cone::ray(Vec3::X));
        assert_eq!(Cone::around(Vec3::X, [Cone::ray(-Vec3::X)].into_iter()).cos, -1.0);
        assert_eq!(Cone::around(Vec3::X, [Cone::ray(Vec3::NAN)].into_iter()).cos, -1.0);
        assert_eq!(
            Cone::around(Vec3::X, [Cone { axis: Vec3::Y, cos: 0.0 }].into_iter()).cos,
            -1.0,
            "a right angle twice"
        );
    }

    #[test]
    fn hulls() {
        let cone = Cone::around_hull([DVec3::X, DVec3::ZERO, 5.0 * DVec3::Y].into_iter());
        assert!(
            (cone.cos - 0.5f32.sqrt()).abs() < 1e-5
                && cone.contains(Vec3::X)
                && cone.contains(Vec3::new(0.2, 0.9, 0.0))
        );
        for all_sides in
            [&[DVec3::X, -DVec3::X][..], &[], &[DVec3::X, DVec3::Y, DVec3::new(-1.0, -1.0, 0.1)]]
        {
            assert!(
                all_sides.is_empty() || Cone::around_hull(all_sides.iter().copied()).cos == -1.0
            );
        }
    }

    #[test]
    fn angles() {
        assert_eq!(Cone::of_angle(Vec3::X, 0.0).cos, 1.0);
        assert_eq!(Cone::of_angle(Vec3::X, 4.0).cos, -1.0);
        assert!(Cone::SPHERE.contains(-Vec3::Z) && !Cone::ray(Vec3::Z).contains(Vec3::X));
        let b = Cone::of_angle(Vec3::Z, 0.5).bounds();
        assert!(
            (b.max.x - 0.5f32.sin()).abs() < 1e-5
                && (b.min.z - 0.5f32.cos()).abs() < 1e-5
                && b.max.z >= 1.0,
            "{b:?}"
        );
    }
}
