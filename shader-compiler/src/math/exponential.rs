//! eˣ, 2ˣ and the hyperbolic functions, which use eˣ.
//!
//! The argument is reduced with a floor, so that the remainder is nonnegative and a polynomial with
//! positive coefficients is monotone. The power of two is applied by adding to the exponent bits,
//! split into two factors if the result may be subnormal.

use super::{EmitExt, FRACTION_BITS, with_sign};
use crate::ir::Emit;

/// 2ˣ on [0, 1).
const EXP2: [f32; 7] =
    [1.0, 0.69314706, 0.24022909, 0.055486184, 0.009673775, 0.0012482288, 0.00021565985];

/// eˣ ÷ 2 on [0, ln 2).
const HALF_EXP: [f32; 7] = [
    0.5,
    0.5,
    0.50000226 / 2.0,
    0.1666321 / 2.0,
    0.04185437 / 2.0,
    0.007869273 / 2.0,
    0.0019120649 / 2.0,
];

/// ln 2 in two parts; products of the first with integers up to 2⁸ are exact.
pub(super) const LN_2: [f32; 2] = [0.69314575, 1.4286068e-6];

/// 2ᵃ
pub fn exp2<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let a = e.clamp(a, -151.0, 128.0);
    let floor = e.floor(a);
    let fraction = e.sub(a, floor);
    let p = e.horner(fraction, &EXP2);
    // 2¹²⁸ yields the bits of infinity.
    scale(e, p, floor, 1.0)
}

/// Arguments at which neither eᵃ ÷ 2 underflows nor eᵃ overflows: n is from −125 to 127.
const NORMAL_EXP: [f32; 2] = [-86.6, 88.7];

/// Greatest argument of [`small_exp`]: n is at most 62.
const MAX_SMALL_EXP: f32 = 43.0;

/// eᵃ. All forms for known ranges have the same bits.
pub fn exp<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let [low, high] = e.range(a);
    let is_normal = low >= NORMAL_EXP[0];
    if !is_normal && high <= MAX_SMALL_EXP {
        return small_exp(e, a);
    }
    let (min, max) = (e.f32(-104.5), e.f32(89.0));
    let a = if low >= -104.5 { a } else { e.max(a, min) };
    let a = if high <= 89.0 { a } else { e.min(a, max) };
    let (rest, _, floor) = reduce_exp(e, a);
    if is_normal && high <= NORMAL_EXP[1] {
        let p = e.horner(rest, &HALF_EXP.map(|c| 2.0 * c));
        let n = exponent(e, floor);
        return add_exponent(e, p, n);
    }
    let p = e.horner(rest, &HALF_EXP);
    if is_normal {
        let n = exponent(e, floor);
        let half = add_exponent(e, p, n);
        return e.add(half, half);
    }
    // Half of the result is finite, so that only the last product can overflow.
    scale(e, p, floor, 2.0)
}

/// eᵃ for a ≤ [`MAX_SMALL_EXP`]. p is computed times 2⁶⁴, so that its exponent stays normal.
///
/// Results that would be below the smallest subnormal are 0 without an underflow.
fn small_exp<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    const UP: f32 = (1u128 << 64) as f32;
    let (rest, octaves, floor) = reduce_exp(e, a);
    let p = e.horner(rest, &HALF_EXP.map(|c| UP * c));
    let n = exponent(e, floor);
    let p = add_exponent(e, p, n);
    let least = e.f32(-150.0);
    let is_zero = e.lt(octaves, least);
    let zero = e.f32(0.0);
    let p = e.select(is_zero, zero, p);
    let down = e.f32(2.0 / UP);
    e.mul(p, down)
}

/// (p, n) with eᵃ = 2p · 2ⁿ, n an integer and p in [½, 1].
#[inline(always)]
fn half_exp<E: Emit>(e: &mut E, a: E::Value) -> (E::Value, E::Value) {
    let (rest, _, floor) = reduce_exp(e, a);
    (e.horner(rest, &HALF_EXP), floor)
}

/// (a − n ln 2, a ÷ ln 2, n), with n the floor of the second.
#[inline(always)]
fn reduce_exp<E: Emit>(e: &mut E, a: E::Value) -> (E::Value, E::Value, E::Value) {
    let per_octave = e.f32(std::f32::consts::LOG2_E);
    let octaves = e.mul(a, per_octave);
    let floor = e.floor(octaves);
    let mut rest = a;
    for part in LN_2 {
        let part = e.f32(part);
        let part = e.mul(floor, part);
        rest = e.sub(rest, part);
    }
    (rest, octaves, floor)
}

/// p · 2ⁿ · factor, rounded once, for n ≥ −151. n is added to the exponent of p as far as the
/// result stays normal; the rest is added to the exponent of `factor`.
///
/// At n = −151 the scaled factor is 0. So results far below the smallest subnormal, which are
/// common for exp, involve no underflow, which is slow on some processors.
#[inline(always)]
fn scale<E: Emit>(e: &mut E, p: E::Value, n: E::Value, factor: f32) -> E::Value {
    let all = exponent(e, n);
    let min = e.i32((-151 << FRACTION_BITS) + factor.to_bits() as i32);
    let first = e.smax(all, min);
    let second = e.isub(all, first);
    let p = add_exponent(e, p, first);
    let factor = e.f32(factor);
    let factor = add_exponent(e, factor, second);
    e.mul(p, factor)
}

/// An integral float, converted to an integer in the position of the exponent bits; 0 for NaN.
#[inline(always)]
pub(super) fn exponent<E: Emit>(e: &mut E, n: E::Value) -> E::Value {
    let n = e.truncate_to_int(n);
    let shift = e.i32(FRACTION_BITS);
    e.shl(n, shift)
}

/// x with `exponent` added to its exponent bits.
#[inline(always)]
pub(super) fn add_exponent<E: Emit>(e: &mut E, x: E::Value, exponent: E::Value) -> E::Value {
    let x = e.bits(x);
    let x = e.iadd(x, exponent);
    e.float(x)
}

/// eᵃ ÷ 2 for 0 ≤ a ≤ 89.
#[inline(always)]
fn half_exp_of_positive<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let (p, floor) = half_exp(e, a);
    let n = exponent(e, floor);
    add_exponent(e, p, n)
}

/// (sinh a − a) ÷ a³ in a², on [0, 1].
const SINH: [f32; 3] = [0.16666716, 0.008330271, 0.0002037334];

/// sinh a
pub fn sinh<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let x = e.abs(a);
    let (half, rest) = half_exps(e, x);
    let large = e.sub(half, rest);
    let small = odd_polynomial(e, x, &SINH);
    let one = e.f32(1.0);
    let is_small = e.lt(x, one);
    let x = e.select(is_small, small, large);
    with_sign(e, x, a)
}

/// cosh a
pub fn cosh<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let x = e.abs(a);
    let (half, rest) = half_exps(e, x);
    e.add(half, rest)
}

/// eˣ ÷ 2 and e⁻ˣ ÷ 2 for x ≥ 0.
#[inline(always)]
fn half_exps<E: Emit>(e: &mut E, x: E::Value) -> (E::Value, E::Value) {
    // Beyond 89.42 both sinh and cosh overflow. At the limit eˣ ÷ 4 is still finite.
    let limit = e.f32(89.5);
    let x = e.min(x, limit);
    let (p, floor) = half_exp(e, x);
    let half = e.f32(0.5);
    let p = e.mul(p, half);
    let n = exponent(e, floor);
    let quarter = add_exponent(e, p, n);
    let half = e.add(quarter, quarter);
    let c = e.f32(0.25);
    let rest = e.div(c, half);
    (half, rest)
}

/// (tanh a − a) ÷ a³ in a², on [0, 0.55].
const TANH: [f32; 4] = [-0.33332947, 0.13320729, -0.05267201, 0.016437879];

/// tanh a
pub fn tanh<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let x = e.abs(a);
    let small = odd_polynomial(e, x, &TANH);
    // 1 − 2 ÷ (e²ˣ + 1), which rounds to 1 from 9.02 on.
    let limit = e.f32(10.0);
    let clamped = e.min(x, limit);
    let double = e.add(clamped, clamped);
    let half = half_exp_of_positive(e, double);
    let c = e.f32(0.5);
    let sum = e.add(half, c);
    let one = e.f32(1.0);
    let quotient = e.div(one, sum);
    let large = e.sub(one, quotient);
    let seam = e.f32(0.55);
    let is_small = e.lt(x, seam);
    let x = e.select(is_small, small, large);
    with_sign(e, x, a)
}

/// x + x³ · p(x²), with the coefficients of p.
#[inline(always)]
fn odd_polynomial<E: Emit>(e: &mut E, x: E::Value, coefficients: &[f32]) -> E::Value {
    let square = e.mul(x, x);
    let p = e.horner(square, coefficients);
    let p = e.mul(p, square);
    let p = e.mul(p, x);
    e.add(x, p)
}
