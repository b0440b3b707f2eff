//! Triangle lights: sampling of a single light, and of groups in SIMD registers.
//!
//! The SIMD loop calls the functions for a single light, so results are bit-identical.

use super::LightColumns;
use super::area::{AreaLight, EmitterSample, SurfaceEmission};
use crate::geometry::InteractionColumns;
use fearless_simd::{Level, Simd, dispatch};
use glam::BVec2;
use lightbound_math::sampling::SphericalTriangle;
use lightbound_math::sampling::warp::uniform_triangle;
use lightbound_math::{COLUMN_LEN, Column, Columns, Vec2, Vec3};
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

/// The triangle lights that are sampled at a group of shading points, in columns.
#[derive(Default)]
pub struct TriangleLightColumns {
    vertices: [Columns<3>; 3],
    n: Columns<3>,
    facing: Columns<3>,
    inverse_area: Column,
    le: Columns<3>,
    offset: Column,
    /// [`SurfaceEmission::side`] and [`SurfaceEmission::two_sided`].
    sides: Columns<2>,
}

impl TriangleLightColumns {
    /// Sets the light of a lane. Returns `false` if the light is not a triangle or has an alpha
    /// mask. `front` restricts a two-sided light to one side, as in [`AreaLight::sample_side`].
    #[inline]
    pub fn set(&mut self, lane: usize, light: &AreaLight, front: Option<bool>) -> bool {
        let Some((triangle, emission)) = light.triangle(front) else { return false };
        for i in 0..3 {
            self.vertices[i].set(lane, triangle.vertices[i]);
        }
        self.n.set(lane, triangle.n);
        self.facing.set(lane, triangle.facing);
        self.inverse_area[lane] = triangle.inverse_area;
        self.le.set(lane, emission.le);
        self.offset[lane] = emission.offset;
        self.sides.set(lane, [emission.side, f32::from(u8::from(emission.two_sided))]);
        true
    }

    /// Samples the light of each lane at the shading point of that lane, with random numbers `u`.
    /// `probability` are the probabilities of selecting the lights.
    pub fn sample(
        &self,
        points: &InteractionColumns,
        u: &Columns<2>,
        probability: &Column,
        samples: &mut LightColumns,
    ) {
        dispatch!(Level::new(), simd => self.sample_lanes(simd, points, u, probability, samples));
    }

    #[inline(always)]
    fn sample_lanes<S: Simd>(
        &self,
        _: S,
        points: &InteractionColumns,
        u: &Columns<2>,
        probability: &Column,
        samples: &mut LightColumns,
    ) {
        for (lane, probability) in probability.iter().enumerate() {
            let triangle = TriangleLight {
                vertices: [
                    self.vertices[0].get(lane),
                    self.vertices[1].get(lane),
                    self.vertices[2].get(lane),
                ],
                n: self.n.get(lane),
                facing: self.facing.get(lane),
                inverse_area: self.inverse_area[lane],
            };
            let [side, two_sided]: [f32; 2] = self.sides.get(lane);
            let emission = SurfaceEmission {
                le: self.le.get(lane),
                offset: self.offset[lane],
                side,
                two_sided: two_sided != 0.0,
            };
            let p = points.p.get(lane);
            let sample = triangle.sample(p, u.get(lane));
            let (radiance, target) = emission.incident(p, &sample);
            samples.wi.set(lane, sample.wi);
            samples.local.set(lane, points.frame(lane).local_direction(sample.wi));
            samples.target.set(lane, target);
            samples.radiance.set(lane, radiance);
            samples.pdf[lane] = probability * sample.pdf;
        }
        samples.shadow_tmax = [1.0; COLUMN_LEN];
        samples.delta = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Light;
    use super::super::testing::{primitive, surfaces, triangle};
    use super::*;
    use lightbound_math::sampling::testing::points;
    use lightbound_math::{Frame, vec3};

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

    #[test]
    fn samples_of_groups_equal_single_samples() {
        let mut lights = Vec::new();
        for (name, primitive, _) in surfaces() {
            for (flip, two_sided) in [(false, false), (true, false), (false, true), (true, true)] {
                let light = AreaLight::new(
                    &crate::geometry::Primitive { flip, ..primitive.clone() },
                    0,
                    vec3(1.0, 2.0, 3.0),
                    two_sided,
                );
                lights.push((name, light));
            }
        }
        let (mut columns, mut surfaces) =
            (TriangleLightColumns::default(), InteractionColumns::default());
        let (mut samples, mut u_columns) = (LightColumns::default(), Columns::ZERO);
        let frame = Frame::from_normal(vec3(0.6, 0.0, 0.8));
        for (axis, columns) in [frame.t, frame.b, frame.n].into_iter().zip(&mut surfaces.frame) {
            *columns = Columns::splat(axis.into());
        }
        let probability = std::array::from_fn(|lane| 0.25 + lane as f32);
        let (mut computed, mut black) = (0, 0);
        let points: Vec<_> = points(4000, 1).zip(points(4000, 2)).collect();
        for (k, points) in points.chunks(COLUMN_LEN).enumerate() {
            let mut expected = [None; COLUMN_LEN];
            for (lane, &(u, at)) in points.iter().enumerate() {
                let i = k * COLUMN_LEN + lane;
                let (name, light) = &lights[i % lights.len()];
                let front = [None, Some(true), Some(false)][i / lights.len() % 3]
                    .filter(|_| light.is_two_sided());
                let p = vec3(4.0 * at.x - 2.0, u.y, 4.0 * at.y);
                u_columns.set(lane, u);
                surfaces.p.set(lane, p);
                let is_triangle = name.starts_with("triangle");
                assert_eq!(columns.set(lane, light, front), is_triangle, "{name}");
                expected[lane] = is_triangle.then(|| match front {
                    None => light.sample_li(p, u),
                    Some(front) => light.sample_side(p, u, front),
                });
            }
            columns.sample(&surfaces, &u_columns, &probability, &mut samples);
            for (lane, expected) in expected.into_iter().enumerate() {
                let Some(expected) = expected else { continue };
                let (radiance, pdf): (Vec3, f32) = (samples.radiance.get(lane), samples.pdf[lane]);
                if let Some(light) = expected {
                    let local = frame.local_direction(light.wi);
                    assert_eq!((radiance, pdf), (light.radiance, probability[lane] * light.pdf));
                    assert_eq!(samples.wi.get::<Vec3>(lane), light.wi);
                    assert_eq!(samples.local.get::<Vec3>(lane), local);
                    assert_eq!(Some(samples.target.get(lane)), light.target);
                    assert_eq!((samples.shadow_tmax[lane], samples.delta), (1.0, 0));
                } else {
                    assert_eq!(radiance, Vec3::ZERO);
                }
                (computed, black) = (computed + 1, black + usize::from(expected.is_none()));
            }
        }
        assert!(
            computed > 800 && black > 200 && black < computed / 2 + 200,
            "{black} of {computed} samples are black"
        );
    }
}
