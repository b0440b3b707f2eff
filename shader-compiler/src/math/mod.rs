//! Sequences of basic operations that define the composite ones, each written once over [`Emit`].
//! The constant evaluator runs them to define the operation; a builder records them for code
//! generation.
//!
//! The elementary functions ([`exponential`], [`logarithm`], [`power`], [`trigonometric`],
//! [`inverse_trigonometric`]) reduce their argument, evaluate a polynomial (Horner's rule, in one
//! fixed order) and reconstruct the result, without branches, with only IEEE additions, products,
//! quotients and square roots. Polynomials are minimax fits, rounded to floats by `fit.py` in this
//! folder.
//!
//! Interval lowerings evaluate such a function at the endpoints of an interval. So besides
//! accuracy, the function must be *monotone as computed*. Rounded operations are monotone in each
//! argument, and so is a sequence whose every step is monotone in the argument: for example, a
//! polynomial with positive coefficients of a positive argument. Reductions are chosen accordingly:
//! with floors rather than rounding to the nearest integer, to 1 − |x| rather than |x|. Where that
//! is impossible, an exact leading term is added last, so that the rounding of the remaining terms
//! is relatively small. `TABLE.md` in this folder lists errors, ranges and violations of
//! monotonicity of each function over all inputs; `cargo run -p lightbound-benches --release --
//! math` measures them.
//!
//! Products do not underflow for common arguments, since an underflow takes a hundred cycles on
//! some processors.
#![allow(
    clippy::excessive_precision,
    reason = "coefficients have the nine digits that identify a float"
)]

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

macro_rules! steps {
    ($($name:ident = $op:ident($($arg:ident),+);)*) => {
        /// Basic operations, as methods.
        #[allow(clippy::wrong_self_convention, reason = "they are named like the operations")]
        pub(crate) trait Steps: Emit {
            $(#[inline(always)]
            fn $name(&mut self, $($arg: Self::Value),+) -> Self::Value {
                self.op(Op::$op, &[$($arg),+])
            })*

            /// c₀ + c₁x + c₂x² + …, by Horner's rule.
            #[inline(always)]
            fn horner(&mut self, x: Self::Value, coefficients: &[f32]) -> Self::Value {
                let (&last, rest) = coefficients.split_last().expect("a polynomial has a coefficient");
                let mut sum = self.f32(last);
                for &c in rest.iter().rev() {
                    let product = self.mul(sum, x);
                    let c = self.f32(c);
                    sum = self.add(product, c);
                }
                sum
            }

            /// x clamped to [low, high]; NaN stays.
            #[inline(always)]
            fn clamp(&mut self, x: Self::Value, low: f32, high: f32) -> Self::Value {
                let (low, high) = (self.f32(low), self.f32(high));
                let x = self.max(x, low);
                self.min(x, high)
            }
        }

        impl<E: Emit> Steps for E {}
    };
}

steps! {
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
const FRACTION: i32 = 23;

/// Sign bit of a float.
const SIGN: i32 = i32::MIN;

/// Copies or multiplies the sign: |x| with the sign of `sign` if x has no sign bit, or x · `sign`
/// if `sign` represents ±1.
#[inline(always)]
fn with_sign<E: Emit>(e: &mut E, x: E::Value, sign: E::Value) -> E::Value {
    let mask = e.i32(SIGN);
    let sign = e.bits(sign);
    let sign = e.and(sign, mask);
    let x = e.bits(x);
    let x = e.xor(x, sign);
    e.float(x)
}
