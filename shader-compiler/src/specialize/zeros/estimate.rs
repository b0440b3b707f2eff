//! Estimates what code disappears if values are zero (AZP §3.3.2): constant propagation forwards
//! through the values' users, then dead code elimination backwards.
//!
//! Bounds tell which results are constant, as everywhere in specialization: a product with zero is
//! zero if the other factor is finite. Other results keep the bounds that they have in general.

use super::super::{constant, is_less, is_zero};
use crate::analysis::transfer::transfer;
use crate::builder::cost_of;
use crate::interval::{Bounds, Floats, Nan};
use crate::ir::{Block, Def, Function, Op, Stmt, Value};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The operands of values, for liveness.
#[derive(Clone, Copy)]
enum Source {
    /// Inputs, constants and operations.
    Plain,
    /// The result of an if: its condition and the values of its arms.
    If([Value; 3]),
    /// A parameter or result of a loop.
    Loop([Value; 3]),
}

/// Estimates for one function.
pub(super) struct Estimator<'f> {
    pub function: &'f Function,
    /// The bounds of each value.
    bounds: Vec<Bounds>,
    sources: Vec<Source>,
    /// The values that statements define, in order.
    order: Vec<Value>,
    /// The position of each value in this order; 0 for inputs.
    positions: Vec<usize>,
    /// How often each value is computed.
    frequencies: Vec<f64>,
    /// The users of all values, and where those of each value start.
    users: Vec<Value>,
    first_user: Vec<usize>,
    /// Number of uses of each value.
    uses: Vec<usize>,
}

/// Number of iterations that a loop is assumed to take.
const LOOP_ITERATIONS: f64 = 8.0;

/// What is left of a function if values are zero.
pub(super) struct Effect {
    /// For each value, what it is replaced by.
    facts: Vec<Fact>,
    /// Whether each value is still computed.
    pub live: Vec<bool>,
    /// The cost of the code that is left, in cheap basic operations.
    pub cost: f64,
    /// The part of the general code's cost that its own branches save if the values are zero.
    pub skipped: f64,
    /// The loads that are left.
    pub loads: u32,
    /// The number of basic blocks that are left.
    pub blocks: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fact {
    /// It is computed as before.
    Same,
    /// It is computed as before, from operands that differ.
    Changed,
    Constant,
    Alias(Value),
}

impl Effect {
    /// Whether the value is still computed.
    pub fn is_live(&self, value: Value) -> bool {
        self.live[value.index()]
    }

    /// Whether a value has become a constant; of a value that may be zero, that is zero.
    pub fn is_constant(&self, value: Value) -> bool {
        self.facts[value.index()] == Fact::Constant
    }

    /// Whether the value is still computed, in the same way.
    pub fn is_unchanged(&self, value: Value) -> bool {
        self.is_live(value) && self.facts[value.index()] == Fact::Same
    }
}

impl<'f> Estimator<'f> {
    /// Prepares estimates, from the bounds of each value. `arms` are the fractions of groups that
    /// take the arms of the ifs in the outermost block, in order.
    pub fn new(function: &'f Function, bounds: &[Bounds], arms: &[[f64; 2]]) -> Estimator<'f> {
        let mut estimator = Estimator {
            function,
            bounds: bounds.to_vec(),
            sources: vec![Source::Plain; function.len()],
            order: Vec::with_capacity(function.len()),
            positions: vec![0; function.len()],
            frequencies: vec![1.0; function.len()],
            users: vec![],
            first_user: vec![],
            uses: vec![],
        };
        let mut arms = arms.iter().copied();
        for stmt in &function.body.stmts {
            let frequencies = match stmt {
                Stmt::If(_) => arms.next().unwrap_or([1.0; 2]),
                Stmt::Op(_) | Stmt::Loop(_) => [1.0; 2],
            };
            estimator.scan(stmt, 1.0, frequencies);
        }
        estimator.find_users();
        estimator
    }

    /// Visits a statement that runs with a frequency. `arms` are those of its arms, if it is an if.
    fn scan(&mut self, stmt: &Stmt, frequency: f64, arms: [f64; 2]) {
        let nested = |estimator: &mut Self, block: &Block, frequency: f64| {
            block.stmts.iter().for_each(|stmt| estimator.scan(stmt, frequency, [frequency; 2]));
        };
        match stmt {
            Stmt::Op(value) => self.define(*value, frequency),
            Stmt::If(node) => {
                nested(self, &node.then, arms[0]);
                nested(self, &node.otherwise, arms[1]);
                for (k, &result) in node.results.iter().enumerate() {
                    self.sources[result.index()] =
                        Source::If([node.cond, node.then.yields[k], node.otherwise.yields[k]]);
                    self.define(result, frequency);
                }
            }
            Stmt::Loop(node) => {
                for (k, &param) in node.params.iter().enumerate() {
                    self.sources[param.index()] =
                        Source::Loop([node.cond, node.init[k], node.body.yields[k]]);
                }
                nested(self, &node.head, frequency * LOOP_ITERATIONS);
                nested(self, &node.body, frequency * LOOP_ITERATIONS);
                for (k, &result) in node.results.iter().enumerate() {
                    let exit = node.head.yields[k];
                    self.sources[result.index()] = Source::Loop([node.cond, exit, exit]);
                    self.define(result, frequency);
                }
            }
        }
    }

    fn define(&mut self, value: Value, frequency: f64) {
        self.positions[value.index()] = self.order.len();
        self.order.push(value);
        self.frequencies[value.index()] = frequency;
    }

    /// The cost of computing an operation as often as it is computed.
    fn cost(&self, value: Value, op: Op) -> f64 {
        f64::from(cost_of(op)) * self.frequencies[value.index()]
    }

    /// Whether a value is zero for some inputs, but not for all, as far as is known.
    pub fn may_be_zero_or_not(&self, value: Value) -> bool {
        match &self.bounds[value.index()] {
            Bounds::Float(floats) => floats.pieces.contains(0.0) && !is_zero(*floats),
            Bounds::Int(_) | Bounds::Bool(_) => false,
        }
    }

    /// The cost of what becomes superfluous if these values are zero, apart from what they depend on
    /// themselves. It visits only that code, while [`effect`](Self::effect) visits all.
    pub fn removed_cost(&self, zeros: &[Value]) -> f64 {
        let mut facts: FxHashMap<Value, Fact> = FxHashMap::default();
        let mut bounds = FxHashMap::default();
        let mut pending = BinaryHeap::new();
        for &value in zeros {
            facts.insert(value, Fact::Constant);
            bounds.insert(value, Bounds::Float(Floats::between(0.0, 0.0)));
        }
        let users = |value: &Value| {
            let users = self.users(*value).iter();
            users.map(|user| Reverse((self.positions[user.index()], *user)))
        };
        pending.extend(zeros.iter().flat_map(users));
        while let Some(Reverse((_, value))) = pending.pop() {
            if facts.contains_key(&value) {
                continue;
            }
            let fact = |value: &Value| facts.get(value).copied().unwrap_or(Fact::Same);
            let new = self.propagate(value, fact, &mut bounds);
            if matches!(new, Fact::Constant | Fact::Alias(_)) {
                facts.insert(value, new);
                pending.extend(users(&value));
            }
        }
        self.released_cost(zeros, &facts)
    }

    /// The cost of values that are replaced, and of what only they depend on.
    fn released_cost(&self, zeros: &[Value], replaced: &FxHashMap<Value, Fact>) -> f64 {
        let mut uses: FxHashMap<Value, usize> = FxHashMap::default();
        let remaining = |value: Value| self.uses[value.index()];
        for fact in replaced.values() {
            if let Fact::Alias(target) = fact {
                *uses.entry(*target).or_insert_with(|| remaining(*target)) += 1;
            }
        }
        let mut cost = 0.0;
        let mut work: Vec<_> =
            replaced.keys().copied().filter(|value| !zeros.contains(value)).collect();
        while let Some(value) = work.pop() {
            if let Some((op, _)) = self.function.operation(value) {
                cost += self.cost(value, op);
            }
            self.for_each_source(value, |source| {
                let uses = uses.entry(source).or_insert_with(|| remaining(source));
                *uses -= 1;
                if *uses == 0 && !replaced.contains_key(&source) {
                    work.push(source);
                }
            });
        }
        cost
    }

    /// Calls `f` for each value that a value depends on.
    fn for_each_source(&self, value: Value, f: impl FnMut(Value)) {
        match &self.sources[value.index()] {
            Source::Plain => {
                let args = self.function.operation(value).map_or(&[][..], |(_, args)| args);
                args.iter().copied().for_each(f);
            }
            Source::If(all) | Source::Loop(all) => all.iter().copied().for_each(f),
        }
    }

    /// The values that depend on a value.
    fn users(&self, value: Value) -> &[Value] {
        &self.users[self.first_user[value.index()]..self.first_user[value.index() + 1]]
    }

    /// Finds the users of each value.
    fn find_users(&mut self) {
        let count = self.function.len();
        let mut uses = vec![0; count];
        let all = (0..count as u32).map(Value);
        all.clone().for_each(|value| self.for_each_source(value, |arg| uses[arg.index()] += 1));
        let mut next = vec![0; count + 1];
        for (k, &uses) in uses.iter().enumerate() {
            next[k + 1] = next[k] + uses;
        }
        self.first_user.clone_from(&next);
        let mut users = vec![Value(0); next[count]];
        all.for_each(|value| {
            self.for_each_source(value, |arg| {
                users[next[arg.index()]] = value;
                next[arg.index()] += 1;
            });
        });
        self.users = users;
        self.function.body.yields.iter().for_each(|output| uses[output.index()] += 1);
        self.uses = uses;
    }

    /// Estimates what is left of the function if these values are zero.
    pub fn effect(&self, zeros: &[Value]) -> Effect {
        let (facts, bounds) = self.assume(zeros);
        let mut effect = Effect {
            facts,
            live: vec![false; self.function.len()],
            cost: 0.0,
            skipped: self.skipped_cost(&self.function.body, &bounds),
            loads: 0,
            blocks: 1,
        };
        self.mark_live(&mut effect);
        effect.blocks += self.live_blocks(&self.function.body, &effect.live);
        effect
    }

    /// The bounds of each value if these values are zero, and whether it is computed as before.
    pub fn bounds(&self, zeros: &[Value]) -> (Vec<Bounds>, Vec<bool>) {
        let (facts, new) = self.assume(zeros);
        let mut bounds = self.bounds.clone();
        new.into_iter().for_each(|(value, new)| bounds[value.index()] = new);
        (bounds, facts.into_iter().map(|fact| fact == Fact::Same).collect())
    }

    /// What becomes of each value if these values are zero, and new bounds of those that change.
    fn assume(&self, zeros: &[Value]) -> (Vec<Fact>, FxHashMap<Value, Bounds>) {
        let mut facts = vec![Fact::Same; self.function.len()];
        let mut bounds = FxHashMap::default();
        for &value in zeros {
            facts[value.index()] = Fact::Constant;
            bounds.insert(value, Bounds::Float(Floats::between(0.0, 0.0)));
        }
        if !zeros.is_empty() {
            let first = zeros.iter().map(|zero| self.positions[zero.index()]).min();
            for &value in &self.order[first.unwrap_or(0)..] {
                if facts[value.index()] == Fact::Same {
                    let fact = |value: &Value| facts[value.index()];
                    facts[value.index()] = self.propagate(value, fact, &mut bounds);
                }
            }
        }
        (facts, bounds)
    }

    /// Computes what becomes of a value, and its new bounds.
    fn propagate(
        &self,
        value: Value,
        fact: impl Fn(&Value) -> Fact,
        bounds: &mut FxHashMap<Value, Bounds>,
    ) -> Fact {
        let changed = |arg: &Value| fact(arg) != Fact::Same;
        let is_constant = |arg: &Value| fact(arg) == Fact::Constant;
        let of = |arg: Value| match bounds.get(&arg) {
            Some(&new) => new,
            None => bounds_of(self.function, arg, &self.bounds),
        };
        let (new, alias) = match self.sources[value.index()] {
            Source::Plain => {
                let (op, args) =
                    self.function.operation(value).expect("statements define operations");
                if !args.iter().any(is_constant) {
                    return if args.iter().any(changed) { Fact::Changed } else { Fact::Same };
                }
                let operands: Vec<_> = args.iter().map(|&arg| of(arg)).collect();
                let same = args.len() > 1 && args[0] == args[1];
                let new = transfer(op, &operands, same, Nan::Ignore);
                (new, alias(op, args, &operands))
            }
            Source::If([cond, then, otherwise]) => {
                let args = [cond, then, otherwise];
                if !args.iter().any(is_constant) {
                    return if args.iter().any(changed) { Fact::Changed } else { Fact::Same };
                }
                let operands = args.map(of);
                let new = transfer(Op::Select, &operands, false, Nan::Ignore);
                (new, alias(Op::Select, &args, &operands))
            }
            // What loops carry stays as it is.
            Source::Loop(_) => return Fact::Changed,
        };
        let old = &self.bounds[value.index()];
        let new = new.meet(old);
        let new = if new.is_empty() { *old } else { new };
        if constant(&new, false).is_some() {
            bounds.insert(value, new);
            return Fact::Constant;
        }
        match alias {
            Some(arg) => match fact(&arg) {
                Fact::Alias(target) => Fact::Alias(target),
                _ => Fact::Alias(arg),
            },
            None => Fact::Changed,
        }
    }

    /// Marks what outputs depend on, and sums the cost.
    fn mark_live(&self, effect: &mut Effect) {
        let mut work = self.function.body.yields.clone();
        while let Some(value) = work.pop() {
            match effect.facts[value.index()] {
                Fact::Constant => continue,
                Fact::Alias(target) => {
                    work.push(target);
                    continue;
                }
                Fact::Same | Fact::Changed => {}
            }
            if std::mem::replace(&mut effect.live[value.index()], true) {
                continue;
            }
            if let Some((op, _)) = self.function.operation(value) {
                effect.cost += self.cost(value, op);
                effect.loads += u32::from(op.is_load());
            }
            self.for_each_source(value, |source| work.push(source));
        }
    }

    /// The cost of arms that are not taken because bounds of their conditions have become narrower.
    fn skipped_cost(&self, block: &Block, bounds: &FxHashMap<Value, Bounds>) -> f64 {
        let mut cost = 0.0;
        for stmt in &block.stmts {
            let Stmt::If(node) = stmt else { continue };
            let truth = bounds.get(&node.cond).and_then(|cond| constant(cond, false));
            for (arm, runs_if) in [(&node.then, true), (&node.otherwise, false)] {
                cost += match truth {
                    Some(truth) if (truth != 0) != runs_if => self.block_cost(arm),
                    _ => self.skipped_cost(arm, bounds),
                };
            }
        }
        cost
    }

    /// The cost of a block.
    fn block_cost(&self, block: &Block) -> f64 {
        let mut total = 0.0;
        for stmt in &block.stmts {
            total += match stmt {
                Stmt::Op(value) => {
                    self.function.operation(*value).map_or(0.0, |(op, _)| self.cost(*value, op))
                }
                Stmt::If(node) => self.block_cost(&node.then) + self.block_cost(&node.otherwise),
                Stmt::Loop(node) => self.block_cost(&node.head) + self.block_cost(&node.body),
            };
        }
        total
    }

    /// Number of basic blocks of control flow that is left, after the first.
    fn live_blocks(&self, block: &Block, live: &[bool]) -> u32 {
        let is_live = |values: &[Value]| values.iter().any(|value| live[value.index()]);
        let mut blocks = 0;
        for stmt in &block.stmts {
            let (results, nested) = match stmt {
                Stmt::Op(_) => continue,
                Stmt::If(node) => (&node.results, [&node.then, &node.otherwise]),
                Stmt::Loop(node) => (&node.results, [&node.head, &node.body]),
            };
            if is_live(results) {
                let nested = nested.iter().map(|block| self.live_blocks(block, live));
                blocks += 3 + nested.sum::<u32>();
            }
        }
        blocks
    }

    /// The cost of what these values depend on and is not in `known`; adds it to `known`.
    pub fn slice_cost(&self, values: &[Value], known: &mut [bool]) -> f64 {
        let mut cost = 0.0;
        let mut work = values.to_vec();
        while let Some(value) = work.pop() {
            if std::mem::replace(&mut known[value.index()], true) {
                continue;
            }
            if let Some((op, _)) = self.function.operation(value) {
                cost += self.cost(value, op);
            }
            self.for_each_source(value, |source| work.push(source));
        }
        cost
    }

    /// The values of the outermost block that an effect leaves as they are.
    pub fn unchanged(&self, effect: &Effect) -> Vec<Value> {
        let mut values = vec![];
        for stmt in &self.function.body.stmts {
            let defined: &[Value] = match stmt {
                Stmt::Op(value) => std::slice::from_ref(value),
                Stmt::If(node) => &node.results,
                Stmt::Loop(node) => &node.results,
            };
            values.extend(defined.iter().copied().filter(|&value| effect.is_unchanged(value)));
        }
        values
    }
}

/// The bounds of an operand, given those of other values than constants.
pub(super) fn bounds_of(function: &Function, value: Value, bounds: &[Bounds]) -> Bounds {
    match function.def(value) {
        Def::Const(bits) => Bounds::constant(function.ty(value), bits),
        _ => bounds[value.index()],
    }
}

/// The operand that an operation returns, whatever the other operands are within their bounds.
fn alias(op: Op, args: &[Value], operands: &[Bounds]) -> Option<Value> {
    let floats = |k: usize| match operands.get(k) {
        Some(Bounds::Float(floats)) => Some(floats),
        _ => None,
    };
    let known = |k: usize| constant(&operands[k], false);
    let one = 1.0_f32.to_bits();
    match op {
        Op::Add if is_zero(*floats(0)?) => Some(args[1]),
        Op::Add | Op::Sub if is_zero(*floats(1)?) => Some(args[0]),
        Op::Mul if known(0) == Some(one) => Some(args[1]),
        Op::Mul | Op::Div if known(1) == Some(one) => Some(args[0]),
        Op::Max | Op::Min => {
            let (a, b) = (floats(0)?, floats(1)?);
            // Of a maximum, the first operand is returned if the second is not greater.
            let [first, second] = if op == Op::Max { [a, b] } else { [b, a] };
            if is_less(second, first, true) {
                Some(args[0])
            } else {
                is_less(first, second, true).then_some(args[1])
            }
        }
        Op::Select => known(0).map(|cond| args[if cond != 0 { 1 } else { 2 }]),
        Op::BAnd | Op::BOr => {
            let neutral = if op == Op::BAnd { !0 } else { 0 };
            let k = (0..2).find(|&k| known(k) == Some(neutral))?;
            Some(args[1 - k])
        }
        Op::Abs if floats(0)?.low() >= 0.0 && !floats(0)?.nan => Some(args[0]),
        _ => None,
    }
}
