//! Selects: between bools, nested selects, and selects that compute a minimum, maximum or absolute
//! value.

use super::Context;
use super::Form::{Apply, Const};
use super::{FALSE, NEG_ZERO, TRUE, ZERO, constant, form};
use crate::ir::{Op::*, Type, Value};

pub(super) fn select<B: Context>(
    b: &mut B,
    relaxed: bool,
    c: Value,
    t: Value,
    e: Value,
) -> Option<Value> {
    if t == e {
        return Some(t);
    }
    match form(b, c) {
        Const(FALSE) => return Some(e),
        Const(_) => return Some(t),
        Apply(BNot, [c, ..]) => return Some(b.op(Select, &[c, e, t])),
        _ => {}
    }
    if b.function().ty(t) == Type::Bool
        && let Some(value) = select_bool(b, c, t, e)
    {
        return Some(value);
    }
    Some(match (form(b, t), form(b, e)) {
        (Apply(Select, [d, v, _]), _) if d == c => b.op(Select, &[c, v, e]),
        (_, Apply(Select, [d, _, w])) if d == c => b.op(Select, &[c, t, w]),
        (Apply(Select, [d, v, w]), _) if w == e => {
            let both = b.op(BAnd, &[c, d]);
            b.op(Select, &[both, v, e])
        }
        (_, Apply(Select, [d, v, w])) if v == t => {
            let either = b.op(BOr, &[c, d]);
            b.op(Select, &[either, t, w])
        }
        _ => return select_by_comparison(b, relaxed, c, t, e),
    })
}

fn select_bool<B: Context>(b: &mut B, c: Value, t: Value, e: Value) -> Option<Value> {
    Some(match (form(b, t), form(b, e)) {
        (Const(TRUE), _) => b.op(BOr, &[c, e]),
        (_, Const(FALSE)) => b.op(BAnd, &[c, t]),
        (Const(FALSE), _) => {
            let not = b.op(BNot, &[c]);
            b.op(BAnd, &[not, e])
        }
        (_, Const(TRUE)) => {
            let not = b.op(BNot, &[c]);
            b.op(BOr, &[not, t])
        }
        _ if c == t => b.op(BOr, &[c, e]),
        _ if c == e => b.op(BAnd, &[c, t]),
        _ => return None,
    })
}

/// Selects that compute a minimum, maximum or absolute value.
fn select_by_comparison<B: Context>(
    b: &mut B,
    relaxed: bool,
    c: Value,
    t: Value,
    e: Value,
) -> Option<Value> {
    let Apply(op, [p, q, _]) = form(b, c) else { return None };
    let (same_order, opposite_order) = ((t, e) == (p, q), (t, e) == (q, p));
    let is_zero = |value| matches!(constant(b, value), Some(ZERO | NEG_ZERO));
    let negates = |value, x| matches!(form(b, value), Apply(Neg, [z, ..]) if z == x);
    Some(match op {
        // Exact; for `le` only if there is no NaN.
        Lt | Le if same_order && (op == Lt || relaxed) => b.op(Min, &[q, p]),
        Lt | Le if opposite_order && (op == Lt || relaxed) => b.op(Max, &[p, q]),
        // x < 0 ? −x : x, and 0 < x ? x : −x.
        Lt | Le
            if relaxed
                && ((is_zero(q) && e == p && negates(t, p))
                    || (is_zero(p) && t == q && negates(e, q))) =>
        {
            let x = if is_zero(q) { p } else { q };
            b.op(Abs, &[x])
        }
        // Exact.
        SLt if same_order => b.op(SMin, &[p, q]),
        SLt if opposite_order => b.op(SMax, &[p, q]),
        ULt if same_order => b.op(UMin, &[p, q]),
        ULt if opposite_order => b.op(UMax, &[p, q]),
        IEq if same_order || opposite_order => e,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::builder::simplify::testing::{check_exact, check_relaxed};

    #[test]
    fn exact_rules_apply_and_keep_every_bit() {
        check_exact(&[
            ("select(true, x, y)", "x"),
            ("select(p, x, x)", "x"),
            ("select(bnot(p), x, y)", "select(p, y, x)"),
            ("select(p, true, false)", "p"),
            ("select(p, false, true)", "bnot(p)"),
            ("select(p, true, q)", "bor(p, q)"),
            ("select(p, q, false)", "band(p, q)"),
            ("select(p, false, q)", "band(bnot(p), q)"),
            ("select(p, q, true)", "bor(bnot(p), q)"),
            ("select(p, p, q)", "bor(p, q)"),
            ("select(p, q, p)", "band(p, q)"),
            ("select(p, select(p, x, y), z)", "select(p, x, z)"),
            ("select(p, x, select(p, y, z))", "select(p, x, z)"),
            ("select(p, select(q, x, y), y)", "select(band(p, q), x, y)"),
            ("select(p, x, select(q, x, y))", "select(bor(p, q), x, y)"),
            ("select(lt(x, y), x, y)", "min(y, x)"),
            ("select(lt(x, y), y, x)", "max(x, y)"),
            ("select(slt(i, j), i, j)", "smin(i, j)"),
            ("select(ult(i, j), j, i)", "umax(i, j)"),
            ("select(ieq(i, j), i, j)", "j"),
        ]);
    }

    #[test]
    fn relaxed_rules_apply_only_when_allowed() {
        check_relaxed(&[
            ("select(le(x, y), x, y)", "min(y, x)"),
            ("select(lt(x, 0.0), neg(x), x)", "abs(x)"),
            ("select(lt(0.0, x), x, neg(x))", "abs(x)"),
        ]);
    }
}
