//! Transfer functions of operations on integers: exact corners if they fit, interval arithmetic
//! otherwise.

use super::float::with_zeros;
use crate::interval::{Bools, Bounds, Facts, Interval, Ints, Nan, OpLowering, Pieces};
use crate::ir::{Op, Type};
use crate::math::eval::ConstantEvaluator;

/// Products below this magnitude fit even by the test in code, which uses floats.
const MAX_EXACT_PRODUCT: i64 = i32::MAX as i64 - 4096;

pub(super) fn transfer_int(op: Op, a: &Ints) -> Bounds {
    let min = a.hull().map_or(0, |[low, _]| low);
    match op {
        Op::FromS32 | Op::FromU32 if op == Op::FromS32 || min >= 0 => {
            let mut pieces = Pieces::empty();
            a.iter().for_each(|[low, high]| pieces.add(low as f32, high as f32));
            Bounds::Float(with_zeros(pieces, false, true, false))
        }
        Op::FromU32 => {
            Bounds::Float(with_zeros(Pieces::one(0.0, 4294967296.0), false, true, false))
        }
        _ if op.signature().result == Some(Type::F32) => Bounds::all(Type::F32),
        _ => from_lowering(op, &[a], false, Nan::Suppress),
    }
}

pub(super) fn transfer_ints(op: Op, [a, b]: [&Ints; 2], same: bool, nan: Nan) -> Bounds {
    match op {
        Op::IAdd => int_corners(a, b, |a, b| a + b),
        Op::ISub => int_corners(a, b, |a, b| a - b),
        Op::IMul => int_corners(a, b, |a, b| {
            Some(a * b).filter(|product| product.abs() < MAX_EXACT_PRODUCT).unwrap_or(i64::MAX)
        }),
        Op::SMin => int_corners(a, b, |a, b| a.min(b)),
        Op::SMax => int_corners(a, b, |a, b| a.max(b)),
        _ => from_lowering(op, &[a, b], same, nan),
    }
}

/// The results at the four corners of each pair of pieces; unbounded if one does not fit, since
/// then some results wrap.
fn int_corners(a: &Ints, b: &Ints, f: impl Fn(i64, i64) -> i64) -> Bounds {
    let mut results = Pieces::empty();
    for [a, c] in a.iter() {
        for [b, d] in b.iter() {
            let corners = [[a, b], [a, d], [c, b], [c, d]];
            let (mut low, mut high) = (i32::MAX, i32::MIN);
            for [x, y] in corners {
                let Ok(z) = i32::try_from(f(x.into(), y.into())) else {
                    return Bounds::all(Type::I32);
                };
                (low, high) = (low.min(z), high.max(z));
            }
            results.add(low, high);
        }
    }
    Bounds::Int(results)
}

/// Bounds from the interval lowering of an integer operation, evaluated for the hull of each
/// operand. Lowerings are not wider for narrower operands.
fn from_lowering(op: Op, args: &[&Ints], same: bool, nan: Nan) -> Bounds {
    let hull = |ints: &&Ints| {
        let [lo, hi] = ints.hull().unwrap_or([i32::MIN, i32::MAX]).map(|end| end as u32);
        let facts = Facts { nan: false, negative_zero: false, singleton: false };
        Interval { lo, hi, known: Bounds::Int(**ints), facts }
    };
    let mut words = ConstantEvaluator::default();
    let mut lowering = OpLowering { emit: &mut words, nan, same, nan_free: vec![], case: "" };
    let [lo, hi] = match args {
        [a] => lowering.apply(op, &[hull(a)]),
        [a, b] => lowering.apply(op, &[hull(a), hull(b)]),
        _ => unreachable!("operations on integers have one or two operands"),
    };
    match op.signature().result {
        Some(Type::Bool) => Bounds::Bool(Bools { may_be_false: lo == 0, may_be_true: hi != 0 }),
        _ => Bounds::Int(Pieces::one(lo as i32, hi as i32)),
    }
}
