//! Allocated code: instructions on registers and memory, with labels in place of addresses.

use super::machine::{Any, Opcode};

/// Number of a vector register.
pub(super) type Register = u8;

/// Memory that an instruction reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Mem {
    Input(u32),
    Output(u32),
    Const(u32),
    /// The greatest index of the table of this number.
    Last(u32),
    /// The slot of this variable, later of this number, on the stack.
    Slot(u32),
    /// A slot for moves in circles.
    Scratch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    Reg(Register),
    Mem(Mem),
}

/// Target of a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Label(pub u32);

/// An instruction on registers, or several that always go together.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asm {
    /// Nothing.
    Nop,
    Op {
        op: Opcode,
        dst: Register,
        a: Register,
        b: Place,
        c: Register,
        imm: u32,
    },
    Load {
        dst: Register,
        from: Mem,
    },
    Store {
        src: Register,
        to: Mem,
    },
    Move {
        dst: Register,
        src: Register,
    },
    /// From memory to memory, without a vector register.
    Copy {
        from: Mem,
        to: Mem,
    },
    Test {
        a: Register,
        b: Place,
    },
    Jump(Label),
    /// Jumps if the test found bits, or if it did not.
    Branch {
        any: Any,
        found: bool,
        to: Label,
    },
    Label(Label),
    /// What follows is the head of a loop, up to its middle; then comes the body, up to the end.
    /// They will be laid out the other way round, so that a round takes one jump.
    LoopHead,
    LoopBody {
        test: Any,
    },
    LoopEnd,
}

/// Allocated code.
#[derive(Debug)]
pub(super) struct Allocated {
    pub code: Vec<Asm>,
    /// Slots on the stack, of a register's size.
    pub slots: u32,
}
