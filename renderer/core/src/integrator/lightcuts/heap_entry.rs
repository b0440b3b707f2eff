//! Entry of a priority queue of clusters.

use std::cmp::Ordering;

/// An index ordered by a value. If values are equal, the entry with the lower index is greater.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeapEntry {
    /// Priority; not NaN.
    pub value: f32,
    /// Index of the cluster.
    pub index: u32,
}

impl Ord for HeapEntry {
    fn cmp(&self, other: &HeapEntry) -> Ordering {
        self.value.total_cmp(&other.value).then(other.index.cmp(&self.index))
    }
}

impl PartialOrd for HeapEntry {
    fn partial_cmp(&self, other: &HeapEntry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for HeapEntry {
    fn eq(&self, other: &HeapEntry) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for HeapEntry {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BinaryHeap;

    #[test]
    fn greatest_value_then_lowest_index_comes_first() {
        let values = [1.0, 3.0, 0.0, f32::INFINITY, 3.0, f32::INFINITY];
        let mut heap: BinaryHeap<HeapEntry> =
            (0..).zip(values).map(|(index, value)| HeapEntry { value, index }).collect();
        let order: Vec<u32> = std::iter::from_fn(|| heap.pop()).map(|entry| entry.index).collect();
        assert_eq!(order, [3, 5, 1, 4, 0, 2]);
    }
}
