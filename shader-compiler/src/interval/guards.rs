//! Questions that cases ask of operands, and steps that forms share.

use super::{Facts, Forms, Interval, Nan};
use crate::analysis::{Bounds, Floats};
use crate::ir::{Emit, Op};
use crate::math::Steps;

/// What is known of the sign of all that a value can be. A zero of either sign is both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// ≥ 0
    Plus,
    /// ≤ 0
    Minus,
    /// Nothing.
    Any,
}

/// Index of an operand's lower end.
pub(super) const LO: usize = 0;
/// Index of an operand's upper end.
pub(super) const HI: usize = 1;

/// Which ends of two operands an end of the result comes from: the least or the greatest of these.
pub(super) type Corners = &'static [[usize; 2]];

/// All of them.
pub(super) const ALL: Corners = &[[LO, LO], [LO, HI], [HI, LO], [HI, HI]];

/// What a value can be, beside NaN, at one of its ends that some member of the other operand makes
/// an operation undefined at. What entails the same of the other end is left to that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extremes {
    /// Whether it can be zero.
    pub zero: bool,
    /// Whether it can be infinite.
    pub infinite: bool,
}

impl<V: Copy + PartialEq> Interval<V> {
    /// What is not computed by an operation of the point shader, of which no more is known than is
    /// given.
    pub(super) fn between(ends: [V; 2], known: Floats, facts: Facts) -> Interval<V> {
        Interval { lo: ends[0], hi: ends[1], known: Bounds::Float(known), facts }
    }

    /// The two ends.
    pub(super) fn ends(&self) -> [V; 2] {
        [self.lo, self.hi]
    }

    pub(super) fn sign(&self) -> Sign {
        if self.is_within(0.0, f32::INFINITY) {
            Sign::Plus
        } else if self.is_within(f32::NEG_INFINITY, 0.0) {
            Sign::Minus
        } else {
            Sign::Any
        }
    }

    /// Whether all that it can be, but NaN, lies between two numbers, both included.
    pub(super) fn is_within(&self, low: f32, high: f32) -> bool {
        let floats = self.known.floats();
        floats.pieces.is_empty() || low <= floats.low() && floats.high() <= high
    }

    /// Whether it or an end of it can be NaN.
    pub(super) fn may_be_nan(&self) -> bool {
        self.known.floats().nan
    }

    /// Whether it can be an infinity.
    pub(super) fn may_be_infinite(&self) -> bool {
        self.may_be_least() || self.may_be_greatest()
    }

    /// Whether it can be a zero.
    pub(super) fn may_be_zero(&self) -> bool {
        self.known.floats().pieces.contains(0.0)
    }

    /// Whether it can be −∞.
    pub(super) fn may_be_least(&self) -> bool {
        self.known.floats().low() == f32::NEG_INFINITY
    }

    /// Whether it can be +∞.
    pub(super) fn may_be_greatest(&self) -> bool {
        self.known.floats().high() == f32::INFINITY
    }

    /// What the ends can be. Where a value is known not to be negative, its lower end is zero if
    /// the upper one is, and so on.
    pub(super) fn extremes(&self) -> [Extremes; 2] {
        let zero = self.may_be_zero();
        let [low, high] = [self.known.floats().low() < 0.0, self.known.floats().high() > 0.0];
        [
            Extremes { zero: zero && (high || !low), infinite: self.may_be_least() },
            Extremes { zero: zero && low, infinite: self.may_be_greatest() },
        ]
    }
}

impl<E: Emit<Value: PartialEq>> Forms<'_, E> {
    /// The least of some numbers.
    pub(super) fn least(&mut self, xs: &[E::Value]) -> E::Value {
        self.reduce(Op::Min, xs)
    }

    /// The greatest of some numbers.
    pub(super) fn greatest(&mut self, xs: &[E::Value]) -> E::Value {
        self.reduce(Op::Max, xs)
    }

    /// The same number is taken but once; the rest in pairs.
    fn reduce(&mut self, op: Op, xs: &[E::Value]) -> E::Value {
        let mut kept: Vec<E::Value> = vec![];
        for &x in xs {
            if !kept.contains(&x) {
                kept.push(x);
            }
        }
        while kept.len() > 1 {
            kept = kept
                .chunks(2)
                .map(|pair| if let &[a, b] = pair { self.emit.op(op, &[a, b]) } else { pair[0] })
                .collect();
        }
        kept[0]
    }

    /// Adds a condition that holds if no NaN was met.
    pub(super) fn require(&mut self, condition: E::Value) {
        self.clean.push(condition);
    }

    /// Where NaN propagates, tests that the operand is none: its upper end is below ∞.
    pub(super) fn require_number(&mut self, a: &Interval<E::Value>) {
        if self.nan == Nan::Propagate && a.may_be_nan() {
            let infinity = self.emit.f32(f32::INFINITY);
            let condition = self.emit.lt(a.hi, infinity);
            self.require(condition);
        }
    }

    /// Where NaN propagates, tests that the operand is no less than the least number for which an
    /// operation is defined.
    pub(super) fn require_at_least(&mut self, a: &Interval<E::Value>, least: f32) {
        if self.nan == Nan::Propagate && (a.may_be_nan() || !a.is_within(least, f32::INFINITY)) {
            let least = self.emit.f32(least);
            let condition = self.emit.le(least, a.lo);
            self.require(condition);
        }
    }

    /// The ends of an operand where those less than some number are void: with NaN suppressed, they
    /// become that number.
    pub(super) fn cut_below(&mut self, a: &Interval<E::Value>, least: f32) -> [E::Value; 2] {
        if self.nan != Nan::Suppress || a.is_within(least, f32::INFINITY) {
            return a.ends();
        }
        let least = self.emit.f32(least);
        a.ends().map(|end| self.emit.max(end, least))
    }

    /// Where NaN propagates, tests that the operand is finite.
    pub(super) fn require_finite(&mut self, a: &Interval<E::Value>) {
        if self.nan != Nan::Propagate {
            return;
        }
        let infinities = [f32::NEG_INFINITY, f32::INFINITY].map(|end| self.emit.f32(end));
        if a.may_be_least() {
            let condition = self.emit.lt(infinities[0], a.lo);
            self.require(condition);
        }
        if a.may_be_greatest() || a.may_be_nan() {
            let condition = self.emit.lt(a.hi, infinities[1]);
            self.require(condition);
        }
    }

    /// What stands for a number in forms where NaN is suppressed: 0 for NaN. Operations that would
    /// pass over NaN consult [`Facts::nan`].
    pub fn or_zero(&mut self, x: E::Value) -> E::Value {
        self.number_or(x, 0.0)
    }

    /// The number, or another in place of NaN.
    fn number_or(&mut self, x: E::Value, instead: f32) -> E::Value {
        let is_number = self.emit.eq(x, x);
        let instead = self.emit.f32(instead);
        self.emit.select(is_number, x, instead)
    }

    /// An operation on an end of each operand, with what is given in place of NaN if there is any
    /// and it is suppressed.
    pub(super) fn at_corner(
        &mut self,
        op: Op,
        [a, b]: [&Interval<E::Value>; 2],
        [i, j]: [usize; 2],
        instead: Option<f32>,
    ) -> E::Value {
        let result = self.emit.op(op, &[a.ends()[i], b.ends()[j]]);
        match instead {
            Some(instead) if self.nan == Nan::Suppress => self.number_or(result, instead),
            _ => result,
        }
    }

    /// Ends of an operation that is monotone in each operand: the least result at some ends of
    /// theirs, and the greatest at others.
    pub(super) fn at_corners(
        &mut self,
        op: Op,
        args: [&Interval<E::Value>; 2],
        [low, high]: [Corners; 2],
        instead: Option<f32>,
    ) -> [E::Value; 2] {
        let low: Vec<_> =
            low.iter().map(|&corner| self.at_corner(op, args, corner, instead)).collect();
        let high: Vec<_> =
            high.iter().map(|&corner| self.at_corner(op, args, corner, instead)).collect();
        [self.least(&low), self.greatest(&high)]
    }

    /// Whether results at those ends for which it is asked are numbers, each by itself.
    pub(super) fn are_numbers(
        &mut self,
        op: Op,
        [a, b]: [&Interval<E::Value>; 2],
        asked: impl Fn([usize; 2]) -> bool,
    ) -> Vec<E::Value> {
        let mut results: Vec<E::Value> = vec![];
        for &[i, j] in ALL.iter().filter(|&&corner| asked(corner)) {
            let result = self.emit.op(op, &[a.ends()[i], b.ends()[j]]);
            if !results.contains(&result) {
                results.push(result);
            }
        }
        results.into_iter().map(|x| self.emit.eq(x, x)).collect()
    }
}
