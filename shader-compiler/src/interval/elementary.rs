//! Elementary functions of one operand that are monotone, or monotone on each side of 0.
//!
//! The endpoints of their results are results at endpoints. Monotonicity, domain and widening come
//! from the operation's [facts](crate::ir::facts).

use super::guards::Sign;
use super::{Interval, Nan, OpLowering};
use crate::ir::{Emit, Monotonicity, Op, OpFacts};
use crate::math::EmitExt;

impl<E: Emit<Value: PartialEq>> OpLowering<'_, E> {
    /// A monotone elementary function.
    ///
    /// Unless they are known to hold, tests that both endpoints are in its domain, or, if the
    /// domain is unrestricted, that a is not NaN.
    pub(super) fn elementary(&mut self, op: Op, a: &Interval<E::Value>) -> [E::Value; 2] {
        let OpFacts { monotone, domain: [min, max], widening, range: [_, largest], .. } =
            op.facts();
        self.case = if a.is_within(min, max) { "defined" } else { "general" };
        self.require_at_least(a, min);
        self.require_at_most(a, max);
        let clamped = self.clamp_below(a, min);
        let clamped = self.clamp_above(a, clamped, max);
        let [x, y] = clamped.map(|end| self.emit.op(op, &[end]));
        let endpoints = match monotone {
            [Monotonicity::Increasing] => [x, y],
            [Monotonicity::Decreasing] => [y, x],
            _ => unreachable!("{} is not monotone", op.name()),
        };
        if widening == 0 {
            return endpoints;
        }
        // Functions with widening increase through 0, so results have the sign of operands.
        self.widened(endpoints, a.sign(), widening, largest)
    }

    /// Endpoints of results of the given sign, widened by a factor 1 ± k · 2⁻²³, which is at least
    /// k ulps, but not beyond ±`largest`. k is `widening`.
    pub(super) fn widened(
        &mut self,
        [lo, hi]: [E::Value; 2],
        sign: Sign,
        widening: u8,
        largest: f32,
    ) -> [E::Value; 2] {
        let slack = f32::from(widening) * f32::EPSILON;
        let [less, more] = [1.0 - slack, 1.0 + slack].map(|factor| self.emit.f32(factor));
        let lo = match sign {
            Sign::Plus => self.emit.mul(lo, less),
            Sign::Minus => self.emit.mul(lo, more),
            Sign::Any => {
                let endpoints = [self.emit.mul(lo, less), self.emit.mul(lo, more)];
                self.min_of(&endpoints)
            }
        };
        let hi = match sign {
            Sign::Plus => self.emit.mul(hi, more),
            Sign::Minus => self.emit.mul(hi, less),
            Sign::Any => {
                let endpoints = [self.emit.mul(hi, less), self.emit.mul(hi, more)];
                self.max_of(&endpoints)
            }
        };
        if largest == f32::INFINITY {
            return [lo, hi];
        }
        let [bottom, top] = [-largest, largest].map(|end| self.emit.f32(end));
        [self.emit.max(lo, bottom), self.emit.min(hi, top)]
    }

    /// cosh a, which decreases below 0 and increases above. Tests that a is not NaN, unless
    /// that is known.
    pub(super) fn cosh(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        self.require_not_nan(a);
        let endpoints = match a.sign() {
            Sign::Plus => {
                self.case = "a ≥ 0";
                a.endpoints()
            }
            Sign::Minus => {
                self.case = "a ≤ 0";
                [a.hi, a.lo]
            }
            Sign::Any => {
                self.case = "general";
                let low = self.min_magnitude(a);
                let minus = self.emit.neg(a.lo);
                [low, self.emit.max(a.hi, minus)]
            }
        };
        endpoints.map(|end| self.emit.op(Op::Cosh, &[end]))
    }

    /// If NaN propagates, tests that the operand is at most the maximum of an operation's domain.
    fn require_at_most(&mut self, a: &Interval<E::Value>, max: f32) {
        if max == f32::INFINITY {
            return if a.is_within(f32::NEG_INFINITY, max) {
                self.require_not_nan(a)
            };
        }
        if self.nan == Nan::Propagate && (a.may_be_nan() || !a.is_within(f32::NEG_INFINITY, max)) {
            let max = self.emit.f32(max);
            let condition = self.emit.le(a.hi, max);
            self.require(condition);
        }
    }

    /// If NaN is suppressed, clamps endpoints of an operand to the maximum of an operation's
    /// domain.
    fn clamp_above(
        &mut self,
        a: &Interval<E::Value>,
        endpoints: [E::Value; 2],
        max: f32,
    ) -> [E::Value; 2] {
        if self.nan != Nan::Suppress || a.is_within(f32::NEG_INFINITY, max) {
            return endpoints;
        }
        let max = self.emit.f32(max);
        endpoints.map(|end| self.emit.min(end, max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::testing::OpTest;

    #[test]
    fn elementary_functions_satisfy_the_contract_in_all_cases() {
        for (op, domain) in [
            (Op::Exp, [-120.0, 120.0]),
            (Op::Exp2, [-160.0, 140.0]),
            (Op::Sinh, [-100.0, 100.0]),
            (Op::Tanh, [-12.0, 12.0]),
            (Op::Log, [0.0, f32::INFINITY]),
            (Op::Log2, [0.0, f32::INFINITY]),
            (Op::Acosh, [1.0, f32::INFINITY]),
            (Op::Asin, [-1.0, 1.0]),
            (Op::Acos, [-1.0, 1.0]),
            (Op::Atanh, [-1.0, 1.0]),
        ] {
            let cases = OpTest::of(op).check_floats(&[domain], 4_000);
            assert!(cases.contains("defined"), "{}: {cases:?}", op.name());
        }
        let cases = OpTest::of(Op::Cosh).check_floats(&[[-100.0, 100.0]], 4_000);
        assert_eq!(cases, ["a ≤ 0", "a ≥ 0", "general"].into_iter().collect());
    }

    #[test]
    fn functions_that_are_not_quite_monotone_are_widened() {
        for op in [Op::Atan, Op::Asinh] {
            OpTest::of(op).not_quite_monotone().check_floats(&[[-200.0, 200.0]], 4_000);
            // The result of the successor of each float may violate monotonicity.
            let nearby = (0..60_000)
                .map(|k| 1.2f32 + k as f32 * f32::EPSILON * 2.0)
                .chain([127.64114f32, 1.2058365]);
            for x in nearby {
                let endpoints = OpTest::of(op).endpoints(&[[x, x.next_up().next_up()]]);
                let middle = f32::from_bits(op.eval(&[x.next_up().to_bits()]));
                assert!(endpoints[0] <= middle && middle <= endpoints[1], "{} at {x:?}", op.name());
            }
        }
    }
}
