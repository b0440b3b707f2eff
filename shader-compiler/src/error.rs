//! Errors of code generation.

use crate::target::Target;

/// Why code generation failed.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The machine lacks a CPU feature that the target requires.
    #[error("this machine cannot run code for `{0}`")]
    Unavailable(Target),
    /// The code needs a larger stack frame than a thread can be expected to hold.
    #[error(
        "the function needs {0} bytes of stack, which is too much: use fewer or smaller arrays"
    )]
    Stack(usize),
    /// The operating system did not provide memory for code.
    #[error("cannot allocate memory for machine code")]
    Memory(#[source] std::io::Error),
}
