//! Images that shaders sample.
//!
//! [`crate::math::texture`] defines the lookup; [`Texture::range`] bounds the result over a set of
//! coordinates.

mod access;
mod range;

pub use access::{Access, Taps};

/// How coordinates beyond the edge of an image are mapped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wrap {
    /// The image repeats.
    #[default]
    Repeat,
    /// Zero.
    Black,
    /// Clamped to the edge texel.
    Clamp,
    /// Continued as in the octahedral map of a sphere: edges are mirrored at their midpoints.
    Octahedral,
}

/// How values between texel centers are interpolated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Filter {
    /// The nearest texel.
    Point,
    /// Bilinear interpolation of the four nearest texels.
    #[default]
    Bilinear,
}

/// How a shader's texture is sampled; part of the compiled code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lookup {
    /// Beyond the edge.
    pub wrap: Wrap,
    /// Between texels.
    pub filter: Filter,
}

/// An image in the layout that compiled code reads: finite or infinite RGBA floats, and bounds of
/// them over blocks.
///
/// *Shape*: words. The header holds the width, the height, the index of the level table, and a 0.
/// The texels follow, row by row from the top, each red, green, blue, alpha. Then comes a pyramid
/// of bounds. Its level k has ⌈width / 2ᵏ⌉ · ⌈height / 2ᵏ⌉ entries, row by row. An entry has eight
/// words: the minima of the four channels and then their maxima, over a block of 2ᵏ · 2ᵏ texels,
/// clipped to the image. The texels themselves are level 0; level 1 follows them; the last level
/// has one entry. The level table, at the end, holds the index of each level's first word.
#[derive(Clone, Debug)]
pub struct Texture {
    words: Vec<u32>,
}

/// Words before the first texel: width, height, index of the level table, 0.
pub(crate) const HEADER: usize = 4;

/// Header word that holds the index of the level table.
pub(crate) const LEVELS: usize = 2;

/// Channels of a texel.
pub(crate) const CHANNELS: usize = 4;

/// Words per entry of the pyramid.
pub(crate) const ENTRY: usize = 2 * CHANNELS;

/// Largest width and height. Coordinates wrap around exactly up to it.
pub const MAX_SIDE: u32 = 1 << 23;

/// Largest number of words: indices stay nonnegative on machines that treat them as signed.
const MAX_WORDS: usize = 1 << 31;

impl Texture {
    /// Creates an image with `width` columns and rows stored from the top. NaN counts as 0.
    ///
    /// *Panics* if there are no texels, if the last row is incomplete, if a side is longer than
    /// [`MAX_SIDE`], or if there are more than 2³¹ words in total, about 320 million texels.
    pub fn new(width: u32, texels: &[[f32; 4]]) -> Texture {
        let columns = width as usize;
        assert!(
            columns > 0 && !texels.is_empty() && texels.len().is_multiple_of(columns),
            "an image has at least one row, and all rows are complete"
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
