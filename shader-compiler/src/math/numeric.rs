//! Small sequences: what WGSL spells out.

use super::Steps;
use crate::ir::Emit;

/// a − b · trunc(a ÷ b). Where a ÷ b rounds to an integer from below, the result may have the other
/// sign.
pub fn rem<E: Emit>(e: &mut E, a: E::Value, b: E::Value) -> E::Value {
    let quotient = e.div(a, b);
    let whole = e.trunc(quotient);
    let whole = e.mul(b, whole);
    e.sub(a, whole)
}

/// −1, 0 or 1; a zero keeps its sign, NaN stays
pub fn sign<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    // The least subnormal, 2⁻¹⁴⁹, comes to 2¹⁰⁵.
    let up = e.f32(2f32.powi(127));
    let a = e.mul(a, up);
    let a = e.mul(a, up);
    e.clamp(a, -1.0, 1.0)
}

/// a − ⌊a⌋, in [0, 1]: 1 where a is negative and tiny, as in WGSL
pub fn fract<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let whole = e.floor(a);
    e.sub(a, whole)
}

/// 1 where edge ≤ x, else 0, for NaN too
pub fn step<E: Emit>(e: &mut E, edge: E::Value, x: E::Value) -> E::Value {
    let is_reached = e.le(edge, x);
    let (one, zero) = (e.f32(1.0), e.f32(0.0));
    e.select(is_reached, one, zero)
}

/// t²(3 − 2t) of t = clamp((x − low) ÷ (high − low), 0, 1), in [0, 1]; NaN where the quotient is
///
/// In t, over all of [0, 1], it falls behind a result before it by at most 1 ulp.
pub fn smoothstep<E: Emit>(e: &mut E, low: E::Value, high: E::Value, x: E::Value) -> E::Value {
    let x = e.sub(x, low);
    let width = e.sub(high, low);
    let t = e.div(x, width);
    let t = e.clamp(t, 0.0, 1.0);
    let square = e.mul(t, t);
    let double = e.add(t, t);
    let three = e.f32(3.0);
    let p = e.sub(three, double);
    e.mul(square, p)
}

/// 1 ÷ √a
pub fn rsqrt<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let root = e.sqrt(a);
    let one = e.f32(1.0);
    e.div(one, root)
}
