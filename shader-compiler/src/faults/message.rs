//! What messages say about faults.

use super::{Fault, FaultKind};
use crate::ir::Op;
use naga::MathFunction;

impl Fault {
    /// What happens: `division by zero`.
    pub fn problem(&self) -> &'static str {
        use FaultKind::*;
        match (self.kind, self.op, self.builtin) {
            (DivisionByZero, _, Some(MathFunction::Normalize)) => "normalize of a zero vector",
            (DivisionByZero, Op::Rem, _) => "remainder of a division by zero",
            (DivisionByZero, Op::Smoothstep, _) => "smoothstep with equal edges",
            (DivisionByZero, _, _) => "division by zero",
            (IntegerDivisionByZero, _, _) => "division of an integer by zero",
            (NotANumber, Op::Sqrt, _) => "square root of a negative number",
            (NotANumber, Op::Rsqrt, _) => "inverse square root of a negative number",
            (NotANumber, Op::Log | Op::Log2, _) => "logarithm of a negative number",
            (NotANumber, Op::Pow, _) => "power of a negative number",
            (NotANumber, Op::Asin, _) => "asin of a number beyond 1",
            (NotANumber, Op::Acos, _) => "acos of a number beyond 1",
            (NotANumber, Op::Acosh, _) => "acosh of a number below 1",
            (NotANumber, Op::Atanh, _) => "atanh of a number beyond 1",
            (NotANumber, _, _) => "NaN",
            (Infinity, Op::Rsqrt, _) => "inverse square root of 0",
            (Infinity, Op::Log | Op::Log2, _) => "logarithm of 0",
            (Infinity, Op::Pow, _) => "negative power of 0, or overflow",
            (Infinity, Op::Atanh, _) => "atanh of 1",
            (Infinity, _, _) => "overflow",
        }
    }

    /// How an author can exclude it.
    pub fn remedy(&self) -> &'static str {
        use FaultKind::*;
        match (self.kind, self.op, self.builtin) {
            (DivisionByZero, _, Some(MathFunction::Normalize)) => {
                "return early where the vector is zero"
            }
            (DivisionByZero, Op::Smoothstep, _) => "keep the edges apart",
            (DivisionByZero | IntegerDivisionByZero, _, _) => {
                "keep the divisor from 0 with `max`, or exclude 0 from the parameter's range"
            }
            (NotANumber, Op::Sqrt | Op::Pow | Op::Log | Op::Log2, _) => {
                "clamp it with `max(x, 0.0)`"
            }
            (NotANumber | Infinity, Op::Rsqrt, _) | (Infinity, Op::Log | Op::Log2 | Op::Pow, _) => {
                "keep it from 0 with `max`"
            }
            (NotANumber, Op::Asin | Op::Acos, _) => "clamp it with `clamp(x, -1.0, 1.0)`",
            (NotANumber, Op::Acosh, _) => "clamp it with `max(x, 1.0)`",
            (NotANumber | Infinity, Op::Atanh, _) => "clamp it to less than 1",
            (NotANumber, _, _) => "exclude these values with an `if`",
            (Infinity, _, _) => "limit it with `min`, or narrow the parameter's range",
        }
    }
}
