//! Texture accesses of operations, and their encoding as constants.

use super::{Filter, Format, TextureState, Wrap};

/// Maximum number of textures of a shader; their indices have 11 bits.
pub const MAX_TEXTURES: u32 = 1 << 11;

/// A texture access of an operation: a compile-time constant that code is specialized for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Index of the table that holds the image, less than [`MAX_TEXTURES`].
    pub table: u32,
    /// Format of the image.
    pub format: Format,
    /// Index of the channel: 0 to 3 for red, green, blue, alpha.
    pub channel: u32,
    /// The texels to read.
    pub taps: Taps,
    /// Wrap mode.
    pub wrap: Wrap,
    /// Offset of the footprint in texels, to the right and down, applied before `wrap`; components
    /// are from −16 to 15.
    pub offset: [i32; 2],
}

/// The texels that a value is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taps {
    /// The nearest texel.
    Point,
    /// The four nearest texels, interpolated bilinearly.
    Bilinear,
    /// The upper left one of the four nearest texels.
    Corner,
}

impl Access {
    /// Creates an access that samples one channel of an image, without an offset.
    pub fn new(table: u32, channel: u32, state: TextureState) -> Access {
        let TextureState { sampler, format } = state;
        let taps = match sampler.filter {
            Filter::Point => Taps::Point,
            Filter::Bilinear => Taps::Bilinear,
        };
        Access { table, format, channel, taps, wrap: sampler.wrap, offset: [0, 0] }
    }

    /// Encodes the access as an operand, from the lowest bit: 11 bits for the table, five for the
    /// format, two each for channel, taps and wrap mode, and five for each component of the offset.
    pub fn pack(self) -> u32 {
        let taps = match self.taps {
            Taps::Point => 0,
            Taps::Bilinear => 1,
            Taps::Corner => 2,
        };
        let wrap = match self.wrap {
            Wrap::Repeat => 0,
            Wrap::Black => 1,
            Wrap::Clamp => 2,
            Wrap::Octahedral => 3,
        };
        let [x, y] = self.offset.map(|offset| offset as u32 & 31);
        let image = self.table | self.format.pack() << 11;
        let word = image | self.channel << 16 | taps << 18 | wrap << 20 | x << 22 | y << 27;
        debug_assert_eq!(Access::unpack(word), Some(self), "a field does not fit into its bits");
        word
    }

    /// Inverse of [`pack`](Access::pack); `None` if the word is not a valid encoding.
    pub fn unpack(word: u32) -> Option<Access> {
        let taps = [Some(Taps::Point), Some(Taps::Bilinear), Some(Taps::Corner), None]
            [(word >> 18 & 3) as usize]?;
        let wrap =
            [Wrap::Repeat, Wrap::Black, Wrap::Clamp, Wrap::Octahedral][(word >> 20 & 3) as usize];
        let offset = [word << 5, word].map(|bits| bits as i32 >> 27);
        let format = Format::unpack(word >> 11 & 31)?;
        let (table, channel) = (word & (MAX_TEXTURES - 1), word >> 16 & 3);
        Some(Access { table, format, channel, taps, wrap, offset })
    }
}
