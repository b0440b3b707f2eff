//! A product with max(z, 0) is nonzero only where z > 0; elsewhere the other factors do not matter.
//! The integrand of every one-sided material is such a product, where z is the cosine of the
//! light's direction. So max(z, 0), which has a known sign, replaces z in all of its uses. For
//! boxes that have members with z < 0, 0 is added to the results.
//!
//! # Proof
//!
//! Let z' = [max(z̲, 0), max(z̄, 0)] be the endpoints used in place of z̲ and z̄, and let
//! all results vanish with m = max(z, 0): each is m, a product with a vanishing value, or a sum, a
//! difference or a negation of vanishing values. For members with z ≥ 0, z is within z', and
//! containment holds as usual. For a member with z < 0, endpoints of values that depend on z may
//! not contain the member's values. But its results are 0 or NaN, and 0 is contained: as z̲ < 0,
//! the lower endpoint of z' is 0. Results computed from intervals contain the results for all
//! members of the intervals, including a vector with z = 0, for which results are 0, too.
//!
//! An exception are refinements of values that depend on z if they only hold for unit vectors,
//! since the box may have no unit vector with z ≥ 0. Their endpoints may cross, and values computed
//! from them are arbitrary. In this case, code extends the endpoints of results to 0 if z̲ < 0.
//!
//! If results of members with z < 0 are NaN, code that suppresses or ignores NaN guarantees nothing
//! for them. If NaN propagates, the relation is used only if static bounds without it prove that no
//! result is NaN.

use super::{PointShader, Refinement, RelationInfo};
use crate::analysis::Constraint;
use crate::builder::Builder;
use crate::interval::{Bounds, Floats, Nan};
use crate::ir::function::{ValueData, for_each_stmt};
use crate::ir::{Def, Emit, Function, Op, Stmt, Value};

/// Finds a value that matters only where it is positive, if clamping it saves more than it costs.
/// `solve` computes static bounds under constraints.
pub(super) fn find(
    point: &PointShader<'_>,
    nan: Nan,
    related: &RelationInfo,
    solve: impl Fn(&[Constraint]) -> Vec<Bounds>,
) -> Option<Value> {
    let function = point.function;
    // Scalar outputs do not depend on an interval.
    let is_interval = |output: &&Value| point.is_interval[output.index()];
    let outputs: Vec<_> = function.body.yields.iter().filter(is_interval).copied().collect();
    let may_be_nan = |output: &Value| point.hull(*output).is_none();
    if nan == Nan::Propagate && outputs.iter().any(may_be_nan) {
        return None;
    }
    let mut support = None;
    for_each_stmt(&function.body, &mut |stmt| {
        let Stmt::Op(nonnegative) = stmt else { return };
        let Some((Op::Max, &[a, b])) = function.operation(*nonnegative) else { return };
        for (z, zero) in [(a, b), (b, a)] {
            let is_zero = function.constant(zero).is_some_and(|bits| f32::from_bits(bits) == 0.0);
            let is_candidate = is_zero
                && point.is_interval[z.index()]
                && point.hull(z).is_some_and(|[lower, _]| lower < 0.0);
            if is_candidate {
                let vanishes = vanishing(function, *nonnegative);
                support =
                    outputs.iter().all(|output| vanishes[output.index()]).then_some(z).or(support);
            }
        }
    });
    let z = support?;
    let mut constraints = related.constraints.clone();
    constraints[z.index()] = constraints[z.index()].and(&clamp_constraint());
    (gain(point, &solve(&constraints)) > CLAMPING_COST).then_some(z)
}

/// Cost of clamping the value and adding 0 to results, in operations.
const CLAMPING_COST: usize = 5;

/// Number of operations saved in products and quotients of intervals by signs that are known only
/// in `after`.
fn gain(point: &PointShader<'_>, after: &[Bounds]) -> usize {
    let has_sign = |bounds: &[Bounds], value: Value| {
        let hull = bounds[value.index()].floats().pieces.hull();
        hull.is_some_and(|[lo, hi]| lo >= 0.0 || hi <= 0.0)
    };
    let mut gain = 0;
    point.for_each_operation(|value, _| {
        let Some((Op::Mul | Op::Div, &[a, b])) = point.function.operation(value) else { return };
        let gains_sign = |&arg: &Value| !has_sign(&point.bounds, arg) && has_sign(after, arg);
        let saved = if a == b { 2 } else { 4 };
        if point.is_interval[a.index()]
            && point.is_interval[b.index()]
            && [a, b].iter().any(gains_sign)
        {
            gain += saved;
        }
    });
    gain
}

/// The constraint on the clamped value.
pub(super) fn clamp_constraint() -> Constraint {
    Constraint::replace(Bounds::Float(Floats::between(0.0, f32::INFINITY)))
}

/// Whether endpoints of values that depend on z can cross: whether such a value has a refinement
/// that only holds for unit vectors.
pub(super) fn may_cross(point: &PointShader<'_>, related: &RelationInfo, z: Value) -> bool {
    let needs_unit_vectors = |refinement: &Refinement| {
        refinement.relation().is_some_and(super::Relation::needs_unit_vectors)
    };
    // Results of loops and ifs may depend on anything.
    let is_joined = |data: &ValueData| matches!(data.def, Def::Param | Def::Result);
    let mut depends: Vec<_> = point.function.values.iter().map(is_joined).collect();
    depends[z.index()] = true;
    let mut crosses = false;
    point.for_each_operation(|value, _| {
        let refinements = &related.refinements[value.index()];
        let (_, args) = point.function.operation(value).expect("only operations are visited");
        let sources: Vec<_> =
            refinements.iter().flat_map(Refinement::sources).chain(args.iter().copied()).collect();
        if value != z && sources.iter().any(|source| depends[source.index()]) {
            depends[value.index()] = true;
            crosses |= refinements.iter().any(needs_unit_vectors);
        }
    });
    crosses
}

/// Returns, for each value, whether it is 0 or NaN wherever `factor` is 0.
fn vanishing(function: &Function, factor: Value) -> Vec<bool> {
    let mut vanishes = vec![false; function.len()];
    vanishes[factor.index()] = true;
    for_each_stmt(&function.body, &mut |stmt| {
        let Stmt::Op(value) = stmt else { return };
        let is_vanishing = |arg: &Value| vanishes[arg.index()];
        let result_vanishes = match function.operation(*value) {
            Some((Op::Mul, args)) => args.iter().any(is_vanishing),
            Some((Op::Add | Op::Sub | Op::Neg, args)) => args.iter().all(is_vanishing),
            _ => false,
        };
        vanishes[value.index()] |= result_vanishes;
    });
    vanishes
}

/// Clamps the endpoints of the value to 0.
pub(crate) fn clamp_to_zero(builder: &mut Builder, endpoints: [Value; 2]) -> [Value; 2] {
    let zero = builder.f32(0.0);
    endpoints.map(|end| builder.op(Op::Max, &[end, zero]))
}

/// Extends the endpoints of a result to 0 if `lower`, the unclamped lower endpoint of the value, is
/// negative. `known` are the result's static bounds. NaN is preserved unless it is suppressed.
pub(crate) fn with_zero(
    builder: &mut Builder,
    lower: Value,
    endpoints: [Value; 2],
    known: &Bounds,
    nan: Nan,
) -> [Value; 2] {
    let is_positive = known.floats().pieces.hull().is_some_and(|[lo, _]| lo >= 0.0);
    let zero = builder.f32(0.0);
    let is_below = builder.op(Op::Lt, &[lower, zero]);
    // If one operand is NaN, min and max return the first operand.
    let extended = |builder: &mut Builder, op: Op, end: Value| match nan {
        Nan::Suppress => builder.op(op, &[zero, end]),
        Nan::Propagate | Nan::Ignore => builder.op(op, &[end, zero]),
    };
    let lo = if is_positive { zero } else { extended(builder, Op::Min, endpoints[0]) };
    let lo = builder.op(Op::Select, &[is_below, lo, endpoints[0]]);
    let hi = extended(builder, Op::Max, endpoints[1]);
    let hi = if is_positive { hi } else { builder.op(Op::Select, &[is_below, hi, endpoints[1]]) };
    [lo, hi]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounding::{
        BoundingKernel, BoundsBatch, BoxBatch, Frame, Integrand, IntervalInputs, Ranges,
    };
    use crate::frontend::{Settings, Shader};
    use crate::jit::Arena;
    use crate::lift::{Lifted, Options};
    use crate::relations::Relations;
    use crate::target::Target;

    /// The bounding shader of a material.
    fn lifted(body: &str, nan: Nan) -> Lifted {
        let source = format!(
            "struct Material {{ k: f32 }}\nfn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {{ {body} }}"
        );
        let shader = Shader::parse("test.wgsl", &source).expect("the shader is valid");
        let integrand =
            Integrand::new(&shader, &Settings::default(), Frame::Local).expect("it compiles");
        let options = Options { nan, relations: Relations::all(), ..Options::default() };
        integrand.bound(&integrand.inputs(IntervalInputs::Light, Ranges::Declared), &options)
    }

    /// A product of magnitude at most 1, in which the sign of wi.z matters.
    const PRODUCTS: &str =
        "let a = wi.x * wi.y; let p = wi.z * a * (wi.z * wi.x) * (wi.z + wi.z * wi.y * wi.y);";

    #[test]
    fn cosine_factor_of_all_results_is_the_support() {
        let has_support =
            |rest: &str, nan| lifted(&format!("{PRODUCTS} {rest}"), nan).related.support.is_some();
        for nan in [Nan::Propagate, Nan::Suppress, Nan::Ignore] {
            assert!(has_support("return vec3f(1.0 + p, 1.0 - p, p);", nan), "{nan:?}");
        }
        let text = lifted(&format!("{PRODUCTS} return vec3f(p);"), Nan::Ignore).bounds_text();
        assert!(text.contains("wi.z: [0, 1.0000002], -0, tightened by support\n"), "{text}");
        // Results that may be NaN below the horizon.
        let root = "return vec3f(sqrt(wi.z + 0.5 + p));";
        assert!(!has_support(root, Nan::Propagate) && has_support(root, Nan::Ignore));
        // No gain.
        assert!(lifted("return vec3f(1.0);", Nan::Ignore).related.support.is_none());
    }

    #[test]
    fn sums_with_a_term_that_does_not_vanish_do_not_vanish() {
        let text = "fn f(z: f32, y: f32) -> (p: f32) {
              %0 = max z, 0.0
              %1 = mul %0, y
              %2 = sub %1, %0
              %3 = add %2, y
              return %3
            }";
        let function: Function = crate::ir::text::parse(text).expect("the text is well formed");
        let value = |op: Op| {
            let is_result =
                |&value: &Value| function.operation(value).is_some_and(|(other, _)| other == op);
            (0..function.len())
                .map(|value| Value(value as u32))
                .find(is_result)
                .expect("the function contains each operation")
        };
        let vanishes = vanishing(&function, value(Op::Max));
        assert_eq!(
            [Op::Max, Op::Mul, Op::Sub, Op::Add].map(|op| vanishes[value(op).index()]),
            [true, true, true, false]
        );
    }

    #[test]
    fn bounds_contain_zero_if_no_direction_is_above_the_horizon() {
        // 1 − x² − y² = z² is refined by the endpoints of z, which are crossed if x and y imply
        // that the entire box is below the horizon.
        let body = format!(
            "{PRODUCTS} let r = 1.0 - wi.x * wi.x - wi.y * wi.y; return vec3f(1.0 - p, r + p, (r - wi.z * wi.z) * 1e3 - 5.0);"
        );
        let boxes = [
            [[0.6, 0.61], [0.0, 0.01], [-0.81, 0.1]],
            [[0.0, 0.1], [0.0, 0.1], [-1.0, -0.9]],
            [[0.5, 0.9], [0.1, 0.3], [-0.9, 0.01]],
        ];
        for nan in [Nan::Propagate, Nan::Suppress, Nan::Ignore] {
            let lifted = lifted(&body, nan);
            assert!(lifted.related.support.is_some());
            let kernel = BoundingKernel::compile(&Arena::new(), &lifted, Target::best())
                .expect("it compiles");
            let (mut all, mut limits) =
                (BoxBatch::new(&kernel, boxes.len()), BoundsBatch::new(&kernel, boxes.len()));
            for (row, wi) in boxes.iter().enumerate() {
                let numbers = [0.0, 0.6, 0.8, 1.0].map(|x| [x, x]);
                wi.iter()
                    .copied()
                    .chain(numbers)
                    .enumerate()
                    .for_each(|(input, endpoints)| all.set(row, input, endpoints));
            }
            kernel.run(&[], &all, &mut limits);
            for (row, output) in
                (0..boxes.len()).flat_map(|row| [0, 1, 2].map(|output| (row, output)))
            {
                let [lo, hi] = limits.get(row, output);
                assert!(
                    lo <= 0.0 && 0.0 <= hi,
                    "{nan:?}, box {row}, output {output}: {lo} .. {hi}"
                );
            }
        }
    }

    #[test]
    fn values_with_many_paths_to_the_results_are_visited_once() {
        // There are 2⁶⁰ and about 10¹² paths from the first value to the last.
        for step in ["p = p * p;", "{ let next = p * q; q = p; p = next; }"] {
            let body = format!(
                "var p = 0.5 + wi.x; var q = wi.y + wi.z; {} return vec3f(1.0, p, p + wi.z);",
                step.repeat(60)
            );
            for nan in [Nan::Propagate, Nan::Suppress, Nan::Ignore] {
                assert!(lifted(&body, nan).function.len() < 100 * 60, "{step}");
            }
        }
    }
}
