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
