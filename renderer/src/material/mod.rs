//! Materials: what happens to light at a surface.
//!
//! A [`Material`] holds parameters (constants and textures); at a point it yields a [`Bsdf`]. Directions are unit, in the shading
//! frame (normal = +z), and both point away from the surface: `wi` to the light, `wo` to the eye.
//!
//! Parameters and conventions are pbrt-v4's. Reflectors are alike on both sides; a BSDF works by turning the pair of directions
//! until `wo` is above, through the origin, which maps a lobe that is symmetric about x and y onto itself.

mod conductor;
mod dielectric;
mod diffuse;
pub mod fresnel;
#[cfg(test)]
mod library_tests;
pub mod microfacet;
#[cfg(test)]
mod tests;
mod thin_dielectric;

use crate::math::{Vec2, Vec3, vec2};
use crate::texture::{Lookup, Param};

pub use conductor::Conductor;
pub use dielectric::Dielectric;
pub use diffuse::Diffuse;
pub use thin_dielectric::ThinDielectric;

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
        /// Albedo, limited to [0, 1].
        reflectance: Param,
    },
    /// A metal, on both sides.
    Conductor {
        /// What it is made of.
        metal: Metal,
        /// How it is polished.
        roughness: Roughness,
    },
    /// An interface that reflects and refracts.
    Dielectric {
        /// Index of refraction of the side below (inside) over that above.
        eta: f32,
        /// How it is polished.
        roughness: Roughness,
    },
    /// A pane too thin to shift what is seen through it.
    ThinDielectric {
        /// Index of refraction of the pane over that of its surroundings.
        eta: f32,
    },
}

/// The Fresnel reflectance of a metal.
#[derive(Clone, Debug)]
pub enum Metal {
    /// By its index of refraction η − i k, one for each of red, green and blue.
    Index {
        /// Real part.
        eta: Param,
        /// Absorption.
        k: Param,
    },
    /// By its reflectance at normal incidence, limited to [0, 0.9999].
    Reflectance(Param),
}

/// Roughness along the two tangents.
#[derive(Clone, Debug)]
pub struct Roughness {
    /// Along ∂p/∂u, the x axis of the shading frame.
    pub u: Param,
    /// Across it.
    pub v: Param,
    /// Whether the microfacets' α is the square root of the value (pbrt's `remaproughness`), else the value itself.
    pub remap: bool,
}

impl Roughness {
    /// A mirror: the default of pbrt's materials.
    pub fn smooth() -> Roughness {
        Roughness::isotropic(Param::from_float(0.0))
    }

    /// The same in all directions, α being the square root of the value.
    pub fn isotropic(roughness: Param) -> Roughness {
        Roughness { u: roughness.clone(), v: roughness, remap: true }
    }

    /// The α of the microfacets along x and y.
    fn alpha(&self, at: &Lookup) -> Vec2 {
        let raw = vec2(self.u.float(at), self.v.float(at));
        if self.remap { vec2(raw.x.max(0.0).sqrt(), raw.y.max(0.0).sqrt()) } else { raw }
    }
}

impl Material {
    /// A diffuse material of one colour.
    pub fn diffuse(reflectance: Vec3) -> Material {
        Material::Diffuse { reflectance: Param::Constant(reflectance) }
    }

    /// The BSDF at a point.
    #[inline]
    pub fn bsdf(&self, at: &Lookup) -> AnyBsdf {
        match self {
            Material::Diffuse { reflectance } => AnyBsdf::Diffuse(Diffuse::new(reflectance.rgb(at))),
            Material::Conductor { metal, roughness } => {
                let alpha = roughness.alpha(at);
                AnyBsdf::Conductor(match metal {
                    Metal::Index { eta, k } => Conductor::new(eta.rgb(at), k.rgb(at), alpha),
                    Metal::Reflectance(r) => Conductor::from_reflectance(r.rgb(at), alpha),
                })
            }
            Material::Dielectric { eta, roughness } => AnyBsdf::Dielectric(Dielectric::new(*eta, roughness.alpha(at))),
            Material::ThinDielectric { eta } => AnyBsdf::ThinDielectric(ThinDielectric::new(*eta)),
        }
    }
}

/// One of the BSDFs, dispatched statically.
#[derive(Clone, Copy, Debug)]
pub enum AnyBsdf {
    /// Lambertian reflection.
    Diffuse(Diffuse),
    /// A metal.
    Conductor(Conductor),
    /// An interface that reflects and refracts.
    Dielectric(Dielectric),
    /// A thin pane.
    ThinDielectric(ThinDielectric),
}

/// Calls a method of whichever BSDF it is.
macro_rules! dispatch {
    ($any:expr, $bsdf:ident => $call:expr) => {
        match $any {
            AnyBsdf::Diffuse($bsdf) => $call,
            AnyBsdf::Conductor($bsdf) => $call,
            AnyBsdf::Dielectric($bsdf) => $call,
            AnyBsdf::ThinDielectric($bsdf) => $call,
        }
    };
}

impl Bsdf for AnyBsdf {
    #[inline]
    fn eval(&self, wi: Vec3, wo: Vec3) -> Vec3 {
        dispatch!(self, b => b.eval(wi, wo))
    }

    #[inline]
    fn pdf(&self, wi: Vec3, wo: Vec3) -> f32 {
        dispatch!(self, b => b.pdf(wi, wo))
    }

    #[inline]
    fn sample(&self, lobe: f32, u: Vec2, wo: Vec3) -> Option<BsdfSample> {
        dispatch!(self, b => b.sample(lobe, u, wo))
    }

    #[inline]
    fn is_delta(&self) -> bool {
        dispatch!(self, b => b.is_delta())
    }

    #[inline]
    fn albedo(&self, wo: Vec3) -> Vec3 {
        dispatch!(self, b => b.albedo(wo))
    }
}

/// Cosines up to this one count as along the surface, where nothing is scattered: smaller ones are rounding errors of unit
/// vectors, and could make a product vanish that is divided by.
const GRAZING: f32 = 1e-9;

/// `wo` mirrored at the unit vector `m`.
#[inline]
fn reflect(wo: Vec3, m: Vec3) -> Vec3 {
    2.0 * wo.dot(m) * m - wo
}
