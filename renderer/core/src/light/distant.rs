//! Distant lights: parallel light from one direction.

use super::{Light, LightError, LightSample, abs_luminance};
use lightbound_math::{Transform, Vec2, Vec3};
use std::f32::consts::PI;

/// A distant light without extent, such as an ideal sun.
#[derive(Clone, Debug)]
pub struct DistantLight {
    wi: Vec3,
    irradiance: Vec3,
}

impl DistantLight {
    /// Creates a light in the direction `to_light` (of any length). A surface that faces the light
    /// receives `irradiance`, W·m⁻², which pbrt's "L" and "illuminance" both specify.
    ///
    /// # Errors
    /// If `to_light` cannot be normalised.
    pub fn new(to_light: Vec3, irradiance: Vec3) -> Result<DistantLight, LightError> {
        let wi = to_light.try_normalize().ok_or(LightError::Direction { light: "distant" })?;
        Ok(DistantLight { wi, irradiance })
    }

    /// Returns the light from a transformed direction.
    pub(super) fn transformed(&self, transform: &Transform) -> DistantLight {
        DistantLight { wi: transform.vector(self.wi).normalize_or(self.wi), ..*self }
    }

    /// Returns the unit direction to the light.
    pub fn wi(&self) -> Vec3 {
        self.wi
    }

    /// Returns the irradiance at normal incidence, W·m⁻².
    pub fn irradiance(&self) -> Vec3 {
        self.irradiance
    }
}

impl Light for DistantLight {
    fn sample_li(&self, _p: Vec3, _u: Vec2) -> Option<LightSample> {
        Some(LightSample {
            wi: self.wi,
            target: None,
            radiance: self.irradiance,
            pdf: 1.0,
            delta: true,
        })
    }

    fn power(&self, scene_radius: f32) -> f32 {
        PI * scene_radius * scene_radius * abs_luminance(self.irradiance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_independent_of_position() {
        let sun = DistantLight::new(Vec3::new(0.0, 3.0, 4.0), Vec3::ONE).unwrap();
        let s = sun.sample_li(Vec3::splat(1e6), Vec2::ZERO).unwrap();
        assert_eq!(
            (s.wi, s.radiance, s.delta, s.target),
            (Vec3::new(0.0, 0.6, 0.8), Vec3::ONE, true, None)
        );
        assert!((sun.power(2.0) - 4.0 * PI).abs() < 1e-5);
        assert!(DistantLight::new(Vec3::ZERO, Vec3::ONE).is_err());
    }
}
