//! Isolation of decoders: a panic inside a third-party crate becomes an error of the image.
//!
//! Decoders are fed with files that anyone may have made, and some of them panic where they should
//! return an error: `png` 0.18.1 does if the length of a palette is not a multiple of three. The
//! panic must neither end the program nor print a message about source code that the user does not
//! have.

use super::Problem;
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether this thread runs a decoder.
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Runs a decoder of `format`. A panic becomes [`Problem::Damaged`]. Decoders that use several
/// threads must be isolated on each.
pub(super) fn isolate<T>(
    format: &'static str,
    decode: impl FnOnce() -> Result<T, Problem>,
) -> Result<T, Problem> {
    // Nothing that `decode` borrows is used after a panic.
    catch_unwind(AssertUnwindSafe(|| without_panic_messages(decode))).unwrap_or_else(|panic| {
        let message = format!("its decoder failed: {}", panic_message(&*panic));
        Err(Problem::Damaged { format, message })
    })
}

/// Runs `f`. If it panics on this thread, the panic prints no message.
fn without_panic_messages<T>(f: impl FnOnce() -> T) -> T {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            DECODING.set(self.0);
        }
    }

    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print_message = take_hook();
        set_hook(Box::new(move |info| {
            // The variable is gone if the thread is ending.
            if !DECODING.try_with(Cell::get).unwrap_or(false) {
                print_message(info);
            }
        }));
    });
    let _restore = Restore(DECODING.replace(true));
    f()
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(message), _) => message,
        (None, Some(message)) => message,
        (None, None) => "unknown cause",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_errors_that_name_the_format() {
        let panicking = |message: Option<String>| {
            let error = isolate::<()>("PNG", || match message {
                Some(message) => panic!("{message}"),
                None => panic!("constant"),
            });
            error.unwrap_err().to_string()
        };
        let message = panicking(Some("index 3".into()));
        assert!(
            message.contains("damaged or unsupported PNG file (its decoder failed: index 3)"),
            "{message}"
        );
        assert!(panicking(None).contains("failed: constant"));
        assert!(!DECODING.get());
        assert!(isolate("PNG", || Ok(DECODING.get())).unwrap());
        assert!(matches!(isolate::<()>("PNG", || Err(Problem::Empty)), Err(Problem::Empty)));
    }
}
