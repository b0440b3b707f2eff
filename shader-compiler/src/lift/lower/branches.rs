//! Lowering of ifs. An if is undecided if its condition is an interval. It runs each arm that some
//! member of the box may take, and merges the results like a `select` with an interval condition
//! (Clarberg et al. 2010 §3.4).

use super::{Endpoints, Lowering};
use crate::builder::cost_of;
use crate::interval::{Bounds, Nan};
use crate::ir::{Block, Emit, If, Op, Stmt, Value};
use crate::lift::LoweredCase;
use crate::relations::{Relation, order};

/// Maximum total cost, in basic operations, at which both arms of an undecided if run
/// unconditionally.
const MAX_SPECULATION_COST: u32 = 24;

/// A clamp of one endpoint of a value by an endpoint of another value.
pub(super) struct Clamp {
    value: Value,
    side: usize,
    other: Value,
    /// The endpoints of `value` before clamping.
    outer: Endpoints,
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

    /// The endpoints of an arm's live yields, flattened.
    fn yields(&mut self, node: &If, arm: &Block) -> Vec<Value> {
        let live: Vec<_> =
            std::iter::zip(&node.results, &arm.yields).filter(|(r, _)| self.is_live(**r)).collect();
        let joined = |(&result, &value)| {
            let endpoints = self.endpoints_for(result, value);
            self.clamped_if_empty(value, endpoints)
        };
        live.into_iter().flat_map(joined).collect()
    }

    /// Lowers the statements of the arm for a condition that is `truth`. Returns the endpoints of
    /// its live yields.
    fn lower_arm(&mut self, node: &If, truth: bool) -> Vec<Value> {
        let arm = if truth { &node.then } else { &node.otherwise };
        let cond = self.endpoints[node.cond.index()];
        let known = self.builder.bool(truth);
        self.set(node.cond, [known; 2]);
        let clamps = self.clamps.len();
        self.clamp_to_condition(node.cond, truth);
        self.block(arm);
        let yields = self.yields(node, arm);
        for Clamp { value, outer, .. } in self.clamps.split_off(clamps).into_iter().rev() {
            self.set(value, outer);
        }
        self.endpoints[node.cond.index()] = cond;
        yields
    }

    /// Clamps the endpoints of compared values to the range in which a condition may be `truth`.
    ///
    /// An arm runs if the unclamped endpoints allow some member to take it. So an interval clamped
    /// by one comparison is not empty. The same holds for a value that is clamped on both sides, if
    /// the two values that clamp it are in order. If the arm does not run, or runs speculatively
    /// without being taken, its results are ignored.
    fn clamp_to_condition(&mut self, cond: Value, truth: bool) {
        if !self.options.relations.has(Relation::Order) || !self.is_interval(cond) {
            return;
        }
        let mut orders = order::implied_orders(self.point, cond, truth);
        // Constants come first: more values are known to be in order with them.
        orders.sort_by_key(|pair| !pair.iter().any(|&value| self.point.constant(value).is_some()));
        for [low, high] in orders {
            let [low_endpoints, high_endpoints] = [low, high].map(|value| {
                let first =
                    self.clamps.iter().find(|clamp| clamp.value == value).map(|clamp| clamp.outer);
                first.unwrap_or_else(|| self.endpoints(value))
            });
            for (value, other, end, side, op) in [
                (low, high, high_endpoints[1], 1, Op::Min),
                (high, low, low_endpoints[0], 0, Op::Max),
            ] {
                let keeps_order = self
                    .clamps
                    .iter()
                    .filter(|clamp| clamp.value == value && clamp.side != side)
                    .all(|clamp| {
                        let [below, above] =
                            if side == 1 { [clamp.other, other] } else { [other, clamp.other] };
                        self.is_below(below, above)
                    });
                if keeps_order && self.can_clamp(value, other) {
                    let outer = self.endpoints(value);
                    let mut endpoints = outer;
                    endpoints[side] = self.builder.op(op, &[endpoints[side], end]);
                    self.clamps.push(Clamp { value, side, other, outer });
                    self.set(value, endpoints);
                }
            }
        }
    }

    /// Whether an endpoint of `other` may clamp `value`: neither can be NaN, and no −0 is
    /// introduced.
    fn can_clamp(&self, value: Value, other: Value) -> bool {
        let (Bounds::Float(a), Bounds::Float(b)) =
            (&self.known.untested[value.index()], &self.known.untested[other.index()])
        else {
            return false;
        };
        self.is_interval(value) && !a.nan && !b.nan && (a.negative_zero || !b.negative_zero)
    }

    /// Whether static bounds imply a ≤ b.
    fn is_below(&self, a: Value, b: Value) -> bool {
        match (&self.known.untested[a.index()], &self.known.untested[b.index()]) {
            (Bounds::Float(a), Bounds::Float(b)) => a.high() <= b.low(),
            _ => false,
        }
    }

    pub(super) fn if_(&mut self, node: &If) {
        let [must, may] = self.endpoints(node.cond);
        let results: Vec<_> =
            node.results.iter().copied().filter(|&result| self.is_live(result)).collect();
        if !self.is_interval(node.cond) {
            let [then, otherwise] =
                [true, false].map(|truth| self.arm(|lowering| lowering.lower_arm(node, truth)));
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
                let arm = self.arm(|lowering| lowering.lower_arm(node, truth));
                let none = self.arm(|lowering| {
                    let zero = |result: &Value| {
                        [lowering.builder.constant(lowering.point.ty(*result), 0); 2]
                    };
                    results.iter().flat_map(zero).collect()
                });
                return self.push_if(reached, arm, none);
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
        for (k, &result) in results.iter().enumerate() {
            let index =
                node.results.iter().position(|&r| r == result).expect("it is a result of the if");
            let [mut t, mut e] = [node.then.yields[index], node.otherwise.yields[index]]
                .map(|value| self.interval(value));
            [t.lo, t.hi] = [then[2 * k], then[2 * k + 1]];
            [e.lo, e.hi] = [otherwise[2 * k], otherwise[2 * k + 1]];
            let before = self.builder.function().len();
            let outer = self.builder.set_origin(Some(result));
            let (endpoints, case) = self.apply(Op::Select, &[cond, t, e], false);
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
