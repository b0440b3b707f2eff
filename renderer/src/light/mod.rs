//! Lights.
//!
//! Every light stands in world space and needs nothing else of the scene. [`Lights`] owns them all
//! and knows their power. Lights that a direction sampler can meet tell the density of their own
//! samples, so that the two ways can be weighed against each other: [`AreaLight::pdf_li`],
//! [`Environment::pdf_li`].

mod area;
mod distant;
mod environment;
mod facet;
mod octahedral;
mod point;
mod sky_pyramid;
#[cfg(test)]
pub(crate) mod testing;

use crate::math::{Aabb, Vec2, Vec3};
use crate::sampling::luminance;

pub(crate) use area::FAR_OFFSET_ULPS;
pub use area::{AreaLight, Place};
pub use distant::DistantLight;
pub use environment::{CONSTANT_ILLUMINANCE, Environment, SkyPart, SkyPlace, image_illuminance};
pub use facet::FacetSamples;
pub use octahedral::{sphere_to_square, square_to_sphere};
pub use point::{Falloff, PointLight, SpotLight};
pub use sky_pyramid::SkyPyramid;

/// Light arriving at a point, drawn by [`Light::sample_li`].
#[derive(Clone, Copy, Debug)]
pub struct LightSample {
    /// Unit direction to the light.
    pub wi: Vec3,
    /// Where the shadow ray ends (already moved off the light's own surface); `None` for lights at
    /// infinity.
    pub target: Option<Vec3>,
    /// Incident radiance along −wi, W·sr⁻¹·m⁻²; for delta lights the irradiance on a surface facing
    /// the light, W·m⁻².
    pub radiance: Vec3,
    /// Density per steradian; 1 for delta lights.
    pub pdf: f32,
    /// Whether no direction sampler can hit the light.
    pub delta: bool,
}

/// A source of light.
pub trait Light {
    /// Draws light that arrives at `p` (unoccluded). `None` where none arrives.
    fn sample_li(&self, p: Vec3, u: Vec2) -> Option<LightSample>;

    /// Power sent into a scene that fits into a ball of `scene_radius`, luminance-weighted; the
    /// scale of the light's pick probability. Relative errors here cost noise, never bias, as long
    /// as it is positive where any channel shines.
    fn power(&self, scene_radius: f32) -> f32;
}

/// Any light, dispatched statically.
#[derive(Clone, Debug)]
pub enum AnyLight {
    /// A point.
    Point(PointLight),
    /// A point behind a cone.
    Spot(SpotLight),
    /// One direction.
    Distant(DistantLight),
    /// A surface.
    Area(AreaLight),
    /// All around.
    Environment(Environment),
}

/// Why no light could be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LightError {
    /// A number out of its range.
    #[error("{light} light: \"{name}\" is {value}, expected {expected}")]
    Parameter {
        /// Kind of light.
        light: &'static str,
        /// The parameter, as scene files call it.
        name: &'static str,
        /// What was found.
        value: f32,
        /// What would do.
        expected: &'static str,
    },
    /// No direction to shine in.
    #[error("{light} light: \"from\" and \"to\" must be two different, finite points")]
    Direction {
        /// Kind of light.
        light: &'static str,
    },
    /// The image cannot be an octahedral map.
    #[error(
        "environment image: {texels} texels are no square of {size} × {size} (sides 1 to 65536); \
         an equal-area octahedral map is wanted, into which pbrt's `imgtool makeequiarea` turns other images"
    )]
    NotSquare {
        /// Texels found.
        texels: usize,
        /// Side asked for.
        size: usize,
    },
    /// A texel is infinite or not a number.
    #[error("environment image: texel ({x}, {y}) is not finite after scaling")]
    NotFinite {
        /// Column.
        x: usize,
        /// Row.
        y: usize,
    },
}

impl Light for AnyLight {
    fn sample_li(&self, p: Vec3, u: Vec2) -> Option<LightSample> {
        match self {
            AnyLight::Point(l) => l.sample_li(p, u),
            AnyLight::Spot(l) => l.sample_li(p, u),
            AnyLight::Distant(l) => l.sample_li(p, u),
            AnyLight::Area(l) => l.sample_li(p, u),
            AnyLight::Environment(l) => l.sample_li(p, u),
        }
    }

    fn power(&self, scene_radius: f32) -> f32 {
        match self {
            AnyLight::Point(l) => l.power(scene_radius),
            AnyLight::Spot(l) => l.power(scene_radius),
            AnyLight::Distant(l) => l.power(scene_radius),
            AnyLight::Area(l) => l.power(scene_radius),
            AnyLight::Environment(l) => l.power(scene_radius),
        }
    }
}

/// All lights of a scene; there may be none.
#[derive(Clone, Debug, Default)]
pub struct Lights {
    lights: Vec<AnyLight>,
    environments: Vec<u32>,
    powers: Vec<f32>,
}

impl Lights {
    /// The lights of a scene whose surfaces lie within `bounds`; the order stays, and is what
    /// [`crate::geometry::Primitive`] refers to.
    pub fn new(lights: Vec<AnyLight>, bounds: Aabb) -> Lights {
        let radius = 0.5 * (bounds.max - bounds.min).length();
        let radius =
            if !bounds.is_empty() && radius > 0.0 && radius.is_finite() { radius } else { 1.0 };
        // A light that is too strong for a float is merely the strongest.
        let powers = lights.iter().map(|l| l.power(radius).min(f32::MAX)).collect();
        let environments = (0..lights.len() as u32)
            .filter(|&i| matches!(lights[i as usize], AnyLight::Environment(_)))
            .collect();
        Lights { powers, lights, environments }
    }

    /// The same, but for one that is dark.
    pub fn without(&self, light: u32) -> Lights {
        let mut others = self.clone();
        others.lights[light as usize] = AnyLight::Environment(Environment::constant(Vec3::ZERO));
        others.powers[light as usize] = 0.0;
        others.environments.retain(|&environment| environment != light);
        others
    }

    /// All lights.
    pub fn all(&self) -> &[AnyLight] {
        &self.lights
    }

    /// Whether nothing shines.
    pub fn are_dark(&self) -> bool {
        !self.powers.iter().any(|&power| power > 0.0)
    }

    /// The light of an index, if it is a surface.
    pub fn area(&self, index: u32) -> Option<&AreaLight> {
        match &self.lights[index as usize] {
            AnyLight::Area(l) => Some(l),
            _ => None,
        }
    }

    /// The lights that rays meet which leave the scene, with their indices.
    pub fn environments(&self) -> impl Iterator<Item = (u32, &Environment)> {
        self.environments.iter().filter_map(|&i| match &self.lights[i as usize] {
            AnyLight::Environment(e) => Some((i, e)),
            _ => None,
        })
    }

    /// Whether there are lights that rays meet.
    pub fn can_be_hit(&self) -> bool {
        self.lights
            .iter()
            .any(|light| matches!(light, AnyLight::Area(_) | AnyLight::Environment(_)))
    }

    /// [`Light::power`] of each, finite: positive for all that shine.
    pub fn powers(&self) -> &[f32] {
        &self.powers
    }
}

/// Luminance of the absolute values: positive wherever any channel is not zero, unlike the
/// luminance of colours out of gamut.
pub(crate) fn weight(rgb: Vec3) -> f32 {
    luminance(rgb.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds() -> Aabb {
        Aabb { min: -Vec3::ONE, max: Vec3::ONE }
    }

    #[test]
    fn powers_and_kinds() {
        let point = |i: f32| AnyLight::Point(PointLight::new(Vec3::ZERO, Vec3::splat(i)));
        let sky = AnyLight::Environment(Environment::constant(Vec3::splat(0.2)));
        let lights = Lights::new(vec![point(1.0), point(0.0), sky, point(3.0)], bounds());
        let powers = lights.powers();
        assert!((powers[3] / powers[0] - 3.0).abs() < 1e-5 && powers[1] == 0.0 && powers[2] > 0.0);
        let environments: Vec<u32> = lights.environments().map(|(i, _)| i).collect();
        assert_eq!(environments, [2]);
        let others = lights.without(2);
        assert_eq!((others.environments().count(), others.all().len()), (0, 4));
        assert_eq!(others.powers(), [powers[0], 0.0, 0.0, powers[3]]);
        assert!(lights.area(0).is_none());
    }

    #[test]
    fn strange_light() {
        // A colour out of gamut whose luminance is negative still shines in red; one too bright for
        // a float has a power.
        let odd = AnyLight::Point(PointLight::new(Vec3::ZERO, Vec3::new(1.0, -1.0, 0.0)));
        let huge = AnyLight::Point(PointLight::new(Vec3::ZERO, Vec3::splat(f32::MAX)));
        let lights = Lights::new(vec![odd, huge], bounds());
        assert!(lights.powers().iter().all(|&power| power > 0.0 && power.is_finite()));
        assert!(!lights.are_dark());
        let black = AnyLight::Environment(Environment::constant(Vec3::ZERO));
        assert!(Lights::new(vec![black], Aabb::EMPTY).are_dark() && Lights::default().are_dark());
    }
}
