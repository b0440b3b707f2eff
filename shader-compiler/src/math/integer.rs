//! stub

use crate::ir::{Emit, Op};

/// stub
pub fn to_s32<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

/// stub
pub fn to_u32<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

/// stub
pub fn from_u32<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

/// stub
pub fn sdiv<E: Emit>(e: &mut E, a: E::Value, b: E::Value) -> E::Value {
    e.op(Op::Add, &[a, b])
}

/// stub
pub fn udiv<E: Emit>(e: &mut E, a: E::Value, b: E::Value) -> E::Value {
    e.op(Op::Add, &[a, b])
}

/// stub
pub fn srem<E: Emit>(e: &mut E, a: E::Value, b: E::Value) -> E::Value {
    e.op(Op::Add, &[a, b])
}

/// stub
pub fn urem<E: Emit>(e: &mut E, a: E::Value, b: E::Value) -> E::Value {
    e.op(Op::Add, &[a, b])
}

/// stub
pub fn count_ones<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

/// stub
pub fn leading_zeros<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

/// stub
pub fn trailing_zeros<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

/// stub
pub fn reverse_bits<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

