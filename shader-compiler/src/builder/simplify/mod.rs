//! Algebraic simplification: replaces an operation by a cheaper one or by an existing value.
//!
//! The builder calls [`simplify`] for each operation that it appends. A rule is an arm of a `match`
//! on the forms of the arguments; each file holds the rules for one group of operations. *Exact*
//! rules preserve every bit of the value, except for NaN payloads and signs. *Relaxed* rules,
//! guarded by `if relaxed`, may change the value, and run only before the point shader is fixed
//! ([`Rules`]). Relaxed rules change:
//!
//! - the sign of a zero: x + 0 → x, 0 − x → −x, −(x − y) → y − x, |√x| → √x;
//! - non-finite values: x · 0 → 0, x − x → 0, x ÷ x → 1, xʸ for negative x and small integers y,
//!   results for x outside of a function's domain (exp (log x) → x, cos (acos x) → x,
//!   √x · √x → x), results after intermediate overflow (√(x²) → |x|);
//! - rounding, by an ulp or two: x ÷ c → x · (1 ÷ c), merged constants (of equal signs, so that
//!   nothing cancels), 1 ÷ √x, sin (acos x); and by up to n/2 ulps: xⁿ as a product.
//!
//! They preserve intended cancellation: (x + c) − c is not simplified.

mod arithmetic;
mod bits;
mod boolean;
mod comparison;
mod conversion;
mod elementary;
mod integer;
mod select;
#[cfg(test)]
mod testing;

use crate::ir::{Def, Emit, Function, Op, Op::*, Value};
use arithmetic::{abs, add, div, mul, neg, sqrt, sub};
use bits::{and, or, shift, xor};
use boolean::{any, band, bnot, bor, bxor};
use comparison::{compare, min_max};
use conversion::{from_u32, inverse_conversion, round_integer};
use elementary::{elementary, pow};
use integer::{divide, iadd, imul, integer_compare, integer_min_max, isub};
use select::select;

/// Which simplifications a builder may apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// All simplifications, including those that may change rounding, the sign of a zero, or
    /// non-finite values. Only before the point shader is fixed.
    Relaxed,
    /// Simplifications that preserve every bit of every value, except for NaN payloads and signs.
    Exact,
}

/// The function being built, which rules read and append to.
pub trait Context: Emit<Value = Value> {
    /// The function so far.
    fn function(&self) -> &Function;
    /// The enabled rules.
    fn rules(&self) -> Rules;
}

/// The definition of an argument, in the form that rules match on.
#[derive(Clone, Copy)]
enum Form {
    /// A constant with these bits.
    Const(u32),
    /// An operation and its arguments.
    Apply(Op, [Value; 3]),
    Other,
}

use Form::{Apply, Const};

const ZERO: u32 = 0;
const NEG_ZERO: u32 = 0x8000_0000;
const ONE: u32 = 0x3f80_0000;
const MINUS_ONE: u32 = 0xbf80_0000;
const TWO: u32 = 0x4000_0000;
const TRUE: u32 = !0;
const FALSE: u32 = 0;

/// Returns a cheaper equivalent of an operation, if a rule applies. A constant argument of a
/// commutative operation must be last.
pub fn simplify<B: Context>(b: &mut B, op: Op, args: &[Value]) -> Option<Value> {
    let relaxed = b.rules() == Rules::Relaxed;
    let (x, y) = (args[0], *args.get(1).unwrap_or(&args[0]));
    if !op.is_load()
        && let Some(value) = fold_through_select(b, op, args)
    {
        return Some(value);
    }
    match op {
        Add => add(b, relaxed, x, y),
        Sub => sub(b, relaxed, x, y),
        Mul => mul(b, relaxed, x, y),
        Div => div(b, relaxed, x, y),
        Neg => neg(b, relaxed, x),
        Abs => abs(b, relaxed, x),
        Sqrt => sqrt(b, relaxed, x),
        Min | Max => min_max(b, op, x, y),
        Floor | Ceil | Trunc | Round => round_integer(b, x),
        Lt | Le | Eq => compare(b, op, x, y),
        IAdd => iadd(b, x, y),
        ISub => isub(b, x, y),
        IMul => imul(b, x, y),
        SMin | SMax | UMin | UMax => integer_min_max(b, op, x, y),
        And => and(b, x, y),
        Or => or(b, x, y),
        Xor => xor(b, x, y),
        Shl | LShr | AShr => shift(b, op, x, y),
        SLt | ULt | IEq => integer_compare(b, op, x, y),
        BAnd => band(b, x, y),
        BOr => bor(b, x, y),
        BXor => bxor(b, x, y),
        BNot => bnot(b, x),
        Any => any(b, x),
        Select => select(b, relaxed, x, y, args[2]),
        Bits => inverse_conversion(b, Float, x),
        Float => inverse_conversion(b, Bits, x),
        Pow if relaxed => pow(b, x, y),
        Exp | Exp2 | Log | Log2 | Sin | Cos | Tan if relaxed => elementary(b, op, x),
        UDiv | URem | SDiv | SRem => divide(b, op, x, y),
        FromU32 => from_u32(b, x),
        _ => None,
    }
}

fn form<B: Context>(b: &B, value: Value) -> Form {
    match b.function().def(value) {
        Def::Const(bits) => Const(bits),
        Def::Op { op, args } => Apply(op, args),
        _ => Form::Other,
    }
}

fn constant<B: Context>(b: &B, value: Value) -> Option<u32> {
    b.function().constant(value)
}

/// The value of a float constant.
fn number<B: Context>(b: &B, value: Value) -> Option<f32> {
    constant(b, value).map(f32::from_bits)
}

/// Exact: (z op c) op d → z op (c op d) for constants c and d.
fn merge_constants<B: Context>(b: &mut B, op: Op, x: Value, y: Value) -> Option<Value> {
    match form(b, x) {
        Apply(inner, [z, c, _])
            if inner == op && constant(b, c).is_some() && constant(b, y).is_some() =>
        {
            let c = b.op(op, &[c, y]);
            Some(b.op(op, &[z, c]))
        }
        _ => None,
    }
}

/// Exact: f(c ? k : l) → c ? f(k) : f(l), if k, l and f's other arguments are constants.
fn fold_through_select<B: Context>(b: &mut B, op: Op, args: &[Value]) -> Option<Value> {
    let mut selected = None;
    for (k, &arg) in args.iter().enumerate() {
        match form(b, arg) {
            Const(_) => {}
            Apply(Select, [c, t, e])
                if selected.is_none() && constant(b, t).is_some() && constant(b, e).is_some() =>
            {
                selected = Some((k, c, t, e));
            }
            _ => return None,
        }
    }
    let (k, c, t, e) = selected?;
    let mut apply = |arm| {
        let mut args = [args[0], *args.get(1).unwrap_or(&arm), *args.get(2).unwrap_or(&arm)];
        args[k] = arm;
        b.op(op, &args[..op.arity()])
    };
    let (t, e) = (apply(t), apply(e));
    Some(b.op(Select, &[c, t, e]))
}

#[cfg(test)]
mod tests {
    use super::testing::check_exact;

    #[test]
    fn operations_fold_through_selects_of_constants() {
        check_exact(&[
            ("ieq(select(p, 1, 0), 1)", "p"),
            ("add(select(p, 1.0, 2.0), 0.5)", "select(p, 1.5, 2.5)"),
        ]);
    }
}
