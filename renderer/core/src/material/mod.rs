//! Materials: scattering of light at surfaces.
//!
//! Scattering is a compiled shader ([`Program`]): a WGSL function of the scene or of the
//! [`library`], which is evaluated for batches of directions. Delta distributions, which shaders
//! cannot express, are [`Specular`]: mirrors and smooth interfaces. A material may have both, like
//! varnished wood.
//!
//! Directions are unit vectors in the shading frame (normal = +z). Both point away from the
//! surface: `wi` to the light, `wo` to the viewer.

mod bump;
mod dispersion;
pub mod fresnel;
mod instance;
pub mod library;
#[cfg(test)]
mod library_tests;
pub mod measured;
pub mod parameters;
mod program;
pub(crate) mod regions;
pub mod self_check;
mod shader_normal;
mod shader_profile;
mod specialization;
mod specular;
mod values;

use crate::texture::{LookupNeeds, Param};

pub use bump::BumpMap;
pub use dispersion::{DispersiveIndex, PathWavelength};
pub use instance::ShaderInstance;
pub use program::{Program, ProgramError, ShaderBinding};
pub use regions::{Guard, RegionVersion};
pub use shader_normal::ShaderNormal;
pub use shader_profile::{
    AppliedProfile, ProfileError, Profiler, ShaderKernel, ShaderProfile, ZeroTests,
};
pub use specialization::specialize_programs;
pub use specular::{Conductor, Specular, SpecularSample};
pub use values::{ParameterValues, Setting};

/// A material of the scene.
#[derive(Clone, Debug)]
pub enum Material {
    /// The sum of a specular and a scattering part. A surface without both is black.
    Surface {
        /// Delta distributions of the BSDF.
        specular: Option<Specular>,
        /// The rest of the BSDF, a shader.
        scattering: Option<ShaderInstance>,
        /// Perturbation of the shading frame.
        bump: Option<BumpMap>,
    },
    /// One of two materials, selected at random at each hit: pbrt's `mix`.
    Mix {
        /// Indices into the scene's materials.
        materials: [u32; 2],
        /// Probability of the second material.
        amount: Param,
    },
    /// No surface, but a boundary between media.
    Interface,
}

impl Material {
    /// Creates a material without delta distributions.
    pub fn scattering(instance: ShaderInstance) -> Material {
        Material::Surface { specular: None, scattering: Some(instance), bump: None }
    }

    /// Creates a material without a shader.
    pub fn specular(specular: Specular) -> Material {
        Material::Surface { specular: Some(specular), scattering: None, bump: None }
    }

    /// Returns the shader of a surface, if it has one.
    pub fn shader_mut(&mut self) -> Option<&mut ShaderInstance> {
        match self {
            Material::Surface { scattering, .. } => scattering.as_mut(),
            Material::Mix { .. } | Material::Interface => None,
        }
    }

    /// Returns the shader, if there is one.
    pub fn shader(&self) -> Option<&ShaderInstance> {
        match self {
            Material::Surface { scattering, .. } => scattering.as_ref(),
            Material::Mix { .. } | Material::Interface => None,
        }
    }

    /// Sets the bump map.
    ///
    /// # Panics
    /// If the material is a mix or an interface.
    pub fn with_bump(mut self, map: Option<BumpMap>) -> Material {
        match &mut self {
            Material::Surface { bump, .. } => *bump = map,
            Material::Mix { .. } => panic!("the materials of a mix have bump maps of their own"),
            Material::Interface => panic!("an interface has no normals"),
        }
        self
    }

    /// Returns the bump map; `None` for mixes and interfaces.
    pub fn bump(&self) -> Option<&BumpMap> {
        match self {
            Material::Surface { bump, .. } => bump.as_ref(),
            Material::Mix { .. } | Material::Interface => None,
        }
    }

    /// Returns what lookups of textures need; of a mix, without its materials.
    pub fn needs(&self) -> LookupNeeds {
        match self {
            Material::Surface { specular, scattering, bump } => {
                let specular = specular.as_ref().map(Specular::needs);
                let scattering = scattering.as_ref().map(ShaderInstance::needs);
                let needs = [specular, scattering, bump.as_ref().map(BumpMap::needs)];
                needs.into_iter().flatten().fold(LookupNeeds::NONE, LookupNeeds::union)
            }
            Material::Mix { amount, .. } => amount.needs(),
            Material::Interface => LookupNeeds::NONE,
        }
    }

    /// Returns whether refraction depends on the wavelength; false for mixes and interfaces.
    pub fn disperses(&self) -> bool {
        match self {
            Material::Surface { specular, scattering, .. } => {
                matches!(specular, Some(Specular::Dispersive { .. }))
                    || scattering.as_ref().is_some_and(|s| s.dispersive_index().is_some())
            }
            Material::Mix { .. } | Material::Interface => false,
        }
    }
}

/// Directions with |cos θ| up to this value count as tangential: they scatter no light. Such
/// cosines are rounding errors of unit vectors, and divisors could vanish.
pub const GRAZING_COSINE: f32 = 1e-9;
