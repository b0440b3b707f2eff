//! Scratch buffers that a thread reuses from ray to ray, such as the batches of a kernel.
//!
//! Without them, allocations would take a third of a ray test. A thread keeps the buffers of the
//! few owners that it used last.

use std::any::Any;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Identifies the owner of scratch buffers in all threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ScratchId(u64);

/// Number of owners whose buffers a thread keeps.
const MAX_OWNERS: usize = 16;

thread_local! {
    /// Buffers, least recently used first.
    static BUFFERS: RefCell<Vec<(ScratchId, Box<dyn Any>)>> = const { RefCell::new(Vec::new()) };
}

impl ScratchId {
    /// Creates an id that no other owner has.
    pub fn new() -> ScratchId {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        ScratchId(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// A word that differs between most owners.
    pub fn word(self) -> u32 {
        self.0 as u32
    }

    /// Calls `f` with the owner's buffers, which `create` allocates if the thread has none.
    ///
    /// # Panics
    /// If the owner's buffers have another type.
    pub fn with<T: 'static, R>(self, create: impl FnOnce() -> T, f: impl FnOnce(&mut T) -> R) -> R {
        let kept = BUFFERS.with_borrow_mut(|buffers| {
            let index = buffers.iter().rposition(|(id, _)| *id == self)?;
            Some(buffers.remove(index).1)
        });
        let mut buffer = kept.unwrap_or_else(|| Box::new(create()));
        let result = f(buffer.downcast_mut().expect("an owner has buffers of one type"));
        BUFFERS.with_borrow_mut(|buffers| {
            if buffers.len() >= MAX_OWNERS {
                buffers.remove(0);
            }
            buffers.push((self, buffer));
        });
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_reused_until_many_others_are() {
        let ids: Vec<_> = (0..=MAX_OWNERS).map(|_| ScratchId::new()).collect();
        let count = |id: ScratchId| {
            id.with(
                || 0,
                |calls| {
                    *calls += 1;
                    *calls
                },
            )
        };
        assert_eq!([count(ids[0]), count(ids[0]), count(ids[1]), count(ids[0])], [1, 2, 1, 3]);
        assert!(ids[1..].iter().all(|&id| count(id) <= 2));
        assert_eq!([count(ids[0]), count(ids[2])], [1, 2]);
    }

    #[test]
    fn nested_uses_have_buffers_of_their_own() {
        let id = ScratchId::new();
        let create = || vec![0u8];
        let nested = id.with(create, |outer| {
            outer.push(1);
            id.with(create, |inner| inner.len())
        });
        assert_eq!(nested, 1);
    }
}
