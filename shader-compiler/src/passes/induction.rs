//! Proves by induction that counters stay in range, so that tests whose outcome is certain go: above all those for the cap on a
//! loop's rounds, which every loop has and hardly one needs.
//!
//! A loop whose condition holds only while p < n, where p grows by at least one each round, has a bound on its rounds; so has one
//! that counts down, or up to p = n. With N the bound, every parameter that changes by a constant each round is at most N such
//! steps away from where it starts, and comparisons of it come out one way.
//!
//! After a `break`, a translated loop leaves p as it is, and clears a bool parameter that its condition wants. So for the bound on
//! rounds it is enough that p grows whenever the parameters that the condition wants are such that there can be a next round.

use super::range;
use crate::ir::function::for_each_stmt;
use crate::ir::rewrite::{Pass, Rewriter, rewrite};
use crate::ir::{Builder, Emit, Function, If, Loop, Op, Rules, Stmt, Type, Value};
use rustc_hash::FxHashMap;

/// Decides comparisons of counters that are certain.
pub fn run(function: &Function, rules: Rules) -> Function {
    let mut arms = FxHashMap::default();
    for_each_stmt(&function.body, &mut |stmt| {
        if let Stmt::If(i) = stmt {
            arms.extend(i.results.iter().enumerate().map(|(k, &result)| (result, (&**i, k))));
        }
    });
    let pass = Induction { function, arms, ranges: FxHashMap::default() };
    rewrite(function, Builder::new(&function.name, rules), pass)
}

struct Induction<'a> {
    function: &'a Function,
    /// The if that a result is of, and its number there.
    arms: FxHashMap<Value, (&'a If, usize)>,
    /// Ranges of counters, as signed integers.
    ranges: FxHashMap<Value, [i64; 2]>,
}

/// A bool that is known.
type Fact = (Value, bool);

impl Pass for Induction<'_> {
    fn op(&mut self, builder: &mut Builder, old: Value, op: Op, args: &[Value]) -> Value {
        if matches!(op, Op::SLt | Op::ULt | Op::IEq) && !self.ranges.is_empty() {
            let (_, old_args) = self.function.operation(old).expect("it was made by an operation");
            if let Some(known) = range::compare(self.function, op, old_args, &|value| self.ranges.get(&value).copied()) {
                return builder.bool(known);
            }
        }
        builder.op(op, args)
    }

    fn loop_(&mut self, rewriter: &mut Rewriter<'_>, node: &Loop) {
        self.learn(node);
        rewriter.loop_(self, node);
    }
}

impl Induction<'_> {
    /// Finds ranges of a loop's counters.
    fn learn(&mut self, node: &Loop) {
        // What holds in the body, and what holds after it if there is to be another round.
        let mut within = vec![];
        self.conclude((node.cond, true), &mut within);
        let mut onward = within.clone();
        for &(value, truth) in &within {
            if let Some(k) = node.params.iter().position(|&param| param == value) {
                self.conclude((node.body.yields[k], truth), &mut onward);
            }
        }
        let bounds = within.iter().flat_map(|&fact| self.rounds(node, fact, &onward));
        let Some(rounds) = bounds.min() else { return };
        for (k, &param) in node.params.iter().enumerate() {
            if self.function.ty(param) == Type::I32
                && let Some(steps) = self.steps(node.body.yields[k], param, &within)
            {
                let [low, high] = self.signed(node.init[k]);
                let [least, most] = steps.map(|step| step.saturating_mul(rounds));
                let (low, high) = (low.saturating_add(least.min(0)), high.saturating_add(most.max(0)));
                if i64::from(i32::MIN) <= low && high <= i64::from(i32::MAX) {
                    self.ranges.insert(param, [low, high]);
                }
            }
        }
    }

    fn signed(&self, value: Value) -> [i64; 2] {
        range::signed(self.function, value, &|value| self.ranges.get(&value).copied())
    }

    fn unsigned(&self, value: Value) -> [i64; 2] {
        range::unsigned(self.function, value, &|value| self.ranges.get(&value).copied())
    }

    /// Everything that follows from a fact.
    fn conclude(&self, fact: Fact, known: &mut Vec<Fact>) {
        if known.contains(&fact) {
            return;
        }
        known.push(fact);
        let (value, truth) = fact;
        match self.function.operation(value) {
            Some((Op::BNot, args)) => self.conclude((args[0], !truth), known),
            Some((Op::BAnd, args)) if truth => args.iter().for_each(|&arg| self.conclude((arg, true), known)),
            Some((Op::BOr, args)) if !truth => args.iter().for_each(|&arg| self.conclude((arg, false), known)),
            _ => {}
        }
        // A choice of which one side is constant, and not what was found, took the other.
        if let Some((cond, t, e)) = self.choice(value) {
            for (way, side, other) in [(true, t, e), (false, e, t)] {
                if self.function.constant(other).is_some_and(|bits| (bits != 0) != truth) {
                    self.conclude((cond, way), known);
                    self.conclude((side, truth), known);
                }
            }
        }
    }

    /// Condition and alternatives of a select, or of a result of an if.
    fn choice(&self, value: Value) -> Option<(Value, Value, Value)> {
        match self.function.operation(value) {
            Some((Op::Select, &[cond, t, e])) => Some((cond, t, e)),
            Some(_) => None,
            None => self.arms.get(&value).map(|&(node, k)| (node.cond, node.then.yields[k], node.otherwise.yields[k])),
        }
    }

    /// Least and greatest amount that `next` differs from `param` by, if facts hold.
    fn steps(&self, next: Value, param: Value, facts: &[Fact]) -> Option<[i64; 2]> {
        if next == param {
            return Some([0, 0]);
        }
        if let Some((Op::IAdd, &[of, step])) = self.function.operation(next) {
            let step = i64::from(self.function.constant(step)? as i32);
            return self.steps(of, param, facts).map(|steps| steps.map(|s| s + step));
        }
        let (cond, t, e) = self.choice(next)?;
        match facts.iter().find(|fact| fact.0 == cond) {
            Some(&(_, true)) => self.steps(t, param, facts),
            Some(_) => self.steps(e, param, facts),
            None => {
                let ([a, b], [c, d]) = (self.steps(t, param, facts)?, self.steps(e, param, facts)?);
                Some([a.min(c), b.max(d)])
            }
        }
    }

    /// Bounds on the number of rounds of a loop in which a fact holds.
    fn rounds(&self, node: &Loop, (value, truth): Fact, onward: &[Fact]) -> Vec<i64> {
        let Some((op @ (Op::SLt | Op::ULt | Op::IEq), &[a, b])) = self.function.operation(value) else { return vec![] };
        let side = |param: Value, limit: Value, is_left: bool| {
            let k = node.params.iter().position(|&p| p == param)?;
            let steps = self.steps(node.body.yields[k], param, onward)?;
            if op == Op::IEq {
                return (!truth).then(|| self.rounds_until(node.init[k], steps, limit))?;
            }
            let (init, limit, ends) = match op {
                Op::SLt => (self.signed(node.init[k]), self.signed(limit), [i64::from(i32::MIN), i64::from(i32::MAX)]),
                _ => (self.unsigned(node.init[k]), self.unsigned(limit), [0, i64::from(u32::MAX)]),
            };
            // param < limit, limit < param, or with ≤ where the fact is that a comparison is false.
            let slack = i64::from(!truth);
            if is_left == truth {
                rounds_below(init, steps, limit[1] + slack, ends)
            } else {
                let mirror = |[low, high]: [i64; 2]| [-high, -low];
                rounds_below(mirror(init), mirror(steps), slack - limit[0], mirror(ends))
            }
        };
        [side(a, b, true), side(b, a, false)].into_iter().flatten().collect()
    }

    /// Rounds of a loop that is left where a counter equals `limit`.
    fn rounds_until(&self, init: Value, [step, most]: [i64; 2], limit: Value) -> Option<i64> {
        let ([low, high], [limit, end]) = (self.signed(init), self.signed(limit));
        if step != most || limit != end || step == 0 {
            return None;
        }
        // As if counting up.
        let (low, high, limit) = if step > 0 { (low, high, limit) } else { (-high, -low, -limit) };
        let step = step.abs();
        if low == high {
            let distance = (limit - low).rem_euclid(1 << 32);
            return (distance % step == 0).then_some(distance / step);
        }
        (step == 1 && high <= limit).then_some(limit - low)
    }
}

/// Rounds of a loop in which a counter is below `limit`, if it grows and does not wrap.
fn rounds_below(init: [i64; 2], steps: [i64; 2], limit: i64, ends: [i64; 2]) -> Option<i64> {
    let wraps = limit - 1 + steps[1] > ends[1];
    (steps[0] > 0 && !wraps).then(|| ((limit - 1 - init[0]).div_euclid(steps[0]) + 1).max(0))
}
