//! Sets of SIMD lanes.

use lightbound_math::COLUMN_LEN;

/// A set of lanes, a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LaneSet(u32);

impl LaneSet {
    pub const NONE: LaneSet = LaneSet(0);

    /// Returns the set of lanes for which a mask is set.
    #[inline(always)]
    pub fn from_mask(mask: &[bool; COLUMN_LEN]) -> LaneSet {
        // The product moves bit 0 of byte k to bit 56 + k. A loop that shifts lane by lane compiles
        // to vectors, and then to a load for each byte.
        let byte = |eight: &[bool]| {
            let bytes = u64::from_le_bytes(std::array::from_fn(|k| u8::from(eight[k])));
            (bytes.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
        };
        let (low, high) = mask.split_at(8);
        LaneSet(byte(low) | byte(high) << 8)
    }

    /// Returns a bit for each lane.
    pub fn bits(self) -> u32 {
        self.0
    }

    pub fn insert(&mut self, lane: usize) {
        self.0 |= 1 << lane;
    }

    pub fn remove(&mut self, lane: usize) {
        self.0 &= !(1 << lane);
    }

    pub fn contains(self, lane: usize) -> bool {
        self.0 >> lane & 1 != 0
    }

    pub fn and(self, other: LaneSet) -> LaneSet {
        LaneSet(self.0 & other.0)
    }

    pub fn and_not(self, other: LaneSet) -> LaneSet {
        LaneSet(self.0 & !other.0)
    }

    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Iterates over the lanes in increasing order.
    #[inline(always)]
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let lane = (rest != 0).then(|| rest.trailing_zeros() as usize % COLUMN_LEN);
            rest &= rest.wrapping_sub(1);
            lane
        })
    }

    /// Returns the indices of the lanes in increasing order, in the first [`len`](Self::len) items.
    #[inline(always)]
    pub fn indices(self) -> [u8; COLUMN_LEN] {
        let mut indices = [0; COLUMN_LEN];
        for (index, lane) in indices.iter_mut().zip(self.iter()) {
            *index = lane as u8;
        }
        indices
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_the_lanes_of_their_masks() {
        for bits in 0..1 << COLUMN_LEN {
            let mask = std::array::from_fn(|lane| bits >> lane & 1 != 0);
            assert_eq!(LaneSet::from_mask(&mask).bits(), bits);
        }
        let all: [bool; COLUMN_LEN] = [true; COLUMN_LEN];
        for mask in [[false; COLUMN_LEN], all, std::array::from_fn(|lane| lane % 3 == 0)] {
            let lanes = LaneSet::from_mask(&mask);
            let expected: Vec<usize> = (0..COLUMN_LEN).filter(|&lane| mask[lane]).collect();
            assert_eq!(lanes.iter().collect::<Vec<_>>(), expected);
            let indices = lanes.indices().map(usize::from);
            assert_eq!(indices[..lanes.len()], expected);
            assert!((0..COLUMN_LEN).all(|lane| lanes.contains(lane) == mask[lane]));
            assert_eq!(lanes.is_empty(), expected.is_empty());
            assert_eq!(lanes.and(LaneSet::from_mask(&all)), lanes);
            assert_eq!(lanes.and_not(lanes), LaneSet::NONE);
            let mut same = lanes;
            same.remove(1);
            assert!(!same.contains(1));
            same.insert(1);
            assert!(same.contains(1));
        }
    }
}
