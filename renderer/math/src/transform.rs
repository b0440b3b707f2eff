//! Affine transforms kept together with their inverse.

use super::{Aabb, Vec3};
use glam::{Affine3A, DAffine3, DMat3};

/// An invertible affine map and its inverse, both rounded once from double precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transform {
    forward: Affine3A,
    inverse: Affine3A,
}

impl Transform {
    /// The identity.
    pub const IDENTITY: Transform =
        Transform { forward: Affine3A::IDENTITY, inverse: Affine3A::IDENTITY };

    /// Creates the transform of `map`; `None` if the map is singular or not finite.
    pub fn new(map: DAffine3) -> Option<Transform> {
        let inverse = map.inverse();
        let t = Transform { forward: affine_f32(map), inverse: affine_f32(inverse) };
        let is_invertible =
            map.matrix3.determinant() != 0.0 && t.forward.is_finite() && t.inverse.is_finite();
        is_invertible.then_some(t)
    }

    /// Returns the map as a linear part and a translation, for libraries that take a 3 × 4 matrix.
    pub fn affine(&self) -> Affine3A {
        self.forward
    }

    /// Returns the inverse transform.
    pub fn inverse(&self) -> Transform {
        Transform { forward: self.inverse, inverse: self.forward }
    }

    /// Transforms a point.
    pub fn point(&self, p: Vec3) -> Vec3 {
        self.forward.transform_point3(p)
    }

    /// Transforms a direction without normalising it.
    pub fn vector(&self, v: Vec3) -> Vec3 {
        self.forward.transform_vector3(v)
    }

    /// Transforms a normal by the inverse transpose, without normalising it.
    pub fn normal(&self, n: Vec3) -> Vec3 {
        Vec3::from(self.inverse.matrix3.transpose() * glam::Vec3A::from(n))
    }

    /// Returns the bounding box of the transformed corners of `b`.
    pub fn aabb(&self, b: Aabb) -> Aabb {
        if b.is_empty() { b } else { Aabb::around(b.corners().map(|p| self.point(p))) }
    }

    /// Returns whether the transform turns right-handed frames into left-handed ones.
    pub fn swaps_handedness(&self) -> bool {
        self.forward.matrix3.determinant() < 0.0
    }
}

fn affine_f32(a: DAffine3) -> Affine3A {
    let DMat3 { x_axis, y_axis, z_axis } = a.matrix3;
    Affine3A::from_cols(
        x_axis.as_vec3a(),
        y_axis.as_vec3a(),
        z_axis.as_vec3a(),
        a.translation.as_vec3a(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::{DVec3, dvec3};

    #[test]
    fn inverse_undoes_transform_and_normals_stay_orthogonal() {
        let t = Transform::new(
            DAffine3::from_translation(dvec3(1.0, 2.0, 3.0))
                * DAffine3::from_scale(dvec3(-2.0, 1.0, 4.0)),
        )
        .unwrap();
        let p = Vec3::new(0.5, -1.5, 2.0);
        assert_eq!(t.point(p), Vec3::new(0.0, 0.5, 11.0));
        assert!((t.inverse().point(t.point(p)) - p).length() < 1e-6);
        assert!(t.swaps_handedness());
        // A normal stays orthogonal to the transformed tangent plane.
        let (u, v) = (Vec3::new(1.0, 1.0, 0.0), Vec3::new(0.0, 1.0, 1.0));
        let n = t.normal(u.cross(v));
        assert!(n.dot(t.vector(u)).abs() < 1e-5 && n.dot(t.vector(v)).abs() < 1e-5);
    }

    #[test]
    fn singular_maps_are_rejected() {
        assert_eq!(Transform::new(DAffine3::from_scale(dvec3(1.0, 0.0, 1.0))), None);
        assert_eq!(Transform::new(DAffine3::from_scale(DVec3::splat(f64::NAN))), None);
        assert_eq!(Transform::new(DAffine3::from_scale(DVec3::splat(1e-60))), None);
    }
}
