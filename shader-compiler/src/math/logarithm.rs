//! Logarithms, and the inverse hyperbolic functions, which use them.
//!
//! Integer arithmetic on the bits decomposes x = m · 2ⁿ with m in [√½, √2); subnormal x is scaled
//! up first. With f = m − 1, which is exact, and s = f ÷ (2 + f), log m = f − s · (f − s² ·
//! polynomial in s²): f dominates, so the rounding of the remaining terms hardly matters.

use super::exponential::LN_2;
use super::{FRACTION, Steps, with_sign};
use crate::ir::Emit;
use std::f32::consts::{FRAC_1_SQRT_2, LOG2_E};

/// (log((1 + s) ÷ (1 − s)) ÷ s − 2) ÷ s² in s², where |s| < 3 − 2√2.
const LOG: [f32; 3] = [0.66666776, 0.39977583, 0.29870796];

/// 2⁻²³ converts exponent bits in place, read as an integer, to the exponent.
const UNIT: f32 = 1.0 / (1 << FRACTION) as f32;

/// ln a
pub fn log<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let (m, n) = split(e, a);
    let l = log_near_one(e, m);
    let l = add_octaves(e, l, n);
    of_positive(e, a, l)
}

/// log₂ a
pub fn log2<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let (m, n) = split(e, a);
    let l = log_near_one(e, m);
    let octaves = e.f32(LOG2_E);
    let l = e.mul(l, octaves);
    let unit = e.f32(UNIT);
    let n = e.mul(n, unit);
    let l = e.add(n, l);
    of_positive(e, a, l)
}

/// l + n · ln 2, where n is given as n · 2²³. The larger product is exact; otherwise results would
/// decrease where n increases.
#[inline(always)]
fn add_octaves<E: Emit>(e: &mut E, l: E::Value, n: E::Value) -> E::Value {
    let [high, low] = LN_2.map(|part| e.f32(part * UNIT));
    let low = e.mul(n, low);
    let l = e.add(l, low);
    let high = e.mul(n, high);
    e.add(high, l)
}

/// (m, n) with a = m · 2ⁿ, m in [√½, √2), for positive a; n is returned as the float n · 2²³.
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
    (m, e.convert(n))
}

/// The logarithm l if a is positive and finite; −∞ at 0, ∞ at ∞, NaN elsewhere.
#[inline(always)]
fn of_positive<E: Emit>(e: &mut E, a: E::Value, l: E::Value) -> E::Value {
    let root = e.sqrt(a);
    let (one, infinity) = (e.f32(1.0), e.f32(f32::INFINITY));
    let other = e.sub(root, one);
    let other = e.mul(other, infinity);
    let is_usual = is_positive_and_finite(e, a);
    e.select(is_usual, l, other)
}

/// Whether a is in (0, ∞), as one comparison of its bits.
#[inline(always)]
pub(super) fn is_positive_and_finite<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let a = e.bits(a);
    let least = e.i32(1);
    let above = e.isub(a, least);
    let end = e.i32(f32::MAX.to_bits() as i32);
    e.ult(above, end)
}

/// ln m for m in [√½, √2)
#[inline(always)]
fn log_near_one<E: Emit>(e: &mut E, m: E::Value) -> E::Value {
    let one = e.f32(1.0);
    let f = e.sub(m, one);
    log_of_one_plus(e, f)
}

/// ln(1 + f)
#[inline(always)]
fn log_of_one_plus<E: Emit>(e: &mut E, f: E::Value) -> E::Value {
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
    let n = e.convert(n);
    // 2⁻ⁿ scales `low` to a correction of f. It may be NaN if it is not used.
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
    let l = log_of_one_plus(e, f);
    let l = add_octaves(e, l, n);
    let infinity = e.f32(f32::INFINITY);
    let is_finite = e.lt(high, infinity);
    e.select(is_finite, l, high)
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
    // log(1 + u), u = x + x² ÷ (1 + √(1 + x²)). For large x the quotient tends to x − 1, so from
    // 2²⁰ on the excess is added.
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
    // log(1 + u), u = t + √(t² + 2t), t = a − 1. For large t the root tends to t + 1, so from 2²⁰
    // on the excess is added.
    let one = e.f32(1.0);
    let t = e.sub(a, one);
    // At −1 and below, the product might be positive again. −1 makes the root NaN.
    let minus = e.f32(-1.0);
    let t = e.max(t, minus);
    let (near, excess) = part(e, t);
    let square = e.mul(near, near);
    let double = e.add(near, near);
    let square = e.add(square, double);
    let root = e.sqrt(square);
    let root = e.add(root, excess);
    let half = e.f32(0.5);
    let root = e.mul(root, half);
    let t = e.mul(t, half);
    let u = e.add(t, root);
    log_of_one_and_double(e, u)
}

/// x as the sum of min(x, 2²⁰), whose square is finite, and the excess.
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
