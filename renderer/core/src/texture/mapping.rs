//! Texture mappings: pbrt-v4's `uv`, `planar`, `spherical` and `cylindrical`, and further texture
//! coordinates of meshes.

use super::bounds::transformed;
use super::{Footprint, Lookup};
use crate::geometry::{AttributeId, AttributePoint, AttributeSet};
use lightbound_math::{Aabb, Transform, Vec2, Vec3};
use std::f32::consts::{FRAC_1_PI, TAU};

/// Bounds on coordinates that are angles: 0 to 1, with rounding errors.
const MIN_ANGLE: f32 = -1e-3;
const MAX_ANGLE: f32 = 1.0 + 1e-3;

/// A map from surface points to coordinates (s, t) of a 2D texture; t points upwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mapping {
    /// uv · scale + offset.
    Uv {
        /// Factors of u and v.
        scale: Vec2,
        /// Offset of the result.
        offset: Vec2,
    },
    /// uv · scale + offset with texture coordinates of vertices in place of the surface's uv, where
    /// the mesh has them.
    Attribute {
        /// The texture coordinates.
        id: AttributeId,
        /// Factors of u and v.
        scale: Vec2,
        /// Offset of the result.
        offset: Vec2,
    },
    /// (p·s, p·t) + offset with p in texture space.
    Planar {
        /// From render space to texture space.
        texture_from_render: Transform,
        /// Axis of s; pbrt's `v1`.
        s: Vec3,
        /// Axis of t; pbrt's `v2`.
        t: Vec3,
        /// Offset of the result.
        offset: Vec2,
    },
    /// (θ/π, φ/2π) of the direction from the origin of texture space, θ from +z.
    Spherical(
        /// From render space to texture space.
        Transform,
    ),
    /// (½ + φ/2π, z) in texture space, φ around the z axis.
    Cylindrical(
        /// From render space to texture space.
        Transform,
    ),
}

impl Mapping {
    /// The uv coordinates of the surface, unchanged.
    pub const UV: Mapping = Mapping::Uv { scale: Vec2::ONE, offset: Vec2::ZERO };

    /// Returns the texture coordinates (s, t) of a point.
    pub fn st(&self, lookup: &Lookup) -> Vec2 {
        match self {
            Mapping::Uv { scale, offset } => lookup.uv * *scale + *offset,
            Mapping::Attribute { id, scale, offset } => {
                let uv = lookup.attributes.and_then(|at| at.value(*id));
                uv.map_or(lookup.uv, Vec3::truncate) * *scale + *offset
            }
            Mapping::Planar { texture_from_render, s, t, offset } => {
                let p = texture_from_render.point(lookup.p);
                Vec2::new(p.dot(*s), p.dot(*t)) + *offset
            }
            Mapping::Spherical(texture_from_render) => {
                let p = texture_from_render.point(lookup.p);
                // p is not normalized, so that the origin has coordinates as well.
                let theta = libm::atan2f(p.truncate().length(), p.z);
                let phi = libm::atan2f(p.y, p.x);
                Vec2::new(theta * FRAC_1_PI, if phi < 0.0 { phi + TAU } else { phi } / TAU)
            }
            Mapping::Cylindrical(texture_from_render) => {
                let p = texture_from_render.point(lookup.p);
                Vec2::new(0.5 + libm::atan2f(p.y, p.x) / TAU, p.z)
            }
        }
    }
}

impl Mapping {
    /// Returns the texture coordinates of the points in a box of the surface's coordinates; `None`
    /// if they do not depend on these alone.
    pub(super) fn range_of_uv(&self, uv: [Vec2; 2]) -> Option<[Vec2; 2]> {
        match self {
            Mapping::Uv { scale, offset } => {
                let [a, b] = uv.map(|uv| uv * *scale + *offset);
                Some([a.min(b), a.max(b)])
            }
            Mapping::Attribute { .. }
            | Mapping::Planar { .. }
            | Mapping::Spherical(_)
            | Mapping::Cylindrical(_) => None,
        }
    }

    /// Returns the attributes of vertices on which the mapping depends.
    pub(super) fn attributes(&self) -> AttributeSet {
        match self {
            Mapping::Attribute { id, .. } => AttributeSet::of(*id),
            Mapping::Uv { .. }
            | Mapping::Planar { .. }
            | Mapping::Spherical(_)
            | Mapping::Cylindrical(_) => AttributeSet::EMPTY,
        }
    }

    /// Bounds the texture coordinates of the points in a box of render space; infinite if they may
    /// be NaN. Each step of [`Mapping::st`] is monotone in each coordinate, also in floats, so
    /// that the corners bound planar coordinates.
    pub(super) fn range(&self, b: Aabb) -> [Vec2; 2] {
        let unknown = [Vec2::NEG_INFINITY, Vec2::INFINITY];
        let (Mapping::Planar { texture_from_render, .. }
        | Mapping::Spherical(texture_from_render)
        | Mapping::Cylindrical(texture_from_render)) = self
        else {
            return unknown;
        };
        let Some(b) = transformed(texture_from_render, b) else { return unknown };
        match self {
            Mapping::Planar { s, t, offset, .. } => {
                let corners = b.corners().map(|p| Vec2::new(p.dot(*s), p.dot(*t)) + *offset);
                if !corners.iter().all(|st| st.is_finite()) {
                    return unknown;
                }
                let first = [corners[0]; 2];
                corners.iter().fold(first, |[lo, hi], &st| [lo.min(st), hi.max(st)])
            }
            Mapping::Cylindrical(_) => {
                [Vec2::new(MIN_ANGLE, b.min.z), Vec2::new(MAX_ANGLE, b.max.z)]
            }
            _ => [Vec2::splat(MIN_ANGLE), Vec2::splat(MAX_ANGLE)],
        }
    }
}

/// Returns the directional derivatives along `steps` of the azimuth around the z axis, in units of
/// full turns.
fn turns(p: Vec3, steps: [Vec3; 2]) -> [f32; 2] {
    let scale = 1.0 / (TAU * p.truncate().length_squared());
    steps.map(|step| (p.x * step.y - p.y * step.x) * scale)
}

impl Mapping {
    /// Returns the displacements of (s, t) for those of the lookup's footprint, to first order; zero
    /// where they are undefined.
    pub fn steps(&self, lookup: &Lookup) -> [Vec2; 2] {
        let Footprint { dp, duv } = lookup.footprint;
        // The position and its displacements in texture space.
        let local = |texture_from_render: &Transform| {
            let p = texture_from_render.point(lookup.p);
            (p, dp.map(|dp| texture_from_render.vector(dp)))
        };
        let steps = match self {
            Mapping::Uv { scale, .. } => duv.map(|step| step * *scale),
            Mapping::Attribute { id, scale, .. } => {
                let of_mesh = |at: AttributePoint<'_>| duv.map(|step| at.step(*id, step));
                let has_attribute = |at: &AttributePoint<'_>| at.value(*id).is_some();
                let steps = lookup.attributes.filter(has_attribute).map(of_mesh);
                steps.map_or(duv, |steps| steps.map(Vec3::truncate)).map(|step| step * *scale)
            }
            Mapping::Planar { texture_from_render, s, t, .. } => dp
                .map(|dp| texture_from_render.vector(dp))
                .map(|dp| Vec2::new(dp.dot(*s), dp.dot(*t))),
            Mapping::Spherical(texture_from_render) => {
                let (p, dp) = local(texture_from_render);
                let r = p.truncate().length();
                let along_theta = Vec3::new(p.x * p.z / r, p.y * p.z / r, -r) / p.length_squared();
                let theta = dp.map(|dp| along_theta.dot(dp) * FRAC_1_PI);
                let phi = turns(p, dp);
                [0, 1].map(|i| Vec2::new(theta[i], phi[i]))
            }
            Mapping::Cylindrical(texture_from_render) => {
                let (p, dp) = local(texture_from_render);
                let phi = turns(p, dp);
                [0, 1].map(|i| Vec2::new(phi[i], dp[i].z))
            }
        };
        steps.map(|step| if step.is_finite() { step } else { Vec2::ZERO })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::{DAffine3, dvec3};

    fn st(mapping: Mapping, p: Vec3) -> Vec2 {
        mapping.st(&Lookup { p, uv: Vec2::new(0.25, 0.75), ..Lookup::ORIGIN })
    }

    #[test]
    fn mappings_match_known_coordinates() {
        let uv = Mapping::Uv { scale: Vec2::new(2.0, -4.0), offset: Vec2::new(0.5, 1.0) };
        assert_eq!(st(uv, Vec3::ZERO), Vec2::new(1.0, -2.0));
        // Texture space is world space translated by −1 along x.
        let space = Transform::new(DAffine3::from_translation(dvec3(-1.0, 0.0, 0.0))).unwrap();
        let planar = Mapping::Planar {
            texture_from_render: space,
            s: Vec3::new(2.0, 0.0, 0.0),
            t: Vec3::Z,
            offset: Vec2::new(0.0, 0.5),
        };
        assert_eq!(st(planar, Vec3::new(4.0, 9.0, 3.0)), Vec2::new(6.0, 3.5));
        let spherical = Mapping::Spherical(space);
        assert_eq!(st(spherical, Vec3::new(1.0, 0.0, 2.0)), Vec2::new(0.0, 0.0));
        assert_eq!(st(spherical, Vec3::new(1.0, 5.0, 0.0)), Vec2::new(0.5, 0.25));
        assert_eq!(st(spherical, Vec3::new(1.0, -5.0, 0.0)), Vec2::new(0.5, 0.75));
        assert_eq!(st(spherical, Vec3::X), Vec2::ZERO);
        let cylindrical = Mapping::Cylindrical(space);
        assert_eq!(st(cylindrical, Vec3::new(3.0, 0.0, 7.0)), Vec2::new(0.5, 7.0));
        assert_eq!(st(cylindrical, Vec3::new(1.0, -5.0, -7.0)), Vec2::new(0.25, -7.0));
    }

    #[test]
    fn steps_match_finite_differences() {
        let space = Transform::new(
            DAffine3::from_translation(dvec3(-1.0, 0.3, 0.2)) * DAffine3::from_rotation_x(0.4),
        )
        .unwrap();
        let uv = Mapping::Uv { scale: Vec2::new(2.0, -4.0), offset: Vec2::new(0.5, 1.0) };
        let planar = Mapping::Planar {
            texture_from_render: space,
            s: Vec3::new(2.0, 0.3, 0.0),
            t: Vec3::new(0.1, 0.0, -1.5),
            offset: Vec2::ZERO,
        };
        let footprint = Footprint {
            dp: [Vec3::new(1.0, 0.2, -0.3), Vec3::new(-0.2, 0.5, 0.9)],
            duv: [Vec2::new(0.3, 0.1), Vec2::new(-0.2, 0.4)],
        };
        for mapping in [uv, planar, Mapping::Spherical(space), Mapping::Cylindrical(space)] {
            for p in [Vec3::new(0.4, 0.7, -0.6), Vec3::new(3.0, 1.0, 0.5)] {
                let uv = Vec2::new(0.2, 0.6);
                let (at, h) = (Lookup { p, uv, footprint, ..Lookup::ORIGIN }, 1e-2);
                for (axis, step) in mapping.steps(&at).into_iter().enumerate() {
                    let st = |h: f32| {
                        let (p, uv) = (p + h * footprint.dp[axis], at.uv + h * footprint.duv[axis]);
                        mapping.st(&Lookup { p, uv, ..at })
                    };
                    let expected = (st(h) - st(-h)) / (2.0 * h);
                    assert!((step - expected).length() < 2e-4, "{mapping:?}: {step} {expected}");
                }
            }
        }
        // At the pole of a sphere.
        let at = Lookup { p: space.inverse().point(Vec3::Z), footprint, ..Lookup::ORIGIN };
        assert!(Mapping::Spherical(space).steps(&at).iter().all(|step| step.is_finite()));
    }
}
