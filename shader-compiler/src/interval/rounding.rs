//! Rounding to integers, and what is made of it.

use super::guards::Sign;
use super::{Facts, Forms, Interval, Nan};
use crate::analysis::Floats;
use crate::ir::{Emit, Op};
use crate::math::Steps;

impl<E: Emit<Value: PartialEq>> Forms<'_, E> {
    /// An integer next to a: one of `floor`, `ceil`, `trunc` and `round`. Tests nothing.
    pub(super) fn whole(&mut self, op: Op, a: &Interval<E::Value>) -> [E::Value; 2] {
        self.case = "ends";
        a.ends().map(|end| self.emit.op(op, &[end]))
    }

    /// −1, 0 or 1. Tests that a is a number, if it can be NaN.
    pub(super) fn sign(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        self.case = "ends";
        self.require_number(a);
        a.ends().map(|end| self.emit.op(Op::Sign, &[end]))
    }

    /// a − ⌊a⌋, which rises from one integer to the next. Tests that a is finite, unless that is
    /// known.
    pub(super) fn fract(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        self.require_finite(a);
        let [mut lo, mut hi] = a.ends().map(|end| self.emit.op(Op::Fract, &[end]));
        let [zero, one] = [0.0, 1.0].map(|end| self.emit.f32(end));
        let floats = a.known.floats();
        if floats.low().floor() == floats.high().floor() && floats.low().is_finite() {
            self.case = "between integers";
            return [lo, hi];
        }
        self.case = "general";
        if self.nan == Nan::Suppress && a.may_be_infinite() {
            [lo, hi] = [self.emit.max(zero, lo), self.emit.min(one, hi)];
        }
        let [x, y] = a.ends().map(|end| self.emit.floor(end));
        let is_between = self.emit.eq(x, y);
        [self.emit.select(is_between, lo, zero), self.emit.select(is_between, hi, one)]
    }

    /// 1 where edge ≤ x, else 0, for NaN too. Tests that both are numbers, if they can be NaN.
    pub(super) fn step(
        &mut self,
        edge: &Interval<E::Value>,
        x: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        self.require_number(edge);
        self.require_number(x);
        let [zero, one] = [0.0, 1.0].map(|end| self.emit.f32(end));
        let (edges, xs) = (edge.known.floats(), x.known.floats());
        let [lo, hi] = if xs.high() < edges.low() {
            self.case = "x < edge";
            [zero; 2]
        } else if edges.high() <= xs.low() {
            self.case = "x ≥ edge";
            [one; 2]
        } else {
            self.case = "ends";
            [self.emit.op(Op::Step, &[edge.hi, x.lo]), self.emit.op(Op::Step, &[edge.lo, x.hi])]
        };
        // NaN is not beyond the edge.
        [if self.nan == Nan::Suppress && (edge.facts.nan || x.facts.nan) { zero } else { lo }, hi]
    }

    /// t²(3 − 2t) of t = clamp((x − low) ÷ (high − low), 0, 1), which is not quite monotone in t,
    /// but widened by a float.
    ///
    /// Tests what the quotient does, and that it is no infinity or NaN, unless that is known.
    pub(super) fn smoothstep(
        &mut self,
        low: &Interval<E::Value>,
        high: &Interval<E::Value>,
        x: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        let distance = self.difference(x, low);
        let width = self.difference(high, low);
        let [lo, hi] = self.div(&distance, &width);
        let facts = Facts { nan: true, negative_zero: true, number: false };
        let t = Interval::between([lo, hi], Floats::all(), facts);
        self.require_number(&t);
        let [lo, hi] = t.ends().map(|end| {
            let t = self.emit.clamp(end, 0.0, 1.0);
            let square = self.emit.mul(t, t);
            let double = self.emit.add(t, t);
            let three = self.emit.f32(3.0);
            let rest = self.emit.sub(three, double);
            self.emit.mul(square, rest)
        });
        self.case = "ends";
        self.widened([lo, hi], Sign::Plus, Op::Smoothstep.facts().widening, 1.0)
    }

    /// a − b, and what is known of it.
    fn difference(&mut self, a: &Interval<E::Value>, b: &Interval<E::Value>) -> Interval<E::Value> {
        let ends = self.sub(a, b);
        // −0 comes from −0 − (+0) alone.
        let negative_zero = a.facts.negative_zero;
        let (x, y) = (a.known.floats(), b.known.floats());
        let [low, high] = [x.low() - y.high(), x.high() - y.low()];
        let may_fail = x.nan || y.nan || a.may_be_infinite() && b.may_be_infinite();
        let known = if may_fail { Floats::all() } else { Floats::between(low, high) };
        let known = Floats { negative_zero: known.negative_zero && negative_zero, ..known };
        let facts = Facts { nan: true, negative_zero, number: a.facts.number && b.facts.number };
        Interval::between(ends, known, facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::testing::Form;

    const ALL_FLOATS: [f32; 2] = [f32::NEG_INFINITY, f32::INFINITY];

    #[test]
    fn rounding_keeps_the_contract() {
        for op in [Op::Floor, Op::Ceil, Op::Trunc, Op::Round] {
            assert_eq!(
                Form::of(op).check_floats(&[ALL_FLOATS], 10_000),
                ["ends"].into_iter().collect()
            );
        }
    }

    #[test]
    fn what_is_made_of_rounding_keeps_the_contract() {
        assert_eq!(
            Form::of(Op::Sign).check_floats(&[ALL_FLOATS], 4_000),
            ["ends"].into_iter().collect()
        );
        let met = Form::of(Op::Fract).check_floats(&[[-9.0, 9.0]], 8_000);
        assert_eq!(met, ["between integers", "general"].into_iter().collect());
        let met = Form::of(Op::Step).check_floats(&[[-2.0, 2.0]; 2], 8_000);
        assert_eq!(met, ["ends", "x < edge", "x ≥ edge"].into_iter().collect());
    }

    #[test]
    fn smooth_steps_are_contained() {
        Form::of(Op::Smoothstep)
            .not_quite_monotone()
            .check_floats(&[[-2.0, 2.0], [-2.0, 2.0], [-3.0, 3.0]], 500);
        Form::of(Op::Smoothstep)
            .not_quite_monotone()
            .check_floats(&[[-2.0, 0.0], [1.0, 2.0], [-3.0, 3.0]], 500);
    }
}
