//! Path vertices: shading points where a path may continue, and sampled continuations.

use crate::direction_tree::ShiftedTree;
use crate::geometry::Surface;
use crate::integrator::environment_sampling::EnvironmentSampleContext;
use crate::integrator::shading::{BsdfValue, eta_ratio};
use crate::material::{PathWavelength, Specular};
use lightbound_math::Vec3;

/// A shading point where a path may continue.
pub(super) struct Vertex<'a> {
    /// Index of the path.
    pub path: u32,
    /// Index of the surface interaction.
    pub interaction: u32,
    pub specular: Option<&'a Specular>,
    /// Outgoing direction in the shading frame, mirrored to the upper side for one-sided shaders.
    pub wo: Vec3,
    /// −1 if `wo` is mirrored, else 1.
    pub side: f32,
    /// Index of refraction of a transmissive shader.
    pub eta: f32,
    /// Probability of sampling the specular component.
    pub specular_probability: f32,
    /// Random number that selects a component, and a lobe of the specular component.
    pub lobe_u: f32,
    /// The path's wavelength, with a random number to select one.
    pub wavelength: PathWavelength,
    /// Random number for Russian roulette.
    pub roulette_u: f32,
    /// Index of the denoiser features, if requested.
    pub feature_index: u32,
    /// Two random numbers that select a light, and two that sample it; `None` if the vertex takes
    /// no light sample.
    pub light_u: Option<[f32; 4]>,
}

/// A sampled continuation of a path.
pub(super) struct BsdfSample {
    /// Sampled direction in the shading frame.
    pub wi: Vec3,
    /// BSDF × |cosine| / density.
    pub weight: Vec3,
    /// Density, 1/sr; 0 for a delta distribution.
    pub pdf: f32,
    /// Refractive index on the side of `wi` over the index on the side of `wo`; 1 for reflection.
    pub eta: f32,
    /// Wavelength of the path from here on, nm; `None` for RGB.
    pub nm: Option<f32>,
}

impl Vertex<'_> {
    /// Samples the specular component.
    pub fn sample_specular(&self, surface: &Surface) -> Option<BsdfSample> {
        let u = self.lobe_u / self.specular_probability;
        let sample = self.specular?.sample(u, self.wavelength, self.wo, &surface.lookup())?;
        Some(BsdfSample {
            wi: self.mirrored(sample.wi),
            weight: sample.weight,
            pdf: 0.0,
            eta: sample.eta,
            nm: sample.nm,
        })
    }

    /// Converts the direction sampled for the shader; `None` if its density is 0.
    pub fn sample_shader(
        &self,
        (wi, BsdfValue { s, pdf }): (Vec3, BsdfValue),
    ) -> Option<BsdfSample> {
        let pdf = pdf * (1.0 - self.specular_probability);
        if pdf <= 0.0 {
            return None;
        }
        let eta = eta_ratio(self.eta, wi, self.wo);
        let nm = self.wavelength.nm;
        Some(BsdfSample { wi: self.mirrored(wi), weight: s / pdf, pdf, eta, nm })
    }

    /// Returns the context for environment product sampling. `tree` is the vertex's direction tree.
    pub fn environment_sample_context<'s>(
        &self,
        tree: ShiftedTree<'s>,
        surface: &'s Surface,
    ) -> EnvironmentSampleContext<'s> {
        EnvironmentSampleContext { tree, frame: &surface.frame, side: self.side }
    }

    /// Converts a direction from the shader's frame to the shading frame or back.
    pub fn mirrored(&self, wi: Vec3) -> Vec3 {
        Vec3::new(wi.x, wi.y, self.side * wi.z)
    }
}
