//! Early exits of statements by `return`, `break` and `continue`, with their conditions.

use crate::builder::Builder;
use crate::ir::{Emit, Op, Value};

/// The condition under which control takes an exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExitCondition {
    Never,
    Always,
    /// Taken if this bool is true.
    If(Value),
}

/// Indices into [`Flow`].
pub(super) const RETURN: usize = 0;
pub(super) const BREAK: usize = 1;
pub(super) const CONTINUE: usize = 2;

/// The exit conditions of a sequence of steps. At most one exit is taken.
pub(super) type Flow = [ExitCondition; 3];

/// Control falls through to the next step.
pub(super) const NO_EXIT: Flow = [ExitCondition::Never; 3];

/// Control always takes this exit.
pub(super) fn unconditional_exit(kind: usize) -> Flow {
    let mut flow = NO_EXIT;
    flow[kind] = ExitCondition::Always;
    flow
}

/// Logical or, folded if an operand is constant.
pub(super) fn or(b: &mut Builder, x: Value, y: Value) -> Value {
    match (b.known_bool(x), b.known_bool(y)) {
        (Some(false), _) | (_, Some(true)) => y,
        (Some(true), _) | (_, Some(false)) => x,
        _ => b.op(Op::BOr, &[x, y]),
    }
}

/// Returns the condition under which any of these exits is taken.
pub(super) fn any_exit(b: &mut Builder, exits: &[ExitCondition]) -> ExitCondition {
    exits.iter().fold(ExitCondition::Never, |any, &exit| match (any, exit) {
        (ExitCondition::Always, _) | (_, ExitCondition::Always) => ExitCondition::Always,
        (ExitCondition::Never, other) | (other, ExitCondition::Never) => other,
        (ExitCondition::If(x), ExitCondition::If(y)) => ExitCondition::If(or(b, x, y)),
    })
}

/// Returns a bool that is true if an exit is taken.
pub(super) fn is_taken(b: &mut Builder, exit: ExitCondition) -> Value {
    match exit {
        ExitCondition::Never => b.bool(false),
        ExitCondition::Always => b.bool(true),
        ExitCondition::If(value) => value,
    }
}

/// An exit that is taken if a bool is true.
pub(super) fn exit_if(b: &Builder, value: Value) -> ExitCondition {
    match b.known_bool(value) {
        Some(false) => ExitCondition::Never,
        Some(true) => ExitCondition::Always,
        None => ExitCondition::If(value),
    }
}
