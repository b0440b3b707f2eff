//! Conversions, division and bit counting of integers, in terms of SSE4.1 instructions: without
//! integer division, with shifts by constants and products of the low 32 bits.

use super::{EmitExt, FRACTION_BITS};
use crate::ir::Emit;

/// a truncated toward zero to a signed integer, saturated; 0 for NaN
pub fn to_s32<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let i = e.truncate_to_int(a);
    let limit = e.f32(2147483648.0);
    let is_large = e.le(limit, a);
    let max = e.i32(i32::MAX);
    let i = e.select(is_large, max, i);
    let is_not_nan = e.eq(a, a);
    let zero = e.i32(0);
    e.select(is_not_nan, i, zero)
}

/// a truncated toward zero to an unsigned integer, saturated; 0 for NaN
pub fn to_u32<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let zero = e.f32(0.0);
    let a = e.max(zero, a);
    let i = below_two_to_32(e, a);
    let limit = e.f32(4294967296.0);
    let is_large = e.le(limit, a);
    let max = e.i32(-1);
    e.select(is_large, max, i)
}

/// a truncated toward zero to an unsigned integer, for a in [0, 2³²).
#[inline(always)]
fn below_two_to_32<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    // From 2³¹ on, `low` is 2³¹, and its sign selects the part above 2³¹.
    let offset = e.f32(2147483648.0);
    let low = e.truncate_to_int(a);
    let high = e.sub(a, offset);
    let high = e.truncate_to_int(high);
    let shift = e.i32(31);
    let mask = e.ashr(low, shift);
    let high = e.and(high, mask);
    e.or(low, high)
}

/// An unsigned integer rounded to the nearest float
pub fn from_u32<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    // Both halves are exact, so the sum is rounded once.
    let shift = e.i32(16);
    let high = e.lshr(a, shift);
    let high = e.convert(high);
    let mask = e.i32(0xffff);
    let low = e.and(a, mask);
    let low = e.convert(low);
    let unit = e.f32(65536.0);
    let high = e.mul(high, unit);
    e.add(high, low)
}

/// Quotient and remainder of unsigned integers; (a, 0) if b = 0.
#[inline(always)]
fn divide<E: Emit>(e: &mut E, a: E::Value, b: E::Value) -> (E::Value, E::Value) {
    // The quotient is the sum of two digits, computed in floats. Neither is too large: the inverse
    // is below 1 ÷ b by a relative difference of 2⁻²² to 2⁻²⁰, more than all rounding errors. After
    // the first digit, the remainder is below b + 2⁻²⁰ · a, so the second digit is below 2¹² and
    // the final remainder below 2b.
    let divisor = from_u32(e, b);
    let almost_one = e.f32(1.0 - 2f32.powi(-21));
    let inverse = e.div(almost_one, divisor);
    let (mut quotient, mut remainder) = (None, a);
    for is_first in [true, false] {
        let digit = from_u32(e, remainder);
        let digit = e.mul(digit, inverse);
        let digit = if is_first { below_two_to_32(e, digit) } else { e.truncate_to_int(digit) };
        let product = e.imul(digit, b);
        remainder = e.isub(remainder, product);
        quotient = Some(match quotient {
            Some(first) => e.iadd(first, digit),
            None => digit,
        });
    }
    let quotient = quotient.expect("the quotient has two digits");
    let is_final = e.ult(remainder, b);
    let one = e.i32(1);
    let next = e.iadd(quotient, one);
    let reduced = e.isub(remainder, b);
    let quotient = e.select(is_final, quotient, next);
    let remainder = e.select(is_final, remainder, reduced);
    let zero = e.i32(0);
    let is_zero = e.ieq(b, zero);
    (e.select(is_zero, a, quotient), e.select(is_zero, zero, remainder))
}

/// −x if the mask is all ones, x if it is zero.
#[inline(always)]
fn negate_where<E: Emit>(e: &mut E, x: E::Value, mask: E::Value) -> E::Value {
    let x = e.xor(x, mask);
    e.isub(x, mask)
}

/// All ones if x is negative, else zero.
#[inline(always)]
fn sign_mask<E: Emit>(e: &mut E, x: E::Value) -> E::Value {
    let shift = e.i32(31);
    e.ashr(x, shift)
}

/// Quotient of unsigned integers; a if b = 0
pub fn udiv<E: Emit>(e: &mut E, a: E::Value, b: E::Value) -> E::Value {
    divide(e, a, b).0
}

/// Remainder of `udiv`; 0 if b = 0
pub fn urem<E: Emit>(e: &mut E, a: E::Value, b: E::Value) -> E::Value {
    divide(e, a, b).1
}

/// Quotient of signed integers, truncated toward zero; a if b = 0 or the quotient does not fit
pub fn sdiv<E: Emit>(e: &mut E, a: E::Value, b: E::Value) -> E::Value {
    // −2³¹ ÷ −1 wraps to −2³¹ without special handling, and a ÷ 0 is |a| with the sign of a.
    let (sa, sb) = (sign_mask(e, a), sign_mask(e, b));
    let (ua, ub) = (negate_where(e, a, sa), negate_where(e, b, sb));
    let (quotient, _) = divide(e, ua, ub);
    let sign = e.xor(sa, sb);
    negate_where(e, quotient, sign)
}

/// Remainder of `sdiv`, with the sign of a; 0 if b = 0 or the quotient does not fit
pub fn srem<E: Emit>(e: &mut E, a: E::Value, b: E::Value) -> E::Value {
    let (sa, sb) = (sign_mask(e, a), sign_mask(e, b));
    let (ua, ub) = (negate_where(e, a, sa), negate_where(e, b, sb));
    let (_, remainder) = divide(e, ua, ub);
    negate_where(e, remainder, sa)
}

/// Number of set bits
pub fn count_ones<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    // Parallel sums of 2, 4 and 8 bits; the product adds the four bytes in the highest one.
    let (mask, by) = (e.i32(0x55555555), e.i32(1));
    let half = e.lshr(a, by);
    let half = e.and(half, mask);
    let x = e.isub(a, half);
    let (mask, by) = (e.i32(0x33333333), e.i32(2));
    let low = e.and(x, mask);
    let high = e.lshr(x, by);
    let high = e.and(high, mask);
    let x = e.iadd(low, high);
    let (mask, by) = (e.i32(0x0f0f0f0f), e.i32(4));
    let high = e.lshr(x, by);
    let x = e.iadd(x, high);
    let x = e.and(x, mask);
    let (bytes, by) = (e.i32(0x01010101), e.i32(24));
    let x = e.imul(x, bytes);
    e.lshr(x, by)
}

/// Biased exponent of an integer converted to a float; 0 for 0.
#[inline(always)]
fn exponent<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let x = e.convert(a);
    let x = e.bits(x);
    let by = e.i32(FRACTION_BITS);
    let x = e.lshr(x, by);
    let mask = e.i32(0xff);
    e.and(x, mask)
}

/// Number of leading zeros
pub fn leading_zeros<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    // Clearing each bit directly below a set bit keeps the conversion from rounding up to the next
    // power of two.
    let (one, all) = (e.i32(1), e.i32(-1));
    let below = e.lshr(a, one);
    let below = e.xor(below, all);
    let x = e.and(a, below);
    let x = exponent(e, x);
    let (top, width) = (e.i32(127 + 31), e.i32(32));
    let zeros = e.isub(top, x);
    let zeros = e.umin(zeros, width);
    // The conversion treats the highest bit as a sign.
    let zero = e.i32(0);
    let is_negative = e.slt(a, zero);
    e.select(is_negative, zero, zeros)
}

/// Number of trailing zeros
pub fn trailing_zeros<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let zero = e.i32(0);
    let minus = e.isub(zero, a);
    let x = e.and(a, minus);
    let x = exponent(e, x);
    let (bottom, width) = (e.i32(127), e.i32(32));
    let zeros = e.isub(x, bottom);
    e.umin(zeros, width)
}

/// Bits in reverse order
pub fn reverse_bits<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let mut x = a;
    for (by, mask) in [(1, 0x55555555), (2, 0x33333333), (4, 0x0f0f0f0f), (8, 0x00ff00ff)] {
        let (by, mask) = (e.i32(by), e.i32(mask));
        let high = e.lshr(x, by);
        let high = e.and(high, mask);
        let low = e.and(x, mask);
        let low = e.shl(low, by);
        x = e.or(high, low);
    }
    let by = e.i32(16);
    let high = e.lshr(x, by);
    let low = e.shl(x, by);
    e.or(high, low)
}
