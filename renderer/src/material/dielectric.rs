//! Glass and water: an interface, smooth or of Trowbridge–Reitz microfacets, that reflects and refracts.
//!
//! Walter et al. 2007, *Microfacet Models for Refraction through Rough Surfaces*, with pbrt-v4's conventions: the refractive index
//! is that of the side below (−z) over that above, and refracted radiance is scaled by 1/η², since `wo` points to the eye and
//! radiance gathers in the denser medium.

use super::microfacet::TrowbridgeReitz;
use super::{Bsdf, BsdfSample, GRAZING, fresnel, reflect};
use crate::math::{Vec2, Vec3};

/// An interface between two dielectrics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dielectric {
    eta: f32,
    facets: TrowbridgeReitz,
}

/// Indices that differ less are taken as equal where it comes to roughness.
const MATCHED: f32 = 1e-4;

/// One direction pair, turned so that `wo` is above.
struct Pair {
    wi: Vec3,
    wo: Vec3,
    /// The facet normal, above.
    m: Vec3,
    /// Index of the side that `wo` is not on over that of its own side.
    eta: f32,
}

impl Dielectric {
    /// Index `eta` of the side below over that above, and roughness `alpha` along x and y.
    ///
    /// An index that is not a positive finite number counts as 1, as 0 does in pbrt-v4. Where it is 1 (to four digits: beyond, the
    /// half vector is lost in rounding) nothing is scattered, whatever the roughness.
    #[inline]
    pub fn new(eta: f32, alpha: Vec2) -> Dielectric {
        Dielectric { eta: usable_index(eta), facets: TrowbridgeReitz::new(alpha) }
    }

    #[inline]
    fn smooth(&self) -> bool {
        (self.eta - 1.0).abs() < MATCHED || self.facets.is_smooth()
    }

    /// The relative index seen from the side of `wo`.
    #[inline]
    fn eta_from(&self, wo: Vec3) -> f32 {
        if wo.z > 0.0 { self.eta } else { 1.0 / self.eta }
    }

    /// `None` where no facet connects the two directions.
    #[inline]
    fn pair(&self, wi: Vec3, wo: Vec3) -> Option<Pair> {
        let side = 1f32.copysign(wo.z);
        let eta = self.eta_from(wo);
        let (wi, wo) = (side * wi, side * wo);
        if self.smooth() || wi.z.abs() <= GRAZING || wo.z <= GRAZING {
            return None;
        }
        let h = if wi.z > 0.0 { wi + wo } else { eta * wi + wo };
        let m = h.normalize_or_zero();
        let m = m * 1f32.copysign(m.z);
        // A facet is seen from its front by both directions, or from its front by wo and from its back by wi.
        let connected = m.z > 0.0 && wo.dot(m) > 0.0 && wi.dot(m) * wi.z > 0.0;
        connected.then_some(Pair { wi, wo, m, eta })
    }

    /// Density of `wi` where light is refracted at `m`, before the choice of the lobe: visible normals times |dm/dwi|.
    #[inline]
    fn refracted_pdf(&self, p: &Pair) -> f32 {
        self.facets.visible_d_over_dot(p.m, p.wo) * p.jacobian()
    }
}

impl Pair {
    /// |wi·m| |wo·m| / (wi·m + wo·m / η)².
    #[inline]
    fn jacobian(&self) -> f32 {
        let (i, o) = (self.wi.dot(self.m), self.wo.dot(self.m));
        let sum = i + o / self.eta;
        (i * o).abs() / (sum * sum)
    }

    #[inline]
    fn fresnel(&self) -> f32 {
        fresnel::dielectric(self.wo.dot(self.m), self.eta)
    }
}

impl Bsdf for Dielectric {
    fn eval(&self, wi: Vec3, wo: Vec3) -> Vec3 {
        let Some(p) = self.pair(wi, wo) else { return Vec3::ZERO };
        let facets = self.facets.d(p.m) * self.facets.g2_over_cosines(p.wi, p.wo);
        let reflected = p.fresnel();
        Vec3::splat(if p.wi.z > 0.0 {
            0.25 * reflected * facets
        } else {
            (1.0 - reflected) * facets * p.jacobian() / (p.eta * p.eta)
        })
    }

    fn pdf(&self, wi: Vec3, wo: Vec3) -> f32 {
        let Some(p) = self.pair(wi, wo) else { return 0.0 };
        let reflected = p.fresnel();
        if p.wi.z > 0.0 {
            0.25 * reflected * self.facets.visible_d_over_dot(p.m, p.wo)
        } else {
            (1.0 - reflected) * self.refracted_pdf(&p)
        }
    }

    fn sample(&self, lobe: f32, u: Vec2, wo: Vec3) -> Option<BsdfSample> {
        let side = 1f32.copysign(wo.z);
        let eta = self.eta_from(wo);
        let up = side * wo;
        if up.z.is_nan() || up.z <= GRAZING {
            return None;
        }
        let delta = self.smooth();
        let m = if delta { Vec3::Z } else { self.facets.sample(up, u) };
        let cos = up.dot(m);
        if cos <= 0.0 {
            return None;
        }
        let reflected = fresnel::dielectric(cos, eta);
        let reflects = lobe < reflected;
        let wi = if reflects { reflect(up, m) } else { refract(up, m, cos, eta)? };
        if wi.z.abs() <= GRAZING || (wi.z > 0.0) != reflects {
            return None;
        }
        let (eta, weight) = if reflects { (1.0, 1.0) } else { (eta, 1.0 / (eta * eta)) };
        if delta {
            return Some(BsdfSample { wi: side * wi, weight: Vec3::splat(weight), pdf: 0.0, delta, eta });
        }
        let weight = Vec3::splat(weight * self.facets.g2_over_g1(wi, up));
        let pdf = if reflects {
            0.25 * reflected * self.facets.visible_d_over_dot(m, up)
        } else {
            (1.0 - reflected) * self.refracted_pdf(&Pair { wi, wo: up, m, eta })
        };
        Some(BsdfSample { wi: side * wi, weight, pdf, delta, eta })
    }

    fn is_delta(&self) -> bool {
        self.smooth()
    }

    fn albedo(&self, _wo: Vec3) -> Vec3 {
        Vec3::ONE
    }
}

/// The direction into which light to `wo` comes from through a facet `m` with `wo·m` = `cos` > 0; `None` under total reflection.
#[inline]
fn refract(wo: Vec3, m: Vec3, cos: f32, eta: f32) -> Option<Vec3> {
    let cos_t = fresnel::refracted_cos(cos, eta)?;
    Some((cos / eta - cos_t) * m - wo / eta)
}

/// `eta` limited to [10⁻⁴, 10⁴]; 1 where it is not a positive finite number.
#[inline]
pub(super) fn usable_index(eta: f32) -> f32 {
    if eta > 0.0 && eta < f32::INFINITY { eta.clamp(1e-4, 1e4) } else { 1.0 }
}
