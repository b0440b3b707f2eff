//! Elementary functions of one operand that are monotone, or so on either side of 0.
//!
//! Their endpoints are results at endpoints. Direction, domain and widening come from the
//! operation's [facts](crate::ir::facts).

use super::guards::Sign;
use super::{Forms, Interval, Nan};
use crate::ir::{Emit, Monotonicity, Op, OpFacts};
use crate::math::Steps;

impl<E: Emit<Value: PartialEq>> Forms<'_, E> {
    /// A monotone elementary function.
    ///
    /// Tests that both ends are where it is defined, unless that is known; where it is everywhere,
    /// that a is a number, if it can be NaN.
    pub(super) fn elementary(&mut self, op: Op, a: &Interval<E::Value>) -> [E::Value; 2] {
        let OpFacts { monotone, domain: [least, most], widening, range: [_, largest], .. } =
            op.facts();
        self.case = if a.is_within(least, most) { "defined" } else { "general" };
        self.require_at_least(a, least);
        self.require_at_most(a, most);
        let cut = self.cut_below(a, least);
        let cut = self.cut_above(a, cut, most);
        let [x, y] = cut.map(|end| self.emit.op(op, &[end]));
        let ends = match monotone {
            [Monotonicity::Increasing] => [x, y],
            [Monotonicity::Decreasing] => [y, x],
            _ => unreachable!("{} is not monotone", op.name()),
        };
        if widening == 0 {
            return ends;
        }
        // The functions that are widened rise through 0, so that results have the sign of operands.
        self.widened(ends, a.sign(), widening, largest)
    }

    /// Endpoints of what is of some sign, times 1 ± k · 2⁻²³, which is k floats outwards at least,
    /// but not beyond ± the largest result.
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
                let ends = [self.emit.mul(lo, less), self.emit.mul(lo, more)];
                self.least(&ends)
            }
        };
        let hi = match sign {
            Sign::Plus => self.emit.mul(hi, more),
            Sign::Minus => self.emit.mul(hi, less),
            Sign::Any => {
                let ends = [self.emit.mul(hi, less), self.emit.mul(hi, more)];
                self.greatest(&ends)
            }
        };
        if largest == f32::INFINITY {
            return [lo, hi];
        }
        let [bottom, top] = [-largest, largest].map(|end| self.emit.f32(end));
        [self.emit.max(lo, bottom), self.emit.min(hi, top)]
    }

    /// cosh a, which falls to 0 and rises from there. Tests that a is a number, if it can be NaN.
    pub(super) fn cosh(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        self.require_number(a);
        let ends = match a.sign() {
            Sign::Plus => {
                self.case = "a ≥ 0";
                a.ends()
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
        ends.map(|end| self.emit.op(Op::Cosh, &[end]))
    }

    /// Where NaN propagates, tests that the operand is no more than the greatest number for which
    /// an operation is defined.
    fn require_at_most(&mut self, a: &Interval<E::Value>, most: f32) {
        if most == f32::INFINITY {
            return if a.is_within(f32::NEG_INFINITY, most) {
                self.require_number(a)
            };
        }
        if self.nan == Nan::Propagate && (a.may_be_nan() || !a.is_within(f32::NEG_INFINITY, most)) {
            let most = self.emit.f32(most);
            let condition = self.emit.le(a.hi, most);
            self.require(condition);
        }
    }

    /// The ends of an operand where those greater than some number are void: with NaN suppressed,
    /// they become that number.
    fn cut_above(
        &mut self,
        a: &Interval<E::Value>,
        ends: [E::Value; 2],
        most: f32,
    ) -> [E::Value; 2] {
        if self.nan != Nan::Suppress || a.is_within(f32::NEG_INFINITY, most) {
            return ends;
        }
        let most = self.emit.f32(most);
        ends.map(|end| self.emit.min(end, most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::testing::Form;

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
            let met = Form::of(op).check_floats(&[domain], 4_000);
            assert!(met.contains("defined"), "{}: {met:?}", op.name());
        }
        let met = Form::of(Op::Cosh).check_floats(&[[-100.0, 100.0]], 4_000);
        assert_eq!(met, ["a ≤ 0", "a ≥ 0", "general"].into_iter().collect());
    }

    #[test]
    fn functions_that_are_not_quite_monotone_are_widened() {
        for op in [Op::Atan, Op::Asinh] {
            Form::of(op).not_quite_monotone().check_floats(&[[-200.0, 200.0]], 4_000);
            // Each with its successor, whose result may be on the wrong side.
            let nearby = (0..60_000)
                .map(|k| 1.2f32 + k as f32 * f32::EPSILON * 2.0)
                .chain([127.64114f32, 1.2058365]);
            for x in nearby {
                let ends = Form::of(op).ends(&[[x, x.next_up().next_up()]]);
                let middle = f32::from_bits(op.eval(&[x.next_up().to_bits()]));
                assert!(ends[0] <= middle && middle <= ends[1], "{} at {x:?}", op.name());
            }
        }
    }
}
