//! Software prefetch.

#![allow(unsafe_code)]

/// Starts fetching an element of a slice into the cache: a line for each 64 bytes, so that the end
/// of an unaligned element may be left out. The index may be out of bounds. Does nothing on CPUs
/// other than x86-64.
#[inline(always)]
#[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables))]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..size_of::<T>()).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = slice.as_ptr().wrapping_add(index).cast::<i8>().wrapping_add(offset);
        // SAFETY: all x86-64 CPUs have the instruction, and it accepts any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
    }
}
