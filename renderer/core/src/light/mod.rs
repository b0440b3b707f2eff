//! Lights.
//!
//! Every light is self-contained and in render space. [`Lights`] owns all lights of a scene and
//! their powers. Lights that BSDF samples can hit return the density of light sampling, for
//! multiple importance sampling: [`AreaLight::pdf_li`], [`Environment::pdf_li`].

mod area;
mod area_light_columns;
mod disk_light;
mod distant;
mod environment;
mod environment_columns;
mod goniometric;
mod lat_long;
mod light_columns;
mod light_groups;
mod moving;
mod octahedral;
mod point;
mod portal;
mod projection;
mod sky;
#[cfg(test)]
pub(crate) mod testing;
mod triangle_light;

use lightbound_math::sampling::luminance;
use lightbound_math::{Aabb, Vec2, Vec3};

pub(crate) use area::FAR_OFFSET_ULPS;
pub use area::{AreaLight, EmissionImage, EmitterPoint};
pub use area_light_columns::AreaLightColumns;
pub use distant::DistantLight;
pub use environment::{CONSTANT_ILLUMINANCE, Environment, EnvironmentDirection, image_illuminance};
pub use environment_columns::EnvironmentColumns;
pub use goniometric::GoniometricLight;
pub use lat_long::LatLongMap;
pub use light_columns::LightColumns;
pub use light_groups::{DEFAULT_GROUP, LightGroups};
pub use moving::MovingLight;
pub use octahedral::{sphere_to_square, square_to_sphere};
pub use point::{Falloff, PointLight, SpotLight};
pub use portal::PortalLight;
pub use projection::ProjectionLight;
pub use sky::Sky;

/// Incident light at a point, sampled by [`Light::sample_li`].
#[derive(Clone, Copy, Debug)]
pub struct LightSample {
    /// Unit direction to the light.
    pub wi: Vec3,
    /// Endpoint of the shadow ray, offset from the light's surface; `None` for lights at infinity.
    pub target: Option<Vec3>,
    /// Incident radiance along −wi, W·sr⁻¹·m⁻². For delta lights, the irradiance on a surface that
    /// faces the light, W·m⁻².
    pub radiance: Vec3,
    /// Density per steradian; 1 for delta lights.
    pub pdf: f32,
    /// Whether BSDF samples cannot hit the light.
    pub delta: bool,
}

/// A light.
pub trait Light {
    /// Samples unoccluded incident light at `p`; `None` if the sample is black, or the light is left
    /// to BSDF sampling.
    fn sample_li(&self, p: Vec3, u: Vec2) -> Option<LightSample>;

    /// Returns the luminance of the power emitted into a scene with a bounding sphere of radius
    /// `scene_radius`, for selection probabilities. It must be positive for every light that emits
    /// in any channel; apart from that, errors cause noise, but no bias.
    fn power(&self, scene_radius: f32) -> f32;
}

/// A light of any type, with static dispatch.
#[derive(Clone, Debug)]
pub enum AnyLight {
    /// A point light.
    Point(PointLight),
    /// A spot light.
    Spot(SpotLight),
    /// A goniometric light.
    Goniometric(Box<GoniometricLight>),
    /// A projection light.
    Projection(Box<ProjectionLight>),
    /// A distant light.
    Distant(DistantLight),
    /// An area light.
    Area(AreaLight),
    /// An environment light.
    Environment(Environment),
    /// An environment light behind a portal.
    Portal(Box<PortalLight>),
    /// A light of another type that moves.
    Moving(Box<MovingLight>),
}

/// Why a light is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LightError {
    /// A parameter is out of its range.
    #[error("{light} light: \"{name}\" is {value}, expected {expected}")]
    Parameter {
        /// Type of light.
        light: &'static str,
        /// Name of the parameter in scene files.
        name: &'static str,
        /// The value.
        value: f32,
        /// Description of the valid range.
        expected: &'static str,
    },
    /// The direction of the light is undefined.
    #[error("{light} light: \"from\" and \"to\" must be different, finite points")]
    Direction {
        /// Type of light.
        light: &'static str,
    },
    /// The image is not square.
    #[error(
        "environment image: {texels} texels are not a square of {size} × {size} \
         (1 to 65536 per side); expected an equal-area octahedral map"
    )]
    NotSquare {
        /// Number of texels.
        texels: usize,
        /// Specified number of texels per side.
        size: usize,
    },
    /// The corners of a portal are not those of a rectangle.
    #[error("the portal is not a rectangle")]
    Portal,
    /// A texel is infinite or NaN.
    #[error("environment image: texel ({x}, {y}) is not finite after scaling")]
    NotFinite {
        /// Column.
        x: usize,
        /// Row.
        y: usize,
    },
}

impl Light for AnyLight {
    /// Samples incident light. A moving light is where it is when the shutter opens; see
    /// [`MovingLight::at`].
    fn sample_li(&self, p: Vec3, u: Vec2) -> Option<LightSample> {
        match self {
            AnyLight::Point(l) => l.sample_li(p, u),
            AnyLight::Spot(l) => l.sample_li(p, u),
            AnyLight::Goniometric(l) => l.sample_li(p, u),
            AnyLight::Projection(l) => l.sample_li(p, u),
            AnyLight::Distant(l) => l.sample_li(p, u),
            AnyLight::Area(l) => l.sample_li(p, u),
            AnyLight::Environment(l) => l.sample_li(p, u),
            AnyLight::Portal(l) => l.sample_li(p, u),
            AnyLight::Moving(l) => l.sample_li(p, u),
        }
    }

    fn power(&self, scene_radius: f32) -> f32 {
        match self {
            AnyLight::Point(l) => l.power(scene_radius),
            AnyLight::Spot(l) => l.power(scene_radius),
            AnyLight::Goniometric(l) => l.power(scene_radius),
            AnyLight::Projection(l) => l.power(scene_radius),
            AnyLight::Distant(l) => l.power(scene_radius),
            AnyLight::Area(l) => l.power(scene_radius),
            AnyLight::Environment(l) => l.power(scene_radius),
            AnyLight::Portal(l) => l.power(scene_radius),
            AnyLight::Moving(l) => l.power(scene_radius),
        }
    }
}

impl AnyLight {
    /// Returns the fraction of the emitted luminance that light sampling covers. The rest, of
    /// environment lights, is left to BSDF sampling.
    pub fn sampled_share(&self) -> f32 {
        match self {
            AnyLight::Environment(l) => l.sampled_share(),
            AnyLight::Moving(l) => l.start().sampled_share(),
            _ => 1.0,
        }
    }
}

/// All lights of a scene.
#[derive(Clone, Debug, Default)]
pub struct Lights {
    lights: Vec<AnyLight>,
    environments: Vec<u32>,
    portals: Vec<u32>,
    moving_environments: Vec<u32>,
    any_moves: bool,
    powers: Vec<f32>,
    groups: LightGroups,
}

impl Lights {
    /// Creates the lights of a scene with surfaces within `bounds`. The order is preserved, since
    /// [`crate::geometry::Primitive`] refers to lights by index.
    pub fn new(lights: Vec<AnyLight>, bounds: Aabb) -> Lights {
        let radius = 0.5 * (bounds.max - bounds.min).length();
        let radius =
            if !bounds.is_empty() && radius > 0.0 && radius.is_finite() { radius } else { 1.0 };
        // Clamp infinite powers.
        let powers = lights.iter().map(|l| l.power(radius).min(f32::MAX)).collect();
        let indices = |is_of_kind: fn(&AnyLight) -> bool| {
            (0..lights.len() as u32).filter(|&i| is_of_kind(&lights[i as usize])).collect()
        };
        let environments = indices(|light| matches!(light, AnyLight::Environment(_)));
        let portals = indices(|light| matches!(light, AnyLight::Portal(_)));
        let moving_environments =
            indices(|light| matches!(light, AnyLight::Moving(l) if l.is_environment()));
        let any_moves = lights.iter().any(|light| matches!(light, AnyLight::Moving(_)));
        Lights {
            powers,
            lights,
            environments,
            portals,
            moving_environments,
            any_moves,
            groups: LightGroups::default(),
        }
    }

    /// Sets the groups of the lights. By default, all are in [`DEFAULT_GROUP`].
    pub fn with_groups(self, groups: LightGroups) -> Lights {
        Lights { groups, ..self }
    }

    /// Returns the groups of the lights.
    pub fn groups(&self) -> &LightGroups {
        &self.groups
    }

    /// Returns all lights.
    pub fn all(&self) -> &[AnyLight] {
        &self.lights
    }

    /// Returns whether no light emits any power.
    pub fn is_black(&self) -> bool {
        !self.powers.iter().any(|&power| power > 0.0)
    }

    /// Returns the light at `index`, if it is an area light. One that moves is as it is when the
    /// shutter opens; its emission is the same at all times.
    pub fn area(&self, index: u32) -> Option<&AreaLight> {
        match &self.lights[index as usize] {
            AnyLight::Area(l) => Some(l),
            AnyLight::Moving(l) => match l.start() {
                AnyLight::Area(l) => Some(l),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns whether any light moves.
    pub fn any_moves(&self) -> bool {
        self.any_moves
    }

    /// Iterates over the environment lights that move, with their indices, as they are at `time`,
    /// seconds.
    pub fn moving_environments(&self, time: f32) -> impl Iterator<Item = (u32, Environment)> {
        self.moving_environments.iter().filter_map(move |&i| match &self.lights[i as usize] {
            AnyLight::Moving(l) => match l.at(time) {
                AnyLight::Environment(e) => Some((i, e)),
                _ => None,
            },
            _ => None,
        })
    }

    /// Iterates over the environment lights with their indices.
    pub fn environments(&self) -> impl Iterator<Item = (u32, &Environment)> {
        self.environments.iter().filter_map(|&i| match &self.lights[i as usize] {
            AnyLight::Environment(e) => Some((i, e)),
            _ => None,
        })
    }

    /// Iterates over the environment lights behind portals with their indices.
    pub fn portals(&self) -> impl Iterator<Item = (u32, &PortalLight)> {
        self.portals.iter().filter_map(|&i| match &self.lights[i as usize] {
            AnyLight::Portal(l) => Some((i, &**l)),
            _ => None,
        })
    }

    /// Returns whether the light points of any light have a [mask](Self::mask).
    pub fn have_masks(&self) -> bool {
        let has_mask = |light: &AnyLight| {
            matches!(
                light,
                AnyLight::Goniometric(_) | AnyLight::Projection(_) | AnyLight::Portal(_)
            )
        };
        self.lights.iter().any(has_mask)
    }

    /// Returns the factor from 0 to 1 by which the light of a part arrives at `p` from the direction
    /// `wi`: that of an image in this direction, relative to its maximum, or whether a portal is
    /// open; 1 for other lights. The parts of a projection light are its colour channels.
    pub fn mask(&self, light: u32, part: u32, p: Vec3, wi: Vec3) -> f32 {
        match &self.lights[light as usize] {
            AnyLight::Goniometric(l) => l.relative_intensity(-wi),
            AnyLight::Projection(l) => l.relative_intensity(-wi)[part as usize],
            AnyLight::Portal(l) => f32::from(u8::from(l.is_visible(p, wi))),
            _ => 1.0,
        }
    }

    /// Returns whether rays can hit any light.
    pub fn can_be_hit(&self) -> bool {
        let can_be_hit = |light: &AnyLight| {
            matches!(light, AnyLight::Area(_) | AnyLight::Environment(_) | AnyLight::Portal(_))
        };
        self.lights.iter().any(|light| match light {
            AnyLight::Moving(l) => can_be_hit(l.start()),
            light => can_be_hit(light),
        })
    }

    /// Returns the [power](Light::power) of each light: finite, and positive for all lights that
    /// emit.
    pub fn powers(&self) -> &[f32] {
        &self.powers
    }

    /// Returns the part of each light's power that [light sampling
    /// covers](AnyLight::sampled_share).
    pub fn sampled_powers(&self) -> impl Iterator<Item = f32> {
        std::iter::zip(&self.lights, &self.powers)
            .map(|(light, power)| power * light.sampled_share())
    }
}

/// Returns the luminance of the absolute values of a colour. It is positive if any channel is
/// nonzero, even if out-of-gamut colours have negative channels.
pub(crate) fn abs_luminance(rgb: Vec3) -> f32 {
    luminance(rgb.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds() -> Aabb {
        Aabb { min: -Vec3::ONE, max: Vec3::ONE }
    }

    #[test]
    fn powers_are_proportional_to_emission_and_lights_keep_their_index() {
        let point = |i: f32| AnyLight::Point(PointLight::new(Vec3::ZERO, Vec3::splat(i)));
        let environment = AnyLight::Environment(Environment::constant(Vec3::splat(0.2)));
        let lights = Lights::new(vec![point(1.0), point(0.0), environment, point(3.0)], bounds());
        let powers = lights.powers();
        assert!((powers[3] / powers[0] - 3.0).abs() < 1e-5 && powers[1] == 0.0 && powers[2] > 0.0);
        let environments: Vec<u32> = lights.environments().map(|(i, _)| i).collect();
        assert_eq!(environments, [2]);
        assert!(lights.area(0).is_none());
    }

    #[test]
    fn out_of_gamut_and_huge_lights_have_finite_power() {
        // An out-of-gamut colour with negative luminance still emits red light. Powers that
        // overflow are clamped.
        let out_of_gamut = AnyLight::Point(PointLight::new(Vec3::ZERO, Vec3::new(1.0, -1.0, 0.0)));
        let huge = AnyLight::Point(PointLight::new(Vec3::ZERO, Vec3::splat(f32::MAX)));
        let lights = Lights::new(vec![out_of_gamut, huge], bounds());
        assert!(lights.powers().iter().all(|&power| power > 0.0 && power.is_finite()));
        assert!(!lights.is_black());
        let black = AnyLight::Environment(Environment::constant(Vec3::ZERO));
        assert!(Lights::new(vec![black], Aabb::EMPTY).is_black() && Lights::default().is_black());
    }
}
