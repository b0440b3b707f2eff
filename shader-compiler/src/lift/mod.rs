//! Lifts a point shader to its bounding shader (Clarberg et al. 2010 §4).
//!
//! [`classify`] determines which values become intervals, and the [solver](crate::analysis::solve)
//! their static bounds. `lower` emits, for each operation on intervals, the cheapest
//! [case](crate::interval) that these allow, and the control flow around them. Standard
//! optimizations that change no value follow: common subexpression elimination, constant folding
//! and dead code elimination, which removes the endpoints that are not demanded.
//!
//! Naive and optimized bounding shaders are built by the same code: for a naive one, case selection
//! has no known facts. So both pass through the same standard optimizations, scheduler and encoder,
//! and they compute the same bounds, bit for bit.

pub mod classify;
mod lower;
mod text;
pub mod trace;

use crate::analysis::nan_tests::{self, NanTests};
use crate::analysis::{Constraint, Endpoints, demand, solve};
use crate::builder::rewrite::clean;
use crate::builder::{Builder, Rules};
use crate::interval::{Bounds, Nan};
use crate::ir::{Emit, Function, Op, Port, Value};
use crate::relations::{self, Axis, Related, Relations};

/// How an input of the point shader is passed to the bounding shader.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Input {
    /// Whether it is an interval, passed as its endpoints; else a scalar.
    pub interval: bool,
    /// Static bounds.
    pub bounds: Bounds,
    /// The unit vector that it is a component of, for relations.
    pub axis: Option<Axis>,
}

/// Which bounds a bounding shader computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sides {
    /// Upper bounds.
    Upper,
    /// Lower bounds.
    Lower,
    /// Both bounds.
    #[default]
    Both,
}

impl From<Sides> for Endpoints {
    fn from(sides: Sides) -> Endpoints {
        match sides {
            Sides::Upper => Endpoints::UPPER,
            Sides::Lower => Endpoints::LOWER,
            Sides::Both => Endpoints::BOTH,
        }
    }
}

/// The facts about values that case selection may use, besides whether they are intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tracking {
    /// The range.
    pub ranges: bool,
    /// Whether it can be NaN.
    pub nan: bool,
    /// Which zeros it can be.
    pub zeros: bool,
}

impl Tracking {
    /// No facts, for naive code.
    pub const NONE: Tracking = Tracking { ranges: false, nan: false, zeros: false };
    /// All facts, for optimized code.
    pub const ALL: Tracking = Tracking { ranges: true, nan: true, zeros: true };
}

/// Options of the bounding shader.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Which bounds to compute, for all outputs.
    pub sides: Sides,
    /// How NaN is handled.
    pub nan: Nan,
    /// The facts that case selection may use: [none](Tracking::NONE) in naive code,
    /// [all](Tracking::ALL) in optimized code.
    pub tracking: Tracking,
    /// The enabled relations: [none](Relations::NONE) in naive and optimized code,
    /// [all](Relations::all) in related code. Bounds of related code hold for the members of a box
    /// that satisfy the precondition of [`Axis`].
    pub relations: Relations,
    /// Maximum number of iterations of a loop whose exit depends on intervals. Beyond it, its
    /// results are set to their static bounds. If NaN propagates, that counts as a NaN.
    pub loop_cap: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            sides: Sides::Both,
            nan: Nan::default(),
            tracking: Tracking::ALL,
            relations: Relations::NONE,
            loop_cap: 1 << 16,
        }
    }
}

/// A bounding shader with its point shader and the results of all analyses.
#[derive(Clone, Debug)]
pub struct Lifted {
    /// The point shader, with the outputs that are bounded.
    pub point: Function,
    /// For each of its values, whether it is an interval.
    pub is_interval: Vec<bool>,
    /// For each of its values, static bounds.
    pub bounds: Vec<Bounds>,
    /// For each of its values that is an operation on intervals, how it was lowered.
    pub cases: Vec<Option<Selected>>,
    /// Its inputs.
    pub inputs: Vec<Input>,
    /// The relations that were enabled.
    pub relations: Relations,
    /// The relations that were found.
    pub related: Related,
    /// The bounding shader. An interval input `x` becomes `x.lo` and `x.hi`, and an output `y`
    /// becomes those of `y.lo` and `y.hi` that `sides` asks for.
    pub function: Function,
    /// Which bounds it computes.
    pub sides: Sides,
}

impl Lifted {
    /// For each input of the point shader, the index of its first input in the bounding shader, and
    /// whether it is an interval, so that the next index is its upper endpoint.
    pub fn layout(&self) -> Vec<(usize, bool)> {
        let mut next = 0;
        let names = self.point.inputs.iter().map(|port| {
            let (first, interval) = (next, self.function.inputs[next].name != port.name);
            next += if interval { 2 } else { 1 };
            (first, interval)
        });
        names.collect()
    }
}

/// How an operation on intervals was lowered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selected {
    /// The selected case of its lowering.
    pub case: &'static str,
    /// Number of scalar operations it took, not counting shared ones.
    pub operations: usize,
}

/// Builds the bounding shader of a point shader, in the form that
/// [`passes::optimize`](crate::passes::optimize) returns, for the outputs with these indices.
///
/// *Panics* unless `inputs` has one entry for each input.
pub fn run(point: &Function, inputs: &[Input], outputs: &[usize], options: &Options) -> Lifted {
    assert_eq!(inputs.len(), point.inputs.len(), "all inputs are described");
    let mut wanted = point.clone();
    wanted.outputs = outputs.iter().map(|&k| point.outputs[k].clone()).collect();
    wanted.body.yields = outputs.iter().map(|&k| point.body.yields[k]).collect();
    let point = clean(&wanted, Builder::new(&wanted.name, Rules::Exact));
    let intervals: Vec<_> = inputs.iter().map(|input| input.interval).collect();
    let is_interval = classify::classify(&point, &intervals);
    let known: Vec<_> = inputs
        .iter()
        .map(|input| relations::of_input(input.bounds, input.axis, options.relations))
        .collect();
    let solve = |is_interval: &[bool], constraints| {
        solve::run(&point, is_interval, &known, options.nan, constraints)
    };
    let axes: Vec<_> = inputs.iter().map(|input| input.axis).collect();
    // Endpoints refined by relations no longer reveal a NaN. So only values that cannot be NaN are
    // refined, whether or not anything tests for it.
    let tested =
        if options.nan == Nan::Propagate { vec![false; point.len()] } else { is_interval.clone() };
    let related = relations::run(
        &point,
        &is_interval,
        &axes,
        options.relations,
        options.nan,
        |constraints| solve(&tested, Some(constraints.to_vec())),
    );
    let constraints = (options.relations != Relations::NONE).then_some(&related.constraints);
    let untested = solve(&is_interval, constraints.cloned());
    let mut bounds = untested.clone();
    let (mut tests, mut reveals_nan) =
        (vec![NanTests::default(); point.len()], vec![false; point.len()]);
    if options.nan == Nan::Propagate && options.tracking == Tracking::ALL {
        reveals_nan = demand::reveals_nan(
            &point,
            &untested,
            &demand::run(&point, &untested, options.sides.into()),
        );
        // The solver treats operations that do not test like scalars.
        let testing: Vec<_> = std::iter::zip(&is_interval, &reveals_nan)
            .map(|(&interval, &tells)| interval && !tells)
            .collect();
        tests = nan_tests::run(&point, &is_interval, &solve(&testing, constraints.cloned()));
        let tested =
            |(value, (related, tests)): (usize, (&Constraint, &NanTests))| match untested[value] {
                Bounds::Float(_) => related.and(&Constraint::observe(tests.bounds())),
                _ => *related,
            };
        let constraints =
            std::iter::zip(&related.constraints, &tests).enumerate().map(tested).collect();
        let facts = Some(&untested[..]);
        bounds = solve::run_with(&point, &testing, &known, options.nan, Some(constraints), facts);
    }
    let facts = lower::Known {
        is_interval: &is_interval,
        untested: &untested,
        bounds: &bounds,
        tests: &tests,
        reveals_nan: &reveals_nan,
        related: &related,
    };
    let lower::Lowered { function, cases, .. } = lower::run(&point, &facts, options);
    let function = run_to_fixpoint(function);
    let (inputs, sides, relations) = (inputs.to_vec(), options.sides, options.relations);
    Lifted { point, is_interval, bounds, cases, inputs, relations, related, function, sides }
}

/// Repeats the standard optimizations until nothing changes.
fn run_to_fixpoint(mut function: Function) -> Function {
    loop {
        let again = clean(&function, Builder::new(&function.name, Rules::Exact));
        if again.len() >= function.len() {
            return again;
        }
        function = again;
    }
}

/// Appends the luminance of three outputs, red, green and blue, to a function, as its last output,
/// `s.luminance`.
pub fn with_luminance(point: &Function, rgb: [usize; 3]) -> Function {
    const WEIGHTS: [f32; 3] = [0.2126, 0.7152, 0.0722];
    let mut builder = Builder::new(&point.name, Rules::Exact);
    let inputs: Vec<Value> =
        point.inputs.iter().map(|Port { name, ty }| builder.input(name, *ty)).collect();
    let same = |builder: &mut Builder, op: Op, args: &[Value]| builder.op(op, args);
    let (mut builder, values) = crate::builder::rewrite::append(point, builder, &inputs, same);
    let parts = std::iter::zip(rgb, WEIGHTS).map(|(k, weight)| {
        let weight = builder.f32(weight);
        builder.op(Op::Mul, &[values[k], weight])
    });
    let parts: Vec<_> = parts.collect();
    let sum = builder.op(Op::Add, &[parts[0], parts[1]]);
    let luminance = builder.op(Op::Add, &[sum, parts[2]]);
    let names = point.outputs.iter().map(|port| port.name.clone());
    builder.finish(names.zip(values).chain([("s.luminance".to_owned(), luminance)]))
}
