//! Projection lights: slide projectors at a point.
//!
//! As in pbrt-v4, the field of view is that of the shorter side of the image, lookups return the
//! nearest texel, and negative values are replaced by zero. Intensity does not decrease towards the
//! corners, as it would with a lens.

use super::point::sample_position;
use super::{Falloff, Light, LightError, LightSample, abs_luminance};
use glam::Mat3;
use lightbound_math::{Transform, Vec2, Vec3, vec2};
use std::sync::Arc;

/// A point light that projects an image along its +z axis.
#[derive(Clone, Debug)]
pub struct ProjectionLight {
    position: Vec3,
    /// Axis of the projection in render space, unit.
    axis: Vec3,
    /// Transforms directions of render space to the space of the light, where y points down.
    light_from_render: Mat3,
    /// Half of the width and height of the image at z = 1.
    extent: Vec2,
    /// Maximum of each channel, W·sr⁻¹.
    max_intensity: Vec3,
    /// Each channel divided by its maximum, row by row from the top.
    texels: Arc<[Vec3]>,
    width: usize,
    height: usize,
    /// Integral over all directions, W.
    power: Vec3,
    /// Cosine of the half angle of a cone around the axis that contains all corners.
    cos_corner: f32,
}

/// Minimum z of illuminated directions in the space of the light.
const MIN_Z: f32 = 1e-3;

/// Slack for rounding errors of the cosine of the cone.
const CONE_SLACK: f32 = 1e-5;

impl ProjectionLight {
    /// Creates a light at the origin of the light's space, with the intensities of an image of
    /// finite linear RGB texels, W·sr⁻¹, row by row from the top, times `scale`. `fov` is the field
    /// of view across the shorter side of the image, in degrees.
    ///
    /// # Errors
    /// If `fov` is not between 0 and 180, or the axis cannot be normalised.
    ///
    /// # Panics
    /// If the image has no texels, or the number of texels is not `width` times that of the rows.
    pub fn new(
        render_from_light: &Transform,
        fov: f32,
        texels: &[Vec3],
        width: usize,
        scale: f32,
    ) -> Result<ProjectionLight, LightError> {
        let height = texels.len() / width;
        assert!(height > 0 && texels.len() == width * height, "the image is a rectangle");
        if !(fov > 0.0 && fov < 180.0) {
            return Err(LightError::Parameter {
                light: "projection",
                name: "fov",
                value: fov,
                expected: "an angle between 0 and 180 degrees",
            });
        }
        let aspect = width as f32 / height as f32;
        let screen = if aspect > 1.0 { vec2(aspect, 1.0) } else { vec2(1.0, 1.0 / aspect) };
        let extent = screen * libm::tanf(0.5 * fov.to_radians());
        let texels = texels.iter().map(|texel| scale * texel.max(Vec3::ZERO));
        let max_intensity = texels.clone().fold(Vec3::ZERO, Vec3::max);
        let divisor = Vec3::select(max_intensity.cmpgt(Vec3::ZERO), max_intensity, Vec3::ONE);
        let mut sum = glam::DVec3::ZERO;
        for (i, texel) in texels.clone().enumerate() {
            let center = vec2((i % width) as f32 + 0.5, (i / width) as f32 + 0.5);
            let at = extent * (2.0 * center / vec2(width as f32, height as f32) - 1.0);
            // Solid angle per area at z = 1.
            let cos = 1.0 / (1.0 + at.length_squared()).sqrt();
            sum += texel.as_dvec3() * f64::from(cos * cos * cos);
        }
        let area = f64::from(4.0 * extent.x * extent.y) / (width * height) as f64;
        let direction = LightError::Direction { light: "projection" };
        let axis = render_from_light.vector(Vec3::Z).try_normalize().ok_or(direction)?;
        let corners = [vec2(1.0, 1.0), vec2(1.0, -1.0), vec2(-1.0, 1.0), vec2(-1.0, -1.0)]
            .map(|sign| render_from_light.vector((sign * extent).extend(1.0)).normalize());
        let cos = corners.iter().map(|corner| corner.dot(axis)).fold(1.0, f32::min);
        // A cone of up to 90° is convex, so it contains the image if it contains the corners.
        let cos_corner = if cos > CONE_SLACK { cos - CONE_SLACK } else { -1.0 };
        let light_from_render = Mat3::from(render_from_light.inverse().affine().matrix3);
        Ok(ProjectionLight {
            position: render_from_light.point(Vec3::ZERO),
            axis,
            light_from_render: Mat3::from_diagonal(Vec3::new(1.0, -1.0, 1.0)) * light_from_render,
            extent,
            max_intensity,
            texels: texels.map(|texel| texel / divisor).collect(),
            width,
            height,
            power: (sum * area).as_vec3(),
            cos_corner,
        })
    }

    /// Returns the light, transformed. Its [cone](Self::cone) has all directions.
    pub(super) fn transformed(&self, transform: &Transform) -> ProjectionLight {
        ProjectionLight {
            position: transform.point(self.position),
            axis: transform.vector(self.axis).normalize_or(self.axis),
            light_from_render: self.light_from_render
                * Mat3::from(transform.inverse().affine().matrix3),
            cos_corner: -1.0,
            ..self.clone()
        }
    }

    /// Returns the integral of the intensity over all directions, W, in the space of the light.
    pub fn total_power(&self) -> Vec3 {
        self.power
    }

    /// Returns the light with its intensity scaled.
    pub fn scaled(self, factor: f32) -> ProjectionLight {
        let (max_intensity, power) = (self.max_intensity * factor, self.power * factor);
        ProjectionLight { max_intensity, power, ..self }
    }

    /// Returns the position in render space.
    pub fn position(&self) -> Vec3 {
        self.position
    }

    /// Returns the unit axis.
    pub fn axis(&self) -> Vec3 {
        self.axis
    }

    /// Returns a cone around the axis that contains all illuminated directions.
    pub fn cone(&self) -> Falloff {
        Falloff { cos_start: self.cos_corner, cos_end: self.cos_corner }
    }

    /// Returns the maximum of each channel of the intensity, W·sr⁻¹.
    pub fn max_intensity(&self) -> Vec3 {
        self.max_intensity
    }

    /// Returns the intensity in the direction `w` divided by the maximum of each channel: from 0
    /// to 1.
    pub fn relative_intensity(&self, w: Vec3) -> Vec3 {
        let local = self.light_from_render * w;
        if local.z < MIN_Z || local.z.is_nan() {
            return Vec3::ZERO;
        }
        let at = local.truncate() / (local.z * self.extent);
        if !at.abs().cmple(Vec2::ONE).all() {
            return Vec3::ZERO;
        }
        let texel = |x: f32, n: usize| ((0.5 * (x + 1.0) * n as f32) as usize).min(n - 1);
        self.texels[texel(at.y, self.height) * self.width + texel(at.x, self.width)]
    }
}

impl Light for ProjectionLight {
    fn sample_li(&self, p: Vec3, _u: Vec2) -> Option<LightSample> {
        sample_position(self.position, p, |wi| self.relative_intensity(-wi) * self.max_intensity)
    }

    fn power(&self, _scene_radius: f32) -> f32 {
        abs_luminance(self.power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::{DAffine3, DVec3};
    use lightbound_math::sampling::testing::points;
    use lightbound_math::sampling::warp::uniform_sphere;
    use lightbound_math::vec3;
    use std::f32::consts::PI;

    fn light(render_from_light: DAffine3, fov: f32) -> ProjectionLight {
        let texels = [
            vec3(1.0, 0.0, 0.0),
            vec3(0.0, 2.0, 0.0),
            vec3(0.0, 0.0, 3.0),
            vec3(4.0, 4.0, -4.0),
            vec3(5.0, 5.0, 5.0),
            vec3(6.0, 0.0, 0.0),
        ];
        let transform = Transform::new(render_from_light).unwrap();
        ProjectionLight::new(&transform, fov, &texels, 3, 2.0).unwrap()
    }

    #[test]
    fn image_is_upright_and_has_its_field_of_view_across_the_shorter_side() {
        let light = light(DAffine3::from_translation(DVec3::new(0.0, 0.0, 5.0)), 90.0);
        let at = |x: f32, y: f32| {
            let sample = light.sample_li(vec3(x, y, 6.0), Vec2::ZERO);
            sample.map_or(Vec3::ZERO, |s| s.radiance * (1.0 + x * x + y * y))
        };
        // At a distance of 1, the image covers [−1.5, 1.5] × [−1, 1].
        let close = |a: Vec3, b: Vec3| (a - b).abs().max_element() < 1e-5;
        assert!(close(at(-1.4, 0.9), vec3(2.0, 0.0, 0.0)), "{}", at(-1.4, 0.9));
        assert!(close(at(0.0, 0.5), vec3(0.0, 4.0, 0.0)));
        assert!(close(at(1.4, 0.9), vec3(0.0, 0.0, 6.0)));
        assert!(close(at(-1.4, -0.9), vec3(8.0, 8.0, 0.0)));
        assert!(close(at(1.4, -0.9), vec3(12.0, 0.0, 0.0)));
        assert_eq!([at(1.6, 0.0), at(0.0, -1.1)], [Vec3::ZERO; 2]);
        assert!(light.sample_li(vec3(0.0, 0.0, 4.0), Vec2::ZERO).is_none(), "light behind");
    }

    #[test]
    fn power_is_the_integral_and_the_cone_contains_the_image() {
        let skewed =
            DAffine3::from_rotation_y(1.0) * DAffine3::from_scale(DVec3::new(1.0, 3.0, 0.5));
        for (transform, fov) in [
            (DAffine3::IDENTITY, 60.0),
            (DAffine3::IDENTITY, 150.0),
            (skewed, 40.0),
            (skewed, 120.0),
        ] {
            let light = light(transform, fov);
            let (mut sum, n) = (Vec3::ZERO, 200_000);
            for u in points(n, 3) {
                let w = uniform_sphere(u);
                let relative = light.relative_intensity(w);
                assert!(relative.min_element() >= 0.0 && relative.max_element() <= 1.0);
                assert!(relative == Vec3::ZERO || light.cone().at(light.axis().dot(w)) == 1.0);
                sum += relative * light.max_intensity();
            }
            let integral = sum * (4.0 * PI / n as f32);
            // The texels are few, so the midpoint rule of pbrt's power is coarse.
            let error = (integral / light.total_power() - 1.0).abs().max_element();
            assert!(fov != 60.0 || error < 0.15, "{fov}: {error}");
        }
    }

    #[test]
    fn invalid_fields_of_view_are_errors() {
        for fov in [0.0, 180.0, -1.0, f32::NAN] {
            let light = ProjectionLight::new(&Transform::IDENTITY, fov, &[Vec3::ONE], 1, 1.0);
            assert!(matches!(light, Err(LightError::Parameter { name: "fov", .. })), "{fov}");
        }
    }
}
