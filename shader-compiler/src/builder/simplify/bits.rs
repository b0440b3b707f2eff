//! Bitwise operations and shifts; all rules are exact.

use super::Context;
use super::Form::{Apply, Const};
use super::{constant, form, merge_constants};
use crate::ir::{Op, Op::*, Type, Value};

pub(super) fn and<B: Context>(b: &mut B, x: Value, y: Value) -> Option<Value> {
    match form(b, y) {
        _ if x == y => Some(x),
        Const(0) => Some(y),
        Const(u32::MAX) => Some(x),
        _ => merge_constants(b, And, x, y),
    }
}

pub(super) fn or<B: Context>(b: &mut B, x: Value, y: Value) -> Option<Value> {
    match form(b, y) {
        _ if x == y => Some(x),
        Const(0) => Some(x),
        Const(u32::MAX) => Some(y),
        _ => merge_constants(b, Or, x, y),
    }
}

pub(super) fn xor<B: Context>(b: &mut B, x: Value, y: Value) -> Option<Value> {
    match form(b, y) {
        _ if x == y => Some(b.i32(0)),
        Const(0) => Some(x),
        _ => merge_constants(b, Xor, x, y),
    }
}

pub(super) fn shift<B: Context>(b: &mut B, op: Op, x: Value, y: Value) -> Option<Value> {
    let Some(amount) = constant(b, y) else {
        return match (form(b, x), form(b, y)) {
            (Const(0), _) => Some(x),
            (Const(u32::MAX), _) if op == AShr => Some(x),
            (_, Apply(And, [n, mask, _]))
                if constant(b, mask).is_some_and(|mask| mask & 31 == 31) =>
            {
                Some(b.op(op, &[x, n]))
            }
            _ => None,
        };
    };
    if amount == 0 {
        return Some(x);
    }
    if amount > 31 {
        let amount = b.i32((amount & 31) as i32);
        return Some(b.op(op, &[x, amount]));
    }
    let Apply(inner, [z, n, _]) = form(b, x) else { return None };
    let n = constant(b, n)? & 31;
    match (inner, op) {
        _ if inner == op => {
            let sum = if op == AShr { (n + amount).min(31) } else { n + amount };
            if sum > 31 {
                return Some(b.i32(0));
            }
            let sum = b.i32(sum as i32);
            Some(b.op(op, &[z, sum]))
        }
        // Opposite shifts by the same amount are a mask.
        (Shl, LShr) | (LShr, Shl) if n == amount => {
            let mask = b.constant(Type::I32, if op == LShr { !0 >> n } else { !0 << n });
            Some(b.op(And, &[z, mask]))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::builder::simplify::testing::check_exact;

    #[test]
    fn exact_rules_apply_and_keep_every_bit() {
        check_exact(&[
            ("and(i, i)", "i"),
            ("and(i, 0)", "0"),
            ("and(i, -1)", "i"),
            ("and(and(i, 12), 6)", "and(i, 4)"),
            ("or(i, 0)", "i"),
            ("or(i, -1)", "-1"),
            ("xor(i, i)", "0"),
            ("xor(xor(i, 5), 3)", "xor(i, 6)"),
            ("shl(i, 0)", "i"),
            ("shl(i, 33)", "shl(i, 1)"),
            ("shl(0, i)", "0"),
            ("ashr(-1, i)", "-1"),
            ("lshr(i, and(j, 31))", "lshr(i, j)"),
            ("shl(shl(i, 3), 4)", "shl(i, 7)"),
            ("shl(shl(i, 30), 4)", "0"),
            ("ashr(ashr(i, 30), 4)", "ashr(i, 31)"),
            ("lshr(shl(i, 8), 8)", "and(i, 16777215)"),
            ("shl(lshr(i, 8), 8)", "and(i, -256)"),
        ]);
    }
}
