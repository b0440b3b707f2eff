//! Definitions of composite operations as sequences of basic ones, each written once, generic over
//! [`Emit`]. The constant evaluator runs a sequence to define the meaning of the operation; a
//! builder records it for code generation.
//!
//! The elementary functions ([`exponential`], [`logarithm`], [`power`], [`trigonometric`],
//! [`inverse_trigonometric`]) reduce their argument, evaluate a polynomial (Horner's rule, in a
//! fixed order) and reconstruct the result, without branches, using only IEEE addition,
//! subtraction, multiplication, division and square root, and integer operations. Polynomials are
//! minimax fits, rounded to floats by `fit.py` in this folder.
//!
//! Interval lowerings evaluate such a function at the endpoints of an interval. So besides being
//! accurate, the function must be *monotone as computed*. Rounded operations are monotone in each
//! argument, and so is a sequence if every step is monotone: for example, a polynomial with
//! positive coefficients and a positive argument. Argument reductions are chosen accordingly: they
//! use floors rather than rounding to the nearest integer, and reduce to 1 − |x| rather than |x|.
//! Where that is impossible, an exact leading term is added last, so that rounding errors of the
//! remaining terms are relatively small. `TABLE.md` in this folder lists errors, ranges and
//! violations of monotonicity of each function over all inputs; `cargo run -p lightbound-benches
//! --release -- math` measures them.
//!
//! Products do not underflow for common arguments, since an underflow costs about a hundred cycles
//! on some processors.
#![allow(clippy::excessive_precision, reason = "nine digits identify a float uniquely")]

pub mod eval;
pub mod exponential;
pub mod integer;
pub mod inverse_trigonometric;
pub mod logarithm;
pub mod numeric;
pub mod power;
pub mod texture;
pub mod trigonometric;

use crate::ir::{Emit, Op};

macro_rules! emit_methods {
    ($($name:ident = $op:ident($($arg:ident),+);)*) => {
        /// Extension of [`Emit`] with a method for each basic operation.
        #[allow(clippy::wrong_self_convention, reason = "methods are named like the operations")]
        pub(crate) trait EmitExt: Emit {
            $(#[inline(always)]
            fn $name(&mut self, $($arg: Self::Value),+) -> Self::Value {
                self.op(Op::$op, &[$($arg),+])
            })*

            /// c₀ + c₁x + c₂x² + …, by Horner's rule.
            #[inline(always)]
            fn horner(&mut self, x: Self::Value, coefficients: &[f32]) -> Self::Value {
                let (&last, rest) =
                    coefficients.split_last().expect("there is at least one coefficient");
                let mut sum = self.f32(last);
                for &c in rest.iter().rev() {
                    let product = self.mul(sum, x);
                    let c = self.f32(c);
                    sum = self.add(product, c);
                }
                sum
            }

            /// x clamped to [low, high]; NaN stays NaN.
            #[inline(always)]
            fn clamp(&mut self, x: Self::Value, low: f32, high: f32) -> Self::Value {
                let (low, high) = (self.f32(low), self.f32(high));
                let x = self.max(x, low);
                self.min(x, high)
            }
        }

        impl<E: Emit> EmitExt for E {}
    };
}

emit_methods! {
    add = Add(a, b);
    sub = Sub(a, b);
    mul = Mul(a, b);
    div = Div(a, b);
    neg = Neg(a);
    abs = Abs(a);
    sqrt = Sqrt(a);
    min = Min(a, b);
    max = Max(a, b);
    floor = Floor(a);
    trunc = Trunc(a);
    lt = Lt(a, b);
    le = Le(a, b);
    eq = Eq(a, b);
    iadd = IAdd(a, b);
    isub = ISub(a, b);
    imul = IMul(a, b);
    smin = SMin(a, b);
    smax = SMax(a, b);
    umin = UMin(a, b);
    umax = UMax(a, b);
    and = And(a, b);
    or = Or(a, b);
    xor = Xor(a, b);
    shl = Shl(a, b);
    lshr = LShr(a, b);
    ashr = AShr(a, b);
    slt = SLt(a, b);
    ult = ULt(a, b);
    ieq = IEq(a, b);
    both = BAnd(a, b);
    either = BOr(a, b);
    not = BNot(a);
    select = Select(c, t, e);
    bits = Bits(a);
    float = Float(a);
    convert = FromS32(a);
    truncate_to_int = TruncateToInt(a);
    load = Load(table, index);
}

/// Number of fraction bits of a float.
const FRACTION_BITS: i32 = 23;

/// Sign bit of a float.
const SIGN_BIT: i32 = i32::MIN;

/// Flips the sign of x if `sign` has its sign bit set. This copies the sign if x is nonnegative.
#[inline(always)]
fn with_sign<E: Emit>(e: &mut E, x: E::Value, sign: E::Value) -> E::Value {
    let mask = e.i32(SIGN_BIT);
    let sign = e.bits(sign);
    let sign = e.and(sign, mask);
    let x = e.bits(x);
    let x = e.xor(x, sign);
    e.float(x)
}
