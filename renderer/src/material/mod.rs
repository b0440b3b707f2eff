//! Materials: what happens to light at a surface.
//!
//! What scatters light is a compiled shader ([`Program`]): a function in WGSL, the scene's own or
//! one of the [`library`], that runs over batches of directions. What reflects or refracts it like
//! a mirror, a delta function that no shader could state, is [`Specular`]. A material may have
//! both, as a varnished wood has.
//!
//! Directions are unit, in the shading frame (normal = +z), and both point away from the surface:
//! `wi` to the light, `wo` to the eye.

pub mod fresnel;
mod instance;
pub mod library;
#[cfg(test)]
mod library_tests;
pub mod parameters;
mod program;
pub mod self_check;
mod specular;

use crate::texture::Param;

pub use instance::{Instance, Setting};
pub use program::{Bound, Program, ProgramError};
pub use specular::{Metal, Specular, SpecularSample};

/// A material of the scene.
#[derive(Clone, Debug)]
pub enum Material {
    /// Parts whose reflection adds up; a surface with none is black.
    Surface {
        /// Delta functions.
        specular: Option<Specular>,
        /// All else.
        scattering: Option<Instance>,
    },
    /// One of two materials at each point that a ray meets, drawn anew each time: pbrt's `mix`.
    Mix {
        /// Indices into the scene's materials.
        materials: [u32; 2],
        /// Chance of the second.
        amount: Param,
    },
}

impl Material {
    /// A material that is a shader alone.
    pub fn scattering(instance: Instance) -> Material {
        Material::Surface { specular: None, scattering: Some(instance) }
    }

    /// A material of delta functions alone.
    pub fn specular(specular: Specular) -> Material {
        Material::Surface { specular: Some(specular), scattering: None }
    }
}

/// Cosines up to this one count as along the surface, where nothing is scattered: smaller ones are
/// rounding errors of unit vectors, and could make a product vanish that is divided by.
pub const GRAZING: f32 = 1e-9;
