//! Images that shaders look values up in.

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

/// An image in the form in which compiled code reads it: finite or infinite floats, RGBA.
#[derive(Clone, Debug)]
pub struct Texture {
    words: Vec<u32>,
}

/// Words before the first texel: width and height.
const HEADER: usize = 4;

impl Texture {
    /// An image of `width` columns whose rows, from the top, follow each other. NaN counts as 0.
    ///
    /// *Panics* where there is no texel, or not as many as whole rows need, or where there are 2²⁹ texels or more.
    pub fn new(width: u32, texels: &[[f32; 4]]) -> Texture {
        let height = texels.len() as u32 / width;
        assert!(height > 0 && (width * height) as usize == texels.len(), "whole rows of texels, at least one");
        assert!(texels.len() < 1 << 29, "{} texels are too many", texels.len());
        let mut words = vec![width, height, 0, 0];
        debug_assert_eq!(words.len(), HEADER);
        words.extend(texels.iter().flatten().map(|x| if x.is_nan() { 0 } else { x.to_bits() }));
        Texture { words }
    }

    /// All words, in the order in which compiled code reads them: the header, then four for each texel.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        4 * self.words.len()
    }
}
