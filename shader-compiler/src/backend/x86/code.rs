//! The result of compilation: machine code with its basic blocks.

use super::Isa;
use crate::backend::MachineCode;

/// x86-64 machine code of a function, which can be [counted](Code::counts) and
/// [printed](Code::listing).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    pub(super) isa: Isa,
    /// A pool of constants, then instructions.
    pub(super) machine: MachineCode,
    /// Offsets of basic blocks.
    pub(super) blocks: Vec<u32>,
}

impl Code {
    /// The instruction set.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// All bytes: a pool of constants, then instructions.
    pub fn bytes(&self) -> &[u8] {
        &self.machine.bytes
    }

    /// Offset of the first instruction.
    pub fn entry(&self) -> usize {
        self.machine.entry
    }

    /// Size of the stack frame in bytes.
    pub fn frame(&self) -> usize {
        self.machine.frame
    }
}

impl AsRef<MachineCode> for Code {
    fn as_ref(&self) -> &MachineCode {
        &self.machine
    }
}
