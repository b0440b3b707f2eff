//! Sequences of basic operations that define the composite ones, each written once over [`Emit`]:
//! run on words it is the meaning of the operation, run on a builder it is what machine code is
//! made of.
//!
//! The elementary functions ([`exponential`], [`logarithm`], [`power`], [`trigonometric`],
//! [`inverse_trigonometric`]) reduce their argument, evaluate a polynomial (Horner's rule, one
//! fixed order) and put the result together again, without branches, with IEEE additions, products,
//! quotients and square roots alone. Polynomials are minimax fits, rounded to floats; `fit.py` in
//! this folder makes them.
//!
//! Interval forms evaluate such a function at the ends of an interval, so what counts besides
//! accuracy is that it is *monotone as computed*. Rounded operations are monotone in each argument,
//! hence so is a sequence whose every step is monotone in the argument: a polynomial with positive
//! coefficients of a positive argument, say. Reductions are chosen for that: by floors rather than
//! to the nearest integer, to 1 − |x| rather than |x|. Where it cannot be had, one leading term
//! that is exact is added last, next to which the rounding of the rest is small. `TABLE.md` in this
//! folder says for each function what errors, ranges and violations of monotonicity there are over
//! all inputs; `cargo run -p lightbound-benches --release -- math` measures them.
//!
//! Products that underflow are avoided for usual arguments, as some processors take a hundred
//! cycles for one.
#![allow(
    clippy::excessive_precision,
    reason = "coefficients stand here with the nine digits that tell floats apart"
)]

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
        #[allow(clippy::wrong_self_convention, reason = "they are called as the operations are")]
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

            /// x, within [low, high]; NaN stays.
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
    chop = Chop(a);
    load = Load(table, index);
}

/// Number of fraction bits of a float.
const FRACTION: i32 = 23;

/// Sign bit of a float.
const SIGN: i32 = i32::MIN;

/// |x| with the sign of another float, or turned by it: x has no sign bit or `sign` stands for a
/// factor ±1.
#[inline(always)]
fn with_sign<E: Emit>(e: &mut E, x: E::Value, sign: E::Value) -> E::Value {
    let mask = e.i32(SIGN);
    let sign = e.bits(sign);
    let sign = e.and(sign, mask);
    let x = e.bits(x);
    let x = e.xor(x, sign);
    e.float(x)
}
