//! Bounds on textures over boxes, for the parameters of media.
//!
//! A point of a volume has a position, but neither texture coordinates nor a normal. So textures in
//! media are functions of the position: images need a planar, spherical or cylindrical mapping.
//!
//! Bounds contain the floats that [`Param::rgb`] returns, without tolerance. Rounding is monotone, so
//! that operations at the endpoints of ranges bound the rounded operations in between.

use super::checkerboard::is_odd;
use super::noise::{LACUNARITY, MEAN_MAGNITUDE};
use super::noise_bounds::noise_range;
use super::shader_texture::{self, TextureSizeError};
use super::solid::MARBLE_RANGE;
use super::{
    Bilerp, Checkerboard, CheckerboardDomain, Dots, ImageMap, Lookup, Mapping, Octaves, Param,
    Solid, SolidPattern, Texture, TextureFilter, WrapMode,
};
use lightbound_math::{Aabb, Transform, Vec2, Vec3};
use lightbound_shader::texture as shader;
use std::sync::Arc;

/// A texture cannot be used in a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VolumeTextureError {
    /// A texture needs the texture coordinates of a surface.
    #[error("needs texture coordinates of a surface")]
    Uv,
    /// A texture needs the vertices of a mesh.
    #[error("needs attributes of the vertices of a mesh")]
    Attribute,
    /// A texture needs the normal of a surface.
    #[error("needs the normal of a surface")]
    Normal,
    /// The values are those of a function that is not known.
    #[error("has no bounds")]
    Unbounded,
    /// An image is too large.
    #[error("{0}")]
    TooLarge(TextureSizeError),
}

impl VolumeTextureError {
    /// Advice for the user.
    pub fn remedy(&self) -> String {
        match self {
            VolumeTextureError::Uv => "a point of a medium has none: give the texture \
                 \"string mapping\" \"planar\", \"spherical\" or \"cylindrical\""
                .into(),
            VolumeTextureError::Attribute => {
                "a point of a medium has none: use an \"imagemap\" with \"string mapping\" \
                 \"planar\", or noise"
                    .into()
            }
            VolumeTextureError::Normal => {
                "a point of a medium has none: replace \"directionmix\" by \"mix\"".into()
            }
            VolumeTextureError::Unbounded => "use another texture".into(),
            VolumeTextureError::TooLarge(error) => error.remedy(),
        }
    }
}

/// Bounds on the values of a parameter in a volume.
#[derive(Debug)]
pub struct ParamBounds(Node);

/// A node of a texture's expression tree, with what its bounds need.
#[derive(Debug)]
enum Node {
    Constant(Vec3),
    /// With the texels, neither scaled nor inverted, and a pyramid of their minima and maxima.
    Image(ImageMap, Arc<shader::Texture>),
    Checkerboard(CheckerboardDomain, Box<[Node; 2]>),
    /// One of two values.
    Either(Box<[Node; 2]>),
    Bilerp(Bilerp),
    Solid(Solid),
    Scale(Box<[Node; 2]>),
    /// The values at amounts 0 and 1, and the amount.
    Mix(Box<[Node; 3]>),
}

/// A range that contains all values, and NaN.
const UNKNOWN: [f32; 2] = [f32::NEG_INFINITY, f32::INFINITY];

/// The same for colours.
pub(super) const UNKNOWN_COLOUR: [Vec3; 2] = [Vec3::NEG_INFINITY, Vec3::INFINITY];

impl ParamBounds {
    /// Prepares the bounds of a parameter.
    ///
    /// # Errors
    /// If the parameter is not a function of the position, or has no bounds.
    pub fn new(param: &Param) -> Result<ParamBounds, VolumeTextureError> {
        Node::new(param).map(ParamBounds)
    }

    /// Returns the least and greatest value of each channel in a box of render space, which may be
    /// too small and too large. If a value may be NaN, the range is infinite on both sides.
    pub fn range(&self, b: Aabb) -> [Vec3; 2] {
        self.0.range(b)
    }

    /// Returns the arguments of a lookup at a point of a volume.
    pub fn lookup(p: Vec3) -> Lookup<'static> {
        Lookup::at_point(p, Vec3::Z, Vec2::ZERO)
    }
}

impl Node {
    fn new(param: &Param) -> Result<Node, VolumeTextureError> {
        let texture = match param {
            Param::Constant(value) => return Ok(Node::Constant(*value)),
            Param::Texture(texture) => &**texture,
        };
        let has_position = |mapping: &Mapping| match mapping {
            Mapping::Uv { .. } | Mapping::Attribute { .. } => Err(VolumeTextureError::Uv),
            Mapping::Planar { .. } | Mapping::Spherical(_) | Mapping::Cylindrical(_) => Ok(()),
        };
        let pair = |a: &Param, b: &Param| Ok(Box::new([Node::new(a)?, Node::new(b)?]));
        Ok(match texture {
            Texture::Constant(value) => Node::Constant(*value),
            Texture::Image(map) => {
                has_position(&map.mapping)?;
                shader_texture::check_size(&map.image).map_err(VolumeTextureError::TooLarge)?;
                let texels = shader_texture::pack(&map.image, map.value, false, |value| value);
                Node::Image(map.clone(), Arc::new(texels))
            }
            Texture::Checkerboard(Checkerboard { domain, even, odd }) => {
                if let CheckerboardDomain::Flat(mapping) = domain {
                    has_position(mapping)?;
                }
                Node::Checkerboard(domain.clone(), pair(even, odd)?)
            }
            Texture::Dots(Dots { mapping, inside, outside }) => {
                has_position(mapping)?;
                Node::Either(pair(inside, outside)?)
            }
            Texture::Bilerp(bilerp) => {
                has_position(&bilerp.mapping)?;
                Node::Bilerp(bilerp.clone())
            }
            Texture::Solid(solid) => Node::Solid(solid.clone()),
            Texture::Scale(a, b) => Node::Scale(pair(a, b)?),
            Texture::Mix { a, b, amount } => {
                Node::Mix(Box::new([Node::new(a)?, Node::new(b)?, Node::new(amount)?]))
            }
            Texture::Attribute { .. } => return Err(VolumeTextureError::Attribute),
            Texture::DirectionMix { .. } | Texture::Normal(_) => {
                return Err(VolumeTextureError::Normal);
            }
            Texture::Map(..) => return Err(VolumeTextureError::Unbounded),
        })
    }

    fn range(&self, b: Aabb) -> [Vec3; 2] {
        match self {
            Node::Constant(value) if value.is_nan() => UNKNOWN_COLOUR,
            Node::Constant(value) => [*value; 2],
            Node::Image(map, texels) => image_range(map, texels, b),
            Node::Checkerboard(domain, values) => match parity(domain, b) {
                Some(is_odd) => values[usize::from(is_odd)].range(b),
                None => union(values[0].range(b), values[1].range(b)),
            },
            Node::Either(values) => union(values[0].range(b), values[1].range(b)),
            Node::Bilerp(bilerp) => bilerp_range(bilerp, b),
            Node::Solid(solid) => solid_range(solid, b),
            Node::Scale(values) => {
                let (a, factor) = (values[0].range(b), values[1].range(b));
                channels(|k| product(channel(a, k), channel(factor, k)))
            }
            Node::Mix(values) => {
                let (a, b, amount) = (values[0].range(b), values[1].range(b), values[2].range(b));
                channels(|k| mix_range(channel(a, k), channel(b, k), channel(amount, 0)))
            }
        }
    }
}

/// Bounds an image. The texels that coordinates reach are those of lookups in shaders; filters with
/// a footprint interpolate bilinearly at points. With a wrap mode that shaders do not have, these
/// are all texels.
fn image_range(map: &ImageMap, texels: &shader::Texture, b: Aabb) -> [Vec3; 2] {
    let [mut lo, mut hi] = map.mapping.range(b);
    let wrap = match map.wrap {
        WrapMode::Repeat => shader::Wrap::Repeat,
        WrapMode::Black => shader::Wrap::Black,
        WrapMode::Clamp => shader::Wrap::Clamp,
        WrapMode::OctahedralSphere => shader::Wrap::Octahedral,
        WrapMode::ClampU | WrapMode::ClampV => {
            (lo, hi) = (Vec2::ZERO, Vec2::ONE);
            shader::Wrap::Repeat
        }
    };
    let filter = match map.filter {
        TextureFilter::Point => shader::Filter::Point,
        TextureFilter::Bilinear
        | TextureFilter::Trilinear(_)
        | TextureFilter::Elliptical { .. } => shader::Filter::Bilinear,
    };
    let sampler = shader::SamplerState { wrap, filter };
    let range = channels(|k| texels.range(sampler, k as u32, [lo.x, hi.x], [lo.y, hi.y]));
    let scaled = range.map(|value| map.scale * value);
    if scaled.iter().any(|value| value.is_nan()) {
        return UNKNOWN_COLOUR;
    }
    let ends = range.map(|value| map.scale_and_invert(value));
    [ends[0].min(ends[1]), ends[0].max(ends[1])]
}

/// Returns a box with all points of a transformed box, as the transform rounds them; `None` unless
/// they are finite. Each coordinate is a sum of monotone functions of the others.
pub(crate) fn transformed(transform: &Transform, b: Aabb) -> Option<Aabb> {
    let corners = b.corners().map(|p| transform.point(p));
    corners.iter().all(|p| p.is_finite()).then(|| Aabb::around(corners))
}

/// Returns whether all points of a box are in odd cells; `None` if they may differ.
fn parity(domain: &CheckerboardDomain, b: Aabb) -> Option<bool> {
    match domain {
        CheckerboardDomain::Flat(mapping) => flat_parity(mapping.range(b)),
        CheckerboardDomain::Solid(texture_from_render) => {
            let Aabb { min, max } = transformed(texture_from_render, b)?;
            Some(
                parity_along(min.x, max.x)?
                    ^ parity_along(min.y, max.y)?
                    ^ parity_along(min.z, max.z)?,
            )
        }
    }
}

/// Returns whether all texture coordinates in a box are in odd cells; `None` if they may differ.
pub(super) fn flat_parity([lo, hi]: [Vec2; 2]) -> Option<bool> {
    Some(parity_along(lo.x, hi.x)? ^ parity_along(lo.y, hi.y)?)
}

fn parity_along(lo: f32, hi: f32) -> Option<bool> {
    (lo.floor() == hi.floor()).then(|| is_odd(lo))
}

fn bilerp_range(Bilerp { mapping, corners }: &Bilerp, b: Aabb) -> [Vec3; 2] {
    let [lo, hi] = mapping.range(b);
    let [s, t] = [[lo.x, hi.x], [lo.y, hi.y]];
    let [rest_s, rest_t] = [s, t].map(complement);
    let weights = [(rest_s, rest_t), (s, rest_t), (rest_s, t), (s, t)].map(|(a, b)| product(a, b));
    let [v00, v01, v10, v11] = *corners;
    channels(|k| {
        let terms = std::iter::zip(weights, [v00, v10, v01, v11]);
        terms.map(|(weight, value)| product(weight, [value[k]; 2])).reduce(sum).unwrap_or(UNKNOWN)
    })
}

fn solid_range(solid: &Solid, b: Aabb) -> [Vec3; 2] {
    let Some(b) = transformed(&solid.texture_from_render, b) else { return UNKNOWN_COLOUR };
    let [lo, hi] = match solid.pattern {
        SolidPattern::Fbm(octaves) => fbm_range(b, octaves),
        SolidPattern::Wrinkled(octaves) => turbulence_range(b, octaves),
        SolidPattern::Windy => {
            let slow = fbm_range(scaled(b, 0.1), Octaves { count: 3, roughness: 0.5 });
            product(magnitude(slow), fbm_range(b, Octaves { count: 6, roughness: 0.5 }))
        }
        SolidPattern::Marble { octaves, scale, variation } => {
            // The phase is finite, unless the noise is not.
            let b = scaled(b, scale);
            let phase = sum([b.min.y, b.max.y], product([variation; 2], fbm_range(b, octaves)));
            let is_finite = phase.iter().all(|x| x.is_finite());
            return if is_finite { MARBLE_RANGE } else { UNKNOWN_COLOUR };
        }
    };
    [Vec3::splat(lo), Vec3::splat(hi)]
}

/// Bounds [`fbm`](super::noise::fbm).
fn fbm_range(b: Aabb, octaves: Octaves) -> [f32; 2] {
    octaves_range(b, octaves, |noise| noise).0
}

/// Bounds [`turbulence`](super::noise::turbulence).
fn turbulence_range(b: Aabb, octaves: Octaves) -> [f32; 2] {
    let (total, next) = octaves_range(b, octaves, magnitude);
    sum(total, [next * MEAN_MAGNITUDE; 2])
}

/// Bounds the sum of a function of noise over octaves. Returns also the amplitude of the octave that
/// follows.
fn octaves_range(
    b: Aabb,
    Octaves { count, roughness }: Octaves,
    f: impl Fn([f32; 2]) -> [f32; 2],
) -> ([f32; 2], f32) {
    let (mut total, mut frequency, mut amplitude) = ([0.0; 2], 1.0, 1.0);
    for _ in 0..count {
        let noise = f(bounded_noise(scaled(b, frequency)));
        total = sum(total, product([amplitude; 2], noise));
        frequency *= LACUNARITY;
        amplitude *= roughness;
    }
    (total, amplitude)
}

/// Bounds noise; unknown unless the box is finite.
fn bounded_noise(b: Aabb) -> [f32; 2] {
    if b.min.is_finite() && b.max.is_finite() { noise_range(b) } else { UNKNOWN }
}

fn scaled(b: Aabb, factor: f32) -> Aabb {
    let (p, q) = (factor * b.min, factor * b.max);
    Aabb { min: p.min(q), max: p.max(q) }
}

fn magnitude([lo, hi]: [f32; 2]) -> [f32; 2] {
    [lo.max(-hi).max(0.0), hi.max(-lo)]
}

fn complement([lo, hi]: [f32; 2]) -> [f32; 2] {
    known([1.0 - hi, 1.0 - lo])
}

fn sum(a: [f32; 2], b: [f32; 2]) -> [f32; 2] {
    known([a[0] + b[0], a[1] + b[1]])
}

/// Bounds a product. Where a factor may be 0 and the other infinite, one of the products of
/// endpoints is NaN, or they are infinite on both sides.
pub(super) fn product(a: [f32; 2], b: [f32; 2]) -> [f32; 2] {
    let products = [a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]];
    if products.iter().any(|x| x.is_nan()) {
        return UNKNOWN;
    }
    let [p, q, r, s] = products;
    [p.min(q).min(r).min(s), p.max(q).max(r).max(s)]
}

/// Bounds a linear blend: within the operands for amounts from 0 to 1, up to rounding.
pub(super) fn mix_range(a: [f32; 2], b: [f32; 2], amount: [f32; 2]) -> [f32; 2] {
    if amount == [0.0; 2] {
        return a;
    }
    if amount == [1.0; 2] {
        return b;
    }
    // Parameters of weight 0 are not evaluated, but they are still within the bounds.
    let [lo, hi] = sum(product(a, complement(amount)), product(b, amount));
    let [min, max] = [a[0].min(b[0]), a[1].max(b[1])];
    if amount[0] >= 0.0 && amount[1] <= 1.0 && min.is_finite() && max.is_finite() {
        // Four operations round by up to 2⁻²⁴ of the greatest magnitude each.
        let error = min.abs().max(max.abs()) * (1.0 / 2_097_152.0) + f32::MIN_POSITIVE;
        return [lo.max(min - error), hi.min(max + error)];
    }
    [lo, hi]
}

/// Returns the range, unless an endpoint is NaN.
fn known(range: [f32; 2]) -> [f32; 2] {
    if range.iter().any(|x| x.is_nan()) { UNKNOWN } else { range }
}

pub(super) fn channel([lo, hi]: [Vec3; 2], k: usize) -> [f32; 2] {
    [lo[k], hi[k]]
}

pub(super) fn channels(f: impl Fn(usize) -> [f32; 2]) -> [Vec3; 2] {
    let ranges = [0, 1, 2].map(f);
    [0, 1].map(|end| Vec3::from_array(ranges.map(|range| range[end])))
}

pub(super) fn union(a: [Vec3; 2], b: [Vec3; 2]) -> [Vec3; 2] {
    [a[0].min(b[0]), a[1].max(b[1])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texture::ImageMapValue;
    use glam::{DAffine3, DVec3};
    use lightbound_image::{Channels, Image};
    use lightbound_math::sampling::{hash, unit_float};
    use proptest::prelude::*;

    /// Builds a texture from random numbers, of all kinds that have bounds.
    fn texture(kind: u32, numbers: &mut dyn FnMut() -> f32, depth: u32) -> Param {
        let transform = |numbers: &mut dyn FnMut() -> f32| {
            let scale = f64::from(0.2 + 2.0 * numbers().abs());
            let shift = DVec3::from_array([0; 3].map(|_| f64::from(numbers())));
            let turn = DAffine3::from_rotation_x(f64::from(numbers().floor()));
            let map = DAffine3::from_translation(shift) * turn;
            Transform::new(map * DAffine3::from_scale(DVec3::splat(scale))).unwrap()
        };
        let vector = |numbers: &mut dyn FnMut() -> f32| Vec3::from_array([0; 3].map(|_| numbers()));
        let mapping = |numbers: &mut dyn FnMut() -> f32| match (2.0 * numbers()) as i32 {
            0 => Mapping::Spherical(transform(numbers)),
            1 => Mapping::Cylindrical(transform(numbers)),
            _ => Mapping::Planar {
                texture_from_render: transform(numbers),
                s: vector(numbers),
                t: vector(numbers),
                offset: Vec2::new(numbers(), numbers()),
            },
        };
        let octaves = |numbers: &mut dyn FnMut() -> f32| Octaves {
            count: (1.0 + 2.0 * numbers().abs()) as u32,
            roughness: 0.3 * numbers(),
        };
        let kind = if depth == 0 { kind % 7 } else { kind % 11 };
        let child = |numbers: &mut dyn FnMut() -> f32| {
            let kind = (7.0 * numbers().abs()) as u32;
            texture(kind, numbers, depth.saturating_sub(1))
        };
        let texture = match kind {
            0 => Texture::Constant(vector(numbers)),
            1 => {
                let texels = (0..105).map(|_| numbers()).collect();
                Texture::Image(ImageMap {
                    image: Arc::new(Image::from_f32(7, 5, Channels::Rgb, texels)),
                    mapping: mapping(numbers),
                    value: [ImageMapValue::Rgb, ImageMapValue::Float][usize::from(numbers() > 0.0)],
                    wrap: WrapMode::ALL[(numbers().abs() * 6.0) as usize % 6],
                    filter: [TextureFilter::Point, TextureFilter::Bilinear]
                        [usize::from(numbers() > 0.0)]
                    .clone(),
                    scale: numbers(),
                    invert: numbers() > 0.0,
                })
            }
            2 => Texture::Bilerp(Bilerp {
                mapping: mapping(numbers),
                corners: [0; 4].map(|_| vector(numbers)),
            }),
            3..=6 => {
                let pattern = match kind {
                    3 => SolidPattern::Fbm(octaves(numbers)),
                    4 => SolidPattern::Wrinkled(octaves(numbers)),
                    5 => SolidPattern::Windy,
                    _ => SolidPattern::Marble {
                        octaves: octaves(numbers),
                        scale: numbers(),
                        variation: numbers(),
                    },
                };
                Texture::Solid(Solid { texture_from_render: transform(numbers), pattern })
            }
            7 => Texture::Scale(child(numbers), child(numbers)),
            8 => {
                let amount = match numbers() {
                    x if x > 0.0 => child(numbers),
                    x => Param::from_float((3.0 * x).floor() + 3.0),
                };
                Texture::Mix { a: child(numbers), b: child(numbers), amount }
            }
            9 => {
                let domain = match numbers() {
                    x if x > 0.0 => CheckerboardDomain::Flat(mapping(numbers)),
                    _ => CheckerboardDomain::Solid(transform(numbers)),
                };
                Texture::Checkerboard(Checkerboard {
                    domain,
                    even: child(numbers),
                    odd: child(numbers),
                })
            }
            _ => Texture::Dots(Dots {
                mapping: mapping(numbers),
                inside: child(numbers),
                outside: child(numbers),
            }),
        };
        Param::Texture(Arc::new(texture))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn bounds_contain_all_values(
            kind in 0u32..11,
            seed in any::<u32>(),
            min in prop::array::uniform3(-2f32..2.0),
            exponents in prop::array::uniform3(-7f32..0.5),
            points in prop::collection::vec(prop::array::uniform3(0f32..=1.0), 24),
        ) {
            let mut index = 0;
            let mut numbers = || {
                index += 1;
                4.0 * unit_float(hash(seed, index)) - 2.0
            };
            let param = texture(kind, &mut numbers, 2);
            let bounds = ParamBounds::new(&param).unwrap();
            let min = Vec3::from_array(min);
            let max = min + Vec3::from_array(exponents.map(|e| 10f32.powf(e)));
            let [lo, hi] = bounds.range(Aabb { min, max });
            for unit in points {
                let p = (min + (max - min) * Vec3::from_array(unit)).clamp(min, max);
                let value = param.rgb(&ParamBounds::lookup(p));
                prop_assert!(
                    value.cmpge(lo).all() && value.cmple(hi).all(),
                    "{value} {lo} {hi} {param:?}"
                );
            }
        }
    }

    #[test]
    fn bounds_are_tight_in_small_boxes() {
        let planar = Mapping::Planar {
            texture_from_render: Transform::IDENTITY,
            s: Vec3::X,
            t: Vec3::Y,
            offset: Vec2::ZERO,
        };
        let image = Image::from_f32(4, 1, Channels::Grey, vec![1.0, 2.0, 3.0, 4.0]);
        let map = ImageMap {
            mapping: planar,
            filter: TextureFilter::Point,
            ..shader_texture::default_image_map(Arc::new(image))
        };
        let image = Param::Texture(Arc::new(Texture::Image(map)));
        let blend = Param::Texture(Arc::new(Texture::Mix {
            a: image.clone(),
            b: Param::from_float(5.0),
            amount: image.clone(),
        }));
        let scaled = Param::Texture(Arc::new(Texture::Scale(blend, image.clone())));
        let b = Aabb { min: Vec3::new(0.3, -3.0, 0.0), max: Vec3::new(0.45, 3.0, 1.0) };
        let range = |param| ParamBounds::new(param).unwrap().range(b);
        assert_eq!(range(&image), [Vec3::splat(2.0); 2]);
        assert_eq!(range(&scaled), [Vec3::splat(16.0); 2]);
    }

    #[test]
    fn textures_without_a_position_are_errors() {
        let image = Arc::new(Image::from_f32(1, 1, Channels::Grey, vec![1.0]));
        let map = shader_texture::default_image_map(image);
        let flat = Param::Texture(Arc::new(Texture::Image(map)));
        let error = ParamBounds::new(&flat).unwrap_err();
        assert_eq!(error, VolumeTextureError::Uv);
        assert!(error.remedy().contains("planar"));
        let function = flat.map(|x| x);
        assert_eq!(ParamBounds::new(&function).unwrap_err(), VolumeTextureError::Unbounded);
        let id = crate::geometry::AttributeId::new(0).unwrap();
        let attribute = Texture::Attribute { id, default: Vec3::ONE, is_required: true };
        let attribute = Param::Texture(Arc::new(attribute));
        let error = ParamBounds::new(&attribute).unwrap_err();
        assert_eq!(error, VolumeTextureError::Attribute);
        assert!(error.remedy().contains("planar"));
    }
}
