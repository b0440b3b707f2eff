//! Operators of WGSL on leaves: arithmetic, comparisons, logic, conversions, products with matrices.
//!
//! Sums of products (matrix × vector and the like) are added from left to right, without fusing.

use crate::ir::{Builder, Emit, Op, Type, Value};
use naga::{BinaryOperator as Bin, RelationalFunction, ScalarKind as Kind, TypeInner, UnaryOperator};

/// The k-th of some components; a scalar stands for as many as are wanted.
pub(crate) fn at(values: &[Value], k: usize) -> Value {
    if values.len() == 1 { values[0] } else { values[k] }
}

/// Not `a`; undoes one that is there.
pub(crate) fn not(b: &mut Builder, a: Value) -> Value {
    match b.function().operation(a) {
        Some((Op::BNot, args)) => args[0],
        _ => b.op(Op::BNot, &[a]),
    }
}

/// Σ a·b from left to right.
pub(crate) fn dot(b: &mut Builder, kind: Kind, x: impl IntoIterator<Item = Value>, y: &[Value]) -> Value {
    let (mul, add) = if kind == Kind::Float { (Op::Mul, Op::Add) } else { (Op::IMul, Op::IAdd) };
    let mut sum = None;
    for (x, &y) in x.into_iter().zip(y) {
        let term = b.op(mul, &[x, y]);
        sum = Some(sum.map_or(term, |sum| b.op(add, &[sum, term])));
    }
    sum.expect("vectors have components")
}

pub(crate) fn unary(b: &mut Builder, op: UnaryOperator, kind: Kind, a: &[Value], out: &mut Vec<Value>) {
    for &a in a {
        out.push(match (op, kind) {
            (UnaryOperator::Negate, Kind::Float) => b.op(Op::Neg, &[a]),
            (UnaryOperator::Negate, _) => negate(b, a),
            (UnaryOperator::LogicalNot, _) => not(b, a),
            (UnaryOperator::BitwiseNot, _) => {
                let ones = b.i32(-1);
                b.op(Op::Xor, &[a, ones])
            }
        });
    }
}

/// −a of an integer, wrapping.
pub(crate) fn negate(b: &mut Builder, a: Value) -> Value {
    let zero = b.i32(0);
    b.op(Op::ISub, &[zero, a])
}

/// `left op right`, operands given by type and leaves. Matrices times something are products of linear algebra; everything else
/// goes component by component, where a scalar stands for a vector of it.
pub(crate) fn binary(
    b: &mut Builder,
    op: Bin,
    left: (&TypeInner, &[Value]),
    right: (&TypeInner, &[Value]),
    out: &mut Vec<Value>,
) {
    let kind = left.0.scalar_kind().expect("operands are made of scalars");
    if op == Bin::Multiply {
        match (left.0, right.0) {
            (TypeInner::Matrix { rows, .. }, TypeInner::Vector { .. } | TypeInner::Matrix { .. }) => {
                let (rows, inner) = (*rows as usize, left.1.len() / *rows as usize);
                for column in right.1.chunks(inner) {
                    for row in 0..rows {
                        out.push(dot(b, kind, left.1.iter().copied().skip(row).step_by(rows), column));
                    }
                }
                return;
            }
            (TypeInner::Vector { .. }, TypeInner::Matrix { rows, .. }) => {
                for column in right.1.chunks(*rows as usize) {
                    out.push(dot(b, kind, left.1.iter().copied(), column));
                }
                return;
            }
            _ => {}
        }
    }
    for k in 0..left.1.len().max(right.1.len()) {
        let value = scalar_binary(b, op, kind, at(left.1, k), at(right.1, k));
        out.push(value);
    }
}

/// One of three operations by scalar kind.
fn by_kind(kind: Kind, float: Op, sint: Op, uint: Op) -> Op {
    match kind {
        Kind::Float | Kind::AbstractFloat => float,
        Kind::Sint | Kind::AbstractInt => sint,
        Kind::Uint => uint,
        Kind::Bool => unreachable!("there is no arithmetic on bools"),
    }
}

fn scalar_binary(b: &mut Builder, op: Bin, kind: Kind, x: Value, y: Value) -> Value {
    let bools = kind == Kind::Bool;
    let op = match op {
        Bin::Add => by_kind(kind, Op::Add, Op::IAdd, Op::IAdd),
        Bin::Subtract => by_kind(kind, Op::Sub, Op::ISub, Op::ISub),
        Bin::Multiply => by_kind(kind, Op::Mul, Op::IMul, Op::IMul),
        Bin::Divide => by_kind(kind, Op::Div, Op::SDiv, Op::UDiv),
        Bin::Modulo => by_kind(kind, Op::Rem, Op::SRem, Op::URem),
        Bin::And if bools => Op::BAnd,
        Bin::InclusiveOr if bools => Op::BOr,
        Bin::ExclusiveOr if bools => Op::BXor,
        Bin::And => Op::And,
        Bin::InclusiveOr => Op::Or,
        Bin::ExclusiveOr => Op::Xor,
        Bin::LogicalAnd => Op::BAnd,
        Bin::LogicalOr => Op::BOr,
        Bin::ShiftLeft => Op::Shl,
        Bin::ShiftRight => by_kind(kind, Op::LShr, Op::AShr, Op::LShr),
        Bin::NotEqual if bools => Op::BXor,
        Bin::Equal if !bools => by_kind(kind, Op::Eq, Op::IEq, Op::IEq),
        Bin::Less => by_kind(kind, Op::Lt, Op::SLt, Op::ULt),
        Bin::LessEqual if kind == Kind::Float => Op::Le,
        Bin::Greater => return scalar_binary(b, Bin::Less, kind, y, x),
        Bin::GreaterEqual if kind == Kind::Float => return scalar_binary(b, Bin::LessEqual, kind, y, x),
        // The rest are opposites.
        Bin::Equal => return opposite(b, Bin::NotEqual, kind, x, y),
        Bin::NotEqual => return opposite(b, Bin::Equal, kind, x, y),
        Bin::LessEqual => return opposite(b, Bin::Less, kind, y, x),
        Bin::GreaterEqual => return opposite(b, Bin::Less, kind, x, y),
    };
    b.op(op, &[x, y])
}

fn opposite(b: &mut Builder, op: Bin, kind: Kind, x: Value, y: Value) -> Value {
    let value = scalar_binary(b, op, kind, x, y);
    not(b, value)
}

/// `accept` where `cond`, else `reject`; what is the same on both sides needs no choice.
pub(crate) fn choose(b: &mut Builder, cond: Value, accept: Value, reject: Value) -> Value {
    match b.known_bool(cond) {
        _ if accept == reject => accept,
        Some(true) => accept,
        Some(false) => reject,
        None => b.op(Op::Select, &[cond, accept, reject]),
    }
}

pub(crate) fn select(b: &mut Builder, cond: &[Value], accept: &[Value], reject: &[Value], out: &mut Vec<Value>) {
    for k in 0..accept.len() {
        let value = choose(b, at(cond, k), accept[k], reject[k]);
        out.push(value);
    }
}

/// `all`, `any`, `isNan`, `isInf`. `isNan(x)` is `x ≠ x`.
pub(crate) fn relational(b: &mut Builder, fun: RelationalFunction, a: &[Value], out: &mut Vec<Value>) {
    match fun {
        RelationalFunction::All | RelationalFunction::Any => {
            let op = if fun == RelationalFunction::All { Op::BAnd } else { Op::BOr };
            let all = a.iter().copied().reduce(|x, y| b.op(op, &[x, y]));
            out.push(all.expect("vectors have components"));
        }
        RelationalFunction::IsNan => {
            for &a in a {
                let number = b.op(Op::Eq, &[a, a]);
                out.push(not(b, number));
            }
        }
        RelationalFunction::IsInf => {
            for &a in a {
                let (size, infinite) = (b.op(Op::Abs, &[a]), b.f32(f32::INFINITY));
                out.push(b.op(Op::Eq, &[size, infinite]));
            }
        }
    }
}

/// Value conversion, or the same bits in another type.
pub(crate) fn convert(b: &mut Builder, from: Kind, to: Kind, bits_only: bool, a: &[Value], out: &mut Vec<Value>) {
    for &a in a {
        let value = if bits_only { bitcast(b, to, a) } else { converted(b, from, to, a) };
        out.push(value);
    }
}

fn bitcast(b: &mut Builder, to: Kind, a: Value) -> Value {
    match (b.ty(a), to) {
        (Type::F32, Kind::Sint | Kind::Uint) => b.op(Op::Bits, &[a]),
        (Type::I32, Kind::Float) => b.op(Op::Float, &[a]),
        _ => a,
    }
}

fn converted(b: &mut Builder, from: Kind, to: Kind, a: Value) -> Value {
    match (from, to) {
        (Kind::Float, Kind::Sint) => b.op(Op::ToS32, &[a]),
        (Kind::Float, Kind::Uint) => b.op(Op::ToU32, &[a]),
        (Kind::Sint, Kind::Float) => b.op(Op::FromS32, &[a]),
        (Kind::Uint, Kind::Float) => b.op(Op::FromU32, &[a]),
        (Kind::Bool, Kind::Float) => {
            let (one, zero) = (b.f32(1.0), b.f32(0.0));
            choose(b, a, one, zero)
        }
        (Kind::Bool, Kind::Sint | Kind::Uint) => {
            let (one, zero) = (b.i32(1), b.i32(0));
            choose(b, a, one, zero)
        }
        (Kind::Float, Kind::Bool) => {
            let zero = b.f32(0.0);
            scalar_binary(b, Bin::NotEqual, Kind::Float, a, zero)
        }
        (Kind::Sint | Kind::Uint, Kind::Bool) => {
            let zero = b.i32(0);
            scalar_binary(b, Bin::NotEqual, Kind::Sint, a, zero)
        }
        _ => a,
    }
}
