//! Materials: what happens to light at a surface.
//!
//! A [`Material`] holds parameters (constants and textures); at a point it yields a [`Bsdf`]. Directions are unit, in the shading
//! frame (normal = +z), and both point away from the surface: `wi` to the light, `wo` to the eye.

use crate::math::{Vec2, Vec3};
use crate::texture::{Lookup, Param};

/// A direction drawn from a BSDF.
#[derive(Clone, Copy, Debug)]
pub struct BsdfSample {
    /// The direction to the light.
    pub wi: Vec3,
    /// f |cos| / pdf; for a delta lobe the weight of the lobe over the probability with which it was picked.
    pub weight: Vec3,
    /// Density per steradian; for a delta lobe 0.
    pub pdf: f32,
    /// Whether the lobe is a delta function, which no other sampler can hit.
    pub delta: bool,
    /// Ratio of refractive indices, of the side of `wi` over that of `wo`; 1 for reflection.
    pub eta: f32,
}

/// Reflection and transmission at one point.
pub trait Bsdf {
    /// Reflected (or transmitted) over incident radiance, 1/sr; no cosine. Delta lobes contribute nothing.
    fn eval(&self, wi: Vec3, wo: Vec3) -> Vec3;

    /// Density per steradian with which [`Bsdf::sample`] draws `wi`; delta lobes contribute nothing.
    fn pdf(&self, wi: Vec3, wo: Vec3) -> f32;

    /// Draws a direction; `lobe` picks among lobes, `u` within. `None` where no light comes from.
    fn sample(&self, lobe: f32, u: Vec2, wo: Vec3) -> Option<BsdfSample>;

    /// Whether all lobes are delta functions, so that light sampling is useless.
    fn is_delta(&self) -> bool;

    /// Colour for denoisers: an estimate of the directional albedo, in [0, 1].
    fn albedo(&self, wo: Vec3) -> Vec3;
}

/// A material of the scene.
#[derive(Clone, Debug)]
pub enum Material {
    /// Lambertian reflection on both sides.
    Diffuse {
        /// Albedo.
        reflectance: Param,
    },
}

impl Material {
    /// The BSDF at a point. For directions below the surface, the implementation flips as its kind demands.
    pub fn bsdf(&self, at: &Lookup) -> AnyBsdf {
        let _ = at;
        todo!("materials")
    }
}

/// One of the BSDFs, dispatched statically.
#[derive(Clone, Copy, Debug)]
pub enum AnyBsdf {}
