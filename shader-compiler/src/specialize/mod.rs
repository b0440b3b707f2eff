//! Specialization: what remains of a function if some inputs are constants and the ranges of others
//! are known.
//!
//! Constants are substituted, and operations that the ranges of their operands decide are replaced:
//! those with one possible result, minima and maxima with a known operand, and sums with 0. So
//! code disappears whose result is multiplied by a weight of 0, if it is known to be finite. Loops
//! with a small number of iterations, now known, are unrolled.
//!
//! The specialized function has the same inputs and outputs, and the same results, bit by bit, but
//! for signs of zeros. Where the sign of a zero makes a difference to other numbers, as in a
//! divisor, it stays (`zero_signs.rs`).

mod binding_times;
mod cyclic;
mod extension;
mod zero_signs;
pub mod zeros;

pub use binding_times::BindingTime;
pub use extension::{BindingTimes, Budget, GeneratingExtension, ResidualCache};

use crate::analysis::Constraint;
use crate::analysis::conditions::Clips;
use crate::analysis::solve::{Facts, Ranges};
use crate::builder::rewrite::{Pass, append, remove_dead_code, rewrite};
use crate::builder::{Builder, Rules, cost_of};
use crate::interval::{Bounds, Floats, Nan};
use crate::ir::function::for_each_stmt;
use crate::ir::{Emit, Function, Op, Stmt, Type, Value};
use crate::lift::Input;
use crate::passes::{has_loops, unroll};
use crate::relations::{self, OF_POINTS};

/// Greatest number of times that a function is simplified.
const MAX_ROUNDS: usize = 8;

/// Specializes a function for inputs within their bounds; those with only one value are constants.
/// Directions are unit vectors, to the precision that [`Axis`](crate::relations::Axis) states.
/// `is_signed` states for each output whether the sign of a zero matters.
///
/// # Panics
///
/// Unless each input is described, and there is a flag for each output.
pub fn specialize(function: &Function, inputs: &[Input], is_signed: &[bool]) -> Function {
    assert_eq!(inputs.len(), function.inputs.len(), "each input is described");
    assert_eq!(is_signed.len(), function.outputs.len(), "there is a flag for each output");
    let mut function = substitute(function, inputs);
    for _ in 0..MAX_ROUNDS {
        let mut simplified = simplify(&function, inputs, is_signed);
        if has_loops(&simplified) {
            simplified = unroll::run(&simplified, Rules::Exact);
        }
        if simplified == function {
            break;
        }
        function = simplified;
    }
    function
}

/// Computes bounds on the outputs of a function for inputs within their bounds.
pub fn output_bounds(function: &Function, inputs: &[Input]) -> Vec<Bounds> {
    let clips = Clips::of_scalars(function, &vec![false; function.len()]);
    let bounds = ranges(function, inputs, &clips).of_values(function);
    function.body.yields.iter().map(|output| bounds[output.index()]).collect()
}

/// The approximate cost of a function, in cheap basic operations. Bodies of loops count once.
pub fn cost(function: &Function) -> u32 {
    let mut total = 0;
    for_each_stmt(&function.body, &mut |stmt| {
        if let Stmt::Op(value) = stmt {
            total += function.operation(*value).map_or(0, |(op, _)| cost_of(op));
        }
    });
    total
}

/// Replaces inputs that have only one value by constants. The inputs stay, without uses.
fn substitute(function: &Function, inputs: &[Input]) -> Function {
    let mut builder = Builder::new(&function.name, Rules::Exact);
    let ports = function.inputs.iter().map(|port| builder.input(&port.name, port.ty));
    let ports: Vec<_> = ports.collect();
    let values: Vec<_> = std::iter::zip(ports, inputs)
        .map(|(value, Input { bounds, .. })| match constant(bounds, true) {
            Some(bits) => builder.constant(bounds.ty(), bits),
            None => value,
        })
        .collect();
    let copy = |builder: &mut Builder, op: Op, args: &[Value]| builder.op(op, args);
    let (builder, outputs) = append(function, builder, &values, copy);
    let names = function.outputs.iter().map(|port| port.name.clone());
    let mut function = builder.finish(names.zip(outputs));
    remove_dead_code(&mut function);
    function
}

/// Replaces what ranges decide.
fn simplify(function: &Function, inputs: &[Input], is_signed: &[bool]) -> Function {
    let clips = Clips::of_scalars(function, &vec![false; function.len()]);
    let ranges = ranges(function, inputs, &clips);
    let bounds = ranges.of_values(function);
    let sign_matters = zero_signs::run(function, &bounds, is_signed);
    let operand = |value: Value, operand: usize| ranges.of_operand(value, operand);
    let pass = Simplify { function, operand, bounds, sign_matters };
    rewrite(function, Builder::new(&function.name, Rules::Exact), pass)
}

/// The ranges of all values. Relations between values, such as the components of a unit vector,
/// limit those that cannot be NaN.
fn ranges<'f>(function: &'f Function, inputs: &[Input], clips: &'f Clips) -> Ranges<'f> {
    let bounds: Vec<_> = inputs.iter().map(|input| input.bounds).collect();
    let axes: Vec<_> = inputs.iter().map(|input| input.axis).collect();
    let solve = |constraints: &[Constraint]| {
        let constraints = Some(constraints.to_vec());
        let facts = Facts { constraints, clips: Some(clips), ..Facts::default() };
        Ranges::solve(function, &vec![false; function.len()], &bounds, Nan::Ignore, facts)
    };
    let related = relations::run(
        function,
        &vec![true; function.len()],
        &axes,
        vec![],
        OF_POINTS.into_iter().collect(),
        Nan::Propagate,
        clips,
        solve,
    );
    solve(&related.constraints)
}

/// The only value within bounds, as bits. If the sign of a zero does not matter, it is positive.
fn constant(bounds: &Bounds, sign_matters: bool) -> Option<u32> {
    match bounds {
        Bounds::Float(floats) if !floats.nan => {
            let [low, high] = floats.pieces.hull()?;
            let is_signed_zero = low == 0.0 && sign_matters;
            let is_known = !is_signed_zero || floats.negative_zero != floats.positive_zero;
            let value = if low != 0.0 {
                low
            } else if sign_matters && floats.negative_zero {
                -0.0
            } else {
                0.0
            };
            (low == high && is_known).then_some(value.to_bits())
        }
        Bounds::Float(_) => None,
        Bounds::Int(ints) => {
            let [low, high] = ints.hull()?;
            (low == high).then_some(low as u32)
        }
        Bounds::Bool(bools) => (bools.may_be_true != bools.may_be_false)
            .then_some(if bools.may_be_true { !0 } else { 0 }),
    }
}

struct Simplify<'a, F> {
    function: &'a Function,
    /// The bounds of the operand at an index of an operation; `None` if the code is unreachable.
    operand: F,
    /// The bounds of each value.
    bounds: Vec<Bounds>,
    /// For each value, whether the sign of a zero matters.
    sign_matters: Vec<bool>,
}

impl<F: Fn(Value, usize) -> Option<Bounds>> Pass for Simplify<'_, F> {
    fn op(&mut self, builder: &mut Builder, old: Value, op: Op, args: &[Value]) -> Value {
        let sign_matters = self.sign_matters[old.index()];
        if let Some(bits) = constant(&self.bounds[old.index()], sign_matters) {
            return builder.constant(self.function.ty(old), bits);
        }
        if self.function.ty(old) != Type::F32 {
            return builder.op(op, args);
        }
        let floats = |k| (self.operand)(old, k).map(|bounds| *bounds.floats());
        let operand = match op {
            // The second operand is returned only if it is beyond the first.
            Op::Max => match (floats(0), floats(1)) {
                (Some(a), Some(b)) if b.high() <= a.low() => Some(0),
                (Some(a), Some(b)) if is_less(&a, &b, !sign_matters) => Some(1),
                _ => None,
            },
            Op::Min => match (floats(0), floats(1)) {
                (Some(a), Some(b)) if a.high() <= b.low() => Some(0),
                (Some(a), Some(b)) if is_less(&b, &a, !sign_matters) => Some(1),
                _ => None,
            },
            // The sign of a zero operand may change, since |x| does not depend on it.
            Op::Abs => floats(0)
                .is_some_and(|a| a.low() > 0.0 || a.low() == 0.0 && !sign_matters)
                .then_some(0),
            Op::Add if !sign_matters && floats(0).is_some_and(is_zero) => Some(1),
            Op::Add | Op::Sub if !sign_matters && floats(1).is_some_and(is_zero) => Some(0),
            Op::Sub if !sign_matters && floats(0).is_some_and(is_zero) => {
                return builder.op(Op::Neg, &args[1..]);
            }
            _ => None,
        };
        match operand {
            Some(k) => args[k],
            None => builder.op(op, args),
        }
    }
}

/// Whether a < b for all values within bounds, or a ≤ b if `or_equal`.
fn is_less(a: &Floats, b: &Floats, or_equal: bool) -> bool {
    !a.nan && !b.nan && (a.high() < b.low() || or_equal && a.high() == b.low())
}

fn is_zero(floats: Floats) -> bool {
    !floats.nan && floats.pieces.hull() == Some([0.0, 0.0])
}

#[cfg(test)]
mod tests;
