//! Loops: an undecided one, whose condition is an interval, runs while some member may go on.
//! Wherever some member may leave, what it would leave with is added to the results, which start
//! empty (Clarberg et al. 2010 §4.6). A loop that might not end for intervals, though it does for
//! all their members, is given up after so many rounds, those of loops around it and within it
//! included, and has for results all that they can be.

use super::{Ends, Lowering, told};
use crate::analysis::{Bounds, Floats};
use crate::interval::Nan;
use crate::ir::function::for_each_stmt;
use crate::ir::{Builder, Emit, Loop, Op, Stmt, Type, Value};

/// A nest of loops may take so many times as many rounds in all as a single one.
const NEST: u32 = 16;

impl Lowering<'_> {
    pub(super) fn loop_(&mut self, node: &Loop) {
        let undecided = self.is_interval(node.cond);
        let propagates = self.options.nan == Nan::Propagate;
        let params: Vec<_> =
            (0..node.params.len()).filter(|&k| self.is_live(node.params[k])).collect();
        let results: Vec<_> =
            (0..node.results.len()).filter(|&k| self.is_live(node.results[k])).collect();
        // Rounds count where intervals might keep a loop from ending, of all the loops around and
        // within together: each might run to its cap, and the products of caps have no end.
        let outer_rounds = self.rounds;
        let is_nest = self.rounds.is_some() || has_loop(node, |_| true);
        let counts = self.rounds.is_some()
            || has_loop(node, |inner| self.is_interval(inner.cond))
            || undecided && (is_nest || !self.ends_by_counting(node));

        // Parameters: those of the point shader, unions of results, whether a NaN was met, rounds.
        let mut init: Vec<_> =
            params.iter().flat_map(|&k| self.widened(node.params[k], node.init[k])).collect();
        let unions = init.len();
        if undecided {
            init.extend(
                results
                    .iter()
                    .flat_map(|&k| empty(&mut self.builder, self.point.ty(node.results[k]))),
            );
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
        let exit = |&k: &usize| {
            let ends = self.ends_for(node.results[k], node.head.yields[k]);
            if undecided { self.joinable(node.head.yields[k], ends) } else { ends }
        };
        let mut exits: Vec<_> = results.iter().flat_map(exit).collect();
        if undecided {
            self.join(node, &results, must, &union, &mut exits);
        }
        let joined = exits.clone();
        if let Some(rounds) = self.rounds.filter(|_| undecided) {
            let cap = if is_nest {
                self.options.loop_cap.saturating_mul(NEST)
            } else {
                self.options.loop_cap
            };
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
        let mut next: Vec<_> = params
            .iter()
            .flat_map(|&k| self.widened(node.params[k], node.body.yields[k]))
            .collect();
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

    /// Adds to the unions of results what members of the box may leave the loop with, in place of
    /// `exits`.
    fn join(
        &mut self,
        node: &Loop,
        results: &[usize],
        must: Value,
        union: &[Value],
        exits: &mut [Value],
    ) {
        for ((&k, union), exits) in results.iter().zip(union.chunks(2)).zip(exits.chunks_mut(2)) {
            let ty = self.point.ty(node.results[k]);
            let known = told(self.options.tracking, self.known.bounds[node.head.yields[k].index()]);
            if self.options.nan == Nan::Propagate
                && matches!(known, Bounds::Float(Floats { nan: true, .. }))
            {
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
            Bounds::Int(ints) => {
                ints.hull().unwrap_or([i32::MIN, i32::MAX]).map(|end| self.builder.i32(end))
            }
            Bounds::Bool(bools) => [!bools.no, bools.yes].map(|end| self.builder.bool(end)),
        }
    }

    /// Whether the loop ends, however wide the intervals are, because a counter that is no interval
    /// runs up to a constant.
    fn ends_by_counting(&self, node: &Loop) -> bool {
        let mut work = vec![node.cond];
        while let Some(cond) = work.pop() {
            match self.point.operation(cond) {
                Some((Op::BAnd, args)) => work.extend(args),
                Some((Op::SLt | Op::ULt, &[counter, end])) => {
                    let Some(k) = node.params.iter().position(|&param| param == counter) else {
                        continue;
                    };
                    let step = match self.point.operation(node.body.yields[k]) {
                        Some((Op::IAdd, &[a, b])) if a == counter => self.point.constant(b),
                        _ => None,
                    };
                    let end = self.point.constant(end);
                    // Small enough not to wrap past the end.
                    let ends = matches!((step, end), (Some(1..=0xffff), Some(0..=0x7fff_0000)));
                    if ends
                        && !self.is_interval(counter)
                        && self.point.constant(node.init[k]).is_some_and(|i| i as i32 >= 0)
                    {
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
        for_each_stmt(block, &mut |stmt| {
            found |= matches!(stmt, Stmt::Loop(inner) if is_one(inner))
        });
    }
    found
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
    use crate::analysis::{Bounds, Floats};
    use crate::interpreter;
    use crate::ir::text::parse;
    use crate::lift::{Input, Options};

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
        let function = crate::lift::run(&function, &inputs, &[0], &options).function;
        let words = [(-1.5f32).to_bits(), 0.5f32.to_bits(), 1000];
        let ends = interpreter::run(&function, &[], &words, 2000).expect("they end");
        assert!(f32::from_bits(ends[0]) < 1.0 && f32::from_bits(ends[1]) > 1.0, "{ends:x?}");
    }
}
