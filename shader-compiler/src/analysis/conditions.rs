//! What conditions imply about the values that they compare.
//!
//! In an arm of an if, and in the body of a loop, the condition is known. So the compared values
//! are known to be in order there, which narrows their ranges: each such value gets a *clip*, the
//! σ of Bodík, Gupta and Sarkar's e-SSA form (Campos et al. 2012, §3). Since blocks are nested, a
//! clip holds in a block and all that it contains, and values need no copies.
//!
//! Bounding code runs an arm for entire intervals, and some members do not take it. So for
//! intervals, a fact about members is not enough: code intersects the interval with the range in
//! which the condition may hold. All modes do so, hence their bounds are the same. Scalars need no
//! code.
//!
//! An arm runs if the endpoints of the compared values allow some member to take it. So an interval
//! that is clipped by one comparison is not empty. The same holds for an interval that is clipped
//! on both sides, if the two values that clip it are in order. If the arm does not run, or runs
//! speculatively without being taken, its results are ignored.

use crate::interval::{Bounds, Floats};
use crate::ir::{Block, Function, Op, Stmt, Value};
use std::collections::HashMap;

/// A known order: `low` is at most `high`, and neither is NaN, or the comparison of the two is
/// unordered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inequality {
    /// The smaller value.
    pub low: Value,
    /// The larger value.
    pub high: Value,
    /// Whether they are not equal.
    pub is_strict: bool,
    /// Whether neither is NaN.
    pub is_ordered: bool,
}

/// A side of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The lower endpoint.
    Lower = 0,
    /// The upper endpoint.
    Upper = 1,
}

/// Limits a value on one side by another value, within a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clip {
    /// The value.
    pub value: Value,
    /// The side on which it is limited.
    pub side: Side,
    /// The limit: its lower endpoint limits lower endpoints, its upper endpoint upper ones.
    pub other: Value,
    /// Whether the value cannot equal the limit. Strict limits of intervals are constants.
    pub is_strict: bool,
    /// Whether the value is an interval, so that code clips its endpoints.
    pub is_interval: bool,
}

/// The clips of all blocks of a function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clips {
    /// By the first result of an if or a loop and the value of its condition.
    blocks: HashMap<(Value, bool), Vec<Clip>>,
}

/// The orders that a condition implies if its value is `truth`. `is_number` returns whether a value
/// cannot be NaN.
pub fn implied_orders(
    function: &Function,
    cond: Value,
    truth: bool,
    is_number: &dyn Fn(Value) -> bool,
) -> Vec<Inequality> {
    let mut search = OrderSearch { function, is_number, orders: vec![] };
    search.add_implied(cond, truth);
    search.orders
}

struct OrderSearch<'a> {
    function: &'a Function,
    is_number: &'a dyn Fn(Value) -> bool,
    orders: Vec<Inequality>,
}

impl OrderSearch<'_> {
    fn add_implied(&mut self, cond: Value, truth: bool) {
        match (self.function.operation(cond), truth) {
            (Some((op @ (Op::Lt | Op::Le), &[low, high])), true) => {
                self.add(Inequality { low, high, is_strict: op == Op::Lt, is_ordered: true });
            }
            (Some((op @ (Op::Lt | Op::Le), &[high, low])), false) => {
                self.add(Inequality { low, high, is_strict: op == Op::Le, is_ordered: false });
            }
            (Some((Op::BNot, &[a])), _) => self.add_implied(a, !truth),
            (Some((Op::BAnd, &[a, b])), true) | (Some((Op::BOr, &[a, b])), false) => {
                self.add_implied(a, truth);
                self.add_implied(b, truth);
            }
            _ => {}
        }
    }

    /// Adds an order, and those that it implies for the operands of minima and maxima: a and b are
    /// at least min(a, b). If one of them may be NaN, the result may be the other one.
    fn add(&mut self, order: Inequality) {
        self.orders.push(order);
        let operands = |op: Op, value: Value| match self.function.operation(value) {
            Some((found, &[a, b])) if found == op => {
                [a, b].iter().all(|&value| (self.is_number)(value)).then_some([a, b])
            }
            _ => None,
        };
        let [lows, highs] = [operands(Op::Max, order.low), operands(Op::Min, order.high)];
        lows.into_iter().flatten().for_each(|low| self.add(Inequality { low, ..order }));
        highs.into_iter().flatten().for_each(|high| self.add(Inequality { high, ..order }));
    }
}

impl Clips {
    /// Determines the clips of a function, from bounds that hold with some of them.
    pub fn find(function: &Function, is_interval: &[bool], bounds: &[Bounds]) -> Clips {
        let mut search = Search { function, is_interval, bounds, active: vec![] };
        let mut clips = Clips::default();
        search.block(&function.body, &mut clips);
        clips
    }

    /// The clips in an arm of the if, or in the body of the loop, with these results.
    pub fn of(&self, results: &[Value], truth: bool) -> &[Clip] {
        let key = results.first().map(|&first| (first, truth));
        key.and_then(|key| self.blocks.get(&key)).map_or(&[], Vec::as_slice)
    }

    /// Whether these clips include others.
    pub fn contains(&self, others: &Clips) -> bool {
        others.blocks.iter().all(|(block, others)| {
            let clips = self.blocks.get(block).map_or(&[][..], Vec::as_slice);
            others.iter().all(|other| clips.contains(other))
        })
    }

    /// The clips of all blocks.
    pub fn all(&self) -> impl Iterator<Item = &Clip> {
        self.blocks.values().flatten()
    }
}

impl Clip {
    /// The least and the greatest limit, for bounds of the other value.
    fn limits(&self, other: &Floats) -> [f32; 2] {
        let limits = [other.low(), other.high()];
        match (self.is_strict, self.side) {
            (false, _) => limits,
            (true, Side::Lower) => limits.map(f32::next_up),
            (true, Side::Upper) => limits.map(f32::next_down),
        }
    }

    /// The bounds of the value in the block: outside of it, they are `value`, and those of the limit
    /// are `other`. The bounds are those outside if no member can reach the block.
    pub fn refined(&self, value: &Bounds, other: &Bounds) -> Bounds {
        let (Bounds::Float(outside), Bounds::Float(limits)) = (value, other) else {
            return *value;
        };
        let [least, greatest] = self.limits(limits);
        let [low, high] = match self.side {
            Side::Lower => [least, f32::INFINITY],
            Side::Upper => [f32::NEG_INFINITY, greatest],
        };
        // Endpoints may lie in the gaps between members.
        let hull = if self.is_interval { value.hull() } else { *value };
        let pieces = hull.floats().pieces.within(low, high);
        if pieces.is_empty() {
            return *value;
        }
        let has_zero = pieces.contains(0.0);
        let from_limit = |zero: bool| self.is_interval && zero && limits.pieces.contains(0.0);
        Bounds::Float(Floats {
            pieces,
            // A scalar NaN is 0 in comparisons with intervals if NaN is suppressed.
            nan: outside.nan,
            negative_zero: has_zero
                && (hull.floats().negative_zero || from_limit(limits.negative_zero)),
            positive_zero: has_zero
                && (hull.floats().positive_zero || from_limit(limits.positive_zero)),
        })
    }
}

struct Search<'a> {
    function: &'a Function,
    is_interval: &'a [bool],
    bounds: &'a [Bounds],
    /// Clips in effect.
    active: Vec<Clip>,
}

impl Search<'_> {
    fn block(&mut self, block: &Block, clips: &mut Clips) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(_) => {}
                Stmt::If(node) => {
                    for (arm, truth) in [(&node.then, true), (&node.otherwise, false)] {
                        self.nested(arm, &node.results, node.cond, truth, clips);
                    }
                }
                Stmt::Loop(node) => {
                    self.block(&node.head, clips);
                    self.nested(&node.body, &node.results, node.cond, true, clips);
                }
            }
        }
    }

    /// Visits a block in which a condition is known.
    fn nested(
        &mut self,
        block: &Block,
        results: &[Value],
        cond: Value,
        truth: bool,
        clips: &mut Clips,
    ) {
        let outer = self.active.len();
        let is_number =
            |value: Value| matches!(&self.bounds[value.index()], Bounds::Float(x) if !x.nan);
        let mut orders = implied_orders(self.function, cond, truth, &is_number);
        // Constants come first: more values are known to be in order with them.
        let is_constant = |value: Value| self.function.constant(value).is_some();
        orders.sort_by_key(|order| !is_constant(order.low) && !is_constant(order.high));
        for order in orders {
            self.active.extend(self.clip(order, order.low, Side::Upper, order.high));
            self.active.extend(self.clip(order, order.high, Side::Lower, order.low));
        }
        if let (Some(&first), true) = (results.first(), self.active.len() > outer) {
            clips.blocks.insert((first, truth), self.active[outer..].to_vec());
        }
        self.block(block, clips);
        self.active.truncate(outer);
    }

    /// The clip that an order implies for one of its values, if any.
    fn clip(&self, order: Inequality, value: Value, side: Side, other: Value) -> Option<Clip> {
        let is_constant = |value: Value| self.function.constant(value).is_some();
        let of = |value: Value| &self.bounds[value.index()];
        let (Bounds::Float(a), Bounds::Float(b)) = (of(value), of(other)) else { return None };
        if is_constant(value) || a.pieces.is_empty() || b.pieces.is_empty() {
            return None;
        }
        let is_interval = self.is_interval[value.index()];
        let is_strict = order.is_strict && (!is_interval || is_constant(other));
        let clip = Clip { value, side, other, is_strict, is_interval };
        // Members for which the comparison is unordered are not limited.
        let limits_all = order.is_ordered || !b.nan;
        // A clip would hide an endpoint that is NaN.
        let keeps_nan = !a.nan && !b.nan;
        // No −0 is introduced.
        let keeps_zero = a.negative_zero || !b.negative_zero;
        let holds =
            limits_all && (!is_interval || keeps_nan && keeps_zero && self.keeps_order(&clip));
        let narrows = if is_interval {
            let [least, greatest] = clip.limits(b);
            match side {
                Side::Lower => a.low() < greatest,
                Side::Upper => least < a.high(),
            }
        } else {
            clip.refined(of(value), of(other)) != *of(value)
        };
        (holds && narrows).then_some(clip)
    }

    /// Whether the interval does not become empty by clips on both sides.
    fn keeps_order(&self, clip: &Clip) -> bool {
        let others = self.active.iter();
        let opposite = others.filter(|other| other.value == clip.value && other.side != clip.side);
        let limits = |clip: &Clip| clip.limits(self.bounds[clip.other.index()].floats());
        opposite.into_iter().all(|opposite| {
            let [lower, upper] = match clip.side {
                Side::Lower => [clip, opposite],
                Side::Upper => [opposite, clip],
            };
            limits(lower)[1] <= limits(upper)[0]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::solve::{self, Facts};
    use crate::interpreter;
    use crate::interval::Nan;
    use crate::ir::text::parse;
    use crate::lift::{self, Input, Lifted, Options};

    /// Bounds of the values of a function of x and y, from -1 to 1 and from 2 to 3, by name.
    fn bounds(body: &str, is_interval: bool) -> impl Fn(&str) -> [f32; 2] {
        let function = parse(&format!("fn f(x: f32, y: f32) -> (r: f32) {{ {body} }}")).unwrap();
        let inputs = [[-1.0, 1.0], [2.0, 3.0]].map(|[low, high]| {
            Bounds::Float(Floats { negative_zero: false, ..Floats::between(low, high) })
        });
        let intervals = vec![is_interval; function.len()];
        let solve = |clips: &Clips| {
            let facts = Facts { clips: Some(clips), ..Facts::default() };
            solve::run(&function, &intervals, &inputs, Nan::Suppress, facts)
        };
        let clips = Clips::find(&function, &intervals, &solve(&Clips::default()));
        let bounds = solve(&clips);
        move |name| {
            let index = (0..function.len())
                .find(|&k| crate::ir::text::name(&function, Value(k as u32)) == name)
                .expect("the value exists");
            [bounds[index].floats().low(), bounds[index].floats().high()]
        }
    }

    #[test]
    fn arms_know_their_condition() {
        for is_interval in [false, true] {
            let of = bounds(
                "%0 = le x, 0.0 %1 = if %0 { %2 = neg x yield %2 } else { %3 = neg x yield %3 }
                return %1",
                is_interval,
            );
            let smallest = f32::from_bits(1);
            assert_eq!([of("%2"), of("%3")], [[0.0, 1.0], [-1.0, -smallest]]);
        }
    }

    #[test]
    fn minima_and_conjunctions_limit_their_operands() {
        let of = bounds(
            "%0 = min x, y %1 = lt 0.5, %0 %2 = lt y, 2.5 %3 = band %1, %2
            %4 = if %3 { %5 = abs x %6 = abs y yield %5 } else { %7 = abs y yield %7 }
            return %4",
            true,
        );
        let above = 0.5f32.next_up();
        assert_eq!(
            [of("%5"), of("%6"), of("%7")],
            [[above, 1.0], [2.0, 2.5f32.next_down()], [2.0, 3.0]]
        );
    }

    #[test]
    fn contradictions_do_not_make_intervals_empty() {
        let text = "fn f(x: f32) -> (r: f32) {
            %0 = lt x, 0.25 %1 = lt 0.25, x %2 = band %0, %1
            %3 = if %2 { %4 = mul x, 0.5 yield %4 } else { yield 0.0 }
            return %3
        }";
        let point = parse(text).unwrap();
        let bounds = vec![Bounds::Float(Floats::between(0.0, 1.0)); point.len()];
        let clips = Clips::find(&point, &vec![true; point.len()], &bounds);
        assert_eq!(clips.all().count(), 1);
    }

    #[test]
    fn bodies_of_loops_know_their_condition() {
        let of = bounds(
            "%0 = loop (%1: f32 = y) {
                %2 = lt 1.0, %1
                while %2 else %1
                %3 = mul %1, 0.5
                next %3
            }
            return %0",
            true,
        );
        let above = 0.5f32.next_up();
        assert_eq!([of("%3"), of("%0")], [[above, 1.5], [above, 3.0]]);
    }

    #[test]
    fn code_clips_endpoints_in_all_modes() {
        let text = "fn f(x: f32) -> (r: f32) {
            %0 = le x, 0.25
            %1 = if %0 { yield 0.0 } else { %2 = div 1.0, x yield %2 }
            return %1
        }";
        let point = parse(text).unwrap();
        let bounds = Bounds::Float(Floats::between(-1.0, 1.0));
        let input = Input { interval: true, bounds, axis: None };
        for tracking in [lift::Tracking::NONE, lift::Tracking::ALL] {
            let options = Options { tracking, ..Options::default() };
            let Lifted { function, .. } = lift::run(&point, &[input], &[0], &options);
            let words = [(-0.5f32).to_bits(), 0.5f32.to_bits()];
            let endpoints = interpreter::run(&function, &[], &words, 1).unwrap();
            let above = 0.25f32.next_up();
            assert_eq!(endpoints, [0.0, 1.0 / above].map(f32::to_bits));
        }
    }
}
