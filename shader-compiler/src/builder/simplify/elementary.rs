//! Powers and elementary functions; all rules are relaxed.

use super::Context;
use super::Form::{Apply, Const};
use super::{ONE, TWO, ZERO, form, number};
use crate::ir::{Op, Op::*, Value};

/// Maximum exponent of a power that is expanded to a product.
const MAX_EXPONENT: f32 = 16.0;

/// Relaxed.
pub(super) fn pow<B: Context>(b: &mut B, x: Value, y: Value) -> Option<Value> {
    match (form(b, x), form(b, y)) {
        (Const(ONE), _) => return Some(x),
        (Const(TWO), _) => return Some(b.op(Exp2, &[y])),
        (Apply(Sqrt, [z, ..]), Const(bits)) if bits != ZERO => {
            let half = b.f32(0.5 * f32::from_bits(bits));
            return Some(b.op(Pow, &[z, half]));
        }
        _ => {}
    }
    let exponent = number(b, y)?;
    if exponent == 0.0 {
        return Some(b.f32(1.0));
    }
    if exponent == 0.25 {
        let root = b.op(Sqrt, &[x]);
        return Some(b.op(Sqrt, &[root]));
    }
    if exponent == -0.5 {
        return Some(b.op(Rsqrt, &[x]));
    }
    let (integer, fraction) = (exponent.abs().trunc(), exponent.abs().fract());
    let max = if fraction == 0.0 && exponent > 0.0 { MAX_EXPONENT } else { 4.0 };
    if integer > max || !(fraction == 0.0 || fraction == 0.5) {
        return None;
    }
    let root = if fraction == 0.5 { Some(b.op(Sqrt, &[x])) } else { None };
    let product = match (product(b, x, integer as u32), root) {
        (Some(product), Some(root)) => b.op(Mul, &[product, root]),
        (product, root) => product.or(root)?,
    };
    if exponent > 0.0 {
        return Some(product);
    }
    let one = b.f32(1.0);
    Some(b.op(Div, &[one, product]))
}

/// xⁿ by repeated squaring; `None` for n = 0.
fn product<B: Context>(b: &mut B, x: Value, n: u32) -> Option<Value> {
    if n <= 1 {
        return (n == 1).then_some(x);
    }
    let half = product(b, x, n / 2)?;
    let square = b.op(Mul, &[half, half]);
    Some(if n.is_multiple_of(2) { square } else { b.op(Mul, &[square, x]) })
}

/// Relaxed: functions applied to their inverses, and symmetries.
pub(super) fn elementary<B: Context>(b: &mut B, op: Op, x: Value) -> Option<Value> {
    let Apply(inner, [z, ..]) = form(b, x) else { return None };
    Some(match (op, inner) {
        (Exp, Log)
        | (Log, Exp)
        | (Exp2, Log2)
        | (Log2, Exp2)
        | (Cos, Acos)
        | (Sin, Asin)
        | (Tan, Atan) => z,
        (Cos, Neg | Abs) => b.op(Cos, &[z]),
        (Sin | Tan, Neg) => {
            let value = b.op(op, &[z]);
            b.op(Neg, &[value])
        }
        // √((1 − z)(1 + z)), without cancellation
        (Sin, Acos) | (Cos, Asin) => {
            let one = b.f32(1.0);
            let (below, above) = (b.op(Sub, &[one, z]), b.op(Add, &[z, one]));
            let square = b.op(Mul, &[below, above]);
            b.op(Sqrt, &[square])
        }
        (Tan, Acos) => {
            let sine = b.op(Sin, &[x]);
            b.op(Div, &[sine, z])
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::builder::simplify::testing::check_relaxed;

    #[test]
    fn relaxed_rules_apply_only_when_allowed() {
        check_relaxed(&[
            ("pow(x, 0.0)", "1.0"),
            ("pow(x, 1.0)", "x"),
            ("pow(x, 2.0)", "mul(x, x)"),
            ("pow(x, 5.0)", "mul(mul(mul(x, x), mul(x, x)), x)"),
            ("pow(x, -2.0)", "div(1.0, mul(x, x))"),
            ("pow(x, 0.5)", "sqrt(x)"),
            ("pow(x, -0.5)", "rsqrt(x)"),
            ("pow(x, 0.25)", "sqrt(sqrt(x))"),
            ("pow(x, 1.5)", "mul(x, sqrt(x))"),
            ("pow(x, 17.0)", "pow(x, 17.0)"),
            ("pow(1.0, x)", "1.0"),
            ("pow(2.0, x)", "exp2(x)"),
            ("pow(sqrt(x), 50.0)", "pow(x, 25.0)"),
            ("exp(log(x))", "x"),
            ("log2(exp2(x))", "x"),
            ("cos(acos(x))", "x"),
            ("cos(neg(x))", "cos(x)"),
            ("sin(neg(x))", "neg(sin(x))"),
            ("sin(acos(x))", "sqrt(mul(sub(1.0, x), add(x, 1.0)))"),
            ("tan(acos(x))", "div(sin(acos(x)), x)"),
        ]);
    }
}
