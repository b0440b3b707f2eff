//! Errors of compilation.

use crate::target::Target;

/// Why code generation failed.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The machine lacks a CPU feature that the target requires.
    #[error("this machine does not run code for `{0}`")]
    Unavailable(Target),
    /// The code needs a larger stack frame than a thread can be expected to hold.
    #[error(
        "the function keeps {0} bytes at a time, more than fit on the stack: use fewer or smaller arrays"
    )]
    Stack(usize),
    /// The system refused memory for code.
    #[error("no memory for machine code")]
    Memory(#[source] std::io::Error),
}
