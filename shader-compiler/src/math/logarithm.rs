//! Logarithms, and the inverse hyperbolic functions made of them.
//!
//! x = m · 2ⁿ with m in [√½, √2), by integer arithmetic on the bits; subnormal x is scaled up first. With f = m − 1, which is exact,
//! and s = f ÷ (2 + f), log m = f − s · (f − s² · polynomial in s²): f leads, so the rounding of the rest hardly shows.

use super::{FRACTION, Steps, with_sign};
use crate::ir::Emit;
use std::f32::consts::{FRAC_1_SQRT_2, LN_2, LOG2_E};

/// (log((1 + s) ÷ (1 − s)) ÷ s − 2) ÷ s² in s², where |s| < 3 − 2√2.
const LOG: [f32; 3] = [0.6666677594184875, 0.3997756838798523, 0.29871460795402527];

/// 2⁻²³, by which an exponent in its place in the bits, as a number, is more than the exponent.
const UNIT: f32 = 1.0 / (1 << FRACTION) as f32;

/// ln a
pub fn log<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let (m, n) = split(e, a);
    let n = at_infinity(e, a, n);
    let l = log_near_one(e, m);
    let octave = e.f32(LN_2 * UNIT);
    let n = e.mul(n, octave);
    let l = e.add(n, l);
    of_positive(e, a, l)
}

/// log₂ a
pub fn log2<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let (m, n) = split(e, a);
    let n = at_infinity(e, a, n);
    let l = log_near_one(e, m);
    let octaves = e.f32(LOG2_E);
    let l = e.mul(l, octaves);
    let unit = e.f32(UNIT);
    let n = e.mul(n, unit);
    let l = e.add(n, l);
    of_positive(e, a, l)
}

/// (m, n) with a = m · 2ⁿ, m in [√½, √2), for positive a; n comes as the float n · 2²³.
#[inline(always)]
pub(super) fn split<E: Emit>(e: &mut E, a: E::Value) -> (E::Value, E::Value) {
    let normal = e.f32(f32::MIN_POSITIVE);
    let is_subnormal = e.lt(a, normal);
    let (up, one) = (e.f32((1 << FRACTION) as f32), e.f32(1.0));
    let factor = e.select(is_subnormal, up, one);
    let a = e.mul(a, factor);
    let low = FRAC_1_SQRT_2.to_bits();
    let a = e.bits(a);
    let offset = e.i32((1.0f32.to_bits() - low) as i32);
    let a = e.iadd(a, offset);
    let mask = e.i32(-1 << FRACTION);
    let exponent = e.and(a, mask);
    let mask = e.i32(!(-1 << FRACTION));
    let fraction = e.and(a, mask);
    let low = e.i32(low as i32);
    let m = e.iadd(fraction, low);
    let m = e.float(m);
    let factor = e.bits(factor);
    let n = e.isub(exponent, factor);
    (m, e.from_s32(n))
}

/// n, but infinite where a is, and NaN where a is.
#[inline(always)]
fn at_infinity<E: Emit>(e: &mut E, a: E::Value, n: E::Value) -> E::Value {
    // At most 2⁻²¹ for finite a, which n absorbs: it is 0, and then a is near 1, or at least 2²³.
    let tiny = e.f32(f32::from_bits(1));
    let a = e.mul(a, tiny);
    e.add(n, a)
}

/// The logarithm l where a is positive; −∞ at 0, NaN below.
#[inline(always)]
fn of_positive<E: Emit>(e: &mut E, a: E::Value, l: E::Value) -> E::Value {
    let zero = e.f32(0.0);
    let is_positive = e.lt(zero, a);
    let root = e.sqrt(a);
    let infinity = e.f32(f32::INFINITY);
    let other = e.sub(root, infinity);
    e.select(is_positive, l, other)
}

/// ln m for m in [√½, √2)
#[inline(always)]
fn log_near_one<E: Emit>(e: &mut E, m: E::Value) -> E::Value {
    let one = e.f32(1.0);
    let f = e.sub(m, one);
    log_of_rest(e, f)
}

/// ln(1 + f)
#[inline(always)]
fn log_of_rest<E: Emit>(e: &mut E, f: E::Value) -> E::Value {
    let two = e.f32(2.0);
    let sum = e.add(f, two);
    let s = e.div(f, sum);
    let square = e.mul(s, s);
    let p = e.horner(square, &LOG);
    let p = e.mul(p, square);
    let p = e.sub(f, p);
    let p = e.mul(s, p);
    e.sub(f, p)
}

/// ln(2 · (high + low)), for high in [½, ∞] and low so small that high + low rounds to high.
#[inline(always)]
fn log_of_double<E: Emit>(e: &mut E, high: E::Value, low: E::Value) -> E::Value {
    let low_bits = FRAC_1_SQRT_2.to_bits();
    let a = e.bits(high);
    let offset = e.i32((1.0f32.to_bits() - low_bits) as i32);
    let a = e.iadd(a, offset);
    let mask = e.i32(-1 << FRACTION);
    let exponent = e.and(a, mask);
    let mask = e.i32(!(-1 << FRACTION));
    let fraction = e.and(a, mask);
    let c = e.i32(low_bits as i32);
    let m = e.iadd(fraction, c);
    let m = e.float(m);
    let bias = e.i32(0.5f32.to_bits() as i32);
    let n = e.isub(exponent, bias);
    let n = e.from_s32(n);
    let n = at_infinity(e, high, n);
    // 2⁻ⁿ, which turns `low` into a part of f. Where it does not count, it may be NaN.
    let top = e.i32(1.0f32.to_bits() as i32 * 2);
    let down = e.isub(top, exponent);
    let down = e.float(down);
    let low = e.mul(low, down);
    let (end, zero) = (e.f32(1e9), e.f32(0.0));
    let counts = e.lt(high, end);
    let low = e.select(counts, low, zero);
    let one = e.f32(1.0);
    let f = e.sub(m, one);
    let f = e.add(f, low);
    let l = log_of_rest(e, f);
    let octave = e.f32(LN_2 * UNIT);
    let n = e.mul(n, octave);
    e.add(n, l)
}

/// ln(1 + 2u) for u ≥ 0
#[inline(always)]
fn log_of_one_and_double<E: Emit>(e: &mut E, u: E::Value) -> E::Value {
    let half = e.f32(0.5);
    let high = e.add(u, half);
    let taken = e.sub(high, half);
    let low = e.sub(u, taken);
    log_of_double(e, high, low)
}

/// arsinh a
pub fn asinh<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    // log(1 + u), u = x + x² ÷ (1 + √(1 + x²)); the quotient is x − 1 as computed for large x, so from 2²⁰ on the excess is added.
    let x = e.abs(a);
    let (near, excess) = part(e, x);
    let one = e.f32(1.0);
    let square = e.mul(near, near);
    let root = e.add(square, one);
    let root = e.sqrt(root);
    let root = e.add(root, one);
    let quotient = e.div(square, root);
    let quotient = e.add(quotient, excess);
    let half = e.f32(0.5);
    let quotient = e.mul(quotient, half);
    let x = e.mul(x, half);
    let u = e.add(x, quotient);
    let l = log_of_one_and_double(e, u);
    with_sign(e, l, a)
}

/// arcosh a
pub fn acosh<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    // log(1 + u), u = t + √(t(t + 2)), t = a − 1; the root is t as computed for large t, so from 2²⁰ on the excess is added.
    let one = e.f32(1.0);
    let t = e.sub(a, one);
    // At −1 and below, where the product might be positive again, −1, so that the root is NaN.
    let minus = e.f32(-1.0);
    let t = e.max(t, minus);
    let (near, excess) = part(e, t);
    let two = e.f32(2.0);
    let sum = e.add(near, two);
    let square = e.mul(near, sum);
    let root = e.sqrt(square);
    let root = e.add(root, excess);
    let half = e.f32(0.5);
    let root = e.mul(root, half);
    let t = e.mul(t, half);
    let u = e.add(t, root);
    log_of_one_and_double(e, u)
}

/// x as the sum of what is below 2²⁰, so that its square is finite, and the excess.
#[inline(always)]
fn part<E: Emit>(e: &mut E, x: E::Value) -> (E::Value, E::Value) {
    let end = e.f32(1048576.0);
    let near = e.min(x, end);
    (near, e.sub(x, near))
}

/// artanh a
pub fn atanh<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    // ½ log(1 + 2u), u = x + x² ÷ (1 − x).
    let x = e.abs(a);
    let one = e.f32(1.0);
    let rest = e.sub(one, x);
    let square = e.mul(x, x);
    let quotient = e.div(square, rest);
    let u = e.add(x, quotient);
    let l = log_of_one_and_double(e, u);
    let half = e.f32(0.5);
    let l = e.mul(l, half);
    let is_inside = e.le(x, one);
    let nan = e.f32(f32::NAN);
    let l = e.select(is_inside, l, nan);
    with_sign(e, l, a)
}
