//! Triangles as lights: sampling of a single light.

use super::area::{AreaLight, EmitterSample, SurfaceEmission};
use super::area_light_columns::ColumnEmitter;
use glam::BVec2;
use lightbound_math::sampling::SphericalTriangle;
use lightbound_math::sampling::warp::uniform_triangle;
use lightbound_math::{Column, Columns, Vec2, Vec3};
use std::ops::RangeInclusive;

/// Solid angles, sr, of triangles whose directions are sampled uniformly; other triangles are
/// sampled by area. Far away, the density hardly differs. Close to a hemisphere, the shading point
/// is so near the plane that floats do not resolve the directions. The limits are those of
/// pbrt-v4 (Pharr et al. 2023, *Physically Based Rendering*, section 6.5.4).
const SAMPLED_SOLID_ANGLES: RangeInclusive<f32> = 3e-4..=6.22;

/// A triangle in render space.
#[derive(Clone, Copy, Debug)]
pub(super) struct TriangleLight {
    /// Vertices.
    pub vertices: [Vec3; 3],
    /// Unit normal, oriented by the winding.
    pub n: Vec3,
    /// Cosines between `n` and the vertex normals. Where the interpolated cosine is negative, the
    /// front is the side of −`n`.
    pub facing: Vec3,
    /// Reciprocal of the area, m⁻².
    pub inverse_area: f32,
}

impl TriangleLight {
    /// Maps `u` in the unit square to a position. Also returns the unit normal of the front, and
    /// the density per m² for uniform `u`.
    pub fn map(&self, u: Vec2) -> (Vec3, Vec3, f32) {
        let (p, n) = self.point(uniform_triangle(u));
        (p, n, self.inverse_area)
    }

    /// Samples a point as seen from `from`: uniformly by solid angle if the triangle is near, else
    /// by area.
    #[inline(always)]
    pub fn sample(&self, from: Vec3, u: Vec2) -> EmitterSample {
        let spherical = SphericalTriangle::new(self.vertices.map(|p| p - from));
        let solid_angle = spherical.solid_angle();
        let is_near = SAMPLED_SOLID_ANGLES.contains(&solid_angle);
        let (near, far) = (spherical.sample(u), uniform_triangle(u));
        let b = Vec2::select(BVec2::splat(is_near), near, far);
        let (p, n) = self.point(b);
        let sample = EmitterSample::seen_from(from, (p, n, self.inverse_area));
        EmitterSample { pdf: if is_near { 1.0 / solid_angle } else { sample.pdf }, ..sample }
    }

    /// Returns the density per steradian of [`sample`](Self::sample) at the point at `distance`
    /// along the ray from `from` in direction `wi`.
    pub fn pdf(&self, from: Vec3, wi: Vec3, distance: f32) -> f32 {
        let solid_angle = SphericalTriangle::new(self.vertices.map(|p| p - from)).solid_angle();
        if SAMPLED_SOLID_ANGLES.contains(&solid_angle) {
            1.0 / solid_angle
        } else {
            self.inverse_area * distance * distance / self.n.dot(wi).abs()
        }
    }

    /// Returns the point with barycentric coordinates `b` of vertices 1 and 2, and the unit normal
    /// of the front there.
    #[inline(always)]
    fn point(&self, b: Vec2) -> (Vec3, Vec3) {
        let [p0, p1, p2] = self.vertices;
        let w = 1.0 - b.x - b.y;
        let facing = w * self.facing.x + b.x * self.facing.y + b.y * self.facing.z;
        (w * p0 + b.x * p1 + b.y * p2, self.n * if facing < 0.0 { -1.0 } else { 1.0 })
    }
}

/// The triangles of a group of lanes.
#[derive(Default)]
pub(super) struct TriangleColumns {
    vertices: [Columns<3>; 3],
    n: Columns<3>,
    facing: Columns<3>,
    inverse_area: Column,
}

impl ColumnEmitter for TriangleLight {
    type Columns = TriangleColumns;

    #[inline]
    fn find(light: &AreaLight, front: Option<bool>) -> Option<(&TriangleLight, SurfaceEmission)> {
        light.triangle(front)
    }

    #[inline]
    fn set(&self, lane: usize, columns: &mut TriangleColumns) {
        for i in 0..3 {
            columns.vertices[i].set(lane, self.vertices[i]);
        }
        columns.n.set(lane, self.n);
        columns.facing.set(lane, self.facing);
        columns.inverse_area[lane] = self.inverse_area;
    }

    #[inline(always)]
    fn get(columns: &TriangleColumns, lane: usize) -> TriangleLight {
        let [p0, p1, p2] = &columns.vertices;
        TriangleLight {
            vertices: [p0.get(lane), p1.get(lane), p2.get(lane)],
            n: columns.n.get(lane),
            facing: columns.facing.get(lane),
            inverse_area: columns.inverse_area[lane],
        }
    }

    #[inline(always)]
    fn sample(&self, from: Vec3, u: Vec2) -> EmitterSample {
        TriangleLight::sample(self, from, u)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{primitive, triangle};
    use super::*;
    use lightbound_math::sampling::testing::points;

    #[test]
    fn near_triangles_are_sampled_by_solid_angle_and_others_by_area() {
        let light = AreaLight::new(&primitive(triangle(vec![])), 0, Vec3::ONE, true);
        let (triangle, _) = light.triangle(None).unwrap();
        // At the height of the plane, the triangle covers a hemisphere.
        let in_plane = triangle.vertices.iter().sum::<Vec3>() / 3.0;
        for (below, is_near) in [(1e-3, false), (0.1, true), (1.0, true), (1000.0, false)] {
            let from = in_plane - below * triangle.n;
            let relative = triangle.vertices.map(|p| p - from);
            let solid_angle = f64::from(SphericalTriangle::new(relative).solid_angle());
            let (mut sum, mut constant, n) = (0.0, true, 20_000);
            for u in points(n, 3) {
                let s = triangle.sample(from, u);
                let pdf = triangle.pdf(from, s.wi, from.distance(s.p));
                let agrees = (pdf / s.pdf - 1.0).abs() < 1e-3 || s.wi.dot(s.n).abs() < 1e-2;
                assert!(agrees, "{below}: {pdf} {}", s.pdf);
                sum += f64::from(1.0 / s.pdf);
                constant &= s.pdf == 1.0 / solid_angle as f32;
            }
            assert_eq!(constant, is_near, "{below}");
            // By area, a peak of the density makes the mean converge slowly close to the light.
            let mean = sum / f64::from(n);
            let is_exact = (mean / solid_angle - 1.0).abs() < 2e-3;
            assert!(is_exact || below < 0.01, "{below}: {mean} {solid_angle}");
        }
    }
}
