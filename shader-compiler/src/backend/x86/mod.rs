//! Machine code for x86-64: SSE4.1 and AVX four lanes wide, AVX2 eight lanes wide.
//!
//! ```text
//! function ─► select ─► schedule ─► allocate ─► encode ─► Code
//! ```
//!
//! The code is a leaf function `extern "sysv64" fn(inputs, outputs, tables)` over one group of
//! lanes: word l of port p is at `[p · lanes + l]` of the first two, aligned to the vector's size;
//! `tables` is an array of [`Table`](crate::ir::Table). Truth values are masks, all bits set or
//! none. Nothing is contracted or approximated, so all targets give the bits of the
//! [interpreter](crate::interpreter).

mod allocate;
mod asm;
mod count;
mod encode;
mod listing;
mod machine;
mod moves;
mod schedule;
mod select;

use crate::ir::Function;
use crate::target::Target;

pub use count::Counts;

/// Machine code of a function, position-independent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    target: Target,
    /// The pool of constants, then code.
    bytes: Vec<u8>,
    /// Offset of the first instruction.
    entry: u32,
    /// Offsets at which basic blocks start.
    blocks: Vec<u32>,
    inputs: usize,
    outputs: usize,
    tables: usize,
    /// Bytes of the stack that are used.
    frame: usize,
    instrumented: bool,
}

impl Code {
    /// Compiles a lowered function.
    ///
    /// *Panics* if the function is not lowered ([`crate::passes::lower`]), or the target is the
    /// interpreter.
    pub fn compile(function: &Function, target: Target) -> Code {
        Code::with(function, target, false)
    }

    /// The same code, but each basic block starts by incrementing a counter of its own, 64 bits
    /// wide, in memory whose address is the fourth argument.
    pub fn instrumented(function: &Function, target: Target) -> Code {
        Code::with(function, target, true)
    }

    fn with(function: &Function, target: Target, instrument: bool) -> Code {
        let mut program = select::select(function, target);
        schedule::schedule(&mut program);
        let allocated = allocate::allocate(&program, target);
        encode::encode(
            &allocated,
            target,
            (function.inputs.len(), function.outputs.len()),
            program.tables,
            instrument,
        )
    }

    /// What it runs on.
    pub fn target(&self) -> Target {
        self.target
    }

    /// All bytes: a pool of constants, then instructions.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Offset of the first instruction.
    pub fn entry(&self) -> usize {
        self.entry as usize
    }

    /// Number of inputs.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Number of tables that it reads, or one more than the greatest number of one.
    pub fn tables(&self) -> usize {
        self.tables
    }

    /// Bytes of the stack that it uses.
    pub fn frame(&self) -> usize {
        self.frame
    }

    /// Number of counters that the code increments.
    pub fn counters(&self) -> usize {
        if self.instrumented { self.blocks.len() } else { 0 }
    }
}

#[cfg(test)]
mod tests;
