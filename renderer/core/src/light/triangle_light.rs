//! Triangle lights: sampling of a single light, and of batches in SIMD registers.
//!
//! The SIMD loop calls the functions for a single light, so results are bit-identical.

use super::LightSample;
use super::area::{AreaLight, EmitterSample, SurfaceEmission};
use fearless_simd::{Level, Simd, dispatch};
use lightbound_math::sampling::warp::uniform_triangle;
use lightbound_math::{COLUMN_LEN, Columns, Frame, Vec2, Vec3};

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
    #[inline(always)]
    pub fn map(&self, u: Vec2) -> (Vec3, Vec3, f32) {
        let ([p0, p1, p2], b) = (self.vertices, uniform_triangle(u));
        let w = 1.0 - b.x - b.y;
        let facing = w * self.facing.x + b.x * self.facing.y + b.y * self.facing.z;
        (
            w * p0 + b.x * p1 + b.y * p2,
            self.n * if facing < 0.0 { -1.0 } else { 1.0 },
            self.inverse_area,
        )
    }
}

/// A batch of up to [`COLUMN_LEN`] light samples, each with a triangle light and a shading point.
/// [`TriangleLightSamples::compute`] computes all samples of the batch together.
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

    /// Returns whether the batch is full.
    pub fn is_full(&self) -> bool {
        self.count == COLUMN_LEN
    }

    /// Computes all samples of the batch.
    pub fn compute(&mut self) {
        dispatch!(Level::new(), simd => self.compute_lanes(simd));
    }

    /// Returns a computed sample and its direction in the shading frame; `None` if it is black.
    #[inline]
    pub fn get(&self, lane: usize) -> Option<(LightSample, Vec3)> {
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

    /// Clears the batch.
    pub fn clear(&mut self) {
        self.count = 0;
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
            let sample = EmitterSample::seen_from(p, triangle.map(self.u.get(lane)));
            let (radiance, target) = emission.incident(p, &sample);
            self.wi.set(lane, sample.wi);
            self.local.set(lane, frame.local_direction(sample.wi));
            self.target.set(lane, target);
            self.radiance.set(lane, radiance);
            self.pdf.set(lane, [sample.pdf]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::surfaces;
    use super::super::{Light, LightSample};
    use super::*;
    use lightbound_math::sampling::testing::points;
    use lightbound_math::vec3;

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
