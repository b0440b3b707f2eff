//! A leaf of the light trees: light from one point, or from one direction.
//!
//! Points are what lights are made of here (Walter et al. 2005: *omni*, *oriented*
//! and *directional* lights): an intensity, times a geometric factor that depends on the place
//! which is lit. [`LightPoint::arrive`] computes that factor in an order of operations which
//! [`super::Node::geometric_bounds`] repeats on boxes, so that rounding is monotone and needs no
//! tolerance.

use crate::light::{FAR_OFFSET_ULPS, Falloff};
use crate::math::Vec3;

/// Which of the trees a light belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Points that shine alike in all directions.
    Omni,
    /// Points that shine about an axis: small pieces of surfaces, and spots.
    Oriented,
    /// Directions, from which the same light comes everywhere.
    Directional,
}

/// How light leaves a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Emission {
    /// Alike in all directions.
    Omni,
    /// By the cosine to the axis, on its side alone.
    Cosine,
    /// Around the axis, with a soft rim.
    Spot(Falloff),
    /// It is a direction.
    Distant,
}

/// Light from one point, or from one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LightPoint {
    /// Where it stands, in the world; [`Emission::Distant`]: the unit direction to the light.
    pub position: Vec3,
    /// Unit; zero where there is none.
    pub axis: Vec3,
    /// W·sr⁻¹ along the axis; [`Emission::Distant`]: irradiance on a surface that faces it, W·m⁻².
    /// Finite and not zero, but colours out of gamut have negative components.
    pub intensity: Vec3,
    /// How light leaves it.
    pub emission: Emission,
    /// Index of the light that this is a part of.
    pub light: u32,
    /// Which part.
    pub stratum: u32,
    /// [`Emission::Cosine`]: distance off the surface, along the axis, at which shadow rays from
    /// nearby end. [`Emission::Omni`]: radius of the ball that the point stands for, and which
    /// shadow rays end before; nothing arrives inside.
    pub offset: f32,
}

/// Light of a [`LightPoint`] that arrives somewhere, unless something stands in its way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// Unit direction to the light.
    pub wi: Vec3,
    /// Where the shadow ray ends, already off the light's own surface; `None` for directions.
    pub target: Option<Vec3>,
    /// Irradiance on a surface that faces the light, over the intensity: emission / distance², m⁻²;
    /// 1 for directions. Finite, above 0.
    pub factor: f32,
}

impl LightPoint {
    /// The tree it belongs to.
    pub fn kind(&self) -> Kind {
        match self.emission {
            Emission::Omni => Kind::Omni,
            Emission::Cosine | Emission::Spot(_) => Kind::Oriented,
            Emission::Distant => Kind::Directional,
        }
    }

    /// What arrives at `x`; `None` for nothing, and from nearer than 2⁻⁵⁰ m or too far for floats.
    pub fn arrive(&self, x: Vec3) -> Option<Arrival> {
        if self.emission == Emission::Distant {
            return Some(Arrival { wi: self.position, target: None, factor: 1.0 });
        }
        let d = self.position - x;
        let d2 = length_squared([d.x, d.y, d.z]);
        // Fails for NaN.
        if !(LEAST_DISTANCE_SQUARED..=f32::MAX).contains(&d2) {
            return None;
        }
        let wi = d / d2.sqrt();
        let (emission, target) = match self.emission {
            Emission::Cosine => {
                // The ray's direction is rounded as coarsely as the point that it leaves from,
                // however small the light.
                let offset = self.offset + FAR_OFFSET_ULPS * x.abs().max_element();
                (self.axis.dot(-wi).min(1.0), self.position + self.axis * offset)
            }
            Emission::Spot(falloff) => (falloff.at(self.axis.dot(-wi)), self.position),
            Emission::Omni | Emission::Distant => {
                if self.offset * self.offset >= d2 {
                    return None;
                }
                (1.0, self.position - wi * self.offset)
            }
        };
        let factor = emission / d2;
        (factor > 0.0 && factor.is_finite()).then_some(Arrival { wi, target: Some(target), factor })
    }
}

/// Nothing arrives from nearer than 2⁻⁵⁰ m: squares of what matters there would leave the range of
/// normal floats.
pub(super) const LEAST_DISTANCE_SQUARED: f32 = 1.0 / (1u128 << 100) as f32;

/// x² + y² + z² in the one order of operations that points and bounds share.
#[inline(always)]
pub(super) fn length_squared([x, y, z]: [f32; 3]) -> f32 {
    x * x + y * y + z * z
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::light::{Light, PointLight, SpotLight};
    use crate::math::{Vec2, vec3};

    fn point(emission: Emission) -> LightPoint {
        let (position, intensity) = (vec3(1.0, 2.0, 5.0), vec3(8.0, 4.0, 2.0));
        LightPoint {
            position,
            axis: -Vec3::Z,
            intensity,
            emission,
            light: 0,
            stratum: 0,
            offset: 1e-3,
        }
    }

    #[test]
    fn arrives_as_the_light_says() {
        let omni = LightPoint { offset: 0.0, ..point(Emission::Omni) };
        let light = PointLight::new(omni.position, omni.intensity);
        let spot = SpotLight::new(omni.position, -Vec3::Z, omni.intensity, 50.0, 40.0).unwrap();
        let oriented = LightPoint { emission: Emission::Spot(spot.falloff()), ..omni };
        for x in [vec3(1.0, 2.0, 3.0), vec3(-2.0, 1.0, 1.0), vec3(9.0, 2.0, 5.5)] {
            for (point, light) in [(omni, &light as &dyn Light), (oriented, &spot)] {
                let Some(sample) = light.sample_li(x, Vec2::ZERO) else {
                    assert_eq!(point.arrive(x), None, "outside the spot");
                    continue;
                };
                let a = point.arrive(x).unwrap();
                assert!((a.wi - sample.wi).length() < 1e-6 && a.target == sample.target);
                assert!((a.factor * point.intensity - sample.radiance).length() < 1e-6);
            }
        }
    }

    #[test]
    fn cosine_shines_to_its_side() {
        let p = point(Emission::Cosine);
        let a = p.arrive(vec3(1.0, 2.0, 3.0)).unwrap();
        assert_eq!((a.wi, a.factor), (Vec3::Z, 0.25));
        assert!(a.target.unwrap().z < 5.0 - 1e-3, "off the surface");
        let slanted = p.arrive(vec3(1.0, 5.0, 2.0)).unwrap();
        assert!((slanted.factor - 0.5f32.sqrt() / 18.0).abs() < 1e-7);
        assert_eq!(p.arrive(vec3(1.0, 2.0, 6.0)), None);
    }

    #[test]
    fn a_ball_ends_shadow_rays() {
        let ball = LightPoint { offset: 0.5, ..point(Emission::Omni) };
        let a = ball.arrive(vec3(1.0, 2.0, 3.0)).unwrap();
        assert_eq!((a.factor, a.target), (0.25, Some(vec3(1.0, 2.0, 4.5))));
        assert_eq!(ball.arrive(vec3(1.0, 2.0, 4.75)), None, "inside");
    }

    #[test]
    fn absurd_places() {
        let distant = point(Emission::Distant);
        assert_eq!(distant.arrive(Vec3::NAN).unwrap().factor, 1.0);
        for emission in [Emission::Omni, Emission::Cosine] {
            let p = point(emission);
            for x in [p.position, Vec3::NAN, Vec3::INFINITY, Vec3::splat(1e30)] {
                assert_eq!(p.arrive(x), None, "{x}");
            }
            let near = LightPoint { position: Vec3::ZERO, ..p };
            assert_eq!(near.arrive(vec3(0.0, 0.0, -1e-30)), None);
        }
    }
}
