//! A product with max(z, 0) matters only where z > 0: elsewhere it is 0, whatever the other factors
//! are. The integrand of every one-sided material is such a product, where z is the cosine of the
//! light's direction. So all uses of z see max(z, 0) instead, whose sign is known. For boxes that
//! have members with z < 0, the results are united with 0.
//!
//! # Proof
//!
//! Let z' = [max(z̲, 0), max(z̄, 0)] be the endpoints that uses of z see, and let all results
//! vanish with m = max(z, 0): each is m, a product with a vanishing value, or a sum, a difference
//! or a negation of vanishing values. Members with z ≥ 0 are within z', and containment holds for
//! them as usual. For a member with z < 0, endpoints of values that depend on z may not contain the
//! member's values. But its results are 0 or NaN, and 0 is contained: as z̲ < 0, z' begins with 0.
//! Results computed from intervals contain the results for all their members, including a vector
//! with z = 0, for which results are 0, too.
//!
//! The exception are refinements of values that depend on z which are valid for unit vectors only,
//! since the box may have no unit vector with z ≥ 0. Such endpoints may cross, and values computed
//! from them are arbitrary. Then the endpoints of results are united with 0 if z̲ < 0.
//!
//! If results of members with z < 0 are NaN, code that suppresses or ignores NaN guarantees nothing
//! for them. If NaN propagates, no result may be NaN, by static bounds without this relation.

use super::{Point, Refinement, Related};
use crate::analysis::Constraint;
use crate::builder::Builder;
use crate::interval::{Bounds, Floats, Nan};
use crate::ir::function::{ValueData, for_each_stmt};
use crate::ir::{Def, Emit, Function, Op, Stmt, Value};

/// Finds a value that matters only where it is positive, if this saves more than it costs; `solve`
/// returns static bounds under constraints.
pub(super) fn find(
    point: &Point<'_>,
    nan: Nan,
    related: &Related,
    solve: impl Fn(&[Constraint]) -> Vec<Bounds>,
) -> Option<Value> {
    let function = point.function;
    // Scalars do not depend on an interval.
    let is_interval = |output: &&Value| point.is_interval[output.index()];
    let outputs: Vec<_> = function.body.yields.iter().filter(is_interval).copied().collect();
    let may_be_nan = |output: &Value| point.hull(*output).is_none();
    if nan == Nan::Propagate && outputs.iter().any(may_be_nan) {
        return None;
    }
    let mut found = None;
    for_each_stmt(&function.body, &mut |stmt| {
        let Stmt::Op(positive) = stmt else { return };
        let Some((Op::Max, &[a, b])) = function.operation(*positive) else { return };
        for (z, zero) in [(a, b), (b, a)] {
            let is_zero = function.constant(zero).is_some_and(|bits| f32::from_bits(bits) == 0.0);
            let is_candidate = is_zero
                && point.is_interval[z.index()]
                && point.hull(z).is_some_and(|[least, _]| least < 0.0);
            if is_candidate {
                let vanishes = vanishing(function, *positive);
                found =
                    outputs.iter().all(|output| vanishes[output.index()]).then_some(z).or(found);
            }
        }
    });
    let z = found?;
    let mut constraints = related.constraints.clone();
    constraints[z.index()] = constraints[z.index()].and(&positive());
    (gain(point, &solve(&constraints)) > COST).then_some(z)
}

/// Cost of clamping a value and uniting results with 0, in operations.
const COST: usize = 5;

/// Number of operations saved in products and quotients of intervals whose sign is known only in
/// `after`.
fn gain(point: &Point<'_>, after: &[Bounds]) -> usize {
    let has_sign = |bounds: &[Bounds], value: Value| {
        let hull = bounds[value.index()].floats().pieces.hull();
        hull.is_some_and(|[lo, hi]| lo >= 0.0 || hi <= 0.0)
    };
    let mut gain = 0;
    point.for_each_operation(|value, _| {
        let Some((Op::Mul | Op::Div, &[a, b])) = point.function.operation(value) else { return };
        let is_gained = |&arg: &Value| !has_sign(&point.bounds, arg) && has_sign(after, arg);
        let saved = if a == b { 2 } else { 4 };
        if point.is_interval[a.index()]
            && point.is_interval[b.index()]
            && [a, b].iter().any(is_gained)
        {
            gain += saved;
        }
    });
    gain
}

/// Constraint on the value where it is clamped.
pub(super) fn positive() -> Constraint {
    Constraint::replace(Bounds::Float(Floats::between(0.0, f32::INFINITY)))
}

/// Whether endpoints of values that depend on z can cross: whether one of them has a refinement
/// that is valid for unit vectors only.
pub(super) fn may_cross(point: &Point<'_>, related: &Related, z: Value) -> bool {
    let of_units = |refinement: &Refinement| refinement.relation().needs_unit_vectors();
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
            crosses |= refinements.iter().any(of_units);
        }
    });
    crosses
}

/// For each value, whether it is 0 or NaN wherever `with` is 0.
fn vanishing(function: &Function, with: Value) -> Vec<bool> {
    let mut vanishes = vec![false; function.len()];
    vanishes[with.index()] = true;
    for_each_stmt(&function.body, &mut |stmt| {
        let Stmt::Op(value) = stmt else { return };
        let does = |arg: &Value| vanishes[arg.index()];
        let found = match function.operation(*value) {
            Some((Op::Mul, args)) => args.iter().any(does),
            Some((Op::Add | Op::Sub | Op::Neg, args)) => args.iter().all(does),
            _ => false,
        };
        vanishes[value.index()] |= found;
    });
    vanishes
}

/// The clamped endpoints that uses of the value see.
pub(crate) fn clamped(builder: &mut Builder, endpoints: [Value; 2]) -> [Value; 2] {
    let zero = builder.f32(0.0);
    endpoints.map(|end| builder.op(Op::Max, &[end, zero]))
}

/// The endpoints of a result, united with 0 if the lower endpoint of the value is negative. `known`
/// are the result's static bounds. NaN is kept, unless it is suppressed.
pub(crate) fn joined(
    builder: &mut Builder,
    least: Value,
    endpoints: [Value; 2],
    known: &Bounds,
    nan: Nan,
) -> [Value; 2] {
    let is_positive = known.floats().pieces.hull().is_some_and(|[lo, _]| lo >= 0.0);
    let zero = builder.f32(0.0);
    let is_below = builder.op(Op::Lt, &[least, zero]);
    // If one operand is NaN, min and max return the first operand.
    let with_zero = |builder: &mut Builder, op: Op, end: Value| match nan {
        Nan::Suppress => builder.op(op, &[zero, end]),
        Nan::Propagate | Nan::Ignore => builder.op(op, &[end, zero]),
    };
    let lo = if is_positive { zero } else { with_zero(builder, Op::Min, endpoints[0]) };
    let lo = builder.op(Op::Select, &[is_below, lo, endpoints[0]]);
    let hi = with_zero(builder, Op::Max, endpoints[1]);
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
        let shader = Shader::parse("test.wgsl", &source).expect("the shader is right");
        let integrand =
            Integrand::new(&shader, &Settings::default(), Frame::Local).expect("it compiles");
        let options = Options { nan, relations: Relations::all(), ..Options::default() };
        integrand.bound(&integrand.inputs(IntervalInputs::Light, Ranges::Declared), &options)
    }

    /// Products in which the sign of wi.z matters, at most 1.
    const PRODUCTS: &str =
        "let a = wi.x * wi.y; let p = wi.z * a * (wi.z * wi.x) * (wi.z + wi.z * wi.y * wi.y);";

    #[test]
    fn factors_of_the_cosine_are_found() {
        let is_cut =
            |rest: &str, nan| lifted(&format!("{PRODUCTS} {rest}"), nan).related.support.is_some();
        for nan in [Nan::Propagate, Nan::Suppress, Nan::Ignore] {
            assert!(is_cut("return vec3f(1.0 + p, 1.0 - p, p);", nan), "{nan:?}");
        }
        let text = lifted(&format!("{PRODUCTS} return vec3f(p);"), Nan::Ignore).bounds_text();
        assert!(text.contains("wi.z: [0, 1.0000002], -0, tightened by support\n"), "{text}");
        // Values that may be NaN below the horizon.
        let root = "return vec3f(sqrt(wi.z + 0.5 + p));";
        assert!(!is_cut(root, Nan::Propagate) && is_cut(root, Nan::Ignore));
        // No gain.
        assert!(lifted("return vec3f(1.0);", Nan::Ignore).related.support.is_none());
    }

    #[test]
    fn results_that_do_not_vanish_are_none() {
        let text = "fn f(z: f32, y: f32) -> (p: f32) {
              %0 = max z, 0.0
              %1 = mul %0, y
              %2 = sub %1, %0
              %3 = add %2, y
              return %3
            }";
        let function: Function = crate::ir::text::parse(text).expect("the text is right");
        let value = |op: Op| {
            let is =
                |&value: &Value| function.operation(value).is_some_and(|(found, _)| found == op);
            (0..function.len()).map(|value| Value(value as u32)).find(is).expect("there is one")
        };
        let vanishes = vanishing(&function, value(Op::Max));
        assert_eq!(
            [Op::Max, Op::Mul, Op::Sub, Op::Add].map(|op| vanishes[value(op).index()]),
            [true, true, true, false]
        );
    }

    #[test]
    fn zero_is_contained_where_no_direction_is_above_the_horizon() {
        // The part of z that remains once x and y are known: none, if they imply that the entire
        // box is below.
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
    fn values_with_many_paths_to_the_results_are_walked_once() {
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
