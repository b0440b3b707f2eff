//! Textures: values over a surface.
//!
//! A texture is a small tree of nodes. Every node yields linear RGB; a float texture uses the first channel.

use crate::math::{Vec2, Vec3};
use std::sync::Arc;

/// What a texture sees of a point.
#[derive(Clone, Copy, Debug)]
pub struct Lookup {
    /// Position in world space (in the group's space for opacity of instanced primitives).
    pub p: Vec3,
    /// Surface texture coordinates.
    pub uv: Vec2,
}

/// A parameter of a material: a constant or a texture.
#[derive(Clone, Debug)]
pub enum Param {
    /// The same everywhere.
    Constant(Vec3),
    /// Looked up.
    Texture(Arc<Texture>),
}

impl Param {
    /// A constant float.
    pub fn from_float(x: f32) -> Param {
        Param::Constant(Vec3::splat(x))
    }

    /// Value as linear RGB.
    pub fn rgb(&self, at: &Lookup) -> Vec3 {
        match self {
            Param::Constant(c) => *c,
            Param::Texture(t) => t.eval(at),
        }
    }

    /// Value as a float: the first channel.
    pub fn float(&self, at: &Lookup) -> f32 {
        self.rgb(at).x
    }
}

/// A node of a texture.
#[derive(Debug)]
pub enum Texture {
    /// The same everywhere.
    Constant(Vec3),
    /// Product of two.
    Scale(Param, Param),
    /// Linear blend: `(1 − amount) a + amount b`.
    Mix {
        /// Value at amount 0.
        a: Param,
        /// Value at amount 1.
        b: Param,
        /// Weight, a float.
        amount: Param,
    },
}

impl Texture {
    /// Value at a point, linear RGB.
    pub fn eval(&self, at: &Lookup) -> Vec3 {
        match self {
            Texture::Constant(c) => *c,
            Texture::Scale(a, b) => a.rgb(at) * b.rgb(at),
            Texture::Mix { a, b, amount } => a.rgb(at).lerp(b.rgb(at), amount.float(at)),
        }
    }
}
