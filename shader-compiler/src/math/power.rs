//! aᵇ = 2^(b · log₂ a), in single precision throughout, so that errors grow with |b · log₂ a|, as WGSL allows.
//!
//! Each step is monotone, so pow is, in either argument; where the mantissa jumps back from √2 to √½, that was checked for all n.
//! Special values are those of IEEE 754, but: negative a, for which WGSL leaves it open, gives NaN whatever b is; NaN in either
//! argument gives NaN, and so does 1 to the power ±∞; results below 2⁻¹²⁶ are off by up to 2⁻¹²⁷; and 0 and ∞ are taken for
//! 2^∓(2¹²⁶), which shows in exponents below 2⁻¹¹⁹.

use super::exponential::{add_exponent, exponent};
use super::logarithm::{is_positive_and_finite, split};
use super::{FRACTION, Steps};
use crate::ir::Emit;

/// log₂((1 + s) ÷ (1 − s)) ÷ s in s², where |s| < 3 − 2√2.
const LOG2: [f32; 4] = [2.88539, 0.9618218, 0.57460654, 0.47986987];

/// 2ˣ on [0, 1).
const EXP2: [f32; 6] = [1.0, 0.6931525, 0.24015263, 0.05583655, 0.008972542, 0.0018856787];

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
    let one = e.f32(1.0);
    let f = e.sub(m, one);
    let sum = e.add(m, one);
    let s = e.div(f, sum);
    let square = e.mul(s, s);
    let p = e.horner(square, &LOG2);
    let l = e.mul(s, p);
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

/// 2ᵗ, with results below 2⁻¹²⁶ off by up to 2⁻¹²⁷.
#[inline(always)]
fn exp2<E: Emit>(e: &mut E, t: E::Value) -> E::Value {
    let t = e.clamp(t, -127.0, 128.0);
    let whole = e.floor(t);
    let rest = e.sub(t, whole);
    let p = e.horner(rest, &EXP2);
    // 2¹²⁸ comes out as the bits of infinity, 2⁻¹²⁷ as those of 0, and what is between that and 2⁻¹²⁶ on a straight line.
    let n = exponent(e, whole);
    add_exponent(e, p, n)
}
