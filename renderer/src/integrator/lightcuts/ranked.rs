//! What a heap of clusters holds.

use std::cmp::Ordering;

/// An index with a value, by which it is ordered; among equals the lower index counts more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranked {
    /// Not NaN.
    pub value: f32,
    /// Of what it is the value.
    pub index: u32,
}

impl Ord for Ranked {
    fn cmp(&self, other: &Ranked) -> Ordering {
        self.value.total_cmp(&other.value).then(other.index.cmp(&self.index))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Ranked) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Ranked) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BinaryHeap;

    #[test]
    fn the_greatest_comes_first_and_of_equals_the_oldest() {
        let values = [1.0, 3.0, 0.0, f32::INFINITY, 3.0, f32::INFINITY];
        let mut heap: BinaryHeap<Ranked> =
            (0..).zip(values).map(|(index, value)| Ranked { value, index }).collect();
        let order: Vec<u32> =
            std::iter::from_fn(|| heap.pop()).map(|ranked| ranked.index).collect();
        assert_eq!(order, [3, 5, 1, 4, 0, 2]);
    }
}
