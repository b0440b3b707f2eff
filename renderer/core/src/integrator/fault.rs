//! Fault injection: rendering faults that the regression tests must detect. Compiled only for unit
//! tests and with the feature `faults`.

use lightbound_math::Ray;

/// A fault to inject.
#[cfg(any(test, feature = "faults"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Densities of light samples are 5 % too high.
    LightDensity,
    /// Every 16th sample has 1.5 times its weight.
    HeavySamples,
    /// Shadow rays start 0.05 units too far from the surface.
    LateShadowRays,
}

/// The injected fault of a path tracer, if any.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Faults {
    #[cfg(any(test, feature = "faults"))]
    pub fault: Option<Fault>,
}

impl Faults {
    /// Returns the density of a light sample, with the fault applied.
    #[inline(always)]
    pub fn light_density(self, pdf: f32) -> f32 {
        #[cfg(any(test, feature = "faults"))]
        if self.fault == Some(Fault::LightDensity) {
            return 1.05 * pdf;
        }
        pdf
    }

    /// Returns the weight of a sample, with the fault applied.
    #[inline(always)]
    pub fn weight(self, _pixel_sample: u32, weight: f32) -> f32 {
        #[cfg(any(test, feature = "faults"))]
        if self.fault == Some(Fault::HeavySamples) && _pixel_sample.is_multiple_of(16) {
            return 1.5 * weight;
        }
        weight
    }

    /// Returns a shadow ray, with the fault applied.
    #[inline(always)]
    pub fn shadow_ray(self, ray: Ray) -> Ray {
        #[cfg(any(test, feature = "faults"))]
        if self.fault == Some(Fault::LateShadowRays) {
            return Ray { tmin: (0.05 / ray.d.length()).min(ray.tmax), ..ray };
        }
        ray
    }
}
