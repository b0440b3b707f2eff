//! Tables: read-only memory that functions load from, such as images.

use std::mem::offset_of;

/// Maximum number of tables of a function.
pub const MAX_TABLES: u32 = 1 << 16;

/// An array of 1 to 2³¹ words that [`Op::Load`](super::Op::Load) reads. The limit keeps indices
/// nonnegative on machines that treat them as signed.
///
/// Machine code reads `base` and `last` at the offsets [`Table::BASE`] and [`Table::LAST`], since
/// the layout of a slice is not guaranteed.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Table<'t> {
    base: *const u32,
    words: &'t [u32],
    /// Index of the last word.
    last: SplatIndex,
}

/// A word repeated for each lane of the widest SIMD register, and aligned for it.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
struct SplatIndex([u32; 8]);

impl<'t> Table<'t> {
    /// Offset of the address of the first word.
    pub const BASE: usize = offset_of!(Table<'static>, base);

    /// Offset of the index of the last word, repeated for each lane and aligned.
    pub const LAST: usize = offset_of!(Table<'static>, last);

    /// Creates a table of these words.
    ///
    /// # Panics
    ///
    /// If there are no words, or more than 2³¹.
    pub fn new(words: &'t [u32]) -> Table<'t> {
        assert!(
            !words.is_empty() && words.len() <= 1 << 31,
            "a table has 1 to 2^31 words, not {}",
            words.len()
        );
        Table { base: words.as_ptr(), words, last: SplatIndex([(words.len() - 1) as u32; 8]) }
    }

    /// All words.
    pub fn words(&self) -> &'t [u32] {
        self.words
    }

    /// The word at an index; the last word if the index is out of range.
    #[inline]
    pub fn word(&self, index: u32) -> u32 {
        self.words[index.min(self.last.0[0]) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_of_range_indices_read_the_last_word() {
        let table = Table::new(&[7, 8, 9]);
        assert_eq!(
            [0, 1, 2, 3, 1 << 31, u32::MAX].map(|index| table.word(index)),
            [7, 8, 9, 9, 9, 9]
        );
        assert_eq!(Table::new(&[5]).word(1), 5);
    }

    #[test]
    #[should_panic(expected = "a table has 1 to 2^31 words, not 0")]
    fn empty_tables_are_rejected() {
        Table::new(&[]);
    }
}
