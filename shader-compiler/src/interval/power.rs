//! Powers and roots.

use super::arithmetic::product;
use super::guards::Sign;
use super::{Interval, OpLowering};
use crate::ir::{Emit, Op};
use crate::math::EmitExt;

impl<E: Emit<Value: PartialEq>> OpLowering<'_, E> {
    /// √a. Tests that a ≥ 0, unless that is known.
    pub(super) fn sqrt(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        self.case = if a.is_within(0.0, f32::INFINITY) { "a ≥ 0" } else { "general" };
        self.require_at_least(a, 0.0);
        self.clamp_below(a, 0.0).map(|end| self.emit.sqrt(end))
    }

    /// 1 ÷ √a, which is decreasing. Tests that a ≥ 0, unless that is known. The result for −0 is
    /// −∞: if a may be −0, the result is unbounded if a contains 0.
    pub(super) fn rsqrt(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        self.require_at_least(a, 0.0);
        let [hi, lo] = self.clamp_below(a, 0.0).map(|end| self.emit.op(Op::Rsqrt, &[end]));
        let may_pass_the_pole =
            a.facts.negative_zero && !a.facts.singleton && a.known.floats().low() <= 0.0;
        if !may_pass_the_pole {
            self.case = if a.is_within(0.0, f32::INFINITY) { "a ≥ +0" } else { "no −0" };
            return [lo, hi];
        }
        self.case = "general";
        let zero = self.emit.f32(0.0);
        let contains_zero = self.emit.le(a.lo, zero);
        let (min, max) = (self.emit.f32(f32::NEG_INFINITY), self.emit.f32(f32::INFINITY));
        [self.emit.select(contains_zero, min, lo), self.emit.select(contains_zero, max, hi)]
    }

    /// aᵇ = 2^(b log₂ a), with the cases of a product (Clarberg et al. 2010 §4.1). The sign of log₂
    /// a is the sign of a − 1.
    ///
    /// Tests that a ≥ 0, unless that is known. Tests that b is finite, unless that or a ≠ 1 is
    /// known. If NaN is suppressed, 1^±∞ at the endpoints is 1.
    pub(super) fn pow(&mut self, a: &Interval<E::Value>, b: &Interval<E::Value>) -> [E::Value; 2] {
        self.require_at_least(a, 0.0);
        let may_be_one = a.known.floats().pieces.contains(1.0);
        if may_be_one || b.may_be_nan() {
            self.require_finite(b);
        }
        let (case, corners) = product(sign_of_logarithm(a), b.sign());
        self.case = match case {
            "a ≥ 0, b ≥ 0" => "a ≥ 1, b ≥ 0",
            "a ≥ 0, b ≤ 0" => "a ≥ 1, b ≤ 0",
            "a ≤ 0, b ≥ 0" => "a ≤ 1, b ≥ 0",
            "a ≤ 0, b ≤ 0" => "a ≤ 1, b ≤ 0",
            "a ≥ 0" => "a ≥ 1",
            "a ≤ 0" => "a ≤ 1",
            other => other,
        };
        let [lo, hi] = self.clamp_below(a, 0.0);
        let base = Interval { lo, hi, ..*a };
        let nan_replacement = (may_be_one && b.may_be_infinite()).then_some(1.0);
        self.at_corners(Op::Pow, [&base, b], corners, nan_replacement)
    }
}

/// Sign of log a for a ≥ 0.
fn sign_of_logarithm<V: Copy + PartialEq>(a: &Interval<V>) -> Sign {
    if a.is_within(1.0, f32::INFINITY) {
        Sign::Plus
    } else if a.is_within(f32::NEG_INFINITY, 1.0) {
        Sign::Minus
    } else {
        Sign::Any
    }
}

#[cfg(test)]
mod tests {
    use crate::interval::testing::OpTest;
    use crate::ir::Op;

    const POSITIVE: [f32; 2] = [0.0, f32::INFINITY];

    #[test]
    fn square_roots_satisfy_the_contract_in_all_cases() {
        assert_eq!(
            OpTest::of(Op::Sqrt).check_floats(&[POSITIVE], 8_000),
            ["a ≥ 0", "general"].into_iter().collect()
        );
    }

    #[test]
    fn reciprocal_square_roots_satisfy_the_contract_in_all_cases() {
        let cases = OpTest::of(Op::Rsqrt).check_floats(&[POSITIVE], 8_000);
        assert_eq!(cases, ["a ≥ +0", "general", "no −0"].into_iter().collect());
    }

    #[test]
    fn powers_satisfy_the_contract_in_all_cases() {
        let cases = OpTest::of(Op::Pow).check_floats(&[[0.0, 3.0], [-9.0, 9.0]], 2_000);
        let one_sign_cases = ["a ≥ 1", "a ≤ 1", "b ≥ 0", "b ≤ 0", "general"];
        let two_sign_cases = ["a ≥ 1, b ≥ 0", "a ≥ 1, b ≤ 0", "a ≤ 1, b ≥ 0", "a ≤ 1, b ≤ 0"];
        assert_eq!(cases, one_sign_cases.into_iter().chain(two_sign_cases).collect());
    }
}
