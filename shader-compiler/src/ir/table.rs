//! Tables: memory that functions read, an image say.

use std::mem::offset_of;

/// Functions read fewer tables than this.
pub const TABLES: u32 = 1 << 16;

/// Words that [`Op::Load`](super::Op::Load) reads: one at least, and 2³¹ at most, so that indices
/// are not negative where machines take them for signed.
///
/// Machine code reads tables by `base` and `last`, at these offsets; the layout of a slice is not
/// guaranteed.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Table<'t> {
    base: *const u32,
    words: &'t [u32],
    /// The greatest index.
    last: Lanes,
}

/// The same word for each lane of the widest vectors, aligned as they want it.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
struct Lanes([u32; 8]);

impl<'t> Table<'t> {
    /// Where a table has the address of its first word.
    pub const BASE: usize = offset_of!(Table<'static>, base);

    /// Where a table has a vector of its greatest index, aligned.
    pub const LAST: usize = offset_of!(Table<'static>, last);

    /// *Panics* if there is no word or there are too many.
    pub fn new(words: &'t [u32]) -> Table<'t> {
        assert!(
            !words.is_empty() && words.len() <= 1 << 31,
            "a table has 1 to 2^31 words, not {}",
            words.len()
        );
        Table { base: words.as_ptr(), words, last: Lanes([(words.len() - 1) as u32; 8]) }
    }

    /// All words.
    pub fn words(&self) -> &'t [u32] {
        self.words
    }

    /// The word at an index, the last one for indices beyond the end.
    #[inline]
    pub fn word(&self, index: u32) -> u32 {
        self.words[index.min(self.last.0[0]) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_beyond_the_end_give_the_last_word() {
        let table = Table::new(&[7, 8, 9]);
        assert_eq!(
            [0, 1, 2, 3, 1 << 31, u32::MAX].map(|index| table.word(index)),
            [7, 8, 9, 9, 9, 9]
        );
        assert_eq!(Table::new(&[5]).word(1), 5);
    }

    #[test]
    #[should_panic(expected = "a table has 1 to 2^31 words, not 0")]
    fn tables_are_not_empty() {
        Table::new(&[]);
    }
}
