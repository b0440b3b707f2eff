//! Executable memory from the operating system. No other code allocates it.
//!
//! The crate `region` calls `mmap` and `mprotect` on Unix, `VirtualAlloc` and `VirtualProtect` on
//! Windows. No page is ever writable and executable at the same time.
#![allow(unsafe_code)]

use region::{Allocation, Protection};
use std::io;
use std::ptr::NonNull;

/// Size of a mapping in bytes, unless a single function needs more.
const CHUNK_SIZE: usize = 4 << 20;

/// A mapping. The pages before `sealed` are executable, the rest are free and writable.
pub(super) struct Chunk {
    mapping: Allocation,
    /// Offset of the first free page.
    sealed: usize,
}

// SAFETY: a chunk owns its mapping, which is not tied to a thread.
unsafe impl Send for Chunk {}

impl Chunk {
    /// Maps fresh pages for at least `size` bytes of code.
    pub(super) fn map(size: usize) -> io::Result<Chunk> {
        let mapping = region::alloc(size.max(CHUNK_SIZE), Protection::READ_WRITE)?;
        Ok(Chunk { mapping, sealed: 0 })
    }

    /// Whether `size` bytes of code fit into the free pages.
    pub(super) fn has_room(&self, size: usize) -> bool {
        size <= self.mapping.len() - self.sealed
    }

    /// Copies code to free pages, makes these executable and returns the address. Panics if there
    /// is no room.
    pub(super) fn seal(&mut self, bytes: &[u8]) -> io::Result<NonNull<u8>> {
        assert!(self.has_room(bytes.len()), "the chunk has no room for {} bytes", bytes.len());
        let size = bytes.len().next_multiple_of(region::page::size());
        // SAFETY: `sealed` and the size of the mapping are multiples of the page size, so the
        // `size` bytes from `sealed` on lie in the mapping. They are writable, and no reference to
        // them exists.
        unsafe {
            let start = self.mapping.as_mut_ptr::<u8>().add(self.sealed);
            start.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            region::protect(start, size, Protection::READ_EXECUTE)?;
            self.sealed += size;
            Ok(NonNull::new_unchecked(start))
        }
    }
}
