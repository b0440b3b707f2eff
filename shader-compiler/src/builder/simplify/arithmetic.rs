//! Floating-point sums, products, quotients, roots and signs.

use super::Context;
use super::Form::{Apply, Const};
use super::{MINUS_ONE, NEG_ZERO, ONE, ZERO, constant, form, number};
use crate::builder::value_tracking;
use crate::ir::{Op, Op::*, Type, Value};

pub(super) fn add<B: Context>(b: &mut B, relaxed: bool, x: Value, y: Value) -> Option<Value> {
    Some(match (form(b, x), form(b, y)) {
        (_, Const(NEG_ZERO)) => x,
        (_, Apply(Neg, [y, ..])) => b.op(Sub, &[x, y]),
        (Apply(Neg, [x, ..]), _) => b.op(Sub, &[y, x]),
        (_, Const(ZERO)) if relaxed => x,
        (Apply(Add, [x, c, _]), Const(_)) if relaxed && same_sign(b, c, y) => {
            let c = b.op(Add, &[c, y]);
            b.op(Add, &[x, c])
        }
        (Apply(Sub, [c, x, _]), Const(_)) if relaxed && same_sign(b, c, y) => {
            let c = b.op(Add, &[c, y]);
            b.op(Sub, &[c, x])
        }
        _ if relaxed => return like_terms(b, x, y, 1.0),
        _ => return None,
    })
}

pub(super) fn sub<B: Context>(b: &mut B, relaxed: bool, x: Value, y: Value) -> Option<Value> {
    Some(match (form(b, x), form(b, y)) {
        (_, Const(bits)) => {
            let minus = b.constant(Type::F32, bits ^ NEG_ZERO);
            b.op(Add, &[x, minus])
        }
        (_, Apply(Neg, [y, ..])) => b.op(Add, &[x, y]),
        (Const(NEG_ZERO), _) => b.op(Neg, &[y]),
        (Const(ZERO), _) if relaxed => b.op(Neg, &[y]),
        _ if relaxed && x == y => b.f32(0.0),
        (_, Apply(Floor, [z, ..])) if relaxed && z == x => b.op(Fract, &[x]),
        _ if relaxed => return like_terms(b, x, y, -1.0),
        _ => return None,
    })
}

/// Relaxed: x · c + x · d → x · (c + d), for powers of two of at least 1; smaller ones may round
/// subnormals. It changes only zeros and overflow. `reflect` about an axis computes x − 2x.
fn like_terms<B: Context>(b: &mut B, x: Value, y: Value, sign: f32) -> Option<Value> {
    let term = |value: Value| match form(b, value) {
        Apply(Neg, [z, ..]) => (z, -1.0),
        Apply(Mul, [z, c, _]) => number(b, c).map_or((value, 1.0), |c| (z, c)),
        _ => (value, 1.0),
    };
    let ((x, c), (y, d)) = (term(x), term(y));
    let is_scaled = x == y && [c, d].iter().any(|&factor| factor != 1.0);
    let is_exact = |factor: f32| factor.abs() >= 1.0 && factor.to_bits() & 0x007f_ffff == 0;
    let sum = c + sign * d;
    // Each factor is exact, and so is their sum if one is not much greater than the other.
    let is_sum_exact = f64::from(c) + f64::from(sign * d) == f64::from(sum);
    let applies = is_scaled && is_exact(c) && is_exact(d) && is_sum_exact && sum.is_finite();
    applies.then(|| {
        let sum = b.f32(sum);
        b.op(Mul, &[x, sum])
    })
}

pub(super) fn neg<B: Context>(b: &mut B, relaxed: bool, x: Value) -> Option<Value> {
    Some(match form(b, x) {
        Apply(Neg, [x, ..]) => x,
        Apply(Mul, [x, c, _]) if constant(b, c).is_some() => {
            let c = b.op(Neg, &[c]);
            b.op(Mul, &[x, c])
        }
        Apply(Div, [c, x, _]) if constant(b, c).is_some() => {
            let c = b.op(Neg, &[c]);
            b.op(Div, &[c, x])
        }
        Apply(Sub, [x, y, _]) if relaxed => b.op(Sub, &[y, x]),
        _ => return None,
    })
}

pub(super) fn abs<B: Context>(b: &mut B, relaxed: bool, x: Value) -> Option<Value> {
    Some(match form(b, x) {
        Apply(Neg, [x, ..]) => b.op(Abs, &[x]),
        Apply(Abs, _) => x,
        Apply(Mul, [y, z, _]) if y == z => x,
        _ if relaxed && value_tracking::float(b.function(), x).is_nonnegative() => x,
        _ => return None,
    })
}

pub(super) fn mul<B: Context>(b: &mut B, relaxed: bool, x: Value, y: Value) -> Option<Value> {
    Some(match (form(b, x), form(b, y)) {
        (_, Const(ONE)) => x,
        (_, Const(MINUS_ONE)) => b.op(Neg, &[x]),
        // Signs move outward, where they may cancel, or into constants.
        (Apply(Neg, [x, ..]), Const(_)) => {
            let c = b.op(Neg, &[y]);
            b.op(Mul, &[x, c])
        }
        (Apply(Neg, [x, ..]), _) => negated(b, Mul, x, y),
        (_, Apply(Neg, [y, ..])) => negated(b, Mul, x, y),
        (_, Const(ZERO | NEG_ZERO)) if relaxed => y,
        (Apply(Mul, [x, c, _]), Const(_)) if relaxed && constant(b, c).is_some() => {
            let c = b.op(Mul, &[c, y]);
            let c = normal(b, c)?;
            b.op(Mul, &[x, c])
        }
        (Apply(Div, [c, x, _]), Const(_)) if relaxed && constant(b, c).is_some() => {
            let c = b.op(Mul, &[c, y]);
            let c = normal(b, c)?;
            b.op(Div, &[c, x])
        }
        (Apply(Sqrt, [z, ..]), _) if relaxed && x == y => z,
        (Apply(Rsqrt, [z, ..]), _) if relaxed && x == y => {
            let one = b.f32(1.0);
            b.op(Div, &[one, z])
        }
        (Apply(Rsqrt, [z, ..]), _) if relaxed && z == y => b.op(Sqrt, &[y]),
        (_, Apply(Rsqrt, [z, ..])) if relaxed && z == x => b.op(Sqrt, &[x]),
        _ if relaxed => return mul_by_select(b, x, y).or_else(|| mul_by_select(b, y, x)),
        _ => return None,
    })
}

/// The negation of an operation.
fn negated<B: Context>(b: &mut B, op: Op, x: Value, y: Value) -> Value {
    let value = b.op(op, &[x, y]);
    b.op(Neg, &[value])
}

/// Relaxed: (c ? 1 : 0) · x → c ? x : 0.
fn mul_by_select<B: Context>(b: &mut B, factor: Value, x: Value) -> Option<Value> {
    let Apply(Select, [c, t, e]) = form(b, factor) else { return None };
    match (constant(b, t)?, constant(b, e)?) {
        (ONE, ZERO) => Some(b.op(Select, &[c, x, e])),
        (ZERO, ONE) => Some(b.op(Select, &[c, t, x])),
        _ => None,
    }
}

pub(super) fn div<B: Context>(b: &mut B, relaxed: bool, x: Value, y: Value) -> Option<Value> {
    Some(match (form(b, x), form(b, y)) {
        (_, Const(bits)) => {
            let (c, inverse) = (f32::from_bits(bits), 1.0 / f32::from_bits(bits));
            // If the divisor is a power of two, quotient and product are the same real number, even
            // if the inverse is subnormal.
            let is_exact = bits & 0x007f_ffff == 0 && inverse != 0.0 && inverse.is_finite();
            if is_exact || relaxed && c.is_normal() && inverse.is_normal() {
                let inverse = b.f32(inverse);
                return Some(b.op(Mul, &[x, inverse]));
            }
            return None;
        }
        (Const(_), Apply(Neg, [y, ..])) => {
            let c = b.op(Neg, &[x]);
            b.op(Div, &[c, y])
        }
        (Apply(Neg, [x, ..]), _) => negated(b, Div, x, y),
        (_, Apply(Neg, [y, ..])) => negated(b, Div, x, y),
        _ if relaxed && x == y => b.f32(1.0),
        (Const(ONE), Apply(Sqrt, [z, ..])) if relaxed => b.op(Rsqrt, &[z]),
        (_, Apply(Rsqrt, [z, ..])) if relaxed => {
            let root = b.op(Sqrt, &[z]);
            b.op(Mul, &[x, root])
        }
        (Const(_), Apply(Mul, [z, c, _])) if relaxed && constant(b, c).is_some() => {
            let c = b.op(Div, &[x, c]);
            let c = normal(b, c)?;
            b.op(Div, &[c, z])
        }
        _ => return None,
    })
}

pub(super) fn sqrt<B: Context>(b: &mut B, relaxed: bool, x: Value) -> Option<Value> {
    match form(b, x) {
        Apply(Mul, [y, z, _]) if relaxed && y == z => Some(b.op(Abs, &[y])),
        _ => None,
    }
}

/// Whether two values are float constants of the same sign.
fn same_sign<B: Context>(b: &B, x: Value, y: Value) -> bool {
    match (number(b, x), number(b, y)) {
        (Some(x), Some(y)) => x.is_sign_negative() == y.is_sign_negative(),
        _ => false,
    }
}

/// Returns a merged constant if it is a normal float.
fn normal<B: Context>(b: &B, value: Value) -> Option<Value> {
    number(b, value).is_some_and(f32::is_normal).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::Builder;
    use crate::builder::Rules;
    use crate::builder::simplify::testing::{check_exact, check_relaxed, check_rewrite, write};

    #[test]
    fn exact_rules_apply_and_keep_every_bit() {
        check_exact(&[
            ("add(x, -0.0)", "x"),
            ("add(x, neg(y))", "sub(x, y)"),
            ("add(neg(x), y)", "sub(y, x)"),
            ("sub(x, 0.0)", "x"),
            ("sub(x, 1.5)", "add(x, -1.5)"),
            ("sub(x, neg(y))", "add(x, y)"),
            ("sub(-0.0, x)", "neg(x)"),
            ("neg(neg(x))", "x"),
            ("neg(mul(x, 3.0))", "mul(x, -3.0)"),
            ("neg(div(3.0, x))", "div(-3.0, x)"),
            ("abs(neg(x))", "abs(x)"),
            ("abs(abs(x))", "abs(x)"),
            ("abs(mul(x, x))", "mul(x, x)"),
            ("mul(x, 1.0)", "x"),
            ("mul(1.0, x)", "x"),
            ("mul(x, -1.0)", "neg(x)"),
            ("mul(neg(x), 3.0)", "mul(x, -3.0)"),
            ("mul(neg(x), y)", "neg(mul(x, y))"),
            ("mul(neg(x), neg(y))", "mul(x, y)"),
            ("div(x, 1.0)", "x"),
            ("div(x, -1.0)", "neg(x)"),
            ("div(x, 8.0)", "mul(x, 0.125)"),
            ("div(x, 170141183460469231731687303715884105728.0)", "mul(x, 5.877472e-39)"),
            ("div(neg(x), y)", "neg(div(x, y))"),
            ("div(x, neg(y))", "neg(div(x, y))"),
            ("div(3.0, neg(x))", "div(-3.0, x)"),
        ]);
    }

    #[test]
    fn relaxed_rules_apply_only_when_allowed() {
        check_relaxed(&[
            ("add(x, 0.0)", "x"),
            ("add(add(x, 1.5), 2.0)", "add(x, 3.5)"),
            ("sub(sub(x, 1.5), 2.0)", "add(x, -3.5)"),
            ("add(sub(1.5, x), 2.0)", "sub(3.5, x)"),
            ("sub(0.0, x)", "neg(x)"),
            ("sub(x, x)", "0.0"),
            ("sub(x, floor(x))", "fract(x)"),
            ("sub(x, mul(x, 2.0))", "neg(x)"),
            ("sub(neg(x), mul(x, -2.0))", "x"),
            ("add(mul(x, 4.0), x)", "mul(x, 5.0)"),
            ("sub(mul(x, 2.0), x)", "x"),
            ("neg(sub(x, y))", "sub(y, x)"),
            ("abs(sqrt(x))", "sqrt(x)"),
            ("mul(x, 0.0)", "0.0"),
            ("mul(mul(x, 3.0), 5.0)", "mul(x, 15.0)"),
            ("mul(div(3.0, x), 5.0)", "div(15.0, x)"),
            ("mul(sqrt(x), sqrt(x))", "x"),
            ("mul(rsqrt(x), rsqrt(x))", "div(1.0, x)"),
            ("mul(x, rsqrt(x))", "sqrt(x)"),
            ("mul(select(p, 1.0, 0.0), x)", "select(p, x, 0.0)"),
            ("mul(x, select(p, 0.0, 1.0))", "select(p, 0.0, x)"),
            ("div(x, 3.0)", "mul(x, 0.33333334)"),
            ("div(x, x)", "1.0"),
            ("div(1.0, sqrt(x))", "rsqrt(x)"),
            ("div(x, rsqrt(y))", "mul(x, sqrt(y))"),
            ("div(6.0, mul(x, 3.0))", "div(2.0, x)"),
            ("sqrt(mul(x, x))", "abs(x)"),
        ]);
    }

    #[test]
    fn rounded_products_are_not_merged() {
        // Dekker's splitting of a float needs the rounding of the product.
        for text in ["sub(mul(x, 4097.0), x)", "sub(x, mul(x, 0.5))", "add(x, x)"] {
            check_rewrite(Rules::Relaxed, text, text);
        }
    }

    #[test]
    fn cancelling_constants_are_not_reassociated() {
        let text = "add(add(x, 12582912.0), -12582912.0)";
        check_rewrite(Rules::Relaxed, text, text);
        let mut b = Builder::new("f", Rules::Relaxed);
        let x = b.input("x", Type::F32);
        let sum = write(&mut b, &[x], "sub(add(x, 12582912.0), 12582912.0)").0;
        assert!(matches!(form(&b, sum), Apply(Add, _)) && sum != x);
    }
}
