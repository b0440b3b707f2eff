//! The heap of the C library.

#![allow(unsafe_code)]

/// Returns freed heap memory to the operating system. Does nothing except with glibc.
pub(super) fn trim_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `malloc_trim` is thread-safe and has no preconditions.
    unsafe {
        libc::malloc_trim(0);
    }
}
