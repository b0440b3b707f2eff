//! Lambertian reflection: the same radiance in all directions, f = ρ/π, on the side that `wo` is on.

use super::{Bsdf, BsdfSample};
use crate::math::{Vec2, Vec3, vec2, vec3};
use std::f32::consts::{FRAC_1_PI, FRAC_PI_2, FRAC_PI_4};

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
        let d = disk(u);
        let z = (1.0 - d.length_squared()).max(0.0).sqrt().copysign(wo.z);
        let pdf = z.abs() * FRAC_1_PI;
        let sample = BsdfSample { wi: vec3(d.x, d.y, z), weight: self.reflectance, pdf, delta: false, eta: 1.0 };
        (z * wo.z > 0.0).then_some(sample)
    }

    fn is_delta(&self) -> bool {
        false
    }

    fn albedo(&self, _wo: Vec3) -> Vec3 {
        self.reflectance
    }
}

/// A point of the unit disk, uniform by area; projected up, it is distributed like the cosine.
///
/// Squares around the centre become circles (Shirley & Chiu 1997), which keeps stratification.
#[inline]
fn disk(u: Vec2) -> Vec2 {
    let p = 2.0 * u - Vec2::ONE;
    let (r, angle) = if p.x.abs() > p.y.abs() {
        (p.x, FRAC_PI_4 * (p.y / p.x))
    } else if p.y != 0.0 {
        (p.y, FRAC_PI_2 - FRAC_PI_4 * (p.x / p.y))
    } else {
        return Vec2::ZERO;
    };
    let (sin, cos) = angle.sin_cos();
    r * vec2(cos, sin)
}
