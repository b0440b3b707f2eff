//! Environment lights in batches: samples of a light, and its radiance along rays that leave the
//! scene.
//!
//! Images and their tables exceed the caches, so that lookups wait for memory. The lookups of a
//! batch overlap, and the arithmetic between them compiles to SIMD instructions. It calls the
//! functions for a single direction, so results are bit-identical.

use super::environment::{Environment, EnvironmentImage, EnvironmentKind};
use super::{LightSample, LightSamples};
use fearless_simd::{Level, Simd, dispatch};
use lightbound_math::sampling::warp::UNIFORM_SPHERE_PDF;
use lightbound_math::{COLUMN_LEN, Columns, Frame, Vec2, Vec3};

/// A batch of up to [`COLUMN_LEN`] samples of one environment image.
pub struct EnvironmentSamples<'a> {
    image: Option<&'a EnvironmentImage>,
    count: usize,
    u: Columns<2>,
    frame: [Columns<3>; 3],
    wi: Columns<3>,
    local: Columns<3>,
    radiance: Columns<3>,
    pdf: Columns<1>,
}

impl Default for EnvironmentSamples<'_> {
    fn default() -> Self {
        EnvironmentSamples {
            image: None,
            count: 0,
            u: Columns::ZERO,
            frame: [Columns::ZERO; 3],
            wi: Columns::ZERO,
            local: Columns::ZERO,
            radiance: Columns::ZERO,
            pdf: Columns::ZERO,
        }
    }
}

impl<'a> EnvironmentSamples<'a> {
    /// Adds a sample at a shading point with this frame, for random numbers `u`. Returns `false`,
    /// without adding it, if the light has no image, or not that of the batch.
    ///
    /// # Panics
    /// If the batch is full.
    pub fn push(&mut self, light: &'a Environment, frame: &Frame, u: Vec2) -> bool {
        let EnvironmentKind::Image(image) = &light.kind else { return false };
        if self.count == 0 {
            self.image = Some(image);
        } else if !self.image.is_some_and(|other| std::ptr::eq(other, &**image)) {
            return false;
        }
        let lane = self.count;
        self.count += 1;
        self.u.set(lane, u);
        for (columns, axis) in self.frame.iter_mut().zip([frame.t, frame.b, frame.n]) {
            columns.set(lane, axis);
        }
        true
    }

    #[inline(always)]
    fn compute_directions<S: Simd>(
        &mut self,
        _: S,
        image: &EnvironmentImage,
        points: &Columns<2>,
        densities: &Columns<1>,
        texels: &mut [u32; COLUMN_LEN],
    ) {
        for (lane, texel) in texels.iter_mut().enumerate() {
            let (p, [density]): (Vec2, [f32; 1]) = (points.get(lane), densities.get(lane));
            let (wi, area_per_sr) = image.direction(p);
            let frame = Frame {
                t: self.frame[0].get(lane),
                b: self.frame[1].get(lane),
                n: self.frame[2].get(lane),
            };
            self.wi.set(lane, wi);
            self.local.set(lane, frame.local_direction(wi));
            self.pdf.set(lane, [density * area_per_sr]);
            *texel = image.texel_index(p);
        }
    }
}

impl LightSamples for EnvironmentSamples<'_> {
    fn is_full(&self) -> bool {
        self.count == COLUMN_LEN
    }

    fn compute(&mut self) {
        let Some((image, distribution)) =
            self.image.and_then(|image| Some((image, image.distribution.as_ref()?)))
        else {
            self.radiance = Columns::ZERO;
            return;
        };
        let (points, densities) = distribution.sample_columns(&self.u);
        let mut texels = [0; COLUMN_LEN];
        dispatch!(Level::new(), simd => {
            self.compute_directions(simd, image, &points, &densities, &mut texels)
        });
        for (lane, index) in texels.into_iter().enumerate() {
            self.radiance.set(lane, image.texels[index as usize].radiance);
        }
    }

    #[inline]
    fn get(&self, lane: usize) -> Option<(LightSample, Vec3)> {
        let radiance: Vec3 = self.radiance.get(lane);
        if radiance == Vec3::ZERO {
            return None;
        }
        let [pdf] = self.pdf.get(lane);
        let light =
            LightSample { wi: self.wi.get(lane), target: None, radiance, pdf, delta: false };
        Some((light, self.local.get(lane)))
    }

    fn clear(&mut self) {
        self.count = 0;
    }
}

/// Radiance and densities of an environment light for a batch of directions; see
/// [`Environment::lookup_columns`].
#[derive(Clone, Copy, Debug)]
pub struct EnvironmentColumns {
    /// As of [`Environment::radiance`].
    pub radiance: Columns<3>,
    /// As of [`Environment::pdf_li`].
    pub pdf: Columns<1>,
}

impl Environment {
    /// Returns the radiance from each of the unit directions `wi`, and the densities of sampling
    /// them.
    pub fn lookup_columns(&self, wi: &Columns<3>) -> EnvironmentColumns {
        let EnvironmentKind::Image(image) = &self.kind else {
            return EnvironmentColumns {
                radiance: Columns::splat(self.mean().into()),
                pdf: Columns::splat([UNIFORM_SPHERE_PDF]),
            };
        };
        let (mut indices, mut areas_per_sr) = ([0; COLUMN_LEN], Columns::ZERO);
        dispatch!(Level::new(), simd => {
            locate_columns(simd, image, wi, &mut indices, &mut areas_per_sr)
        });
        let mut columns = EnvironmentColumns { radiance: Columns::ZERO, pdf: Columns::ZERO };
        for (lane, index) in indices.into_iter().enumerate() {
            let texel = &image.texels[index as usize];
            let [area_per_sr] = areas_per_sr.get(lane);
            columns.radiance.set(lane, texel.radiance);
            columns.pdf.set(lane, [texel.density * area_per_sr]);
        }
        columns
    }
}

#[inline(always)]
fn locate_columns<S: Simd>(
    _: S,
    image: &EnvironmentImage,
    wi: &Columns<3>,
    indices: &mut [u32; COLUMN_LEN],
    areas_per_sr: &mut Columns<1>,
) {
    for (lane, index) in indices.iter_mut().enumerate() {
        let (p, area_per_sr) = image.locate(wi.get(lane));
        *index = image.texel_index(p);
        areas_per_sr.set(lane, [area_per_sr]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::environment::tests::{skewed, texels};
    use super::super::{Environment, Light};
    use super::*;
    use lightbound_math::Transform;
    use lightbound_math::sampling::testing::points;
    use lightbound_math::sampling::warp::uniform_sphere;

    fn environments() -> [Environment; 4] {
        [
            Environment::image(&texels(13), 13, &Transform::IDENTITY, 1.0).unwrap(),
            Environment::image(&texels(32), 32, &skewed(), 2.0).unwrap(),
            Environment::image(&[Vec3::ZERO; 4], 2, &Transform::IDENTITY, 1.0).unwrap(),
            Environment::constant(Vec3::new(1.0, 2.0, 3.0)),
        ]
    }

    #[test]
    fn samples_of_batches_are_those_of_single_points() {
        for (k, light) in environments().iter().enumerate() {
            let mut samples = EnvironmentSamples::default();
            let points: Vec<Vec2> = points(COLUMN_LEN as u32 * 20, 7).collect();
            for u in points.chunks(COLUMN_LEN) {
                let frame = Frame::from_normal(uniform_sphere(u[0]));
                let accepted = u.iter().filter(|&&u| samples.push(light, &frame, u)).count();
                assert_eq!(accepted, if k == 3 { 0 } else { COLUMN_LEN });
                assert_eq!(samples.is_full(), k < 3);
                if k == 3 {
                    continue;
                }
                samples.compute();
                for (lane, &u) in u.iter().enumerate() {
                    let expected = light.sample_li(Vec3::ZERO, u);
                    let found = samples.get(lane);
                    assert_eq!(found.is_some(), expected.is_some());
                    if let (Some((found, local)), Some(expected)) = (found, expected) {
                        assert_eq!(
                            (found.wi, found.radiance, found.pdf, found.target, local),
                            (
                                expected.wi,
                                expected.radiance,
                                expected.pdf,
                                None,
                                frame.local_direction(expected.wi)
                            )
                        );
                    }
                }
                samples.clear();
            }
        }
    }

    #[test]
    fn batches_have_samples_of_one_image() {
        let [first, second, ..] = environments();
        let mut samples = EnvironmentSamples::default();
        let frame = Frame::from_normal(Vec3::Z);
        let mut push = |light| samples.push(light, &frame, Vec2::splat(0.5));
        assert_eq!([push(&first), push(&second), push(&first)], [true, false, true]);
        samples.clear();
        assert!(samples.push(&second, &frame, Vec2::ZERO));
    }

    #[test]
    fn lookups_of_batches_are_those_of_single_directions() {
        for light in environments() {
            let directions: Vec<Vec3> =
                points(COLUMN_LEN as u32 * 20, 3).map(uniform_sphere).collect();
            for directions in directions.chunks(COLUMN_LEN) {
                let mut wi = Columns::ZERO;
                directions.iter().enumerate().for_each(|(lane, &d)| wi.set(lane, d));
                let columns = light.lookup_columns(&wi);
                for (lane, &d) in directions.iter().enumerate() {
                    assert_eq!(columns.radiance.get::<Vec3>(lane), light.radiance(d));
                    assert_eq!(columns.pdf.get::<[f32; 1]>(lane), [light.pdf_li(d)]);
                }
            }
        }
    }
}
