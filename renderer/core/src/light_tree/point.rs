//! Leaves of light trees: light from a point or from a direction.
//!
//! The light of a leaf is an intensity times a geometric factor, which depends on the receiving
//! point. As in Walter et al. 2005, there are *omni*, *oriented* and *directional* lights.
//! [`LightPoint::incident_light`] and [`super::Node::geometric_bounds`] compute the factor with the
//! same operations in the same order. Rounding is monotone, so the bounds need no tolerance.

use crate::light::{FAR_OFFSET_ULPS, Falloff};
use lightbound_math::Vec3;

/// The kind of a light. Each kind has its own tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LightKind {
    /// Points with uniform emission in all directions.
    Omni,
    /// Points with emission around an axis: small parts of surfaces, and spot lights.
    Oriented,
    /// Directions with the same light at all receiving points.
    Directional,
    /// Virtual lights: points on surfaces and in media that scatter light.
    Virtual {
        /// Squared distance, m², below which the light does not increase.
        min_distance_squared: f32,
    },
}

impl LightKind {
    /// Returns whether lights of the kind emit around an axis.
    pub(super) fn has_axis(self) -> bool {
        matches!(self, LightKind::Oriented | LightKind::Virtual { .. })
    }
}

/// Angular distribution of a point's emission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Emission {
    /// Uniform in all directions.
    Omni,
    /// Proportional to the cosine to the axis; 0 if the cosine is negative.
    Cosine,
    /// A cone around the axis, with a smooth edge.
    Spot(Falloff),
    /// Light from a direction instead of a point.
    Distant,
    /// That of a material, which is not known here. It is 0 if the cosine to the axis is not
    /// positive, unless the axis is zero.
    Virtual {
        /// The magnitude of the intensity in a direction is at most `bound` · min(cosine +
        /// [`COSINE_STEP`], 1), W·sr⁻¹; with a zero axis, at most `bound`. May be infinite.
        bound: Vec3,
    },
}

/// Difference of cosines within which bounds on the emission of virtual lights are constant.
pub const COSINE_STEP: f32 = 1.0 / 8.0;

/// Light from one point, or from one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LightPoint {
    /// Position in render space; for [`Emission::Distant`], the unit direction to the light.
    pub position: Vec3,
    /// Unit axis; zero for lights without an axis.
    pub axis: Vec3,
    /// Intensity along the axis, W·sr⁻¹, or a typical one for [`Emission::Virtual`]; for
    /// [`Emission::Distant`], irradiance at normal incidence, W·m⁻². Finite and nonzero. Out-of-gamut
    /// colours have negative components.
    pub intensity: Vec3,
    /// Angular distribution.
    pub emission: Emission,
    /// Index of the light, or of the virtual light.
    pub light: u32,
    /// Index of the part of the light.
    pub stratum: u32,
    /// For [`Emission::Cosine`], offset along the axis at which shadow rays from nearby end. For
    /// [`Emission::Omni`], radius of the sphere that the point represents: shadow rays end at the
    /// sphere, and points inside it receive no light. For [`Emission::Virtual`], the distance below
    /// which the light does not increase.
    pub offset: f32,
}

/// Unoccluded light from a [`LightPoint`] at a receiving point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IncidentLight {
    /// Unit direction to the light.
    pub wi: Vec3,
    /// Endpoint of the shadow ray, offset from the light's surface; `None` for directional lights.
    pub target: Option<Vec3>,
    /// Irradiance at normal incidence divided by the intensity: emission / distance², m⁻²; 1 for
    /// directional lights. Finite and positive. Without the emission of virtual lights.
    pub factor: f32,
}

impl LightPoint {
    /// Returns the kind of the light.
    pub fn kind(&self) -> LightKind {
        match self.emission {
            Emission::Omni => LightKind::Omni,
            Emission::Cosine | Emission::Spot(_) => LightKind::Oriented,
            Emission::Distant => LightKind::Directional,
            Emission::Virtual { .. } => {
                LightKind::Virtual { min_distance_squared: self.offset * self.offset }
            }
        }
    }

    /// Whether this is a virtual light.
    pub fn is_virtual(&self) -> bool {
        matches!(self.emission, Emission::Virtual { .. })
    }

    /// Returns the incident light at `x`; `None` if it is black, if the distance is below 2⁻⁵⁰ m,
    /// or if its square exceeds the range of floats.
    pub fn incident_light(&self, x: Vec3) -> Option<IncidentLight> {
        if self.emission == Emission::Distant {
            return Some(IncidentLight { wi: self.position, target: None, factor: 1.0 });
        }
        let d = self.position - x;
        let d2 = length_squared([d.x, d.y, d.z]);
        // False for NaN.
        if !(MIN_DISTANCE_SQUARED..=f32::MAX).contains(&d2) {
            return None;
        }
        let wi = d / d2.sqrt();
        // The rounding error of the ray is relative to its origin, even for small lights.
        let far = FAR_OFFSET_ULPS * x.abs().max_element();
        let &LightPoint { position, axis, offset, .. } = self;
        let p = PointGeometry { position, axis, offset, far, wi, d2 };
        let (factor, target) = match self.emission {
            Emission::Cosine => cosine_light(&p),
            Emission::Spot(falloff) => (falloff.at(axis.dot(-wi)) / d2, position),
            Emission::Omni | Emission::Distant => omni_light(&p),
            Emission::Virtual { .. } => virtual_light(&p),
        };
        (factor > 0.0 && factor.is_finite()).then_some(IncidentLight {
            wi,
            target: Some(target),
            factor,
        })
    }
}

/// A light point, with the direction and the squared distance to it from a receiving point.
pub(super) struct PointGeometry {
    pub position: Vec3,
    pub axis: Vec3,
    pub offset: f32,
    /// Rounding error of rays from the receiving point.
    pub far: f32,
    pub wi: Vec3,
    pub d2: f32,
}

/// Returns the factor of [`Emission::Cosine`], which is not positive if there is no light, and the
/// endpoint of the shadow ray.
#[inline(always)]
pub(super) fn cosine_light(p: &PointGeometry) -> (f32, Vec3) {
    (p.axis.dot(-p.wi).min(1.0) / p.d2, p.position + p.axis * (p.offset + p.far))
}

/// The same for [`Emission::Omni`].
#[inline(always)]
pub(super) fn omni_light(p: &PointGeometry) -> (f32, Vec3) {
    let factor = if p.offset * p.offset >= p.d2 { 0.0 } else { 1.0 / p.d2 };
    (factor, p.position - p.wi * p.offset)
}

/// The same for [`Emission::Virtual`], without the emission.
#[inline(always)]
pub(super) fn virtual_light(p: &PointGeometry) -> (f32, Vec3) {
    (1.0 / p.d2.max(p.offset * p.offset), p.position)
}

/// Minimum squared distance of lights, (2⁻⁵⁰ m)². The squares of smaller distances would be below
/// the range of normal floats.
pub(super) const MIN_DISTANCE_SQUARED: f32 = 1.0 / (1u128 << 100) as f32;

/// Computes x² + y² + z². Lights and bounds share this order of operations.
#[inline(always)]
pub(super) fn length_squared([x, y, z]: [f32; 3]) -> f32 {
    x * x + y * y + z * z
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::light::{Light, PointLight, SpotLight};
    use lightbound_math::{Vec2, vec3};

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
    fn incident_light_matches_the_light() {
        let omni = LightPoint { offset: 0.0, ..point(Emission::Omni) };
        let light = PointLight::new(omni.position, omni.intensity);
        let spot = SpotLight::new(omni.position, -Vec3::Z, omni.intensity, 50.0, 40.0).unwrap();
        let oriented = LightPoint { emission: Emission::Spot(spot.falloff()), ..omni };
        for x in [vec3(1.0, 2.0, 3.0), vec3(-2.0, 1.0, 1.0), vec3(9.0, 2.0, 5.5)] {
            for (point, light) in [(omni, &light as &dyn Light), (oriented, &spot)] {
                let Some(sample) = light.sample_li(x, Vec2::ZERO) else {
                    assert_eq!(point.incident_light(x), None, "light outside the spot");
                    continue;
                };
                let a = point.incident_light(x).unwrap();
                assert!((a.wi - sample.wi).length() < 1e-6 && a.target == sample.target);
                assert!((a.factor * point.intensity - sample.radiance).length() < 1e-6);
            }
        }
    }

    #[test]
    fn cosine_emission_is_one_sided() {
        let p = point(Emission::Cosine);
        let a = p.incident_light(vec3(1.0, 2.0, 3.0)).unwrap();
        assert_eq!((a.wi, a.factor), (Vec3::Z, 0.25));
        assert!(a.target.unwrap().z < 5.0 - 1e-3, "the target is not offset from the surface");
        let slanted = p.incident_light(vec3(1.0, 5.0, 2.0)).unwrap();
        assert!((slanted.factor - 0.5f32.sqrt() / 18.0).abs() < 1e-7);
        assert_eq!(p.incident_light(vec3(1.0, 2.0, 6.0)), None);
    }

    #[test]
    fn shadow_rays_end_at_the_sphere() {
        let ball = LightPoint { offset: 0.5, ..point(Emission::Omni) };
        let a = ball.incident_light(vec3(1.0, 2.0, 3.0)).unwrap();
        assert_eq!((a.factor, a.target), (0.25, Some(vec3(1.0, 2.0, 4.5))));
        assert_eq!(ball.incident_light(vec3(1.0, 2.0, 4.75)), None, "light inside the sphere");
    }

    #[test]
    fn invalid_positions_receive_no_light() {
        let distant = point(Emission::Distant);
        assert_eq!(distant.incident_light(Vec3::NAN).unwrap().factor, 1.0);
        for emission in [Emission::Omni, Emission::Cosine] {
            let p = point(emission);
            for x in [p.position, Vec3::NAN, Vec3::INFINITY, Vec3::splat(1e30)] {
                assert_eq!(p.incident_light(x), None, "{x}");
            }
            let near = LightPoint { position: Vec3::ZERO, ..p };
            assert_eq!(near.incident_light(vec3(0.0, 0.0, -1e-30)), None);
        }
    }
}
