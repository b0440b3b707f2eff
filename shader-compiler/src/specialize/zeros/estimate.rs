//! Estimates what code disappears if values are zero (AZP §3.3.2): constant propagation forwards
//! through the values' users, then dead code elimination backwards.
//!
//! Bounds take the place of constants, as everywhere in specialization: a product with zero is zero
//! if the other factor is finite.

use super::super::{constant, is_less, is_zero};
use crate::analysis::transfer::transfer;
use crate::builder::cost_of;
use crate::interval::{Bounds, Floats, Nan};
use crate::ir::{Block, Def, Function, Op, Stmt, Value};

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
}

/// What is left of a function if values are zero.
pub(super) struct Effect {
    /// For each value, what it is replaced by.
    facts: Vec<Fact>,
    /// Whether each value is still computed.
    pub live: Vec<bool>,
    /// The cost of the code that is left, in cheap basic operations.
    pub cost: u32,
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
    /// Prepares estimates, from the bounds of each value.
    pub fn new(function: &'f Function, bounds: Vec<Bounds>) -> Estimator<'f> {
        let mut estimator = Estimator {
            function,
            bounds,
            sources: vec![Source::Plain; function.len()],
            order: Vec::with_capacity(function.len()),
        };
        estimator.scan(&function.body);
        estimator
    }

    fn scan(&mut self, block: &Block) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) => self.order.push(*value),
                Stmt::If(node) => {
                    self.scan(&node.then);
                    self.scan(&node.otherwise);
                    for (k, &result) in node.results.iter().enumerate() {
                        self.sources[result.index()] =
                            Source::If([node.cond, node.then.yields[k], node.otherwise.yields[k]]);
                        self.order.push(result);
                    }
                }
                Stmt::Loop(node) => {
                    for (k, &param) in node.params.iter().enumerate() {
                        self.sources[param.index()] =
                            Source::Loop([node.cond, node.init[k], node.body.yields[k]]);
                    }
                    self.scan(&node.head);
                    self.scan(&node.body);
                    for (k, &result) in node.results.iter().enumerate() {
                        let exit = node.head.yields[k];
                        self.sources[result.index()] = Source::Loop([node.cond, exit, exit]);
                        self.order.push(result);
                    }
                }
            }
        }
    }

    /// Whether a value is zero for some inputs, but not for all, as far as is known.
    pub fn may_be_zero_or_not(&self, value: Value) -> bool {
        match &self.bounds[value.index()] {
            Bounds::Float(floats) => floats.pieces.contains(0.0) && !is_zero(*floats),
            Bounds::Int(_) | Bounds::Bool(_) => false,
        }
    }

    /// Estimates what is left of the function if these values are zero.
    pub fn effect(&self, zeros: &[Value]) -> Effect {
        let function = self.function;
        let mut facts = vec![Fact::Same; function.len()];
        for &value in zeros {
            facts[value.index()] = Fact::Constant;
        }
        // New bounds of the values that are not the same.
        let mut bounds: Vec<Bounds> = vec![];
        if !zeros.is_empty() {
            bounds.clone_from(&self.bounds);
            for &value in zeros {
                bounds[value.index()] = Bounds::Float(Floats::between(0.0, 0.0));
            }
            for &value in &self.order {
                if facts[value.index()] == Fact::Same {
                    facts[value.index()] = self.propagate(value, &facts, &mut bounds);
                }
            }
        }
        let mut effect =
            Effect { facts, live: vec![false; function.len()], cost: 0, loads: 0, blocks: 1 };
        self.mark_live(&mut effect);
        effect.blocks += self.live_blocks(&function.body, &effect.live);
        effect
    }

    /// Computes what becomes of a value, and its new bounds.
    fn propagate(&self, value: Value, facts: &[Fact], bounds: &mut [Bounds]) -> Fact {
        let changed = |arg: &Value| facts[arg.index()] != Fact::Same;
        let of = |arg: Value| self.bounds_of(arg, bounds);
        let (new, alias) = match self.sources[value.index()] {
            Source::Plain => {
                let (op, args) =
                    self.function.operation(value).expect("statements define operations");
                if !args.iter().any(changed) {
                    return Fact::Same;
                }
                let operands: Vec<_> = args.iter().map(|&arg| of(arg)).collect();
                let same = args.len() > 1 && args[0] == args[1];
                let new = transfer(op, &operands, same, Nan::Ignore);
                (new, alias(op, args, &operands))
            }
            Source::If([cond, then, otherwise]) => {
                if ![cond, then, otherwise].iter().any(changed) {
                    return Fact::Same;
                }
                let operands = [cond, then, otherwise].map(of);
                let new = transfer(Op::Select, &operands, false, Nan::Ignore);
                (new, alias(Op::Select, &[cond, then, otherwise], &operands))
            }
            // What loops carry stays as it is.
            Source::Loop(_) => return Fact::Changed,
        };
        let old = &self.bounds[value.index()];
        let new = new.meet(old);
        bounds[value.index()] = if new.is_empty() { *old } else { new };
        if constant(&bounds[value.index()], false).is_some() {
            return Fact::Constant;
        }
        match alias {
            Some(arg) => match facts[arg.index()] {
                Fact::Alias(target) => Fact::Alias(target),
                _ => Fact::Alias(arg),
            },
            None => Fact::Changed,
        }
    }

    fn bounds_of(&self, value: Value, bounds: &[Bounds]) -> Bounds {
        match self.function.def(value) {
            Def::Const(bits) => Bounds::constant(self.function.ty(value), bits),
            _ => bounds[value.index()],
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
            match self.sources[value.index()] {
                Source::Plain => {
                    if let Some((op, args)) = self.function.operation(value) {
                        effect.cost += cost_of(op);
                        effect.loads += u32::from(op.is_load());
                        work.extend(args);
                    }
                }
                Source::If(all) | Source::Loop(all) => work.extend(all),
            }
        }
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
    pub fn slice_cost(&self, values: &[Value], known: &mut [bool]) -> u32 {
        let mut cost = 0;
        let mut work = values.to_vec();
        while let Some(value) = work.pop() {
            if std::mem::replace(&mut known[value.index()], true) {
                continue;
            }
            match self.sources[value.index()] {
                Source::Plain => {
                    if let Some((op, args)) = self.function.operation(value) {
                        cost += cost_of(op);
                        work.extend(args);
                    }
                }
                Source::If(all) | Source::Loop(all) => work.extend(all),
            }
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
