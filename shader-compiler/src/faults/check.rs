//! Whether an operation fails: for values, and for bounds of values.

use super::FaultKind;
use super::slice::Site;
use crate::analysis::transfer::transfer;
use crate::interval::{Bools, Bounds, Floats, Nan, Pieces};
use crate::ir::{Function, Op, Type, Value};

/// Depth of selects whose conditions refine bounds.
const MAX_SELECTS: u32 = 4;

/// How an operation fails that computes `result` from these operands; `None` if it does not, or if
/// an operand is not finite already.
pub(super) fn fault(op: Op, args: &[u32], result: u32) -> Option<FaultKind> {
    let float = |k: usize| f32::from_bits(args[k]);
    match op {
        Op::SDiv | Op::UDiv | Op::SRem | Op::URem => {
            return (args[1] == 0).then_some(FaultKind::IntegerDivisionByZero);
        }
        Op::Float => {}
        _ => {
            if !(0..args.len()).all(|k| float(k).is_finite()) {
                return None;
            }
        }
    }
    let result = f32::from_bits(result);
    match op {
        Op::Div | Op::Rem if float(1) == 0.0 => Some(FaultKind::DivisionByZero),
        Op::Smoothstep if float(0) == float(1) => Some(FaultKind::DivisionByZero),
        _ if result.is_nan() => Some(FaultKind::NotANumber),
        _ if result.is_infinite() => Some(FaultKind::Infinity),
        _ => None,
    }
}

/// A number that is 0 or negative if an operation fails, or small if it nearly does.
pub(super) fn margin(op: Op, args: &[u32], result: u32) -> f64 {
    let float = |k: usize| f64::from(f32::from_bits(args[k]));
    match op {
        Op::Div | Op::Rem => float(1),
        Op::SDiv | Op::UDiv | Op::SRem | Op::URem => f64::from(args[1] as i32),
        Op::Sqrt | Op::Rsqrt | Op::Log | Op::Log2 | Op::Pow => float(0),
        Op::Asin | Op::Acos | Op::Atanh => 1.0 - float(0).abs(),
        Op::Acosh => float(0) - 1.0,
        Op::Smoothstep => float(1) - float(0),
        _ => f64::from(f32::MAX) - f64::from(f32::from_bits(result)).abs(),
    }
}

/// How an operation may fail whose operands are finite and within these bounds.
pub(super) fn possible_fault(
    function: &Function,
    site: &Site,
    bounds: &[Bounds],
) -> Option<FaultKind> {
    for &(cond, truth) in &site.path {
        let Bools { may_be_false, may_be_true } = bounds[cond.index()].bools();
        if !(if truth { may_be_true } else { may_be_false }) {
            return None;
        }
    }
    let (op, operands) = function.operation(site.value).expect("sites are operations");
    let facts = facts(function, &site.path);
    let args: Vec<Bounds> = operands
        .iter()
        .map(|&value| finite(refined(function, bounds, &facts, value, MAX_SELECTS)))
        .collect();
    if args.iter().any(Bounds::is_empty) {
        return None;
    }
    let contains_zero = |bounds: &Bounds| match bounds {
        Bounds::Float(floats) => floats.pieces.contains(0.0),
        Bounds::Int(ints) => ints.contains(0),
        Bounds::Bool(_) => false,
    };
    match op {
        Op::SDiv | Op::UDiv | Op::SRem | Op::URem => {
            return contains_zero(&args[1]).then_some(FaultKind::IntegerDivisionByZero);
        }
        Op::Div | Op::Rem if contains_zero(&args[1]) => return Some(FaultKind::DivisionByZero),
        Op::Smoothstep => {
            let [low, high] = [args[0].floats(), args[1].floats()];
            let apart = low.high() < high.low() || high.high() < low.low();
            return (!apart).then_some(FaultKind::DivisionByZero);
        }
        _ => {}
    }
    let same = operands.len() > 1 && operands[0] == operands[1];
    // a % b is a − b · trunc(a ÷ b). If the quotient is finite, the product is at most |a|, apart
    // from rounding, and its sign is that of a.
    let op = if op == Op::Rem && args[0].floats().high() < 1e38 && args[0].floats().low() > -1e38 {
        Op::Div
    } else {
        op
    };
    let result = transfer(op, &args, same, Nan::Ignore);
    let Bounds::Float(result) = &result else { return None };
    if result.nan {
        Some(FaultKind::NotANumber)
    } else if result.low() < f32::MIN || result.high() > f32::MAX {
        Some(FaultKind::Infinity)
    } else {
        None
    }
}

/// Bounds without NaN and infinities.
fn finite(bounds: Bounds) -> Bounds {
    match bounds {
        Bounds::Float(floats) => Bounds::Float(floats.meet(&Floats::finite())),
        bounds => bounds,
    }
}

/// The comparisons and bools that the conditions of a path determine.
fn facts(function: &Function, path: &[(Value, bool)]) -> Vec<(Value, bool)> {
    let mut facts = Vec::new();
    let mut work = path.to_vec();
    while let Some((cond, truth)) = work.pop() {
        match (function.operation(cond), truth) {
            (Some((Op::BNot, &[a])), _) => work.push((a, !truth)),
            (Some((Op::BAnd, &[a, b])), true) | (Some((Op::BOr, &[a, b])), false) => {
                work.extend([(a, truth), (b, truth)]);
            }
            _ => facts.push((cond, truth)),
        }
    }
    facts
}

/// The bounds of a value where these facts hold.
fn refined(
    function: &Function,
    bounds: &[Bounds],
    known: &[(Value, bool)],
    value: Value,
    depth: u32,
) -> Bounds {
    let mut refined_bounds = finite(bounds[value.index()]);
    if function.constant(value).is_some() {
        return refined_bounds;
    }
    for &(cond, truth) in known {
        let Some((op, &[a, b])) = function.operation(cond) else { continue };
        if a == value {
            refined_bounds = clipped(op, truth, &refined_bounds, &bounds[b.index()], true);
        }
        if b == value {
            refined_bounds = clipped(op, truth, &refined_bounds, &bounds[a.index()], false);
        }
    }
    match function.operation(value) {
        Some((Op::Select, &[cond, then, otherwise])) if depth > 0 => {
            let arm = |arm: Value, truth: bool| {
                let Bools { may_be_false, may_be_true } = bounds[cond.index()].bools();
                if !(if truth { may_be_true } else { may_be_false }) {
                    return Bounds::empty(function.ty(arm));
                }
                let mut known = known.to_vec();
                known.extend(facts(function, &[(cond, truth)]));
                refined(function, bounds, &known, arm, depth - 1)
            };
            refined_bounds.meet(&arm(then, true).join(&arm(otherwise, false)))
        }
        // Signs do not matter for zeros, and magnitudes of operands give magnitudes of results.
        Some((op @ (Op::Abs | Op::Neg | Op::Sqrt), &[a])) if depth > 0 => {
            let a = refined(function, bounds, known, a, depth - 1);
            match a.is_empty() {
                true => Bounds::empty(Type::F32),
                false => refined_bounds.meet(&transfer(op, &[a], false, Nan::Ignore)),
            }
        }
        _ => refined_bounds,
    }
}

/// The bounds of an operand of a comparison with a known result. `first` says which operand it is.
fn clipped(op: Op, truth: bool, value: &Bounds, other: &Bounds, first: bool) -> Bounds {
    match (value, other) {
        (Bounds::Float(floats), Bounds::Float(limit)) => {
            let Some([low, high]) = limit.pieces.hull() else { return *value };
            let within = |a: f32, b: f32| {
                if a <= b { floats.pieces.within(a, b) } else { Pieces::empty() }
            };
            let (min, max) = (f32::NEG_INFINITY, f32::INFINITY);
            // Operands are not NaN.
            let pieces = match (op, truth, first) {
                (Op::Lt, true, true) => within(min, high.next_down()),
                (Op::Lt, true, false) => within(low.next_up(), max),
                (Op::Lt, false, true) => within(low, max),
                (Op::Lt, false, false) => within(min, high),
                (Op::Le, true, true) => within(min, high),
                (Op::Le, true, false) => within(low, max),
                (Op::Le, false, true) => within(low.next_up(), max),
                (Op::Le, false, false) => within(min, high.next_down()),
                (Op::Eq, true, _) => within(low, high),
                (Op::Eq, false, _) if low == high => {
                    within(min, low.next_down()).join(&within(low.next_up(), max))
                }
                _ => floats.pieces,
            };
            let zero = pieces.contains(0.0);
            Bounds::Float(Floats {
                pieces,
                nan: floats.nan,
                negative_zero: floats.negative_zero && zero,
                positive_zero: floats.positive_zero && zero,
            })
        }
        (Bounds::Int(ints), Bounds::Int(limit)) => {
            let (Some([low, high]), Op::IEq) = (limit.hull(), op) else { return *value };
            if truth {
                return Bounds::Int(ints.within(low, high));
            }
            if low != high {
                return *value;
            }
            let mut pieces = Pieces::empty();
            if let Some(below) = low.checked_sub(1) {
                pieces = pieces.join(&ints.within(i32::MIN, below));
            }
            if let Some(above) = low.checked_add(1) {
                pieces = pieces.join(&ints.within(above, i32::MAX));
            }
            Bounds::Int(pieces)
        }
        _ => *value,
    }
}
