//! Empty intervals: what endpoints that cross mean.
//!
//! An alternative holds for every member of a box that meets the preconditions and reaches the value. Where no member does, nothing need be
//! left between it and the operation's own endpoints, and the lower endpoint ends up above the upper one. So **endpoints that cross denote the
//! empty set**: no member has such a value, nor any that is made of it. There are three ways to it:
//!
//! - the box holds no unit vector, although code was told that there is one;
//! - all its unit vectors are below the horizon, where `support` takes z for 0;
//! - the endpoints of a condition allow an arm or a round that no member takes, since interval arithmetic forgets how the operands hang together.
//!
//! Naive and optimized code has no alternatives, and endpoints never cross there.
//!
//! Nothing recognises an empty interval at run time: that would need both endpoints where often but one is computed. Operations go on with what
//! they get, which static bounds no longer hold of. That does no harm until it is joined with what has members. A join of *numbers
//! within static bounds* only gets wider by it; but of others, case selection may take the wrong arm for the greater one, and a NaN may replace
//! a bound. So where control flow joins, endpoints of what may be empty are clamped to static bounds, and at outputs, where NaN is suppressed,
//! one that is NaN is replaced by them. Which values may be empty is known at compile time (`may_be_empty`).

use super::{Alternative, Point, Related, Relation};
use crate::analysis::Bounds;
use crate::ir::{Block, Builder, Emit, Op, Stmt, Value};

/// For each value, whether its endpoints may cross, or come of some that do.
pub(super) fn may_be_empty(point: &Point<'_>, related: &Related) -> Vec<bool> {
    let mut walk = Walk { point, related, empty: vec![false; point.function.len()] };
    // What loops carry round makes of the next round what the last one was.
    loop {
        let before = walk.empty.clone();
        walk.block(&point.function.body, false);
        if walk.empty == before {
            return walk.empty;
        }
    }
}

struct Walk<'a> {
    point: &'a Point<'a>,
    related: &'a Related,
    empty: Vec<bool>,
}

impl Walk<'_> {
    /// Walks a block, which is one of an arm or a loop if so.
    fn block(&mut self, block: &Block, is_nested: bool) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) => {
                    let (_, args) = self.point.function.operation(*value).expect("statements define operations");
                    let makes = |alternative: &Alternative| can_cross(alternative.relation(), is_nested);
                    let is_made = self.related.alternatives[value.index()].iter().any(makes);
                    self.empty[value.index()] = is_made || args.iter().any(|arg| self.empty[arg.index()]);
                }
                Stmt::If(node) => {
                    self.block(&node.then, true);
                    self.block(&node.otherwise, true);
                    for (k, &result) in node.results.iter().enumerate() {
                        self.join(result, &[node.then.yields[k], node.otherwise.yields[k]]);
                    }
                }
                Stmt::Loop(node) => {
                    for (k, &param) in node.params.iter().enumerate() {
                        self.join(param, &[node.init[k], node.body.yields[k]]);
                    }
                    self.block(&node.head, true);
                    self.block(&node.body, true);
                    for (k, &result) in node.results.iter().enumerate() {
                        self.join(result, &[node.head.yields[k]]);
                    }
                }
            }
        }
    }

    fn join(&mut self, result: Value, from: &[Value]) {
        self.empty[result.index()] |= from.iter().any(|value| self.empty[value.index()]);
    }
}

/// Whether an alternative may leave nothing of what the operation's endpoints say: those that follow from preconditions in any
/// block, all in nested ones.
fn can_cross(relation: Relation, is_nested: bool) -> bool {
    is_nested || matches!(relation, Relation::Unit | Relation::Dot | Relation::Squares | Relation::Half)
}

/// Endpoints of an interval that may be empty, with static bounds in place of NaN.
pub(crate) fn without_nan(builder: &mut Builder, known: &Bounds, [lo, hi]: [Value; 2]) -> [Value; 2] {
    let Bounds::Float(floats) = known else { return [lo, hi] };
    let [least, most] = floats.pieces.hull().unwrap_or([f32::NEG_INFINITY, f32::INFINITY]).map(|end| builder.f32(end));
    // Of a number and a NaN, extrema return the first one.
    [builder.op(Op::Max, &[least, lo]), builder.op(Op::Min, &[most, hi])]
}

/// Endpoints of an interval that may be empty, clamped to its static bounds, which stand in for NaN, too, unless that is to be kept.
pub(crate) fn clamped(builder: &mut Builder, known: &Bounds, [lo, hi]: [Value; 2], keeps_nan: bool) -> [Value; 2] {
    let (ops, [low, high]) = match known {
        Bounds::Float(floats) => {
            let hull = floats.pieces.hull().unwrap_or([f32::NEG_INFINITY, f32::INFINITY]);
            ([Op::Min, Op::Max], hull.map(|end| builder.f32(end)))
        }
        Bounds::Int(ints) => {
            let hull = ints.hull().unwrap_or([i32::MIN, i32::MAX]);
            ([Op::SMin, Op::SMax], hull.map(|end| builder.i32(end)))
        }
        Bounds::Bool(bools) => ([Op::BAnd, Op::BOr], [!bools.no, bools.yes].map(|end| builder.bool(end))),
    };
    let [min, max] = ops;
    // Of a number and a NaN, extrema return the first one.
    let mut clamp = |op: Op, end: Value, x: Value| builder.op(op, &if keeps_nan { [x, end] } else { [end, x] });
    let lo = clamp(max, low, lo);
    let hi = clamp(min, high, hi);
    [clamp(min, high, lo), clamp(max, low, hi)]
}
