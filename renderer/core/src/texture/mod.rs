//! Textures: values over a surface.
//!
//! A texture is a small expression tree. Every node yields linear RGB. A float texture has the same
//! value in all three channels, and the first is used. Nodes and their defaults follow pbrt-v4.
//! Only images with a trilinear or elliptical filter are averaged over the footprint of a pixel;
//! for others, pixels are supersampled instead.

mod bilerp;
pub(crate) mod bounds;
mod checkerboard;
mod dots;
mod extent;
mod filtered;
mod footprint;
mod imagemap;
mod mapping;
pub(crate) mod noise;
pub(crate) mod noise_bounds;
mod normal;
mod pyramid;
pub mod shader_texture;
mod solid;
mod texels;

use crate::geometry::{AttributeId, AttributePoint, AttributeSet};
use lightbound_math::{Vec2, Vec3};
use std::sync::Arc;

pub use bilerp::Bilerp;
pub use bounds::{ParamBounds, VolumeTextureError};
pub use checkerboard::{Checkerboard, CheckerboardDomain};
pub use dots::Dots;
pub use extent::Extents;
pub use footprint::Footprint;
pub use imagemap::{ImageMap, ImageMapValue, TextureFilter};
pub use mapping::Mapping;
pub use normal::TangentFrame;
pub use pyramid::Pyramid;
pub use solid::{Octaves, Solid, SolidPattern};
pub(crate) use texels::Texels;
pub use texels::WrapMode;

/// The arguments of a texture lookup.
#[derive(Clone, Copy, Debug)]
pub struct Lookup<'a> {
    /// Position in render space. For the opacity of instanced primitives, the group's space takes
    /// the place of world space.
    pub p: Vec3,
    /// Geometric normal, unit, of either orientation, in the space of `p`.
    pub n: Vec3,
    /// Surface texture coordinates.
    pub uv: Vec2,
    /// Footprint of a pixel; [`Footprint::POINT`] if no texture needs it.
    pub footprint: Footprint,
    /// Attributes of vertices; `None` without any, or if no texture needs them.
    pub attributes: Option<AttributePoint<'a>>,
    /// The axes of normal maps; `None` if they are the shading frame, or if no texture needs them.
    pub tangent_frame: Option<TangentFrame>,
}

impl Lookup<'_> {
    /// Creates the arguments of a lookup without a footprint, attributes and a tangent frame.
    pub const fn at_point(p: Vec3, n: Vec3, uv: Vec2) -> Self {
        let footprint = Footprint::POINT;
        Lookup { p, n, uv, footprint, attributes: None, tangent_frame: None }
    }

    /// Returns the lookup displaced by steps of the position and the texture coordinates.
    pub(crate) fn moved(&self, dp: Vec3, duv: Vec2) -> Self {
        let attributes = self.attributes.map(|attributes| attributes.moved(duv));
        Lookup { p: self.p + dp, uv: self.uv + duv, attributes, ..*self }
    }
}

#[cfg(test)]
impl Lookup<'_> {
    /// A lookup at the origin of the surface, which faces +z.
    pub(crate) const ORIGIN: Self = Lookup::at_point(Vec3::ZERO, Vec3::Z, Vec2::ZERO);
}

/// What lookups need besides position, normal and texture coordinates of the surface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LookupNeeds {
    /// Whether values depend on the footprint of a pixel.
    pub footprint: bool,
    /// The attributes of vertices on which values depend.
    pub attributes: AttributeSet,
    /// Those of them that have no default.
    pub required: AttributeSet,
    /// Whether values are normals, which depend on tangents.
    pub tangent_frame: bool,
}

impl LookupNeeds {
    /// Nothing.
    pub const NONE: LookupNeeds = LookupNeeds {
        footprint: false,
        attributes: AttributeSet::EMPTY,
        required: AttributeSet::EMPTY,
        tangent_frame: false,
    };

    /// Returns whether lookups need nothing else.
    #[inline]
    pub fn is_none(self) -> bool {
        self == LookupNeeds::NONE
    }

    /// Returns the same for lookups at a point, without a footprint.
    pub fn at_point(self) -> LookupNeeds {
        LookupNeeds { footprint: false, ..self }
    }

    /// Returns the needs of several lookups.
    pub fn union(self, other: LookupNeeds) -> LookupNeeds {
        LookupNeeds {
            footprint: self.footprint || other.footprint,
            attributes: self.attributes.union(other.attributes),
            required: self.required.union(other.required),
            tangent_frame: self.tangent_frame || other.tangent_frame,
        }
    }
}

/// A parameter of a material: a constant or a texture.
#[derive(Clone, Debug)]
pub enum Param {
    /// A constant value.
    Constant(Vec3),
    /// A texture lookup.
    Texture(Arc<Texture>),
}

impl Param {
    /// Creates a constant float.
    pub fn from_float(x: f32) -> Param {
        Param::Constant(Vec3::splat(x))
    }

    /// Applies a function to the value.
    pub fn map(self, f: impl Fn(Vec3) -> Vec3 + Send + Sync + 'static) -> Param {
        match self {
            Param::Constant(c) => Param::Constant(f(c)),
            Param::Texture(_) => Param::Texture(Arc::new(Texture::map(self, f))),
        }
    }

    /// Evaluates the parameter as linear RGB.
    pub fn rgb(&self, lookup: &Lookup) -> Vec3 {
        match self {
            Param::Constant(c) => *c,
            Param::Texture(t) => t.eval(lookup),
        }
    }

    /// Returns what lookups of the value need.
    pub fn needs(&self) -> LookupNeeds {
        match self {
            Param::Constant(_) => LookupNeeds::NONE,
            Param::Texture(texture) => texture.needs(),
        }
    }

    /// Evaluates the parameter as a float: the first channel.
    pub fn float(&self, lookup: &Lookup) -> f32 {
        self.rgb(lookup).x
    }
}

/// A function of colours.
pub struct ColorFunction(Box<dyn Fn(Vec3) -> Vec3 + Send + Sync>);

impl std::fmt::Debug for ColorFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ColorFunction")
    }
}

/// A node of a texture's expression tree.
#[derive(Debug)]
pub enum Texture {
    /// A constant value.
    Constant(Vec3),
    /// An image.
    Image(ImageMap),
    /// A checkerboard.
    Checkerboard(Checkerboard),
    /// Dots at random positions.
    Dots(Dots),
    /// Bilinear interpolation between corners.
    Bilerp(Bilerp),
    /// Noise.
    Solid(Solid),
    /// An attribute of the vertices of meshes.
    Attribute {
        /// The attribute.
        id: AttributeId,
        /// Value on shapes without the attribute.
        default: Vec3,
        /// Whether shapes should have the attribute.
        is_required: bool,
    },
    /// A normal n in the frame of tangent, bitangent and normal of the surface, stored as
    /// (n + 1) / 2. The value is a unit vector in the shading frame of the material.
    Normal(Param),
    /// Product of two parameters; zero if the second is zero, even if the first is infinite.
    Scale(Param, Param),
    /// A function of a parameter.
    Map(Param, ColorFunction),
    /// Linear blend: `(1 − amount) a + amount b`.
    Mix {
        /// Value at amount 0.
        a: Param,
        /// Value at amount 1.
        b: Param,
        /// Weight, a float.
        amount: Param,
    },
    /// Blend by orientation: `|n·direction| a + (1 − |n·direction|) b`, with the geometric normal.
    DirectionMix {
        /// Value where the surface faces along the direction; pbrt's `tex1`.
        a: Param,
        /// Value where the surface is parallel to the direction; pbrt's `tex2`.
        b: Param,
        /// Direction in render space, unit.
        direction: Vec3,
    },
}

impl Texture {
    /// Creates a function of a parameter.
    pub fn map(value: Param, f: impl Fn(Vec3) -> Vec3 + Send + Sync + 'static) -> Texture {
        Texture::Map(value, ColorFunction(Box::new(f)))
    }

    /// Returns what lookups need.
    fn needs(&self) -> LookupNeeds {
        let required =
            |attributes| LookupNeeds { attributes, required: attributes, ..LookupNeeds::NONE };
        match self {
            Texture::Constant(_) | Texture::Solid(_) => LookupNeeds::NONE,
            Texture::Attribute { id, is_required, .. } => match is_required {
                false => LookupNeeds { attributes: AttributeSet::of(*id), ..LookupNeeds::NONE },
                true => required(AttributeSet::of(*id)),
            },
            Texture::Bilerp(bilerp) => required(bilerp.mapping.attributes()),
            Texture::Image(map) => LookupNeeds {
                footprint: map.filter.needs_footprint(),
                ..required(map.mapping.attributes())
            },
            Texture::Checkerboard(Checkerboard { domain, even, odd }) => {
                let of_domain = match domain {
                    CheckerboardDomain::Flat(mapping) => mapping.attributes(),
                    CheckerboardDomain::Solid(_) => AttributeSet::EMPTY,
                };
                required(of_domain).union(even.needs()).union(odd.needs())
            }
            Texture::Dots(Dots { mapping, inside, outside }) => {
                required(mapping.attributes()).union(inside.needs()).union(outside.needs())
            }
            Texture::Scale(a, b) | Texture::DirectionMix { a, b, .. } => a.needs().union(b.needs()),
            Texture::Map(value, _) => value.needs(),
            Texture::Normal(encoded) => {
                LookupNeeds { tangent_frame: true, ..LookupNeeds::NONE }.union(encoded.needs())
            }
            Texture::Mix { a, b, amount } => a.needs().union(b.needs()).union(amount.needs()),
        }
    }

    /// Evaluates the texture as linear RGB.
    pub fn eval(&self, lookup: &Lookup) -> Vec3 {
        match self {
            Texture::Constant(c) => *c,
            Texture::Image(map) => map.eval(lookup),
            Texture::Checkerboard(board) => board.eval(lookup),
            Texture::Dots(dots) => dots.eval(lookup),
            Texture::Bilerp(bilerp) => bilerp.eval(lookup),
            Texture::Solid(solid) => solid.eval(lookup),
            Texture::Attribute { id, default, .. } => {
                lookup.attributes.and_then(|at| at.value(*id)).unwrap_or(*default)
            }
            Texture::Normal(encoded) => normal::decode(encoded.rgb(lookup), lookup.tangent_frame),
            Texture::Scale(a, b) => match b.rgb(lookup) {
                Vec3::ZERO => Vec3::ZERO,
                factor => a.rgb(lookup) * factor,
            },
            Texture::Map(value, ColorFunction(f)) => f(value.rgb(lookup)),
            Texture::Mix { a, b, amount } => mix(a, b, amount.float(lookup), lookup),
            Texture::DirectionMix { a, b, direction } => {
                mix(b, a, lookup.n.dot(*direction).abs(), lookup)
            }
        }
    }
}

/// Blends linearly. A parameter of weight 0 is not evaluated.
fn mix(a: &Param, b: &Param, amount: f32, lookup: &Lookup) -> Vec3 {
    match amount {
        0.0 => a.rgb(lookup),
        1.0 => b.rgb(lookup),
        amount => a.rgb(lookup) * (1.0 - amount) + b.rgb(lookup) * amount,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn param(t: Texture) -> Param {
        Param::Texture(Arc::new(t))
    }

    #[test]
    fn expression_trees_are_evaluated() {
        let at = Lookup { uv: Vec2::new(0.25, 1.5), ..Lookup::ORIGIN };
        let board = param(Texture::Checkerboard(Checkerboard {
            domain: CheckerboardDomain::Flat(Mapping::UV),
            even: Param::from_float(8.0),
            odd: Param::Constant(Vec3::new(1.0, 2.0, 4.0)),
        }));
        let scaled = param(Texture::Scale(board.clone(), Param::from_float(0.5)));
        assert_eq!(scaled.rgb(&at), Vec3::new(0.5, 1.0, 2.0));
        let mix = |amount| {
            Texture::Mix { a: board.clone(), b: scaled.clone(), amount: Param::from_float(amount) }
                .eval(&at)
        };
        assert_eq!([mix(0.0).z, mix(0.25).z, mix(1.0).z], [4.0, 3.5, 2.0]);
        let infinite = param(Texture::Constant(Vec3::INFINITY));
        assert_eq!(Texture::Scale(infinite.clone(), Param::from_float(0.0)).eval(&at), Vec3::ZERO);
        assert_eq!(
            Texture::Mix { a: board.clone(), b: infinite, amount: Param::from_float(0.0) }
                .eval(&at),
            board.rgb(&at)
        );
        assert_eq!(board.float(&at), 1.0);
    }
    #[test]
    fn textures_need_the_attributes_of_their_parts() {
        let id = |index| AttributeId::new(index).unwrap();
        let attribute = |index| {
            let (default, is_required) = (Vec3::ONE, true);
            param(Texture::Attribute { id: id(index), default, is_required })
        };
        let mapping = Mapping::Attribute { id: id(3), scale: Vec2::splat(2.0), offset: Vec2::ONE };
        let dots =
            param(Texture::Dots(Dots { mapping, inside: attribute(1), outside: attribute(2) }));
        let product = param(Texture::Scale(attribute(0), dots));
        let set = [0, 1, 2, 3].map(id).map(AttributeSet::of);
        let attributes = set.into_iter().fold(AttributeSet::EMPTY, AttributeSet::union);
        let needs = LookupNeeds { attributes, required: attributes, ..LookupNeeds::NONE };
        assert_eq!(product.needs(), needs);
        let optional = Texture::Attribute { id: id(1), default: Vec3::Y, is_required: false };
        let attributes = AttributeSet::of(id(1));
        assert_eq!(optional.needs(), LookupNeeds { attributes, ..LookupNeeds::NONE });
        assert_eq!(Param::from_float(1.0).needs(), LookupNeeds::NONE);
        let filtered = LookupNeeds { footprint: true, ..needs };
        assert_eq!(filtered.at_point(), product.needs());
        assert!(!filtered.union(LookupNeeds::NONE).is_none());
        // Without a mesh, attributes have their default, and mappings take the surface's u and v.
        let at = Lookup { uv: Vec2::new(0.25, 0.5), ..Lookup::ORIGIN };
        assert_eq!([attribute(0).rgb(&at), optional.eval(&at)], [Vec3::ONE, Vec3::Y]);
        assert_eq!(mapping.st(&at), Vec2::new(1.5, 2.0));
        let footprint = Footprint { duv: [Vec2::X, Vec2::Y], ..Footprint::POINT };
        let steps = mapping.steps(&Lookup { footprint, ..at });
        assert_eq!(steps, [2.0 * Vec2::X, 2.0 * Vec2::Y]);
        assert_eq!(Extents::default().of(&product), [Vec3::NEG_INFINITY, Vec3::INFINITY]);
    }

    #[test]
    fn direction_mix_depends_on_the_angle_between_normal_and_direction() {
        let texture = Texture::DirectionMix {
            a: Param::from_float(3.0),
            b: Param::from_float(5.0),
            direction: Vec3::X,
        };
        let at = |n: Vec3| texture.eval(&Lookup { n, ..Lookup::ORIGIN }).x;
        assert_eq!([at(Vec3::X), at(-Vec3::X), at(Vec3::Z)], [3.0, 3.0, 5.0]);
        assert_eq!(at(Vec3::new(-0.75, 0.6, 0.0)), 3.5);
    }
}
