//! Boolean logic; all rules are exact.

use super::Context;
use super::Form::{Apply, Const};
use super::{FALSE, constant, form};
use crate::ir::{Op, Op::*, Type, Value};

pub(super) fn band<B: Context>(b: &mut B, x: Value, y: Value) -> Option<Value> {
    match form(b, y) {
        _ if x == y => Some(x),
        Const(FALSE) => Some(y),
        Const(_) => Some(x),
        _ if is_not(b, x, y) => Some(b.bool(false)),
        _ => absorb(b, BAnd, BOr, x, y),
    }
}

pub(super) fn bor<B: Context>(b: &mut B, x: Value, y: Value) -> Option<Value> {
    match form(b, y) {
        _ if x == y => Some(x),
        Const(FALSE) => Some(x),
        Const(_) => Some(y),
        _ if is_not(b, x, y) => Some(b.bool(true)),
        _ => absorb(b, BOr, BAnd, x, y),
    }
}

pub(super) fn bxor<B: Context>(b: &mut B, x: Value, y: Value) -> Option<Value> {
    Some(match (form(b, x), form(b, y)) {
        _ if x == y => b.bool(false),
        (_, Const(FALSE)) => x,
        (_, Const(_)) => b.op(BNot, &[x]),
        _ if is_not(b, x, y) => b.bool(true),
        (Apply(BNot, [x, ..]), _) => {
            let value = b.op(BXor, &[x, y]);
            b.op(BNot, &[value])
        }
        (_, Apply(BNot, [y, ..])) => {
            let value = b.op(BXor, &[x, y]);
            b.op(BNot, &[value])
        }
        _ => return None,
    })
}

pub(super) fn bnot<B: Context>(b: &mut B, x: Value) -> Option<Value> {
    let (op, y, z) = match form(b, x) {
        Apply(BNot, [x, ..]) => return Some(x),
        Apply(op @ (SLt | ULt), [y, z, _]) => (op, y, z),
        _ => return None,
    };
    // ¬(x < c) → c − 1 < x, and ¬(c < x) → x < c + 1. Nothing wraps, since comparisons with extreme
    // values have been folded.
    let next = |b: &mut B, c: u32, step: u32| b.constant(Type::I32, c.wrapping_add(step));
    match (constant(b, y), constant(b, z)) {
        (_, Some(c)) => {
            let c = next(b, c, u32::MAX);
            Some(b.op(op, &[c, y]))
        }
        (Some(c), _) => {
            let c = next(b, c, 1);
            Some(b.op(op, &[z, c]))
        }
        _ => None,
    }
}

pub(super) fn any<B: Context>(b: &B, x: Value) -> Option<Value> {
    matches!(form(b, x), Const(_) | Apply(Any, _)).then_some(x)
}

fn is_not<B: Context>(b: &B, x: Value, y: Value) -> bool {
    matches!(form(b, x), Apply(BNot, [z, ..]) if z == y)
        || matches!(form(b, y), Apply(BNot, [z, ..]) if z == x)
}

/// If `value` is the operation `op` on `arg` and another argument, returns the latter.
fn other_arg<B: Context>(b: &B, op: Op, value: Value, arg: Value) -> Option<Value> {
    match form(b, value) {
        Apply(inner, [v, w, _]) if inner == op && v == arg => Some(w),
        Apply(inner, [v, w, _]) if inner == op && w == arg => Some(v),
        _ => None,
    }
}

/// Absorption. With `outer` = & and `inner` = |: x & (x | y) → x, x & (¬x | y) → x & y, and
/// x & (x & y) → x & y.
fn absorb<B: Context>(b: &mut B, outer: Op, inner: Op, x: Value, y: Value) -> Option<Value> {
    for (x, y) in [(x, y), (y, x)] {
        if other_arg(b, outer, y, x).is_some() {
            return Some(y);
        }
        if other_arg(b, inner, y, x).is_some() {
            return Some(x);
        }
        if let Apply(op, [v, w, _]) = form(b, y)
            && op == inner
        {
            if is_not(b, x, v) {
                return Some(b.op(outer, &[x, w]));
            }
            if is_not(b, x, w) {
                return Some(b.op(outer, &[x, v]));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::builder::simplify::testing::check_exact;

    #[test]
    fn exact_rules_apply_and_keep_every_bit() {
        check_exact(&[
            ("band(p, p)", "p"),
            ("band(p, true)", "p"),
            ("band(p, false)", "false"),
            ("band(p, bnot(p))", "false"),
            ("band(p, band(q, p))", "band(q, p)"),
            ("band(p, bor(q, p))", "p"),
            ("band(p, bor(bnot(p), q))", "band(p, q)"),
            ("bor(p, p)", "p"),
            ("bor(p, true)", "true"),
            ("bor(p, false)", "p"),
            ("bor(p, bnot(p))", "true"),
            ("bor(p, band(q, p))", "p"),
            ("bor(bnot(p), band(q, p))", "bor(bnot(p), q)"),
            ("bxor(p, p)", "false"),
            ("bxor(p, false)", "p"),
            ("bxor(p, true)", "bnot(p)"),
            ("bxor(p, bnot(p))", "true"),
            ("bxor(bnot(p), q)", "bnot(bxor(p, q))"),
            ("bnot(bnot(p))", "p"),
            ("bnot(slt(i, 5))", "slt(4, i)"),
            ("bnot(ult(5, i))", "ult(i, 6)"),
            ("any(any(p))", "any(p)"),
            ("any(true)", "true"),
        ]);
    }
}
