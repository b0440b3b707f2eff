//! Writes the bounding shader: forms for operations, both arms of what is undecided, unions of what
//! loops come to.
//!
//! Ifs are written by `branches`, loops by `loops`.
//!
//! Where NaN is propagated, the conditions that say that none was met are collected through all of
//! this, those of arms and bodies for boxes that may run them.

mod branches;
mod loops;

use super::{Options, Selected, Sides, Tracking};
use crate::analysis::reported::Tests;
use crate::analysis::{Bounds, Floats};
use crate::interval::{Facts, Forms, Interval, Nan};
use crate::ir::rewrite::liveness;
use crate::ir::{Block, Builder, Def, Emit, Function, Op, Rules, Stmt, Type, Value};
use crate::relations::{Related, emptiness, support};

/// What was found out about the values of a point shader.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// Which are intervals.
    pub kinds: &'a [bool],
    /// What they can be, on which bounds may depend, so that it is the same for all kinds of code.
    pub untested: &'a [Bounds],
    /// What they can be, where the tests are made.
    pub bounds: &'a [Bounds],
    /// The tests for NaN that are made where they are made.
    pub tests: &'a [Tests],
    /// Whose operations test nothing, because the end of their result that is needed tells of a
    /// NaN.
    pub telling: &'a [bool],
    /// What relations say.
    pub related: &'a Related,
}

/// A bounding shader as it is written.
pub struct Lowered {
    pub function: Function,
    /// For each value of the point shader that is an operation on intervals, how it was lowered.
    pub cases: Vec<Option<Selected>>,
    /// For each value of the point shader, its endpoints.
    pub endpoints: Vec<Option<[Value; 2]>>,
}

/// Writes the bounding shader.
pub fn run(point: &Function, known: &Known<'_>, sides: &[Sides], options: &Options) -> Lowered {
    let builder = Builder::new(&point.name, Rules::Exact);
    let mut lowering = Lowering {
        point,
        known: *known,
        options,
        live: liveness(point),
        ends: vec![None; point.len()],
        cases: vec![None; point.len()],
        met: None,
        rounds: None,
        cuts: vec![],
        support: None,
        builder,
    };
    lowering.inputs();
    lowering.block(&point.body);
    let outputs = lowering.outputs(sides);
    Lowered {
        function: lowering.builder.finish(outputs),
        cases: lowering.cases,
        endpoints: lowering.ends,
    }
}

type Ends = [Value; 2];

struct Lowering<'a> {
    point: &'a Function,
    known: Known<'a>,
    options: &'a Options,
    live: Vec<bool>,
    ends: Vec<Option<Ends>>,
    cases: Vec<Option<Selected>>,
    /// Whether a NaN was met so far in the open block; `None` for certainly none.
    met: Option<Value>,
    /// Rounds so far of the loops around, and of those within them, where they count.
    rounds: Option<Value>,
    /// Ends that are cut in the open arms.
    cuts: Vec<branches::Cut>,
    /// The lower end, uncut, of the value that counts only where it is positive.
    support: Option<Value>,
    builder: Builder,
}

impl Lowering<'_> {
    fn inputs(&mut self) {
        let mut ends = vec![];
        for (index, port) in self.point.inputs.iter().enumerate() {
            let is_interval = self.point.values.iter().enumerate().any(|(value, data)| {
                data.def == Def::Input(index as u32) && self.known.kinds[value]
            });
            ends.push(if is_interval {
                ["lo", "hi"].map(|end| self.builder.input(&format!("{}.{end}", port.name), port.ty))
            } else {
                [self.builder.input(&port.name, port.ty); 2]
            });
        }
        for (value, data) in self.point.values.iter().enumerate() {
            if let Def::Input(index) = data.def {
                self.set(Value(value as u32), ends[index as usize]);
            }
        }
    }

    /// The outputs, NaN where one was met.
    fn outputs(&mut self, sides: &[Sides]) -> Vec<(String, Value)> {
        let mut outputs = vec![];
        for ((port, &value), sides) in
            self.point.outputs.iter().zip(&self.point.body.yields).zip(sides)
        {
            let mut ends = self.ends(value);
            if let Some(least) =
                self.support.filter(|_| self.known.related.may_cross && self.is_interval(value))
            {
                ends = support::joined(
                    &mut self.builder,
                    least,
                    ends,
                    &self.known.untested[value.index()],
                    self.options.nan,
                );
            }
            if self.options.nan == Nan::Suppress
                && self.is_interval(value)
                && self.known.related.may_be_empty[value.index()]
            {
                ends = emptiness::without_nan(
                    &mut self.builder,
                    &self.known.untested[value.index()],
                    ends,
                );
            }
            let sides: &[usize] = match sides {
                Sides::Upper => &[1],
                Sides::Lower => &[0],
                Sides::Both => &[0, 1],
            };
            for &side in sides {
                let mut end = ends[side];
                if let (Some(met), Type::F32) = (self.met, port.ty) {
                    // All bits set, so that machine code has but to set those of the mask.
                    let nan = self.builder.constant(Type::F32, !0);
                    end = self.builder.op(Op::Select, &[met, nan, end]);
                }
                outputs.push((format!("{}.{}", port.name, ["lo", "hi"][side]), end));
            }
        }
        outputs
    }

    fn is_interval(&self, value: Value) -> bool {
        self.known.kinds[value.index()]
    }

    fn is_live(&self, value: Value) -> bool {
        self.live[value.index()]
    }

    fn ends(&mut self, value: Value) -> Ends {
        if let Some(ends) = self.ends[value.index()] {
            return ends;
        }
        let bits = self.point.constant(value).expect("values are defined before their use");
        let ends = [self.builder.constant(self.point.ty(value), bits); 2];
        self.ends[value.index()] = Some(ends);
        ends
    }

    /// The ends of a value as they are joined with others: those of an [empty](emptiness) interval,
    /// too, are within static bounds.
    fn joinable(&mut self, value: Value, ends: Ends) -> Ends {
        if !self.known.related.may_be_empty[value.index()] {
            return ends;
        }
        let known = &self.known.untested[value.index()];
        // Where the value itself may be NaN, joins see to that.
        let tells_nan = matches!(known, Bounds::Float(floats) if floats.nan)
            && self.options.nan == Nan::Propagate;
        emptiness::clamped(&mut self.builder, known, ends, tells_nan)
    }

    /// The ends of a value as they go into another one.
    fn ends_for(&mut self, into: Value, value: Value) -> Ends {
        if !self.is_interval(into) {
            return self.ends(value);
        }
        let Interval { lo, hi, .. } = self.interval(value);
        [lo, hi]
    }

    fn set(&mut self, value: Value, mut ends: Ends) {
        if self.known.related.support == Some(value) {
            self.support = Some(ends[0]);
            ends = support::cut(&mut self.builder, ends);
        }
        self.ends[value.index()] = Some(ends);
    }

    /// A value with what is known of it.
    fn interval(&mut self, value: Value) -> Interval<Value> {
        let [lo, hi] = self.ends(value);
        let bounds = self.known.bounds[value.index()];
        let number = !self.is_interval(value);
        let facts = match self.known.untested[value.index()] {
            Bounds::Float(floats) => {
                Facts { nan: floats.nan, negative_zero: floats.negative_zero, number }
            }
            _ => Facts { nan: false, negative_zero: false, number },
        };
        let known = told(self.options.tracking, bounds);
        if number && facts.nan && self.options.nan == Nan::Suppress {
            // What is no interval has been computed as the point shader does.
            let number = self.forms(false).or_zero(lo);
            return Interval {
                lo: number,
                hi: number,
                known: known.join(&Bounds::constant(Type::F32, 0)),
                facts,
            };
        }
        Interval { lo, hi, known, facts }
    }

    fn forms(&mut self, same: bool) -> Forms<'_, Builder> {
        Forms { emit: &mut self.builder, nan: self.options.nan, same, clean: vec![], case: "" }
    }

    /// Applies a form.
    fn apply(&mut self, op: Op, args: &[Interval<Value>], same: bool) -> (Ends, &'static str) {
        let mut forms = self.forms(same);
        let ends = forms.apply(op, args);
        let (clean, case) = (forms.clean, forms.case);
        self.require(&clean);
        (ends, case)
    }

    /// Says of conditions that one which does not hold tells of a NaN.
    fn require(&mut self, clean: &[Value]) {
        // Tests of single values first, by pairs: machine code makes one of two.
        let is_number = |&&value: &&Value| matches!(self.builder.function().operation(value), Some((Op::Eq, &[a, b])) if a == b);
        let (mut numbers, rest): (Vec<Value>, Vec<Value>) = clean.iter().partition(is_number);
        numbers.sort();
        numbers.dedup();
        for pair in numbers.chunks(2) {
            let mut met = self.builder.op(Op::BNot, &[pair[0]]);
            if let Some(&other) = pair.get(1) {
                let other = self.builder.op(Op::BNot, &[other]);
                met = self.builder.op(Op::BOr, &[met, other]);
            }
            self.meet(Some(met));
        }
        for condition in rest {
            let met = self.builder.op(Op::BNot, &[condition]);
            self.meet(Some(met));
        }
    }

    /// Adds a condition that says that a NaN was met.
    fn meet(&mut self, met: Option<Value>) {
        self.met = match (self.met, met) {
            (Some(a), Some(b)) => Some(self.builder.op(Op::BOr, &[a, b])),
            (a, b) => a.or(b),
        };
    }

    fn block(&mut self, block: &Block) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) if self.is_live(*value) => {
                    let outer = self.builder.set_origin(Some(*value));
                    self.operation(*value);
                    self.builder.set_origin(outer);
                }
                Stmt::Op(_) => {}
                Stmt::If(node) if node.results.iter().any(|&result| self.is_live(result)) => {
                    let outer = self.builder.set_origin(
                        node.results.iter().copied().find(|&result| self.is_live(result)),
                    );
                    self.if_(node);
                    self.builder.set_origin(outer);
                }
                Stmt::Loop(node) if node.results.iter().any(|&result| self.is_live(result)) => {
                    self.loop_(node)
                }
                Stmt::If(_) | Stmt::Loop(_) => {}
            }
        }
    }

    fn operation(&mut self, value: Value) {
        let (op, args) = self.point.operation(value).expect("statements define operations");
        if !self.is_interval(value) {
            let args: Vec<_> = args.iter().map(|&arg| self.ends(arg)[0]).collect();
            let result = self.builder.op(op, &args);
            return self.set(value, [result; 2]);
        }
        let before = self.builder.function().len();
        let intervals: Vec<_> = args.iter().map(|&arg| self.interval(arg)).collect();
        let same = matches!(args, [a, b] if a == b);
        let met = self.met;
        let (ends, case) = self.apply(op, &intervals, same);
        if self.known.telling[value.index()] {
            self.met = met;
        }
        let ends = self.tightened(value, ends);
        self.set(value, ends);
        let tests = self.known.tests[value.index()].tested;
        for (tested, side, infinity) in
            [(tests.lo, 0, f32::NEG_INFINITY), (tests.hi, 1, f32::INFINITY)]
        {
            if tested {
                let infinity = self.builder.f32(infinity);
                let order = if side == 0 { [infinity, ends[0]] } else { [ends[1], infinity] };
                let finite = self.builder.op(Op::Lt, &order);
                self.require(&[finite]);
            }
        }
        self.cases[value.index()] =
            Some(Selected { case, operations: self.operations_since(before) });
    }

    /// What is both within the ends of a value's interval form and within those that relations
    /// give.
    fn tightened(&mut self, value: Value, form: Ends) -> Ends {
        let related = self.known.related;
        let mut ends = form;
        for alternative in &related.alternatives[value.index()] {
            for source in alternative.sources() {
                self.ends(source);
            }
            let of = |source: Value| self.ends[source.index()].expect("it was asked for");
            let others = alternative.ends(&mut self.builder, of);
            let tighter = match self.point.ty(value) {
                Type::Bool => [(Op::BOr, None), (Op::BAnd, None)],
                _ => [(Op::Max, Some(f32::NEG_INFINITY)), (Op::Min, Some(f32::INFINITY))],
            };
            for (side, (tighter, none)) in tighter.into_iter().enumerate() {
                if alternative.is_exact() || alternative.is_within(side) && ends[side] == form[side]
                {
                    ends[side] = others[side];
                } else if none
                    .is_none_or(|none| self.builder.known(others[side]) != Some(none.to_bits()))
                {
                    ends[side] = self.builder.op(tighter, &[ends[side], others[side]]);
                }
            }
        }
        ends
    }

    /// Operations that were appended since there were so many values.
    fn operations_since(&self, values: usize) -> usize {
        self.builder.function().values[values..]
            .iter()
            .filter(|data| matches!(data.def, Def::Op { .. }))
            .count()
    }
}

/// What selection of cases is told.
fn told(tracking: Tracking, bounds: Bounds) -> Bounds {
    let Bounds::Float(floats) = bounds else {
        return if tracking.ranges { bounds } else { unknown(&bounds) };
    };
    let mut floats =
        if tracking.ranges { floats } else { Floats { nan: floats.nan, ..Floats::all() } };
    floats.nan |= !tracking.nan;
    if !tracking.zeros && floats.pieces.contains(0.0) {
        (floats.negative_zero, floats.positive_zero) = (true, true);
    }
    Bounds::Float(floats)
}

fn unknown(bounds: &Bounds) -> Bounds {
    Bounds::all(match bounds {
        Bounds::Float(_) => Type::F32,
        Bounds::Int(_) => Type::I32,
        Bounds::Bool(_) => Type::Bool,
    })
}
