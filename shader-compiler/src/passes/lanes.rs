//! Control flow for groups of lanes: what a lane does alone becomes what a group does together.
//!
//! A group takes a branch if *any* of its lanes does, and lanes that would not have gone along are *idle*: they compute, but what
//! they compute is not used. After this pass the condition of every if and loop is an `any`, which is the same in all lanes, and
//! results are merged by `select` on the lane's own condition.
//!
//! - An if whose arms are cheap runs both, and selects. One with an expensive arm runs that if any lane wants it; a cheap arm runs
//!   before the if; two expensive arms become two ifs.
//! - A loop runs while any lane goes on. A lane that has left keeps its parameters, by select. So its head computes
//!   over and over what it computed when the lane left: a false condition, and the very same results. That is why no mask of lanes
//!   that are still in the loop needs to be carried along, why results need no select, and why parameters that the
//!   head does not use for condition or results need not be kept.
//! - Idle lanes run on garbage, so their conditions count for nothing: within arms and bodies, conditions are taken together with
//!   the *mask* of the lanes for which the block runs. The head of a loop runs for all lanes that came to the loop.
//! - Where a condition is made of constants and of counters of loops that all lanes leave together, it is the same in all
//!   lanes, and there is nothing to select or to mask.
//!
//! Of one lane alone, `any` is the lane's condition, and the function computes what it did before.

use crate::ir::builder::cost_of;
use crate::ir::rewrite::{Open, Pass, Rewriter, rewrite};
use crate::ir::{Block, Builder, Def, Emit, Function, If, Loop, Op, Rules, Stmt, Value};
use rustc_hash::FxHashSet;

/// Cost of an arm, in basic operations, up to which it runs whether it is wanted or not. A branch costs a few instructions, and some
/// twenty cycles where it is mispredicted.
const CHEAP: u32 = 24;

/// The same for conditions that are the same in all lanes, where a branch always saves an arm.
const CHEAP_IF_UNIFORM: u32 = 8;

/// Makes control flow fit for groups of lanes.
pub fn run(function: &Function) -> Function {
    let mut builder = Builder::new(&function.name, Rules::Exact);
    builder.set_speculation(None);
    rewrite(function, builder, Lanes { uniform: uniform(function), mask: None })
}

struct Lanes {
    /// Which values of the old function are the same in all lanes.
    uniform: Vec<bool>,
    /// The lanes that the block runs for; `None` for all.
    mask: Option<Value>,
}

impl Pass for Lanes {
    fn if_(&mut self, rewriter: &mut Rewriter<'_>, node: &If) {
        let cond = rewriter.get(node.cond);
        if rewriter.builder.known_bool(cond).is_some() {
            return rewriter.if_(self, node);
        }
        let results = rewriter.live(&node.results);
        let [cheap, cheap_otherwise] = self.cheap_arms(rewriter, node);
        let values = if cheap && cheap_otherwise {
            let (then, otherwise) = (rewriter.arm(self, node, true), rewriter.arm(self, node, false));
            choose(&mut rewriter.builder, cond, &then, &otherwise)
        } else if self.uniform[node.cond.index()] {
            self.branch(rewriter, node, cond)
        } else if cheap {
            let then = rewriter.arm(self, node, true);
            self.guarded(rewriter, node, false, Some(&then))
        } else {
            let otherwise =
                if cheap_otherwise { rewriter.arm(self, node, false) } else { self.guarded(rewriter, node, false, None) };
            self.guarded(rewriter, node, true, Some(&otherwise))
        };
        rewriter.set_all(&results, &values);
    }

    fn loop_(&mut self, rewriter: &mut Rewriter<'_>, node: &Loop) {
        let Open { params, next } = rewriter.open_loop(node);
        rewriter.stmts(self, &node.head);
        let cond = rewriter.get(node.cond);
        if rewriter.builder.known_bool(cond) == Some(false) {
            rewriter.builder.abandon_head();
            return rewriter.last_round(self, node);
        }
        let is_uniform = self.uniform[node.cond.index()];
        let exits = rewriter.exits(node);
        let kept = if is_uniform { FxHashSet::default() } else { kept(&rewriter.builder, &params, &exits, cond) };
        let active = if is_uniform { cond } else { self.masked(&mut rewriter.builder, cond) };
        let any = rewriter.builder.op(Op::Any, &[active]);
        rewriter.builder.open_body(any, &exits);
        let next = if is_uniform {
            rewriter.body(self, node, &next)
        } else {
            self.within(active, |pass| rewriter.body(pass, node, &next))
        };
        let next = std::iter::zip(next, params).map(|(next, param)| {
            if kept.contains(&param) { rewriter.builder.op(Op::Select, &[active, next, param]) } else { next }
        });
        let next: Vec<_> = next.collect();
        let values = rewriter.builder.close_loop(&next);
        let results = rewriter.live(&node.results);
        rewriter.set_all(&results, &values);
    }
}

impl Lanes {
    /// The lanes of the block in which a condition holds.
    fn masked(&self, builder: &mut Builder, cond: Value) -> Value {
        match self.mask {
            Some(mask) => builder.op(Op::BAnd, &[cond, mask]),
            None => cond,
        }
    }

    /// Does something in a block for some lanes only.
    fn within<T>(&mut self, mask: Value, work: impl FnOnce(&mut Lanes) -> T) -> T {
        let outer = self.mask.replace(mask);
        let result = work(self);
        self.mask = outer;
        result
    }

    /// An if that all lanes take the same way.
    fn branch(&mut self, rewriter: &mut Rewriter<'_>, node: &If, cond: Value) -> Vec<Value> {
        let any = rewriter.builder.op(Op::Any, &[cond]);
        let [then, otherwise] = [true, false].map(|truth| {
            rewriter.builder.open_arm();
            let yields = rewriter.arm(self, node, truth);
            rewriter.builder.close_arm(&yields)
        });
        rewriter.builder.push_if(any, then, otherwise)
    }

    /// An arm that runs if any lane takes it. Its values are merged with those of the other arm, if they are there already.
    fn guarded(&mut self, rewriter: &mut Rewriter<'_>, node: &If, truth: bool, other: Option<&[Value]>) -> Vec<Value> {
        let mut cond = rewriter.get(node.cond);
        if !truth {
            cond = rewriter.builder.op(Op::BNot, &[cond]);
        }
        let active = self.masked(&mut rewriter.builder, cond);
        let any = rewriter.builder.op(Op::Any, &[active]);
        rewriter.builder.open_arm();
        let level = rewriter.builder.depth() - 1;
        let values = self.within(active, |pass| rewriter.arm(pass, node, truth));
        let builder = &mut rewriter.builder;
        // Values from before the if are merged after it, and those of the arm in the arm.
        let inner: Vec<_> = values.iter().map(|&value| builder.level(value) == level).collect();
        let mut yields = (vec![], vec![]);
        for (k, &value) in values.iter().enumerate().filter(|&(k, _)| inner[k]) {
            let ty = builder.ty(value);
            yields.1.push(other.map_or_else(|| builder.constant(ty, 0), |other| other[k]));
            yields.0.push(other.map_or(value, |other| builder.op(Op::Select, &[cond, value, other[k]])));
        }
        let then = builder.close_arm(&yields.0);
        builder.open_arm();
        let otherwise = builder.close_arm(&yields.1);
        let mut merged = builder.push_if(any, then, otherwise).into_iter();
        let merge = |(k, value): (usize, Value)| {
            if inner[k] {
                return merged.next().expect("there is a result for each value of the arm");
            }
            other.map_or(value, |other| builder.op(Op::Select, &[cond, value, other[k]]))
        };
        values.into_iter().enumerate().map(merge).collect()
    }

    /// Which arms of an if may run where they are not wanted. That both may means that the if becomes selects.
    fn cheap_arms(&self, rewriter: &Rewriter<'_>, node: &If) -> [bool; 2] {
        let limit = if self.uniform[node.cond.index()] { CHEAP_IF_UNIFORM } else { CHEAP };
        [&node.then, &node.otherwise].map(|arm| self.cost(rewriter, arm).is_some_and(|cost| cost <= limit))
    }

    /// Cost of a block, if it has no control flow in the end.
    fn cost(&self, rewriter: &Rewriter<'_>, block: &Block) -> Option<u32> {
        block.stmts.iter().try_fold(0, |cost, stmt| match stmt {
            Stmt::Op(value) if !rewriter.is_live(*value) => Some(cost),
            Stmt::Op(value) => Some(cost + cost_of(rewriter.old.operation(*value)?.0)),
            Stmt::If(i) if self.cheap_arms(rewriter, i) == [true; 2] => {
                let arms = self.cost(rewriter, &i.then)? + self.cost(rewriter, &i.otherwise)?;
                Some(cost + arms + i.results.len() as u32)
            }
            Stmt::If(_) | Stmt::Loop(_) => None,
        })
    }
}

fn choose(builder: &mut Builder, cond: Value, then: &[Value], otherwise: &[Value]) -> Vec<Value> {
    std::iter::zip(then, otherwise).map(|(&t, &e)| builder.op(Op::Select, &[cond, t, e])).collect()
}

/// The parameters of a loop that lanes must keep when they leave it: those that its condition and its exits depend on. The head is
/// the innermost open block.
fn kept(builder: &Builder, params: &[Value], exits: &[Value], cond: Value) -> FxHashSet<Value> {
    let head = builder.depth() - 1;
    let mut work: Vec<_> = exits.iter().copied().chain([cond]).collect();
    let mut seen = FxHashSet::default();
    while let Some(value) = work.pop() {
        if builder.level(value) < head || !seen.insert(value) {
            continue;
        }
        match builder.function().def(value) {
            Def::Op { op, args } => work.extend(&args[..op.arity()]),
            // Of control flow in the head: that may depend on everything.
            Def::Result => return params.iter().copied().collect(),
            Def::Param | Def::Input(_) | Def::Const(_) => {}
        }
    }
    params.iter().copied().filter(|param| seen.contains(param)).collect()
}

/// Which values are the same in all lanes, idle ones among them, because no input goes into them.
fn uniform(function: &Function) -> Vec<bool> {
    let mut uniform: Vec<_> = function.values.iter().map(|data| matches!(data.def, Def::Const(_))).collect();
    uniform_block(function, &function.body, &mut uniform);
    uniform
}

fn uniform_block(function: &Function, block: &Block, uniform: &mut [bool]) {
    for stmt in &block.stmts {
        match stmt {
            Stmt::Op(value) => {
                let (_, args) = function.operation(*value).expect("statements define operations");
                uniform[value.index()] = args.iter().all(|arg| uniform[arg.index()]);
            }
            Stmt::If(i) => {
                uniform_block(function, &i.then, uniform);
                uniform_block(function, &i.otherwise, uniform);
                for (k, result) in i.results.iter().enumerate() {
                    uniform[result.index()] =
                        [i.cond, i.then.yields[k], i.otherwise.yields[k]].iter().all(|v| uniform[v.index()]);
                }
            }
            Stmt::Loop(l) => {
                for (param, init) in std::iter::zip(&l.params, &l.init) {
                    uniform[param.index()] = uniform[init.index()];
                }
                // Assume the best of parameters, until what comes of it says otherwise.
                loop {
                    uniform_block(function, &l.head, uniform);
                    uniform_block(function, &l.body, uniform);
                    let mut changed = false;
                    for (param, next) in std::iter::zip(&l.params, &l.body.yields) {
                        let holds = uniform[l.cond.index()] && uniform[next.index()];
                        changed |= uniform[param.index()] && !holds;
                        uniform[param.index()] &= holds;
                    }
                    if !changed {
                        break;
                    }
                }
                for (result, exit) in std::iter::zip(&l.results, &l.head.yields) {
                    uniform[result.index()] = uniform[l.cond.index()] && uniform[exit.index()];
                }
            }
        }
    }
}
