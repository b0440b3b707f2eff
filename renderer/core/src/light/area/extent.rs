//! Parametrisation of a light's surface by the unit square, and bounds over rectangles of the
//! square.

use super::{AreaLight, EmitterShape};
use crate::light::triangle_light::TriangleLight;
use lightbound_math::sampling::warp::uniform_triangle;
use lightbound_math::{Aabb, Cone, Vec2, Vec3};

/// A point on a light's surface; see [`AreaLight::point`].
#[derive(Clone, Copy, Debug)]
pub struct EmitterPoint {
    /// Position.
    pub p: Vec3,
    /// Unit normal of the emitting side, or of the front if both sides emit.
    pub n: Vec3,
    /// Emitted radiance times the opacity, W·sr⁻¹·m⁻².
    pub radiance: Vec3,
    /// Jacobian of the map from the unit square: area per unit of the square, m².
    pub jacobian: f32,
}

impl AreaLight {
    /// Maps `u` in the unit square to a point on the surface. The square covers the surface once.
    pub fn point(&self, u: Vec2) -> EmitterPoint {
        let (p, n, area_pdf) = self.map(u);
        EmitterPoint {
            p,
            n: if self.flip { -n } else { n },
            radiance: self.le * self.texture_emission(p, n),
            jacobian: 1.0 / area_pdf,
        }
    }

    /// Returns the point at the centre of a rectangle of the unit square, with the rectangle's mean
    /// Jacobian (by Simpson's rule). On a triangle, if the rectangle is a square on the diagonal
    /// along which [`uniform_triangle`] folds, such as the entire unit square, the point is the
    /// centroid of the square's image.
    pub fn center_point(&self, lo: Vec2, hi: Vec2) -> EmitterPoint {
        let is_folded =
            matches!(self.shape, EmitterShape::Triangle(_)) && lo.x == lo.y && hi.x == hi.y;
        let point = self.point(lo + if is_folded { 2.0 / 3.0 } else { 0.5 } * (hi - lo));
        match self.shape {
            EmitterShape::Triangle(_)
            | EmitterShape::Disk(_)
            | EmitterShape::Sphere { full: Some(_), .. } => point,
            EmitterShape::Patch(_) | EmitterShape::Sphere { .. } | EmitterShape::Cylinder(_) => {
                let corners = [lo, hi, Vec2::new(lo.x, hi.y), Vec2::new(hi.x, lo.y)];
                let sum: f32 = corners.into_iter().map(|u| 1.0 / self.map(u).2).sum();
                EmitterPoint { jacobian: (8.0 * point.jacobian + sum) / 12.0, ..point }
            }
        }
    }

    /// Returns bounds on the positions and normals of all points in a rectangle of the unit square,
    /// including rounding errors.
    pub fn extent(&self, lo: Vec2, hi: Vec2) -> (Aabb, Cone) {
        let (bounds, cone) = match &self.shape {
            EmitterShape::Triangle(triangle) => triangle_extent(triangle, lo, hi),
            EmitterShape::Patch(patch) => {
                let (positions, normals) = patch.hull(0, lo, hi);
                let cone = normals.map_or(Cone::SPHERE, |n| Cone::around_hull(n.into_iter()));
                (pad(Aabb::around(positions)), cone)
            }
            EmitterShape::Disk(emitter) => {
                let disk = &emitter.disk;
                (disk.extent(lo, hi), Cone::from_direction(disk.normal()))
            }
            EmitterShape::Sphere { sphere, .. } => {
                let (bounds, normals) = sphere.extent(lo, hi);
                (bounds, Cone::around_hull(normals.into_iter()))
            }
            EmitterShape::Cylinder(cylinder) => {
                let (bounds, normals) = cylinder.extent(lo, hi);
                (bounds, Cone::around_hull(normals.into_iter()))
            }
        };
        (bounds, if self.flip { Cone { axis: -cone.axis, ..cone } } else { cone })
    }
}

/// Returns [`AreaLight::extent`] for a triangle. [`uniform_triangle`] is linear on each side of the
/// diagonal, so the image of a rectangle lies in the convex hull of the images of its corners and
/// its intersections with the diagonal.
fn triangle_extent(triangle: &TriangleLight, lo: Vec2, hi: Vec2) -> (Aabb, Cone) {
    let &TriangleLight { vertices: [p0, p1, p2], n, facing, .. } = triangle;
    let diagonal = [lo.max_element(), hi.min_element()];
    let crossings = diagonal.map(|t| Vec2::splat(t).clamp(lo, hi));
    let corners = [lo, hi, Vec2::new(lo.x, hi.y), Vec2::new(hi.x, lo.y)];
    let weights = || {
        corners
            .into_iter()
            .chain(crossings)
            .map(uniform_triangle)
            .map(|b| (1.0 - b.x - b.y, b.x, b.y))
    };
    let bounds = pad(Aabb::around(weights().map(|(w, x, y)| w * p0 + x * p1 + y * p2)));
    let is_facing = |sign: f32| {
        weights()
            .all(|(w, x, y)| sign * (w * facing.x + x * facing.y + y * facing.z) > FACING_SLACK)
    };
    let cone = match (is_facing(1.0), is_facing(-1.0)) {
        (true, _) => Cone::from_direction(n),
        (_, true) => Cone::from_direction(-n),
        _ => Cone::SPHERE,
    };
    (bounds, cone)
}

/// Interpolated cosines up to this magnitude do not determine the front, because of rounding.
const FACING_SLACK: f32 = 1e-5;

/// Pads a box by the rounding error of points interpolated within it.
fn pad(b: Aabb) -> Aabb {
    let padding = Vec3::splat(16.0 * f32::EPSILON * b.magnitude());
    Aabb { min: b.min - padding, max: b.max + padding }
}
