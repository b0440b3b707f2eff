//! Empty intervals: the meaning of endpoints that cross.
//!
//! A refinement holds for every member of a box that satisfies the preconditions and for which the
//! value is computed. If there is no such member, the intersection of its endpoints with those of
//! the interval lowering may be empty: the lower endpoint is above the upper one. So **endpoints
//! that cross denote the empty set**: no member has this value, nor any value computed from it.
//! There are three causes:
//!
//! - the box contains no unit vector, although its inputs are declared to be one;
//! - all its unit vectors are below the horizon, where `support` clamps z to 0;
//! - the endpoints of a condition allow an arm or a loop iteration that no member takes, since
//!   interval arithmetic ignores the correlation of operands.
//!
//! Limits of normalized vectors and of remainders, and powers, never cross the endpoints of the
//! lowering by themselves: they hold for all combinations of members of the operands. Naive and
//! optimized code has no other refinements, so endpoints never cross there.
//!
//! Code does not test for empty intervals: a test needs both endpoints, and often only one is
//! computed. It applies operations to crossing endpoints, and results may lie outside static
//! bounds. That is harmless until they are joined with endpoints of nonempty intervals. There, case
//! selection might take the wrong operand for the greater one, and a NaN might replace a bound. So
//! at control-flow joins, endpoints of intervals that may be empty are clamped to static bounds. At
//! outputs, if NaN is suppressed, static bounds replace a NaN. A condition may be empty, too: then
//! it is both "certainly true" and "never true", neither arm runs, and all results of the `if` or
//! loop may be empty. The analysis `may_be_empty` determines the intervals that may be empty.

use super::{PointShader, Refinement, Relation, RelationInfo};
use crate::builder::Builder;
use crate::interval::Bounds;
use crate::ir::{Block, Emit, Op, Stmt, Value};

/// Returns, for each value, whether its endpoints may cross, or depend on endpoints that may.
pub(super) fn may_be_empty(point: &PointShader<'_>, related: &RelationInfo) -> Vec<bool> {
    let mut walk = EmptinessWalk { point, related, empty: vec![false; point.function.len()] };
    // Parameters of a loop carry emptiness from one iteration to the next.
    loop {
        let before = walk.empty.clone();
        walk.block(&point.function.body, false);
        if walk.empty == before {
            return walk.empty;
        }
    }
}

struct EmptinessWalk<'a> {
    point: &'a PointShader<'a>,
    related: &'a RelationInfo,
    empty: Vec<bool>,
}

impl EmptinessWalk<'_> {
    /// Visits a block; `is_nested` if it belongs to an arm or a loop.
    fn block(&mut self, block: &Block, is_nested: bool) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) => {
                    let (_, args) = self
                        .point
                        .function
                        .operation(*value)
                        .expect("statements define operations");
                    let crosses = |refinement: &Refinement| {
                        refinement.relation().is_some_and(|relation| can_cross(relation, is_nested))
                    };
                    let may_cross_here =
                        self.related.refinements[value.index()].iter().any(crosses);
                    self.empty[value.index()] =
                        may_cross_here || args.iter().any(|arg| self.empty[arg.index()]);
                }
                Stmt::If(node) => {
                    self.block(&node.then, true);
                    self.block(&node.otherwise, true);
                    for (k, &result) in node.results.iter().enumerate() {
                        self.join(
                            result,
                            &[node.cond, node.then.yields[k], node.otherwise.yields[k]],
                        );
                    }
                }
                Stmt::Loop(node) => {
                    for (k, &param) in node.params.iter().enumerate() {
                        self.join(param, &[node.init[k], node.body.yields[k]]);
                    }
                    self.block(&node.head, true);
                    self.block(&node.body, true);
                    for (k, &result) in node.results.iter().enumerate() {
                        self.join(result, &[node.cond, node.head.yields[k]]);
                    }
                }
            }
        }
    }

    /// A result may be empty if a joined value or the condition may be. If the endpoints of a
    /// condition cross, no member takes either arm, and no member leaves the loop.
    fn join(&mut self, result: Value, from: &[Value]) {
        self.empty[result.index()] |= from.iter().any(|value| self.empty[value.index()]);
    }
}

/// Whether the endpoints of a refinement and of the interval lowering may have an empty
/// intersection. If the refinement follows from preconditions, this can happen in any block;
/// otherwise only in nested blocks, which possibly no member reaches.
fn can_cross(relation: Relation, is_nested: bool) -> bool {
    is_nested || relation.needs_unit_vectors()
}

/// Replaces NaN endpoints of an interval that may be empty by static bounds.
pub(crate) fn without_nan(
    builder: &mut Builder,
    known: &Bounds,
    [lo, hi]: [Value; 2],
) -> [Value; 2] {
    let Bounds::Float(floats) = known else { return [lo, hi] };
    let [min, max] = floats
        .pieces
        .hull()
        .unwrap_or([f32::NEG_INFINITY, f32::INFINITY])
        .map(|end| builder.f32(end));
    // If one operand is NaN, min and max return the first operand.
    [builder.op(Op::Max, &[min, lo]), builder.op(Op::Min, &[max, hi])]
}

/// Clamps endpoints of an interval that may be empty to its static bounds, which also replace NaN
/// unless `keeps_nan`.
pub(crate) fn clamp_to_bounds(
    builder: &mut Builder,
    known: &Bounds,
    [lo, hi]: [Value; 2],
    keeps_nan: bool,
) -> [Value; 2] {
    let (ops, [low, high]) = match known {
        Bounds::Float(floats) => {
            let hull = floats.pieces.hull().unwrap_or([f32::NEG_INFINITY, f32::INFINITY]);
            ([Op::Min, Op::Max], hull.map(|end| builder.f32(end)))
        }
        Bounds::Int(ints) => {
            let hull = ints.hull().unwrap_or([i32::MIN, i32::MAX]);
            ([Op::SMin, Op::SMax], hull.map(|end| builder.i32(end)))
        }
        Bounds::Bool(bools) => (
            [Op::BAnd, Op::BOr],
            [!bools.may_be_false, bools.may_be_true].map(|end| builder.bool(end)),
        ),
    };
    let [min, max] = ops;
    // If one operand is NaN, min and max return the first operand.
    let mut clamp =
        |op: Op, end: Value, x: Value| builder.op(op, &if keeps_nan { [x, end] } else { [end, x] });
    let lo = clamp(max, low, lo);
    let hi = clamp(min, high, hi);
    [clamp(min, high, lo), clamp(max, low, hi)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::Rules;
    use crate::interpreter;
    use crate::interval::Nan;
    use crate::interval::{Bools, Floats, Ints};
    use crate::ir::Type;
    use crate::ir::text::parse;
    use crate::ir::types::Word;
    use crate::lift::{self, BoundSides, Input, Lifted, Options};
    use crate::relations::{Axis, Relation, Relations};

    /// Related code for a function of a unit vector and another float, with NaN suppressed.
    fn lifted(body: &str) -> Lifted {
        let text = format!(
            "fn f(x: f32, y: f32, z: f32, a: f32) -> (r: f32) {{
                %0 = mul x, x %1 = mul y, y %2 = mul z, z %3 = add %0, %1 %4 = add %3, %2 {body} }}"
        );
        let point = parse(&text).expect("the text is well formed");
        let bounds = Bounds::Float(Floats::between(-1.0, 1.0));
        let input = |component| {
            let axis = Axis { vector: 0, component, frame: false, above: false };
            Input { interval: true, bounds, axis: (component < 3).then_some(axis), sorted: None }
        };
        let options = Options { relations: Relations::all(), ..Options::default() };
        lift::run(&point, &[0, 1, 2, 3].map(input), &[0], &options)
    }

    fn output_may_be_empty(body: &str) -> bool {
        let lifted = lifted(body);
        lifted.related.may_be_empty[lifted.point.body.yields[0].index()]
    }

    #[test]
    fn outputs_are_not_nan_for_boxes_without_unit_vectors() {
        // The squared length is at least 1 by the precondition, and at most 0.12 by the box.
        let endpoints = [0.1f32, 0.2, 0.1, 0.2, 0.1, 0.2, -1.0, 1.0].map(f32::to_bits);
        for body in
            ["%5 = sub %4, 0.5 %6 = sqrt %5 return %6", "%5 = log %4 %6 = rsqrt %5 return %6"]
        {
            let bound =
                interpreter::run(&lifted(body).function, &[], &endpoints, 1).expect("no loop");
            let bound: Vec<_> = bound.into_iter().map(f32::from_bits).collect();
            assert!(bound.iter().all(|end| !end.is_nan()), "{body}: {bound:?}");
        }
    }

    #[test]
    fn values_computed_from_squared_lengths_may_be_empty() {
        assert!(
            output_may_be_empty("%5 = mul %4, a return %5")
                && !output_may_be_empty("%5 = mul x, a return %5")
        );
    }

    #[test]
    fn results_may_be_empty_if_their_condition_may() {
        for (cond, expected) in [("%4", true), ("a", false)] {
            let if_body = format!(
                "%5 = lt {cond}, 0.5 %6 = if %5 {{ yield x }} else {{ yield y }} return %6"
            );
            assert_eq!(output_may_be_empty(&if_body), expected, "{if_body}");
            let loop_body = format!(
                "%5 = loop (%6: f32 = x) {{ %7 = lt %6, {cond} while %7 else %6 %8 = add %6, 1.0 next %8 }} return %5"
            );
            assert_eq!(output_may_be_empty(&loop_body), expected, "{loop_body}");
        }
    }

    #[test]
    fn joins_of_intervals_that_may_be_empty_have_static_bounds_without_gaps() {
        let has_gap = |cond: &str| {
            // e^a in one arm, −3 − e^x in the other.
            let lifted = lifted(&format!(
                "%5 = lt {cond} %6 = if %5 {{ %7 = exp a yield %7 }}
                 else {{ %8 = exp x %9 = sub -3.0, %8 yield %9 }} return %6"
            ));
            !lifted.bounds[lifted.point.body.yields[0].index()].contains((-1.0f32).to_bits())
        };
        assert_eq!(["a, 0.25", "a, %4"].map(has_gap), [true, false]);
    }

    #[test]
    fn loop_parameters_may_be_empty_if_an_iteration_makes_them_empty() {
        let parameter_may_be_empty = |step: &str| {
            output_may_be_empty(&format!(
                "%5 = loop (%6: f32 = x) {{ %7 = lt %6, 2.0 while %7 else %6 %8 = add %6, {step} next %8 }} return %5"
            ))
        };
        assert!(parameter_may_be_empty("%4") && !parameter_may_be_empty("1.0"));
    }

    /// Endpoints clamped to static bounds, as bits.
    fn clamp(known: &Bounds, ty: Type, endpoints: [u32; 2], keeps_nan: bool) -> [u32; 2] {
        let mut builder = Builder::new("clamp", Rules::Exact);
        let [lo, hi] = ["lo", "hi"].map(|name| builder.input(name, ty));
        let [lo, hi] = clamp_to_bounds(&mut builder, known, [lo, hi], keeps_nan);
        let function = builder.finish(vec![("lo".into(), lo), ("hi".into(), hi)]);
        interpreter::run(&function, &[], &endpoints, 1)
            .expect("there is no loop")
            .try_into()
            .expect("there are two")
    }

    #[test]
    fn clamped_endpoints_are_within_static_bounds() {
        let known = Bounds::Float(Floats::between(0.25, 2.0));
        let floats = |endpoints: [f32; 2], keeps_nan| {
            clamp(&known, Type::F32, endpoints.map(f32::to_bits), keeps_nan).map(f32::from_bits)
        };
        assert_eq!(floats([0.5, 1.0], false), [0.5, 1.0]);
        assert_eq!(floats([f32::INFINITY, f32::NEG_INFINITY], false), [2.0, 0.25]);
        assert_eq!(floats([f32::NAN; 2], false), [0.25, 2.0]);
        assert!(floats([f32::NAN; 2], true).iter().all(|end| end.is_nan()));
        let ints = Bounds::Int(Ints::one(-1, 7));
        assert_eq!(clamp(&ints, Type::I32, [9, -3i32 as u32], false), [7, -1i32 as u32]);
        let [no, yes] = [false, true].map(Word::to_bits);
        let (never, either) = (
            Bounds::Bool(Bools { may_be_false: true, may_be_true: false }),
            Bounds::Bool(Bools { may_be_false: true, may_be_true: true }),
        );
        assert_eq!(clamp(&never, Type::Bool, [yes, no], false), [no, no]);
        assert_eq!(clamp(&either, Type::Bool, [yes, no], false), [yes, no]);
    }

    #[test]
    fn joins_keep_a_nan_that_no_test_reports() {
        // The upper endpoint of %6 reveals the NaN of 0 · ∞, so %6 needs no test.
        let point = parse(
            "fn f(x: f32, y: f32, z: f32, a: f32) -> (r: f32) {
                %0 = mul x, x %1 = mul y, y %2 = mul z, z %3 = add %0, %1 %4 = add %3, %2
                %5 = le z, 0.0
                %6 = if %5 { yield 0.0 } else { %7 = pow %4, a %8 = mul %7, 0.0 yield %8 }
                return %6 }",
        )
        .unwrap();
        let input = |(component, [low, high]): (usize, [f32; 2])| {
            let axis = Axis { vector: 0, component, frame: false, above: false };
            let bounds = Bounds::Float(Floats::between(low, high));
            Input { interval: true, bounds, axis: (component < 3).then_some(axis), sorted: None }
        };
        let ranges = [[-1.0, 1.0], [-1.0, 1.0], [-1.0000002, 1.0000002], [0.0, f32::MAX]];
        let inputs: Vec<_> = ranges.into_iter().enumerate().map(input).collect();
        let options = Options {
            relations: Relations::NONE.with(Relation::Unit),
            nan: Nan::Propagate,
            sides: BoundSides::Upper,
            ..Options::default()
        };
        let lifted = lift::run(&point, &inputs, &[0], &options);
        let member = [0.0, 0.0, 1.0000001, f32::MAX];
        let words: Vec<u32> = member.iter().flat_map(|x: &f32| [x.to_bits(); 2]).collect();
        let bound = interpreter::run(&lifted.function, &[], &words, 1).unwrap();
        assert!(f32::from_bits(bound[0]).is_nan(), "{}", f32::from_bits(bound[0]));
    }
}
