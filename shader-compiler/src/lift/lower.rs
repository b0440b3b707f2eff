//! Writes the bounding shader: forms for operations, both arms of what is undecided, unions of what loops come to.
//!
//! - *Ifs* whose condition is an interval run each arm for the boxes of which some member may take it, and merge the results as a
//!   `select` of an interval condition does (Clarberg et al. 2010 §3.4).
//! - *Loops* whose condition is an interval run while some member may go on. Wherever some member may leave, what it would leave with
//!   is added to the results, which start empty (§4.6). A loop that might not end for intervals, though it does for all their
//!   members, is given up after so many rounds, those of loops around it and within it included, and has for results all that they
//!   can be.
//! - Where NaN is propagated, the conditions that say that none was met are collected through all of this, those of arms and bodies
//!   for boxes that may run them.

use super::{Options, Selected, Sides, Tracking};
use crate::analysis::reported::Tests;
use crate::analysis::{Bounds, Floats};
use crate::interval::{Facts, Forms, Interval, Nan};
use crate::ir::builder::cost_of;
use crate::ir::function::for_each_stmt;
use crate::ir::rewrite::liveness;
use crate::ir::{Block, Builder, Def, Emit, Function, If, Loop, Op, Rules, Stmt, Type, Value};
use crate::relations::{Related, Relation, order};

/// Cost of both arms of an undecided if, in basic operations, up to which both run without asking.
const CHEAP: u32 = 24;

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
    /// Whose operations test nothing, because the end of their result that is needed tells of a NaN.
    pub telling: &'a [bool],
    /// What relations say.
    pub related: &'a Related,
}

/// Writes the bounding shader; says how each operation on intervals was lowered.
pub fn run(point: &Function, known: &Known<'_>, sides: &[Sides], options: &Options) -> (Function, Vec<Option<Selected>>) {
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
        builder,
    };
    lowering.inputs();
    lowering.block(&point.body);
    let outputs = lowering.outputs(sides);
    (lowering.builder.finish(outputs), lowering.cases)
}

/// A nest of loops may take so many times as many rounds in all as a single one.
const NEST: u32 = 16;

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
    cuts: Vec<Cut>,
    builder: Builder,
}

/// An end of a value that is cut by that of another one.
struct Cut {
    value: Value,
    side: usize,
    by: Value,
    /// The ends before.
    outer: Ends,
}

impl Lowering<'_> {
    fn inputs(&mut self) {
        let mut ends = vec![];
        for (index, port) in self.point.inputs.iter().enumerate() {
            let is_interval = self
                .point
                .values
                .iter()
                .enumerate()
                .any(|(value, data)| data.def == Def::Input(index as u32) && self.known.kinds[value]);
            ends.push(if is_interval {
                ["lo", "hi"].map(|end| self.builder.input(&format!("{}.{end}", port.name), port.ty))
            } else {
                [self.builder.input(&port.name, port.ty); 2]
            });
        }
        for (value, data) in self.point.values.iter().enumerate() {
            if let Def::Input(index) = data.def {
                self.ends[value] = Some(ends[index as usize]);
            }
        }
    }

    /// The outputs, NaN where one was met.
    fn outputs(&mut self, sides: &[Sides]) -> Vec<(String, Value)> {
        let mut outputs = vec![];
        for ((port, &value), sides) in self.point.outputs.iter().zip(&self.point.body.yields).zip(sides) {
            let ends = self.ends(value);
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

    /// The ends of a value as they go into another one.
    fn ends_for(&mut self, into: Value, value: Value) -> Ends {
        if !self.is_interval(into) {
            return self.ends(value);
        }
        let Interval { lo, hi, .. } = self.interval(value);
        [lo, hi]
    }

    fn set(&mut self, value: Value, ends: Ends) {
        self.ends[value.index()] = Some(ends);
    }

    /// A value with what is known of it.
    fn interval(&mut self, value: Value) -> Interval<Value> {
        let [lo, hi] = self.ends(value);
        let bounds = self.known.bounds[value.index()];
        let number = !self.is_interval(value);
        let facts = match self.known.untested[value.index()] {
            Bounds::Float(floats) => Facts { nan: floats.nan, negative_zero: floats.negative_zero, number },
            _ => Facts { nan: false, negative_zero: false, number },
        };
        let known = told(self.options.tracking, bounds);
        if number && facts.nan && self.options.nan == Nan::Suppress {
            // What is no interval has been computed as the point shader does.
            let number = self.forms(false).or_zero(lo);
            return Interval { lo: number, hi: number, known: known.join(&Bounds::constant(Type::F32, 0)), facts };
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
        let is_number =
            |&&value: &&Value| matches!(self.builder.function().operation(value), Some((Op::Eq, &[a, b])) if a == b);
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
                    let outer = self.builder.set_origin(node.results.iter().copied().find(|&result| self.is_live(result)));
                    self.if_(node);
                    self.builder.set_origin(outer);
                }
                Stmt::Loop(node) if node.results.iter().any(|&result| self.is_live(result)) => self.loop_(node),
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
        for (tested, side, infinity) in [(tests.lo, 0, f32::NEG_INFINITY), (tests.hi, 1, f32::INFINITY)] {
            if tested {
                let infinity = self.builder.f32(infinity);
                let order = if side == 0 { [infinity, ends[0]] } else { [ends[1], infinity] };
                let finite = self.builder.op(Op::Lt, &order);
                self.require(&[finite]);
            }
        }
        self.cases[value.index()] = Some(Selected { case, operations: self.operations_since(before) });
    }

    /// What is both within the ends of a value's interval form and within those that relations give.
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
                if alternative.is_exact() || alternative.is_within(side) && ends[side] == form[side] {
                    ends[side] = others[side];
                } else if none.is_none_or(|none| self.builder.known(others[side]) != Some(none.to_bits())) {
                    ends[side] = self.builder.op(tighter, &[ends[side], others[side]]);
                }
            }
        }
        ends
    }

    /// Operations that were appended since there were so many values.
    fn operations_since(&self, values: usize) -> usize {
        self.builder.function().values[values..].iter().filter(|data| matches!(data.def, Def::Op { .. })).count()
    }

    /// Does something in a block of its own, whose results are those of `work`, whether a NaN was met,
    /// and rounds, where they count.
    fn arm(&mut self, work: impl FnOnce(&mut Self) -> Vec<Value>) -> Block {
        self.builder.open_arm();
        let outer = self.met.take();
        let rounds = self.rounds;
        let mut yields = work(self);
        if self.options.nan == Nan::Propagate {
            let met = self.met.unwrap_or_else(|| self.builder.bool(false));
            yields.push(met);
        }
        yields.extend(self.rounds);
        (self.met, self.rounds) = (outer, rounds);
        self.builder.close_arm(&yields)
    }

    /// Appends an if whose arms were made by [`arm`](Self::arm).
    fn push_if(&mut self, cond: Value, then: Block, otherwise: Block) -> Vec<Value> {
        let mut results = self.builder.push_if(cond, then, otherwise);
        if self.rounds.is_some() {
            self.rounds = results.pop();
        }
        if self.options.nan == Nan::Propagate {
            let met = results.pop();
            self.meet(met);
        }
        results
    }

    /// The ends of an arm's live yields, one after the other.
    fn yields(&mut self, node: &If, arm: &Block) -> Vec<Value> {
        let live: Vec<_> = std::iter::zip(&node.results, &arm.yields).filter(|(r, _)| self.is_live(**r)).collect();
        live.into_iter().flat_map(|(&result, &value)| self.ends_for(result, value)).collect()
    }

    /// The statements of an arm, for members of the box whose condition is known; the ends of its live yields.
    fn within(&mut self, node: &If, truth: bool) -> Vec<Value> {
        let arm = if truth { &node.then } else { &node.otherwise };
        let cond = self.ends[node.cond.index()];
        let known = self.builder.bool(truth);
        self.set(node.cond, [known; 2]);
        let cuts = self.cuts.len();
        self.cut(node.cond, truth);
        self.block(arm);
        let yields = self.yields(node, arm);
        for Cut { value, outer, .. } in self.cuts.split_off(cuts).into_iter().rev() {
            self.set(value, outer);
        }
        self.ends[node.cond.index()] = cond;
        yields
    }

    /// Cuts the ends of what a condition compares to where it may be true, or may be false.
    ///
    /// An arm runs where ends that are not cut allow that some member takes it. So what one comparison leaves is not empty then, and so it
    /// is where a value is cut from both sides, by what is in order. Where the arm does not run, or for nothing, it does not matter.
    fn cut(&mut self, cond: Value, truth: bool) {
        if !self.options.relations.has(Relation::Order) || !self.is_interval(cond) {
            return;
        }
        let mut told = order::told(self.point, cond, truth);
        // What is in order with most comes first.
        told.sort_by_key(|pair| !pair.iter().any(|&value| self.point.constant(value).is_some()));
        for [low, high] in told {
            let [low_ends, high_ends] = [low, high].map(|value| {
                let first = self.cuts.iter().find(|cut| cut.value == value).map(|cut| cut.outer);
                first.unwrap_or_else(|| self.ends(value))
            });
            for (value, other, by, side, op) in [(low, high, high_ends[1], 1, Op::Min), (high, low, low_ends[0], 0, Op::Max)] {
                let alone = self.cuts.iter().filter(|cut| cut.value == value && cut.side != side).all(|cut| {
                    let [below, above] = if side == 1 { [cut.by, other] } else { [other, cut.by] };
                    self.is_below(below, above)
                });
                if alone && self.can_cut(value, other) {
                    let outer = self.ends(value);
                    let mut ends = outer;
                    ends[side] = self.builder.op(op, &[ends[side], by]);
                    self.cuts.push(Cut { value, side, by: other, outer });
                    self.set(value, ends);
                }
            }
        }
    }

    /// Whether an interval can have an end of another value for its own: neither is NaN, and there is no −0 where there was none.
    fn can_cut(&self, value: Value, by: Value) -> bool {
        let (Bounds::Float(a), Bounds::Float(b)) = (&self.known.untested[value.index()], &self.known.untested[by.index()])
        else {
            return false;
        };
        self.is_interval(value) && !a.nan && !b.nan && (a.negative_zero || !b.negative_zero)
    }

    /// Whether all that a value can be is below all that another can be.
    fn is_below(&self, a: Value, b: Value) -> bool {
        match (&self.known.untested[a.index()], &self.known.untested[b.index()]) {
            (Bounds::Float(a), Bounds::Float(b)) => a.high() <= b.low(),
            _ => false,
        }
    }

    fn if_(&mut self, node: &If) {
        let [must, may] = self.ends(node.cond);
        let results: Vec<_> = node.results.iter().copied().filter(|&result| self.is_live(result)).collect();
        if !self.is_interval(node.cond) {
            let [then, otherwise] = [true, false].map(|truth| self.arm(|lowering| lowering.within(node, truth)));
            let values = self.push_if(may, then, otherwise);
            for (result, ends) in results.into_iter().zip(values.chunks(2)) {
                self.set(result, [ends[0], ends[1]]);
            }
            return;
        }
        let must_not = self.builder.op(Op::BNot, &[must]);
        let cheap =
            [&node.then, &node.otherwise].map(|arm| self.cost(arm)).into_iter().try_fold(0, |sum, cost| Some(sum + cost?));
        let asked = cheap.is_none_or(|cost| cost > CHEAP);
        let [then, otherwise] = [(true, may), (false, must_not)].map(|(truth, reached)| {
            if asked {
                let arm = self.arm(|lowering| lowering.within(node, truth));
                let none = self.arm(|lowering| {
                    let zero = |result: &Value| [lowering.builder.constant(lowering.point.ty(*result), 0); 2];
                    results.iter().flat_map(zero).collect()
                });
                return self.push_if(reached, arm, none);
            }
            let outer = self.met.take();
            let yields = self.within(node, truth);
            let inner = std::mem::replace(&mut self.met, outer);
            if let Some(inner) = inner {
                let met = self.builder.op(Op::BAnd, &[reached, inner]);
                self.meet(Some(met));
            }
            yields
        });
        let cond = self.interval(node.cond);
        for (k, &result) in results.iter().enumerate() {
            let index = node.results.iter().position(|&r| r == result).expect("it is one of them");
            let [mut t, mut e] = [node.then.yields[index], node.otherwise.yields[index]].map(|value| self.interval(value));
            [t.lo, t.hi] = [then[2 * k], then[2 * k + 1]];
            [e.lo, e.hi] = [otherwise[2 * k], otherwise[2 * k + 1]];
            let before = self.builder.function().len();
            let outer = self.builder.set_origin(Some(result));
            let (ends, case) = self.apply(Op::Select, &[cond, t, e], false);
            self.builder.set_origin(outer);
            self.set(result, ends);
            self.cases[result.index()] = Some(Selected { case, operations: self.operations_since(before) });
        }
    }

    /// Cost of a block without control flow.
    fn cost(&self, block: &Block) -> Option<u32> {
        block.stmts.iter().try_fold(0, |cost, stmt| match stmt {
            Stmt::Op(value) if !self.is_live(*value) => Some(cost),
            Stmt::Op(value) => Some(cost + cost_of(self.point.operation(*value)?.0)),
            Stmt::If(_) | Stmt::Loop(_) => None,
        })
    }

    fn loop_(&mut self, node: &Loop) {
        let undecided = self.is_interval(node.cond);
        let propagates = self.options.nan == Nan::Propagate;
        let params: Vec<_> = (0..node.params.len()).filter(|&k| self.is_live(node.params[k])).collect();
        let results: Vec<_> = (0..node.results.len()).filter(|&k| self.is_live(node.results[k])).collect();
        // Rounds count where intervals might keep a loop from ending, of all the loops around and within together: each might run to
        // its cap, and the products of caps have no end.
        let outer_rounds = self.rounds;
        let is_nest = self.rounds.is_some() || has_loop(node, |_| true);
        let counts = self.rounds.is_some()
            || has_loop(node, |inner| self.is_interval(inner.cond))
            || undecided && (is_nest || !self.ends_by_counting(node));

        // Parameters: those of the point shader, unions of results, whether a NaN was met, rounds.
        let mut init: Vec<_> = params.iter().flat_map(|&k| self.widened(node.params[k], node.init[k])).collect();
        let unions = init.len();
        if undecided {
            init.extend(results.iter().flat_map(|&k| empty(&mut self.builder, self.point.ty(node.results[k]))));
        }
        let outer = self.met.take();
        if propagates {
            init.push(self.builder.bool(false));
        }
        if counts {
            init.push(outer_rounds.unwrap_or_else(|| self.builder.i32(0)));
        }
        let mut new = self.builder.open_loop(&init);
        self.rounds = if counts { new.pop() } else { None };
        self.met = if propagates { new.pop() } else { None };
        let union = new.split_off(unions);
        let mut next = new.into_iter();
        for &k in &params {
            let ends = self.take(node.params[k], &mut next);
            self.set(node.params[k], ends);
        }

        self.block(&node.head);
        let [must, may] = self.ends(node.cond);
        let mut go_on = may;
        let mut exits: Vec<_> = results.iter().flat_map(|&k| self.ends_for(node.results[k], node.head.yields[k])).collect();
        if undecided {
            self.join(node, &results, must, &union, &mut exits);
        }
        let joined = exits.clone();
        if let Some(rounds) = self.rounds.filter(|_| undecided) {
            let cap = if is_nest { self.options.loop_cap.saturating_mul(NEST) } else { self.options.loop_cap };
            let cap = self.builder.i32(cap.min(i32::MAX as u32) as i32);
            let below = self.builder.op(Op::ULt, &[rounds, cap]);
            go_on = self.builder.op(Op::BAnd, &[may, below]);
            let stays = self.builder.op(Op::BNot, &[may]);
            let ended = self.builder.op(Op::BOr, &[stays, below]);
            if propagates {
                // Of rounds that did not run, nothing tells.
                let given_up = self.builder.op(Op::BNot, &[ended]);
                self.meet(Some(given_up));
            }
            for (&k, ends) in results.iter().zip(exits.chunks_mut(2)) {
                let whole = self.whole(node.results[k]);
                for (end, whole) in ends.iter_mut().zip(whole) {
                    *end = self.builder.op(Op::Select, &[ended, *end, whole]);
                }
            }
        }
        if propagates {
            exits.push(self.met.expect("it is a parameter at least"));
        }
        exits.extend(self.rounds.filter(|_| outer_rounds.is_some()));
        self.builder.open_body(go_on, &exits);
        let cond = self.ends[node.cond.index()];
        let yes = self.builder.bool(true);
        self.set(node.cond, [yes; 2]);
        self.block(&node.body);
        self.ends[node.cond.index()] = cond;
        let mut next: Vec<_> = params.iter().flat_map(|&k| self.widened(node.params[k], node.body.yields[k])).collect();
        if undecided {
            next.extend(joined);
        }
        if propagates {
            next.push(self.met.expect("it is a parameter at least"));
        }
        if let Some(rounds) = self.rounds {
            let one = self.builder.i32(1);
            next.push(self.builder.op(Op::IAdd, &[rounds, one]));
        }
        let mut values = self.builder.close_loop(&next);
        self.met = outer;
        self.rounds = if outer_rounds.is_some() { values.pop() } else { None };
        if propagates {
            let met = values.pop();
            self.meet(met);
        }
        for (&k, ends) in results.iter().zip(values.chunks(2)) {
            self.set(node.results[k], [ends[0], ends[1]]);
        }
    }

    /// The ends of `value`, which goes into a parameter: one where that is no interval.
    fn widened(&mut self, param: Value, value: Value) -> Vec<Value> {
        let ends = self.ends_for(param, value);
        if self.is_interval(param) { ends.to_vec() } else { vec![ends[0]] }
    }

    fn take(&self, param: Value, from: &mut impl Iterator<Item = Value>) -> Ends {
        let mut end = || from.next().expect("there is a new parameter for each end");
        let lo = end();
        [lo, if self.is_interval(param) { end() } else { lo }]
    }

    /// Adds to the unions of results what members of the box may leave the loop with, in place of `exits`.
    fn join(&mut self, node: &Loop, results: &[usize], must: Value, union: &[Value], exits: &mut [Value]) {
        for ((&k, union), exits) in results.iter().zip(union.chunks(2)).zip(exits.chunks_mut(2)) {
            let ty = self.point.ty(node.results[k]);
            let known = told(self.options.tracking, self.known.bounds[node.head.yields[k].index()]);
            if self.options.nan == Nan::Propagate && matches!(known, Bounds::Float(Floats { nan: true, .. })) {
                // A union would pass over it.
                let [lo, hi] = [exits[0], exits[1]].map(|end| {
                    let number = self.builder.op(Op::Eq, &[end, end]);
                    self.builder.op(Op::BNot, &[number])
                });
                let nan = self.builder.op(Op::BOr, &[lo, hi]);
                let leaves = self.builder.op(Op::BNot, &[must]);
                let met = self.builder.op(Op::BAnd, &[leaves, nan]);
                self.meet(Some(met));
            }
            let joined = hull(&mut self.builder, ty, [exits[0], exits[1]], [union[0], union[1]]);
            for (side, joined) in joined.into_iter().enumerate() {
                exits[side] = self.builder.op(Op::Select, &[must, union[side], joined]);
            }
        }
    }

    /// All that a value can be, as far as is known at compile time.
    fn whole(&mut self, value: Value) -> Ends {
        match &self.known.untested[value.index()] {
            Bounds::Float(floats) => [floats.low(), floats.high()].map(|end| self.builder.f32(end)),
            Bounds::Int(ints) => ints.hull().unwrap_or([i32::MIN, i32::MAX]).map(|end| self.builder.i32(end)),
            Bounds::Bool(bools) => [!bools.no, bools.yes].map(|end| self.builder.bool(end)),
        }
    }

    /// Whether the loop ends, however wide the intervals are, because a counter that is no interval runs up to a constant.
    fn ends_by_counting(&self, node: &Loop) -> bool {
        let mut work = vec![node.cond];
        while let Some(cond) = work.pop() {
            match self.point.operation(cond) {
                Some((Op::BAnd, args)) => work.extend(args),
                Some((Op::SLt | Op::ULt, &[counter, end])) => {
                    let Some(k) = node.params.iter().position(|&param| param == counter) else { continue };
                    let step = match self.point.operation(node.body.yields[k]) {
                        Some((Op::IAdd, &[a, b])) if a == counter => self.point.constant(b),
                        _ => None,
                    };
                    let end = self.point.constant(end);
                    // Small enough not to wrap past the end.
                    let ends = matches!((step, end), (Some(1..=0xffff), Some(0..=0x7fff_0000)));
                    if ends && !self.is_interval(counter) && self.point.constant(node.init[k]).is_some_and(|i| i as i32 >= 0) {
                        return true;
                    }
                }
                _ => {}
            }
        }
        false
    }
}

/// Whether there is such a loop within a loop.
fn has_loop(node: &Loop, is_one: impl Fn(&Loop) -> bool) -> bool {
    let mut found = false;
    for block in [&node.head, &node.body] {
        for_each_stmt(block, &mut |stmt| found |= matches!(stmt, Stmt::Loop(inner) if is_one(inner)));
    }
    found
}

/// What selection of cases is told.
fn told(tracking: Tracking, bounds: Bounds) -> Bounds {
    let Bounds::Float(floats) = bounds else {
        return if tracking.ranges { bounds } else { unknown(&bounds) };
    };
    let mut floats = if tracking.ranges { floats } else { Floats { nan: floats.nan, ..Floats::all() } };
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

/// Ends of nothing: of a union before anything is in it.
fn empty(builder: &mut Builder, ty: Type) -> Ends {
    match ty {
        Type::F32 => [f32::INFINITY, f32::NEG_INFINITY].map(|end| builder.f32(end)),
        Type::I32 => [i32::MAX, i32::MIN].map(|end| builder.i32(end)),
        Type::Bool => [true, false].map(|end| builder.bool(end)),
    }
}

/// Ends of the least interval around two.
fn hull(builder: &mut Builder, ty: Type, a: Ends, b: Ends) -> Ends {
    let ops = match ty {
        Type::F32 => [Op::Min, Op::Max],
        Type::I32 => [Op::SMin, Op::SMax],
        Type::Bool => [Op::BAnd, Op::BOr],
    };
    [0, 1].map(|side| builder.op(ops[side], &[a[side], b[side]]))
}

#[cfg(test)]
mod tests {
    use super::super::{Input, Options};
    use crate::analysis::{Bounds, Floats};
    use crate::interpreter;
    use crate::ir::text::parse;

    #[test]
    fn nests_of_loops_that_never_end_for_intervals_are_given_up_together() {
        // For one number, some hundred rounds: no more than a few of each loop.
        let text = "fn f(a: f32, n: i32) -> (r: f32) {
            %1 = loop (%2: f32 = a, %3: i32 = 0) {
                %4 = lt %2, 1.0
                %5 = ult %3, 1000
                %6 = band %4, %5
                while %6 else %2
                %7 = loop (%8: f32 = %2, %9: i32 = 0) {
                    %10 = lt %8, 1.0
                    %11 = ult %9, n
                    %12 = band %10, %11
                    while %12 else %8
                    %13 = lt %8, -5.0
                    %14 = if %13 {
                        yield %8
                    } else {
                        %15 = loop (%16: f32 = %8) {
                            %17 = lt %16, 1.0
                            while %17 else %16
                            %18 = abs %16
                            %19 = add %18, 0.25
                            next %19
                        }
                        yield %15
                    }
                    %20 = iadd %9, 1
                    next %14, %20
                }
                %21 = iadd %3, 1
                %22 = sub %7, 0.75
                next %22, %21
            }
            return %1
        }";
        let function = parse(text).expect("the text is well formed");
        let float = Bounds::Float(Floats::between(-2.0, 2.0));
        let inputs = [
            Input { interval: true, bounds: float, axis: None },
            Input { interval: false, bounds: Bounds::all(super::Type::I32), axis: None },
        ];
        let options = Options { loop_cap: 50, ..Options::default() };
        let function = super::super::run(&function, &inputs, &[0], &options).function;
        let words = [(-1.5f32).to_bits(), 0.5f32.to_bits(), 1000];
        let ends = interpreter::run(&function, &[], &words, 2000).expect("they end");
        assert!(f32::from_bits(ends[0]) < 1.0 && f32::from_bits(ends[1]) > 1.0, "{ends:x?}");
    }
}
