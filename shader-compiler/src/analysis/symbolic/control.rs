//! Control ranges: what the conditions that control a region imply about a value.
//!
//! The order of two integers is an expression that is not positive, so that it bounds each value
//! that it mentions: from i + 1 < n follow i ≤ n − 2 and n ≥ i + 2. Regions whose conditions
//! imply nothing are skipped, so the control range of a value follows a chain of few regions.

use super::{Linear, Ranges, Region};
use crate::analysis::conditions::{Inequality, implied_orders};
use crate::interval::Bounds;
use crate::ir::{Op, Type, Value};
use crate::range::Range;
use std::rc::Rc;

/// What the condition of a region implies.
#[derive(Default)]
pub(super) struct Facts {
    comparisons: Vec<Comparison>,
    /// Orders of floats.
    pub orders: Vec<Inequality>,
    /// The innermost region around this one with facts.
    pub outer: Option<Region>,
}

/// A comparison of integers with a known result.
#[derive(Clone, Copy)]
struct Comparison {
    op: Op,
    args: [Value; 2],
    truth: bool,
}

/// What all conditions that control a region imply about a value.
#[derive(Clone, Copy)]
pub(super) struct ControlRange {
    pub ints: Range<i64>,
    pub floats: Range<f32>,
    pub lower: Option<Linear>,
    pub upper: Option<Linear>,
}

/// Maximum number of bools that are known from a condition.
const MAX_KNOWN_BOOLS: usize = 64;

/// A bool with a known value.
pub(super) type KnownBool = (Value, bool);

impl ControlRange {
    const NONE: ControlRange =
        ControlRange { ints: Range::ALL, floats: Range::ALL, lower: None, upper: None };
}

impl Ranges<'_> {
    /// The control range of a value in a region.
    pub(super) fn control(&mut self, at: Region, value: Value) -> ControlRange {
        if self.function.constant(value).is_some() {
            return ControlRange::NONE;
        }
        let Some(at) = self.controlling(at) else { return ControlRange::NONE };
        if let Some(known) = self.controls.get(&(at, value)) {
            return *known;
        }
        if self.work == 0 {
            return ControlRange::NONE;
        }
        self.work -= 1;
        let before = self.begin();
        let facts = self.facts(at);
        let mut range = match facts.outer {
            Some(outer) => self.control(outer, value),
            None => ControlRange::NONE,
        };
        match self.function.ty(value) {
            Type::I32 => self.apply_integers(&facts, value, &mut range),
            Type::F32 => self.apply_floats(&facts, value, &mut range),
            Type::Bool => {}
        }
        if self.end(before) {
            self.controls.insert((at, value), range);
        }
        #[cfg(test)]
        {
            // Like data ranges, they count once, even if they are evaluated again.
            self.counts.control += usize::from(self.computed.insert((at, value)));
        }
        range
    }

    /// Starts to compute something that is stored unless it is provisional or poisoned.
    pub(super) fn begin(&mut self) -> [bool; 2] {
        let before = [self.state.is_poisoned, self.state.is_provisional];
        (self.state.is_poisoned, self.state.is_provisional) = (false, false);
        before
    }

    /// Whether what was computed since `begin` can be stored.
    pub(super) fn end(&mut self, [poisoned, provisional]: [bool; 2]) -> bool {
        let is_final = !self.state.is_poisoned && !self.state.is_provisional;
        self.state.is_poisoned |= poisoned;
        self.state.is_provisional |= provisional;
        is_final
    }

    /// The innermost region with facts, from this one outwards.
    pub(super) fn controlling(&mut self, mut at: Region) -> Option<Region> {
        loop {
            if self.regions.condition(at).is_some() {
                let facts = self.facts(at);
                if facts.is_empty() {
                    return facts.outer;
                }
                return Some(at);
            }
            at = self.regions.outer(at)?;
        }
    }

    /// What the condition of a region implies.
    pub(super) fn facts(&mut self, at: Region) -> Rc<Facts> {
        if let Some(facts) = self.facts.get(&at) {
            return facts.clone();
        }
        let mut facts = Facts::default();
        if let Some(outer) = self.regions.outer(at) {
            facts.outer = self.controlling(outer);
        }
        if let Some((cond, truth)) = self.regions.condition(at) {
            let is_number = |value: Value| self.float_hull(value).is_some();
            facts.orders = implied_orders(self.function, cond, truth, &is_number);
            facts.orders.retain(|order| self.function.ty(order.low) == Type::F32);
            let mut known = vec![];
            self.derive((cond, truth), &mut known);
            for (value, truth) in known {
                if let Some((op @ (Op::SLt | Op::ULt | Op::IEq), &[a, b])) =
                    self.function.operation(value)
                {
                    facts.comparisons.push(Comparison { op, args: [a, b], truth });
                }
            }
        }
        let facts = Rc::new(facts);
        self.facts.insert(at, facts.clone());
        facts
    }

    /// Expressions that are not positive if a comparison has its known result.
    fn nonpositive(&mut self, comparison: &Comparison) -> [Option<Linear>; 2] {
        let Comparison { op, args: [a, b], truth } = *comparison;
        let [low, high] = if truth || op == Op::IEq { [a, b] } else { [b, a] };
        // Unsigned order is signed order if the larger one is not negative.
        if op == Op::IEq && !truth || op == Op::ULt && !self.data(high).ints.is_nonnegative() {
            return [None; 2];
        }
        let [low, high] = [self.form(low), self.form(high)];
        let difference = low.minus(&high).and_then(|difference| match op {
            Op::IEq => Some(difference),
            _ => difference.plus(i64::from(truth)),
        });
        let other = match op {
            Op::IEq => high.minus(&low),
            Op::ULt => low.negated(),
            _ => None,
        };
        [difference, other]
    }

    /// Adds the integers that conditions compare which control a region.
    pub(super) fn add_compared(&mut self, at: Region, compared: &mut Vec<Value>) {
        let mut region = self.controlling(at);
        while let Some(at) = region {
            let facts = self.facts(at);
            compared.extend(facts.comparisons.iter().flat_map(|comparison| comparison.args));
            region = facts.outer;
        }
    }

    /// Adds a known bool, and all that follow from it.
    pub(super) fn derive(&self, fact: KnownBool, known: &mut Vec<KnownBool>) {
        let mut work = vec![fact];
        while let Some(fact) = work.pop() {
            if known.len() == MAX_KNOWN_BOOLS || known.contains(&fact) {
                continue;
            }
            known.push(fact);
            let (value, truth) = fact;
            match self.function.operation(value) {
                Some((Op::BNot, args)) => work.push((args[0], !truth)),
                Some((Op::BAnd, args)) if truth => work.extend(args.iter().map(|&arg| (arg, true))),
                Some((Op::BOr, args)) if !truth => {
                    work.extend(args.iter().map(|&arg| (arg, false)));
                }
                _ => {}
            }
            // If one arm of a select is a constant that contradicts the fact, the other arm was
            // selected.
            if let Some((cond, t, e)) = self.select_operands(value) {
                for (taken, value, other) in [(true, t, e), (false, e, t)] {
                    if self.function.constant(other).is_some_and(|bits| (bits != 0) != truth) {
                        work.extend([(cond, taken), (value, truth)]);
                    }
                }
            }
        }
    }

    /// Condition and alternatives of a select, or of a result of an if.
    pub(super) fn select_operands(&self, value: Value) -> Option<(Value, Value, Value)> {
        match self.function.operation(value) {
            Some((Op::Select, &[cond, t, e])) => Some((cond, t, e)),
            Some(_) => None,
            None => match self.regions.join(value)? {
                super::regions::Join::Merge([t, e]) => {
                    let (cond, _) = self.regions.condition(t.edge)?;
                    Some((cond, t.value, e.value))
                }
                _ => None,
            },
        }
    }

    /// Narrows the range of an integer.
    fn apply_integers(&mut self, facts: &Facts, value: Value, range: &mut ControlRange) {
        for comparison in &facts.comparisons {
            for expression in self.nonpositive(comparison).into_iter().flatten() {
                self.apply_nonpositive(&expression, value, range);
            }
            let other = match comparison {
                Comparison { op: Op::IEq, args: [a, b], truth: false } => match () {
                    () if *a == value => *b,
                    () if *b == value => *a,
                    () => continue,
                },
                _ => continue,
            };
            // The value cannot be an endpoint that it does not equal.
            let Range { lo, hi } = self.data(other).ints;
            if lo == hi {
                let known = self.data(value).ints.within(range.ints);
                range.ints = range.ints.within(Range {
                    lo: known.lo + i64::from(known.lo == lo),
                    hi: known.hi - i64::from(known.hi == lo),
                });
            }
        }
    }

    /// Narrows the range of an integer in an expression that is not positive.
    fn apply_nonpositive(&mut self, expression: &Linear, value: Value, range: &mut ControlRange) {
        let mut terms = expression.terms().iter();
        let Some(term) = terms.find(|term| term.factors() == [value]) else { return };
        // k · value + rest ≤ 0.
        let rest = expression.replaced(term, &Linear::constant(0));
        let rest = rest.filter(|rest| rest.values().all(|other| other != value));
        let Some(bound) = rest.and_then(|rest| rest.divided_by(-term.coefficient())) else {
            return;
        };
        let limits = bound.range(|other| self.data(other).ints);
        let symbolic = Some(bound).filter(|bound| !bound.is_constant());
        let limits = if term.coefficient() > 0 {
            range.upper = symbolic.or(range.upper);
            Range::new(i64::MIN, limits.hi)
        } else {
            range.lower = symbolic.or(range.lower);
            Range::new(limits.lo, i64::MAX)
        };
        range.ints = range.ints.within(limits);
    }

    /// Narrows the range of a float, except for NaN.
    fn apply_floats(&mut self, facts: &Facts, value: Value, range: &mut ControlRange) {
        for order in &facts.orders {
            let [is_low, is_high] = [order.low, order.high].map(|operand| operand == value);
            if is_low == is_high {
                continue;
            }
            let other = if is_low { order.high } else { order.low };
            let limit = self.function.constant(other).map(f32::from_bits);
            // A comparison with NaN implies nothing.
            if !order.is_ordered && limit.is_none_or(f32::is_nan) {
                continue;
            }
            let limits = self.data(other).floats;
            let both = if is_low {
                Range::new(range.floats.lo, range.floats.hi.min(limits.hi))
            } else {
                Range::new(range.floats.lo.max(limits.lo), range.floats.hi)
            };
            if both.lo <= both.hi {
                range.floats = both;
            }
        }
    }

    /// The least and the greatest number that a float can be; `None` if it may be NaN.
    pub(super) fn float_hull(&self, value: Value) -> Option<[f32; 2]> {
        match self.bounds.map(|bounds| &bounds[value.index()]) {
            Some(Bounds::Float(floats)) if !floats.nan => floats.pieces.hull(),
            _ => None,
        }
    }
}

impl Facts {
    fn is_empty(&self) -> bool {
        self.comparisons.is_empty() && self.orders.is_empty()
    }
}
