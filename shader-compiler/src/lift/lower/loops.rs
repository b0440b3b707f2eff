//! Lowering of loops. A loop is undecided if its condition is an interval. It runs while some
//! member may continue. Its results start empty; in each iteration in which some member may exit,
//! they are extended by the exit values (Clarberg et al. 2010 §4.6). A loop might not terminate for
//! an interval, although it terminates for all members. It is aborted after a maximum number of
//! iterations, counted together with enclosing and nested loops, and its results are set to their
//! static bounds.

use super::{Endpoints, Lowering, tracked};
use crate::builder::Builder;
use crate::interval::{Bounds, Floats, Nan};
use crate::ir::function::for_each_stmt;
use crate::ir::{Emit, Loop, Op, Stmt, Type, Value};

/// A loop nest may run this many times the maximum number of iterations of a single loop, in total.
const NEST_FACTOR: u32 = 16;

impl Lowering<'_> {
    pub(super) fn loop_(&mut self, node: &Loop) {
        let undecided = self.is_interval(node.cond);
        let propagates = self.options.nan == Nan::Propagate;
        let params: Vec<_> =
            (0..node.params.len()).filter(|&k| self.is_live(node.params[k])).collect();
        let results: Vec<_> =
            (0..node.results.len()).filter(|&k| self.is_live(node.results[k])).collect();
        // Count iterations if intervals might keep a loop from terminating. Enclosing and nested
        // loops share the count: if each ran to a cap of its own, the total would be the product of
        // the caps.
        let outer_rounds = self.iterations;
        let is_nest = self.iterations.is_some() || has_loop(node, |_| true);
        let counts = self.iterations.is_some()
            || has_loop(node, |inner| self.is_interval(inner.cond))
            || undecided && (is_nest || !self.terminates_by_counting(node));

        // Parameters: parameters of the point shader, unions of results, whether a NaN occurred,
        // the iteration count.
        let mut init: Vec<_> =
            params.iter().flat_map(|&k| self.assigned(node.params[k], node.init[k])).collect();
        let unions = init.len();
        if undecided {
            init.extend(
                results
                    .iter()
                    .flat_map(|&k| empty(&mut self.builder, self.point.ty(node.results[k]))),
            );
        }
        let outer = self.nan_seen.take();
        if propagates {
            init.push(self.builder.bool(false));
        }
        if counts {
            init.push(outer_rounds.unwrap_or_else(|| self.builder.i32(0)));
        }
        let mut new = self.builder.open_loop(&init);
        self.iterations = if counts { new.pop() } else { None };
        self.nan_seen = if propagates { new.pop() } else { None };
        let union = new.split_off(unions);
        let mut next = new.into_iter();
        for &k in &params {
            let endpoints = self.take(node.params[k], &mut next);
            self.set(node.params[k], endpoints);
        }

        self.block(&node.head);
        let [must, may] = self.endpoints(node.cond);
        let mut continues = may;
        let exit = |&k: &usize| {
            let endpoints = self.endpoints_for(node.results[k], node.head.yields[k]);
            if undecided {
                self.clamped_if_empty(node.head.yields[k], endpoints)
            } else {
                endpoints
            }
        };
        let mut exits: Vec<_> = results.iter().flat_map(exit).collect();
        if undecided {
            self.join(node, &results, must, &union, &mut exits);
        }
        let joined = exits.clone();
        if let Some(iterations) = self.iterations.filter(|_| undecided) {
            let cap = if is_nest {
                self.options.loop_cap.saturating_mul(NEST_FACTOR)
            } else {
                self.options.loop_cap
            };
            let cap = self.builder.i32(cap.min(i32::MAX as u32) as i32);
            let below = self.builder.op(Op::ULt, &[iterations, cap]);
            continues = self.builder.op(Op::BAnd, &[may, below]);
            let stays = self.builder.op(Op::BNot, &[may]);
            let ended = self.builder.op(Op::BOr, &[stays, below]);
            if propagates {
                // Iterations that did not run might have reported a NaN.
                let aborted = self.builder.op(Op::BNot, &[ended]);
                self.note_nan(Some(aborted));
            }
            for (&k, endpoints) in results.iter().zip(exits.chunks_mut(2)) {
                let static_hull = self.static_hull(node.results[k]);
                for (end, static_hull) in endpoints.iter_mut().zip(static_hull) {
                    *end = self.builder.op(Op::Select, &[ended, *end, static_hull]);
                }
            }
        }
        if propagates {
            exits.push(self.nan_seen.expect("NaN is tracked as a parameter"));
        }
        exits.extend(self.iterations.filter(|_| outer_rounds.is_some()));
        self.builder.open_body(continues, &exits);
        let cond = self.endpoints[node.cond.index()];
        let yes = self.builder.bool(true);
        self.set(node.cond, [yes; 2]);
        let clips = self.clip(&node.results, true);
        self.block(&node.body);
        let mut next: Vec<_> = params
            .iter()
            .flat_map(|&k| self.assigned(node.params[k], node.body.yields[k]))
            .collect();
        self.unclip(clips);
        self.endpoints[node.cond.index()] = cond;
        if undecided {
            next.extend(joined);
        }
        if propagates {
            next.push(self.nan_seen.expect("NaN is tracked as a parameter"));
        }
        if let Some(iterations) = self.iterations {
            let one = self.builder.i32(1);
            next.push(self.builder.op(Op::IAdd, &[iterations, one]));
        }
        let mut values = self.builder.close_loop(&next);
        self.nan_seen = outer;
        self.iterations = if outer_rounds.is_some() { values.pop() } else { None };
        if propagates {
            let nan = values.pop();
            self.note_nan(nan);
        }
        for (&k, endpoints) in results.iter().zip(values.chunks(2)) {
            self.set(node.results[k], [endpoints[0], endpoints[1]]);
        }
    }

    /// The endpoints of `value` when it is assigned to a parameter; a single value if the parameter
    /// is a scalar.
    fn assigned(&mut self, param: Value, value: Value) -> Vec<Value> {
        let endpoints = self.endpoints_for(param, value);
        if self.is_interval(param) { endpoints.to_vec() } else { vec![endpoints[0]] }
    }

    /// Takes the endpoints of a parameter from a list of new parameters.
    fn take(&self, param: Value, from: &mut impl Iterator<Item = Value>) -> Endpoints {
        let mut end = || from.next().expect("each endpoint has a new parameter");
        let lo = end();
        [lo, if self.is_interval(param) { end() } else { lo }]
    }

    /// Extends the results so far by the values `exits` that members of the box may exit with.
    /// Stores the results in `exits`.
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
            let known =
                tracked(self.options.tracking, self.known.bounds[node.head.yields[k].index()]);
            if self.options.nan == Nan::Propagate
                && matches!(known, Bounds::Float(Floats { nan: true, .. }))
            {
                // A union would ignore the NaN.
                let [lo, hi] = [exits[0], exits[1]].map(|end| {
                    let is_not_nan = self.builder.op(Op::Eq, &[end, end]);
                    self.builder.op(Op::BNot, &[is_not_nan])
                });
                let nan = self.builder.op(Op::BOr, &[lo, hi]);
                let leaves = self.builder.op(Op::BNot, &[must]);
                let nan = self.builder.op(Op::BAnd, &[leaves, nan]);
                self.note_nan(Some(nan));
            }
            let joined = hull(&mut self.builder, ty, [exits[0], exits[1]], [union[0], union[1]]);
            for (side, joined) in joined.into_iter().enumerate() {
                exits[side] = self.builder.op(Op::Select, &[must, union[side], joined]);
            }
        }
    }

    /// The static bounds of a value, as endpoints.
    fn static_hull(&mut self, value: Value) -> Endpoints {
        match &self.known.untested[value.index()] {
            Bounds::Float(floats) => [floats.low(), floats.high()].map(|end| self.builder.f32(end)),
            Bounds::Int(ints) => {
                ints.hull().unwrap_or([i32::MIN, i32::MAX]).map(|end| self.builder.i32(end))
            }
            Bounds::Bool(bools) => {
                [!bools.may_be_false, bools.may_be_true].map(|end| self.builder.bool(end))
            }
        }
    }

    /// Whether the loop terminates for all intervals, because a scalar counter runs up to a
    /// constant.
    fn terminates_by_counting(&self, node: &Loop) -> bool {
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
                    // Small enough not to wrap around.
                    let terminates =
                        matches!((step, end), (Some(1..=0xffff), Some(0..=0x7fff_0000)));
                    if terminates
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

/// Whether a loop contains a loop that satisfies `predicate`.
fn has_loop(node: &Loop, predicate: impl Fn(&Loop) -> bool) -> bool {
    let mut found = false;
    for block in [&node.head, &node.body] {
        for_each_stmt(block, &mut |stmt| {
            found |= matches!(stmt, Stmt::Loop(inner) if predicate(inner))
        });
    }
    found
}

/// Endpoints of the empty interval, the identity of unions.
fn empty(builder: &mut Builder, ty: Type) -> Endpoints {
    match ty {
        Type::F32 => [f32::INFINITY, f32::NEG_INFINITY].map(|end| builder.f32(end)),
        Type::I32 => [i32::MAX, i32::MIN].map(|end| builder.i32(end)),
        Type::Bool => [true, false].map(|end| builder.bool(end)),
    }
}

/// Endpoints of the hull of two intervals.
fn hull(builder: &mut Builder, ty: Type, a: Endpoints, b: Endpoints) -> Endpoints {
    let ops = match ty {
        Type::F32 => [Op::Min, Op::Max],
        Type::I32 => [Op::SMin, Op::SMax],
        Type::Bool => [Op::BAnd, Op::BOr],
    };
    [0, 1].map(|side| builder.op(ops[side], &[a[side], b[side]]))
}

#[cfg(test)]
mod tests {
    use crate::interpreter;
    use crate::interval::{Bounds, Floats};
    use crate::ir::text::parse;
    use crate::lift::{Input, Options};

    #[test]
    fn loop_nests_that_do_not_terminate_for_intervals_share_one_cap() {
        // For a singleton, a few iterations of each loop, about a hundred in total.
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
            Input { interval: true, bounds: float, axis: None, sorted: None },
            Input {
                interval: false,
                bounds: Bounds::all(super::Type::I32),
                axis: None,
                sorted: None,
            },
        ];
        let options = Options { loop_cap: 50, ..Options::default() };
        let function = crate::lift::run(&function, &inputs, &[0], &options).function;
        let words = [(-1.5f32).to_bits(), 0.5f32.to_bits(), 1000];
        let endpoints =
            interpreter::run(&function, &[], &words, 2000).expect("the loops terminate");
        assert!(
            f32::from_bits(endpoints[0]) < 1.0 && f32::from_bits(endpoints[1]) > 1.0,
            "{endpoints:x?}"
        );
    }
}
