//! What messages say about faults.

use super::{Fault, FaultKind};
use crate::ir::Op;
use naga::MathFunction as Fun;

/// The function that is undefined for some arguments: an operation, or the built-in function that
/// it belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Division,
    Remainder,
    Smoothstep,
    Sqrt,
    InverseSqrt,
    Log,
    Pow,
    AsinAcos,
    Acosh,
    Atanh,
    Other,
}

impl Fault {
    fn operation(&self) -> Operation {
        match (self.builtin, self.op) {
            (Some(Fun::Pow), _) => Operation::Pow,
            (_, Op::Div | Op::SDiv | Op::UDiv) => Operation::Division,
            (_, Op::Rem | Op::SRem | Op::URem) => Operation::Remainder,
            (_, Op::Smoothstep) => Operation::Smoothstep,
            (_, Op::Sqrt) => Operation::Sqrt,
            (_, Op::Rsqrt) => Operation::InverseSqrt,
            (_, Op::Log | Op::Log2) => Operation::Log,
            (_, Op::Pow) => Operation::Pow,
            (_, Op::Asin | Op::Acos) => Operation::AsinAcos,
            (_, Op::Acosh) => Operation::Acosh,
            (_, Op::Atanh) => Operation::Atanh,
            _ => Operation::Other,
        }
    }

    /// What happens: `division by zero`.
    pub fn problem(&self) -> &'static str {
        use FaultKind::*;
        match (self.kind, self.operation()) {
            (DivisionByZero, Operation::Remainder) => "remainder of a division by zero",
            (DivisionByZero, Operation::Smoothstep) => "smoothstep with equal edges",
            (DivisionByZero, _) => "division by zero",
            (IntegerDivisionByZero, _) => "division of an integer by zero",
            (NotANumber, Operation::Sqrt) => "square root of a negative number",
            (NotANumber, Operation::InverseSqrt) => "inverse square root of a negative number",
            (NotANumber, Operation::Log) => "logarithm of a negative number",
            (NotANumber, Operation::Pow) => "power of a negative number",
            (NotANumber, Operation::AsinAcos) => "asin or acos of a number beyond 1",
            (NotANumber, Operation::Acosh) => "acosh of a number below 1",
            (NotANumber, Operation::Atanh) => "atanh of a number beyond 1",
            (NotANumber, Operation::Smoothstep) => "smoothstep with edges too far apart",
            (NotANumber, _) => "NaN",
            (Infinity, Operation::InverseSqrt) => "inverse square root of 0",
            (Infinity, Operation::Log) => "logarithm of 0",
            (Infinity, Operation::Pow) => "negative power of 0, or overflow",
            (Infinity, Operation::Atanh) => "atanh of 1",
            (Infinity, _) => "overflow",
        }
    }

    /// How an author can exclude it.
    pub fn remedy(&self) -> &'static str {
        use FaultKind::*;
        match (self.kind, self.operation()) {
            (DivisionByZero, Operation::Smoothstep) => "keep the edges apart",
            (_, Operation::Division | Operation::Remainder) => {
                "keep the divisor away from 0, as in `max(x, 1e-6)`"
            }
            (NotANumber, Operation::Sqrt | Operation::Pow) => "write `max(x, 0.0)`",
            (_, Operation::InverseSqrt | Operation::Log | Operation::Pow) => {
                "keep the argument away from 0, as in `max(x, 1e-6)`"
            }
            (_, Operation::AsinAcos) => "write `clamp(x, -1.0, 1.0)`",
            (_, Operation::Acosh) => "write `max(x, 1.0)`",
            (_, Operation::Atanh) => "keep the argument between -1 and 1",
            (NotANumber, _) => "exclude these values with an `if`",
            (_, _) => "limit the operands with `min`, or narrow the range of a parameter",
        }
    }
}
