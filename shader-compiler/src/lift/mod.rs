//! From a point shader to its bounding shader (Clarberg et al. 2010 §4).
//!
//! [`kinds`] says which values become intervals, the [solver](crate::analysis::solve) what is known
//! of each at compile time, and `lower` writes, for each operation on intervals, the cheapest
//! [form](crate::interval) that this allows, and the control flow around them. After that comes
//! what any compiler does, and nothing that changes a value: common subexpressions, folding, dead
//! code, which removes the sides that nobody demands.
//!
//! Naive and optimized bounding shaders are made by the same code: a naive one differs in that
//! selection of cases is told nothing. So both go through the same standard optimizations,
//! scheduler and encoder, and they compute the same bounds, bit for bit.

pub mod kinds;
mod lower;
mod text;
pub mod trace;

use crate::analysis::reported::{self, Tests};
use crate::analysis::{Bounds, Constraint, demand, solve};
use crate::interval::Nan;
use crate::ir::rewrite::clean;
use crate::ir::{Builder, Emit, Function, Op, Port, Rules, Value};
use crate::relations::{self, Axis, Related, Relations};

/// How an input of the point shader is given to the bounding shader.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Input {
    /// As an interval, by its ends; else as a number.
    pub interval: bool,
    /// What it can be, at all.
    pub bounds: Bounds,
    /// Whether it is part of a unit vector, of which relations know.
    pub axis: Option<Axis>,
}

/// Which bounds are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sides {
    /// Upper ones.
    Upper,
    /// Lower ones.
    Lower,
    /// Both.
    #[default]
    Both,
}

/// What selection of cases is told of values, beside whether they are intervals.
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
    /// Nothing, for naive code.
    pub const NONE: Tracking = Tracking { ranges: false, nan: false, zeros: false };
    /// Everything, for optimized code.
    pub const ALL: Tracking = Tracking { ranges: true, nan: true, zeros: true };
}

/// What kind of bounding shader is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Which bounds, of all outputs.
    pub sides: Sides,
    /// What is done about NaN.
    pub nan: Nan,
    /// What selection of cases is told: [nothing](Tracking::NONE) in naive code,
    /// [all](Tracking::ALL) in optimized code.
    pub tracking: Tracking,
    /// Whether all operations are taken to get arguments for which they are defined (Clarberg et
    /// al. 2010 §4.4), and products that have to have a sign to have it from their factors, not for
    /// being 0. Bounds are then void for boxes where that does not hold for all of the intervals
    /// that bounding code computes, which may be wider than what points come to, and nothing tells.
    pub valid_ranges: bool,
    /// The relations between values that are made use of: [none](Relations::NONE) in naive and
    /// optimized code, [all](Relations::all) in related code. Bounds then hold for the members of a
    /// box that meet the precondition of [`Axis`].
    pub relations: Relations,
    /// Rounds after which a loop whose end depends on intervals is given up, with what is known at
    /// compile time for its results; where NaN propagates, as if one had been met.
    pub loop_cap: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            sides: Sides::Both,
            nan: Nan::default(),
            tracking: Tracking::ALL,
            valid_ranges: false,
            relations: Relations::NONE,
            loop_cap: 1 << 16,
        }
    }
}

/// A point shader with all that is found out on the way to its bounding shader, and that.
#[derive(Clone, Debug)]
pub struct Lifted {
    /// The point shader, with the outputs that are bounded.
    pub point: Function,
    /// For each of its values, whether it is an interval.
    pub kinds: Vec<bool>,
    /// For each of its values, what is known at compile time.
    pub bounds: Vec<Bounds>,
    /// For each of its values that is an operation on intervals, how it was lowered.
    pub cases: Vec<Option<Selected>>,
    /// What its inputs are.
    pub inputs: Vec<Input>,
    /// Which relations between its values were sought.
    pub relations: Relations,
    /// What they say.
    pub related: Related,
    /// The bounding shader. An input `x` that is an interval has become `x.lo` and `x.hi`, and an
    /// output `y` likewise, but for the side that is not wanted.
    pub function: Function,
    /// Which bounds it computes of each output.
    pub sides: Vec<Sides>,
}

impl Lifted {
    /// For each input of the point shader, the number of the first input of the bounding shader
    /// that it became, and whether it is an interval, so that the upper end is the next.
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

/// What an operation on intervals became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selected {
    /// The case of its form.
    pub case: &'static str,
    /// Operations on numbers that it took, those that are shared with others not counted.
    pub operations: usize,
}

/// Makes the bounding shader of a point shader, as [`passes::optimize`](crate::passes::optimize)
/// returns it, for outputs of these numbers, all on the sides that the options tell.
///
/// *Panics* if there is not one of `inputs` for each input.
pub fn run(point: &Function, inputs: &[Input], outputs: &[usize], options: &Options) -> Lifted {
    run_by_output(
        point,
        inputs,
        &outputs.iter().map(|&output| (output, options.sides)).collect::<Vec<_>>(),
        options,
    )
}

/// The same, where each output is bounded on sides of its own, whatever the options tell.
///
/// *Panics* as [`run`] does.
pub fn run_by_output(
    point: &Function,
    inputs: &[Input],
    outputs: &[(usize, Sides)],
    options: &Options,
) -> Lifted {
    assert_eq!(inputs.len(), point.inputs.len(), "all inputs are described");
    let mut wanted = point.clone();
    wanted.outputs = outputs.iter().map(|&(k, _)| point.outputs[k].clone()).collect();
    wanted.body.yields = outputs.iter().map(|&(k, _)| point.body.yields[k]).collect();
    let sides: Vec<_> = outputs.iter().map(|&(_, sides)| sides).collect();
    let point = clean(&wanted, Builder::new(&wanted.name, Rules::Exact));
    let intervals: Vec<_> = inputs.iter().map(|input| input.interval).collect();
    let kinds = kinds::kinds(&point, &intervals);
    let known: Vec<_> = inputs
        .iter()
        .map(|input| relations::of_input(input.bounds, input.axis, options.relations))
        .collect();
    let solve = |kinds: &[bool], constraints| {
        solve::run(&point, kinds, &known, options.nan, constraints, options.valid_ranges)
    };
    let axes: Vec<_> = inputs.iter().map(|input| input.axis).collect();
    // Ends that relations cut no longer tell of a NaN, so there must be none to tell of, whether or
    // not anything tests for it.
    let tested =
        if options.nan == Nan::Propagate { vec![false; point.len()] } else { kinds.clone() };
    let related =
        relations::run(&point, &kinds, &axes, options.relations, options.nan, |constraints| {
            solve(&tested, Some(constraints.to_vec()))
        });
    let constraints = (options.relations != Relations::NONE).then_some(&related.constraints);
    let untested = solve(&kinds, constraints.cloned());
    let mut bounds = untested.clone();
    let (mut tests, mut telling) = (vec![Tests::default(); point.len()], vec![false; point.len()]);
    if options.nan == Nan::Propagate && options.tracking == Tracking::ALL {
        telling = demand::telling(&point, &untested, &demand::run(&point, &untested, &sides));
        // Operations that do not test are to the solver as those that are no intervals.
        let testing: Vec<_> = std::iter::zip(&kinds, &telling)
            .map(|(&interval, &tells)| interval && !tells)
            .collect();
        tests = reported::run(&point, &kinds, &solve(&testing, constraints.cloned()));
        let tested =
            |(value, (related, tests)): (usize, (&Constraint, &Tests))| match untested[value] {
                Bounds::Float(_) => related.and(&Constraint::observe(tests.bounds())),
                _ => *related,
            };
        let constraints =
            std::iter::zip(&related.constraints, &tests).enumerate().map(tested).collect();
        let facts = Some(&untested[..]);
        bounds = solve::run_with(
            &point,
            &testing,
            &known,
            options.nan,
            Some(constraints),
            facts,
            options.valid_ranges,
        );
    }
    let facts = lower::Known {
        kinds: &kinds,
        untested: &untested,
        bounds: &bounds,
        tests: &tests,
        telling: &telling,
        related: &related,
    };
    let lower::Lowered { function, cases, .. } = lower::run(&point, &facts, &sides, options);
    let function = settled(function);
    let (inputs, relations) = (inputs.to_vec(), options.relations);
    Lifted { point, kinds, bounds, cases, inputs, relations, related, function, sides }
}

/// Repeats the standard optimizations until nothing changes.
fn settled(mut function: Function) -> Function {
    loop {
        let again = clean(&function, Builder::new(&function.name, Rules::Exact));
        if again.len() >= function.len() {
            return again;
        }
        function = again;
    }
}

/// Appends the luminance of outputs, red, green and blue, to a function, as its last output,
/// `s.luminance`.
pub fn with_luminance(point: &Function, rgb: [usize; 3]) -> Function {
    const WEIGHTS: [f32; 3] = [0.2126, 0.7152, 0.0722];
    let mut builder = Builder::new(&point.name, Rules::Exact);
    let inputs: Vec<Value> =
        point.inputs.iter().map(|Port { name, ty }| builder.input(name, *ty)).collect();
    let same = |builder: &mut Builder, op: Op, args: &[Value]| builder.op(op, args);
    let (mut builder, values) = crate::ir::rewrite::append(point, builder, &inputs, same);
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
