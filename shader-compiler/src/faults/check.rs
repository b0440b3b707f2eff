//! Whether an operation fails: for values, and for bounds of values.

use super::FaultKind;
use super::path::{PathBounds, results};
use super::slice::Site;
use crate::interval::{Bools, Bounds, Floats};
use crate::ir::{Function, Op};

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
    let at_site = PathBounds::new(function, bounds, &site.path);
    let args: Vec<Bounds> = operands.iter().map(|&value| finite(at_site.of(value))).collect();
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
            let [low, high, x] = [0, 1, 2].map(|k| args[k].floats());
            let apart = low.high() < high.low()
                || high.high() < low.low()
                || at_site.are_different(operands[0], operands[1]);
            if !apart {
                return Some(FaultKind::DivisionByZero);
            }
            // (x − low) ÷ (high − low)
            let is_undefined = may_overflow(x, low) && may_overflow(high, low);
            return is_undefined.then_some(FaultKind::NotANumber);
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
    let result = results(op, &args, same);
    let Bounds::Float(result) = &result else { return None };
    if result.nan {
        Some(FaultKind::NotANumber)
    } else if result.low() < f32::MIN || result.high() > f32::MAX {
        Some(FaultKind::Infinity)
    } else {
        None
    }
}

/// Whether a difference of floats within bounds may be infinite.
fn may_overflow(a: &Floats, b: &Floats) -> bool {
    let [low, high] = [[a.low(), b.high()], [a.high(), b.low()]].map(|[a, b]| a - b);
    low.is_infinite() || high.is_infinite()
}

/// Bounds without NaN and infinities.
fn finite(bounds: Bounds) -> Bounds {
    match bounds {
        Bounds::Float(floats) => Bounds::Float(floats.meet(&Floats::finite())),
        bounds => bounds,
    }
}
