//! Machine code for x86-64: SSE4.1 and AVX with four lanes, AVX2 with eight.
//!
//! ```text
//! function ─► select ─► schedule ─► allocate ─► encode ─► Code
//! ```
//!
//! Booleans are masks: all bits of a lane are set, or none. No operation is fused or approximated,
//! so code for every instruction set computes the bits of the [interpreter](crate::interpreter).
//!
//! Tests run the code on Linux only. Code for Windows has the same calling convention but no red
//! zone; it is type-checked, not run. The code has no unwind information. It is a leaf function and
//! never unwinds, so only debuggers and profilers notice.

mod allocate;
mod asm;
mod code;
mod count;
mod encode;
mod isa;
mod listing;
mod machine;
mod moves;
mod schedule;
mod select;

pub use code::Code;
pub use count::Counts;
pub use isa::Isa;

use super::{Backend, MachineCode};
use crate::ir::Function;

impl Backend for Isa {
    type Output = MachineCode;

    fn name(&self) -> &'static str {
        match self {
            Isa::Sse41 => "sse",
            Isa::Avx => "avx",
            Isa::Avx2 => "avx2",
        }
    }

    fn lanes(&self) -> usize {
        match self {
            Isa::Sse41 | Isa::Avx => 4,
            Isa::Avx2 => 8,
        }
    }

    fn is_available(&self) -> bool {
        #[cfg(all(target_arch = "x86_64", any(unix, windows)))]
        return match self {
            Isa::Sse41 => std::is_x86_feature_detected!("sse4.1"),
            Isa::Avx => std::is_x86_feature_detected!("avx"),
            Isa::Avx2 => std::is_x86_feature_detected!("avx2"),
        };
        #[cfg(not(all(target_arch = "x86_64", any(unix, windows))))]
        return false;
    }

    fn emit(&self, function: &Function) -> MachineCode {
        Code::compile(function, *self).machine
    }
}

impl Code {
    /// Compiles a lowered function.
    ///
    /// # Panics
    ///
    /// Panics if the function is not [lowered](crate::passes::lower).
    pub fn compile(function: &Function, isa: Isa) -> Code {
        compile(function, isa, false)
    }

    /// Compiles a lowered function to the same code, except that each basic block starts by
    /// incrementing its own 64-bit counter.
    ///
    /// # Panics
    ///
    /// Panics if the function is not [lowered](crate::passes::lower).
    pub fn instrumented(function: &Function, isa: Isa) -> Code {
        compile(function, isa, true)
    }
}

fn compile(function: &Function, isa: Isa, instrument: bool) -> Code {
    let mut program = select::select(function, isa);
    schedule::schedule(&mut program);
    let allocated = allocate::allocate(&program, isa);
    let ports = (function.inputs.len(), function.outputs.len());
    encode::encode(&allocated, isa, ports, program.tables, instrument)
}

#[cfg(test)]
mod tests;
