//! Comparisons, minima and maxima of floats; all rules are exact.

use super::Context;
use super::Form::{Apply, Const};
use super::{NEG_ZERO, ZERO, constant, form, number};
use crate::builder::value_tracking;
use crate::ir::{Op, Op::*, Value};

/// Exact. `min` is b < a ? b : a, `max` is a < b ? b : a.
pub(super) fn min_max<B: Context>(b: &mut B, op: Op, x: Value, y: Value) -> Option<Value> {
    // Whether the result is always `value`, or always `limit`, unless they are equal.
    let is_within = |b: &B, value: Value, limit: f32| {
        let range = value_tracking::float(b.function(), value);
        if op == Min { range.hi <= limit } else { range.lo >= limit }
    };
    let is_beyond = |b: &B, value: Value, limit: f32| {
        let range = value_tracking::float(b.function(), value);
        if op == Min { range.lo >= limit } else { range.hi <= limit }
    };
    if x == y {
        return Some(x);
    }
    if let Some(limit) = number(b, y)
        && (limit.is_nan() || is_within(b, x, limit))
    {
        return Some(x);
    }
    if let Some(limit) = number(b, x)
        && (limit.is_nan() || is_beyond(b, y, limit))
    {
        return Some(x);
    }
    Some(match (form(b, x), form(b, y)) {
        (Apply(inner, [z, c, _]), Const(_)) if inner == op && constant(b, c).is_some() => {
            let c = b.op(op, &[c, y]);
            b.op(op, &[z, c])
        }
        (Const(_), Apply(inner, [c, z, _])) if inner == op && constant(b, c).is_some() => {
            let c = b.op(op, &[x, c]);
            b.op(op, &[c, z])
        }
        (Apply(inner, [v, w, _]), _) if inner == op && (y == v || y == w) => x,
        (_, Apply(inner, [v, ..])) if inner == op && x == v => y,
        (Apply(Neg, [x, ..]), Apply(Neg, [y, ..])) => {
            let value = b.op(if op == Min { Max } else { Min }, &[x, y]);
            b.op(Neg, &[value])
        }
        _ => return None,
    })
}

/// Exact: comparisons with NaN are false.
pub(super) fn compare<B: Context>(b: &mut B, op: Op, x: Value, y: Value) -> Option<Value> {
    if op == Lt && x == y {
        return Some(b.bool(false));
    }
    // −x op −y, in terms of x and y.
    let negated = |b: &mut B, x: Value, y: Value| {
        if op == Eq { b.op(op, &[x, y]) } else { b.op(op, &[y, x]) }
    };
    Some(match (form(b, x), form(b, y)) {
        (Apply(Neg, [x, ..]), Apply(Neg, [y, ..])) => negated(b, x, y),
        (Apply(Neg, [x, ..]), Const(_)) => {
            let c = b.op(Neg, &[y]);
            negated(b, x, c)
        }
        (Const(_), Apply(Neg, [y, ..])) => {
            let c = b.op(Neg, &[x]);
            negated(b, c, y)
        }
        (Apply(Abs, [x, ..]), Const(ZERO | NEG_ZERO)) if op == Eq => b.op(Eq, &[x, y]),
        (Const(bits), _) | (_, Const(bits)) => {
            let [x, y] = [x, y].map(|value| value_tracking::float(b.function(), value));
            let never = match op {
                Lt => x.lo >= y.hi,
                Le => x.lo > y.hi,
                _ => x.lo > y.hi || x.hi < y.lo,
            };
            if !never && !f32::from_bits(bits).is_nan() {
                return None;
            }
            b.bool(false)
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
            ("min(x, x)", "x"),
            ("max(x, x)", "x"),
            ("min(x, nan)", "x"),
            ("max(nan, x)", "nan"),
            ("min(x, inf)", "x"),
            ("max(abs(x), 0.0)", "abs(x)"),
            ("max(-1.0, mul(x, x))", "max(-1.0, mul(x, x))"),
            ("min(-1.0, mul(x, x))", "-1.0"),
            ("min(min(x, 3.0), 2.0)", "min(x, 2.0)"),
            ("max(max(x, 3.0), 2.0)", "max(x, 3.0)"),
            ("max(3.0, max(2.0, x))", "max(3.0, x)"),
            ("max(min(max(x, 0.0), 1.0), 0.0)", "min(max(x, 0.0), 1.0)"),
            ("min(min(x, y), y)", "min(x, y)"),
            ("min(min(x, y), x)", "min(x, y)"),
            ("max(x, max(x, y))", "max(x, y)"),
            ("min(neg(x), neg(y))", "neg(max(x, y))"),
            ("max(neg(x), neg(y))", "neg(min(x, y))"),
            ("lt(x, x)", "false"),
            ("lt(neg(x), neg(y))", "lt(y, x)"),
            ("le(neg(x), 2.0)", "le(-2.0, x)"),
            ("lt(2.0, neg(x))", "lt(x, -2.0)"),
            ("eq(neg(x), 2.0)", "eq(x, -2.0)"),
            ("eq(abs(x), 0.0)", "eq(x, 0.0)"),
            ("lt(mul(x, x), 0.0)", "false"),
            ("le(x, nan)", "false"),
            ("eq(max(x, 1.0), 0.5)", "false"),
            ("le(1.5, min(x, 1.0))", "false"),
        ]);
    }
}
