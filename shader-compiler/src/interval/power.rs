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

    /// 1 ÷ √a, which is decreasing. Tests that a ≥ 0, unless that is known. If a may be −0, whose
    /// result is −∞, unbounded if a contains 0.
    pub(super) fn rsqrt(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        self.require_at_least(a, 0.0);
        let [hi, lo] = self.clamp_below(a, 0.0).map(|end| self.emit.op(Op::Rsqrt, &[end]));
        let may_be_behind =
            a.facts.negative_zero && !a.facts.singleton && a.known.floats().low() <= 0.0;
        if !may_be_behind {
            self.case = if a.is_within(0.0, f32::INFINITY) { "a ≥ +0" } else { "no −0" };
            return [lo, hi];
        }
        self.case = "general";
        let zero = self.emit.f32(0.0);
        let holds_zero = self.emit.le(a.lo, zero);
        let (least, most) = (self.emit.f32(f32::NEG_INFINITY), self.emit.f32(f32::INFINITY));
        [self.emit.select(holds_zero, least, lo), self.emit.select(holds_zero, most, hi)]
    }

    /// aᵇ, as 2 to the product of log a, whose sign is that of a − 1, and b. The cases are those of
    /// a product (Clarberg et al. 2010 §4.1).
    ///
    /// Tests that a ≥ 0, unless that is known. Tests that b is finite, unless that or a ≠ 1 is
    /// known. With NaN suppressed, 1 to an infinity is 1 at the endpoints.
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
        let instead = (may_be_one && b.may_be_infinite()).then_some(1.0);
        self.at_corners(Op::Pow, [&base, b], corners, instead)
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
    fn roots_keep_the_contract_in_all_cases() {
        assert_eq!(
            OpTest::of(Op::Sqrt).check_floats(&[POSITIVE], 8_000),
            ["a ≥ 0", "general"].into_iter().collect()
        );
    }

    #[test]
    fn reciprocal_roots_keep_the_contract_in_all_cases() {
        let met = OpTest::of(Op::Rsqrt).check_floats(&[POSITIVE], 8_000);
        assert_eq!(met, ["a ≥ +0", "general", "no −0"].into_iter().collect());
    }

    #[test]
    fn powers_keep_the_contract_in_all_cases() {
        let met = OpTest::of(Op::Pow).check_floats(&[[0.0, 3.0], [-9.0, 9.0]], 2_000);
        let of_one = ["a ≥ 1", "a ≤ 1", "b ≥ 0", "b ≤ 0", "general"];
        let of_both = ["a ≥ 1, b ≥ 0", "a ≥ 1, b ≤ 0", "a ≤ 1, b ≥ 0", "a ≤ 1, b ≤ 0"];
        assert_eq!(met, of_one.into_iter().chain(of_both).collect());
    }
}
