//! Bounds on the values of a texture on surfaces, for code that is specialized for them: over all
//! points, whatever their footprint, and over boxes of the surface's texture coordinates.

use super::bounds::{UNKNOWN_COLOUR, channel, channels, flat_parity, mix_range, product, union};
use super::{
    Checkerboard, CheckerboardDomain, Dots, ImageMap, ImageMapValue, Param, Texture, WrapMode,
    normal,
};
use lightbound_image::Image;
use lightbound_math::{Vec2, Vec3};
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// Computes the extents of textures, reading each image only once.
#[derive(Default)]
pub struct Extents(HashMap<(*const Image, ImageMapValue), TexelRanges>);

impl Extents {
    /// Returns the least and greatest value of each channel. They contain the floats that
    /// [`Param::rgb`] returns, without tolerance. If a value may be NaN, or is not known, the range
    /// is infinite on both sides.
    pub fn of(&mut self, param: &Param) -> [Vec3; 2] {
        self.range(param, None)
    }

    /// Returns the same for points whose surface coordinates are within a box, given by its least
    /// and greatest corner, without a footprint. Filters with a footprint may reach other values.
    pub fn within(&mut self, param: &Param, uv: [Vec2; 2]) -> [Vec3; 2] {
        self.range(param, Some(uv))
    }

    fn range(&mut self, param: &Param, uv: Option<[Vec2; 2]>) -> [Vec3; 2] {
        let texture = match param {
            Param::Constant(value) => return constant(*value),
            Param::Texture(texture) => &**texture,
        };
        match texture {
            Texture::Constant(value) => constant(*value),
            Texture::Image(map) => self.of_image(map, uv),
            Texture::Checkerboard(Checkerboard { domain, even, odd }) => {
                let parity = match domain {
                    CheckerboardDomain::Flat(mapping) => {
                        uv.and_then(|uv| mapping.range_of_uv(uv)).and_then(flat_parity)
                    }
                    CheckerboardDomain::Solid(_) => None,
                };
                match parity {
                    Some(is_odd) => self.range(if is_odd { odd } else { even }, uv),
                    None => union(self.range(even, uv), self.range(odd, uv)),
                }
            }
            Texture::Dots(Dots { inside, outside, .. }) => {
                union(self.range(inside, uv), self.range(outside, uv))
            }
            Texture::Scale(a, b) => {
                let (a, b) = (self.range(a, uv), self.range(b, uv));
                channels(|k| product(channel(a, k), channel(b, k)))
            }
            Texture::Mix { a, b, amount } => {
                let (a, b, amount) = (self.range(a, uv), self.range(b, uv), self.range(amount, uv));
                channels(|k| mix_range(channel(a, k), channel(b, k), channel(amount, 0)))
            }
            Texture::Normal(_) => normal::RANGE,
            // Bilinear functions extrapolate, octaves of noise depend on the footprint, normals are
            // unit vectors up to rounding only, and meshes may have any attributes.
            Texture::Bilerp(_)
            | Texture::Solid(_)
            | Texture::Attribute { .. }
            | Texture::DirectionMix { .. }
            | Texture::Map(..) => UNKNOWN_COLOUR,
        }
    }

    fn of_image(&mut self, map: &ImageMap, uv: Option<[Vec2; 2]>) -> [Vec3; 2] {
        let key = (Arc::as_ptr(&map.image), map.value);
        let texels = self.0.entry(key).or_insert_with(|| TexelRanges::new(&map.image, map.value));
        // All filters interpolate between texels; see `texels`, `pyramid` and `filtered`.
        let range = match uv.and_then(|uv| map.mapping.range_of_uv(uv)) {
            // Rows start at the top, t at the bottom.
            Some([lo, hi]) => texels.within(map.wrap, [lo.x, hi.x], [1.0 - hi.y, 1.0 - lo.y]),
            None => match map.wrap {
                WrapMode::Black => union(texels.all, [Vec3::ZERO; 2]),
                WrapMode::Repeat
                | WrapMode::Clamp
                | WrapMode::ClampU
                | WrapMode::ClampV
                | WrapMode::OctahedralSphere => texels.all,
            },
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

/// A range without values.
const EMPTY: [Vec3; 2] = [Vec3::INFINITY, Vec3::NEG_INFINITY];

/// Greatest number of columns, and of rows, of blocks of texels.
const MAX_BLOCKS: u32 = 64;

/// The least and greatest texels in blocks of an image: a level of its min–max pyramid. NaN counts
/// as 0.
struct TexelRanges {
    /// Columns and rows of the image.
    size: [u32; 2],
    /// Columns and rows of blocks.
    counts: [u32; 2],
    /// Row by row.
    blocks: Vec<[Vec3; 2]>,
    /// The range of all texels.
    all: [Vec3; 2],
}

impl TexelRanges {
    fn new(image: &Image, value: ImageMapValue) -> TexelRanges {
        let size = [image.width(), image.height()];
        let counts = size.map(|length| length.min(MAX_BLOCKS));
        let row = |row: u32| {
            let mut blocks = vec![EMPTY; counts[0] as usize];
            for y in block_start(row, counts[1], size[1])..block_start(row + 1, counts[1], size[1])
            {
                for (block, range) in (0..).zip(&mut blocks) {
                    let end = block_start(block + 1, counts[0], size[0]);
                    for x in block_start(block, counts[0], size[0])..end {
                        let v = value.texel(image, x, y);
                        let v = Vec3::select(v.is_nan_mask(), Vec3::ZERO, v);
                        *range = union(*range, [v; 2]);
                    }
                }
            }
            blocks
        };
        let blocks: Vec<_> = (0..counts[1]).into_par_iter().flat_map_iter(row).collect();
        let all = blocks.iter().copied().fold(EMPTY, union);
        TexelRanges { size, counts, blocks, all }
    }

    /// Bounds on the texels that bilinear lookups read at coordinates in a box, from (0, 0) at the
    /// upper left corner to (1, 1) at the lower right corner.
    fn within(&self, wrap: WrapMode, s: [f32; 2], t: [f32; 2]) -> [Vec3; 2] {
        let [columns, rows] = [0, 1].map(|axis| {
            let (length, ends) = (self.size[axis], [s, t][axis]);
            Span::read(ends, length, wrap.axes()[axis])
        });
        let mut range = EMPTY;
        if columns.reaches_black || rows.reaches_black {
            range = [Vec3::ZERO; 2];
        }
        for [top, bottom] in rows.inside.iter().map(|&span| self.blocks_of(1, span)) {
            for [left, right] in columns.inside.iter().map(|&span| self.blocks_of(0, span)) {
                for row in top..=bottom {
                    let start = (row * self.counts[0]) as usize;
                    let blocks = &self.blocks[start + left as usize..=start + right as usize];
                    range = blocks.iter().copied().fold(range, union);
                }
            }
        }
        range
    }

    /// The first and last block of a span of texels along an axis.
    fn blocks_of(&self, axis: usize, span: [u32; 2]) -> [u32; 2] {
        let (count, length) = (u64::from(self.counts[axis]), u64::from(self.size[axis]));
        span.map(|texel| (((u64::from(texel) + 1) * count - 1) / length) as u32)
    }
}

/// The first texel of a block, of `count` along an axis with `length` texels.
fn block_start(block: u32, count: u32, length: u32) -> u32 {
    (u64::from(block) * u64::from(length) / u64::from(count)) as u32
}

/// Texels along an axis.
struct Span {
    /// The first and the last texel of up to two ranges.
    inside: Vec<[u32; 2]>,
    /// Whether texels beyond black edges are read.
    reaches_black: bool,
}

impl Span {
    /// The texels that bilinear lookups read at coordinates between `lo` and `hi`, with the wrap
    /// mode of the axis.
    fn read([lo, hi]: [f32; 2], length: u32, wrap: WrapMode) -> Span {
        let position = |x: f32| f64::from(x) * f64::from(length) - 0.5;
        // Texels on both sides, since positions are rounded.
        let (first, last) = (position(lo).floor() - 1.0, position(hi).floor() + 2.0);
        let end = f64::from(length) - 1.0;
        let clamped = || [first, last].map(|x| x.clamp(0.0, end) as u32);
        let all = || Span { inside: vec![[0, length - 1]], reaches_black: wrap == WrapMode::Black };
        if !(first.is_finite() && last.is_finite()) {
            return all();
        }
        let inside = match wrap {
            WrapMode::ClampU | WrapMode::ClampV | WrapMode::OctahedralSphere => return all(),
            WrapMode::Repeat if last - first >= end => return all(),
            WrapMode::Repeat => {
                let [a, b] = [first, last].map(|x| x.rem_euclid(f64::from(length)).min(end) as u32);
                if a <= b { vec![[a, b]] } else { vec![[a, length - 1], [0, b]] }
            }
            WrapMode::Black if last < 0.0 || first > end => vec![],
            WrapMode::Black | WrapMode::Clamp => vec![clamped()],
        };
        let reaches_black = wrap == WrapMode::Black && (first < 0.0 || last > end);
        Span { inside, reaches_black }
    }
}

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

    const WRAPS: [WrapMode; 5] =
        [WrapMode::Repeat, WrapMode::Black, WrapMode::Clamp, WrapMode::ClampU, WrapMode::ClampV];

    fn map(image: &Arc<Image>, kind: u32, scale: f32) -> ImageMap {
        let value = if kind & 1 == 0 { ImageMapValue::Rgb } else { ImageMapValue::Float };
        let pyramid = || Arc::new(ImageMap::pyramid(image, value));
        ImageMap {
            image: image.clone(),
            mapping: Mapping::UV,
            value,
            wrap: WRAPS[kind as usize / 2 % WRAPS.len()],
            filter: match kind / 10 % 4 {
                0 => TextureFilter::Point,
                1 => TextureFilter::Bilinear,
                2 => TextureFilter::Trilinear(pyramid()),
                _ => TextureFilter::Elliptical { pyramid: pyramid(), max_anisotropy: 8.0 },
            },
            scale,
            invert: kind / 40 % 2 == 1,
        }
    }

    proptest! {
        #[test]
        fn extents_contain_all_values(
            texels in prop::collection::vec(-0.5f32..2.0, 36),
            kinds in prop::array::uniform2(0u32..80),
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

        #[test]
        fn extents_in_boxes_contain_values_without_footprint(
            texels in prop::collection::vec(-0.5f32..2.0, 36),
            kinds in prop::array::uniform2(0u32..80),
            is_board in any::<bool>(),
            scale in prop::array::uniform2(-3.0f32..3.0),
            offset in -0.7f32..0.7,
            corners in prop::array::uniform4(-1.5f32..1.5),
            points in prop::collection::vec(prop::array::uniform2(0.0f32..=1.0), 32),
        ) {
            let image = image(texels);
            let mapping = Mapping::Uv { scale: Vec2::from_array(scale), offset: Vec2::splat(offset) };
            let [a, b] = kinds.map(|kind| {
                // The first two filters have no footprint.
                let map = ImageMap { mapping, ..map(&image, kind / 24 * 24 + kind % 12, 1.5) };
                Param::Texture(Arc::new(Texture::Image(map)))
            });
            let param = if is_board {
                let domain = crate::texture::CheckerboardDomain::Flat(mapping);
                Param::Texture(Arc::new(Texture::Checkerboard(Checkerboard { domain, even: a, odd: b })))
            } else {
                a
            };
            let [u0, v0, u1, v1] = corners;
            let (lo, hi) = (vec2(u0.min(u1), v0.min(v1)), vec2(u0.max(u1), v0.max(v1)));
            let mut extents = Extents::default();
            let [least, greatest] = extents.within(&param, [lo, hi]);
            let all = extents.of(&param);
            prop_assert!(least.cmpge(all[0]).all() && greatest.cmple(all[1]).all());
            for point in points {
                let uv = (lo + (hi - lo) * Vec2::from_array(point)).clamp(lo, hi);
                let value = param.rgb(&Lookup { uv, ..Lookup::ORIGIN });
                let is_within = value.cmpge(least) & value.cmple(greatest);
                prop_assert!(is_within.all(), "{} {} {} at {}", least, value, greatest, uv);
            }
        }
    }

    #[test]
    fn boxes_within_a_texel_have_its_value() {
        // Eight texels, of which the second half is 1.
        let texels = (0..8).map(|x| if x < 4 { 0.0 } else { 1.0 }).collect();
        let image = Arc::new(Image::from_f32(8, 1, Channels::Grey, texels));
        let map =
            ImageMap { wrap: WrapMode::Clamp, filter: TextureFilter::Point, ..map(&image, 0, 1.0) };
        let param = Param::Texture(Arc::new(Texture::Image(map)));
        let of = |u0, u1| Extents::default().within(&param, [vec2(u0, 0.0), vec2(u1, 1.0)]);
        assert_eq!(of(0.0, 0.2), [Vec3::ZERO; 2]);
        assert_eq!(of(0.8, 1.0), [Vec3::ONE; 2]);
        assert_eq!(of(0.4, 0.6), [Vec3::ZERO, Vec3::ONE]);
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
