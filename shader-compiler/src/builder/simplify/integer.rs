//! Integer arithmetic and comparisons; all rules are exact.

use super::Context;
use super::Form::{Apply, Const};
use super::{constant, form, merge_constants};
use crate::builder::value_tracking;
use crate::ir::{Op, Op::*, Type, Value};

pub(super) fn iadd<B: Context>(b: &mut B, x: Value, y: Value) -> Option<Value> {
    Some(match (form(b, x), form(b, y)) {
        (_, Const(0)) => x,
        (Apply(ISub, [v, w, _]), Const(_)) if constant(b, v).is_some() => {
            let c = b.op(IAdd, &[v, y]);
            b.op(ISub, &[c, w])
        }
        (Apply(ISub, [v, w, _]), _) if w == y => v,
        (_, Apply(ISub, [v, w, _])) if w == x => v,
        (_, Apply(ISub, [v, w, _])) if constant(b, v) == Some(0) => b.op(ISub, &[x, w]),
        (Apply(ISub, [v, w, _]), _) if constant(b, v) == Some(0) => b.op(ISub, &[y, w]),
        _ => return merge_constants(b, IAdd, x, y),
    })
}

pub(super) fn isub<B: Context>(b: &mut B, x: Value, y: Value) -> Option<Value> {
    Some(match (form(b, x), form(b, y)) {
        _ if x == y => b.i32(0),
        (_, Const(bits)) => {
            let minus = b.constant(Type::I32, bits.wrapping_neg());
            b.op(IAdd, &[x, minus])
        }
        (Apply(IAdd, [v, w, _]), _) if w == y => v,
        (Apply(IAdd, [v, w, _]), _) if v == y => w,
        (_, Apply(ISub, [v, w, _])) if v == x => w,
        (_, Apply(ISub, [v, w, _])) if constant(b, v) == Some(0) => b.op(IAdd, &[x, w]),
        (Const(_), Apply(IAdd, [w, c, _])) if constant(b, c).is_some() => {
            let c = b.op(ISub, &[x, c]);
            b.op(ISub, &[c, w])
        }
        (_, Apply(IMul, [quotient, c, _])) => return remainder(b, x, quotient, c),
        _ => return None,
    })
}

/// x − (x ÷ c) · c → x % c. Not for c = 0 or c = −1, where x % c is defined as 0.
fn remainder<B: Context>(b: &mut B, x: Value, quotient: Value, c: Value) -> Option<Value> {
    let Apply(op @ (SDiv | UDiv), [dividend, divisor, _]) = form(b, quotient) else { return None };
    let is_defined = !matches!(constant(b, c)?, 0 | u32::MAX);
    let op = if op == SDiv { SRem } else { URem };
    (is_defined && dividend == x && divisor == c).then(|| b.op(op, &[x, c]))
}

pub(super) fn imul<B: Context>(b: &mut B, x: Value, y: Value) -> Option<Value> {
    Some(match constant(b, y) {
        Some(0) => y,
        Some(1) => x,
        Some(u32::MAX) => {
            let zero = b.i32(0);
            b.op(ISub, &[zero, x])
        }
        Some(bits) if bits.is_power_of_two() => {
            let amount = b.i32(bits.trailing_zeros() as i32);
            b.op(Shl, &[x, amount])
        }
        _ => return merge_constants(b, IMul, x, y),
    })
}

pub(super) fn integer_min_max<B: Context>(b: &mut B, op: Op, x: Value, y: Value) -> Option<Value> {
    if x == y {
        return Some(x);
    }
    let range = |value| match op {
        SMin | SMax => value_tracking::signed(b.function(), value),
        _ => value_tracking::unsigned(b.function(), value),
    };
    let (x_range, y_range) = (range(x), range(y));
    let (x_below, y_below) = (x_range.hi <= y_range.lo, y_range.hi <= x_range.lo);
    let (is_x, is_y) =
        if matches!(op, SMin | UMin) { (x_below, y_below) } else { (y_below, x_below) };
    if is_x {
        return Some(x);
    }
    if is_y {
        return Some(y);
    }
    match (form(b, x), form(b, y)) {
        (Apply(inner, [v, w, _]), _) if inner == op && (y == v || y == w) => Some(x),
        (_, Apply(inner, [v, w, _])) if inner == op && (x == v || x == w) => Some(y),
        _ => merge_constants(b, op, x, y),
    }
}

pub(super) fn integer_compare<B: Context>(b: &mut B, op: Op, x: Value, y: Value) -> Option<Value> {
    if x == y {
        return Some(b.bool(op == IEq));
    }
    if let Some(known) = value_tracking::compare(b.function(), op, &[x, y]) {
        return Some(b.bool(known));
    }
    Some(match (op, form(b, x), form(b, y)) {
        (IEq, Apply(IAdd, [z, c, _]), Const(_)) if constant(b, c).is_some() => {
            let c = b.op(ISub, &[y, c]);
            b.op(IEq, &[z, c])
        }
        (IEq, Apply(Xor, [z, c, _]), Const(_)) if constant(b, c).is_some() => {
            let c = b.op(Xor, &[y, c]);
            b.op(IEq, &[z, c])
        }
        (IEq, Apply(ISub | Xor, [v, w, _]), Const(0)) => b.op(IEq, &[v, w]),
        (ULt, _, Const(1)) => {
            let zero = b.i32(0);
            b.op(IEq, &[x, zero])
        }
        (ULt, Const(0), _) => {
            let zero = b.op(IEq, &[y, x]);
            b.op(BNot, &[zero])
        }
        _ => return None,
    })
}

pub(super) fn divide<B: Context>(b: &mut B, op: Op, x: Value, y: Value) -> Option<Value> {
    let divisor = constant(b, y)?;
    let power = divisor.is_power_of_two().then(|| divisor.trailing_zeros() as i32);
    let is_remainder = matches!(op, URem | SRem);
    Some(match (op, divisor, power) {
        (_, 0 | 1, _) => {
            if is_remainder {
                b.i32(0)
            } else {
                x
            }
        }
        (SRem, u32::MAX, _) => b.i32(0),
        (SDiv, u32::MAX, _) => {
            let zero = b.i32(0);
            b.op(ISub, &[zero, x])
        }
        (UDiv, _, Some(n)) => {
            let n = b.i32(n);
            b.op(LShr, &[x, n])
        }
        (URem, ..) if power.is_some() => {
            let mask = b.constant(Type::I32, divisor - 1);
            b.op(And, &[x, mask])
        }
        // The shift rounds down, but negative quotients must round up: add 2ⁿ − 1 to negative
        // numbers first. Not for n = 31, since 2³¹ is negative.
        (SDiv | SRem, _, Some(n @ 1..=30)) => {
            let (n, top, rest) = (b.i32(n), b.i32(31), b.i32(32 - n));
            let sign = b.op(AShr, &[x, top]);
            let bias = b.op(LShr, &[sign, rest]);
            let sum = b.op(IAdd, &[x, bias]);
            let quotient = b.op(AShr, &[sum, n]);
            if op == SDiv {
                return Some(quotient);
            }
            let product = b.op(Shl, &[quotient, n]);
            b.op(ISub, &[x, product])
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::builder::simplify::testing::check_exact;

    #[test]
    fn exact_rules_apply_and_keep_every_bit() {
        check_exact(&[
            ("iadd(i, 0)", "i"),
            ("iadd(iadd(i, 3), 4)", "iadd(i, 7)"),
            ("iadd(isub(3, i), 4)", "isub(7, i)"),
            ("iadd(isub(i, j), j)", "i"),
            ("iadd(j, isub(i, j))", "i"),
            ("iadd(i, isub(0, j))", "isub(i, j)"),
            ("isub(i, i)", "0"),
            ("isub(i, 3)", "iadd(i, -3)"),
            ("isub(iadd(i, j), j)", "i"),
            ("isub(iadd(i, j), i)", "j"),
            ("isub(i, isub(i, j))", "j"),
            ("isub(i, isub(0, j))", "iadd(i, j)"),
            ("isub(9, iadd(i, 4))", "isub(5, i)"),
            ("isub(i, imul(sdiv(i, 3), 3))", "srem(i, 3)"),
            ("isub(i, imul(-7, udiv(i, -7)))", "urem(i, -7)"),
            ("imul(i, 0)", "0"),
            ("imul(i, 1)", "i"),
            ("imul(i, -1)", "isub(0, i)"),
            ("imul(i, 8)", "shl(i, 3)"),
            ("imul(imul(i, 3), 5)", "imul(i, 15)"),
            ("smin(i, i)", "i"),
            ("smin(i, 2147483647)", "i"),
            ("umax(i, 0)", "i"),
            ("umin(i, 0)", "0"),
            ("smax(smax(i, 3), 5)", "smax(i, 5)"),
            ("umin(umin(i, j), j)", "umin(i, j)"),
            ("slt(i, i)", "false"),
            ("ieq(i, i)", "true"),
            ("ult(i, 0)", "false"),
            ("slt(2147483647, i)", "false"),
            ("ult(and(i, 7), 8)", "true"),
            ("ult(i, 1)", "ieq(i, 0)"),
            ("ult(0, i)", "bnot(ieq(i, 0))"),
            ("ieq(iadd(i, 3), 5)", "ieq(i, 2)"),
            ("ieq(xor(i, 3), 5)", "ieq(i, 6)"),
            ("ieq(isub(i, j), 0)", "ieq(i, j)"),
            ("udiv(i, 8)", "lshr(i, 3)"),
            ("udiv(i, 0)", "i"),
            ("urem(i, 8)", "and(i, 7)"),
            ("urem(i, 1)", "0"),
            ("sdiv(i, -1)", "isub(0, i)"),
            ("sdiv(i, 8)", "ashr(iadd(i, lshr(ashr(i, 31), 29)), 3)"),
            ("srem(i, 8)", "isub(i, shl(ashr(iadd(i, lshr(ashr(i, 31), 29)), 3), 3))"),
            ("srem(i, 0)", "0"),
            ("srem(i, -1)", "0"),
        ]);
    }
}
