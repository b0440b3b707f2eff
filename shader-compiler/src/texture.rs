//! Images that shaders sample.
//!
//! [`crate::math::texture`] defines the lookup; [`Texture::range`] bounds its results over a box of
//! coordinates.

mod access;
mod range;

pub use access::{Access, Taps};

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

/// The sampling of a shader's texture; compiled code is specialized for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SamplerState {
    /// Wrap mode.
    pub wrap: Wrap,
    /// Interpolation.
    pub filter: Filter,
}

/// An image in the layout that compiled code reads: RGBA floats, which may be infinite but not NaN,
/// and a min-max pyramid.
///
/// # Layout
///
/// The image is an array of words. The header holds the width, the height, the index of the level
/// table, and a 0. The texels follow, row by row from the top, each as red, green, blue, alpha.
/// They are level 0 of the min-max pyramid, and the other levels follow.
///
/// Level k has ⌈width / 2ᵏ⌉ · ⌈height / 2ᵏ⌉ entries, row by row. From level 1 on, an entry has
/// eight words: the minima of the four channels, then their maxima, over a block of 2ᵏ · 2ᵏ texels,
/// clipped to the image. The last level has one entry. The level table, at the end, holds the index
/// of each level's first word.
#[derive(Clone, Debug)]
pub struct Texture {
    words: Vec<u32>,
}

/// Number of words before the first texel: width, height, index of the level table, 0.
pub(crate) const HEADER_WORDS: usize = 4;

/// Header word that holds the index of the level table.
pub(crate) const LEVEL_TABLE_WORD: usize = 2;

/// Number of channels of a texel.
pub(crate) const CHANNELS: usize = 4;

/// Number of words of an entry of the pyramid.
pub(crate) const ENTRY_WORDS: usize = 2 * CHANNELS;

/// Maximum width and height. Up to this size, coordinates wrap around exactly.
pub const MAX_SIDE: u32 = 1 << 23;

/// Maximum number of words, so that indices are nonnegative on machines that treat them as signed.
const MAX_WORDS: usize = 1 << 31;

impl Texture {
    /// Creates an image with `width` columns from rows in top-to-bottom order. NaN becomes 0.
    ///
    /// # Panics
    ///
    /// Panics if there are no texels, if the last row is incomplete, if a side is longer than
    /// [`MAX_SIDE`], or if there are more than 2³¹ words in total, about 320 million texels.
    pub fn new(width: u32, texels: &[[f32; 4]]) -> Texture {
        let columns = width as usize;
        assert!(
            columns > 0 && !texels.is_empty() && texels.len().is_multiple_of(columns),
            "{} texels are not complete rows of {width} texels",
            texels.len()
        );
        let height = texels.len() / columns;
        assert!(
            columns.max(height) <= MAX_SIDE as usize,
            "an image of {width} × {height} texels has a side longer than {MAX_SIDE}"
        );
        let height = height as u32;
        let size = range::size(width, height);
        assert!(size <= MAX_WORDS, "an image of {width} × {height} texels is too large");
        let mut words = Vec::with_capacity(size);
        words.extend([width, height, 0, 0]);
        for texel in texels {
            words.extend(texel.map(|x| if x.is_nan() { 0 } else { x.to_bits() }));
        }
        let mut texture = Texture { words };
        texture.build_pyramid();
        debug_assert_eq!(texture.words.len(), size);
        texture
    }

    /// Width in texels.
    pub fn width(&self) -> u32 {
        self.words[0]
    }

    /// Height in texels.
    pub fn height(&self) -> u32 {
        self.words[1]
    }

    /// All words, in the layout that compiled code reads.
    pub fn words(&self) -> &[u32] {
        &self.words
    }
}
