//! sin, cos and tan.
//!
//! The argument is reduced by a multiple of π or π/2 that is subtracted in four parts (Cody and Waite 1980), all products but the last being exact for
//! |a| ≤ 2¹³. Beyond, what is left is clamped, so that results stay within [−1, 1].

use super::{Steps, with_sign};
use crate::ir::Emit;
use std::f32::consts::{FRAC_1_PI, FRAC_2_PI};

/// π in parts of 11 bits, but the last; all are positive, so that −0 stays.
const PI: [f32; 4] = [3.140625, 0.0009675025939941406, 1.5099067240953445e-07, 5.126688136514179e-12];

/// Half of π in parts of 11 bits, but the last.
const HALF_PI: [f32; 4] = [1.5703125, 0.0004837512969970703, 7.549533620476723e-08, 2.5633440682570896e-12];

/// (sin x − x) ÷ x³ in x², on [0, π/2].
const SIN: [f32; 4] = [-0.166666597, 0.00833306741, -0.000198097754, 2.606213e-06];

/// What of a multiple of π is left at most: more than π/2, as the quotient that is rounded is itself rounded.
const END: f32 = 1.573;

/// 1.5 · 2²³: added to a number below 2²² and taken away again, it leaves the nearest integer, whose lowest bit shows in the sum.
const MAGIC: f32 = 12582912.0;

/// sin a
pub fn sin<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let per_turn = e.f32(FRAC_1_PI);
    let turns = e.mul(a, per_turn);
    let magic = e.f32(MAGIC);
    let sum = e.add(turns, magic);
    let turns = e.sub(sum, magic);
    let rest = reduce(e, a, turns, &PI);
    // By way of the absolute value, so that −0 stays.
    let end = e.f32(END);
    let x = e.abs(rest);
    let x = e.min(x, end);
    let p = sin_of_rest(e, x);
    let sign = parity(e, sum);
    let rest = e.bits(rest);
    let sign = e.xor(rest, sign);
    let sign = e.float(sign);
    with_sign(e, p, sign)
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
    let rest = reduce(e, a, turns, &PI);
    let rest = e.clamp(rest, -END, END);
    let p = sin_of_rest(e, rest);
    let sign = parity(e, sum);
    let p = e.bits(p);
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

/// sin x for |x| ≤ END
#[inline(always)]
fn sin_of_rest<E: Emit>(e: &mut E, x: E::Value) -> E::Value {
    let square = e.mul(x, x);
    let p = e.horner(square, &SIN);
    let cube = e.mul(square, x);
    let p = e.mul(p, cube);
    e.add(x, p)
}

/// a − n · (sum of the parts)
#[inline(always)]
fn reduce<E: Emit>(e: &mut E, a: E::Value, n: E::Value, parts: &[f32; 4]) -> E::Value {
    let mut rest = a;
    for &part in parts {
        let part = e.f32(part);
        let part = e.mul(n, part);
        rest = e.sub(rest, part);
    }
    rest
}

/// (tan x − x) ÷ x³ in x², on [0, π/4].
const TAN: [f32; 6] = [0.33333155512809753, 0.13338835537433624, 0.05340820178389549, 0.024441391229629517, 0.0031014822889119387, 0.009396526031196117];

/// tan a
pub fn tan<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let per_turn = e.f32(FRAC_2_PI);
    let turns = e.mul(a, per_turn);
    let magic = e.f32(MAGIC);
    let sum = e.add(turns, magic);
    let turns = e.sub(sum, magic);
    let rest = reduce(e, a, turns, &HALF_PI);
    let rest = e.clamp(rest, -0.787, 0.787);
    let square = e.mul(rest, rest);
    let p = e.horner(square, &TAN);
    let cube = e.mul(square, rest);
    let p = e.mul(p, cube);
    let t = e.add(rest, p);
    let minus = e.f32(-1.0);
    let other = e.div(minus, t);
    let sign = parity(e, sum);
    let zero = e.i32(0);
    let is_odd = e.slt(sign, zero);
    e.select(is_odd, other, t)
}
