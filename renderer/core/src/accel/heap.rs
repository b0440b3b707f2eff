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

/// Returns an empty vector with a capacity, in huge pages where Linux has them. With pages of 4 KB,
/// rays through large meshes miss the TLB for most nodes and triangles.
pub(super) fn with_huge_pages<T>(capacity: usize) -> Vec<T> {
    let items = Vec::<T>::with_capacity(capacity);
    #[cfg(target_os = "linux")]
    {
        const PAGE_SIZE: usize = 1 << 21;
        let start = items.as_ptr().addr();
        let (start, end) = (start.next_multiple_of(PAGE_SIZE), start + capacity * size_of::<T>());
        if start + PAGE_SIZE <= end {
            // SAFETY: the pages belong to the vector, and the advice changes no memory.
            unsafe {
                libc::madvise(
                    start as *mut _,
                    (end - start) / PAGE_SIZE * PAGE_SIZE,
                    libc::MADV_HUGEPAGE,
                );
            }
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
