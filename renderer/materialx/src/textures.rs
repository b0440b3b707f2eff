//! Images of a material.

use crate::error::Location;
use crate::values::Term;

/// How values in a file are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Linear values.
    Linear,
    /// The transfer function of sRGB, for files with 8 bits; others are linear.
    Srgb,
}

/// What is outside of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrap {
    /// The image again.
    Repeat,
    /// Its border.
    Clamp,
}

/// A file that a node names, whether the material samples it or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFile {
    /// Path of the file, as that of a [`Texture`]; with `<UDIM>` for the numbers of tiles.
    pub file: String,
    /// The input that names it.
    pub location: Location,
}

/// An image that a material samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texture {
    /// Name of the texture in the program.
    pub name: String,
    /// Path of the file, relative to the folder of the document unless it is absolute.
    pub file: String,
    /// Encoding of the values.
    pub encoding: Encoding,
    /// What is outside of the image.
    pub wrap: Wrap,
    /// Whether texels are interpolated.
    pub is_interpolated: bool,
    /// The file is a name for tiles, with `<UDIM>` for their numbers, and the texture is the image
    /// of all. This is the parameter of the program with the first column and row, and their
    /// numbers.
    pub tiles: Option<String>,
}

impl Texture {
    /// The statement that gives a term the colour of the image at the texture coordinates.
    pub(crate) fn lookup(&self, term: &Term) -> String {
        let name = &self.name;
        format!("let {term} = textureSample({name}, {name}_sampler, p.uv).rgb;")
    }
}
