//! Environment lights for groups of points: samples of a light, and its radiance along rays that
//! leave the scene.
//!
//! Images and their tables exceed the caches, so that lookups wait for memory. The lookups of a
//! group overlap, and the arithmetic between them compiles to SIMD instructions. It calls the
//! functions for a single direction, so results are bit-identical.

use super::LightColumns;
use super::environment::{Environment, EnvironmentImage, EnvironmentKind};
use crate::geometry::InteractionColumns;
use fearless_simd::{Simd, dispatch};
use lightbound_math::sampling::{PiecewiseConstant2d, PiecewisePart};
use lightbound_math::{COLUMN_LEN, Column, Columns, Vec2, simd_level};

/// Radiance and densities of an environment light for a group of directions; see
/// [`Environment::lookup_columns`].
#[derive(Clone, Copy, Debug)]
pub struct EnvironmentColumns {
    /// As of [`Environment::radiance`].
    pub radiance: Columns<3>,
    /// As of [`Environment::pdf_li`].
    pub pdf: Column,
}

impl Environment {
    /// Samples the light at a group of shading points with random numbers `u`. `probability` are
    /// the probabilities of selecting the light.
    pub fn sample_columns(
        &self,
        points: &InteractionColumns,
        u: &Columns<2>,
        probability: &Column,
        samples: &mut LightColumns,
    ) {
        let Some((image, distribution)) = self.sampled_image() else {
            samples.pdf = [0.0; COLUMN_LEN];
            return;
        };
        image.light_samples(points, distribution.sample_columns(u), probability, samples);
    }

    /// Samples a [part](Self::part) of the light for each point of a group, as
    /// [`Self::sample_part`] does. Lanes without a part get density 0.
    pub fn sample_part_columns(
        &self,
        parts: &[Option<&PiecewisePart>; COLUMN_LEN],
        points: &InteractionColumns,
        u: &Columns<2>,
        probability: &Column,
        samples: &mut LightColumns,
    ) {
        let Some((image, distribution)) = self.sampled_image() else {
            samples.pdf = [0.0; COLUMN_LEN];
            return;
        };
        let (mut squares, mut densities) = (Columns::ZERO, [0.0; COLUMN_LEN]);
        for (lane, part) in parts.iter().enumerate() {
            if let Some(part) = part {
                let (p, density) = distribution.sample_part(part, u.get(lane));
                squares.set(lane, p);
                densities[lane] = density;
            }
        }
        image.light_samples(points, (squares, densities), probability, samples);
    }

    /// Returns the radiance from each of the unit directions `wi`, and the densities of sampling
    /// them.
    pub fn lookup_columns(&self, wi: &Columns<3>) -> EnvironmentColumns {
        let EnvironmentKind::Image(image) = &self.kind else {
            return EnvironmentColumns {
                radiance: Columns::splat(self.mean().into()),
                pdf: [0.0; COLUMN_LEN],
            };
        };
        let (mut indices, mut areas_per_sr) = ([0; COLUMN_LEN], [0.0; COLUMN_LEN]);
        dispatch!(simd_level(), simd => {
            locate_columns(simd, image, wi, &mut indices, &mut areas_per_sr)
        });
        let mut columns = EnvironmentColumns { radiance: Columns::ZERO, pdf: areas_per_sr };
        for (lane, index) in indices.into_iter().enumerate() {
            let texel = &image.texels[index as usize];
            columns.radiance.set(lane, texel.radiance);
            columns.pdf[lane] *= texel.density;
        }
        columns
    }

    /// Returns the image and the distribution of light samples, if there are any.
    fn sampled_image(&self) -> Option<(&EnvironmentImage, &PiecewiseConstant2d)> {
        let EnvironmentKind::Image(image) = &self.kind else { return None };
        Some((image, image.distribution.as_ref()?))
    }
}

impl EnvironmentImage {
    /// Sets the light samples of a group, from positions in the square with their densities per
    /// area.
    fn light_samples(
        &self,
        points: &InteractionColumns,
        (squares, densities): (Columns<2>, Column),
        probability: &Column,
        samples: &mut LightColumns,
    ) {
        let mut texels = [0; COLUMN_LEN];
        dispatch!(simd_level(), simd => sample_directions(
            simd, self, points, (&squares, &densities), probability, samples, &mut texels
        ));
        for (lane, index) in texels.into_iter().enumerate() {
            samples.radiance.set(lane, self.texels[index as usize].radiance);
        }
        samples.shadow_tmax = [f32::INFINITY; COLUMN_LEN];
        samples.delta = 0;
    }
}

/// Computes the directions and densities of samples, and the indices of their texels.
#[inline(always)]
fn sample_directions<S: Simd>(
    _: S,
    image: &EnvironmentImage,
    points: &InteractionColumns,
    (squares, densities): (&Columns<2>, &Column),
    probability: &Column,
    samples: &mut LightColumns,
    texels: &mut [u32; COLUMN_LEN],
) {
    for (lane, texel) in texels.iter_mut().enumerate() {
        let p: Vec2 = squares.get(lane);
        let (wi, area_per_sr) = image.direction(p);
        samples.wi.set(lane, wi);
        samples.local.set(lane, points.frame(lane).local_direction(wi));
        samples.pdf[lane] = probability[lane] * (densities[lane] * area_per_sr);
        *texel = image.texel_index(p);
    }
}

#[inline(always)]
fn locate_columns<S: Simd>(
    _: S,
    image: &EnvironmentImage,
    wi: &Columns<3>,
    indices: &mut [u32; COLUMN_LEN],
    areas_per_sr: &mut Column,
) {
    for (lane, index) in indices.iter_mut().enumerate() {
        let (p, area_per_sr) = image.locate(wi.get(lane));
        *index = image.texel_index(p);
        areas_per_sr[lane] = area_per_sr;
    }
}

#[cfg(test)]
mod tests {
    use super::super::environment::tests::{skewed, texels};
    use super::super::{Environment, Light};
    use super::*;
    use lightbound_math::sampling::testing::points;
    use lightbound_math::sampling::warp::uniform_sphere;
    use lightbound_math::{Frame, Transform, Vec3};

    fn environments() -> [Environment; 4] {
        [
            Environment::image(texels(13), 13, &Transform::IDENTITY, 1.0).unwrap(),
            Environment::image(texels(32), 32, &skewed(), 2.0).unwrap(),
            Environment::image(vec![Vec3::ZERO; 4], 2, &Transform::IDENTITY, 1.0).unwrap(),
            Environment::constant(Vec3::new(1.0, 2.0, 3.0)),
        ]
    }

    #[test]
    fn samples_of_groups_are_those_of_single_points() {
        let (mut samples, mut surfaces) = (LightColumns::default(), InteractionColumns::default());
        let probability = std::array::from_fn(|lane| 0.25 + lane as f32);
        for light in environments() {
            let points: Vec<Vec2> = points(COLUMN_LEN as u32 * 20, 7).collect();
            for u in points.chunks(COLUMN_LEN) {
                let frame = Frame::from_normal(uniform_sphere(u[0]));
                for (axis, to) in [frame.t, frame.b, frame.n].into_iter().zip(&mut surfaces.frame) {
                    *to = Columns::splat(axis.into());
                }
                let mut u_columns = Columns::ZERO;
                u.iter().enumerate().for_each(|(lane, &u)| u_columns.set(lane, u));
                light.sample_columns(&surfaces, &u_columns, &probability, &mut samples);
                for (lane, &u) in u.iter().enumerate() {
                    let (radiance, pdf): (Vec3, f32) =
                        (samples.radiance.get(lane), samples.pdf[lane]);
                    let Some(expected) = light.sample_li(Vec3::ZERO, u) else {
                        assert!(radiance == Vec3::ZERO || pdf == 0.0);
                        continue;
                    };
                    let local = frame.local_direction(expected.wi);
                    assert_eq!(samples.wi.get::<Vec3>(lane), expected.wi);
                    assert_eq!(samples.local.get::<Vec3>(lane), local);
                    assert_eq!(radiance, expected.radiance);
                    assert_eq!(pdf, probability[lane] * expected.pdf);
                    assert_eq!(samples.shadow_tmax[lane], f32::INFINITY);
                }
            }
        }
    }

    #[test]
    fn samples_of_parts_are_those_of_single_points() {
        let (mut samples, surfaces) = (LightColumns::default(), InteractionColumns::default());
        let probability = [0.25; COLUMN_LEN];
        for light in environments() {
            let side = light.resolution().unwrap_or(8) as u32;
            let part = |lane: u32| {
                let first = [lane % side / 2, lane / 3 % side / 2];
                (!lane.is_multiple_of(5)).then(|| light.part(first, [side, first[1] + 1]))?
            };
            let parts: [_; COLUMN_LEN] = std::array::from_fn(|lane| part(lane as u32));
            let parts = parts.each_ref().map(Option::as_ref);
            let points: Vec<Vec2> = points(COLUMN_LEN as u32, 9).collect();
            let mut u = Columns::ZERO;
            points.iter().enumerate().for_each(|(lane, &point)| u.set(lane, point));
            light.sample_part_columns(&parts, &surfaces, &u, &probability, &mut samples);
            for lane in 0..COLUMN_LEN {
                match parts[lane].and_then(|part| light.sample_part(part, points[lane])) {
                    None => assert_eq!(samples.pdf[lane], 0.0),
                    Some(expected) => {
                        assert_eq!(samples.pdf[lane], 0.25 * expected.pdf);
                        assert_eq!(samples.wi.get::<Vec3>(lane), expected.wi);
                        assert_eq!(samples.radiance.get::<Vec3>(lane), expected.radiance);
                        assert_eq!(samples.shadow_tmax[lane], f32::INFINITY);
                    }
                }
            }
        }
    }

    #[test]
    fn lookups_of_groups_are_those_of_single_directions() {
        for light in environments() {
            let directions: Vec<Vec3> =
                points(COLUMN_LEN as u32 * 20, 3).map(uniform_sphere).collect();
            for directions in directions.chunks(COLUMN_LEN) {
                let mut wi = Columns::ZERO;
                directions.iter().enumerate().for_each(|(lane, &d)| wi.set(lane, d));
                let columns = light.lookup_columns(&wi);
                for (lane, &d) in directions.iter().enumerate() {
                    assert_eq!(columns.radiance.get::<Vec3>(lane), light.radiance(d));
                    assert_eq!(columns.pdf[lane], light.pdf_li(d));
                }
            }
        }
    }
}
