//! Code after register allocation: instructions on registers and memory, with labels in place of
//! addresses.

use super::machine::{Opcode, TestOp};

/// Number of a SIMD register.
pub(super) type Register = u8;

/// Memory that an instruction reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Mem {
    Input(u32),
    Output(u32),
    Const(u32),
    /// The last valid index into the lookup table of this number, in all lanes.
    Last(u32),
    /// The spill slot of this vreg; after slots are assigned, the slot with this number.
    Slot(u32),
    /// A scratch slot that breaks cycles of parallel moves.
    Scratch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Location {
    Reg(Register),
    Mem(Mem),
}

/// Target of a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Label(pub u32);

/// An instruction, or a fixed sequence of them.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asm {
    /// No instruction; layout removes it.
    Nop,
    Op {
        op: Opcode,
        dst: Register,
        a: Register,
        b: Location,
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
    /// Copies from memory to memory without a SIMD register.
    Copy {
        from: Mem,
        to: Mem,
    },
    Test {
        a: Register,
        b: Location,
    },
    Jump(Label),
    /// Jumps if the outcome of the test is `on`; see [`TestOp`].
    Branch {
        test: TestOp,
        on: bool,
        to: Label,
    },
    Label(Label),
    /// Starts the head of a loop, which extends to `LoopBody`. The body extends from there to
    /// `LoopEnd`. Layout moves the body before the head, so that an iteration takes one jump.
    LoopHead,
    LoopBody {
        test: TestOp,
    },
    LoopEnd,
}

/// Code after register allocation.
#[derive(Debug)]
pub(super) struct Allocated {
    pub code: Vec<Asm>,
    /// Number of spill slots, each as large as a SIMD register.
    pub slots: u32,
}
