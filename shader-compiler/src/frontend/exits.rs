//! Early exits of statements by `return`, `break` and `continue`, with their conditions.

use crate::builder::Builder;
use crate::ir::{Emit, Op, Value};

/// Whether control takes an exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    Never,
    Always,
    /// If this bool is true.
    If(Value),
}

/// Indices into [`Flow`].
pub(super) const RETURN: usize = 0;
pub(super) const BREAK: usize = 1;
pub(super) const CONTINUE: usize = 2;

/// The exits of a sequence of steps. At most one is taken.
pub(super) type Flow = [Exit; 3];

/// Control falls through to the next step.
pub(super) const NO_EXIT: Flow = [Exit::Never; 3];

/// The flow that always takes this exit.
pub(super) fn exit_by(kind: usize) -> Flow {
    let mut flow = NO_EXIT;
    flow[kind] = Exit::Always;
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

/// Whether any of these exits is taken.
pub(super) fn any_exit(b: &mut Builder, exits: &[Exit]) -> Exit {
    exits.iter().fold(Exit::Never, |any, &exit| match (any, exit) {
        (Exit::Always, _) | (_, Exit::Always) => Exit::Always,
        (Exit::Never, other) | (other, Exit::Never) => other,
        (Exit::If(x), Exit::If(y)) => Exit::If(or(b, x, y)),
    })
}

/// Converts an exit to a bool.
pub(super) fn as_value(b: &mut Builder, exit: Exit) -> Value {
    match exit {
        Exit::Never => b.bool(false),
        Exit::Always => b.bool(true),
        Exit::If(value) => value,
    }
}

/// Converts a bool to an exit.
pub(super) fn as_exit(b: &Builder, value: Value) -> Exit {
    match b.known_bool(value) {
        Some(false) => Exit::Never,
        Some(true) => Exit::Always,
        None => Exit::If(value),
    }
}
