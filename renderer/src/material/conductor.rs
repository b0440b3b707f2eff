//! Metals: mirrors, smooth or of Trowbridge–Reitz microfacets, that reflect by the Fresnel equations of a complex index.
//!
//! f = F(wo·m) D(m) G₂(wi, wo) / (4 cosθᵢ cosθₒ) with the half vector m (Torrance & Sparrow 1967; Walter et al. 2007). Light that
//! bounces among facets is lost, as in pbrt-v4.

use super::microfacet::TrowbridgeReitz;
use super::{Bsdf, BsdfSample, GRAZING, fresnel, reflect};
use crate::math::{Vec2, Vec3, vec3};

/// A metal, alike on both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conductor {
    eta: Vec3,
    k: Vec3,
    facets: TrowbridgeReitz,
}

/// The least real part of an index of refraction: 0 and 0 would reflect 0/0.
const MIN_INDEX: Vec3 = Vec3::splat(1e-4);
/// The largest part of an index of refraction; keeps its fourth power finite.
const MAX_INDEX: Vec3 = Vec3::splat(1e4);
/// The largest reflectance that is turned into an index, pbrt-v4's: 1 would need an infinite one.
const MAX_REFLECTANCE: Vec3 = Vec3::splat(0.9999);

impl Conductor {
    /// The metal with the index of refraction `eta` − i `k`, the former limited to [10⁻⁴, 10⁴], the latter to [0, 10⁴], and roughness
    /// `alpha` along x and y.
    #[inline]
    pub fn new(eta: Vec3, k: Vec3, alpha: Vec2) -> Conductor {
        let (eta, k) = (eta.clamp(MIN_INDEX, MAX_INDEX), k.clamp(Vec3::ZERO, MAX_INDEX));
        Conductor { eta, k, facets: TrowbridgeReitz::new(alpha) }
    }

    /// The metal that reflects `reflectance` at normal incidence, limited to [0, 0.9999]: η = 1 and k = 2√(r / (1 − r)).
    #[inline]
    pub fn from_reflectance(reflectance: Vec3, alpha: Vec2) -> Conductor {
        let r = reflectance.clamp(Vec3::ZERO, MAX_REFLECTANCE);
        Conductor::new(Vec3::ONE, 2.0 * (r / (1.0 - r)).sqrt(), alpha)
    }

    /// `wi`, `wo` and their half vector, turned to the upper side; `None` where nothing is reflected.
    #[inline]
    fn upper(&self, wi: Vec3, wo: Vec3) -> Option<(Vec3, Vec3, Vec3)> {
        let side = 1f32.copysign(wo.z);
        let (wi, wo) = (side * wi, side * wo);
        let reflects = wi.z > GRAZING && wo.z > GRAZING && !self.facets.is_smooth();
        reflects.then(|| (wi, wo, (wi + wo).normalize()))
    }
}

impl Bsdf for Conductor {
    #[inline]
    fn eval(&self, wi: Vec3, wo: Vec3) -> Vec3 {
        let Some((wi, wo, m)) = self.upper(wi, wo) else { return Vec3::ZERO };
        let f = fresnel::conductor(wo.dot(m), self.eta, self.k);
        f * (0.25 * self.facets.d(m) * self.facets.g2_over_cosines(wi, wo))
    }

    #[inline]
    fn pdf(&self, wi: Vec3, wo: Vec3) -> f32 {
        // The Jacobian of the reflection, 1 / (4 wo·m), cancels the cosine in the density of visible normals.
        self.upper(wi, wo).map_or(0.0, |(_, wo, m)| 0.25 * self.facets.visible_d_over_dot(m, wo))
    }

    #[inline]
    fn sample(&self, _lobe: f32, u: Vec2, wo: Vec3) -> Option<BsdfSample> {
        let side = 1f32.copysign(wo.z);
        let up = side * wo;
        if up.z.is_nan() || up.z <= GRAZING {
            return None;
        }
        if self.facets.is_smooth() {
            let weight = fresnel::conductor(up.z, self.eta, self.k);
            return Some(BsdfSample { wi: vec3(-wo.x, -wo.y, wo.z), weight, pdf: 0.0, delta: true, eta: 1.0 });
        }
        let m = self.facets.sample(up, u);
        let cos = up.dot(m);
        let wi = reflect(up, m);
        if cos <= 0.0 || wi.z <= GRAZING {
            return None;
        }
        let weight = fresnel::conductor(cos, self.eta, self.k) * self.facets.g2_over_g1(wi, up);
        let pdf = 0.25 * self.facets.visible_d_over_dot(m, up);
        Some(BsdfSample { wi: side * wi, weight, pdf, delta: false, eta: 1.0 })
    }

    fn is_delta(&self) -> bool {
        self.facets.is_smooth()
    }

    fn albedo(&self, wo: Vec3) -> Vec3 {
        fresnel::conductor(wo.z.abs(), self.eta, self.k)
    }
}
