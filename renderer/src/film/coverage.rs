//! Which samples of which pixels a film has: a set of blocks that do not overlap.
//!
//! A block is a box along three axes: columns, rows and sample numbers. Set operations on boxes go
//! axis by axis.

use super::Window;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// Samples of a range of numbers, for every pixel of a window; not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "[u32; 6]", into = "[u32; 6]")]
pub struct Block([[u32; 2]; 3]);

impl From<Block> for [u32; 6] {
    fn from(Block([x, y, samples]): Block) -> [u32; 6] {
        [x[0], y[0], x[1], y[1], samples[0], samples[1]]
    }
}

impl TryFrom<[u32; 6]> for Block {
    type Error = &'static str;

    fn try_from([x0, y0, x1, y1, first, end]: [u32; 6]) -> Result<Block, &'static str> {
        Block::between([[x0, x1], [y0, y1], [first, end]]).ok_or("a block of samples is empty")
    }
}

impl Block {
    /// The block of `window` and `samples`; `None` where it is empty.
    pub fn new(window: Window, samples: Range<u32>) -> Option<Block> {
        Block::between([
            [window.x0, window.x1],
            [window.y0, window.y1],
            [samples.start, samples.end],
        ])
    }

    fn between(axes: [[u32; 2]; 3]) -> Option<Block> {
        axes.iter().all(|[lo, hi]| lo < hi).then_some(Block(axes))
    }

    /// The pixels.
    pub fn window(&self) -> Window {
        let [x, y, _] = self.0;
        Window { x0: x[0], y0: y[0], x1: x[1], y1: y[1] }
    }

    /// The sample numbers.
    pub fn samples(&self) -> Range<u32> {
        self.0[2][0]..self.0[2][1]
    }

    /// What both have.
    pub fn overlap(&self, other: &Block) -> Option<Block> {
        let axis = |i: usize| [self.0[i][0].max(other.0[i][0]), self.0[i][1].min(other.0[i][1])];
        Block::between([axis(0), axis(1), axis(2)])
    }

    /// What is left without the other one.
    fn without(mut self, other: &Block) -> Vec<Block> {
        let Some(hole) = self.overlap(other) else { return vec![self] };
        let mut left = Vec::new();
        for i in 0..3 {
            for side in [[self.0[i][0], hole.0[i][0]], [hole.0[i][1], self.0[i][1]]] {
                let mut piece = self.0;
                piece[i] = side;
                left.extend(Block::between(piece));
            }
            self.0[i] = hole.0[i];
        }
        left
    }

    /// Both as one, where they are neighbours with a whole face in common.
    fn joined(&self, other: &Block) -> Option<Block> {
        let differing: Vec<usize> = (0..3).filter(|&i| self.0[i] != other.0[i]).collect();
        let [i] = differing[..] else { return None };
        let (a, b) = (self.0[i], other.0[i]);
        let mut all = *self;
        all.0[i] = [a[0].min(b[0]), a[1].max(b[1])];
        (a[1] == b[0] || b[1] == a[0]).then_some(all)
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, samples] = self.0;
        let range = |f: &mut fmt::Formatter<'_>, noun: &str, [lo, hi]: [u32; 2]| match hi - lo {
            1 => write!(f, "{noun} {lo}"),
            _ => write!(f, "{noun}s {lo}..{hi}"),
        };
        range(f, "sample", samples)?;
        range(f, " of column", x)?;
        range(f, ", row", y)
    }
}

/// A set of samples.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Coverage(Vec<Block>);

impl Coverage {
    /// The blocks of the set.
    pub fn blocks(&self) -> &[Block] {
        &self.0
    }

    /// Something that both sets have.
    pub fn overlap(&self, other: &Coverage) -> Option<Block> {
        self.0.iter().find_map(|a| other.0.iter().find_map(|b| a.overlap(b)))
    }

    /// Adds a block that has nothing in common with those that are there.
    pub fn add(&mut self, mut block: Block) {
        while let Some((i, joined)) =
            self.0.iter().enumerate().find_map(|(i, other)| Some((i, block.joined(other)?)))
        {
            self.0.swap_remove(i);
            block = joined;
        }
        self.0.push(block);
    }

    /// What the set lacks of a block.
    pub fn missing(&self, whole: Block) -> Coverage {
        let left = self.0.iter().fold(vec![whole], |left, hole| {
            left.into_iter().flat_map(|b| b.without(hole)).collect()
        });
        let mut missing = Coverage::default();
        left.into_iter().for_each(|block| missing.add(block));
        missing.0.sort();
        missing
    }

    /// The smallest window that holds all pixels; `None` where there are none.
    pub fn window(&self) -> Option<Window> {
        self.0.iter().map(Block::window).reduce(Window::hull)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block(x: [u32; 2], y: [u32; 2], samples: [u32; 2]) -> Block {
        Block::between([x, y, samples]).unwrap()
    }

    fn any_block() -> impl Strategy<Value = Block> {
        let axis = || (0..6u32, 1..6u32).prop_map(|(lo, width)| [lo, lo + width]);
        [axis(), axis(), axis()].prop_map(Block)
    }

    /// All samples one by one, those of several blocks several times.
    fn elements(blocks: &[Block]) -> Vec<(u32, u32, u32)> {
        let of = |b: &Block| {
            b.window()
                .pixels()
                .flat_map(|(x, y)| b.samples().map(move |s| (x, y, s)))
                .collect::<Vec<_>>()
        };
        let mut all: Vec<_> = blocks.iter().flat_map(of).collect();
        all.sort();
        all
    }

    proptest! {
        #[test]
        fn what_is_missing_fills_the_whole(whole in any_block(), parts in prop::collection::vec(any_block(), 0..6)) {
            let mut have = Coverage::default();
            for part in parts {
                let one = Coverage(vec![part]);
                if have.overlap(&one).is_none() {
                    prop_assert!(elements(have.blocks()).iter().all(|e| !elements(&[part]).contains(e)));
                    have.add(part);
                } else {
                    prop_assert!(elements(have.blocks()).iter().any(|e| elements(&[part]).contains(e)));
                }
            }
            let inside: Vec<Block> = have.blocks().iter().filter_map(|b| b.overlap(&whole)).collect();
            let missing = have.missing(whole);
            prop_assert_eq!(elements(&[missing.blocks(), &inside].concat()), elements(&[whole]));
        }
    }

    #[test]
    fn neighbours_become_one() {
        let mut all = Coverage::default();
        for (x, y) in [(0, 0), (1, 1), (1, 0), (0, 1)] {
            all.add(block([x, x + 1], [y, y + 1], [0, 4]));
        }
        all.add(block([0, 2], [0, 2], [4, 9]));
        assert_eq!(all.blocks(), [block([0, 2], [0, 2], [0, 9])]);
        assert!(all.missing(block([0, 2], [1, 2], [3, 5])).blocks().is_empty());
    }

    #[test]
    fn blocks_read_well_and_come_back_from_text() {
        let b = block([0, 64], [8, 9], [4, 8]);
        assert_eq!(b.to_string(), "samples 4..8 of columns 0..64, row 8");
        let text = serde_json::to_string(&b).unwrap();
        assert_eq!(
            (text.as_str(), serde_json::from_str::<Block>(&text).unwrap()),
            ("[0,8,64,9,4,8]", b)
        );
        assert!(serde_json::from_str::<Block>("[0,8,64,8,4,8]").is_err());
    }
}
