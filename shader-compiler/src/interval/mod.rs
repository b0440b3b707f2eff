//! Operations on intervals: what becomes of an operation whose operands are intervals (Clarberg et
//! al. 2010 §3, §4.1).
//!
//! A *form* of an operation gives the ends of its result from the ends of its operands. It is a
//! sequence of operations on numbers, written once and generic over [`Emit`]: run on words it is
//! the meaning of the interval operation, run on a builder it is the code. Each form is a list
//! of *cases*, the cheapest first, with what must be known of the operands at compile time
//! ([`Interval::known`]); the last one is general. Where nothing is known, the general case is
//! taken, which makes naive code. **All cases of a form give the same bits**, NaN and the sign of
//! zero aside.
//!
//! The forms keep the containment rule (§3.3): for operands x ∈ X, the float that the operation
//! returns lies within the ends, with no tolerance. Ends come from the very operations that the
//! point shader runs, whose rounding keeps order; where an elementary function does not, its ends
//! are widened by as much as its [facts](crate::ir::facts) say, which is measured
//! (`math/TABLE.md`). Booleans are intervals too, with false < true: `lo` says that all are true,
//! `hi` that some may be. Integers are ordered as signed.
//!
//! # NaN
//!
//! Bounding code handles NaN in one of three [ways](Nan) (§4.7):
//!
//! - *Suppress.* Ends are never NaN; an operand that is no interval, and NaN, is given as 0.
//!   Operands are cut to where an operation is defined, and 0 · ∞ is 0. A result x that is a number
//!   is within the ends, also where it comes from an operation that passes over a NaN, as `max`
//!   does: such operations consult [`Facts::nan`].
//! - *Propagate.* Ends may be NaN, which says nothing of that end. If an operation returns NaN for
//!   some operands, then `lo` is −∞ or NaN and `hi` is +∞ or NaN, or a condition in
//!   [`Forms::clean`] is false; and so where an end is NaN. Operations that would pass over such
//!   ends test them.
//! - *Ignore.* As propagate, without tests: bounds hold where no NaN is met on the way, at the ends
//!   of any value.

mod arithmetic;
mod bits;
mod compare;
mod conversion;
mod elementary;
mod expansion;
mod guards;
mod integer;
mod power;
mod rounding;
#[cfg(test)]
mod testing;
mod texture;
mod trigonometric;

use crate::analysis::Bounds;
use crate::ir::{Emit, Op};

/// What bounding code does about NaN (Clarberg et al. 2010 §4.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nan {
    /// If the point shader returns NaN anywhere in the box, the bound is NaN or infinite.
    Propagate,
    /// Bounds are never NaN, and hold for all results that are not.
    #[default]
    Suppress,
    /// Bounds hold where no NaN is met on the way; elsewhere they are anything.
    Ignore,
}

/// What is known for certain of a float beside its ends, on which bounds depend. It is the same for
/// naive and optimized code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Whether the value may be NaN.
    pub nan: bool,
    /// Whether the value may be −0, so that a reciprocal is −∞. Where it may not, no end of it is
    /// −0 either.
    pub negative_zero: bool,
    /// Whether it is no interval, so that even the sign of zero is that of the ends.
    pub number: bool,
}

/// A value of the point shader as the bounding shader has it: its ends, two handles that are the
/// same where it is no interval.
#[derive(Clone, Copy, Debug)]
pub struct Interval<V> {
    /// Lower end.
    pub lo: V,
    /// Upper end.
    pub hi: V,
    /// What selection of cases may rely on: the bounds of the value at compile time, and of its
    /// ends; everything in naive code.
    pub known: Bounds,
    /// What bounds depend on.
    pub facts: Facts,
}

impl<V: PartialEq> Interval<V> {
    /// Whether it is one number, whatever the inputs are.
    pub fn is_number(&self) -> bool {
        self.lo == self.hi
    }
}

/// Writes forms into code.
#[derive(Debug)]
pub struct Forms<'e, E: Emit> {
    /// Where code goes.
    pub emit: &'e mut E,
    /// What is done about NaN.
    pub nan: Nan,
    /// Whether the two operands are one value of the point shader, so that their members are equal,
    /// not only their ends.
    pub same: bool,
    /// Conditions that all hold if no NaN was met. Only where NaN propagates.
    pub clean: Vec<E::Value>,
    /// The case that was selected last.
    pub case: &'static str,
}

impl<E: Emit<Value: PartialEq>> Forms<'_, E> {
    /// The ends of an operation's result. Reading operations have their first argument, a constant,
    /// as an interval of no width.
    pub fn apply(&mut self, op: Op, args: &[Interval<E::Value>]) -> [E::Value; 2] {
        // Where an operation has fewer operands, the rest is not looked at.
        let [a, b, c] = [0, 1, 2].map(|k| args.get(k).unwrap_or(&args[0]));
        match op {
            Op::Add => self.add(a, b),
            Op::Sub => self.sub(a, b),
            Op::Mul => self.mul(a, b),
            Op::Div => self.div(a, b),
            Op::Neg => self.neg(a),
            Op::Abs => self.abs(a),
            Op::Sqrt => self.sqrt(a),
            Op::Min => self.min(a, b),
            Op::Max => self.max(a, b),
            Op::Floor | Op::Ceil | Op::Trunc | Op::Round => self.whole(op, a),
            Op::Sign => self.sign(a),
            Op::Fract => self.fract(a),
            Op::Step => self.step(a, b),
            Op::Smoothstep => self.smoothstep(a, b, c),
            Op::Rsqrt => self.rsqrt(a),
            Op::Pow => self.pow(a, b),
            Op::Cosh => self.cosh(a),
            Op::Sin | Op::Cos => self.wave(op, a),
            Op::Tan => self.tan(a),
            Op::Atan2 => self.atan2(a, b),
            Op::Lt | Op::Le => self.less(op, a, b),
            Op::Eq => self.equal(a, b),
            Op::SLt => self.less_signed(a, b),
            Op::ULt => self.less_unsigned(a, b),
            Op::IEq => self.equal_integers(a, b),
            Op::BAnd | Op::BOr => self.sides(op, &[a, b]),
            Op::Any => self.sides(op, &[a]),
            Op::BXor => self.differ(a, b),
            Op::BNot => self.not(a),
            Op::Select => self.select(a, b, c),
            Op::IAdd => self.integer_sum(op, a, [b.lo, b.hi], b),
            Op::ISub => self.integer_sum(op, a, [b.hi, b.lo], b),
            Op::IMul => self.integer_product(a, b),
            Op::SMin | Op::SMax => self.sides(op, &[a, b]),
            Op::UMin | Op::UMax => self.unsigned_sides(op, a, b),
            Op::SDiv => self.signed_quotient(a, b),
            Op::UDiv => self.unsigned_quotient(a, b),
            Op::SRem => self.signed_remainder(a, b),
            Op::URem => self.unsigned_remainder(a, b),
            Op::And => self.and(a, b),
            Op::Or | Op::Xor => self.mixed(op, a, b),
            Op::Shl => self.shift_up(a, b),
            Op::LShr => self.shift_down(a, b),
            Op::AShr => self.shift_signed(a, b),
            Op::CountOnes | Op::TrailingZeros => self.of_single(op, a, [0, 32]),
            Op::ReverseBits => self.of_single(op, a, [i32::MIN, i32::MAX]),
            Op::LeadingZeros => self.leading_zeros(a),
            Op::Bits => self.bits(a),
            Op::Float => self.float(a),
            Op::FromS32 => self.sides(op, &[a]),
            Op::FromU32 => self.float_of_unsigned(a),
            Op::Load => self.load(a, b),
            Op::Texel => self.texel(a, b, c),
            Op::Fetch => self.fetch(a, b, c),
            Op::Chop => self.chop(a),
            Op::ToS32 => self.signed_of_float(a),
            Op::ToU32 => self.unsigned_of_float(a),
            Op::Exp | Op::Exp2 | Op::Log | Op::Log2 => self.elementary(op, a),
            Op::Asin | Op::Acos | Op::Atan => self.elementary(op, a),
            Op::Sinh | Op::Tanh | Op::Asinh | Op::Acosh | Op::Atanh => self.elementary(op, a),
            Op::Rem => self.expanded(op, args),
        }
    }
}
