//! The heap of the C library.

#![allow(unsafe_code)]

/// Returns freed memory to the operating system, where the C library keeps it otherwise.
pub(super) fn trim_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the function may be called at any time, by any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}
