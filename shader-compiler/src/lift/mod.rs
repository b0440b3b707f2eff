//! Lifts a point shader to its bounding shader (Clarberg et al. 2010 §4).
//!
//! [`classify`] determines which values become intervals, and the [solver](crate::analysis::solve)
//! computes their static bounds. `lower` emits the cheapest [case](crate::interval) that the bounds
//! allow for each operation on intervals, and the control flow around the operations. Standard
//! optimizations that change no value follow: common subexpression elimination, constant folding
//! and dead code elimination, which removes endpoints that are not demanded.
//!
//! The same code builds naive and optimized bounding shaders; for a naive one, case selection has
//! no known facts. So both pass through the same standard optimizations, scheduler and encoder, and
//! they compute the same bounds, except for NaN and the sign of zero.

pub mod classify;
mod lower;
pub mod sink;
mod text;
pub mod trace;

use crate::analysis::conditions::Clips;
use crate::analysis::nan_tests::{self, NanTests};
use crate::analysis::solve::{self, Facts, Ranges};
use crate::analysis::{Constraint, Endpoints, demand};
use crate::builder::rewrite::rebuild;
use crate::builder::{Builder, Rules};
use crate::interval::{Bounds, Nan};
use crate::ir::{Emit, Function, Op, Port, Stmt, Value};
use crate::relations::{self, Axis, RelationInfo, Relations, SortedComponent};

/// Maximum number of rounds in which clips are found.
const MAX_CLIP_ROUNDS: usize = 3;

/// How an input of the point shader is passed to the bounding shader.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Input {
    /// Whether it is an interval, passed as its endpoints, or a scalar.
    pub interval: bool,
    /// Static bounds.
    pub bounds: Bounds,
    /// Its position in a unit vector, if it is a component of one; for relations.
    pub axis: Option<Axis>,
    /// Its position in a sorted vector, if it is a component of one; for relations.
    pub sorted: Option<SortedComponent>,
}

/// Which bounds a bounding shader computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BoundSides {
    /// Upper bounds.
    Upper,
    /// Lower bounds.
    Lower,
    /// Both bounds.
    #[default]
    Both,
}

impl From<BoundSides> for Endpoints {
    fn from(sides: BoundSides) -> Endpoints {
        match sides {
            BoundSides::Upper => Endpoints::UPPER,
            BoundSides::Lower => Endpoints::LOWER,
            BoundSides::Both => Endpoints::BOTH,
        }
    }
}

/// The facts about values that case selection may use, besides which values are intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tracking {
    /// Ranges of values.
    pub ranges: bool,
    /// Which values can be NaN.
    pub nan: bool,
    /// Which values can be +0, and which can be −0.
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
    /// Which bounds to compute for every output.
    pub sides: BoundSides,
    /// How NaN is handled.
    pub nan: Nan,
    /// The facts that case selection may use: [none](Tracking::NONE) in naive code,
    /// [all](Tracking::ALL) in optimized code.
    pub tracking: Tracking,
    /// The enabled relations: [none](Relations::NONE) in naive and optimized code,
    /// [all](Relations::all) in related code. Bounds computed by related code hold for the members
    /// of a box that satisfy the precondition of [`Axis`].
    pub relations: Relations,
    /// Maximum number of iterations of a loop if intervals determine when it exits. Beyond that,
    /// its results are set to their static bounds. If NaN propagates, reaching the cap is reported
    /// as a NaN.
    pub loop_cap: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            sides: BoundSides::Both,
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
    /// The point shader, reduced to the outputs that are bounded.
    pub point: Function,
    /// The same with selects [turned into ifs](sink), from which the bounding shader is made. It has
    /// the same values.
    pub sunk: Function,
    /// For each value of the point shader, whether it is an interval.
    pub is_interval: Vec<bool>,
    /// For each value of the point shader, static bounds.
    pub bounds: Vec<Bounds>,
    /// What conditions imply in the blocks of the point shader.
    pub clips: Clips,
    /// For each value of the point shader that is an operation on intervals, how it was lowered.
    pub cases: Vec<Option<LoweredCase>>,
    /// Inputs of the point shader.
    pub inputs: Vec<Input>,
    /// The relations that were enabled.
    pub relations: Relations,
    /// The relations that were found.
    pub related: RelationInfo,
    /// The bounding shader. An interval input `x` becomes `x.lo` and `x.hi`; an output `y` becomes
    /// `y.lo`, `y.hi` or both, depending on `sides`.
    pub function: Function,
    /// Which bounds the bounding shader computes.
    pub sides: BoundSides,
}

impl Lifted {
    /// Returns, for each input of the point shader, the index of the first input of the bounding
    /// shader that it corresponds to, and whether it is an interval. If so, the next index is its
    /// upper endpoint.
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
pub struct LoweredCase {
    /// The selected case of its lowering.
    pub case: &'static str,
    /// Number of scalar operations emitted, not counting operations shared with other values.
    pub operations: usize,
}

/// Builds the bounding shader of a point shader for the outputs with the given indices. The point
/// shader must be a result of [`passes::optimize`](crate::passes::optimize).
///
/// # Panics
///
/// Unless `inputs` has one entry for each input of the point shader.
pub fn run(point: &Function, inputs: &[Input], outputs: &[usize], options: &Options) -> Lifted {
    assert_eq!(inputs.len(), point.inputs.len(), "`inputs` must have one entry per input");
    let mut selected = point.clone();
    selected.outputs = outputs.iter().map(|&k| point.outputs[k].clone()).collect();
    selected.body.yields = outputs.iter().map(|&k| point.body.yields[k]).collect();
    let point = rebuild(&selected, Builder::new(&selected.name, Rules::Exact));
    let intervals: Vec<_> = inputs.iter().map(|input| input.interval).collect();
    let is_interval = classify::classify(&point, &intervals);
    let sunk = sink::run(point.clone(), &is_interval);
    let known: Vec<_> =
        inputs.iter().map(|input| relations::input_bounds(input, options.relations)).collect();
    let clips = find_clips(&sunk, &is_interval, &known, options.nan);
    let ranges = |untested, constraints, negative_zeros| {
        let clips = Some(&clips);
        let facts = Facts { constraints, clips, negative_zeros, untested, ..Facts::default() };
        Ranges::solve(&sunk, &is_interval, &known, options.nan, facts)
    };
    let solve = |untested, constraints, negative_zeros| {
        ranges(untested, constraints, negative_zeros).of_values(&sunk)
    };
    let axes: Vec<_> = inputs.iter().map(|input| input.axis).collect();
    // Endpoints refined by relations no longer reveal a NaN. So relations run on static bounds
    // without NaN tests, and refine only values that cannot be NaN even then.
    let all = vec![true; sunk.len()];
    let without_tests = (options.nan == Nan::Propagate).then_some(&all[..]);
    let related = relations::run(
        &sunk,
        &is_interval,
        &axes,
        relations::refined_vectors(inputs, options.relations),
        options.relations,
        options.nan,
        &clips,
        |constraints| ranges(without_tests, Some(constraints.to_vec()), None),
    );
    let constraints = related.is_constrained().then_some(&related.constraints);
    let untested = solve(None, constraints.cloned(), None);
    let mut bounds = untested.clone();
    let (mut tests, mut reveals_nan) =
        (vec![NanTests::default(); sunk.len()], vec![false; sunk.len()]);
    if options.nan == Nan::Propagate && options.tracking == Tracking::ALL {
        reveals_nan = demand::reveals_nan(
            &sunk,
            &untested,
            &demand::run(&sunk, &untested, options.sides.into()),
        );
        // An operation that does not test for NaN can yield NaN, so the solver treats its result
        // like a scalar.
        let without_test = Some(&reveals_nan[..]);
        tests =
            nan_tests::run(&sunk, &is_interval, &solve(without_test, constraints.cloned(), None));
        let with_tests =
            |(value, (related, tests)): (usize, (&Constraint, &NanTests))| match untested[value] {
                Bounds::Float(_) => related.and(&Constraint::observe(tests.bounds())),
                _ => *related,
            };
        let constraints =
            std::iter::zip(&related.constraints, &tests).enumerate().map(with_tests).collect();
        bounds = solve(without_test, Some(constraints), Some(&untested[..]));
    }
    let analyses = lower::Analyses {
        is_interval: &is_interval,
        untested: &untested,
        bounds: &bounds,
        clips: &clips,
        tests: &tests,
        reveals_nan: &reveals_nan,
        related: &related,
    };
    let lower::Lowered { function, cases, .. } = lower::run(&sunk, &analyses, options);
    let function = run_to_fixpoint(function);
    let (inputs, sides, relations) = (inputs.to_vec(), options.sides, options.relations);
    Lifted {
        point,
        sunk,
        is_interval,
        bounds,
        clips,
        cases,
        inputs,
        relations,
        related,
        function,
        sides,
    }
}

/// Finds the clips of a point shader for the bounds `known` of its inputs. They narrow bounds, so
/// that more clips may be found. Clips rely on those before, so all of them are kept.
pub fn find_clips(function: &Function, is_interval: &[bool], known: &[Bounds], nan: Nan) -> Clips {
    if function.body.stmts.iter().all(|stmt| matches!(stmt, Stmt::Op(_))) {
        return Clips::default();
    }
    let mut clips = Clips::of_scalars(function, is_interval);
    for _ in 0..MAX_CLIP_ROUNDS {
        let facts = Facts { clips: Some(&clips), ..Facts::default() };
        let bounds = solve::run(function, is_interval, known, nan, facts);
        let found = Clips::find(function, is_interval, &bounds);
        if found == clips || !found.contains(&clips) {
            break;
        }
        clips = found;
    }
    clips
}

/// Repeats the standard optimizations until the function does not shrink any more.
fn run_to_fixpoint(mut function: Function) -> Function {
    loop {
        let smaller = rebuild(&function, Builder::new(&function.name, Rules::Exact));
        if smaller.len() >= function.len() {
            return smaller;
        }
        function = smaller;
    }
}

/// Appends an output `s.luminance` to a function: the luminance of three outputs, red, green and
/// blue.
pub fn with_luminance(point: &Function, rgb: [usize; 3]) -> Function {
    const WEIGHTS: [f32; 3] = [0.2126, 0.7152, 0.0722];
    let mut builder = Builder::new(&point.name, Rules::Exact);
    let inputs: Vec<Value> =
        point.inputs.iter().map(|Port { name, ty }| builder.input(name, *ty)).collect();
    let copy = |builder: &mut Builder, op: Op, args: &[Value]| builder.op(op, args);
    let (mut builder, values) = crate::builder::rewrite::append(point, builder, &inputs, copy);
    let terms = std::iter::zip(rgb, WEIGHTS).map(|(k, weight)| {
        let weight = builder.f32(weight);
        builder.op(Op::Mul, &[values[k], weight])
    });
    let terms: Vec<_> = terms.collect();
    let sum = builder.op(Op::Add, &[terms[0], terms[1]]);
    let luminance = builder.op(Op::Add, &[sum, terms[2]]);
    let names = point.outputs.iter().map(|port| port.name.clone());
    builder.finish(names.zip(values).chain([("s.luminance".to_owned(), luminance)]))
}
