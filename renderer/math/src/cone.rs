//! Direction cones, which bound normals and emission directions.

use super::{Aabb, Vec3};
use glam::DVec3;

/// A cone of directions: all d with d·axis ≥ cos |d| |axis|.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cone {
    /// The axis, a unit vector up to rounding.
    pub axis: Vec3,
    /// Cosine of the half angle: 1 for the axis alone, −1 for all directions.
    pub cos: f32,
}

impl Cone {
    /// The entire sphere of directions.
    pub const SPHERE: Cone = Cone { axis: Vec3::Z, cos: -1.0 };

    /// Creates the degenerate cone that contains only `axis`.
    pub fn from_direction(axis: Vec3) -> Cone {
        Cone { axis, cos: 1.0 }
    }

    /// Returns the narrowest cone around `axis` that contains all of `cones`, up to rounding.
    pub fn around(axis: Vec3, cones: impl Iterator<Item = Cone>) -> Cone {
        let mut min_cos = 1.0f64;
        for cone in cones {
            if cone.axis == axis {
                min_cos = min_cos.min(cone.cos.into());
                continue;
            }
            let (a, b) = (axis.as_dvec3(), cone.axis.as_dvec3());
            let cos = a.dot(b) / (a.length_squared() * b.length_squared()).sqrt();
            let cos = cos_of_sum(cos.clamp(-1.0, 1.0), cone.cos.into());
            if cos.is_nan() {
                return Cone { axis, ..Cone::SPHERE };
            }
            min_cos = min_cos.min(cos);
        }
        Cone { axis, cos: round_down(min_cos) }
    }

    /// Returns a cone that contains the conical hull of `vectors` (their non-negative linear
    /// combinations), even after rounding to `f32`. Zero vectors are ignored. If no acute cone
    /// contains the hull, returns all directions.
    pub fn around_hull(vectors: impl Iterator<Item = DVec3> + Clone) -> Cone {
        let units = vectors.filter_map(DVec3::try_normalize);
        let axis = Cone::mean_direction(units.clone().sum());
        let min_cos = units.map(|v| v.dot(axis.as_dvec3().normalize())).fold(1.0, f64::min);
        // Acute cones are convex.
        if min_cos > HULL_SLACK {
            Cone { axis, cos: round_down(min_cos - HULL_SLACK) }
        } else {
            Cone { axis, ..Cone::SPHERE }
        }
    }

    /// Returns the cone around `axis` with the half angle `angle` in radians; all directions if
    /// `angle` ≥ π.
    pub fn from_angle(axis: Vec3, angle: f64) -> Cone {
        Cone {
            axis,
            cos: if angle < std::f64::consts::PI {
                round_down(libm::cos(angle.max(0.0)))
            } else {
                -1.0
            },
        }
    }

    /// Returns the bounding box of the unit vectors in the cone, padded for rounding.
    pub fn bounds(&self) -> Aabb {
        let axis = self.axis.as_dvec3().normalize_or(DVec3::Z);
        let (cos, sin) = (f64::from(self.cos), sin_from_cos(self.cos.into()));
        // cos(β − θ), where θ is the half angle, and β the angle between the axis of the cone and a
        // coordinate axis with cosine `c`.
        let max = |c: f64| if c >= cos { 1.0 } else { (c * cos + sin_from_cos(c) * sin).min(1.0) };
        let hi = DVec3::new(max(axis.x), max(axis.y), max(axis.z)) + BOX_SLACK;
        let lo = DVec3::new(max(-axis.x), max(-axis.y), max(-axis.z)) + BOX_SLACK;
        Aabb { min: -lo.as_vec3(), max: hi.as_vec3() }
    }

    /// Returns whether the cone contains the direction `d`. Computes in double precision.
    pub fn contains(&self, d: Vec3) -> bool {
        let (a, d) = (self.axis.as_dvec3(), d.as_dvec3());
        self.cos <= -1.0
            || a.dot(d)
                >= f64::from(self.cos) * (a.length_squared() * d.length_squared()).sqrt() - 1e-14
    }

    /// Returns the mean direction for a sum of directions; z if the sum is 0.
    pub fn mean_direction(sum: DVec3) -> Vec3 {
        sum.try_normalize().unwrap_or(DVec3::Z).as_vec3()
    }
}

/// Margin subtracted from cosines, since normals are rounded to `f32`.
const HULL_SLACK: f64 = 1e-6;

/// Margin added to coordinates, since unit vectors are rounded to `f32`.
const BOX_SLACK: f64 = 1e-6;

fn sin_from_cos(cos: f64) -> f64 {
    ((1.0 - cos) * (1.0 + cos)).max(0.0).sqrt()
}

/// Returns cos(α + β) for cos α = `a` and cos β = `b`; −1 if α + β > π.
fn cos_of_sum(a: f64, b: f64) -> f64 {
    if a <= -b {
        return -1.0;
    }
    a * b - sin_from_cos(a) * sin_from_cos(b)
}

/// Rounds a cosine down to `f32`, after subtracting a margin for rounding errors in `f64`. Leaves 1
/// unchanged.
fn round_down(cos: f64) -> f32 {
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
    use crate::Frame;
    use crate::sampling::testing::points;
    use crate::sampling::warp::{uniform_cone, uniform_sphere};

    /// Returns a random direction in the cone.
    fn sample_cone(cone: Cone, u: crate::Vec2) -> Vec3 {
        Frame::from_normal(cone.axis).to_world(uniform_cone(u, (1.0 - cone.cos).max(1e-12)))
    }

    #[test]
    fn enclosing_cone_contains_its_inputs_and_lies_within_its_bounds() {
        let directions: Vec<Vec3> = points(100, 1).map(uniform_sphere).collect();
        for (i, chunk) in directions.chunks(4).enumerate() {
            let cones =
                |k: usize| Cone { axis: chunk[k], cos: [1.0, 0.9999, 0.8, 0.0][(i + k) % 4] };
            let cone = Cone::around(chunk[0], (0..1 + i % 4).map(cones));
            let bounds = cone.bounds();
            for k in 0..1 + i % 4 {
                for u in points(50, 2) {
                    let d = sample_cone(cones(k), u);
                    // `d` itself is rounded to `f32`.
                    assert!(
                        Cone { cos: (cone.cos - 1e-6).max(-1.0), ..cone }.contains(d),
                        "{cone:?} {d}"
                    );
                    assert!(bounds.min.cmple(d + 1e-6).all() && bounds.max.cmpge(d - 1e-6).all());
                }
            }
        }
        assert_eq!(
            Cone::around(Vec3::X, [Cone::from_direction(Vec3::X); 3].into_iter()),
            Cone::from_direction(Vec3::X)
        );
        assert_eq!(Cone::around(Vec3::X, [Cone::from_direction(-Vec3::X)].into_iter()).cos, -1.0);
        assert_eq!(Cone::around(Vec3::X, [Cone::from_direction(Vec3::NAN)].into_iter()).cos, -1.0);
        assert_eq!(
            Cone::around(Vec3::X, [Cone { axis: Vec3::Y, cos: 0.0 }].into_iter()).cos,
            -1.0,
            "90° + 90°"
        );
    }

    #[test]
    fn hull_contains_sums_or_falls_back_to_sphere() {
        let cone = Cone::around_hull([DVec3::X, DVec3::ZERO, 5.0 * DVec3::Y].into_iter());
        assert!(
            (cone.cos - 0.5f32.sqrt()).abs() < 1e-5
                && cone.contains(Vec3::X)
                && cone.contains(Vec3::new(0.2, 0.9, 0.0))
        );
        for vectors in
            [&[DVec3::X, -DVec3::X][..], &[DVec3::X, DVec3::Y, DVec3::new(-1.0, -1.0, 0.1)]]
        {
            assert_eq!(Cone::around_hull(vectors.iter().copied()).cos, -1.0);
        }
    }

    #[test]
    fn bounds_agree_with_half_angles() {
        assert_eq!(Cone::from_angle(Vec3::X, 0.0).cos, 1.0);
        assert_eq!(Cone::from_angle(Vec3::X, 4.0).cos, -1.0);
        assert!(
            Cone::SPHERE.contains(-Vec3::Z) && !Cone::from_direction(Vec3::Z).contains(Vec3::X)
        );
        let b = Cone::from_angle(Vec3::Z, 0.5).bounds();
        assert!(
            (b.max.x - 0.5f32.sin()).abs() < 1e-5
                && (b.min.z - 0.5f32.cos()).abs() < 1e-5
                && b.max.z >= 1.0,
            "{b:?}"
        );
    }
}
