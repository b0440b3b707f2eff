//! Elementary functions of one operand that are monotone, or monotone on either side of 0.
//!
//! Their endpoints are results at endpoints. Monotonicity, domain and widening come from the
//! operation's [facts](crate::ir::facts).

use super::guards::Sign;
use super::{Interval, Nan, OpLowering};
use crate::ir::{Emit, Monotonicity, Op, OpFacts};
use crate::math::EmitExt;

impl<E: Emit<Value: PartialEq>> OpLowering<'_, E> {
    /// A monotone elementary function.
    ///
    /// Tests that both endpoints are in its domain, unless that is known. If the domain is
    /// unrestricted, tests that a is not NaN, unless that is known.
    pub(super) fn elementary(&mut self, op: Op, a: &Interval<E::Value>) -> [E::Value; 2] {
        let OpFacts { monotone, domain: [least, most], widening, range: [_, largest], .. } =
            op.facts();
        self.case = if a.is_within(least, most) { "defined" } else { "general" };
        self.require_at_least(a, least);
        self.require_at_most(a, most);
        let clamped = self.clamp_below(a, least);
        let clamped = self.clamp_above(a, clamped, most);
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

    /// Endpoints with a known sign, times 1 ± k · 2⁻²³, which moves them outwards by at least k
    /// floats, but not beyond ± the largest result.
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
                self.least(&endpoints)
            }
        };
        let hi = match sign {
            Sign::Plus => self.emit.mul(hi, more),
            Sign::Minus => self.emit.mul(hi, less),
            Sign::Any => {
                let endpoints = [self.emit.mul(hi, less), self.emit.mul(hi, more)];
                self.greatest(&endpoints)
            }
        };
        if largest == f32::INFINITY {
            return [lo, hi];
        }
        let [bottom, top] = [-largest, largest].map(|end| self.emit.f32(end));
        [self.emit.max(lo, bottom), self.emit.min(hi, top)]
    }

    /// cosh a, which decreases up to 0 and increases from there. Tests that a is not NaN, unless
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
                let low = self.least_magnitude(a);
                let minus = self.emit.neg(a.lo);
                [low, self.emit.max(a.hi, minus)]
            }
        };
        endpoints.map(|end| self.emit.op(Op::Cosh, &[end]))
    }

    /// If NaN propagates, tests that the operand is within the upper limit of an operation's
    /// domain.
    fn require_at_most(&mut self, a: &Interval<E::Value>, most: f32) {
        if most == f32::INFINITY {
            return if a.is_within(f32::NEG_INFINITY, most) {
                self.require_not_nan(a)
            };
        }
        if self.nan == Nan::Propagate && (a.may_be_nan() || !a.is_within(f32::NEG_INFINITY, most)) {
            let most = self.emit.f32(most);
            let condition = self.emit.le(a.hi, most);
            self.require(condition);
        }
    }

    /// Clamps the endpoints of an operand to the upper limit of an operation's domain, if NaN is
    /// suppressed.
    fn clamp_above(
        &mut self,
        a: &Interval<E::Value>,
        endpoints: [E::Value; 2],
        most: f32,
    ) -> [E::Value; 2] {
        if self.nan != Nan::Suppress || a.is_within(f32::NEG_INFINITY, most) {
            return endpoints;
        }
        let most = self.emit.f32(most);
        endpoints.map(|end| self.emit.min(end, most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::testing::OpTest;

    #[test]
    fn elementary_functions_keep_the_contract_in_all_cases() {
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
            let met = OpTest::of(op).check_floats(&[domain], 4_000);
            assert!(met.contains("defined"), "{}: {met:?}", op.name());
        }
        let met = OpTest::of(Op::Cosh).check_floats(&[[-100.0, 100.0]], 4_000);
        assert_eq!(met, ["a ≤ 0", "a ≥ 0", "general"].into_iter().collect());
    }

    #[test]
    fn functions_that_are_not_quite_monotone_are_widened() {
        for op in [Op::Atan, Op::Asinh] {
            OpTest::of(op).not_quite_monotone().check_floats(&[[-200.0, 200.0]], 4_000);
            // Each with its successor, whose result may violate monotonicity.
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
