//! Lambertian reflection: the same radiance in all directions, f = ρ/π, on the side that `wo` is on.

use super::{Bsdf, BsdfSample};
use crate::math::{Vec2, Vec3};
use crate::sampling::warp;
use std::f32::consts::FRAC_1_PI;

/// A diffuse reflector, alike on both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diffuse {
    reflectance: Vec3,
}

impl Diffuse {
    /// `reflectance` is limited to [0, 1].
    #[inline]
    pub fn new(reflectance: Vec3) -> Diffuse {
        Diffuse { reflectance: reflectance.clamp(Vec3::ZERO, Vec3::ONE) }
    }
}

impl Bsdf for Diffuse {
    #[inline]
    fn eval(&self, wi: Vec3, wo: Vec3) -> Vec3 {
        if wi.z * wo.z > 0.0 { self.reflectance * FRAC_1_PI } else { Vec3::ZERO }
    }

    #[inline]
    fn pdf(&self, wi: Vec3, wo: Vec3) -> f32 {
        if wi.z * wo.z > 0.0 { wi.z.abs() * FRAC_1_PI } else { 0.0 }
    }

    #[inline]
    fn sample(&self, _lobe: f32, u: Vec2, wo: Vec3) -> Option<BsdfSample> {
        let up = warp::cosine_hemisphere(u);
        let wi = up.with_z(up.z.copysign(wo.z));
        let pdf = warp::cosine_hemisphere_pdf(up.z);
        (wi.z * wo.z > 0.0).then_some(BsdfSample { wi, weight: self.reflectance, pdf, delta: false, eta: 1.0 })
    }

    fn is_delta(&self) -> bool {
        false
    }

    fn albedo(&self, _wo: Vec3) -> Vec3 {
        self.reflectance
    }
}
