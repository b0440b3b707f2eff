//! The steps of tapes.

/// What a step computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Code {
    /// Its argument.
    Copy,
    Add,
    Sub,
    Mul,
    Div,
    /// The product of its argument with itself.
    Square,
    Neg,
    Abs,
    Sqrt,
    Min,
    Max,
    Lt,
    Le,
    Select,
    /// A program for its arguments.
    Program,
    /// A program for arguments in the pool: the fields of its arguments are two numbers, their
    /// position in the pool and how many there are.
    Block,
}

/// Where an argument comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The result of a step.
    Slot(usize),
    /// An input of the function.
    Input(usize),
    /// A constant of the function.
    Constant(usize),
}

/// An argument: a [`Source`], packed into a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operand(pub u32);

/// The kinds of operands, in the upper two bits.
const INPUT: u32 = 1 << 30;
const CONSTANT: u32 = 2 << 30;
const KIND: u32 = 3 << 30;

impl Operand {
    pub(super) fn slot(index: u32) -> Operand {
        Operand(index)
    }

    pub(super) fn input(index: u32) -> Operand {
        Operand(INPUT | index)
    }

    pub(super) fn constant(index: u32) -> Operand {
        Operand(CONSTANT | index)
    }

    #[inline(always)]
    pub(super) fn source(self) -> Source {
        let index = (self.0 & !KIND) as usize;
        match self.0 & KIND {
            INPUT => Source::Input(index),
            CONSTANT => Source::Constant(index),
            _ => Source::Slot(index),
        }
    }
}

/// No choice, or no program.
pub(super) const NONE: u32 = u32::MAX;

/// The first argument of a minimum or maximum may be NaN.
pub(super) const FIRST_NAN: u8 = 1;
/// The same for the second one.
pub(super) const SECOND_NAN: u8 = 2;
/// The result is a float.
pub(super) const FLOAT: u8 = 4;

/// A step of a tape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub code: Code,
    /// Number of arguments.
    pub arity: u8,
    /// Whether bounds have no kernel.
    pub bounds_by_program: bool,
    /// A combination of [`FIRST_NAN`], [`SECOND_NAN`] and [`FLOAT`].
    pub flags: u8,
    /// Slot of the result, which is not the slot of an argument.
    pub dst: u32,
    pub args: [Operand; 3],
    /// Number of its choice in traces, or [`NONE`].
    pub choice: u32,
    /// Number of its program, or [`NONE`].
    pub program: u32,
}
