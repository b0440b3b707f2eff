//! Triangle lights: sampling of a single light, and of batches in SIMD registers.
//!
//! The SIMD loop calls the functions for a single light, so results are bit-identical.

use super::area::{AreaLight, EmitterSample, SurfaceEmission};
use super::{LightSample, LightSamples};
use fearless_simd::{Level, Simd, dispatch};
use glam::BVec2;
use lightbound_math::sampling::SphericalTriangle;
use lightbound_math::sampling::warp::uniform_triangle;
use lightbound_math::{COLUMN_LEN, Columns, Frame, Vec2, Vec3};
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

/// A batch of up to [`COLUMN_LEN`] light samples, each with a triangle light and a shading point.
pub struct TriangleLightSamples {
    count: usize,
    vertices: [Columns<3>; 3],
    n: Columns<3>,
    facing: Columns<3>,
    inverse_area: Columns<1>,
    le: Columns<3>,
    offset: Columns<1>,
    /// [`SurfaceEmission::side`] and [`SurfaceEmission::two_sided`].
    sides: Columns<2>,
    p: Columns<3>,
    frame: [Columns<3>; 3],
    u: Columns<2>,
    wi: Columns<3>,
    local: Columns<3>,
    target: Columns<3>,
    radiance: Columns<3>,
    pdf: Columns<1>,
}

impl Default for TriangleLightSamples {
    fn default() -> TriangleLightSamples {
        TriangleLightSamples {
            count: 0,
            vertices: [Columns::ZERO; 3],
            n: Columns::ZERO,
            facing: Columns::ZERO,
            inverse_area: Columns::ZERO,
            le: Columns::ZERO,
            offset: Columns::ZERO,
            sides: Columns::ZERO,
            p: Columns::ZERO,
            frame: [Columns::ZERO; 3],
            u: Columns::ZERO,
            wi: Columns::ZERO,
            local: Columns::ZERO,
            target: Columns::ZERO,
            radiance: Columns::ZERO,
            pdf: Columns::ZERO,
        }
    }
}

impl TriangleLightSamples {
    /// Adds a sample at a shading point with its frame, for random numbers `u`. Returns `false`,
    /// without adding it, if the light is not a triangle or has an alpha mask. `front` restricts a
    /// two-sided light to one side, as in [`AreaLight::sample_side`].
    ///
    /// # Panics
    /// If the batch is full.
    pub fn push(
        &mut self,
        light: &AreaLight,
        front: Option<bool>,
        p: Vec3,
        frame: &Frame,
        u: Vec2,
    ) -> bool {
        let Some((triangle, emission)) = light.triangle(front) else { return false };
        let lane = self.count;
        self.count += 1;
        for i in 0..3 {
            self.vertices[i].set(lane, triangle.vertices[i]);
        }
        self.n.set(lane, triangle.n);
        self.facing.set(lane, triangle.facing);
        self.inverse_area.set(lane, [triangle.inverse_area]);
        self.le.set(lane, emission.le);
        self.offset.set(lane, [emission.offset]);
        self.sides.set(lane, [emission.side, f32::from(u8::from(emission.two_sided))]);
        self.p.set(lane, p);
        for (columns, axis) in self.frame.iter_mut().zip([frame.t, frame.b, frame.n]) {
            columns.set(lane, axis);
        }
        self.u.set(lane, u);
        true
    }

    #[inline(always)]
    fn compute_lanes<S: Simd>(&mut self, _: S) {
        for lane in 0..COLUMN_LEN {
            let triangle = TriangleLight {
                vertices: [
                    self.vertices[0].get(lane),
                    self.vertices[1].get(lane),
                    self.vertices[2].get(lane),
                ],
                n: self.n.get(lane),
                facing: self.facing.get(lane),
                inverse_area: self.inverse_area.get::<[f32; 1]>(lane)[0],
            };
            let ([side, two_sided], [offset]): ([f32; 2], [f32; 1]) =
                (self.sides.get(lane), self.offset.get(lane));
            let emission = SurfaceEmission {
                le: self.le.get(lane),
                offset,
                side,
                two_sided: two_sided != 0.0,
            };
            let frame = Frame {
                t: self.frame[0].get(lane),
                b: self.frame[1].get(lane),
                n: self.frame[2].get(lane),
            };
            let p = self.p.get(lane);
            let sample = triangle.sample(p, self.u.get(lane));
            let (radiance, target) = emission.incident(p, &sample);
            self.wi.set(lane, sample.wi);
            self.local.set(lane, frame.local_direction(sample.wi));
            self.target.set(lane, target);
            self.radiance.set(lane, radiance);
            self.pdf.set(lane, [sample.pdf]);
        }
    }
}

impl LightSamples for TriangleLightSamples {
    fn is_full(&self) -> bool {
        self.count == COLUMN_LEN
    }

    fn compute(&mut self) {
        dispatch!(Level::new(), simd => self.compute_lanes(simd));
    }

    #[inline]
    fn get(&self, lane: usize) -> Option<(LightSample, Vec3)> {
        let radiance: Vec3 = self.radiance.get(lane);
        if radiance == Vec3::ZERO {
            return None;
        }
        let ([pdf], target) = (self.pdf.get(lane), Some(self.target.get(lane)));
        Some((
            LightSample { wi: self.wi.get(lane), target, radiance, pdf, delta: false },
            self.local.get(lane),
        ))
    }

    fn clear(&mut self) {
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{primitive, surfaces, triangle};
    use super::super::{Light, LightSample};
    use super::*;
    use lightbound_math::sampling::testing::points;
    use lightbound_math::vec3;

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
    fn batched_samples_equal_single_samples() {
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
        let (mut samples, mut computed, mut black) = (TriangleLightSamples::default(), 0, 0);
        let mut expected: Vec<(Option<LightSample>, Frame)> = Vec::new();
        for (i, (u, at)) in points(2000, 1).zip(points(2000, 2)).enumerate() {
            let (name, light) = &lights[i % lights.len()];
            let front = [None, Some(true), Some(false)][i / lights.len() % 3]
                .filter(|_| light.is_two_sided());
            let (p, frame) =
                (vec3(4.0 * at.x - 2.0, u.y, 4.0 * at.y), Frame::from_normal(vec3(0.6, 0.0, 0.8)));
            let is_triangle = name.starts_with("triangle");
            assert_eq!(samples.push(light, front, p, &frame, u), is_triangle, "{name}");
            if is_triangle {
                expected.push((
                    front.map_or_else(
                        || light.sample_li(p, u),
                        |front| light.sample_side(p, u, front),
                    ),
                    frame,
                ));
            }
            if samples.is_full() || i == 1999 {
                samples.compute();
                for (lane, (single, frame)) in expected.drain(..).enumerate() {
                    let batched = samples.get(lane).map(|(light, local)| {
                        (light.wi, light.target, light.radiance, light.pdf, local)
                    });
                    let fields = |light: LightSample| {
                        (
                            light.wi,
                            light.target,
                            light.radiance,
                            light.pdf,
                            frame.local_direction(light.wi),
                        )
                    };
                    assert_eq!(batched, single.map(fields));
                    (computed, black) = (computed + 1, black + usize::from(single.is_none()));
                }
                samples.clear();
            }
        }
        assert!(
            computed > 400 && black > 100 && black < computed / 2 + 100,
            "{black} of {computed} samples are black"
        );
    }
}
