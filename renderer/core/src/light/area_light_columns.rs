//! Sampling of area lights for groups of shading points, in SIMD registers: triangles and full disks
//! without textures.
//!
//! The SIMD loop calls the functions for a single light, so results are bit-identical.

use super::LightColumns;
use super::area::{AreaLight, EmitterSample, SurfaceEmission};
use super::disk_light::DiskLight;
use super::triangle_light::TriangleLight;
use crate::geometry::InteractionColumns;
use fearless_simd::{Simd, dispatch};
use lightbound_math::{COLUMN_LEN, Column, Columns, Vec2, Vec3, simd_level};

/// A shape whose samples are computed in columns.
pub(super) trait ColumnEmitter: Sized {
    /// The shapes of a group of lanes.
    type Columns: Default;

    /// Returns the shape of a light and its emission, if it has this shape and no textures.
    fn find(light: &AreaLight, front: Option<bool>) -> Option<(&Self, SurfaceEmission)>;

    /// Sets the shape of a lane.
    fn set(&self, lane: usize, columns: &mut Self::Columns);

    /// Returns the shape of a lane.
    fn get(columns: &Self::Columns, lane: usize) -> Self;

    /// Samples a point as seen from `from`.
    fn sample(&self, from: Vec3, u: Vec2) -> EmitterSample;
}

/// Lights of one kind that are sampled at a group of shading points, in columns.
struct EmitterColumns<E: ColumnEmitter> {
    shapes: E::Columns,
    le: Columns<3>,
    offset: Column,
    /// [`SurfaceEmission::side`] and [`SurfaceEmission::two_sided`].
    sides: Columns<2>,
    /// Lanes that have a light.
    lanes: u32,
}

impl<E: ColumnEmitter> Default for EmitterColumns<E> {
    fn default() -> EmitterColumns<E> {
        EmitterColumns {
            shapes: E::Columns::default(),
            le: Columns::default(),
            offset: [0.0; COLUMN_LEN],
            sides: Columns::default(),
            lanes: 0,
        }
    }
}

impl<E: ColumnEmitter> EmitterColumns<E> {
    #[inline]
    fn set(&mut self, lane: usize, light: &AreaLight, front: Option<bool>) -> bool {
        let Some((shape, emission)) = E::find(light, front) else { return false };
        shape.set(lane, &mut self.shapes);
        self.le.set(lane, emission.le);
        self.offset[lane] = emission.offset;
        self.sides.set(lane, [emission.side, f32::from(u8::from(emission.two_sided))]);
        self.lanes |= 1 << lane;
        true
    }

    /// Samples the light of each lane. Lanes without a light get any sample.
    #[inline(always)]
    fn sample<S: Simd>(
        &self,
        _: S,
        points: &InteractionColumns,
        u: &Columns<2>,
        probability: &Column,
        samples: &mut LightColumns,
    ) {
        for (lane, probability) in probability.iter().enumerate() {
            let [side, two_sided]: [f32; 2] = self.sides.get(lane);
            let emission = SurfaceEmission {
                le: self.le.get(lane),
                offset: self.offset[lane],
                side,
                two_sided: two_sided != 0.0,
            };
            let p = points.p.get(lane);
            let sample = E::get(&self.shapes, lane).sample(p, u.get(lane));
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

/// The area lights that are sampled at a group of shading points, in columns.
#[derive(Default)]
pub struct AreaLightColumns {
    triangles: EmitterColumns<TriangleLight>,
    disks: EmitterColumns<DiskLight>,
    /// Samples of one kind of lights, if there are others.
    samples: LightColumns,
}

impl AreaLightColumns {
    /// Removes the lights of all lanes.
    #[inline]
    pub fn clear(&mut self) {
        (self.triangles.lanes, self.disks.lanes) = (0, 0);
    }

    /// Sets the light of a lane. Returns `false` if it is neither a triangle nor a full disk, or has
    /// textures. `front` restricts a two-sided light to one side, as in [`AreaLight::sample_side`].
    #[inline]
    pub fn set(&mut self, lane: usize, light: &AreaLight, front: Option<bool>) -> bool {
        self.triangles.set(lane, light, front) || self.disks.set(lane, light, front)
    }

    /// Samples the light of each lane at the shading point of that lane, with random numbers `u`.
    /// `probability` are the probabilities of selecting the lights. Samples of other lanes are kept if
    /// they are in `active`.
    pub fn sample(
        &mut self,
        points: &InteractionColumns,
        u: &Columns<2>,
        probability: &Column,
        active: u32,
        samples: &mut LightColumns,
    ) {
        let AreaLightColumns { triangles, disks, samples: own } = self;
        sample_kind(triangles, points, u, probability, (active, &mut *samples, &mut *own));
        sample_kind(disks, points, u, probability, (active, samples, own));
    }
}

/// Samples lights of one kind: directly if no other active lane has a sample.
fn sample_kind<E: ColumnEmitter>(
    lights: &EmitterColumns<E>,
    points: &InteractionColumns,
    u: &Columns<2>,
    probability: &Column,
    (active, samples, own): (u32, &mut LightColumns, &mut LightColumns),
) {
    if lights.lanes == 0 {
        return;
    }
    let is_alone = lights.lanes == active;
    let to = if is_alone { &mut *samples } else { &mut *own };
    dispatch!(simd_level(), simd => lights.sample(simd, points, u, probability, to));
    if !is_alone {
        let lanes = (0..COLUMN_LEN).filter(|lane| lights.lanes >> lane & 1 != 0);
        lanes.for_each(|lane| samples.copy_lane(lane, own));
    }
}

#[cfg(test)]
mod tests {
    use super::super::Light;
    use super::super::testing::surfaces;
    use super::*;
    use lightbound_math::sampling::testing::points;
    use lightbound_math::{Frame, vec3};

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
            (AreaLightColumns::default(), InteractionColumns::default());
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
            columns.clear();
            for (lane, &(u, at)) in points.iter().enumerate() {
                let i = k * COLUMN_LEN + lane;
                let (name, light) = &lights[i % lights.len()];
                let front = [None, Some(true), Some(false)][i / lights.len() % 3]
                    .filter(|_| light.is_two_sided());
                let p = vec3(4.0 * at.x - 2.0, u.y, 4.0 * at.y);
                u_columns.set(lane, u);
                surfaces.p.set(lane, p);
                let is_set = name.starts_with("triangle") || *name == "disk";
                assert_eq!(columns.set(lane, light, front), is_set, "{name}");
                expected[lane] = is_set.then(|| match front {
                    None => light.sample_li(p, u),
                    Some(front) => light.sample_side(p, u, front),
                });
            }
            let active = (1 << COLUMN_LEN) - 1;
            columns.sample(&surfaces, &u_columns, &probability, active, &mut samples);
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
