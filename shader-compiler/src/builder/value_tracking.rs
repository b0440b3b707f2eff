//! Ranges of values, derived from the operations that define them and their operands. They suffice
//! to detect that a clamp has no effect, or that a counter stays below a limit.
//!
//! Queries run while a function is being built, so they look only a few operations deep. Static
//! bounds analysis ([`solve`](crate::analysis::solve)) covers all operations, but needs the
//! finished function.

use crate::ir::{Def, Function, Op, Type, Value};
use crate::range::Range;

/// Maximum number of operations on a path from a value to its operands.
const MAX_DEPTH: u32 = 4;

/// The floats that a value can take, except for NaN; −0 and +0 are not distinguished.
pub fn float(function: &Function, value: Value) -> Range<f32> {
    float_within(function, value, MAX_DEPTH)
}

fn float_within(function: &Function, value: Value, depth: u32) -> Range<f32> {
    let constant = |value| function.constant(value).map(f32::from_bits);
    if let Some(x) = constant(value) {
        return if x.is_nan() { Range::ALL } else { Range::singleton(x) };
    }
    let (Some((op, args)), Some(depth)) = (function.operation(value), depth.checked_sub(1)) else {
        return Range::ALL;
    };
    float_result(function, op, args, &mut |k| float_within(function, args[k], depth))
}

/// Maximum number of operations on a path for [`float_for_expansion`].
const MAX_EXPANSION_DEPTH: u32 = 8;

/// Like [`float`], but looks further, and knows the signs of products, quotients and roots. Rules of
/// the builder do not use it: they would change point shaders.
pub fn float_for_expansion(function: &Function, value: Value) -> Range<f32> {
    signed_float_within(function, value, MAX_EXPANSION_DEPTH)
}

fn signed_float_within(function: &Function, value: Value, depth: u32) -> Range<f32> {
    let (Some((op, args)), Some(depth)) = (function.operation(value), depth.checked_sub(1)) else {
        return float_within(function, value, 0);
    };
    let mut range = |k: usize| signed_float_within(function, args[k], depth);
    match op {
        Op::Sqrt => {
            let Range { lo, hi } = range(0);
            Range::new(lo.max(0.0).sqrt(), hi.max(0.0).sqrt())
        }
        // 1/−0 is −∞.
        Op::Div if !excludes_negative_zero(function, args[1]) => Range::ALL,
        Op::Mul | Op::Div if args[0] != args[1] => {
            let [a, b] = [range(0), range(1)];
            let [a, b] = [a, b].map(|x| [x.is_nonnegative(), x.is_nonpositive()]);
            match (a, b) {
                ([true, _], [true, _]) | ([_, true], [_, true]) => Range::NONNEGATIVE,
                ([true, _], [_, true]) | ([_, true], [true, _]) => Range::NONNEGATIVE.neg(),
                _ => Range::ALL,
            }
        }
        _ => float_result(function, op, args, &mut range),
    }
}

/// Whether a value cannot be −0.
fn excludes_negative_zero(function: &Function, value: Value) -> bool {
    let is_positive =
        |value: Value| function.constant(value).is_some_and(|bits| f32::from_bits(bits) > 0.0);
    if is_positive(value) {
        return true;
    }
    match function.operation(value) {
        Some((Op::Mul, &[a, b])) => a == b,
        Some((Op::Abs, _)) => true,
        // The sum of 0 and −0 is 0.
        Some((Op::Add, &[a, b])) => {
            excludes_negative_zero(function, a) || excludes_negative_zero(function, b)
        }
        Some((Op::Max, &[a, b])) => is_positive(a) || is_positive(b),
        _ => false,
    }
}

/// The range of the result of an operation on floats, given the ranges of its operands.
pub fn float_result(
    function: &Function,
    op: Op,
    args: &[Value],
    range: &mut dyn FnMut(usize) -> Range<f32>,
) -> Range<f32> {
    // A constant operand of min or max is a bound even if the other operand is NaN and the result
    // is the constant.
    let bound = |k: usize| function.constant(args[k]).map(f32::from_bits).filter(|x| !x.is_nan());
    match op {
        Op::Abs => range(0).abs(),
        Op::Neg => range(0).neg(),
        Op::Add => range(0).add(range(1)),
        Op::Sub => range(0).sub(range(1)),
        Op::Mul if args[0] == args[1] => Range::NONNEGATIVE,
        Op::Mul if range(0).is_nonnegative() && range(1).is_nonnegative() => Range::NONNEGATIVE,
        Op::Max => match (bound(0), bound(1)) {
            (Some(c), _) => Range::new(c, range(1).hi.max(c)),
            (_, Some(c)) => range(0).max(Range::singleton(c)),
            _ => {
                let [a, b] = [range(0), range(1)];
                Range::new(a.lo, a.hi.max(b.hi))
            }
        },
        Op::Min => match (bound(0), bound(1)) {
            (Some(c), _) => Range::new(range(1).lo.min(c), c),
            (_, Some(c)) => range(0).min(Range::singleton(c)),
            _ => {
                let [a, b] = [range(0), range(1)];
                Range::new(a.lo.min(b.lo), a.hi)
            }
        },
        Op::Select => range(1).hull(range(2)),
        _ => {
            let [lo, hi] = op.facts().range;
            Range::new(lo, hi)
        }
    }
}

/// All signed integers.
pub const SIGNED: Range<i64> = Range { lo: i32::MIN as i64, hi: i32::MAX as i64 };

/// All unsigned integers.
pub const UNSIGNED: Range<i64> = Range { lo: 0, hi: u32::MAX as i64 };

/// The integers that a value can take, read as signed.
pub fn signed(function: &Function, value: Value) -> Range<i64> {
    signed_within(function, value, MAX_DEPTH)
}

/// The integers that a value can take, read as unsigned.
pub fn unsigned(function: &Function, value: Value) -> Range<i64> {
    as_unsigned(signed(function, value))
}

/// Converts a range of signed integers to unsigned.
pub fn as_unsigned(range: Range<i64>) -> Range<i64> {
    if range.lo >= 0 {
        range
    } else if range.hi < 0 {
        range.add(Range::singleton(1 << 32))
    } else {
        UNSIGNED
    }
}

fn signed_within(function: &Function, value: Value, depth: u32) -> Range<i64> {
    if let Def::Const(bits) = function.def(value) {
        return Range::singleton(i64::from(bits as i32));
    }
    let (Some((op, args)), Some(depth)) = (function.operation(value), depth.checked_sub(1)) else {
        return SIGNED;
    };
    signed_result(function, op, args, &mut |k| signed_within(function, args[k], depth), &mut |k| {
        float_within(function, args[k], depth)
    })
}

/// The range of the integer result of an operation, given the ranges of its operands.
pub fn signed_result(
    function: &Function,
    op: Op,
    args: &[Value],
    range: &mut dyn FnMut(usize) -> Range<i64>,
    float: &mut dyn FnMut(usize) -> Range<f32>,
) -> Range<i64> {
    // A result that may overflow wraps around.
    let wrap = |range: Range<i64>| if SIGNED.includes(range) { range } else { SIGNED };
    let amount = |k: usize| function.constant(args[k]).map(|bits| bits & 31);
    let a = if function.ty(args[0]) == Type::I32 { range(0) } else { SIGNED };
    match op {
        Op::IAdd => wrap(a.add(range(1))),
        Op::ISub => wrap(a.sub(range(1))),
        Op::IMul => wrap(a.times(range(1))),
        Op::SMin => a.min(range(1)),
        Op::SMax => a.max(range(1)),
        // The result is no greater than an operand with a clear top bit.
        Op::UMin | Op::And => {
            let nonnegative = [a, range(1)].into_iter().filter(|range| range.is_nonnegative());
            match nonnegative.map(|range| range.hi).min() {
                Some(hi) => Range::new(0, hi),
                None => SIGNED,
            }
        }
        Op::LShr => match amount(1) {
            Some(n) if a.is_nonnegative() => Range::new(a.lo >> n, a.hi >> n),
            Some(n @ 1..) => Range::new(0, UNSIGNED.hi >> n),
            _ => SIGNED,
        },
        Op::AShr => match amount(1) {
            Some(n) => Range::new(a.lo >> n, a.hi >> n),
            None => SIGNED,
        },
        Op::Shl => match amount(1) {
            Some(n) => wrap(Range::new(a.lo << n, a.hi << n)),
            None => SIGNED,
        },
        Op::SDiv | Op::UDiv if a.is_nonnegative() => match function.constant(args[1]) {
            Some(n) if n as i32 > 0 => Range::new(a.lo / i64::from(n), a.hi / i64::from(n)),
            _ => SIGNED,
        },
        Op::URem => match function.constant(args[1]) {
            Some(n) if n as i32 > 0 => Range::new(0, i64::from(n) - 1),
            _ => SIGNED,
        },
        Op::CountOnes | Op::LeadingZeros | Op::TrailingZeros => Range::new(0, 32),
        // The conversion is monotone, and NaN becomes 0.
        Op::ToS32 => {
            let Range { lo, hi } = float(0);
            Range::new(i64::from(lo as i32), i64::from(hi as i32)).hull(Range::ZERO)
        }
        Op::ToU32 => {
            let high = i64::from(float(0).hi as u32);
            if high <= SIGNED.hi { Range::new(0, high) } else { SIGNED }
        }
        Op::Select => range(1).hull(range(2)),
        _ => SIGNED,
    }
}

/// The result of an integer comparison, if the ranges decide it.
pub fn compare(function: &Function, op: Op, args: &[Value]) -> Option<bool> {
    let less = |a: Range<i64>, b: Range<i64>| (a.hi < b.lo || a.lo >= b.hi).then_some(a.hi < b.lo);
    match op {
        Op::SLt => less(signed(function, args[0]), signed(function, args[1])),
        Op::ULt => less(unsigned(function, args[0]), unsigned(function, args[1])),
        Op::IEq => {
            let (a, b) = (signed(function, args[0]), signed(function, args[1]));
            (a.hi < b.lo || b.hi < a.lo).then_some(false)
        }
        _ => None,
    }
}
