//! Residual code of loops: unrolled, as loops, and as loops over cycles.

use super::{Emission, Known};
use crate::ir::{Block, Def, Loop, Op, Stmt, Type, Value};
use crate::specialize::binding_times::CountedLoop;
use crate::specialize::cyclic::{Cyclic, UNLIMITED};

/// A loop over cycles of iterations.
struct Cycles<'a> {
    counted: &'a CountedLoop,
    /// What each iteration adds to parameters that are cyclic.
    steps: &'a [Option<i32>],
    /// Number of iterations of a cycle.
    length: u32,
    /// Greatest number of full cycles.
    most: u32,
}

impl<'a> Emission<'a> {
    /// Unrolls a loop; returns false if it must stay a loop. Without a static condition, it is
    /// unrolled if it is known to run at most once.
    pub(super) fn unroll(&mut self, node: &'a Loop) -> bool {
        let is_static = self.extension.values[node.cond.index()].is_static;
        let start = self.checkpoint();
        let mut params = self.get_all(&node.init);
        let mut iterations = 0;
        loop {
            self.set_all(&node.params, &params);
            self.block(&node.head);
            match self.get(node.cond) {
                Known::Bits(0) => break,
                // Static values are residual if an enclosing loop exceeded the budget.
                Known::Bits(_) if (is_static || iterations == 0) && !self.is_exhausted() => {}
                _ => {
                    self.reset(start);
                    return false;
                }
            }
            self.block(&node.body);
            params = self.get_all(&node.body.yields);
            iterations += 1;
        }
        let exits = self.get_all(&node.head.yields);
        self.set_all(&node.results, &exits);
        true
    }

    /// Emits a loop for initial values of its parameters.
    pub(super) fn residual_loop(&mut self, node: &'a Loop, init: &[Known]) {
        let start = self.checkpoint();
        let mut is_invariant = vec![!self.is_exhausted(); init.len()];
        loop {
            let new = self.try_loop(node, init, &is_invariant);
            let next = self.get_all(&node.body.yields);
            let changes = |k: &usize| is_invariant[*k] && next[*k] != init[*k];
            let changed: Vec<_> = (0..init.len()).filter(changes).collect();
            if changed.is_empty() {
                return self.finish_loop(node, new, start.values);
            }
            self.reset(start);
            changed.into_iter().for_each(|k| is_invariant[k] = false);
            if self.is_exhausted() {
                is_invariant.fill(false);
            }
        }
    }

    /// Emits the head and the body of a loop, given the parameters that keep their initial values.
    fn try_loop(&mut self, node: &'a Loop, init: &[Known], is_invariant: &[bool]) -> Loop {
        let outside = self.function.len();
        let mut new = Loop {
            init: vec![],
            params: vec![],
            head: Block::default(),
            cond: Value(0),
            body: Block::default(),
            results: vec![],
        };
        for (k, &param) in node.params.iter().enumerate() {
            let mut known = init[k];
            if !is_invariant[k] {
                let ty = self.old().ty(param);
                new.init.push(self.lift_known(ty, known));
                let value = self.function.add(ty, Def::Param);
                new.params.push(value);
                known = Known::Residual(value);
            }
            self.set(param, known);
        }
        let outer = std::mem::take(&mut self.stmts);
        self.block(&node.head);
        self.lift_local(&node.head.yields, outside);
        new.head.stmts = std::mem::take(&mut self.stmts);
        new.cond = self.lift(node.cond);
        self.assuming(&node.body, node.cond, true);
        for (k, &next) in node.body.yields.iter().enumerate() {
            if !is_invariant[k] {
                let next = self.lift(next);
                new.body.yields.push(next);
            }
        }
        new.body.stmts = std::mem::replace(&mut self.stmts, outer);
        new
    }

    /// Emits a counted loop as a loop over cycles and one for the rest. Returns false if no operation
    /// in its body is simpler for the counter's remainders.
    pub(super) fn loop_over_cycles(&mut self, node: &'a Loop) -> bool {
        let extension = self.extension;
        let Some(counted) = extension.loops.get(&node.cond) else { return false };
        if extension.budget.cycle == 1 {
            return false;
        }
        let init = self.get_all(&node.init);
        // What each iteration adds to parameters whose initial values are static.
        let step = |k: usize| match (init[k], counted.steps[k].map(|step| self.get(step))) {
            (Known::Bits(_), Some(Known::Bits(step))) if step != 0 => Some(step as i32),
            _ => None,
        };
        let steps: Vec<_> = (0..init.len()).map(step).collect();
        let (Known::Bits(first), Some(counter_step)) =
            (init[counted.counter], steps[counted.counter])
        else {
            return false;
        };
        let (first, is_signed) = (first as i32, counted.comparison == Op::SLt);
        if counter_step < 0 || first < 0 && !is_signed {
            return false;
        }
        // The greatest number of iterations, if the counter never wraps around: after the last one,
        // it is at most a step beyond the limit.
        let [least_limit, limit] = match self.get(counted.limit) {
            Known::Bits(bits) => [bits as i32; 2],
            Known::Residual(_) | Known::Cyclic(_) => counted.limits,
        };
        let step = i64::from(counter_step);
        let beyond = match is_signed || least_limit >= 0 {
            true => i64::from(limit) - 1 + step,
            false => i64::MAX,
        };
        let first = i64::from(first);
        let most = beyond.max(first).min(i64::from(counted.most));
        let iterations = (most + step <= i64::from(i32::MAX) || beyond <= i64::from(i32::MAX))
            .then(|| (most - first).max(0) / step);
        let start = self.checkpoint();
        let (mut cycle, mut is_invariant) = (1, vec![true; init.len()]);
        loop {
            if self.is_exhausted() {
                self.reset(start);
                return false;
            }
            let most = iterations.map_or(UNLIMITED, |count| (count / i64::from(cycle)) as u32);
            let cycles = Cycles { counted, steps: &steps, length: cycle, most };
            let (new, wanted) = self.try_cycles(node, &cycles, &init, &is_invariant);
            let next = self.get_all(&node.body.yields);
            let changes =
                |k: &usize| is_invariant[*k] && steps[*k].is_none() && next[*k] != init[*k];
            let changed: Vec<_> = (0..init.len()).filter(changes).collect();
            let longer = cycle * wanted;
            if changed.is_empty() && wanted == 1 {
                if cycle == 1 {
                    self.reset(start);
                    return false;
                }
                let rest = self.finish_cycles(new, &cycles, &init, &is_invariant);
                self.residual_loop(node, &rest);
                return true;
            }
            self.reset(start);
            changed.into_iter().for_each(|k| is_invariant[k] = false);
            // The distance to the last iteration of a cycle must fit into a word.
            if longer > extension.budget.cycle || i64::from(longer) * step > i64::from(u32::MAX) {
                return false;
            }
            cycle = longer;
        }
    }

    /// The parameters of a loop over cycles: what is known of them at the start of a cycle.
    fn cycle_params(
        &mut self,
        quotient: Value,
        cycles: &Cycles,
        init: &[Known],
        mut other: impl FnMut(&mut Emission<'a>, usize) -> Known,
    ) -> Vec<Known> {
        let param = |k: usize| match (init[k], cycles.steps[k]) {
            (Known::Bits(first), Some(step)) => {
                let base = step.wrapping_mul(cycles.length as i32);
                let remainder = first as i32;
                match base {
                    0 => Known::Bits(first),
                    _ => Known::Cyclic(Cyclic { quotient, base, remainder, most: cycles.most }),
                }
            }
            _ => other(self, k),
        };
        (0..init.len()).map(param).collect()
    }

    /// Emits a loop over cycles, given the parameters that keep their initial values. Also returns
    /// how many times as long cycles should be.
    fn try_cycles(
        &mut self,
        node: &'a Loop,
        cycles: &Cycles,
        init: &[Known],
        is_invariant: &[bool],
    ) -> (Loop, u32) {
        let zero = self.function.add(Type::I32, Def::Const(0));
        let quotient = self.function.add(Type::I32, Def::Param);
        let mut new = Loop {
            init: vec![zero],
            params: vec![quotient],
            head: Block::default(),
            cond: Value(0),
            body: Block::default(),
            results: vec![],
        };
        let mut params = self.cycle_params(quotient, cycles, init, |emission, k| {
            if is_invariant[k] {
                return init[k];
            }
            let ty = emission.old().ty(node.params[k]);
            new.init.push(emission.lift_known(ty, init[k]));
            let value = emission.function.add(ty, Def::Param);
            new.params.push(value);
            Known::Residual(value)
        });
        let outer = std::mem::take(&mut self.stmts);
        new.cond = self.has_full_cycle(cycles, params[cycles.counted.counter]);
        new.head.stmts = std::mem::take(&mut self.stmts);
        new.head.yields = new.params.clone();
        self.cycles.push((quotient, 1));
        for _ in 0..cycles.length {
            self.set_all(&node.params, &params);
            self.block(&node.head);
            self.assuming(&node.body, node.cond, true);
            params = self.get_all(&node.body.yields);
        }
        new.body.yields.push(self.plus(quotient, 1));
        for (k, &next) in node.body.yields.iter().enumerate() {
            if cycles.steps[k].is_none() && !is_invariant[k] {
                let next = self.lift(next);
                new.body.yields.push(next);
            }
        }
        new.body.stmts = std::mem::replace(&mut self.stmts, outer);
        let (_, wanted) = self.cycles.pop().expect("the loop was opened");
        (new, wanted)
    }

    /// Emits whether all iterations of a cycle take place, given the counter at its start: the first
    /// does, and the distance to the limit, which a word holds, exceeds that to the last one.
    fn has_full_cycle(&mut self, cycles: &Cycles, counter: Known) -> Value {
        let Cycles { counted, steps, length, .. } = cycles;
        let counter = self.lift_known(Type::I32, counter);
        let limit = self.lift(counted.limit);
        let goes_on = self.emit_value(Type::Bool, counted.comparison, &[counter, limit]);
        let step = steps[counted.counter].expect("the counter has a step");
        let last = (*length - 1).wrapping_mul(step as u32);
        let last = self.function.add(Type::I32, Def::Const(last));
        let distance = self.emit_value(Type::I32, Op::ISub, &[limit, counter]);
        let is_beyond = self.emit_value(Type::Bool, Op::ULt, &[last, distance]);
        self.emit_value(Type::Bool, Op::BAnd, &[goes_on, is_beyond])
    }

    /// Appends a loop over cycles. Returns what is known of the parameters after it.
    fn finish_cycles(
        &mut self,
        mut new: Loop,
        cycles: &Cycles,
        init: &[Known],
        is_invariant: &[bool],
    ) -> Vec<Known> {
        for k in 0..new.params.len() {
            let ty = self.function.ty(new.params[k]);
            new.results.push(self.function.add(ty, Def::Result));
        }
        let mut results = new.results.clone().into_iter();
        let quotient = results.next().expect("the quotient is the first parameter");
        self.stmts.push(Stmt::Loop(Box::new(new)));
        self.cycle_params(quotient, cycles, init, |_, k| match is_invariant[k] {
            true => init[k],
            false => Known::Residual(results.next().expect("each parameter has a result")),
        })
    }

    /// Appends a loop and sets its results. Values below `outside` are defined before it.
    fn finish_loop(&mut self, node: &Loop, mut new: Loop, outside: usize) {
        for (&result, &exit) in std::iter::zip(&node.results, &node.head.yields) {
            let known = match self.get(exit) {
                Known::Residual(exit) if exit.index() >= outside => {
                    let value = self.function.add(self.old().ty(result), Def::Result);
                    new.head.yields.push(exit);
                    new.results.push(value);
                    Known::Residual(value)
                }
                known => known,
            };
            self.set(result, known);
        }
        if !new.results.is_empty() {
            self.stmts.push(Stmt::Loop(Box::new(new)));
        }
    }
}
