//! aᵇ = 2^(b · log₂ a), in single precision throughout, so that errors grow with |b · log₂ a|, as
//! WGSL allows.
//!
//! Each step is monotone, hence so is pow in either argument; at the jump of the mantissa from √2
//! back to √½ this was checked for all n. Special values follow IEEE 754, with these exceptions:
//!
//! - Negative a, which WGSL leaves undefined, gives NaN for all b.
//! - NaN in either argument gives NaN, and so does 1 to the power ±∞.
//! - Results below 2⁻¹²⁶ have an error of up to 2⁻¹²⁷.
//! - 0 and ∞ are treated as 2^∓(2¹²⁶), which has an effect for exponents below 2⁻¹¹⁹.
//!
//! # Error bound
//!
//! For positive finite a, τ = b · log₂ a, and u = 2⁻²⁴, a normal result F satisfies |F − aᵇ| ≤
//! r(|τ|) · aᵇ with r(τ) = (1 + κ) · 2^(στ + 2⁻²⁵ + 2⁻¹⁵⁰) − 1, σ = (1 + λ)(1 + u) − 1
//! ([`relative_error`]). Proof, step by step:
//!
//! 1. a = m · 2ⁿ is split exactly, and the float n is exact: n · 2²³ is a multiple of 2²³ with at
//!    most 8 bits.
//! 2. l = n + L(m), rounded, satisfies |l − log₂ a| ≤ λ |log₂ a|, λ = [`LOG2_ERROR`]. For n ∈ {−1,
//!    0, 1} this is checked for all 2²³ mantissas m. For |n| ≥ 2 it follows from |L(m) − log₂ m| ≤
//!    1.42 u, checked for all m, and |n + log₂ m| ≥ 3/2: the sum has a relative rounding error of
//!    u, so the total error is below u + (1 + u) · 1.42 u ÷ 1.5 < 2 u.
//! 3. t = b · l, rounded, satisfies |t − τ| ≤ σ |τ| + 2⁻¹⁵⁰; the second term covers a subnormal
//!    product.
//! 4. Clamping t to [−127, 128] changes no normal result. x = t − ⌊t⌋ is exact except for
//!    −½ < t < 0, where it lies in [½, 1] and rounds by at most 2⁻²⁵. So ⌊t⌋ + x differs from τ by
//!    at most σ |τ| + 2⁻²⁵ + 2⁻¹⁵⁰.
//! 5. The polynomial p satisfies |p(x) − 2ˣ| ≤ κ 2ˣ, κ = [`EXP2_ERROR`], and 1 ≤ p(x) < 2, checked
//!    for all floats x in [0, 1].
//! 6. Adding ⌊t⌋ to the exponent of p(x) multiplies exactly if the result is normal, that is for
//!    ⌊t⌋ ≥ −126.
//!
//! For ⌊t⌋ = −127 the exponent field becomes 0, and F = (p(x) − 1) · 2⁻¹²⁶. With q = 2ˣ ∈ [1, 2],
//! this differs from q · 2⁻¹²⁷ by at most 2⁻¹²⁷ (|q − 2| + 2 q κ) < 2⁻¹²⁶. For smaller t, F = 0.
//! This adds to the error of step 4, so that |F − aᵇ| ≤ r(|τ|) · aᵇ + 2⁻¹²⁶ for all finite results.
//!
//! `tests/math.rs` checks the mantissas of steps 2 and a sample of step 5; `TABLE.md` records both
//! over all floats.

use super::exponential::{add_exponent, exponent};
use super::logarithm::{is_positive_and_finite, split};
use super::{EmitExt, FRACTION_BITS};
use crate::ir::Emit;

/// log₂((1 + s) ÷ (1 − s)) ÷ s in s², where |s| < 3 − 2√2.
const LOG2: [f32; 4] = [2.88539, 0.9618218, 0.57460654, 0.47986987];

/// 2ˣ on [0, 1).
const EXP2: [f32; 6] = [1.0, 0.6931525, 0.24015263, 0.05583655, 0.008972542, 0.0018856787];

/// u, the maximum relative error of rounding to a float.
const U: f64 = 1.0 / (1u32 << 24) as f64;

/// Bound on the relative error of the computed log₂ a.
pub const LOG2_ERROR: f64 = 3.81 * U;

/// Bound on the relative error of [`exp2_of_fraction`].
pub const EXP2_ERROR: f64 = 2.94 * U;

/// Bound on |pow(a, b) − aᵇ| ÷ aᵇ for t = |b · log₂ a| if the result is normal; see the
/// [proof](self).
pub fn relative_error(t: f64) -> f64 {
    let slope = (1.0 + LOG2_ERROR) * (1.0 + U) - 1.0;
    // The sum with 2⁻¹⁵⁰ is rounded up, so that the term is not lost.
    let exponent = (slope * t + 0.5 * U).next_up();
    (1.0 + EXP2_ERROR) * (1.0 + libm::expm1(exponent * std::f64::consts::LN_2)) - 1.0
}

/// aᵇ for a ≥ 0; NaN for negative a
pub fn pow<E: Emit>(e: &mut E, a: E::Value, b: E::Value) -> E::Value {
    let l = log2(e, a);
    let t = e.mul(b, l);
    exp2(e, t)
}

/// log₂ a; ∓2¹²⁶ instead of ∓∞ at 0 and ∞, so that products with 0 are 0; NaN for negative a.
#[inline(always)]
fn log2<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let (m, n) = split(e, a);
    let l = log2_of_mantissa(e, m);
    let unit = e.f32(1.0 / (1 << FRACTION_BITS) as f32);
    let n = e.mul(n, unit);
    let l = e.add(n, l);

    let is_regular = is_positive_and_finite(e, a);
    let other = e.sqrt(a);
    let (top, half) = (e.f32(2f32.powi(127)), e.f32(2f32.powi(126)));
    let other = e.min(other, top);
    let other = e.sub(other, half);
    e.select(is_regular, l, other)
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

/// 2ᵗ; results below 2⁻¹²⁶ have an error of up to 2⁻¹²⁷.
#[inline(always)]
fn exp2<E: Emit>(e: &mut E, t: E::Value) -> E::Value {
    let t = e.clamp(t, -127.0, 128.0);
    let floor = e.floor(t);
    let fraction = e.sub(t, floor);
    let p = exp2_of_fraction(e, fraction);
    // 2¹²⁸ yields the bits of infinity and 2⁻¹²⁷ those of 0; between 2⁻¹²⁷ and 2⁻¹²⁶ the result is
    // linear.
    let n = exponent(e, floor);
    add_exponent(e, p, n)
}

/// 2ˣ for x in [0, 1].
#[inline(always)]
pub fn exp2_of_fraction<E: Emit>(e: &mut E, x: E::Value) -> E::Value {
    e.horner(x, &EXP2)
}
