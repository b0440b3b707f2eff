//! stub

use crate::ir::{Emit, Op};

/// stub
pub fn exp<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

/// stub
pub fn exp2<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

/// stub
pub fn log<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

/// stub
pub fn log2<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

/// stub
pub fn pow<E: Emit>(e: &mut E, a: E::Value, b: E::Value) -> E::Value {
    e.op(Op::Add, &[a, b])
}

/// stub
pub fn sin<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

/// stub
pub fn cos<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

/// stub
pub fn tan<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

/// stub
pub fn asin<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

/// stub
pub fn acos<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

/// stub
pub fn atan<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

/// stub
pub fn atan2<E: Emit>(e: &mut E, y: E::Value, x: E::Value) -> E::Value {
    e.op(Op::Add, &[y, x])
}

/// stub
pub fn sinh<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

/// stub
pub fn cosh<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

/// stub
pub fn tanh<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

/// stub
pub fn asinh<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

/// stub
pub fn acosh<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

/// stub
pub fn atanh<E: Emit>(e: &mut E, a: E::Value) -> E::Value {
    e.op(Op::Add, &[a, a])
}

