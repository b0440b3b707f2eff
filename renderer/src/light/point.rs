//! Lights without extent: points and spots.

use super::{Light, LightError, LightSample, weight};
use crate::math::{Vec2, Vec3};
use std::f32::consts::PI;

/// A point that shines alike in all directions.
#[derive(Clone, Debug)]
pub struct PointLight {
    position: Vec3,
    intensity: Vec3,
}

impl PointLight {
    /// Power over intensity, sr: divide a wanted power by it. pbrt's "power" convention.
    pub const POWER_FACTOR: f32 = 4.0 * PI;

    /// A light at `position`; `intensity` in W·sr⁻¹.
    pub fn new(position: Vec3, intensity: Vec3) -> PointLight {
        PointLight { position, intensity }
    }

    /// Where it stands.
    pub fn position(&self) -> Vec3 {
        self.position
    }

    /// W·sr⁻¹.
    pub fn intensity(&self) -> Vec3 {
        self.intensity
    }
}

impl Light for PointLight {
    fn sample_li(&self, p: Vec3, _u: Vec2) -> Option<LightSample> {
        towards(self.position, p, |_| self.intensity)
    }

    fn power(&self, _scene_radius: f32) -> f32 {
        Self::POWER_FACTOR * weight(self.intensity)
    }
}

/// A point that shines into a cone, with a soft rim: pbrt's falloff, a smoothstep of the cosine
/// between the two angles.
#[derive(Clone, Debug)]
pub struct SpotLight {
    position: Vec3,
    axis: Vec3,
    intensity: Vec3,
    falloff: Falloff,
}

/// How a spot's light falls off towards its rim: a smoothstep of the cosine between the angle where
/// it begins and that where it ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Falloff {
    /// Cosine of the angle up to which the light is full.
    pub cos_start: f32,
    /// Cosine of the angle from which there is none; at most `cos_start`.
    pub cos_end: f32,
}

impl Falloff {
    /// Share of the intensity that is left where the angle to the axis has the cosine `cos`; 0 to
    /// 1, rises with it.
    pub fn at(&self, cos: f32) -> f32 {
        if self.cos_start <= self.cos_end {
            return if cos < self.cos_end { 0.0 } else { 1.0 };
        }
        let x = ((cos - self.cos_end) / (self.cos_start - self.cos_end)).clamp(0.0, 1.0);
        x * x * (3.0 - 2.0 * x)
    }
}

impl SpotLight {
    /// A light at `position` that shines along `axis` (of any length); `intensity` on the axis in
    /// W·sr⁻¹. `cone` is the half angle where light ends, `delta` how far inside the rim begins,
    /// both in degrees.
    ///
    /// *Errors*: an axis of no direction, a cone not in (0, 180], a rim not in [0, cone].
    pub fn new(
        position: Vec3,
        axis: Vec3,
        intensity: Vec3,
        cone: f32,
        delta: f32,
    ) -> Result<SpotLight, LightError> {
        let bad =
            |name, value, expected| LightError::Parameter { light: "spot", name, value, expected };
        if !(cone > 0.0 && cone <= 180.0) {
            return Err(bad("coneangle", cone, "an angle above 0, at most 180 degrees"));
        }
        if !(delta >= 0.0 && delta <= cone) {
            return Err(bad("conedeltaangle", delta, "an angle from 0 to coneangle"));
        }
        let axis = axis.try_normalize().ok_or(LightError::Direction { light: "spot" })?;
        let [cos_start, cos_end] = [cone - delta, cone].map(|a| libm::cosf(a.to_radians()));
        Ok(SpotLight { position, axis, intensity, falloff: Falloff { cos_start, cos_end } })
    }

    /// Power over the intensity on the axis, sr: divide a wanted power by it. pbrt's "power"
    /// convention: the rim counts half, which is what the smoothstep integrates to.
    pub fn power_factor(&self) -> f32 {
        2.0 * PI * (1.0 - 0.5 * (self.falloff.cos_start + self.falloff.cos_end))
    }

    /// The same light, so many times as bright.
    pub fn scaled(self, factor: f32) -> SpotLight {
        SpotLight { intensity: self.intensity * factor, ..self }
    }

    /// Where it stands.
    pub fn position(&self) -> Vec3 {
        self.position
    }

    /// Unit direction in which it shines.
    pub fn axis(&self) -> Vec3 {
        self.axis
    }

    /// On the axis, W·sr⁻¹.
    pub fn intensity(&self) -> Vec3 {
        self.intensity
    }

    /// Its rim.
    pub fn falloff(&self) -> Falloff {
        self.falloff
    }
}

impl Light for SpotLight {
    fn sample_li(&self, p: Vec3, _u: Vec2) -> Option<LightSample> {
        towards(self.position, p, |wi| self.falloff.at(self.axis.dot(-wi)) * self.intensity)
    }

    fn power(&self, _scene_radius: f32) -> f32 {
        self.power_factor() * weight(self.intensity)
    }
}

/// The sample of a light at `position` that sends `intensity(wi)` against the direction `wi`.
fn towards(position: Vec3, p: Vec3, intensity: impl Fn(Vec3) -> Vec3) -> Option<LightSample> {
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
    fn inverse_square() {
        let light = PointLight::new(Vec3::new(0.0, 0.0, 5.0), Vec3::new(8.0, 4.0, 2.0));
        let s = light.sample_li(Vec3::new(0.0, 0.0, 3.0), Vec2::ZERO).unwrap();
        assert_eq!(
            (s.wi, s.radiance, s.target),
            (Vec3::Z, Vec3::new(2.0, 1.0, 0.5), Some(Vec3::new(0.0, 0.0, 5.0)))
        );
        assert!(
            light.sample_li(Vec3::new(0.0, 0.0, 5.0), Vec2::ZERO).is_none(),
            "at the light itself"
        );
    }

    #[test]
    fn spot_falloff() {
        let spot = SpotLight::new(Vec3::ZERO, 7.0 * Vec3::Z, Vec3::ONE, 60.0, 30.0).unwrap();
        let at = |degrees: f32| {
            let (sin, cos) = degrees.to_radians().sin_cos();
            spot.sample_li(Vec3::new(sin, 0.0, cos), Vec2::ZERO).map_or(0.0, |s| s.radiance.x)
        };
        assert_eq!((at(0.0), at(29.0), at(61.0), at(180.0)), (1.0, 1.0, 0.0, 0.0));
        let middle =
            (0.5 * (30f32.to_radians().cos() + 60f32.to_radians().cos())).acos().to_degrees();
        assert!((at(middle) - 0.5).abs() < 1e-4, "half way in the cosine");
        // The power is the integral of the intensity over the sphere.
        let n = 20_000;
        let mean =
            (0..n).map(|i| spot.falloff.at(1.0 - 2.0 * (i as f32 + 0.5) / n as f32)).sum::<f32>()
                / n as f32;
        assert!((4.0 * PI * mean / spot.power_factor() - 1.0).abs() < 1e-3);
        assert_eq!(spot.scaled(2.0).intensity, Vec3::splat(2.0));
    }

    #[test]
    fn absurd_spots_are_refused() {
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
