//! Lowering of ifs. An if is undecided if its condition is an interval. It runs each arm that some
//! member of the box may take, and merges the results like a `select` with an interval condition
//! (Clarberg et al. 2010 §3.4).

use super::{Endpoints, Lowering};
use crate::analysis::conditions::{Clip, Limit};
use crate::builder::cost_of;
use crate::interval::{Bounds, Interval, Nan};
use crate::ir::{Block, Emit, If, Op, Stmt, Value};
use crate::lift::LoweredCase;

/// Maximum total cost, in basic operations, at which both arms of an undecided if run
/// unconditionally.
const MAX_SPECULATION_COST: u32 = 24;

/// What a clip replaced.
pub(super) struct Clipped {
    value: Value,
    endpoints: Endpoints,
    untested: Bounds,
    bounds: Bounds,
}

impl Lowering<'_> {
    /// Runs `work` in a new block, which yields the results of `work`, whether a NaN occurred, and
    /// the iteration count if there is one.
    fn arm(&mut self, work: impl FnOnce(&mut Self) -> Vec<Value>) -> Block {
        self.builder.open_arm();
        let outer = self.nan_seen.take();
        let iterations = self.iterations;
        let mut yields = work(self);
        if self.options.nan == Nan::Propagate {
            let nan = self.nan_seen.unwrap_or_else(|| self.builder.bool(false));
            yields.push(nan);
        }
        yields.extend(self.iterations);
        (self.nan_seen, self.iterations) = (outer, iterations);
        self.builder.close_arm(&yields)
    }

    /// Appends an if with arms built by [`arm`](Self::arm).
    fn push_if(&mut self, cond: Value, then: Block, otherwise: Block) -> Vec<Value> {
        let mut results = self.builder.push_if(cond, then, otherwise);
        if self.iterations.is_some() {
            self.iterations = results.pop();
        }
        if self.options.nan == Nan::Propagate {
            let nan = results.pop();
            self.note_nan(nan);
        }
        results
    }

    /// Lowers the statements of the arm for a condition that is `truth`. Returns its live yields.
    fn lower_arm(&mut self, node: &If, truth: bool) -> Vec<Interval<Value>> {
        let arm = if truth { &node.then } else { &node.otherwise };
        let cond = self.endpoints[node.cond.index()];
        let known = self.builder.bool(truth);
        self.set(node.cond, [known; 2]);
        let outer = self.clip(&node.results, truth);
        self.block(arm);
        let live: Vec<_> =
            std::iter::zip(&node.results, &arm.yields).filter(|(r, _)| self.is_live(**r)).collect();
        let joined = |(&result, &value)| {
            let interval = self.interval(value);
            let endpoints = self.endpoints_for(result, value);
            let [lo, hi] = self.clamped_if_empty(value, endpoints);
            Interval { lo, hi, ..interval }
        };
        let yields = live.into_iter().map(joined).collect();
        self.unclip(outer);
        self.endpoints[node.cond.index()] = cond;
        yields
    }

    /// Clips the values that the condition of a block compares. Returns the number of clips in
    /// effect before.
    pub(super) fn clip(&mut self, results: &[Value], truth: bool) -> usize {
        let outer = self.clipped.len();
        let clips = self.known.clips;
        for clip in clips.of(results, truth) {
            let Clip { value, limit, other, is_interval, .. } = *clip;
            // The other value is that outside of all clips, as in the analysis: if the condition was
            // computed there, a clipped one might make the interval empty.
            let outside = self.clipped.iter().find(|clipped| clipped.value == other);
            let [untested, bounds] = match outside {
                Some(clipped) => [clipped.untested, clipped.bounds],
                None => [self.untested[other.index()], self.bounds[other.index()]],
            };
            let outside = outside.map(|clipped| clipped.endpoints);
            let endpoints = self.endpoints(value);
            let replaced = Clipped {
                value,
                endpoints,
                untested: self.untested[value.index()],
                bounds: self.bounds[value.index()],
            };
            self.untested[value.index()] = clip.refined(&replaced.untested, &untested);
            self.bounds[value.index()] = clip.refined(&replaced.bounds, &bounds);
            self.clipped.push(replaced);
            if let Limit::OneSided { side, is_strict, .. } = limit
                && is_interval
            {
                let limit = match self.point.constant(other).map(f32::from_bits) {
                    Some(limit) if is_strict => {
                        let next = [limit.next_up(), limit.next_down()];
                        self.builder.f32(next[side as usize])
                    }
                    _ => outside.unwrap_or_else(|| self.endpoints(other))[side as usize],
                };
                let op = [Op::Max, Op::Min][side as usize];
                let mut clipped = endpoints;
                clipped[side as usize] = self.builder.op(op, &[endpoints[side as usize], limit]);
                self.endpoints[value.index()] = Some(clipped);
            }
        }
        outer
    }

    /// Ends the clips beyond the first `outer` ones.
    pub(super) fn unclip(&mut self, outer: usize) {
        for Clipped { value, endpoints, untested, bounds } in
            self.clipped.split_off(outer).into_iter().rev()
        {
            self.endpoints[value.index()] = Some(endpoints);
            self.untested[value.index()] = untested;
            self.bounds[value.index()] = bounds;
        }
    }

    pub(super) fn if_(&mut self, node: &If) {
        let [must, may] = self.endpoints(node.cond);
        let results: Vec<_> =
            node.results.iter().copied().filter(|&result| self.is_live(result)).collect();
        if !self.is_interval(node.cond) {
            let [then, otherwise] = [true, false]
                .map(|truth| self.arm(|lowering| flat(&lowering.lower_arm(node, truth))));
            let values = self.push_if(may, then, otherwise);
            for (result, endpoints) in results.into_iter().zip(values.chunks(2)) {
                self.set(result, [endpoints[0], endpoints[1]]);
            }
            return;
        }
        let must_not = self.builder.op(Op::BNot, &[must]);
        let cheap = [&node.then, &node.otherwise]
            .map(|arm| self.cost(arm))
            .into_iter()
            .try_fold(0, |sum, cost| Some(sum + cost?));
        let is_conditional = cheap.is_none_or(|cost| cost > MAX_SPECULATION_COST);
        let [then, otherwise] = [(true, may), (false, must_not)].map(|(truth, reached)| {
            if is_conditional {
                let mut yields = vec![];
                let arm = self.arm(|lowering| {
                    yields = lowering.lower_arm(node, truth);
                    flat(&yields)
                });
                let none = self.arm(|lowering| {
                    let zero = |result: &Value| {
                        [lowering.builder.constant(lowering.point.ty(*result), 0); 2]
                    };
                    results.iter().flat_map(zero).collect()
                });
                let values = self.push_if(reached, arm, none);
                for (interval, endpoints) in yields.iter_mut().zip(values.chunks(2)) {
                    [interval.lo, interval.hi] = [endpoints[0], endpoints[1]];
                }
                return yields;
            }
            let outer = self.nan_seen.take();
            let yields = self.lower_arm(node, truth);
            let inner = std::mem::replace(&mut self.nan_seen, outer);
            if let Some(inner) = inner {
                let nan = self.builder.op(Op::BAnd, &[reached, inner]);
                self.note_nan(Some(nan));
            }
            yields
        });
        let cond = self.interval(node.cond);
        for ((result, then), otherwise) in results.into_iter().zip(then).zip(otherwise) {
            let before = self.builder.function().len();
            let outer = self.builder.set_origin(Some(result));
            let (endpoints, case) = self.apply(Op::Select, &[cond, then, otherwise], false);
            self.builder.set_origin(outer);
            self.set(result, endpoints);
            self.cases[result.index()] =
                Some(LoweredCase { case, operations: self.operations_since(before) });
        }
    }

    /// Cost of a block in basic operations; `None` if it contains control flow.
    fn cost(&self, block: &Block) -> Option<u32> {
        block.stmts.iter().try_fold(0, |cost, stmt| match stmt {
            Stmt::Op(value) if !self.is_live(*value) => Some(cost),
            Stmt::Op(value) => Some(cost + cost_of(self.point.operation(*value)?.0)),
            Stmt::If(_) | Stmt::Loop(_) => None,
        })
    }
}

/// The endpoints of intervals.
fn flat(intervals: &[Interval<Value>]) -> Vec<Value> {
    intervals.iter().flat_map(|interval| [interval.lo, interval.hi]).collect()
}
