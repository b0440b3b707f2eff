//! Conversions and rounding to integers; all rules are exact.

use super::Context;
use super::Form::Apply;
use super::form;
use crate::builder::value_tracking;
use crate::ir::{Op, Op::*, Value};

/// Exact: rounding an integer has no effect.
pub(super) fn round_integer<B: Context>(b: &B, x: Value) -> Option<Value> {
    matches!(form(b, x), Apply(Floor | Ceil | Trunc | Round | FromS32 | FromU32, _)).then_some(x)
}

/// Exact: a conversion and its inverse cancel.
pub(super) fn inverse_conversion<B: Context>(b: &B, op: Op, x: Value) -> Option<Value> {
    match form(b, x) {
        Apply(inner, [x, ..]) if inner == op => Some(x),
        _ => None,
    }
}

/// Exact: signed and unsigned conversions agree if the top bit is clear.
pub(super) fn from_u32<B: Context>(b: &mut B, x: Value) -> Option<Value> {
    let range = value_tracking::signed(b.function(), x);
    range.is_nonnegative().then(|| b.op(FromS32, &[x]))
}

#[cfg(test)]
mod tests {
    use crate::builder::simplify::testing::check_exact;

    #[test]
    fn exact_rules_apply_and_keep_every_bit() {
        check_exact(&[
            ("floor(ceil(x))", "ceil(x)"),
            ("round(from_s32(i))", "from_s32(i)"),
            ("from_u32(lshr(i, 1))", "from_s32(lshr(i, 1))"),
            ("bits(float(i))", "i"),
            ("float(bits(x))", "x"),
        ]);
    }
}
