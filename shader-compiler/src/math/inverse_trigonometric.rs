//! asin, acos, atan and atan2.

use super::{EmitExt, with_sign};
use crate::ir::Emit;
use std::f32::consts::{FRAC_PI_2, PI};

/// (asin x − x) ÷ x³ in x², on [0, ½].
const ASIN: [f32; 5] = [0.16666752, 0.074953094, 0.045469154, 0.024184743, 0.042158388];

/// arcsin a, in [−π/2, π/2]
pub fn asin<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    // For x > ½, asin x = π/2 − 2 asin √((1 − x) ÷ 2).
    let x = e.abs(a);
    let (half, one) = (e.f32(0.5), e.f32(1.0));
    let is_large = e.lt(half, x);
    let rest = e.sub(one, x);
    let rest = e.mul(rest, half);
    let square = e.mul(x, x);
    let square = e.select(is_large, rest, square);
    let root = e.sqrt(rest);
    let s = e.select(is_large, root, x);
    let p = e.horner(square, &ASIN);
    let cube = e.mul(square, s);
    let p = e.mul(p, cube);
    let p = e.add(s, p);
    let quarter = e.f32(FRAC_PI_2);
    let double = e.add(p, p);
    let large = e.sub(quarter, double);
    // The amount by which the float π/2 exceeds the exact value.
    let excess = e.f32(4.371139e-8);
    let large = e.sub(large, excess);
    let x = e.select(is_large, large, p);
    with_sign(e, x, a)
}

/// (acos(1 − w/2) − √w) ÷ √w³ in w, on [0, 2].
const ACOS: [f32; 7] = [
    0.041667264,
    0.0046800673,
    0.0007274119,
    0.00006284939,
    0.00007603783,
    -2.2931683e-5,
    6.8397253e-6,
];

/// arccos a, in [0, π]
pub fn acos<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    // acos |a| = s + s · w · p(w), where w = 2 (1 − |a|) and s = √w; every step is monotone. For
    // negative a, acos a = π − acos |a|.
    let x = e.abs(a);
    let one = e.f32(1.0);
    let complement = e.sub(one, x);
    let w = e.add(complement, complement);
    let s = e.sqrt(w);
    let p = e.horner(w, &ACOS);
    let p = e.mul(p, w);
    let p = e.mul(p, s);
    let x = e.add(s, p);
    let half_turn = e.f32(PI);
    let other = e.sub(half_turn, x);
    let zero = e.f32(0.0);
    let is_negative = e.lt(a, zero);
    e.select(is_negative, other, x)
}

/// Numerator and denominator of (x − atan x) ÷ x³ in x², on [0, 1]. Their common factor was chosen
/// to minimize violations of monotonicity.
const ATAN: [[f32; 3]; 2] =
    [[0.23333204, 0.13033156, 0.0020442137], [0.70000005, 0.8109168, 0.19320555]];

/// arctan a, in [−π/2, π/2]
pub fn atan<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let x = e.abs(a);
    let one = e.f32(1.0);
    let small = e.min(x, one);
    let large = e.max(x, one);
    let x = angle(e, small, large, one, x);
    with_sign(e, x, a)
}

/// The arc tangent of small ÷ large, or π/2 minus that if x < y.
#[inline(always)]
fn angle<E: Emit>(
    e: &mut E,
    small: E::Value,
    large: E::Value,
    x: E::Value,
    y: E::Value,
) -> E::Value {
    let u = e.div(small, large);
    let square = e.mul(u, u);
    let [numerator, denominator] = ATAN;
    let numerator = e.horner(square, &numerator);
    let denominator = e.horner(square, &denominator);
    let cube = e.mul(square, u);
    let numerator = e.mul(numerator, cube);
    let p = e.div(numerator, denominator);
    let p = e.sub(u, p);
    let quarter = e.f32(FRAC_PI_2);
    let rest = e.sub(quarter, p);
    let is_mirrored = e.lt(x, y);
    e.select(is_mirrored, rest, p)
}

/// The angle of (x, y), in [−π, π]. Zeros of either sign follow IEEE 754; NaN if both are infinite
pub fn atan2<E: Emit>(e: &mut E, y: E::Value, x: E::Value) -> E::Value {
    let (ay, ax) = (e.abs(y), e.abs(x));
    // This order of operands propagates NaN from either.
    let small = e.min(ax, ay);
    let large = e.max(ay, ax);
    let tiny = e.f32(f32::from_bits(1));
    let large = e.max(large, tiny);
    let p = angle(e, small, large, ax, ay);
    let half_turn = e.f32(PI);
    let other = e.sub(half_turn, p);
    let x = e.bits(x);
    let zero = e.i32(0);
    let is_behind = e.slt(x, zero);
    let p = e.select(is_behind, other, p);
    with_sign(e, p, y)
}
