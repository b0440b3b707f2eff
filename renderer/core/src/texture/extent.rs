//! Bounds on all values of a texture on surfaces, whatever the point and its footprint, for code
//! that is specialized for them.

use super::bounds::{UNKNOWN_COLOUR, channel, channels, mix_range, product, union};
use super::{Checkerboard, Dots, ImageMap, ImageMapValue, Param, Texture, WrapMode};
use lightbound_image::Image;
use lightbound_math::Vec3;
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// Computes the extents of textures, each image only once.
#[derive(Default)]
pub struct Extents(HashMap<(*const Image, ImageMapValue), [Vec3; 2]>);

impl Extents {
    /// Returns the least and greatest value of each channel. They contain the floats that
    /// [`Param::rgb`] returns, without tolerance. If a value may be NaN, or is not known, the range
    /// is infinite on both sides.
    pub fn of(&mut self, param: &Param) -> [Vec3; 2] {
        let texture = match param {
            Param::Constant(value) => return constant(*value),
            Param::Texture(texture) => &**texture,
        };
        match texture {
            Texture::Constant(value) => constant(*value),
            Texture::Image(map) => self.of_image(map),
            Texture::Checkerboard(Checkerboard { even: a, odd: b, .. })
            | Texture::Dots(Dots { inside: a, outside: b, .. }) => union(self.of(a), self.of(b)),
            Texture::Scale(a, b) => {
                let (a, b) = (self.of(a), self.of(b));
                channels(|k| product(channel(a, k), channel(b, k)))
            }
            Texture::Mix { a, b, amount } => {
                let (a, b, amount) = (self.of(a), self.of(b), self.of(amount));
                channels(|k| mix_range(channel(a, k), channel(b, k), channel(amount, 0)))
            }
            // Bilinear functions extrapolate, octaves of noise depend on the footprint, and normals
            // are unit vectors up to rounding only.
            Texture::Bilerp(_)
            | Texture::Solid(_)
            | Texture::DirectionMix { .. }
            | Texture::Map(..) => UNKNOWN_COLOUR,
        }
    }

    fn of_image(&mut self, map: &ImageMap) -> [Vec3; 2] {
        let key = (Arc::as_ptr(&map.image), map.value);
        let texels = *self.0.entry(key).or_insert_with(|| texels(&map.image, map.value));
        // All filters interpolate between texels; see `texels`, `pyramid` and `filtered`.
        let range = match map.wrap {
            WrapMode::Black => union(texels, [Vec3::ZERO; 2]),
            WrapMode::Repeat | WrapMode::Clamp | WrapMode::OctahedralSphere => texels,
        };
        if range.iter().any(|&value| (map.scale * value).is_nan()) {
            return UNKNOWN_COLOUR;
        }
        let ends = range.map(|value| map.scale_and_invert(value));
        [ends[0].min(ends[1]), ends[0].max(ends[1])]
    }
}

fn constant(value: Vec3) -> [Vec3; 2] {
    if value.is_nan() { UNKNOWN_COLOUR } else { [value; 2] }
}

/// Returns the least and greatest texel. NaN counts as 0.
fn texels(image: &Image, value: ImageMapValue) -> [Vec3; 2] {
    let row = |y: u32| {
        let texels = (0..image.width()).map(|x| value.texel(image, x, y));
        let texels = texels.map(|v| Vec3::select(v.is_nan_mask(), Vec3::ZERO, v));
        texels.fold(EMPTY, |range, v| union(range, [v; 2]))
    };
    (0..image.height()).into_par_iter().map(row).reduce(|| EMPTY, union)
}

/// A range without values.
const EMPTY: [Vec3; 2] = [Vec3::INFINITY, Vec3::NEG_INFINITY];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texture::{Footprint, Lookup, Mapping, TextureFilter};
    use lightbound_image::Channels;
    use lightbound_math::{Vec2, vec2};
    use proptest::prelude::*;

    fn image(texels: Vec<f32>) -> Arc<Image> {
        Arc::new(Image::from_f32(4, texels.len() as u32 / 12, Channels::Rgb, texels))
    }

    fn map(image: &Arc<Image>, kind: u32, scale: f32) -> ImageMap {
        let value = if kind & 1 == 0 { ImageMapValue::Rgb } else { ImageMapValue::Float };
        let pyramid = || Arc::new(ImageMap::pyramid(image, value));
        ImageMap {
            image: image.clone(),
            mapping: Mapping::UV,
            value,
            wrap: [WrapMode::Repeat, WrapMode::Black, WrapMode::Clamp][kind as usize / 2 % 3],
            filter: match kind / 6 % 4 {
                0 => TextureFilter::Point,
                1 => TextureFilter::Bilinear,
                2 => TextureFilter::Trilinear(pyramid()),
                _ => TextureFilter::Elliptical { pyramid: pyramid(), max_anisotropy: 8.0 },
            },
            scale,
            invert: kind / 24 % 2 == 1,
        }
    }

    proptest! {
        #[test]
        fn extents_contain_all_values(
            texels in prop::collection::vec(-0.5f32..2.0, 36),
            kinds in prop::array::uniform2(0u32..48),
            amount in -0.25f32..1.25,
            structure in 0u32..4,
            scale in -1.0f32..2.0,
            points in prop::collection::vec(prop::array::uniform4(-1.5f32..1.5), 32),
        ) {
            let image = image(texels);
            let [a, b] = kinds.map(|kind| {
                Param::Texture(Arc::new(Texture::Image(map(&image, kind, scale))))
            });
            let amount = Param::from_float(amount);
            let param = match structure {
                0 => a,
                1 => Param::Texture(Arc::new(Texture::Scale(a, b))),
                2 => Param::Texture(Arc::new(Texture::Mix { a, b, amount })),
                _ => {
                    let domain = crate::texture::CheckerboardDomain::Flat(Mapping::UV);
                    let board = Checkerboard { domain, even: a, odd: b };
                    Param::Texture(Arc::new(Texture::Checkerboard(board)))
                }
            };
            let [lo, hi] = Extents::default().of(&param);
            prop_assert!(structure != 0 || lo.is_finite() && hi.is_finite());
            for [u, v, du, dv] in points {
                let duv = [vec2(du, dv), vec2(-dv, 0.5 * du)];
                let footprint = Footprint { duv, ..Footprint::POINT };
                let lookup = Lookup { uv: Vec2::new(u, v), footprint, ..Lookup::ORIGIN };
                let value = param.rgb(&lookup);
                let is_within = value.cmpge(lo) & value.cmple(hi);
                prop_assert!(is_within.all(), "{} {} {}", lo, value, hi);
            }
        }
    }

    #[test]
    fn unknown_values_have_no_extent() {
        let nan = Param::Constant(Vec3::new(0.0, f32::NAN, 1.0));
        assert_eq!(Extents::default().of(&nan), UNKNOWN_COLOUR);
        let half = Param::from_float(0.5);
        let direction = Vec3::X;
        let mix = Texture::DirectionMix { a: half.clone(), b: half, direction };
        assert_eq!(Extents::default().of(&Param::Texture(Arc::new(mix))), UNKNOWN_COLOUR);
    }
}
