//! Logarithms, and the inverse hyperbolic functions, which use them.
//!
//! Integer arithmetic on the bits decomposes x = m · 2ⁿ with m in [√½, √2); subnormal x is scaled
//! up first. With f = m − 1, which is exact, and s = f ÷ (2 + f), log m = f − s · (f − s² · p(s²)).
//! The term f dominates, so rounding errors of the remaining terms are small.

use super::exponential::LN_2;
use super::{EmitExt, FRACTION_BITS, with_sign};
use crate::ir::Emit;
use std::f32::consts::{FRAC_1_SQRT_2, LOG2_E};

/// (log((1 + s) ÷ (1 − s)) ÷ s − 2) ÷ s² in s², where |s| < 3 − 2√2.
const LOG: [f32; 3] = [0.66666776, 0.39977583, 0.29870796];

/// Factor from exponent bits in place, read as an integer, to the exponent.
const EXPONENT_UNIT: f32 = 1.0 / (1 << FRACTION_BITS) as f32;

/// ln a
pub fn log<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let (m, n) = split(e, a);
    let l = log_near_one(e, m);
    let l = add_octaves(e, l, n);
    with_special_cases(e, a, l)
}

/// log₂ a
pub fn log2<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let (m, n) = split(e, a);
    let l = log_near_one(e, m);
    let octaves = e.f32(LOG2_E);
    let l = e.mul(l, octaves);
    let unit = e.f32(EXPONENT_UNIT);
    let n = e.mul(n, unit);
    let l = e.add(n, l);
    with_special_cases(e, a, l)
}

/// l + n · ln 2, where n is given as n · 2²³. The larger of the two products is exact; otherwise
/// results could decrease where n increases.
#[inline(always)]
fn add_octaves<E: Emit>(e: &mut E, l: E::Value, n: E::Value) -> E::Value {
    let [high, low] = LN_2.map(|part| e.f32(part * EXPONENT_UNIT));
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
    let (up, one) = (e.f32((1 << FRACTION_BITS) as f32), e.f32(1.0));
    let factor = e.select(is_subnormal, up, one);
    let a = e.mul(a, factor);
    let low = FRAC_1_SQRT_2.to_bits();
    let a = e.bits(a);
    let offset = e.i32((1.0f32.to_bits() - low) as i32);
    let a = e.iadd(a, offset);
    let mask = e.i32(-1 << FRACTION_BITS);
    let exponent = e.and(a, mask);
    let mask = e.i32(!(-1 << FRACTION_BITS));
    let fraction = e.and(a, mask);
    let low = e.i32(low as i32);
    let m = e.iadd(fraction, low);
    let m = e.float(m);
    let factor = e.bits(factor);
    let n = e.isub(exponent, factor);
    (m, e.convert(n))
}

/// Handles special cases of a logarithm: l if a is positive and finite, −∞ if a is 0, ∞ if a is ∞,
/// and NaN otherwise.
#[inline(always)]
fn with_special_cases<E: Emit>(e: &mut E, a: E::Value, l: E::Value) -> E::Value {
    let root = e.sqrt(a);
    let (one, infinity) = (e.f32(1.0), e.f32(f32::INFINITY));
    let other = e.sub(root, one);
    let other = e.mul(other, infinity);
    let is_regular = is_positive_and_finite(e, a);
    e.select(is_regular, l, other)
}

/// Whether a is in (0, ∞), as one comparison of its bits.
#[inline(always)]
pub(super) fn is_positive_and_finite<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let a = e.bits(a);
    let min = e.i32(1);
    let offset = e.isub(a, min);
    let limit = e.i32(f32::MAX.to_bits() as i32);
    e.ult(offset, limit)
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

/// ln(2 · (high + low)), for high in [½, ∞] and a small low such that high + low rounds to high.
#[inline(always)]
fn log_of_double<E: Emit>(e: &mut E, high: E::Value, low: E::Value) -> E::Value {
    let low_bits = FRAC_1_SQRT_2.to_bits();
    let a = e.bits(high);
    let offset = e.i32((1.0f32.to_bits() - low_bits) as i32);
    let a = e.iadd(a, offset);
    let mask = e.i32(-1 << FRACTION_BITS);
    let exponent = e.and(a, mask);
    let mask = e.i32(!(-1 << FRACTION_BITS));
    let fraction = e.and(a, mask);
    let c = e.i32(low_bits as i32);
    let m = e.iadd(fraction, c);
    let m = e.float(m);
    let bias = e.i32(0.5f32.to_bits() as i32);
    let n = e.isub(exponent, bias);
    let n = e.convert(n);
    // 2⁻ⁿ scales `low` to a correction of f. The product may be NaN if it is not used.
    let top = e.i32(1.0f32.to_bits() as i32 * 2);
    let scale = e.isub(top, exponent);
    let scale = e.float(scale);
    let low = e.mul(low, scale);
    let (limit, zero) = (e.f32(1e9), e.f32(0.0));
    let is_used = e.lt(high, limit);
    let low = e.select(is_used, low, zero);
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
    let rounded = e.sub(high, half);
    let low = e.sub(u, rounded);
    log_of_double(e, high, low)
}

/// arsinh a
pub fn asinh<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    // log(1 + u), where u = x + x² ÷ (1 + √(1 + x²)). For large x the quotient tends to x − 1, so
    // from 2²⁰ on x is clamped and the excess is added to the quotient.
    let x = e.abs(a);
    let (clamped, excess) = split_excess(e, x);
    let one = e.f32(1.0);
    let square = e.mul(clamped, clamped);
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
    // log(1 + u), where u = t + √(t² + 2t) and t = a − 1. For large t the root tends to t + 1, so
    // from 2²⁰ on t is clamped and the excess is added to the root.
    let one = e.f32(1.0);
    let t = e.sub(a, one);
    // t² + 2t is positive again for t < −2. Clamping t to −1 makes the root NaN there.
    let minus = e.f32(-1.0);
    let t = e.max(t, minus);
    let (clamped, excess) = split_excess(e, t);
    let square = e.mul(clamped, clamped);
    let double = e.add(clamped, clamped);
    let square = e.add(square, double);
    let root = e.sqrt(square);
    let root = e.add(root, excess);
    let half = e.f32(0.5);
    let root = e.mul(root, half);
    let t = e.mul(t, half);
    let u = e.add(t, root);
    log_of_one_and_double(e, u)
}

/// Splits x into min(x, 2²⁰), which has a finite square, and the excess over it.
#[inline(always)]
fn split_excess<E: Emit>(e: &mut E, x: E::Value) -> (E::Value, E::Value) {
    let limit = e.f32(1048576.0);
    let clamped = e.min(x, limit);
    (clamped, e.sub(x, clamped))
}

/// artanh a
pub fn atanh<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    // ½ log(1 + 2u), where u = x + x² ÷ (1 − x).
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
