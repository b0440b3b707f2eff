//! The cache of residual functions.

use super::GeneratingExtension;
use crate::ir::{Function, Table};
use crate::specialize::binding_times::BindingTime;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Residual functions of a generating extension, memoized on static values.
///
/// If the cache is full, the function that was not used for the longest time is dropped.
#[derive(Debug)]
pub struct ResidualCache {
    extension: GeneratingExtension,
    capacity: usize,
    /// Each function, with the time of its last use.
    functions: FxHashMap<Vec<u32>, (Arc<Function>, u64)>,
    /// Number of requests.
    time: u64,
}

impl ResidualCache {
    /// Creates a cache of at most `capacity` functions.
    ///
    /// # Panics
    ///
    /// If the capacity is 0.
    pub fn new(extension: GeneratingExtension, capacity: usize) -> ResidualCache {
        assert!(capacity > 0, "a cache has room for a function");
        ResidualCache { extension, capacity, functions: FxHashMap::default(), time: 0 }
    }

    /// The number of functions.
    pub fn len(&self) -> usize {
        self.functions.len()
    }

    /// Whether there are no functions.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Returns the residual function for static values, generated if it is not in the cache.
    ///
    /// # Panics
    ///
    /// Panics under the conditions of [`GeneratingExtension::residual`].
    pub fn residual(&mut self, words: &[u32], tables: &[Table<'_>]) -> Arc<Function> {
        self.time += 1;
        let mut key = words.to_vec();
        let times = &self.extension.times.tables;
        for (table, _) in std::iter::zip(tables, times).filter(|(_, t)| **t == BindingTime::Static)
        {
            // The length separates the words of one table from those of the next.
            key.push(table.words().len() as u32);
            key.extend(table.words());
        }
        if let Some((function, last_use)) = self.functions.get_mut(&key) {
            *last_use = self.time;
            return function.clone();
        }
        let function = Arc::new(self.extension.residual(words, tables));
        if self.functions.len() == self.capacity {
            let oldest = self.functions.iter().min_by_key(|(_, (_, last_use))| *last_use);
            let oldest = oldest.expect("a full cache is not empty").0.clone();
            self.functions.remove(&oldest);
        }
        self.functions.insert(key, (function.clone(), self.time));
        function
    }
}
