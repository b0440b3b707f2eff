//! Triangles that shine: light of one, and of many at a time in vectors of the machine.
//!
//! As for surfaces at many hits, the loop over columns calls the functions that a light alone
//! calls, and gives the same bits.

use super::LightSample;
use super::area::{AreaLight, Drawn, Emission};
use crate::math::{COLUMN, Columns, Frame, Vec2, Vec3};
use crate::sampling::warp::uniform_triangle;
use fearless_simd::{Level, Simd, dispatch};

/// A triangle in world space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facet {
    /// Vertices.
    pub vertices: [Vec3; 3],
    /// Unit normal by winding.
    pub n: Vec3,
    /// Cosines between `n` and the vertex normals: where they interpolate to less than zero, the
    /// other side is the front.
    pub facing: Vec3,
    /// One over the area, m⁻².
    pub per_area: f32,
}

impl Facet {
    /// The place at `u` of the unit square: position, unit normal of the front, density per m² of
    /// uniform `u`.
    #[inline(always)]
    pub fn map(&self, u: Vec2) -> (Vec3, Vec3, f32) {
        let ([p0, p1, p2], b) = (self.vertices, uniform_triangle(u));
        let w = 1.0 - b.x - b.y;
        let facing = w * self.facing.x + b.x * self.facing.y + b.y * self.facing.z;
        (
            w * p0 + b.x * p1 + b.y * p2,
            self.n * if facing < 0.0 { -1.0 } else { 1.0 },
            self.per_area,
        )
    }
}

/// Draws of light, each of a triangle at a point of its own: up to [`COLUMN`] are collected, then
/// all are computed.
pub struct FacetSamples {
    count: usize,
    vertices: [Columns<3>; 3],
    n: Columns<3>,
    facing: Columns<3>,
    per_area: Columns<1>,
    le: Columns<3>,
    offset: Columns<1>,
    /// Of the emission, and whether both sides shine.
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

impl Default for FacetSamples {
    fn default() -> FacetSamples {
        FacetSamples {
            count: 0,
            vertices: [Columns::ZERO; 3],
            n: Columns::ZERO,
            facing: Columns::ZERO,
            per_area: Columns::ZERO,
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

impl FacetSamples {
    /// Adds a draw by `u` at a point with a shading frame, or returns `false`: the light is no
    /// triangle, or has a mask. `front` as in [`AreaLight::sample_side`].
    ///
    /// *Panics* if there are [`COLUMN`] already.
    pub fn push(
        &mut self,
        light: &AreaLight,
        front: Option<bool>,
        p: Vec3,
        frame: &Frame,
        u: Vec2,
    ) -> bool {
        let Some((facet, emission)) = light.facet(front) else { return false };
        let lane = self.count;
        self.count += 1;
        for i in 0..3 {
            self.vertices[i].set(lane, facet.vertices[i]);
        }
        self.n.set(lane, facet.n);
        self.facing.set(lane, facet.facing);
        self.per_area.set(lane, [facet.per_area]);
        self.le.set(lane, emission.le);
        self.offset.set(lane, [emission.offset]);
        self.sides.set(lane, [emission.side, f32::from(u8::from(emission.both))]);
        self.p.set(lane, p);
        for (columns, axis) in self.frame.iter_mut().zip([frame.t, frame.b, frame.n]) {
            columns.set(lane, axis);
        }
        self.u.set(lane, u);
        true
    }

    /// Whether no other draw has room.
    pub fn is_full(&self) -> bool {
        self.count == COLUMN
    }

    /// Computes all draws; then [`FacetSamples::get`] has them.
    pub fn compute(&mut self) {
        dispatch!(Level::new(), simd => self.compute_by(simd));
    }

    /// The light of a draw, and its direction in the frame; `None` where none arrives.
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

    /// Forgets all draws.
    pub fn clear(&mut self) {
        self.count = 0;
    }

    #[inline(always)]
    fn compute_by<S: Simd>(&mut self, _: S) {
        for lane in 0..COLUMN {
            let facet = Facet {
                vertices: [
                    self.vertices[0].get(lane),
                    self.vertices[1].get(lane),
                    self.vertices[2].get(lane),
                ],
                n: self.n.get(lane),
                facing: self.facing.get(lane),
                per_area: self.per_area.get::<[f32; 1]>(lane)[0],
            };
            let ([side, both], [offset]): ([f32; 2], [f32; 1]) =
                (self.sides.get(lane), self.offset.get(lane));
            let emission = Emission { le: self.le.get(lane), offset, side, both: both != 0.0 };
            let frame = Frame {
                t: self.frame[0].get(lane),
                b: self.frame[1].get(lane),
                n: self.frame[2].get(lane),
            };
            let p = self.p.get(lane);
            let drawn = Drawn::towards(p, facet.map(self.u.get(lane)));
            let (radiance, target) = emission.arriving(p, &drawn);
            self.wi.set(lane, drawn.wi);
            self.local.set(lane, frame.local_direction(drawn.wi));
            self.target.set(lane, target);
            self.radiance.set(lane, radiance);
            self.pdf.set(lane, [drawn.pdf]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::surfaces;
    use super::super::{Light, LightSample};
    use super::*;
    use crate::math::vec3;
    use crate::sampling::testing::points;

    #[test]
    fn light_has_the_bits_that_it_has_alone() {
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
        let (mut samples, mut computed, mut dark) = (FacetSamples::default(), 0, 0);
        let mut awaited: Vec<(Option<LightSample>, Frame)> = Vec::new();
        for (i, (u, at)) in points(2000, 1).zip(points(2000, 2)).enumerate() {
            let (name, light) = &lights[i % lights.len()];
            let front = [None, Some(true), Some(false)][i / lights.len() % 3]
                .filter(|_| light.is_two_sided());
            let (p, frame) =
                (vec3(4.0 * at.x - 2.0, u.y, 4.0 * at.y), Frame::from_normal(vec3(0.6, 0.0, 0.8)));
            let is_triangle = name.starts_with("triangle");
            assert_eq!(samples.push(light, front, p, &frame, u), is_triangle, "{name}");
            if is_triangle {
                awaited.push((
                    front.map_or_else(
                        || light.sample_li(p, u),
                        |front| light.sample_side(p, u, front),
                    ),
                    frame,
                ));
            }
            if samples.is_full() || i == 1999 {
                samples.compute();
                for (lane, (alone, frame)) in awaited.drain(..).enumerate() {
                    let got = samples.get(lane).map(|(light, local)| {
                        (light.wi, light.target, light.radiance, light.pdf, local)
                    });
                    let of = |light: LightSample| {
                        (
                            light.wi,
                            light.target,
                            light.radiance,
                            light.pdf,
                            frame.local_direction(light.wi),
                        )
                    };
                    assert_eq!(got, alone.map(of));
                    (computed, dark) = (computed + 1, dark + usize::from(alone.is_none()));
                }
                samples.clear();
            }
        }
        assert!(
            computed > 400 && dark > 100 && dark < computed / 2 + 100,
            "{dark} of {computed} are dark"
        );
    }
}
