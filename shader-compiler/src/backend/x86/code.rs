//! Compiled code: machine code with its basic blocks.

use super::Isa;
use crate::backend::MachineCode;

/// x86-64 machine code of a function, with [instruction counts](Code::counts) and a
/// [disassembly](Code::listing).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    pub(super) isa: Isa,
    /// The constant pool, followed by the instructions.
    pub(super) machine: MachineCode,
    /// Start offsets of the basic blocks.
    pub(super) blocks: Vec<u32>,
}

impl Code {
    /// The instruction set.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// All bytes: the constant pool, followed by the instructions.
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
