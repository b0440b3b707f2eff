//! Control ranges: what the conditions that control a region imply about a value.
//!
//! The order of two integers is kept as an expression that is not positive, so that it bounds each
//! value that it mentions: from i + 1 < n follow i ≤ n − 2 and n ≥ i + 2. Regions whose conditions
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
    /// Expressions that are not positive.
    nonpositive: Vec<Linear>,
    /// Pairs of integers that are not equal.
    different: Vec<[Value; 2]>,
    /// Orders of floats.
    pub orders: Vec<Inequality>,
    /// The innermost region around this one with facts.
    pub outer: Option<Region>,
}

/// What all conditions that control a region imply about a value.
#[derive(Clone, Copy)]
pub(super) struct ControlRange {
    pub ints: Range<i64>,
    /// The part of `ints` that follows from single conditions and data ranges.
    pub direct: Range<i64>,
    pub floats: Range<f32>,
    pub lower: Option<Linear>,
    pub upper: Option<Linear>,
}

/// Maximum number of bools that are known from a condition.
const MAX_KNOWN_BOOLS: usize = 64;

/// Maximum number of conditions that are combined to bound a value by a constant.
const MAX_CHAIN: u32 = 3;

/// A bool with a known value.
pub(super) type KnownBool = (Value, bool);

impl ControlRange {
    const NONE: ControlRange = ControlRange {
            ints: Range::ALL,
            direct: Range::ALL,
            floats: Range::ALL,
            lower: None,
            upper: None,
        };
}

impl Ranges<'_> {
    /// The control range of a value in a region.
    pub(super) fn control(&mut self, at: Region, value: Value) -> ControlRange {
        let Some(at) = self.controlling(at) else { return ControlRange::NONE };
        if let Some(known) = self.controls.get(&(at, value)) {
            return *known;
        }
        let before = self.begin();
        let facts = self.facts(at);
        let mut range = match facts.outer {
            Some(outer) => self.control(outer, value),
            None => ControlRange::NONE,
        };
        match self.function.ty(value) {
            Type::I32 => {
                self.apply_integers(&facts, value, &mut range);
                // Combinations of conditions may ask for the range of this value again.
                self.controls.insert((at, value), range);
                if self.state.chain < MAX_CHAIN {
                    self.state.chain += 1;
                    self.combine_integers(&facts, value, at, &mut range);
                    self.state.chain -= 1;
                }
                self.controls.remove(&(at, value));
            }
            Type::F32 => self.apply_floats(&facts, value, &mut range),
            Type::Bool => {}
        }
        if self.end(before) {
            self.controls.insert((at, value), range);
        }
        #[cfg(test)]
        {
            self.counts.control += 1;
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
        let before = self.begin();
        let mut facts = Facts::default();
        if let Some(outer) = self.regions.outer(at) {
            facts.outer = self.controlling(outer);
        }
        if let Some((cond, truth)) = self.regions.condition(at) {
            let is_number = |value: Value| self.float_hull(value).is_some();
            facts.orders = implied_orders(self.function, cond, truth, &is_number);
            let mut known = vec![];
            self.derive((cond, truth), &mut known);
            for fact in known {
                self.add_facts(fact, &mut facts);
            }
        }
        let facts = Rc::new(facts);
        if self.end(before) {
            self.facts.insert(at, facts.clone());
        }
        facts
    }

    /// Adds what a comparison of integers implies.
    fn add_facts(&mut self, (value, truth): KnownBool, facts: &mut Facts) {
        let Some((op @ (Op::SLt | Op::ULt | Op::IEq), &[a, b])) = self.function.operation(value)
        else {
            return;
        };
        let [low, high] = if truth || op == Op::IEq { [a, b] } else { [b, a] };
        let difference = |ranges: &mut Self, low, high, slack| {
            ranges.form(low).minus(&ranges.form(high))?.plus(slack)
        };
        match op {
            Op::IEq if truth => {
                facts.nonpositive.extend(difference(self, low, high, 0));
                facts.nonpositive.extend(difference(self, high, low, 0));
            }
            Op::IEq => facts.different.push([a, b]),
            // Unsigned order is signed order if the larger one is not negative.
            Op::ULt if !self.data(high).ints.is_nonnegative() => {}
            _ => {
                facts.nonpositive.extend(difference(self, low, high, i64::from(truth)));
                if op == Op::ULt {
                    facts.nonpositive.extend(self.form(low).negated());
                }
            }
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

    /// The bounds of a value that follow from expressions that are not positive, and whether each
    /// is an upper one.
    fn solved(facts: &Facts, value: Value) -> impl Iterator<Item = (Linear, bool)> {
        facts.nonpositive.iter().filter_map(move |expression| {
            let mut terms = expression.terms().iter();
            let term = terms.find(|term| term.factors() == [value])?;
            // k · value + rest ≤ 0.
            let rest = expression.replaced(term, &Linear::constant(0))?;
            let is_free = rest.values().all(|other| other != value);
            let bound = rest.divided_by(-term.coefficient()).filter(|_| is_free)?;
            Some((bound, term.coefficient() > 0))
        })
    }

    /// Narrows the range of an integer by single conditions.
    fn apply_integers(&mut self, facts: &Facts, value: Value, range: &mut ControlRange) {
        for (bound, is_upper) in Self::solved(facts, value) {
            let limits = bound.range(|other| self.data(other).ints);
            let symbolic = Some(bound).filter(|bound| !bound.is_constant());
            let limits = if is_upper {
                range.upper = symbolic.or(range.upper);
                Range::new(i64::MIN, limits.hi)
            } else {
                range.lower = symbolic.or(range.lower);
                Range::new(limits.lo, i64::MAX)
            };
            range.direct = range.direct.within(limits);
            range.ints = range.ints.within(limits);
        }
        for &[a, b] in &facts.different {
            let other = match () {
                () if a == value => b,
                () if b == value => a,
                () => continue,
            };
            // An endpoint that the value cannot take.
            if let Range { lo, hi } = self.data(other).ints
                && lo == hi
            {
                let data = self.data(value).ints;
                for ints in [&mut range.direct, &mut range.ints] {
                    let known = data.within(*ints);
                    *ints = ints.within(Range {
                        lo: known.lo + i64::from(known.lo == lo),
                        hi: known.hi - i64::from(known.hi == lo),
                    });
                }
            }
        }
    }

    /// Narrows the range of an integer by several conditions together.
    fn combine_integers(
        &mut self,
        facts: &Facts,
        value: Value,
        at: Region,
        range: &mut ControlRange,
    ) {
        for (bound, is_upper) in Self::solved(facts, value).filter(|(bound, _)| !bound.is_constant()) {
            let limits = bound.range(|other| self.atom_number(other, at));
            range.ints = range.ints.within(if is_upper {
                Range::new(i64::MIN, limits.hi)
            } else {
                Range::new(limits.lo, i64::MAX)
            });
        }
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
        self.nonpositive.is_empty() && self.different.is_empty() && self.orders.is_empty()
    }
}
