//! stub

use crate::ir::{Emit, Op};

/// stub
pub fn rem<E: Emit>(e: &mut E, a: E::Value, b: E::Value) -> E::Value {
    e.op(Op::Add, &[a, b])
}

/// stub
pub fn sign<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

/// stub
pub fn fract<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

/// stub
pub fn step<E: Emit>(e: &mut E, edge: E::Value, x: E::Value) -> E::Value {
    e.op(Op::Add, &[edge, x])
}

/// stub
pub fn smoothstep<E: Emit>(e: &mut E, low: E::Value, high: E::Value, x: E::Value) -> E::Value {
    e.op(Op::Add, &[low, x])
}

/// stub
pub fn rsqrt<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

