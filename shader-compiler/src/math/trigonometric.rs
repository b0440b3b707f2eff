//! sin, cos and tan.
//!
//! The argument is reduced by subtracting a multiple of π or π/2 in four parts (Cody and Waite
//! 1980). All products except the last are exact for |a| ≤ 2¹³. Beyond that, the accuracy of the
//! remainder degrades, but sines and cosines stay within [−1, 1].

use super::{EmitExt, SIGN_BIT};
use crate::ir::Emit;
use std::f32::consts::{FRAC_1_PI, FRAC_2_PI, FRAC_PI_2, FRAC_PI_4};

/// π in parts of 11 bits, except for the last one. All are positive, so that −0 is preserved.
const PI: [f32; 4] = [3.140625, 0.0009675026, 1.5099067e-7, 5.126688e-12];

/// π/2 in parts of 11 bits, except for the last one.
const HALF_PI: [f32; 4] = [1.5703125, 0.0004837513, 7.5495336e-8, 2.563344e-12];

/// (sin x − x) ÷ x³ in x², on [0, π/4].
const SIN: [f32; 3] = [-0.166666552, 0.00833218917, -0.000195182918];

/// The computed sine of π/4.
const SIN_OF_QUARTER_PI: f32 = 0.70710677;

/// 1.5 · 2²³. Adding this to a number below 2²² and subtracting it again rounds to the nearest
/// integer. The lowest bit of the sum is that integer's lowest bit.
const ROUNDING_OFFSET: f32 = 12582912.0;

/// sin a
pub fn sin<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let per_turn = e.f32(FRAC_1_PI);
    let turns = e.mul(a, per_turn);
    let offset = e.f32(ROUNDING_OFFSET);
    let sum = e.add(turns, offset);
    let turns = e.sub(sum, offset);
    reduced_sin(e, a, turns, sum)
}

/// cos a
pub fn cos<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    // sin(a + π/2), with the quarter turn subtracted from the multiple of π.
    let per_turn = e.f32(FRAC_1_PI);
    let turns = e.mul(a, per_turn);
    let half = e.f32(0.5);
    let turns = e.add(turns, half);
    let offset = e.f32(ROUNDING_OFFSET);
    let sum = e.add(turns, offset);
    let turns = e.sub(sum, offset);
    let turns = e.sub(turns, half);
    reduced_sin(e, a, turns, sum)
}

/// Moves the lowest bit of `sum` to the sign bit.
#[inline(always)]
fn parity<E: Emit>(e: &mut E, sum: E::Value) -> E::Value {
    let sum = e.bits(sum);
    let shift = e.i32(31);
    e.shl(sum, shift)
}

/// sin x for x = a − turns · π, negated if the lowest bit of `sum` is set.
///
/// It is exactly monotone on [−π/2, π/2], so interval lowerings can evaluate it at endpoints
/// without widening:
///
/// - Up to π/4, sin x = x + x³ p(x²). The exact sum of the two terms, which is rounded last, grows
///   from one float to the next. With u = 2⁻²⁴, four roundings cause an error of at most 4.1 u x³/6
///   in the second term. From ½ on, floats are u apart, the sum grows by at least (1 − x²/2) u ≥
///   0.69 u, and the errors are at most 0.33 u at each of the two floats. Below ½, floats are at
///   least u x apart, the sum grows by at least 0.87 u x, and the errors are at most 0.18 u x.
/// - Beyond π/4, where the slope tends to 0, sin x = 1 − 2 sin² y with y = (π/2 − x)/2 ≤ π/8. The
///   sine of y is monotone as above, and so are its square, twice that, and the difference from 1.
/// - At the seam, the second branch is clamped to the last value of the first one.
fn reduced_sin<E: Emit>(e: &mut E, a: E::Value, turns: E::Value, sum: E::Value) -> E::Value {
    let (x, correction) = reduce(e, a, turns, &PI);
    let x = e.sub(x, correction);
    let magnitude = e.abs(x);
    let (quarter, half) = (e.f32(FRAC_PI_4), e.f32(0.5));
    let is_below_quarter = e.le(magnitude, quarter);
    let quarter_turn = e.f32(FRAC_PI_2);
    let y = e.sub(quarter_turn, magnitude);
    let y = e.mul(y, half);
    let z = e.select(is_below_quarter, magnitude, y);
    let square = e.mul(z, z);
    let p = e.horner(square, &SIN);
    let p = e.mul(p, square);
    let p = e.mul(p, z);
    let sine = e.add(z, p);
    let square = e.mul(sine, sine);
    let double = e.add(square, square);
    let one = e.f32(1.0);
    let flat = e.sub(one, double);
    let min = e.f32(SIN_OF_QUARTER_PI);
    let flat = e.max(flat, min);
    let magnitude = e.select(is_below_quarter, sine, flat);
    // The sign of x, including −0, times the sign for the parity of the turn.
    let x = e.bits(x);
    let mask = e.i32(SIGN_BIT);
    let sign = e.and(x, mask);
    let turn_sign = parity(e, sum);
    let sign = e.xor(sign, turn_sign);
    let magnitude = e.bits(magnitude);
    let p = e.xor(magnitude, sign);
    e.float(p)
}

/// a − n · (sum of the parts), except for the last product, which is returned separately.
/// Subtracting it from the final result saves a rounding. The product is below 2⁻²⁶ for |a| ≤ 2¹³,
/// so ignoring the slope of the function has little effect.
#[inline(always)]
fn reduce<E: Emit>(e: &mut E, a: E::Value, n: E::Value, parts: &[f32; 4]) -> (E::Value, E::Value) {
    let [parts @ .., last] = parts;
    let mut rest = a;
    for &part in parts {
        let part = e.f32(part);
        let part = e.mul(n, part);
        rest = e.sub(rest, part);
    }
    let last = e.f32(*last);
    (rest, e.mul(n, last))
}

/// (tan x − x) ÷ x³ in x², on [0, π/4].
const TAN: [f32; 6] = [0.33333156, 0.13338836, 0.0534082, 0.024441391, 0.0031014823, 0.009396526];

/// tan a; inaccurate for |a| > 2¹³
pub fn tan<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let per_turn = e.f32(FRAC_2_PI);
    let turns = e.mul(a, per_turn);
    let offset = e.f32(ROUNDING_OFFSET);
    let sum = e.add(turns, offset);
    let turns = e.sub(sum, offset);
    let (rest, correction) = reduce(e, a, turns, &HALF_PI);
    let square = e.mul(rest, rest);
    let p = e.horner(square, &TAN);
    let cube = e.mul(square, rest);
    let p = e.mul(p, cube);
    let p = e.sub(p, correction);
    let t = e.add(rest, p);
    let minus = e.f32(-1.0);
    let other = e.div(minus, t);
    let sign = parity(e, sum);
    let zero = e.i32(0);
    let is_odd = e.slt(sign, zero);
    e.select(is_odd, other, t)
}
