//! Ifs: an undecided one, whose condition is an interval, runs each arm for the boxes of which some
//! member may take it, and merges the results as a `select` of an interval condition does (Clarberg
//! et al. 2010 §3.4).

use super::{Ends, Lowering};
use crate::analysis::Bounds;
use crate::interval::Nan;
use crate::ir::builder::cost_of;
use crate::ir::{Block, Emit, If, Op, Stmt, Value};
use crate::lift::Selected;
use crate::relations::{Relation, order};

/// Cost of both arms of an undecided if, in basic operations, up to which both run without asking.
const CHEAP: u32 = 24;

/// An end of a value that is cut by that of another one.
pub(super) struct Cut {
    value: Value,
    side: usize,
    by: Value,
    /// The ends before.
    outer: Ends,
}

impl Lowering<'_> {
    /// Does something in a block of its own, whose results are those of `work`, whether a NaN was
    /// met, and rounds, where they count.
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
        let live: Vec<_> =
            std::iter::zip(&node.results, &arm.yields).filter(|(r, _)| self.is_live(**r)).collect();
        let joined = |(&result, &value)| {
            let ends = self.ends_for(result, value);
            self.joinable(value, ends)
        };
        live.into_iter().flat_map(joined).collect()
    }

    /// The statements of an arm, for members of the box whose condition is known; the ends of its
    /// live yields.
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
    /// An arm runs where ends that are not cut allow that some member takes it. So what one
    /// comparison leaves is not empty then, and so it is where a value is cut from both sides, by
    /// what is in order. Where the arm does not run, or for nothing, it does not matter.
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
            for (value, other, by, side, op) in
                [(low, high, high_ends[1], 1, Op::Min), (high, low, low_ends[0], 0, Op::Max)]
            {
                let alone =
                    self.cuts.iter().filter(|cut| cut.value == value && cut.side != side).all(
                        |cut| {
                            let [below, above] =
                                if side == 1 { [cut.by, other] } else { [other, cut.by] };
                            self.is_below(below, above)
                        },
                    );
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

    /// Whether an interval can have an end of another value for its own: neither is NaN, and there
    /// is no −0 where there was none.
    fn can_cut(&self, value: Value, by: Value) -> bool {
        let (Bounds::Float(a), Bounds::Float(b)) =
            (&self.known.untested[value.index()], &self.known.untested[by.index()])
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

    pub(super) fn if_(&mut self, node: &If) {
        let [must, may] = self.ends(node.cond);
        let results: Vec<_> =
            node.results.iter().copied().filter(|&result| self.is_live(result)).collect();
        if !self.is_interval(node.cond) {
            let [then, otherwise] =
                [true, false].map(|truth| self.arm(|lowering| lowering.within(node, truth)));
            let values = self.push_if(may, then, otherwise);
            for (result, ends) in results.into_iter().zip(values.chunks(2)) {
                self.set(result, [ends[0], ends[1]]);
            }
            return;
        }
        let must_not = self.builder.op(Op::BNot, &[must]);
        let cheap = [&node.then, &node.otherwise]
            .map(|arm| self.cost(arm))
            .into_iter()
            .try_fold(0, |sum, cost| Some(sum + cost?));
        let asked = cheap.is_none_or(|cost| cost > CHEAP);
        let [then, otherwise] = [(true, may), (false, must_not)].map(|(truth, reached)| {
            if asked {
                let arm = self.arm(|lowering| lowering.within(node, truth));
                let none = self.arm(|lowering| {
                    let zero = |result: &Value| {
                        [lowering.builder.constant(lowering.point.ty(*result), 0); 2]
                    };
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
            let [mut t, mut e] = [node.then.yields[index], node.otherwise.yields[index]]
                .map(|value| self.interval(value));
            [t.lo, t.hi] = [then[2 * k], then[2 * k + 1]];
            [e.lo, e.hi] = [otherwise[2 * k], otherwise[2 * k + 1]];
            let before = self.builder.function().len();
            let outer = self.builder.set_origin(Some(result));
            let (ends, case) = self.apply(Op::Select, &[cond, t, e], false);
            self.builder.set_origin(outer);
            self.set(result, ends);
            self.cases[result.index()] =
                Some(Selected { case, operations: self.operations_since(before) });
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
}
