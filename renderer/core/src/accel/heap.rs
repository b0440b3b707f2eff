//! The heap of the C library, and its pages.

#![allow(unsafe_code)]

/// Returns freed heap memory to the operating system. Does nothing except with glibc.
pub(super) fn trim_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `malloc_trim` is thread-safe and has no preconditions.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Allocates an empty vector, and asks Linux to back it with huge pages. With pages of 4 KB, rays
/// through large meshes miss the TLB for most nodes and triangles.
pub(super) fn with_huge_pages<T>(capacity: usize) -> Vec<T> {
    let mut items = Vec::<T>::with_capacity(capacity);
    #[cfg(target_os = "linux")]
    {
        /// That of x86-64, and of other CPUs with pages of 4 KB.
        const HUGE_PAGE_SIZE: usize = 1 << 21;
        let memory = items.as_mut_ptr();
        let (start, end) = (
            memory.addr().next_multiple_of(HUGE_PAGE_SIZE),
            memory.addr() + capacity * size_of::<T>(),
        );
        if start + HUGE_PAGE_SIZE <= end {
            let len = (end - start) / HUGE_PAGE_SIZE * HUGE_PAGE_SIZE;
            // Without huge pages, everything works as well.
            // SAFETY: the pages belong to the vector, and the advice changes no memory.
            let _ =
                unsafe { libc::madvise(memory.with_addr(start).cast(), len, libc::MADV_HUGEPAGE) };
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use super::with_huge_pages;

    #[test]
    fn vectors_in_huge_pages_have_their_capacity() {
        for capacity in [0, 1, 1000, 1 << 18, 3 << 20] {
            let mut items = with_huge_pages::<u64>(capacity);
            assert!(items.is_empty() && items.capacity() >= capacity);
            items.extend(0..capacity as u64);
            assert!((0..).zip(&items).all(|(i, &item)| i == item));
        }
    }
}
