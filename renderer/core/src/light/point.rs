//! Point and spot lights.

use super::{Light, LightError, LightSample, abs_luminance};
use lightbound_math::{Transform, Vec2, Vec3};
use std::f32::consts::PI;

/// A point light with uniform emission in all directions.
#[derive(Clone, Debug)]
pub struct PointLight {
    position: Vec3,
    intensity: Vec3,
}

impl PointLight {
    /// Power divided by intensity, sr, as in pbrt's "power" convention.
    pub const POWER_FACTOR: f32 = 4.0 * PI;

    /// Creates a light at `position`, with `intensity` in W·sr⁻¹.
    pub fn new(position: Vec3, intensity: Vec3) -> PointLight {
        PointLight { position, intensity }
    }

    /// Returns the light at a transformed position.
    pub(super) fn transformed(&self, transform: &Transform) -> PointLight {
        PointLight { position: transform.point(self.position), ..*self }
    }

    /// Returns the position in render space.
    pub fn position(&self) -> Vec3 {
        self.position
    }

    /// Returns the intensity, W·sr⁻¹.
    pub fn intensity(&self) -> Vec3 {
        self.intensity
    }
}

impl Light for PointLight {
    fn sample_li(&self, p: Vec3, _u: Vec2) -> Option<LightSample> {
        sample_position(self.position, p, |_| self.intensity)
    }

    fn power(&self, _scene_radius: f32) -> f32 {
        Self::POWER_FACTOR * abs_luminance(self.intensity)
    }
}

/// A spot light: a cone with a smooth edge, as in pbrt.
#[derive(Clone, Debug)]
pub struct SpotLight {
    position: Vec3,
    axis: Vec3,
    intensity: Vec3,
    falloff: Falloff,
}

/// Falloff of a spot light: a smoothstep of the cosine between two angles, as in pbrt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Falloff {
    /// Cosine of the angle at which the falloff starts. The intensity is full inside it.
    pub cos_start: f32,
    /// Cosine of the angle at which the falloff ends; at most `cos_start`. The intensity is 0
    /// outside it.
    pub cos_end: f32,
}

impl Falloff {
    /// Returns the fraction of the intensity at an angle with cosine `cos` to the axis: from 0 to
    /// 1, increasing with `cos`.
    pub fn at(&self, cos: f32) -> f32 {
        if self.cos_start <= self.cos_end {
            return if cos < self.cos_end { 0.0 } else { 1.0 };
        }
        smoothstep((cos - self.cos_end) / (self.cos_start - self.cos_end))
    }
}

/// Rises from 0 at 0 to 1 at 1, with slope 0 at both.
pub(super) fn smoothstep(x: f32) -> f32 {
    let x = x.clamp(0.0, 1.0);
    x * x * (3.0 - 2.0 * x)
}

impl SpotLight {
    /// Creates a light at `position` that emits along `axis` (of any length), with `intensity` on
    /// the axis in W·sr⁻¹. `cone` is the half angle of the cone, and `delta` the angular width of
    /// its smooth edge, both in degrees.
    ///
    /// # Errors
    /// If `axis` cannot be normalised, `cone` is not in (0, 180], or `delta` is not in [0, cone].
    pub fn new(
        position: Vec3,
        axis: Vec3,
        intensity: Vec3,
        cone: f32,
        delta: f32,
    ) -> Result<SpotLight, LightError> {
        let error =
            |name, value, expected| LightError::Parameter { light: "spot", name, value, expected };
        if !(cone > 0.0 && cone <= 180.0) {
            return Err(error("coneangle", cone, "an angle above 0 and up to 180 degrees"));
        }
        if !(delta >= 0.0 && delta <= cone) {
            return Err(error("conedeltaangle", delta, "an angle from 0 to coneangle"));
        }
        let axis = axis.try_normalize().ok_or(LightError::Direction { light: "spot" })?;
        let [cos_start, cos_end] = [cone - delta, cone].map(|a| libm::cosf(a.to_radians()));
        Ok(SpotLight { position, axis, intensity, falloff: Falloff { cos_start, cos_end } })
    }

    /// Returns the power divided by the intensity on the axis, sr, as in pbrt's "power" convention.
    /// The smooth edge counts half, the integral of the smoothstep.
    pub fn power_factor(&self) -> f32 {
        2.0 * PI * (1.0 - 0.5 * (self.falloff.cos_start + self.falloff.cos_end))
    }

    /// Returns the light with its intensity scaled.
    pub fn scaled(self, factor: f32) -> SpotLight {
        SpotLight { intensity: self.intensity * factor, ..self }
    }

    /// Returns the light at a transformed position, with its axis transformed and its angles kept.
    pub(super) fn transformed(&self, transform: &Transform) -> SpotLight {
        let axis = transform.vector(self.axis).normalize_or(self.axis);
        SpotLight { position: transform.point(self.position), axis, ..*self }
    }

    /// Returns the position in render space.
    pub fn position(&self) -> Vec3 {
        self.position
    }

    /// Returns the unit direction of the axis.
    pub fn axis(&self) -> Vec3 {
        self.axis
    }

    /// Returns the intensity on the axis, W·sr⁻¹.
    pub fn intensity(&self) -> Vec3 {
        self.intensity
    }

    /// Returns the falloff at the edge of the cone.
    pub fn falloff(&self) -> Falloff {
        self.falloff
    }
}

impl Light for SpotLight {
    fn sample_li(&self, p: Vec3, _u: Vec2) -> Option<LightSample> {
        sample_position(self.position, p, |wi| self.falloff.at(self.axis.dot(-wi)) * self.intensity)
    }

    fn power(&self, _scene_radius: f32) -> f32 {
        self.power_factor() * abs_luminance(self.intensity)
    }
}

/// Samples a light at `position` that emits `intensity(wi)` in the direction −`wi`, as seen from
/// `p`.
pub(super) fn sample_position(
    position: Vec3,
    p: Vec3,
    intensity: impl Fn(Vec3) -> Vec3,
) -> Option<LightSample> {
    let d = position - p;
    let wi = d.try_normalize()?;
    let radiance = intensity(wi) / d.length_squared();
    (radiance != Vec3::ZERO).then_some(LightSample {
        wi,
        target: Some(position),
        radiance,
        pdf: 1.0,
        delta: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radiance_follows_the_inverse_square_law() {
        let light = PointLight::new(Vec3::new(0.0, 0.0, 5.0), Vec3::new(8.0, 4.0, 2.0));
        let s = light.sample_li(Vec3::new(0.0, 0.0, 3.0), Vec2::ZERO).unwrap();
        assert_eq!(
            (s.wi, s.radiance, s.target),
            (Vec3::Z, Vec3::new(2.0, 1.0, 0.5), Some(Vec3::new(0.0, 0.0, 5.0)))
        );
        assert!(
            light.sample_li(Vec3::new(0.0, 0.0, 5.0), Vec2::ZERO).is_none(),
            "a shading point at the light has a sample"
        );
    }

    #[test]
    fn spot_power_is_the_integral_of_its_falloff() {
        let spot = SpotLight::new(Vec3::ZERO, 7.0 * Vec3::Z, Vec3::ONE, 60.0, 30.0).unwrap();
        let at = |degrees: f32| {
            let (sin, cos) = degrees.to_radians().sin_cos();
            spot.sample_li(Vec3::new(sin, 0.0, cos), Vec2::ZERO).map_or(0.0, |s| s.radiance.x)
        };
        assert_eq!((at(0.0), at(29.0), at(61.0), at(180.0)), (1.0, 1.0, 0.0, 0.0));
        let middle =
            (0.5 * (30f32.to_radians().cos() + 60f32.to_radians().cos())).acos().to_degrees();
        assert!(
            (at(middle) - 0.5).abs() < 1e-4,
            "the falloff is not 1/2 at the mean of the cosines"
        );
        // The power is the integral of the intensity over the sphere.
        let n = 20_000;
        let mean =
            (0..n).map(|i| spot.falloff.at(1.0 - 2.0 * (i as f32 + 0.5) / n as f32)).sum::<f32>()
                / n as f32;
        assert!((4.0 * PI * mean / spot.power_factor() - 1.0).abs() < 1e-3);
        assert_eq!(spot.scaled(2.0).intensity, Vec3::splat(2.0));
    }

    #[test]
    fn invalid_spots_are_errors() {
        let make = |axis, cone, delta| {
            SpotLight::new(Vec3::ZERO, axis, Vec3::ONE, cone, delta).map(|_| ())
        };
        assert_eq!(make(Vec3::ZERO, 30.0, 5.0), Err(LightError::Direction { light: "spot" }));
        for (cone, delta) in [
            (0.0, 0.0),
            (f32::NAN, 5.0),
            (30.0, f32::NAN),
            (30.0, -1.0),
            (30.0, 31.0),
            (200.0, 5.0),
        ] {
            assert!(make(Vec3::Z, cone, delta).is_err(), "{cone} {delta}");
        }
        let sharp = SpotLight::new(Vec3::ZERO, Vec3::Z, Vec3::ONE, 30.0, 0.0).unwrap();
        assert_eq!((sharp.falloff.at(0.87), sharp.falloff.at(0.86)), (1.0, 0.0));
    }
}
