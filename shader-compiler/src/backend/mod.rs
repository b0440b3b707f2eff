//! Backends, which compile lowered functions to machine code or C source.
//!
//! Each backend is a module that implements [`Backend`]. [`Target`](crate::Target) maps
//! every target to the backend of its machine code; nothing else selects one.

pub mod c;
pub mod gpu;
pub mod x86;

use crate::ir::Function;
use std::any::Any;

/// A code generator: compiles lowered functions to one form of output.
///
/// A backend must not change the bits of any result, so that all targets agree with the
/// [interpreter](crate::interpreter), except for payloads and signs of NaNs.
pub trait Backend: Any {
    /// Machine code, or source text.
    type Output;

    /// Short name, for the command line and for messages.
    fn name(&self) -> &'static str;

    /// SIMD width: the number of evaluations per group.
    fn lanes(&self) -> usize;

    /// Whether this CPU and operating system can run the output.
    fn is_available(&self) -> bool;

    /// Compiles a lowered function. This works on every machine, whether or not it can run the
    /// output.
    ///
    /// # Panics
    ///
    /// Panics if the function is not [lowered](crate::passes::lower).
    fn emit(&self, function: &Function) -> Self::Output;
}

/// Position-independent machine code of one function, with the metadata for its
/// [loader](crate::jit) and its callers.
///
/// The code is a leaf function of type [`EntryPoint`](crate::jit::EntryPoint) that evaluates one
/// group: lane l of port p is at index `p · lanes + l` of inputs and outputs. Both are aligned to
/// the size of a SIMD register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineCode {
    /// Constants and instructions.
    pub(crate) bytes: Vec<u8>,
    /// Offset of the first instruction.
    pub(crate) entry: usize,
    /// Evaluations per group.
    pub(crate) lanes: usize,
    /// Whether this machine can run the code.
    pub(crate) is_available: bool,
    /// Number of input ports.
    pub(crate) inputs: usize,
    /// Number of output ports.
    pub(crate) outputs: usize,
    /// Number of tables that the caller must provide.
    pub(crate) tables: usize,
    /// Number of block counters that the code increments, 64 bits each.
    pub(crate) counters: usize,
    /// Size of the stack frame in bytes.
    pub(crate) frame: usize,
}

impl MachineCode {
    /// Size of constants and instructions in bytes.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }
}

impl AsRef<MachineCode> for MachineCode {
    fn as_ref(&self) -> &MachineCode {
        self
    }
}
