//! Path vertices: shading points where a path may continue, and sampled continuations.

use crate::direction_tree::ShiftedTree;
use crate::geometry::Surface;
use crate::integrator::environment_sampling::EnvironmentPoint;
use crate::integrator::eye;
use crate::integrator::shading::BsdfValue;
use crate::material::Specular;
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
    /// Random number that selects the component, and the lobe of the specular component.
    pub lobe_u: f32,
    /// Random number for Russian roulette.
    pub roulette_u: f32,
    /// Index of the denoiser features, if requested.
    pub feature_index: u32,
    /// Two random numbers that select a light, and two that sample it; `None` if the vertex is not
    /// lit by light sampling.
    pub light: Option<[f32; 4]>,
}

/// A sampled continuation of a path.
pub(super) struct Next {
    /// Sampled direction in the shading frame.
    pub wi: Vec3,
    /// BSDF · |cos| / density.
    pub weight: Vec3,
    /// Density, 1/sr; 0 for a delta function.
    pub pdf: f32,
    /// Refractive index on the side of `wi` divided by that on the side of `wo`; 1 for reflection.
    pub eta: f32,
}

impl Vertex<'_> {
    /// Samples the specular component.
    pub fn sample_specular(&self, surface: &Surface) -> Option<Next> {
        let u = self.lobe_u / self.specular_probability;
        let sample = self.specular?.sample(u, self.wo, &surface.lookup())?;
        Some(Next {
            wi: self.mirrored(sample.wi),
            weight: sample.weight,
            pdf: 0.0,
            eta: sample.eta,
        })
    }

    /// Continues in the direction that was sampled for the shader.
    pub fn sample_shader(&self, (wi, BsdfValue { s, pdf }): (Vec3, BsdfValue)) -> Option<Next> {
        let pdf = pdf * (1.0 - self.specular_probability);
        if pdf <= 0.0 {
            return None;
        }
        let eta = eye::eta_ratio(self.eta, wi, self.wo);
        Some(Next { wi: self.mirrored(wi), weight: s / pdf, pdf, eta })
    }

    /// Returns the shading point for environment product sampling, with its direction tree.
    pub fn environment_point<'s>(
        &self,
        tree: ShiftedTree<'s>,
        surface: &'s Surface,
    ) -> EnvironmentPoint<'s> {
        EnvironmentPoint { tree, frame: &surface.frame, side: self.side }
    }

    /// Converts a direction from the shader's frame to the shading frame or back.
    pub fn mirrored(&self, wi: Vec3) -> Vec3 {
        Vec3::new(wi.x, wi.y, self.side * wi.z)
    }
}
