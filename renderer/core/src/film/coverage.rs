//! The set of samples that a film contains, as disjoint blocks.
//!
//! A block is a box with three axes: columns, rows and sample indices. Set operations on boxes work
//! axis by axis.

use lightbound_image::Window;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// A nonempty window of pixels, with a nonempty range of sample indices for each pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "[u32; 6]", into = "[u32; 6]")]
pub struct PixelBlock([[u32; 2]; 3]);

impl From<PixelBlock> for [u32; 6] {
    fn from(PixelBlock([x, y, samples]): PixelBlock) -> [u32; 6] {
        [x[0], y[0], x[1], y[1], samples[0], samples[1]]
    }
}

impl TryFrom<[u32; 6]> for PixelBlock {
    type Error = &'static str;

    fn try_from([x0, y0, x1, y1, first, end]: [u32; 6]) -> Result<PixelBlock, &'static str> {
        PixelBlock::from_axes([[x0, x1], [y0, y1], [first, end]])
            .ok_or("a block of samples is empty")
    }
}

impl PixelBlock {
    /// Creates the block of `window` and `samples`; `None` if it is empty.
    pub fn new(window: Window, samples: Range<u32>) -> Option<PixelBlock> {
        PixelBlock::from_axes([
            [window.x0, window.x1],
            [window.y0, window.y1],
            [samples.start, samples.end],
        ])
    }

    fn from_axes(axes: [[u32; 2]; 3]) -> Option<PixelBlock> {
        axes.iter().all(|[lo, hi]| lo < hi).then_some(PixelBlock(axes))
    }

    /// Returns the pixels.
    pub fn window(&self) -> Window {
        let [x, y, _] = self.0;
        Window { x0: x[0], y0: y[0], x1: x[1], y1: y[1] }
    }

    /// Returns the sample indices.
    pub fn samples(&self) -> Range<u32> {
        self.0[2][0]..self.0[2][1]
    }

    /// Returns the intersection of both blocks; `None` if it is empty.
    pub fn intersection(&self, other: &PixelBlock) -> Option<PixelBlock> {
        let axis = |i: usize| [self.0[i][0].max(other.0[i][0]), self.0[i][1].min(other.0[i][1])];
        PixelBlock::from_axes([axis(0), axis(1), axis(2)])
    }

    /// Returns this block without the other, as disjoint blocks.
    fn difference(mut self, other: &PixelBlock) -> Vec<PixelBlock> {
        let Some(hole) = self.intersection(other) else { return vec![self] };
        let mut blocks = Vec::new();
        for i in 0..3 {
            for side in [[self.0[i][0], hole.0[i][0]], [hole.0[i][1], self.0[i][1]]] {
                let mut piece = self.0;
                piece[i] = side;
                blocks.extend(PixelBlock::from_axes(piece));
            }
            self.0[i] = hole.0[i];
        }
        blocks
    }

    /// Returns the union of both blocks; `None` unless they share an entire face.
    fn union(&self, other: &PixelBlock) -> Option<PixelBlock> {
        let differing: Vec<usize> = (0..3).filter(|&i| self.0[i] != other.0[i]).collect();
        let [i] = differing[..] else { return None };
        let (a, b) = (self.0[i], other.0[i]);
        let mut union = *self;
        union.0[i] = [a[0].min(b[0]), a[1].max(b[1])];
        (a[1] == b[0] || b[1] == a[0]).then_some(union)
    }
}

impl fmt::Display for PixelBlock {
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
pub struct Coverage(Vec<PixelBlock>);

impl Coverage {
    /// Returns the disjoint blocks of the set.
    pub fn blocks(&self) -> &[PixelBlock] {
        &self.0
    }

    /// Returns a block that both sets contain; `None` if they are disjoint.
    pub fn overlap(&self, other: &Coverage) -> Option<PixelBlock> {
        self.0.iter().find_map(|a| other.0.iter().find_map(|b| a.intersection(b)))
    }

    /// Adds a block that is disjoint from the set.
    pub fn add(&mut self, mut block: PixelBlock) {
        while let Some((i, union)) =
            self.0.iter().enumerate().find_map(|(i, other)| Some((i, block.union(other)?)))
        {
            self.0.swap_remove(i);
            block = union;
        }
        self.0.push(block);
    }

    /// Returns the samples of a block that are not in the set.
    pub fn missing(&self, block: PixelBlock) -> Coverage {
        let blocks = self.0.iter().fold(vec![block], |blocks, hole| {
            blocks.into_iter().flat_map(|block| block.difference(hole)).collect()
        });
        let mut missing = Coverage::default();
        blocks.into_iter().for_each(|block| missing.add(block));
        missing.0.sort();
        missing
    }

    /// Returns whether a block contains all samples of the set.
    pub fn is_within(&self, block: PixelBlock) -> bool {
        self.0.iter().all(|other| block.intersection(other) == Some(*other))
    }

    /// Returns the samples of the pixels in `window`, if all have the same ones, without gaps from
    /// `start` on; otherwise `None`.
    pub fn first_samples(&self, window: Window, start: u32) -> Option<Range<u32>> {
        let all = PixelBlock::new(window, 0..u32::MAX)?;
        let blocks = || self.0.iter().filter_map(|block| block.intersection(&all));
        let (Some(first), Some(end)) = (
            blocks().map(|block| block.samples().start).min(),
            blocks().map(|block| block.samples().end).max(),
        ) else {
            return Some(start..start);
        };
        let expected = PixelBlock::new(window, start..end).filter(|_| first == start)?;
        self.missing(expected).0.is_empty().then_some(start..end)
    }

    /// Returns the smallest window that contains all pixels; `None` for the empty set.
    pub fn window(&self) -> Option<Window> {
        self.0.iter().map(PixelBlock::window).reduce(Window::union)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block(x: [u32; 2], y: [u32; 2], samples: [u32; 2]) -> PixelBlock {
        PixelBlock::from_axes([x, y, samples]).unwrap()
    }

    fn any_block() -> impl Strategy<Value = PixelBlock> {
        let axis = || (0..6u32, 1..6u32).prop_map(|(lo, width)| [lo, lo + width]);
        [axis(), axis(), axis()].prop_map(PixelBlock)
    }

    /// Returns all samples, sorted; a sample of several blocks appears several times.
    fn elements(blocks: &[PixelBlock]) -> Vec<(u32, u32, u32)> {
        let of = |b: &PixelBlock| {
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
        fn missing_blocks_complete_the_coverage(
            block in any_block(),
            parts in prop::collection::vec(any_block(), 0..6),
        ) {
            let mut coverage = Coverage::default();
            for part in parts {
                let single = Coverage(vec![part]);
                let samples = elements(&[part]);
                let is_disjoint = elements(coverage.blocks()).iter().all(|e| !samples.contains(e));
                prop_assert_eq!(coverage.overlap(&single).is_none(), is_disjoint);
                if is_disjoint {
                    coverage.add(part);
                }
            }
            let inside: Vec<PixelBlock> =
                coverage.blocks().iter().filter_map(|b| b.intersection(&block)).collect();
            let missing = coverage.missing(block);
            prop_assert_eq!(elements(&[missing.blocks(), &inside].concat()), elements(&[block]));
        }
    }

    #[test]
    fn adjacent_blocks_are_merged() {
        let mut all = Coverage::default();
        for (x, y) in [(0, 0), (1, 1), (1, 0), (0, 1)] {
            all.add(block([x, x + 1], [y, y + 1], [0, 4]));
        }
        all.add(block([0, 2], [0, 2], [4, 9]));
        assert_eq!(all.blocks(), [block([0, 2], [0, 2], [0, 9])]);
        assert!(all.missing(block([0, 2], [1, 2], [3, 5])).blocks().is_empty());
    }

    #[test]
    fn first_samples_have_no_gaps() {
        let window = |x1| Window { x0: 0, y0: 0, x1, y1: 2 };
        let mut all = Coverage::default();
        assert_eq!(all.first_samples(window(2), 3), Some(3..3));
        all.add(block([0, 2], [0, 2], [3, 5]));
        all.add(block([0, 1], [0, 2], [5, 8]));
        all.add(block([4, 5], [0, 2], [3, 4]));
        assert_eq!(all.first_samples(window(1), 3), Some(3..8));
        // Too early, too late, other samples in the second column.
        assert_eq!(all.first_samples(window(1), 2), None);
        assert_eq!(all.first_samples(window(1), 4), None);
        assert_eq!(all.first_samples(window(2), 3), None);
        assert!(all.is_within(block([0, 5], [0, 2], [3, 8])));
        assert!(!all.is_within(block([0, 5], [0, 2], [3, 7])));
        assert!(!all.is_within(block([0, 4], [0, 2], [3, 8])));
    }

    #[test]
    fn blocks_display_and_round_trip_through_json() {
        let b = block([0, 64], [8, 9], [4, 8]);
        assert_eq!(b.to_string(), "samples 4..8 of columns 0..64, row 8");
        let text = serde_json::to_string(&b).unwrap();
        assert_eq!(
            (text.as_str(), serde_json::from_str::<PixelBlock>(&text).unwrap()),
            ("[0,8,64,9,4,8]", b)
        );
        assert!(serde_json::from_str::<PixelBlock>("[0,8,64,8,4,8]").is_err());
    }
}
