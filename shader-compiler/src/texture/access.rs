//! How an operation accesses an image.

use super::{Filter, Lookup, Wrap};

/// How an operation accesses an image: a constant that code is specialized for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Index of the table that holds the image, less than
    /// [`MAX_TABLES`](crate::ir::table::MAX_TABLES).
    pub table: u32,
    /// Index of the channel: 0 to 3 for red, green, blue, alpha.
    pub channel: u32,
    /// Which texels are read.
    pub taps: Taps,
    /// Wrap mode.
    pub wrap: Wrap,
    /// Offset of the footprint in texels, to the right and down, applied before `wrap`; each from
    /// −16 to 15.
    pub offset: [i32; 2],
}

/// Which texels a value is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taps {
    /// The nearest one.
    Point,
    /// The four nearest ones, interpolated bilinearly.
    Bilinear,
    /// The upper left one of the four nearest ones.
    Corner,
}

impl Access {
    /// Regular sampling of one channel of an image.
    pub fn new(table: u32, channel: u32, lookup: Lookup) -> Access {
        let taps = match lookup.filter {
            Filter::Point => Taps::Point,
            Filter::Bilinear => Taps::Bilinear,
        };
        Access { table, channel, taps, wrap: lookup.wrap, offset: [0, 0] }
    }

    /// The operand that encodes the access: 16 bits for the table, then two each for channel, taps
    /// and wrap mode, and five for each component of the offset.
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
        let word = self.table | self.channel << 16 | taps << 18 | wrap << 20 | x << 22 | y << 27;
        debug_assert_eq!(Access::unpack(word), Some(self), "each part fits into its bits");
        word
    }

    /// Inverse of [`pack`](Access::pack); `None` if the word is not a valid encoding.
    pub fn unpack(word: u32) -> Option<Access> {
        let taps = [Some(Taps::Point), Some(Taps::Bilinear), Some(Taps::Corner), None]
            [(word >> 18 & 3) as usize]?;
        let wrap =
            [Wrap::Repeat, Wrap::Black, Wrap::Clamp, Wrap::Octahedral][(word >> 20 & 3) as usize];
        let offset = [word << 5, word].map(|bits| bits as i32 >> 27);
        Some(Access { table: word & 0xffff, channel: word >> 16 & 3, taps, wrap, offset })
    }
}
