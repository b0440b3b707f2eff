//! Rounding to integers, and operations based on it.

use super::guards::Sign;
use super::{Facts, Floats, Interval, Nan, OpLowering};
use crate::ir::{Emit, Op};
use crate::math::EmitExt;

impl<E: Emit<Value: PartialEq>> OpLowering<'_, E> {
    /// `floor`, `ceil`, `trunc` or `round`. Tests nothing.
    pub(super) fn round_to_integral(&mut self, op: Op, a: &Interval<E::Value>) -> [E::Value; 2] {
        self.case = "endpoints";
        a.endpoints().map(|end| self.emit.op(op, &[end]))
    }

    /// The sign: −1, 0 or 1. Tests that a is not NaN, unless that is known.
    pub(super) fn sign(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        self.case = "endpoints";
        self.require_not_nan(a);
        a.endpoints().map(|end| self.emit.op(Op::Sign, &[end]))
    }

    /// a − ⌊a⌋, which increases between integers. Tests that a is finite, unless that
    /// is known.
    pub(super) fn fract(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        self.require_finite(a);
        let [mut lo, mut hi] = a.endpoints().map(|end| self.emit.op(Op::Fract, &[end]));
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
        let [x, y] = a.endpoints().map(|end| self.emit.floor(end));
        let is_between = self.emit.eq(x, y);
        [self.emit.select(is_between, lo, zero), self.emit.select(is_between, hi, one)]
    }

    /// 1 if edge ≤ x, else 0, also for NaN. Tests that neither is NaN, unless that is known.
    pub(super) fn step(
        &mut self,
        edge: &Interval<E::Value>,
        x: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        self.require_not_nan(edge);
        self.require_not_nan(x);
        let [zero, one] = [0.0, 1.0].map(|end| self.emit.f32(end));
        let (edges, xs) = (edge.known.floats(), x.known.floats());
        let [lo, hi] = if xs.high() < edges.low() {
            self.case = "x < edge";
            [zero; 2]
        } else if edges.high() <= xs.low() {
            self.case = "x ≥ edge";
            [one; 2]
        } else {
            self.case = "endpoints";
            [self.emit.op(Op::Step, &[edge.hi, x.lo]), self.emit.op(Op::Step, &[edge.lo, x.hi])]
        };
        // The result for NaN is 0.
        [if self.nan == Nan::Suppress && (edge.facts.nan || x.facts.nan) { zero } else { lo }, hi]
    }

    /// t²(3 − 2t) for t = clamp((x − low) ÷ (high − low), 0, 1). It is not quite monotone in t, and
    /// therefore widened by one ulp.
    ///
    /// Tests what the quotient tests, and that the quotient is neither infinite nor NaN.
    pub(super) fn smoothstep(
        &mut self,
        low: &Interval<E::Value>,
        high: &Interval<E::Value>,
        x: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        let distance = self.difference(x, low);
        let width = self.difference(high, low);
        let [lo, hi] = self.div(&distance, &width);
        let facts = Facts { nan: true, negative_zero: true, singleton: false };
        let t = Interval::between([lo, hi], Floats::all(), facts);
        self.require_not_nan(&t);
        let [lo, hi] = t.endpoints().map(|end| {
            let t = self.emit.clamp(end, 0.0, 1.0);
            let square = self.emit.mul(t, t);
            let double = self.emit.add(t, t);
            let three = self.emit.f32(3.0);
            let rest = self.emit.sub(three, double);
            self.emit.mul(square, rest)
        });
        self.case = "endpoints";
        self.widened([lo, hi], Sign::Plus, Op::Smoothstep.facts().widening, 1.0)
    }

    /// a − b with its facts, as an operand.
    fn difference(&mut self, a: &Interval<E::Value>, b: &Interval<E::Value>) -> Interval<E::Value> {
        let endpoints = self.sub(a, b);
        // −0 only results from −0 − (+0).
        let negative_zero = a.facts.negative_zero;
        let (x, y) = (a.known.floats(), b.known.floats());
        let [low, high] = [x.low() - y.high(), x.high() - y.low()];
        let may_be_nan = x.nan || y.nan || a.may_be_infinite() && b.may_be_infinite();
        let known = if may_be_nan { Floats::all() } else { Floats::between(low, high) };
        let known = Floats { negative_zero: known.negative_zero && negative_zero, ..known };
        let facts =
            Facts { nan: true, negative_zero, singleton: a.facts.singleton && b.facts.singleton };
        Interval::between(endpoints, known, facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::testing::OpTest;

    const ALL_FLOATS: [f32; 2] = [f32::NEG_INFINITY, f32::INFINITY];

    #[test]
    fn rounding_satisfies_the_contract() {
        for op in [Op::Floor, Op::Ceil, Op::Trunc, Op::Round] {
            assert_eq!(
                OpTest::of(op).check_floats(&[ALL_FLOATS], 10_000),
                ["endpoints"].into_iter().collect()
            );
        }
    }

    #[test]
    fn operations_based_on_rounding_satisfy_the_contract() {
        assert_eq!(
            OpTest::of(Op::Sign).check_floats(&[ALL_FLOATS], 4_000),
            ["endpoints"].into_iter().collect()
        );
        let cases = OpTest::of(Op::Fract).check_floats(&[[-9.0, 9.0]], 8_000);
        assert_eq!(cases, ["between integers", "general"].into_iter().collect());
        let cases = OpTest::of(Op::Step).check_floats(&[[-2.0, 2.0]; 2], 8_000);
        assert_eq!(cases, ["endpoints", "x < edge", "x ≥ edge"].into_iter().collect());
    }

    #[test]
    fn smoothstep_contains_results_of_members() {
        OpTest::of(Op::Smoothstep)
            .not_quite_monotone()
            .check_floats(&[[-2.0, 2.0], [-2.0, 2.0], [-3.0, 3.0]], 500);
        OpTest::of(Op::Smoothstep)
            .not_quite_monotone()
            .check_floats(&[[-2.0, 0.0], [1.0, 2.0], [-3.0, 3.0]], 500);
    }
}
