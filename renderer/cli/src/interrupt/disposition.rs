//! Dispositions of signals that the process inherited.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ptr;

/// Whether the process ignores a signal. False for signals that do not exist.
pub fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action, `sigaction` changes nothing and only writes the current action
    // to `action`, which is large enough and outlives the call.
    let result = unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) };
    // SAFETY: zeros are a valid `sigaction` (no handler, an empty mask), so `action` is initialized
    // whether or not the call succeeded.
    let action = unsafe { action.assume_init() };
    result == 0 && action.sa_sigaction == libc::SIG_IGN
}

#[cfg(test)]
mod tests {
    use super::is_ignored;

    #[test]
    fn ignored_signals_are_recognized() {
        // Rust ignores SIGPIPE at startup.
        assert!(is_ignored(libc::SIGPIPE));
        assert!(!is_ignored(libc::SIGSEGV) && !is_ignored(libc::SIGKILL) && !is_ignored(-1));
    }
}
