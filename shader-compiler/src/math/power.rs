//! aᵇ = 2^(b · log₂ a), in single precision throughout, so that errors grow with |b · log₂ a|, as
//! WGSL allows.
//!
//! Each step is monotone, so pow is, in either argument; where the mantissa jumps back from √2 to
//! √½, that was checked for all n. Special values are those of IEEE 754, but: negative a, for which
//! WGSL leaves it open, gives NaN whatever b is; NaN in either argument gives NaN, and so does 1 to
//! the power ±∞; results below 2⁻¹²⁶ are off by up to 2⁻¹²⁷; and 0 and ∞ are taken for 2^∓(2¹²⁶),
//! which shows in exponents below 2⁻¹¹⁹.
//!
//! # Error bound
//!
//! For positive finite a, τ = b · log₂ a, and u = 2⁻²⁴, a normal result F satisfies |F − aᵇ| ≤
//! r(|τ|) · aᵇ with r(τ) = (1 + κ) · 2^(στ + 2⁻²⁵ + 2⁻¹⁵⁰) − 1, σ = (1 + λ)(1 + u) − 1
//! ([`relative_error`]). Proof, step by step:
//!
//! 1. a = m · 2ⁿ is split exactly, and the float n is exact: n · 2²³ is a multiple of 2²³ of at
//!    most 8 bits.
//! 2. l = n + L(m), rounded, has |l − log₂ a| ≤ λ |log₂ a|, λ = [`LOG2_ERROR`]. For n ∈ {−1, 0, 1}
//!    that is checked for all 2²³ mantissas m. For |n| ≥ 2 it follows from |L(m) − log₂ m| ≤ 1.42
//!    u, checked for all m, and |n + log₂ m| ≥ 3/2: the sum rounds by u, relatively, so that the
//!    error is below u + (1 + u) · 1.42 u ÷ 1.5 < 2 u.
//! 3. t = b · l, rounded, has |t − τ| ≤ σ |τ| + 2⁻¹⁵⁰; the second term is for a subnormal product.
//! 4. Clamping t to [−127, 128] changes no normal result. x = t − ⌊t⌋ is exact but for −½ < t < 0,
//!    where it lies in [½, 1] and rounds by at most 2⁻²⁵. So ⌊t⌋ + x is off τ by at most σ |τ| +
//!    2⁻²⁵ + 2⁻¹⁵⁰.
//! 5. The polynomial p has |p(x) − 2ˣ| ≤ κ 2ˣ, κ = [`EXP2_ERROR`], and 1 ≤ p(x) < 2, checked for
//!    all floats x in [0, 1].
//! 6. Adding ⌊t⌋ to the exponent of p(x) multiplies exactly where the result is normal, that is for
//!    ⌊t⌋ ≥ −126.
//!
//! For ⌊t⌋ = −127 the exponent field becomes 0, and F = (p(x) − 1) · 2⁻¹²⁶. With q = 2ˣ, which is
//! in [1, 2], this is off q · 2⁻¹²⁷ by at most 2⁻¹²⁷ (|q − 2| + 2 q κ) < 2⁻¹²⁶; for smaller t,
//! F = 0. That comes on top of step 4, so that |F − aᵇ| ≤ r(|τ|) · aᵇ + 2⁻¹²⁶ for all finite
//! results.
//!
//! `tests/math.rs` checks the mantissas of steps 2 and a sample of step 5; `TABLE.md` records both
//! over all floats.

use super::exponential::{add_exponent, exponent};
use super::logarithm::{is_positive_and_finite, split};
use super::{FRACTION, Steps};
use crate::ir::Emit;

/// log₂((1 + s) ÷ (1 − s)) ÷ s in s², where |s| < 3 − 2√2.
const LOG2: [f32; 4] = [2.88539, 0.9618218, 0.57460654, 0.47986987];

/// 2ˣ on [0, 1).
const EXP2: [f32; 6] = [1.0, 0.6931525, 0.24015263, 0.05583655, 0.008972542, 0.0018856787];

/// u, the largest relative error of rounding to a float.
const U: f64 = 1.0 / (1u32 << 24) as f64;

/// Largest relative error of the computed log₂ a.
pub const LOG2_ERROR: f64 = 3.81 * U;

/// Largest relative error of [`exp2_of_fraction`].
pub const EXP2_ERROR: f64 = 2.94 * U;

/// Bound of |pow(a, b) − aᵇ| ÷ aᵇ for t = |b · log₂ a| where the result is normal; see the
/// [proof](self).
pub fn relative_error(t: f64) -> f64 {
    let slope = (1.0 + LOG2_ERROR) * (1.0 + U) - 1.0;
    // 2⁻¹⁵⁰ is added and not lost: the sum is rounded up.
    let exponent = (slope * t + 0.5 * U).next_up();
    (1.0 + EXP2_ERROR) * (1.0 + libm::expm1(exponent * std::f64::consts::LN_2)) - 1.0
}

/// aᵇ for a ≥ 0, NaN below
pub fn pow<E: Emit>(e: &mut E, a: E::Value, b: E::Value) -> E::Value {
    let l = log2(e, a);
    let t = e.mul(b, l);
    exp2(e, t)
}

/// log₂ a; at 0 and ∞ not infinite, so that products with 0 are 0, but ∓2¹²⁶; NaN below 0.
#[inline(always)]
fn log2<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let (m, n) = split(e, a);
    let l = log2_of_mantissa(e, m);
    let unit = e.f32(1.0 / (1 << FRACTION) as f32);
    let n = e.mul(n, unit);
    let l = e.add(n, l);

    let is_usual = is_positive_and_finite(e, a);
    let other = e.sqrt(a);
    let (top, half) = (e.f32(2f32.powi(127)), e.f32(2f32.powi(126)));
    let other = e.min(other, top);
    let other = e.sub(other, half);
    e.select(is_usual, l, other)
}

/// log₂ m for m in [√½, √2).
#[inline(always)]
pub fn log2_of_mantissa<E: Emit>(e: &mut E, m: E::Value) -> E::Value {
    let one = e.f32(1.0);
    let f = e.sub(m, one);
    let sum = e.add(m, one);
    let s = e.div(f, sum);
    let square = e.mul(s, s);
    let p = e.horner(square, &LOG2);
    e.mul(s, p)
}

/// 2ᵗ, with results below 2⁻¹²⁶ off by up to 2⁻¹²⁷.
#[inline(always)]
fn exp2<E: Emit>(e: &mut E, t: E::Value) -> E::Value {
    let t = e.clamp(t, -127.0, 128.0);
    let whole = e.floor(t);
    let rest = e.sub(t, whole);
    let p = exp2_of_fraction(e, rest);
    // 2¹²⁸ comes out as the bits of infinity, 2⁻¹²⁷ as those of 0, and what is between that and
    // 2⁻¹²⁶ on a straight line.
    let n = exponent(e, whole);
    add_exponent(e, p, n)
}

/// 2ˣ for x in [0, 1].
#[inline(always)]
pub fn exp2_of_fraction<E: Emit>(e: &mut E, x: E::Value) -> E::Value {
    e.horner(x, &EXP2)
}
