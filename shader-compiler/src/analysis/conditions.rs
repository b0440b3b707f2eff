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
//!
//! Integers are clipped if they are scalars. A loop exits if its condition is false for all members,
//! which also clips the scalars that it returns, if the condition is a scalar.

use crate::interval::{Bounds, Floats, Ints, Pieces};
use crate::ir::{Block, Function, If, Loop, Op, Stmt, Type, Value};
use std::collections::HashMap;

/// A known order: `low` is at most `high`. Of floats, neither is NaN, or the comparison of the two is
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
    /// Whether they are integers that are compared as unsigned ones.
    pub is_unsigned: bool,
}

/// A side of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The lower endpoint.
    Lower = 0,
    /// The upper endpoint.
    Upper = 1,
}

/// How another value limits a clipped one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// On one side: its lower endpoint limits lower endpoints, its upper endpoint upper ones.
    OneSided {
        /// The side.
        side: Side,
        /// Whether the two are not equal. Strict limits of intervals are constants.
        is_strict: bool,
        /// Whether neither is NaN.
        is_ordered: bool,
        /// Whether they are integers that are compared as unsigned ones.
        is_unsigned: bool,
    },
    /// The two are not equal. Only scalars are clipped by this; an interval is clipped on one side
    /// if the other value is a constant at an endpoint of its static bounds.
    Different,
}

/// Limits a value by another one, within a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clip {
    /// The value.
    pub value: Value,
    /// How it is limited.
    pub limit: Limit,
    /// The value that limits it.
    pub other: Value,
    /// Whether the value is an interval, so that code clips its endpoints.
    pub is_interval: bool,
    /// Whether both values are scalars, which are compared as in the point shader.
    pub is_scalar_test: bool,
}

/// The clips of all blocks of a function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clips {
    /// By the first result of an if or a loop and the value of its condition. A loop's condition is
    /// true in its body, and false where it exits.
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
    implied(function, cond, truth, is_number).orders
}

/// What conditions imply about the values that they compare.
#[derive(Clone)]
pub(crate) struct Implied<'a> {
    function: &'a Function,
    /// Returns whether a value cannot be NaN.
    pub is_number: &'a dyn Fn(Value) -> bool,
    /// The orders of values.
    pub orders: Vec<Inequality>,
    /// Values that are not equal.
    pub different: Vec<[Value; 2]>,
}

fn implied<'a>(
    function: &'a Function,
    cond: Value,
    truth: bool,
    is_number: &'a dyn Fn(Value) -> bool,
) -> Implied<'a> {
    let mut implied = Implied::new(function, is_number);
    implied.add_implied(cond, truth);
    implied
}

impl<'a> Implied<'a> {
    /// Nothing. `is_number` returns whether a value cannot be NaN.
    pub fn new(function: &'a Function, is_number: &'a dyn Fn(Value) -> bool) -> Implied<'a> {
        Implied { function, is_number, orders: vec![], different: vec![] }
    }

    /// Adds what a condition implies if its value is `truth`.
    pub fn add_implied(&mut self, cond: Value, truth: bool) {
        let order = |low, high, is_strict| Inequality {
            low,
            high,
            is_strict,
            is_ordered: true,
            is_unsigned: false,
        };
        match (self.function.operation(cond), truth) {
            (Some((op @ (Op::Lt | Op::Le), &[low, high])), true) => {
                self.add(order(low, high, op == Op::Lt));
            }
            (Some((op @ (Op::Lt | Op::Le), &[high, low])), false) => {
                self.add(Inequality { is_ordered: false, ..order(low, high, op == Op::Le) });
            }
            (Some((op @ (Op::SLt | Op::ULt), &[a, b])), _) => {
                let [low, high] = if truth { [a, b] } else { [b, a] };
                self.add(Inequality { is_unsigned: op == Op::ULt, ..order(low, high, truth) });
            }
            (Some((Op::Eq | Op::IEq, &[a, b])), true) => {
                self.add(order(a, b, false));
                self.add(order(b, a, false));
            }
            (Some((Op::Eq | Op::IEq, &[a, b])), false) => self.different.push([a, b]),
            (Some((Op::BNot, &[a])), _) => self.add_implied(a, !truth),
            (Some((Op::BAnd, &[a, b])), true) | (Some((Op::BOr, &[a, b])), false) => {
                self.add_implied(a, truth);
                self.add_implied(b, truth);
            }
            _ => {}
        }
    }

    /// The values that a value is not equal to.
    pub fn different_from(&self, value: Value) -> impl Iterator<Item = Value> {
        self.different.iter().filter_map(move |&[a, b]| match value {
            _ if a == value => Some(b),
            _ if b == value => Some(a),
            _ => None,
        })
    }

    /// Adds an order, and those that it implies for the operands of minima and maxima: a and b are
    /// at least min(a, b). If one of them may be NaN, the result may be the other one.
    fn add(&mut self, order: Inequality) {
        self.orders.push(order);
        let [min, max] = match (self.function.ty(order.low), order.is_unsigned) {
            (Type::I32, false) => [Op::SMin, Op::SMax],
            (Type::I32, true) => [Op::UMin, Op::UMax],
            _ => [Op::Min, Op::Max],
        };
        let operands = |op: Op, value: Value| match self.function.operation(value) {
            Some((found, &[a, b])) if found == op => {
                let are_numbers =
                    op != Op::Min && op != Op::Max || [a, b].into_iter().all(self.is_number);
                are_numbers.then_some([a, b])
            }
            _ => None,
        };
        let [lows, highs] = [operands(max, order.low), operands(min, order.high)];
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

    /// The clips of scalars, which hold for any bounds.
    pub fn of_scalars(function: &Function, is_interval: &[bool]) -> Clips {
        let bounds: Vec<_> = function.values.iter().map(|data| Bounds::all(data.ty)).collect();
        Clips::find(function, is_interval, &bounds)
    }

    /// The clips in an arm of the if, or in the body of the loop, with these results. If `truth` is
    /// false, those at the exit of the loop.
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
    /// The bounds of the value in the block: outside of it, they are `value`, and those of the limit
    /// are `other`. The bounds are those outside if no member can reach the block.
    pub fn refined(&self, value: &Bounds, other: &Bounds) -> Bounds {
        let refined = match (value, other) {
            (Bounds::Float(value), Bounds::Float(other)) => {
                self.refined_floats(value, other).map(Bounds::Float)
            }
            (Bounds::Int(value), Bounds::Int(other)) => {
                self.refined_ints(value, other).map(Bounds::Int)
            }
            _ => None,
        };
        refined.filter(|refined| !refined.is_empty()).unwrap_or(*value)
    }

    /// The bounds of floats; `None` if nothing is known or if they are empty.
    fn refined_floats(&self, outside: &Floats, other: &Floats) -> Option<Floats> {
        let Limit::OneSided { side, is_strict, is_ordered, .. } = self.limit else {
            return self.without(outside, other);
        };
        // Members for which the comparison is unordered are not limited.
        if !is_ordered && (other.nan || self.always_runs(outside)) {
            return None;
        }
        let [least, greatest] = limits(other, side, is_strict);
        let [low, high] = match side {
            Side::Lower => [least, f32::INFINITY],
            Side::Upper => [f32::NEG_INFINITY, greatest],
        };
        // Endpoints may lie in the gaps between members.
        let hull = if self.is_interval { outside.hull() } else { *outside };
        let pieces = hull.pieces.within(low, high);
        if pieces.is_empty() {
            return None;
        }
        let has_zero = pieces.contains(0.0);
        let from_limit = |zero: bool| self.is_interval && zero && other.pieces.contains(0.0);
        Some(Floats {
            pieces,
            // A scalar NaN is 0 in comparisons with intervals if NaN is suppressed.
            nan: outside.nan && !(is_ordered && self.is_scalar_test),
            negative_zero: has_zero && (hull.negative_zero || from_limit(other.negative_zero)),
            positive_zero: has_zero && (hull.positive_zero || from_limit(other.positive_zero)),
        })
    }

    /// Whether the arm for a comparison that is false always runs: bounding code takes a comparison
    /// with an interval to be possibly false if the scalar may be NaN.
    fn always_runs(&self, scalar: &Floats) -> bool {
        scalar.nan && !self.is_scalar_test
    }

    /// Floats other than a constant.
    fn without(&self, outside: &Floats, other: &Floats) -> Option<Floats> {
        let [x, end] = other.pieces.hull()?;
        if other.nan || x != end || self.always_runs(outside) {
            return None;
        }
        let [below, above] = [
            outside.pieces.within(f32::NEG_INFINITY, x.next_down()),
            outside.pieces.within(x.next_up(), f32::INFINITY),
        ];
        let has_zero = x != 0.0;
        Some(Floats {
            pieces: below.join(&above),
            nan: outside.nan,
            negative_zero: has_zero && outside.negative_zero,
            positive_zero: has_zero && outside.positive_zero,
        })
    }

    fn refined_ints(&self, outside: &Ints, other: &Ints) -> Option<Ints> {
        let [low, high] = other.hull()?;
        let [least, greatest] = outside.hull()?;
        let Limit::OneSided { side, is_strict, is_unsigned, .. } = self.limit else {
            let below = |x: i32| x.checked_sub(1).map(|x| outside.within(i32::MIN, x));
            let above = |x: i32| x.checked_add(1).map(|x| outside.within(x, i32::MAX));
            let [below, above] = [below(low), above(low)].map(|x| x.unwrap_or_else(Pieces::empty));
            return (low == high).then(|| below.join(&above));
        };
        // The order of unsigned integers is that of signed ones where none is negative. Those at most
        // a nonnegative one are not.
        let step = i32::from(is_strict);
        match side {
            Side::Upper if !is_unsigned => Some(outside.within(i32::MIN, high.checked_sub(step)?)),
            Side::Upper if low >= 0 => Some(outside.within(0, high - step)),
            Side::Lower if !is_unsigned || low >= 0 && least >= 0 => {
                Some(outside.within(low.checked_add(step)?, greatest))
            }
            _ => None,
        }
    }
}

/// The least and the greatest limit, for bounds of the other value.
fn limits(other: &Floats, side: Side, is_strict: bool) -> [f32; 2] {
    let limits = [other.low(), other.high()];
    match (is_strict, side) {
        (false, _) => limits,
        (true, Side::Lower) => limits.map(f32::next_up),
        (true, Side::Upper) => limits.map(f32::next_down),
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
                Stmt::If(node) => self.arms(node, clips),
                Stmt::Loop(node) => self.loop_(node, clips),
            }
        }
    }

    fn arms(&mut self, node: &If, clips: &mut Clips) {
        for (arm, truth) in [(&node.then, true), (&node.otherwise, false)] {
            let outer = self.enter(node.cond, truth);
            self.keep(outer, &node.results, truth, clips);
            self.block(arm, clips);
            self.active.truncate(outer);
        }
    }

    fn loop_(&mut self, node: &Loop, clips: &mut Clips) {
        self.block(&node.head, clips);
        let outer = self.enter(node.cond, true);
        self.keep(outer, &node.results, true, clips);
        self.block(&node.body, clips);
        self.active.truncate(outer);
        if !self.is_interval[node.cond.index()] {
            self.enter(node.cond, false);
            self.active.extract_if(outer.., |clip| clip.is_interval).for_each(drop);
            self.keep(outer, &node.results, false, clips);
            self.active.truncate(outer);
        }
    }

    /// Records the clips in effect beyond the first `outer` ones as those of a block.
    fn keep(&self, outer: usize, results: &[Value], truth: bool, clips: &mut Clips) {
        if let (Some(&first), true) = (results.first(), self.active.len() > outer) {
            clips.blocks.insert((first, truth), self.active[outer..].to_vec());
        }
    }

    /// Adds the clips that a condition implies to those in effect. Returns their number before.
    fn enter(&mut self, cond: Value, truth: bool) -> usize {
        let outer = self.active.len();
        let is_number =
            |value: Value| matches!(&self.bounds[value.index()], Bounds::Float(x) if !x.nan);
        let Implied { mut orders, different, .. } =
            implied(self.function, self.undecided(cond, truth), truth, &is_number);
        orders.extend(
            different
                .iter()
                .flat_map(|&[a, b]| [self.excluded(a, b), self.excluded(b, a)])
                .flatten(),
        );
        // Constants come first: more values are known to be in order with them.
        let is_constant = |value: Value| self.function.constant(value).is_some();
        orders.sort_by_key(|order| !is_constant(order.low) && !is_constant(order.high));
        for order in orders {
            self.active.extend(self.clip(order, order.low, Side::Upper, order.high));
            self.active.extend(self.clip(order, order.high, Side::Lower, order.low));
        }
        for [a, b] in different {
            let of_scalar = |(value, other): (Value, Value)| {
                (!self.is_interval[value.index()] && !is_constant(value)).then(|| Clip {
                    value,
                    limit: Limit::Different,
                    other,
                    is_interval: false,
                    is_scalar_test: !self.is_interval[other.index()],
                })
            };
            let clips = [(a, b), (b, a)].map(of_scalar);
            self.active.extend(clips.into_iter().flatten());
        }
        outer
    }

    /// The strict order of an interval and a constant that it excludes, if the constant is an
    /// endpoint of its static bounds: a sum of squares other than 0 is positive.
    fn excluded(&self, value: Value, constant: Value) -> Option<Inequality> {
        let excluded = self.function.constant(constant).map(f32::from_bits)?;
        let Bounds::Float(floats) = &self.bounds[value.index()] else { return None };
        let [least, greatest] = floats.pieces.hull().filter(|[lo, hi]| lo < hi)?;
        let [low, high] = match excluded {
            _ if !self.is_interval[value.index()] => return None,
            _ if excluded == least => [constant, value],
            _ if excluded == greatest => [value, constant],
            _ => return None,
        };
        Some(Inequality { low, high, is_strict: true, is_ordered: false, is_unsigned: false })
    }

    /// The operand that makes a conjunction false, if the other one is always true.
    fn undecided(&self, cond: Value, truth: bool) -> Value {
        let is_true = |value: Value| !self.bounds[value.index()].bools().may_be_false;
        match self.function.operation(cond) {
            Some((Op::BAnd, &[a, b])) if !truth && is_true(a) => self.undecided(b, truth),
            Some((Op::BAnd, &[a, b])) if !truth && is_true(b) => self.undecided(a, truth),
            _ => cond,
        }
    }

    /// The clip that an order implies for one of its values, if any.
    fn clip(&self, order: Inequality, value: Value, side: Side, other: Value) -> Option<Clip> {
        let is_constant = |value: Value| self.function.constant(value).is_some();
        if is_constant(value) {
            return None;
        }
        let is_interval = self.is_interval[value.index()];
        let Inequality { is_ordered, is_unsigned, .. } = order;
        let is_strict = order.is_strict && (!is_interval || is_constant(other));
        let limit = Limit::OneSided { side, is_strict, is_ordered, is_unsigned };
        let is_scalar_test = !is_interval && !self.is_interval[other.index()];
        let clip = Clip { value, limit, other, is_interval, is_scalar_test };
        if !is_interval {
            return Some(clip);
        }
        let of = |value: Value| &self.bounds[value.index()];
        let (Bounds::Float(a), Bounds::Float(b)) = (of(value), of(other)) else { return None };
        // A clip would hide an endpoint that is NaN.
        let keeps_nan = !a.nan && !b.nan;
        // No −0 is introduced: where the block runs, clipped endpoints are within the bounds.
        let has_zero = a.low() <= 0.0 && 0.0 <= a.high();
        let keeps_zero = a.negative_zero || !b.negative_zero || !has_zero;
        let is_empty = a.pieces.is_empty() || b.pieces.is_empty();
        let [least, greatest] = limits(b, side, is_strict);
        let narrows = match side {
            Side::Lower => a.low() < greatest,
            Side::Upper => least < a.high(),
        };
        let holds = keeps_nan && keeps_zero && !is_empty && self.keeps_order(&clip);
        (holds && narrows).then_some(clip)
    }

    /// Whether the interval does not become empty by clips on both sides.
    fn keeps_order(&self, clip: &Clip) -> bool {
        let range = |clip: &Clip| match clip.limit {
            Limit::OneSided { side, is_strict, .. } => {
                Some((side, limits(self.bounds[clip.other.index()].floats(), side, is_strict)))
            }
            Limit::Different => None,
        };
        let Some((side, new)) = range(clip) else { return true };
        let others = self.active.iter().filter(|other| other.value == clip.value).filter_map(range);
        others.filter(|(other, _)| *other != side).all(|(_, opposite)| match side {
            Side::Lower => new[1] <= opposite[0],
            Side::Upper => opposite[1] <= new[0],
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
    use crate::random::Random;

    /// Bounds of the values of a function of x and y, from -1 to 1 and from 2 to 3, by name.
    fn bounds(body: &str, is_interval: bool) -> impl Fn(&str) -> [f32; 2] {
        let inputs = [[-1.0, 1.0], [2.0, 3.0]]
            .map(|[low, high]| Floats { negative_zero: false, ..Floats::between(low, high) });
        bounds_of(body, inputs, is_interval)
    }

    /// Bounds of the values of a function of x and y, by name.
    fn bounds_of(
        body: &str,
        inputs: [Floats; 2],
        is_interval: bool,
    ) -> impl Fn(&str) -> [f32; 2] + use<> {
        let function = parse(&format!("fn f(x: f32, y: f32) -> (r: f32) {{ {body} }}")).unwrap();
        let inputs = inputs.map(Bounds::Float);
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
    fn limits_have_the_bounds_of_their_block() {
        let body = "%0 = lt y, 2.5 %1 = if %0 {
                %2 = lt y, x %3 = if %2 { yield 0.0 } else { %4 = neg x yield %4 } yield %3
            } else { yield 0.0 }
            return %1";
        // Code clips intervals by values as they are defined.
        for (is_interval, x) in [(false, 2.5f32.next_down()), (true, 3.0)] {
            let inputs = [[-9.0, 9.0], [2.0, 3.0]].map(|[low, high]| Floats::between(low, high));
            let of = bounds_of(body, inputs, is_interval);
            assert_eq!(of("%4"), [-x, 9.0]);
        }
    }

    /// Bounds of the values of a function of scalars, by name.
    fn scalar_bounds(text: &str, inputs: &[Bounds]) -> impl Fn(&str) -> Bounds + use<> {
        let function = parse(text).unwrap();
        let is_interval = vec![false; function.len()];
        let clips = Clips::of_scalars(&function, &is_interval);
        let facts = Facts { clips: Some(&clips), ..Facts::default() };
        let bounds = solve::run(&function, &is_interval, inputs, Nan::Ignore, facts);
        move |name| {
            let named = |&k: &usize| crate::ir::text::name(&function, Value(k as u32)) == name;
            bounds[(0..function.len()).find(named).expect("the value exists")]
        }
    }

    #[test]
    fn unordered_comparisons_limit_only_by_numbers() {
        let text = "fn f(x: f32, y: f32) -> (r: f32) {
            %0 = lt x, y
            %1 = if %0 { %2 = neg x yield %2 } else { %3 = neg x yield %3 }
            return %1
        }";
        let x = Floats { nan: true, ..Floats::between(-1.0, 8.0) };
        for nan in [false, true] {
            let y = Floats { nan, ..Floats::between(2.0, 3.0) };
            let of = scalar_bounds(text, &[x, y].map(Bounds::Float));
            let [below, above] = ["%2", "%3"].map(|name| *of(name).floats());
            assert_eq!((below.low(), below.nan), ((-3.0f32).next_up(), false));
            assert_eq!((above.high(), above.nan), (if nan { 1.0 } else { -2.0 }, true));
        }
    }

    #[test]
    fn arms_that_run_because_a_scalar_may_be_nan_do_not_limit_it() {
        // In each case, all members take the first arm.
        for (comparison, x, q, values) in [
            ("lt q, x", [-1.0, 1.0], [-2.0, 2.0], [0.5, 1.0, -1.5]),
            ("eq q, x", [0.5, 0.5], [0.5, 2.0], [0.5, 0.5, 0.5]),
        ] {
            let text = format!(
                "fn f(x: f32, q: f32) -> (r: f32) {{
                    %0 = {comparison}
                    %1 = if %0 {{ yield 0.0 }} else {{ %2 = mul q, 2.0 yield %2 }}
                    return %1
                }}"
            );
            let point = parse(&text).unwrap();
            let [x, q] = [x, q].map(|[low, high]| Floats::between(low, high));
            let inputs =
                [(true, x), (false, Floats { nan: true, ..q })].map(|(interval, bounds)| Input {
                    interval,
                    bounds: Bounds::Float(bounds),
                    axis: None,
                    sorted: None,
                });
            let Lifted { function, bounds, sunk, .. } =
                lift::run(&point, &inputs, &[0], &Options::default());
            let words = values.map(f32::to_bits);
            let endpoints = interpreter::run(&function, &[], &words, 1).unwrap();
            let static_bounds = bounds[sunk.body.yields[0].index()];
            assert!(endpoints.iter().all(|&end| static_bounds.contains(end)), "{endpoints:x?}");
        }
    }

    #[test]
    fn equality_and_inequality_limit_scalars() {
        let text = "fn f(x: f32, n: i32) -> (r: f32, k: i32) {
            %0 = eq x, 0.0 %1 = ieq n, 7
            %2 = if %0 { %3 = abs x yield %3 } else { %4 = div 1.0, x yield %4 }
            %5 = if %1 { %6 = iadd n, 1 yield %6 } else { %7 = iadd n, 1 yield %7 }
            return %2, %5
        }";
        let inputs = [Bounds::Float(Floats::between(0.0, 4.0)), Bounds::Int(Pieces::one(0, 7))];
        let of = scalar_bounds(text, &inputs);
        assert_eq!(of("%3").floats().high(), 0.0);
        assert_eq!([of("%4").floats().low(), of("%4").floats().nan as u8 as f32], [0.25, 0.0]);
        assert_eq!(["%6", "%7"].map(|name| of(name).ints().hull()), [Some([8, 8]), Some([1, 7])]);
    }

    #[test]
    fn intervals_exclude_endpoints_of_their_bounds() {
        let text = "fn f(x: f32, y: f32) -> (r: f32, s: f32) {
            %0 = mul x, x
            %1 = eq %0, 0.0
            %2 = if %1 { yield 0.0 } else { %3 = div 1.0, %0 yield %3 }
            %4 = eq 4.0, y
            %5 = bnot %4
            %6 = if %5 { %7 = sub 4.0, y %8 = div 1.0, %7 yield %8 } else { yield 1.0 }
            return %2, %6
        }";
        let point = parse(text).unwrap();
        let [x, y] = [[-2.0, 2.0], [0.0, 4.0]].map(|[low, high]| Floats::between(low, high));
        let inputs = [x, y].map(|floats| Input {
            interval: true,
            bounds: Bounds::Float(floats),
            axis: None,
            sorted: None,
        });
        let mut random = Random::new(31);
        for nan in [Nan::Propagate, Nan::Suppress, Nan::Ignore] {
            for tracking in [lift::Tracking::NONE, lift::Tracking::ALL] {
                let options = Options { nan, tracking, ..Options::default() };
                let lifted = lift::run(&point, &inputs, &[0, 1], &options);
                let run = |boxes: [[f32; 2]; 2]| {
                    let words = boxes.as_flattened().iter().map(|end| end.to_bits());
                    let words: Vec<u32> = words.collect();
                    let ends = interpreter::run(&lifted.function, &[], &words, 0).unwrap();
                    ends.into_iter().map(f32::from_bits).collect::<Vec<_>>()
                };
                let smallest_below_4 = 4.0 - 4f32.next_down();
                let expected = [0.0, f32::INFINITY, 0.5, 1.0 / smallest_below_4];
                // Naive code tests for NaN, and does not know that there is none.
                if (nan, tracking) != (Nan::Propagate, lift::Tracking::NONE) {
                    let ends = run([[-1.0, 2.0], [2.0, 4.0]]);
                    assert_eq!(ends, expected, "{nan:?} {tracking:?}");
                }
                for _ in 0..2000 {
                    let special =
                        [0.0, -0.0, 4.0, 2.0, f32::from_bits(1), 1e-23, -1e-20, 4f32.next_down()];
                    let mut member = |floats: &Floats| {
                        let any = random.below(1001) as f32 / 250.0 - 2.0;
                        let x = if random.once_in(2) { any } else { *random.pick(&special) };
                        x.clamp(floats.low(), floats.high())
                    };
                    let [a, b] = [[member(&x), member(&y)], [member(&x), member(&y)]];
                    let ends = run([0, 1].map(|k| [a[k].min(b[k]), a[k].max(b[k])]));
                    for member in [a, b, [a[0], b[1]], [b[0], a[1]]] {
                        let words = member.map(f32::to_bits);
                        let values = interpreter::run(&lifted.point, &[], &words, 0).unwrap();
                        for (value, ends) in std::iter::zip(values, ends.chunks(2)) {
                            let value = f32::from_bits(value);
                            let is_inside = ends[0] <= value && value <= ends[1];
                            let is_any = ends.iter().all(|end| end.is_nan());
                            assert!(is_inside || is_any, "{member:?}: {ends:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn unsigned_comparisons_limit_integers_that_are_not_negative() {
        let text = "fn f(a: i32, b: i32) -> (r: i32) {
            %0 = ult a, b
            %1 = if %0 { %2 = iadd a, 1 %3 = iadd b, 0 yield %2 } else { yield b }
            return %1
        }";
        let [any, small] =
            [[-5, 50], [3, 9]].map(|[low, high]| Bounds::Int(Pieces::one(low, high)));
        let of = scalar_bounds(text, &[any, small]);
        assert_eq!(of("%2").ints().hull(), Some([1, 9]));
        let of = scalar_bounds(text, &[small, any]);
        assert_eq!(["%2", "%3"].map(|x| of(x).ints().hull()), [Some([4, 10]), Some([-5, 50])]);
    }

    #[test]
    fn loops_exit_where_their_condition_is_false() {
        let text = "fn f(n: i32) -> (r: i32) {
            %0 = loop (%1: i32 = 0) { %2 = slt %1, n while %2 else %1 %3 = iadd %1, 1 next %3 }
            return %0
        }";
        let of = scalar_bounds(text, &[Bounds::Int(Pieces::one(10, 20))]);
        assert_eq!(["%0", "%1"].map(|x| of(x).ints().hull()), [Some([10, 20]), Some([0, 20])]);
    }

    #[test]
    fn limits_that_may_be_negative_zero_clip_intervals_without_zero() {
        let point = parse(
            "fn f(x: f32, y: f32) -> (r: f32) {
                %0 = lt y, x
                %1 = if %0 { yield 0.0 } else { %2 = mul x, x yield %2 }
                return %1
            }",
        );
        let [x, y] = [[0.5, 2.0], [-1.0, 1.0]].map(|[low, high]| Floats::between(low, high));
        let inputs = [(x, true), (y, false)].map(|(floats, interval)| Input {
            interval,
            bounds: Bounds::Float(floats),
            axis: None,
            sorted: None,
        });
        let options = Options { nan: Nan::Suppress, ..Options::default() };
        let lifted = lift::run(&point.unwrap(), &inputs, &[0], &options);
        for (limit, high) in [(1.0f32, 1.0f32), (0.75, 0.5625), (-0.0, 0.0)] {
            let words = [0.5, 2.0, limit].map(f32::to_bits);
            let bounds = interpreter::run(&lifted.function, &[], &words, 0).unwrap();
            assert_eq!(bounds[1], high.to_bits(), "{limit}");
        }
    }

    #[test]
    fn contradictions_do_not_make_intervals_empty() {
        let text = "fn f(x: f32) -> (r: f32) {
            %0 = lt x, 0.25 %1 = lt 0.25, x %2 = band %0, %1
            %3 = if %2 { %4 = mul x, 0.5 yield %4 } else { yield 0.0 }
            return %3
        }";
        let point = parse(text).unwrap();
        let unit = Bounds::Float(Floats::between(0.0, 1.0));
        let bounds: Vec<_> = point
            .values
            .iter()
            .map(|data| if data.ty == Type::F32 { unit } else { Bounds::all(data.ty) })
            .collect();
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
        let input = Input { interval: true, bounds, axis: None, sorted: None };
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
