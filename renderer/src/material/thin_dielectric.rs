//! Window panes: two parallel interfaces so close that refraction does not shift what is seen through them (pbrt-v4's
//! `thindielectric`).

use super::dielectric::usable_index;
use super::{Bsdf, BsdfSample, GRAZING, fresnel};
use crate::math::{Vec2, Vec3, vec3};

/// A smooth pane; reflections inside are summed up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThinDielectric {
    eta: f32,
}

impl ThinDielectric {
    /// Index `eta` of the pane over its surroundings; one that is not a positive finite number counts as 1.
    #[inline]
    pub fn new(eta: f32) -> ThinDielectric {
        ThinDielectric { eta: usable_index(eta) }
    }

    /// Reflectance of the pane: r + (1 − r)² r + (1 − r)² r³ + … = 2r / (1 + r), with the reflectance r of one interface.
    fn reflectance(&self, cos: f32) -> f32 {
        let r = fresnel::dielectric(cos, self.eta);
        2.0 * r / (1.0 + r)
    }
}

impl Bsdf for ThinDielectric {
    fn eval(&self, _wi: Vec3, _wo: Vec3) -> Vec3 {
        Vec3::ZERO
    }

    fn pdf(&self, _wi: Vec3, _wo: Vec3) -> f32 {
        0.0
    }

    fn sample(&self, lobe: f32, _u: Vec2, wo: Vec3) -> Option<BsdfSample> {
        let reflects = lobe < self.reflectance(wo.z.abs());
        let wi = if reflects { vec3(-wo.x, -wo.y, wo.z) } else { -wo };
        (wo.z.abs() > GRAZING).then_some(BsdfSample { wi, weight: Vec3::ONE, pdf: 0.0, delta: true, eta: 1.0 })
    }

    fn is_delta(&self) -> bool {
        true
    }

    fn albedo(&self, _wo: Vec3) -> Vec3 {
        Vec3::ONE
    }
}
