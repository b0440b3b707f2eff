//! Short definitions of WGSL builtins.

use super::EmitExt;
use crate::ir::Emit;

/// a − b · trunc(a ÷ b). If a ÷ b rounds up to an integer, the result may have the opposite sign.
pub fn rem<E: Emit>(e: &mut E, a: E::Value, b: E::Value) -> E::Value {
    let quotient = e.div(a, b);
    let truncated = e.trunc(quotient);
    let multiple = e.mul(b, truncated);
    e.sub(a, multiple)
}

/// −1, 0 or 1; zeros keep their sign, NaN stays NaN
pub fn sign<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    // The smallest subnormal, 2⁻¹⁴⁹, becomes 2¹⁰⁵.
    let scale = e.f32(2f32.powi(127));
    let a = e.mul(a, scale);
    let a = e.mul(a, scale);
    e.clamp(a, -1.0, 1.0)
}

/// a − ⌊a⌋, in [0, 1]; 1 if a is negative and tiny, as in WGSL
pub fn fract<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    let floor = e.floor(a);
    e.sub(a, floor)
}

/// 1 if edge ≤ x, else 0; 0 for NaN
pub fn step<E: Emit>(e: &mut E, edge: E::Value, x: E::Value) -> E::Value {
    let is_above = e.le(edge, x);
    let (one, zero) = (e.f32(1.0), e.f32(0.0));
    e.select(is_above, one, zero)
}

/// t²(3 − 2t) with t = clamp((x − low) ÷ (high − low), 0, 1), in [0, 1]; NaN if the quotient is NaN
///
/// As a function of t over [0, 1], it is monotone up to 1 ulp.
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
