//! Faults on purpose: what regression tests must be able to find. Outside of unit tests there are
//! none, and no code for them.

use crate::math::Ray;

/// A fault.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Light samples claim a density that is 5 % too high.
    LightDensity,
    /// Every 16th sample counts 1.5 times.
    HeavySamples,
    /// Shadow rays start 0.05 units too far from their surface.
    LateShadowRays,
}

/// The fault of a path tracer, if it has one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Faults {
    #[cfg(test)]
    pub fault: Option<Fault>,
}

impl Faults {
    /// The density of a light sample, as it is used.
    #[inline(always)]
    pub fn light_density(self, pdf: f32) -> f32 {
        #[cfg(test)]
        if self.fault == Some(Fault::LightDensity) {
            return 1.05 * pdf;
        }
        pdf
    }

    /// The weight of a sample, as it is used.
    #[inline(always)]
    pub fn weight(self, _number: u32, weight: f32) -> f32 {
        #[cfg(test)]
        if self.fault == Some(Fault::HeavySamples) && _number.is_multiple_of(16) {
            return 1.5 * weight;
        }
        weight
    }

    /// A shadow ray, as it is used.
    #[inline(always)]
    pub fn shadow_ray(self, ray: Ray) -> Ray {
        #[cfg(test)]
        if self.fault == Some(Fault::LateShadowRays) {
            return Ray { tmin: (0.05 / ray.d.length()).min(ray.tmax), ..ray };
        }
        ray
    }
}
