//! sin, cos and tan.
//!
//! The argument is reduced by a multiple of π or π/2 that is subtracted in four parts (Cody and Waite 1980), all products but the last
//! being exact for |a| ≤ 2¹³. Beyond, what is left is ever less exact; sines and cosines are clamped, so that they stay within [−1, 1].

use super::{SIGN, Steps};
use crate::ir::Emit;
use std::f32::consts::{FRAC_1_PI, FRAC_2_PI};

/// π in parts of 11 bits, but the last; all are positive, so that −0 stays.
const PI: [f32; 4] = [3.140625, 0.0009675026, 1.5099067e-7, 5.126688e-12];

/// Half of π in parts of 11 bits, but the last.
const HALF_PI: [f32; 4] = [1.5703125, 0.0004837513, 7.5495336e-8, 2.563344e-12];

/// (sin x − x) ÷ x³ in x², on [0, π/2].
const SIN: [f32; 4] = [-0.1666666, 0.008333068, -0.00019809729, 2.6060159e-6];

/// 1.5 · 2²³: added to a number below 2²² and taken away again, it leaves the nearest integer, and its lowest bit shows in the sum.
const MAGIC: f32 = 12582912.0;

/// sin a
pub fn sin<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let per_turn = e.f32(FRAC_1_PI);
    let turns = e.mul(a, per_turn);
    let magic = e.f32(MAGIC);
    let sum = e.add(turns, magic);
    let turns = e.sub(sum, magic);
    let (rest, p) = sin_of_rest(e, a, turns);
    // Both have the same sign, but that of −0 got lost in the sum.
    let rest = e.bits(rest);
    let sign = e.i32(SIGN);
    let sign = e.and(rest, sign);
    let p = e.bits(p);
    let p = e.or(p, sign);
    turn(e, p, sum)
}

/// cos a
pub fn cos<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    // sin(a + π/2), the quarter turn being taken from the multiple of π.
    let per_turn = e.f32(FRAC_1_PI);
    let turns = e.mul(a, per_turn);
    let half = e.f32(0.5);
    let turns = e.add(turns, half);
    let magic = e.f32(MAGIC);
    let sum = e.add(turns, magic);
    let turns = e.sub(sum, magic);
    let turns = e.sub(turns, half);
    let (_, p) = sin_of_rest(e, a, turns);
    let p = e.bits(p);
    turn(e, p, sum)
}

/// The float of bits p, its sign turned where the lowest bit of `sum` is set.
#[inline(always)]
fn turn<E: Emit>(e: &mut E, p: E::Value, sum: E::Value) -> E::Value {
    let sign = parity(e, sum);
    let p = e.xor(p, sign);
    e.float(p)
}

/// The lowest bit, as a sign.
#[inline(always)]
fn parity<E: Emit>(e: &mut E, sum: E::Value) -> E::Value {
    let sum = e.bits(sum);
    let up = e.i32(31);
    e.shl(sum, up)
}

/// x = a − turns · π and its sine, within [−1, 1]
#[inline(always)]
fn sin_of_rest<E: Emit>(e: &mut E, a: E::Value, turns: E::Value) -> (E::Value, E::Value) {
    let (x, correction) = reduce(e, a, turns, &PI);
    let square = e.mul(x, x);
    let p = e.horner(square, &SIN);
    let p = e.mul(p, square);
    let p = e.mul(p, x);
    let p = e.sub(p, correction);
    let p = e.add(x, p);
    (x, e.clamp(p, -1.0, 1.0))
}

/// a − n · (sum of the parts), the last product apart, which is to be subtracted from what this leads to: that is one rounding less,
/// and it is below 2⁻²⁶ for |a| ≤ 2¹³, so that the slope of the function, where it is not 1, hardly matters.
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

/// tan a; beyond |a| = 2¹³ of no accuracy
pub fn tan<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let per_turn = e.f32(FRAC_2_PI);
    let turns = e.mul(a, per_turn);
    let magic = e.f32(MAGIC);
    let sum = e.add(turns, magic);
    let turns = e.sub(sum, magic);
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
