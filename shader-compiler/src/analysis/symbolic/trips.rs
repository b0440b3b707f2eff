//! Trip counts: how many iterations a loop can run.
//!
//! If a loop's condition implies p < n, and p grows by at least one in each iteration, the number
//! of iterations is bounded by n − p before the loop. The same holds for counting down, or up to
//! p = n. With N iterations, every parameter that changes by a constant in each iteration is at most
//! N such steps away from its initial value.
//!
//! The front end translates `break` such that the loop leaves p unchanged and clears a bool
//! parameter that the condition requires. So the bound on iterations only requires that p grows if
//! the parameters permit another iteration.

use super::control::KnownBool;
use super::{Ranges, Region};
use crate::builder::value_tracking::{SIGNED, UNSIGNED, as_unsigned};
use crate::ir::{Loop, Op, Type, Value};
use crate::range::Range;

/// The trip count of a loop, as far as it is known.
#[derive(Clone, Copy)]
pub(super) enum TripCount {
    Unknown,
    /// It is being computed, and asks for a range that depends on it.
    Pending,
    /// An upper bound, if there is one.
    Known(Option<i64>),
}

impl<'f> Ranges<'f> {
    /// Upper bound on the number of iterations of a loop.
    fn trip_count(&mut self, in_loop: u32) -> Option<i64> {
        match self.trips[in_loop as usize] {
            TripCount::Known(known) => return known,
            TripCount::Pending => {
                self.state.is_poisoned = true;
                return None;
            }
            TripCount::Unknown => {}
        }
        let before = self.begin();
        self.trips[in_loop as usize] = TripCount::Pending;
        let node = self.regions.loops[in_loop as usize].node;
        let in_body = self.known_in_body(node);
        // What holds at the end of the body if there is another iteration.
        let mut continuing = in_body.clone();
        for &(value, truth) in &in_body {
            if let Some(k) = node.params.iter().position(|&param| param == value) {
                self.derive((node.body.yields[k], truth), &mut continuing);
            }
        }
        let mut least = None;
        for fact in in_body {
            for iterations in self.iterations(in_loop, fact, &continuing).into_iter().flatten() {
                least = Some(least.map_or(iterations, |least: i64| least.min(iterations)));
            }
        }
        let is_final = self.end(before);
        self.trips[in_loop as usize] =
            if is_final { TripCount::Known(least) } else { TripCount::Unknown };
        least
    }

    fn known_in_body(&self, node: &Loop) -> Vec<KnownBool> {
        let mut known = vec![];
        self.derive((node.cond, true), &mut known);
        known
    }

    /// The range of a parameter that changes by a constant in each iteration.
    pub(super) fn counter_range(&mut self, param: Value, in_loop: u32) -> Option<Range<i64>> {
        if self.function.ty(param) != Type::I32 {
            return None;
        }
        let (node, outer) = self.loop_of(in_loop);
        let k = node.params.iter().position(|&other| other == param)?;
        let steps = self.steps(node.body.yields[k], param, &self.known_in_body(node))?;
        let iterations = self.trip_count(in_loop)?;
        let [lo, hi] = [steps.lo, steps.hi].map(|step| step.saturating_mul(iterations));
        let range = self.number(node.init[k], outer).add(Range::new(lo, hi).hull(Range::ZERO));
        Some(range).filter(|&range| SIGNED.includes(range))
    }

    fn loop_of(&self, in_loop: u32) -> (&'f Loop, Region) {
        let in_loop = &self.regions.loops[in_loop as usize];
        (in_loop.node, in_loop.outer)
    }

    /// Range of the difference between `next` and `param`, given some facts.
    fn steps(&self, next: Value, param: Value, facts: &[KnownBool]) -> Option<Range<i64>> {
        if next == param {
            return Some(Range::ZERO);
        }
        if let Some((Op::IAdd, &[base, step])) = self.function.operation(next) {
            let step = i64::from(self.function.constant(step)? as i32);
            return Some(self.steps(base, param, facts)?.add(Range::singleton(step)));
        }
        let (cond, t, e) = self.select_operands(next)?;
        match facts.iter().find(|fact| fact.0 == cond) {
            Some(&(_, true)) => self.steps(t, param, facts),
            Some(_) => self.steps(e, param, facts),
            None => Some(self.steps(t, param, facts)?.hull(self.steps(e, param, facts)?)),
        }
    }

    /// Upper bounds on the number of iterations of a loop, from a fact that holds in its body.
    fn iterations(
        &mut self,
        in_loop: u32,
        (value, truth): KnownBool,
        continuing: &[KnownBool],
    ) -> [Option<i64>; 2] {
        let Some((op @ (Op::SLt | Op::ULt | Op::IEq), &[a, b])) = self.function.operation(value)
        else {
            return [None; 2];
        };
        [(a, b, true), (b, a, false)].map(|(counter, limit, is_left)| {
            // A parameter plus a constant is a counter with another initial value.
            let (param, offset) = match self.function.operation(counter) {
                Some((Op::IAdd, &[base, offset])) => {
                    (base, i64::from(self.function.constant(offset)? as i32))
                }
                _ => (counter, 0),
            };
            let (node, outer) = self.loop_of(in_loop);
            let k = node.params.iter().position(|&p| p == param)?;
            let (first, next) = (node.init[k], node.body.yields[k]);
            let steps = self.steps(next, param, continuing)?;
            let init = self.number(first, outer).add(Range::singleton(offset));
            if !SIGNED.includes(init) {
                return None;
            }
            let limits = self.number(limit, outer);
            if op == Op::IEq {
                return if truth { None } else { iterations_until(init, steps, limits) };
            }
            let [init_range, limit_range, all] = match op {
                Op::SLt => [init, limits, SIGNED],
                _ => [as_unsigned(init), as_unsigned(limits), UNSIGNED],
            };
            // The distance from the first to the limit, if neither is taken to be negative.
            let is_signed = op == Op::SLt || init.is_nonnegative() && limits.is_nonnegative();
            let distance = self
                .distance(first, limit, outer)
                .filter(|_| is_signed)
                .map(|distance| distance.sub(Range::singleton(offset)));
            // param < limit or limit < param; ≤ if the fact is a negated comparison.
            let slack = i64::from(!truth);
            if is_left == truth {
                let farthest = distance.map(|distance| distance.hi + slack);
                iterations_below(init_range, steps, limit_range.hi + slack, all, farthest)
            } else {
                let farthest = distance.map(|distance| slack - distance.lo);
                let (init, steps) = (init_range.neg(), steps.neg());
                iterations_below(init, steps, slack - limit_range.lo, all.neg(), farthest)
            }
        })
    }

    /// The range of limit − first, if `limit` is in scope outside the loop.
    fn distance(&mut self, first: Value, limit: Value, outer: Region) -> Option<Range<i64>> {
        let (first, limit) = (self.form(first), self.form(limit));
        let is_outside = |value| self.regions.is_in_scope(self.regions.of(value), outer);
        if !limit.values().all(is_outside) {
            return None;
        }
        Some(limit.minus(&first)?.range(|value| self.number(value, outer)))
    }
}

/// Maximum number of iterations of a loop that exits when a counter equals `limit`.
fn iterations_until(init: Range<i64>, step: Range<i64>, limit: Range<i64>) -> Option<i64> {
    if step.lo != step.hi || limit.lo != limit.hi || step.is_zero() {
        return None;
    }
    // Mirror counters that count down.
    let (init, limit) = if step.lo > 0 { (init, limit.lo) } else { (init.neg(), limit.neg().lo) };
    let step = step.mag();
    if init.lo == init.hi {
        let distance = (limit - init.lo).rem_euclid(1 << 32);
        return (distance % step == 0).then_some(distance / step);
    }
    (step == 1 && init.hi <= limit).then_some(limit - init.lo)
}

/// Maximum number of iterations of a loop that runs while an increasing counter is below `limit`;
/// `None` if the counter may wrap around `all` values. `farthest` is the greatest distance
/// from the initial value to the limit, if it is known.
fn iterations_below(
    init: Range<i64>,
    steps: Range<i64>,
    limit: i64,
    all: Range<i64>,
    farthest: Option<i64>,
) -> Option<i64> {
    let wraps = limit - 1 + steps.hi > all.hi;
    let farthest = farthest.unwrap_or(i64::MAX).min(limit - init.lo);
    (steps.lo > 0 && !wraps).then(|| ((farthest - 1).div_euclid(steps.lo) + 1).max(0))
}
