//! Predicates on operands for case selection, and parts that lowerings share.

use super::{Bounds, Facts, Floats, Interval, Nan, OpLowering};
use crate::ir::{Emit, Op};
use crate::math::EmitExt;

/// The known sign of a value. A zero has both signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// ≥ 0
    Plus,
    /// ≤ 0
    Minus,
    /// Unknown.
    Any,
}

impl Sign {
    /// The sign of a product or quotient.
    pub(super) fn product(self, other: Sign) -> Sign {
        match (self, other) {
            (Sign::Any, _) | (_, Sign::Any) => Sign::Any,
            _ if self == other => Sign::Plus,
            _ => Sign::Minus,
        }
    }
}

/// Index of an operand's lower endpoint.
pub(super) const LO: usize = 0;
/// Index of an operand's upper endpoint.
pub(super) const HI: usize = 1;

/// The endpoints of two operands that determine an endpoint of the result: the minimum or maximum
/// over these corners.
pub(super) type Corners = &'static [[usize; 2]];

/// All four corners; opposite ones are at even positions.
pub(super) const ALL: Corners = &[[LO, LO], [LO, HI], [HI, HI], [HI, LO]];

/// Values of an endpoint, besides NaN, for which a product or quotient may be undefined. If a
/// condition on one endpoint implies the same condition on the other, only the other has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extremes {
    /// Whether it can be zero.
    pub zero: bool,
    /// Whether it can be infinite.
    pub infinite: bool,
}

impl<V: Copy + PartialEq> Interval<V> {
    /// An intermediate result, which is not a value of the point shader.
    pub(super) fn between(endpoints: [V; 2], known: Floats, facts: Facts) -> Interval<V> {
        Interval { lo: endpoints[0], hi: endpoints[1], known: Bounds::Float(known), facts }
    }

    /// The two endpoints.
    pub(super) fn endpoints(&self) -> [V; 2] {
        [self.lo, self.hi]
    }

    /// The known sign.
    pub(super) fn sign(&self) -> Sign {
        if self.is_within(0.0, f32::INFINITY) {
            Sign::Plus
        } else if self.is_within(f32::NEG_INFINITY, 0.0) {
            Sign::Minus
        } else {
            Sign::Any
        }
    }

    /// Whether all its possible values except NaN lie between two floats, inclusive.
    pub(super) fn is_within(&self, low: f32, high: f32) -> bool {
        let floats = self.known.floats();
        floats.pieces.is_empty() || low <= floats.low() && floats.high() <= high
    }

    /// Whether it or one of its endpoints can be NaN.
    pub(super) fn may_be_nan(&self) -> bool {
        self.known.floats().nan
    }

    /// Whether it can be infinite.
    pub(super) fn may_be_infinite(&self) -> bool {
        self.may_be_negative_infinity() || self.may_be_positive_infinity()
    }

    /// Whether it can be zero.
    pub(super) fn may_be_zero(&self) -> bool {
        self.known.floats().pieces.contains(0.0)
    }

    /// Whether it can be −∞.
    pub(super) fn may_be_negative_infinity(&self) -> bool {
        self.known.floats().low() == f32::NEG_INFINITY
    }

    /// Whether it can be +∞.
    pub(super) fn may_be_positive_infinity(&self) -> bool {
        self.known.floats().high() == f32::INFINITY
    }

    /// The extremes of the endpoints. If a value is known to be nonnegative, for example, its lower
    /// endpoint is zero if its upper endpoint is.
    pub(super) fn extremes(&self) -> [Extremes; 2] {
        let zero = self.may_be_zero();
        let [low, high] = [self.known.floats().low() < 0.0, self.known.floats().high() > 0.0];
        [
            Extremes { zero: zero && (high || !low), infinite: self.may_be_negative_infinity() },
            Extremes { zero: zero && low, infinite: self.may_be_positive_infinity() },
        ]
    }
}

impl<E: Emit<Value: PartialEq>> OpLowering<'_, E> {
    /// The minimum of some floats.
    pub(super) fn min_of(&mut self, xs: &[E::Value]) -> E::Value {
        self.reduce(Op::Min, xs)
    }

    /// The maximum of some floats.
    pub(super) fn max_of(&mut self, xs: &[E::Value]) -> E::Value {
        self.reduce(Op::Max, xs)
    }

    /// Reduces in pairs; duplicates are removed.
    fn reduce(&mut self, op: Op, xs: &[E::Value]) -> E::Value {
        let mut unique: Vec<E::Value> = vec![];
        for &x in xs {
            if !unique.contains(&x) {
                unique.push(x);
            }
        }
        while unique.len() > 1 {
            unique = unique
                .chunks(2)
                .map(|pair| if let &[a, b] = pair { self.emit.op(op, &[a, b]) } else { pair[0] })
                .collect();
        }
        unique[0]
    }

    /// Adds a condition that holds unless there was a NaN.
    pub(super) fn require(&mut self, condition: E::Value) {
        self.nan_free.push(condition);
    }

    /// If NaN propagates, tests that the operand is not NaN: its upper endpoint is below ∞.
    pub(super) fn require_not_nan(&mut self, a: &Interval<E::Value>) {
        if self.nan == Nan::Propagate && a.may_be_nan() {
            let infinity = self.emit.f32(f32::INFINITY);
            let condition = self.emit.lt(a.hi, infinity);
            self.require(condition);
        }
    }

    /// If NaN propagates, tests that the operand is at least the minimum of an operation's domain.
    pub(super) fn require_at_least(&mut self, a: &Interval<E::Value>, min: f32) {
        if self.nan == Nan::Propagate && (a.may_be_nan() || !a.is_within(min, f32::INFINITY)) {
            let min = self.emit.f32(min);
            let condition = self.emit.le(min, a.lo);
            self.require(condition);
        }
    }

    /// The endpoints of an operand, clamped to the minimum of an operation's domain if NaN is
    /// suppressed.
    pub(super) fn clamp_below(&mut self, a: &Interval<E::Value>, min: f32) -> [E::Value; 2] {
        if self.nan != Nan::Suppress || a.is_within(min, f32::INFINITY) {
            return a.endpoints();
        }
        let min = self.emit.f32(min);
        a.endpoints().map(|end| self.emit.max(end, min))
    }

    /// If NaN propagates, tests that the operand is finite.
    pub(super) fn require_finite(&mut self, a: &Interval<E::Value>) {
        if self.nan != Nan::Propagate {
            return;
        }
        let infinities = [f32::NEG_INFINITY, f32::INFINITY].map(|end| self.emit.f32(end));
        if a.may_be_negative_infinity() {
            let condition = self.emit.lt(infinities[0], a.lo);
            self.require(condition);
        }
        if a.may_be_positive_infinity() || a.may_be_nan() {
            let condition = self.emit.lt(a.hi, infinities[1]);
            self.require(condition);
        }
    }

    /// Replaces NaN by 0, for code that suppresses NaN. Operations that ignore NaN consult
    /// [`Facts::nan`].
    pub fn nan_to_zero(&mut self, x: E::Value) -> E::Value {
        self.replace_nan(x, 0.0)
    }

    /// Replaces NaN by a constant.
    fn replace_nan(&mut self, x: E::Value, replacement: f32) -> E::Value {
        let is_not_nan = self.emit.eq(x, x);
        let replacement = self.emit.f32(replacement);
        self.emit.select(is_not_nan, x, replacement)
    }

    /// An operation at one endpoint of each operand. If NaN is suppressed, `replacement` replaces a
    /// NaN result.
    pub(super) fn at_corner(
        &mut self,
        op: Op,
        [a, b]: [&Interval<E::Value>; 2],
        [i, j]: [usize; 2],
        replacement: Option<f32>,
    ) -> E::Value {
        let result = self.emit.op(op, &[a.endpoints()[i], b.endpoints()[j]]);
        match replacement {
            Some(replacement) if self.nan == Nan::Suppress => self.replace_nan(result, replacement),
            _ => result,
        }
    }

    /// Endpoints of an operation that is monotone in each operand: the minimum over some corners,
    /// and the maximum over others.
    pub(super) fn at_corners(
        &mut self,
        op: Op,
        args: [&Interval<E::Value>; 2],
        [low, high]: [Corners; 2],
        replacement: Option<f32>,
    ) -> [E::Value; 2] {
        let low: Vec<_> =
            low.iter().map(|&corner| self.at_corner(op, args, corner, replacement)).collect();
        let high: Vec<_> =
            high.iter().map(|&corner| self.at_corner(op, args, corner, replacement)).collect();
        [self.min_of(&low), self.max_of(&high)]
    }

    /// Endpoints of a product or quotient: the minimum over some corners, and the maximum over
    /// others. `sign` is the sign of all results. If NaN is suppressed and a corner may be NaN, it
    /// counts as 0.
    ///
    /// Minima and maxima ignore a NaN second operand. So only corners at even positions replace NaN
    /// by 0. The others need not: if a result there is NaN, then one at an even position is 0 or
    /// NaN. [`ALL`] and the two-corner cases in `arithmetic` have this property. Take a · b with
    /// a ≥ 0, where a̲b̲ comes first. If āb̲ is NaN, then ā = 0, so that a̲ = 0 and a̲b̲ is NaN, too; or
    /// b̲ = 0, so that a̲b̲ is 0 or NaN.
    pub(super) fn at_corners_or_zero(
        &mut self,
        op: Op,
        [a, b]: [&Interval<E::Value>; 2],
        corners: [Corners; 2],
        sign: Sign,
        may_create_nan: bool,
    ) -> [E::Value; 2] {
        if !may_create_nan || self.nan != Nan::Suppress {
            return self.at_corners(op, [a, b], corners, None);
        }
        let mut end = |corners: Corners, reduction: Op| {
            // Equal results are computed once, and replace NaN if one of them does.
            let mut results: Vec<(E::Value, bool)> = vec![];
            for (k, &[i, j]) in corners.iter().enumerate() {
                let result = self.emit.op(op, &[a.endpoints()[i], b.endpoints()[j]]);
                let replaces = k % 2 == 0;
                match results.iter_mut().find(|(other, _)| *other == result) {
                    Some((_, other)) => *other |= replaces,
                    None => results.push((result, replaces)),
                }
            }
            let (replacing, others): (Vec<_>, Vec<_>) =
                results.into_iter().partition(|&(_, replaces)| replaces);
            let mut ends: Vec<_> = replacing
                .into_iter()
                .map(|(result, _)| self.nan_to_zero_of_sign(result, sign))
                .collect();
            for (k, (result, _)) in others.into_iter().enumerate() {
                let first = k % ends.len();
                ends[first] = self.emit.op(reduction, &[ends[first], result]);
            }
            self.reduce(reduction, &ends)
        };
        [end(corners[0], Op::Min), end(corners[1], Op::Max)]
    }

    /// Replaces NaN by 0 in a value of known sign. One operation suffices unless the sign is not
    /// known. May replace −0 by +0, too.
    pub(super) fn nan_to_zero_of_sign(&mut self, x: E::Value, sign: Sign) -> E::Value {
        let zero = self.emit.f32(0.0);
        match sign {
            Sign::Plus => self.emit.op(Op::Max, &[zero, x]),
            Sign::Minus => self.emit.op(Op::Min, &[zero, x]),
            Sign::Any => self.nan_to_zero(x),
        }
    }

    /// Conditions that the results at the selected corners are not NaN, one per distinct result.
    pub(super) fn are_not_nan(
        &mut self,
        op: Op,
        [a, b]: [&Interval<E::Value>; 2],
        is_selected: impl Fn([usize; 2]) -> bool,
    ) -> Vec<E::Value> {
        let mut results: Vec<E::Value> = vec![];
        for &[i, j] in ALL.iter().filter(|&&corner| is_selected(corner)) {
            let result = self.emit.op(op, &[a.endpoints()[i], b.endpoints()[j]]);
            if !results.contains(&result) {
                results.push(result);
            }
        }
        results.into_iter().map(|x| self.emit.eq(x, x)).collect()
    }
}
