//! Images that shaders look values up in.
//!
//! How they are looked up is told in [`crate::math::texture`]; [`Texture::range`] bounds the result
//! over a set of coordinates.

mod range;

/// What lies beyond the edge of an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wrap {
    /// The image again.
    #[default]
    Repeat,
    /// Zero.
    Black,
    /// The texel at the edge.
    Clamp,
    /// What the octahedral map of a sphere has there: edges are mirrored at their midpoints.
    Octahedral,
}

/// How values between texel centres come about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Filter {
    /// The nearest texel.
    Point,
    /// Linear between the four nearest texels.
    #[default]
    Bilinear,
}

/// How a shader's texture is looked up; part of the compiled code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lookup {
    /// Beyond the edge.
    pub wrap: Wrap,
    /// Between texels.
    pub filter: Filter,
}

/// An image in the form in which compiled code reads it: finite or infinite floats, RGBA, and
/// bounds of them over blocks.
///
/// *Shape*: words. The first are width and height, where the last part starts, and one that is 0.
/// Then come the texels, row by row from the top, each red, green, blue, alpha. Behind them lies a
/// pyramid for bounds, whose level k has ⌈width / 2ᵏ⌉ · ⌈height / 2ᵏ⌉ entries, row by row: eight
/// words, the least values of the four channels and then the greatest, over the 2ᵏ · 2ᵏ texels of a
/// block, as far as there are so many. Level 1 follows the texels, which are level 0; the last
/// level has one entry. The last part has the first words of all levels.
#[derive(Clone, Debug)]
pub struct Texture {
    words: Vec<u32>,
}

/// Words before the first texel: width, height, and where the first words of levels stand.
pub(crate) const HEADER: usize = 4;

/// Which of them tells where the first words of levels stand.
pub(crate) const LEVELS: usize = 2;

/// Channels of a texel.
pub(crate) const CHANNELS: usize = 4;

/// Words of an entry of the pyramid.
pub(crate) const ENTRY: usize = 2 * CHANNELS;

/// Greatest width and height, up to which coordinates wrap around exactly.
pub const MAX_SIDE: u32 = 1 << 23;

/// Greatest number of words, so that indices are not negative where machines take them for signed.
const MAX_WORDS: usize = 1 << 31;

impl Texture {
    /// An image of `width` columns whose rows, from the top, follow each other. NaN counts as 0.
    ///
    /// *Panics* where there is no texel, or not as many as whole rows need, or a side longer than
    /// [`MAX_SIDE`], or more than 2³¹ words altogether, that is, about 320 million texels.
    pub fn new(width: u32, texels: &[[f32; 4]]) -> Texture {
        let columns = width as usize;
        assert!(
            columns > 0 && !texels.is_empty() && texels.len().is_multiple_of(columns),
            "whole rows of texels, at least one"
        );
        let height = texels.len() / columns;
        assert!(
            columns.max(height) <= MAX_SIDE as usize,
            "an image of {width} × {height} texels has too long a side"
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

    /// Columns.
    pub fn width(&self) -> u32 {
        self.words[0]
    }

    /// Rows.
    pub fn height(&self) -> u32 {
        self.words[1]
    }

    /// All words, in the order in which compiled code reads them.
    pub fn words(&self) -> &[u32] {
        &self.words
    }
}
