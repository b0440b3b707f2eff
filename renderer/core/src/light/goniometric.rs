//! Goniometric lights: point lights whose intensity depends on the direction, as given by an image.
//!
//! The image is square and in the equal-area octahedral layout of [`super::octahedral`]. As in
//! pbrt-v4, lookups return the nearest texel, negative values are replaced by zero, and the
//! image's pole (+z of the layout) is the +y axis of the light.

use super::octahedral::sphere_to_square;
use super::point::sample_position;
use super::{Light, LightSample, abs_luminance};
use glam::Mat3;
use lightbound_math::{Transform, Vec2, Vec3};
use std::f32::consts::PI;
use std::sync::Arc;

/// A point light with the angular distribution of an image.
#[derive(Clone, Debug)]
pub struct GoniometricLight {
    position: Vec3,
    /// Transforms directions of render space to the space of the image.
    image_from_render: Mat3,
    /// Intensity where the image has its maximum, W·sr⁻¹.
    max_intensity: Vec3,
    /// Texels divided by their maximum, row by row from the top.
    texels: Arc<[f32]>,
    size: usize,
    /// Mean of `texels`.
    mean: f32,
}

impl GoniometricLight {
    /// Creates a light at the origin of the light's space, with `intensity`, W·sr⁻¹, times an image
    /// of `size` × `size` finite texels, row by row from the top.
    ///
    /// # Panics
    /// If `size` is 0, or the number of texels is not `size`².
    pub fn new(
        render_from_light: &Transform,
        intensity: Vec3,
        texels: &[f32],
        size: usize,
    ) -> GoniometricLight {
        assert!(size > 0 && texels.len() == size * size, "the image is square");
        let max = texels.iter().copied().fold(0.0, f32::max);
        // A black image has a maximum of 0.
        let divisor = if max > 0.0 { max } else { 1.0 };
        let texels: Arc<[f32]> = texels.iter().map(|texel| texel.max(0.0) / divisor).collect();
        let sum: f64 = texels.iter().map(|&texel| f64::from(texel)).sum();
        let light_from_render = Mat3::from(render_from_light.inverse().affine().matrix3);
        let swap_yz = Mat3::from_cols(Vec3::X, Vec3::Z, Vec3::Y);
        GoniometricLight {
            position: render_from_light.point(Vec3::ZERO),
            image_from_render: swap_yz * light_from_render,
            max_intensity: intensity * max,
            mean: (sum / texels.len() as f64) as f32,
            texels,
            size,
        }
    }

    /// Returns the light, transformed.
    pub(super) fn transformed(&self, transform: &Transform) -> GoniometricLight {
        GoniometricLight {
            position: transform.point(self.position),
            image_from_render: self.image_from_render
                * Mat3::from(transform.inverse().affine().matrix3),
            ..self.clone()
        }
    }

    /// Returns the power divided by the intensity, sr, of an image whose texels have this mean; as
    /// in pbrt's "power" convention.
    pub fn power_factor(mean: f32) -> f32 {
        4.0 * PI * mean
    }

    /// Returns the position in render space.
    pub fn position(&self) -> Vec3 {
        self.position
    }

    /// Returns the intensity in the direction in which it is greatest, W·sr⁻¹.
    pub fn max_intensity(&self) -> Vec3 {
        self.max_intensity
    }

    /// Returns the mean intensity over all directions of the image, W·sr⁻¹.
    pub fn mean_intensity(&self) -> Vec3 {
        self.max_intensity * self.mean
    }

    /// Returns the intensity in the direction `w` divided by the maximum: from 0 to 1.
    pub fn relative_intensity(&self, w: Vec3) -> f32 {
        let at = sphere_to_square(self.image_from_render * w);
        let texel = |x: f32| ((x * self.size as f32) as usize).min(self.size - 1);
        self.texels[texel(at.y) * self.size + texel(at.x)]
    }
}

impl Light for GoniometricLight {
    fn sample_li(&self, p: Vec3, _u: Vec2) -> Option<LightSample> {
        sample_position(self.position, p, |wi| self.relative_intensity(-wi) * self.max_intensity)
    }

    fn power(&self, _scene_radius: f32) -> f32 {
        4.0 * PI * abs_luminance(self.mean_intensity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::light::square_to_sphere;
    use glam::{DAffine3, DVec3};
    use lightbound_math::sampling::testing::points;
    use lightbound_math::{vec2, vec3};

    const SIZE: usize = 8;

    /// Returns a light with random texels, some of them negative, at (1, 2, 3), with scale and
    /// rotation.
    fn light() -> (GoniometricLight, Vec<f32>, Transform) {
        let texels: Vec<f32> = points((SIZE * SIZE) as u32, 4).map(|u| 3.0 * u.x - 0.5).collect();
        let to_render = DAffine3::from_translation(DVec3::new(1.0, 2.0, 3.0))
            * DAffine3::from_rotation_x(0.7)
            * DAffine3::from_scale(DVec3::new(2.0, 2.0, -2.0));
        let to_render = Transform::new(to_render).unwrap();
        let light = GoniometricLight::new(&to_render, vec3(1.0, 2.0, 4.0), &texels, SIZE);
        (light, texels, to_render)
    }

    #[test]
    fn intensity_is_that_of_the_texel_in_each_direction() {
        let (light, texels, to_render) = light();
        for (i, &texel) in texels.iter().enumerate() {
            let at = vec2((i % SIZE) as f32 + 0.5, (i / SIZE) as f32 + 0.5) / SIZE as f32;
            // The pole of the image is +y.
            let d = square_to_sphere(at);
            let w = to_render.vector(vec3(d.x, d.z, d.y)).normalize();
            let sample = light.sample_li(light.position() + 2.0 * w, Vec2::ZERO);
            let radiance = sample.map_or(Vec3::ZERO, |s| s.radiance);
            let expected = vec3(1.0, 2.0, 4.0) * texel.max(0.0) / 4.0;
            assert!((radiance - expected).abs().max_element() < 1e-5, "{i}: {radiance} {expected}");
            assert!((0.0..=1.0).contains(&light.relative_intensity(w)));
        }
    }

    #[test]
    fn power_is_the_integral_of_the_intensity() {
        let (light, texels, _) = light();
        let mean = texels.iter().map(|texel| texel.max(0.0)).sum::<f32>() / texels.len() as f32;
        let expected = GoniometricLight::power_factor(mean) * abs_luminance(vec3(1.0, 2.0, 4.0));
        assert!((light.power(1.0) / expected - 1.0).abs() < 1e-5);
        // The transform has a uniform scale, so directions stay uniform.
        let n = 100_000;
        let mean = points(n, 2)
            .map(|u| f64::from(light.relative_intensity(square_to_sphere(u))))
            .sum::<f64>()
            / f64::from(n);
        assert!(
            (mean as f32 * light.max_intensity() / light.mean_intensity() - 1.0).x.abs() < 0.01
        );
    }

    #[test]
    fn black_images_and_directions_that_are_not_finite_have_no_samples() {
        let black =
            GoniometricLight::new(&Transform::IDENTITY, Vec3::ONE, &[0.0, -1.0, 0.0, 0.0], 2);
        assert!(black.sample_li(Vec3::ONE, Vec2::ZERO).is_none() && black.power(1.0) == 0.0);
        assert!((0.0..=1.0).contains(&light().0.relative_intensity(Vec3::NAN)));
    }
}
