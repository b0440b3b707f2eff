//! Interval lowerings: scalar code that computes an operation on intervals (Clarberg et al. 2010
//! §3, §4.1).
//!
//! The *lowering* of an operation computes the endpoints of its result from the endpoints of its
//! operands. It is a sequence of scalar operations, written once and generic over [`Emit`]: the
//! constant evaluator computes the interval operation at once, a builder emits its code. Each
//! lowering is a list of *cases*, the cheapest first, each with a precondition on static bounds of
//! the operands ([`Interval::known`]); the last case is general. Naive code has no known facts and
//! thus uses the general case. **All cases of a lowering give the same bits**, except for NaN and
//! the sign of zero.
//!
//! Lowerings satisfy the containment rule (§3.3): for operands x ∈ X, the float that the operation
//! returns lies within the endpoints, with no tolerance. Endpoints are computed by the same
//! operations that the point shader runs; rounding is monotone, so it keeps their order. If the
//! implementation of an elementary function is not quite monotone, endpoints are widened by the
//! amount in its [facts](crate::ir::facts), which is measured (`math/TABLE.md`). Booleans are
//! intervals, too, with false < true: `lo` means that all members are true, `hi` that some may be.
//! Integers are ordered as signed.
//!
//! # NaN
//!
//! Bounding code handles NaN in one of three [modes](Nan) (§4.7):
//!
//! - *Suppress.* Endpoints are never NaN; a scalar operand that is NaN is replaced by 0. Operands
//!   are clamped to the domain of the operation, and 0 · ∞ is 0. A result x that is not NaN is
//!   within the endpoints, even if it comes from an operation that ignores a NaN operand, as `max`
//!   does: such operations consult [`Facts::nan`].
//! - *Propagate.* Endpoints may be NaN, which leaves that side unbounded. If an operation returns
//!   NaN for some operands, then `lo` is −∞ or NaN and `hi` is +∞ or NaN, or a condition in
//!   [`OpLowering::nan_free`] is false. The same holds if an endpoint is NaN. Operations that would
//!   ignore such endpoints test them.
//! - *Ignore.* Like propagate, without tests: bounds hold if no endpoint of any value on the path
//!   is NaN.

mod arithmetic;
mod bits;
pub mod bounds;
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

use crate::ir::{Emit, Op};
pub use bounds::{Bools, Bounds, Floats, Ints, Pieces};

/// How bounding code handles NaN (Clarberg et al. 2010 §4.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nan {
    /// If the point shader returns NaN anywhere in the box, the bound is NaN or infinite.
    Propagate,
    /// Bounds are never NaN, and hold for all results that are not NaN.
    #[default]
    Suppress,
    /// Bounds hold if no NaN occurs on the path that is executed; otherwise they are arbitrary.
    Ignore,
}

/// Facts about a float, besides its endpoints, on which bounds depend. They are the same in naive
/// and optimized code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Whether the value may be NaN.
    pub nan: bool,
    /// Whether the value may be −0, so that its reciprocal is −∞. If not, neither endpoint is −0.
    pub negative_zero: bool,
    /// Whether it is a scalar, not an interval. Then the sign of a zero endpoint is the sign of the
    /// value.
    pub singleton: bool,
}

/// A value of the point shader in the bounding shader: its endpoints, which are the same handle for
/// a scalar.
#[derive(Clone, Copy, Debug)]
pub struct Interval<V> {
    /// Lower endpoint.
    pub lo: V,
    /// Upper endpoint.
    pub hi: V,
    /// Static bounds on the value and its endpoints, for case selection; unbounded in naive code.
    pub known: Bounds,
    /// Facts on which bounds depend.
    pub facts: Facts,
}

impl<V: PartialEq> Interval<V> {
    /// Whether both endpoints are the same value, so that it is a singleton for all inputs.
    pub fn is_singleton(&self) -> bool {
        self.lo == self.hi
    }
}

/// Lowers operations on intervals to scalar operations.
#[derive(Debug)]
pub struct OpLowering<'e, E: Emit> {
    /// Where scalar operations are emitted.
    pub emit: &'e mut E,
    /// How NaN is handled.
    pub nan: Nan,
    /// Whether the two operands are one value of the point shader, so that not only their endpoints
    /// but also their members are equal.
    pub same: bool,
    /// Conditions that all hold if no NaN occurred; empty unless NaN propagates.
    pub nan_free: Vec<E::Value>,
    /// The case that was selected last.
    pub case: &'static str,
}

impl<E: Emit<Value: PartialEq>> OpLowering<'_, E> {
    /// Emits the endpoints of an operation's result. The first argument of a load is a constant,
    /// passed as a singleton.
    pub fn apply(&mut self, op: Op, args: &[Interval<E::Value>]) -> [E::Value; 2] {
        // Operations with fewer operands do not use all three.
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
            Op::Floor | Op::Ceil | Op::Trunc | Op::Round => self.round_to_integral(op, a),
            Op::Sign => self.sign(a),
            Op::Fract => self.fract(a),
            Op::Step => self.step(a, b),
            Op::Smoothstep => self.smoothstep(a, b, c),
            Op::Rsqrt => self.rsqrt(a),
            Op::Pow => self.pow(a, b),
            Op::Cosh => self.cosh(a),
            Op::Sin | Op::Cos => self.sin_cos(op, a),
            Op::Tan => self.tan(a),
            Op::Atan2 => self.atan2(a, b),
            Op::Lt | Op::Le => self.less(op, a, b),
            Op::Eq => self.equal(a, b),
            Op::SLt => self.less_signed(a, b),
            Op::ULt => self.less_unsigned(a, b),
            Op::IEq => self.equal_integers(a, b),
            Op::BAnd | Op::BOr => self.endpointwise(op, &[a, b]),
            Op::Any => self.endpointwise(op, &[a]),
            Op::BXor => self.xor_bools(a, b),
            Op::BNot => self.not(a),
            Op::Select => self.select(a, b, c),
            Op::IAdd => self.integer_sum(op, a, [b.lo, b.hi], b),
            Op::ISub => self.integer_sum(op, a, [b.hi, b.lo], b),
            Op::IMul => self.integer_product(a, b),
            Op::SMin | Op::SMax => self.endpointwise(op, &[a, b]),
            Op::UMin | Op::UMax => self.unsigned_endpointwise(op, a, b),
            Op::SDiv => self.signed_quotient(a, b),
            Op::UDiv => self.unsigned_quotient(a, b),
            Op::SRem => self.signed_remainder(a, b),
            Op::URem => self.unsigned_remainder(a, b),
            Op::And => self.and(a, b),
            Op::Or | Op::Xor => self.or_xor(op, a, b),
            Op::Shl => self.shift_left(a, b),
            Op::LShr => self.shift_right_logical(a, b),
            Op::AShr => self.shift_right_arithmetic(a, b),
            Op::CountOnes | Op::TrailingZeros => self.exact_if_singleton(op, a, [0, 32]),
            Op::ReverseBits => self.exact_if_singleton(op, a, [i32::MIN, i32::MAX]),
            Op::LeadingZeros => self.leading_zeros(a),
            Op::Bits => self.bits_of_float(a),
            Op::Float => self.float_from_bits(a),
            Op::FromS32 => self.endpointwise(op, &[a]),
            Op::FromU32 => self.unsigned_to_float(a),
            Op::Load => self.load(a, b),
            Op::Texel => self.texel(a, b, c),
            Op::Fetch => self.fetch(a, b, c),
            Op::TruncateToInt => self.truncate_to_int(a),
            Op::ToS32 => self.float_to_signed(a),
            Op::ToU32 => self.float_to_unsigned(a),
            Op::Exp | Op::Exp2 | Op::Log | Op::Log2 => self.elementary(op, a),
            Op::Asin | Op::Acos | Op::Atan => self.elementary(op, a),
            Op::Sinh | Op::Tanh | Op::Asinh | Op::Acosh | Op::Atanh => self.elementary(op, a),
            Op::Rem => self.lower_expansion(op, args),
        }
    }
}
