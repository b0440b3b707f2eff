//! Images that shaders sample.
//!
//! [`crate::math::texture`] defines the lookup; [`Texture::range`] bounds its results over a box of
//! coordinates.

mod access;
mod format;
mod range;

pub use access::{Access, MAX_TEXTURES, Taps};
pub use format::{Channels, Component, Format};

use format::exact_half;
pub(crate) use format::{HALF_REBIAS, MIN_NORMAL_HALF, half_to_float};
use range::Pyramid;

/// Wrap mode: the mapping of coordinates outside the image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wrap {
    /// The image repeats.
    #[default]
    Repeat,
    /// Texels outside the image are zero.
    Black,
    /// Coordinates are clamped to the edge texel.
    Clamp,
    /// The image continues as in an octahedral map of the sphere: edges are mirrored at their
    /// midpoints.
    Octahedral,
}

/// Filter: the interpolation of values between texel centers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Filter {
    /// The nearest texel.
    Point,
    /// Bilinear interpolation of the four nearest texels.
    #[default]
    Bilinear,
}

/// The sampling of a shader's texture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SamplerState {
    /// Wrap mode.
    pub wrap: Wrap,
    /// Interpolation.
    pub filter: Filter,
}

/// What compiled code is specialized for, of each texture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TextureState {
    /// Wrap mode and filter.
    pub sampler: SamplerState,
    /// Storage of the image, the [`Texture::format`].
    pub format: Format,
}

/// An image in the layout that compiled code reads: texels as the image's file has them, whose
/// values may be infinite but not NaN, and a min-max pyramid of texels.
///
/// # Layout
///
/// The image is an array of words. The header holds the width, the height, the index of the level
/// table, and a 0. The palette follows if the [format](Format) has one: the float of each code, in
/// non-decreasing order. Then come the texels, row by row from the top, without padding. Each
/// consists of the components of the format's channels, from the lowest bits of a word to the
/// highest. The texels are level 0 of the min-max pyramid, and the other levels follow.
///
/// Level k has ⌈width / 2ᵏ⌉ · ⌈height / 2ᵏ⌉ entries, row by row. From level 1 on, an entry has the
/// size of two texels: the minima of the channels, then their maxima, over a block of 2ᵏ · 2ᵏ
/// texels, clipped to the image. The last level has one entry. The level table, in the words at the
/// end, holds the index of each level's first component. Components count from the start of the
/// array.
#[derive(Clone, Debug, PartialEq)]
pub struct Texture {
    format: Format,
    words: Vec<u32>,
}

/// Number of words before the palette: width, height, index of the level table, 0.
pub(crate) const HEADER_WORDS: usize = 4;

/// Header word that holds the index of the level table.
pub(crate) const LEVEL_TABLE_WORD: usize = 2;

/// Maximum width and height. Up to this size, coordinates wrap around exactly.
pub const MAX_SIDE: u32 = 1 << 23;

/// Maximum number of components and words, so that indices are nonnegative on machines that treat
/// them as signed.
const MAX_INDEX: usize = 1 << 31;

/// Codes of 8 or 16 bits, the components of many image files.
pub trait Code: Copy + Ord + Into<u32> + TryFrom<u32> {
    /// The greatest code.
    const MAX: u32;
    /// Components whose code c has the value c / [`MAX`](Code::MAX).
    const UNORM: Component;
    /// Components with values in a palette.
    const PALETTE: Component;
}

impl Code for u8 {
    const MAX: u32 = u8::MAX as u32;
    const UNORM: Component = Component::Unorm8;
    const PALETTE: Component = Component::Palette8;
}

impl Code for u16 {
    const MAX: u32 = u16::MAX as u32;
    const UNORM: Component = Component::Unorm16;
    const PALETTE: Component = Component::Palette16;
}

/// The code of a number that is at most [`Code::MAX`].
fn code<C: Code>(number: u32) -> C {
    C::try_from(number).ok().expect("the number is at most the greatest code")
}

fn nan_to_zero(x: f32) -> f32 {
    if x.is_nan() { 0.0 } else { x }
}

impl Texture {
    /// Creates an image of RGBA floats with `width` columns from rows in top-to-bottom order. NaN
    /// becomes 0.
    ///
    /// # Panics
    ///
    /// Panics if there are no texels, if the last row is incomplete, if a side is longer than
    /// [`MAX_SIDE`], or if there are more than 2³¹ components in total, about 320 million texels.
    pub fn new(width: u32, texels: &[[f32; 4]]) -> Texture {
        Texture::of_floats(width, Channels::Rgba, texels.as_flattened())
    }

    /// Creates an image from the values of its channels, texel by texel. NaN becomes 0. Components
    /// are [halves](Component::Half) if these are exactly their values, otherwise floats.
    ///
    /// # Panics
    ///
    /// Panics under the conditions of [`new`](Texture::new), or if the last texel is incomplete.
    pub fn from_floats(width: u32, channels: Channels, values: &[f32]) -> Texture {
        let halves: Option<Vec<u16>> =
            values.iter().map(|&value| exact_half(nan_to_zero(value))).collect();
        let Some(halves) = halves else { return Texture::of_floats(width, channels, values) };
        let is_less = |a: u16, b: u16| half_to_float(a) < half_to_float(b);
        let pyramid = Pyramid::new(width, channels.count(), halves, is_less);
        let format = Format { component: Component::Half, channels };
        Texture::of_pyramid(format, &[], pyramid, u32::from)
    }

    pub(crate) fn of_floats(width: u32, channels: Channels, values: &[f32]) -> Texture {
        let values = values.iter().copied().map(nan_to_zero).collect();
        let pyramid = Pyramid::new(width, channels.count(), values, |a, b| a < b);
        let format = Format { component: Component::Float, channels };
        Texture::of_pyramid(format, &[], pyramid, f32::to_bits)
    }

    /// Creates an image from codes of its channels, texel by texel. `value` is the value of a code
    /// in a colour; NaN becomes 0. Opacities are linear: code c has the value c /
    /// [`MAX`](Code::MAX).
    ///
    /// Components are codes if values of colours are linear too, or if they are monotone in the
    /// code and a palette of 65536 values takes less memory than codes save. Otherwise, the image
    /// is that of [`from_floats`](Texture::from_floats).
    ///
    /// # Panics
    ///
    /// Panics under the conditions of [`from_floats`](Texture::from_floats).
    pub fn from_codes<C: Code>(
        width: u32,
        channels: Channels,
        codes: Vec<C>,
        value: impl Fn(C) -> f32,
    ) -> Texture {
        let unorm = |code: u32| code as f32 / C::MAX as f32;
        let palette: Vec<f32> =
            (0..=C::MAX).map(|number| nan_to_zero(value(code(number)))).collect();
        let is_linear = (0..).zip(&palette).all(|(k, x)| x.to_bits() == unorm(k).to_bits());
        if is_linear {
            return Texture::of_codes(width, Format { component: C::UNORM, channels }, &[], codes);
        }
        let saved_bits = codes.len() * (u32::BITS - C::PALETTE.bits()) as usize;
        // Small palettes are worth it for any image, as images of the same format share code.
        let saves = palette.len() <= 256 || saved_bits > palette.len() * u32::BITS as usize;
        if saves && (palette.is_sorted() || palette.is_sorted_by(|a, b| a >= b)) {
            return Texture::with_palette(width, channels, codes, palette);
        }
        let values = codes.iter().enumerate().map(|(index, &code)| {
            let number: u32 = code.into();
            if channels.is_opacity(index) { unorm(number) } else { palette[number as usize] }
        });
        Texture::from_floats(width, channels, &values.collect::<Vec<_>>())
    }

    /// Creates an image from codes, and the value of each in a colour, which are monotone.
    pub(crate) fn with_palette<C: Code>(
        width: u32,
        channels: Channels,
        mut codes: Vec<C>,
        mut palette: Vec<f32>,
    ) -> Texture {
        if !palette.is_sorted() {
            // Codes have the order of their values.
            palette.reverse();
            for (index, c) in codes.iter_mut().enumerate() {
                *c = if channels.is_opacity(index) { *c } else { code(C::MAX - (*c).into()) };
            }
        }
        let format = Format { component: C::PALETTE, channels };
        Texture::of_codes(width, format, &palette, codes)
    }

    fn of_codes<C: Code>(width: u32, format: Format, palette: &[f32], codes: Vec<C>) -> Texture {
        let pyramid = Pyramid::new(width, format.channels.count(), codes, |a, b| a < b);
        Texture::of_pyramid(format, palette, pyramid, C::into)
    }

    /// Lays out an image. `bits` are those of a component.
    fn of_pyramid<T: Copy>(
        format: Format,
        palette: &[f32],
        Pyramid { width, height, starts, components }: Pyramid<T>,
        bits: impl Fn(T) -> u32,
    ) -> Texture {
        let first = format.first_component();
        let (per_word, size) = (format.components_per_word() as usize, format.component.bits());
        let count = first as usize + components.len();
        assert!(count <= MAX_INDEX, "an image of {width} × {height} texels is too large");
        let level_table = count.div_ceil(per_word);
        let mut words = Vec::with_capacity(level_table + starts.len());
        words.extend([width, height, level_table as u32, 0]);
        words.extend(palette.iter().map(|value| value.to_bits()));
        words.extend(components.chunks(per_word).map(|word| {
            (0..)
                .zip(word)
                .fold(0, |packed, (k, &component)| packed | bits(component) << (k * size))
        }));
        words.extend(starts.iter().map(|start| first + start));
        Texture { format, words }
    }

    /// Width in texels.
    pub fn width(&self) -> u32 {
        self.words[0]
    }

    /// Height in texels.
    pub fn height(&self) -> u32 {
        self.words[1]
    }

    /// Storage of the texels, which code that reads the image must be compiled for.
    pub fn format(&self) -> Format {
        self.format
    }

    /// What code must be compiled for to read the image with a sampler.
    pub fn state(&self, sampler: SamplerState) -> TextureState {
        TextureState { sampler, format: self.format }
    }

    /// All words, in the layout that compiled code reads.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// The values of all texels as RGBA, row by row from the top.
    pub fn texels(&self) -> Vec<[f32; 4]> {
        let count = self.format.channels.count() as u32;
        let first = |texel| self.format.first_component() + texel * count;
        let texels = 0..self.width() * self.height();
        texels.map(|texel| [0, 1, 2, 3].map(|channel| self.value(first(texel), channel))).collect()
    }

    /// Value of a channel of the texel or pyramid entry whose first component has an index.
    fn value(&self, first: u32, channel: u32) -> f32 {
        let Some(component) = self.format.channels.component(channel) else { return 1.0 };
        let (per_word, size) = (self.format.components_per_word(), self.format.component.bits());
        let index = first + component;
        let word = self.words[(index / per_word) as usize];
        let bits = word >> (index % per_word * size) & (u32::MAX >> (u32::BITS - size));
        match self.format.decoding(channel) {
            Component::Float => f32::from_bits(bits),
            Component::Half => half_to_float(bits as u16),
            Component::Unorm8 => bits as f32 / 255.0,
            Component::Unorm16 => bits as f32 / 65535.0,
            Component::Palette8 | Component::Palette16 => {
                f32::from_bits(self.words[HEADER_WORDS + bits as usize])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn codes(count: usize) -> Vec<u8> {
        let mut random = Random::new(count as u64);
        (0..count).map(|_| random.bits() as u8).collect()
    }

    fn format(component: Component, channels: Channels) -> Format {
        Format { component, channels }
    }

    #[test]
    fn codes_are_stored_if_values_are_linear_or_monotone() {
        let linear = |code: u8| f32::from(code) / 255.0;
        let rises = |code: u8| linear(code) * linear(code);
        let falls = |code: u8| 1.0 - linear(code);
        let folds = |code: u8| (linear(code) - 0.3).abs();
        for channels in Channels::ALL {
            let count = channels.count();
            let codes = codes(count * 20 * 18);
            let check = |value: &dyn Fn(u8) -> f32, component| {
                let image = Texture::from_codes(20, channels, codes.clone(), value);
                assert_eq!(image.format(), format(component, channels));
                let values = |(index, &code)| {
                    if channels.is_opacity(index) { linear(code) } else { value(code) }
                };
                let values: Vec<_> = codes.iter().enumerate().map(values).collect();
                let floats = Texture::of_floats(20, channels, &values);
                assert_eq!(image.texels(), floats.texels(), "{channels:?}");
            };
            check(&linear, Component::Unorm8);
            check(&rises, Component::Palette8);
            check(&falls, Component::Palette8);
            check(&folds, Component::Float);
            check(&|code| f32::from(code / 2), Component::Palette8);
        }
    }

    #[test]
    fn large_palettes_take_less_memory_than_they_save() {
        let square = |code: u8| f32::from(code) * f32::from(code) / 65025.0;
        let image = Texture::from_codes(1, Channels::Rgb, codes(3), square);
        assert_eq!(image.format().component, Component::Palette8);
        let stored = |texels: usize| {
            let codes = (0..3 * texels).map(|k| k as u16).collect();
            let square = |code: u16| f32::from(code) * f32::from(code);
            Texture::from_codes(1, Channels::Rgb, codes, square).format().component
        };
        assert_eq!([43_690, 43_691].map(stored), [Component::Float, Component::Palette16]);
    }

    #[test]
    fn floats_are_halves_if_they_all_are() {
        let values = [0.5, -65504.0, 6e-8, f32::NAN, 1024.0, -0.0];
        let values = values.map(|x| if x == 6e-8 { half_to_float(1) } else { x });
        let image = Texture::from_floats(2, Channels::Rgb, &values);
        assert_eq!(image.format(), format(Component::Half, Channels::Rgb));
        let expected = [[0.5, -65504.0, half_to_float(1), 1.0], [0.0, 1024.0, -0.0, 1.0]];
        assert_eq!(image.texels(), expected);
        assert_eq!(image.texels()[1][2].to_bits(), (-0.0f32).to_bits());
        for other in [0.1, f32::INFINITY] {
            let image = Texture::from_floats(1, Channels::Rgb, &[0.5, other, 0.5]);
            assert_eq!(image.format(), format(Component::Float, Channels::Rgb));
        }
    }

    #[test]
    fn images_take_at_most_five_thirds_of_their_texels() {
        for component in Component::ALL {
            for channels in Channels::ALL {
                let image = crate::testing::random::image(
                    &mut Random::new(1),
                    [256, 256],
                    format(component, channels),
                )
                .0;
                let texel = component.bits() as usize / 8 * channels.count();
                let overhead = 4 * (HEADER_WORDS + component.palette_len() + 9) + 3;
                let bytes = size_of_val(image.words());
                assert!(3 * (bytes - overhead) <= 5 * 256 * 256 * texel, "{:?}", image.format());
            }
        }
    }
}
