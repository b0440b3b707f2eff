//! Sums, products and related operations.
//!
//! Rounding is monotone, so endpoints of results are results at endpoints. The signs of the
//! operands select which. With NaN suppressed, 0 · ∞, 0 ÷ 0 and ∞ ÷ ∞ at the endpoints are 0, which
//! leaves product and quotient monotone in each operand, so that all cases agree.
//!
//! The table gives the endpoints of products (Clarberg et al. 2010 §4.1), and of quotients if b is
//! known not to contain 0, or is found not to at run time. Lower endpoints are a̲ and b̲, upper
//! endpoints ā and b̄. If an operand is a singleton, terms that differ only in its endpoint
//! coincide.
//!
//! | known | a · b | a ÷ b |
//! |---|---|---|
//! | a ≥ 0, b ≥ 0 | \[a̲b̲, āb̄\] | \[a̲/b̄, ā/b̲\] |
//! | a ≥ 0, b ≤ 0 | \[āb̲, a̲b̄\] | \[ā/b̄, a̲/b̲\] |
//! | a ≤ 0, b ≥ 0 | \[a̲b̄, āb̲\] | \[a̲/b̲, ā/b̄\] |
//! | a ≤ 0, b ≤ 0 | \[āb̄, a̲b̲\] | \[ā/b̲, a̲/b̄\] |
//! | a ≥ 0 | \[min(a̲b̲, āb̲), max(a̲b̄, āb̄)\] | \[min(a̲/b̄, ā/b̄), max(a̲/b̲, ā/b̲)\] |
//! | a ≤ 0 | \[min(a̲b̄, āb̄), max(a̲b̲, āb̲)\] | \[min(a̲/b̲, ā/b̲), max(a̲/b̄, ā/b̄)\] |
//! | b ≥ 0 | \[min(a̲b̲, a̲b̄), max(āb̲, āb̄)\] | \[min(a̲/b̲, a̲/b̄), max(ā/b̲, ā/b̄)\] |
//! | b ≤ 0 | \[min(āb̲, āb̄), max(a̲b̲, a̲b̄)\] | \[min(ā/b̲, ā/b̄), max(a̲/b̲, a̲/b̄)\] |
//! | – | minimum and maximum of all four | minimum and maximum of all four |

use super::guards::{ALL, Corners, HI, LO, Sign};
use super::{Interval, Nan, OpLowering};
use crate::ir::{Emit, Op};
use crate::math::EmitExt;

impl<E: Emit<Value: PartialEq>> OpLowering<'_, E> {
    /// a + b. Tests nothing: if one endpoint is ∞ − ∞, the other is infinite or NaN.
    pub(super) fn add(&mut self, a: &Interval<E::Value>, b: &Interval<E::Value>) -> [E::Value; 2] {
        self.case = "endpoints";
        let endpoints = [self.emit.add(a.lo, b.lo), self.emit.add(a.hi, b.hi)];
        let may_create_nan = a.may_be_negative_infinity() && b.may_be_positive_infinity()
            || a.may_be_positive_infinity() && b.may_be_negative_infinity();
        self.unbounded_if_nan(endpoints, may_create_nan)
    }

    /// a − b. Tests nothing, like `add`.
    pub(super) fn sub(&mut self, a: &Interval<E::Value>, b: &Interval<E::Value>) -> [E::Value; 2] {
        self.case = "endpoints";
        let endpoints = [self.emit.sub(a.lo, b.hi), self.emit.sub(a.hi, b.lo)];
        let may_create_nan = a.may_be_negative_infinity() && b.may_be_negative_infinity()
            || a.may_be_positive_infinity() && b.may_be_positive_infinity();
        self.unbounded_if_nan(endpoints, may_create_nan)
    }

    /// If NaN is suppressed, replaces NaN by −∞ and ∞.
    fn unbounded_if_nan(&mut self, [lo, hi]: [E::Value; 2], may_create_nan: bool) -> [E::Value; 2] {
        if self.nan != Nan::Suppress || !may_create_nan {
            return [lo, hi];
        }
        let (min, max) = (self.emit.f32(f32::NEG_INFINITY), self.emit.f32(f32::INFINITY));
        [self.emit.max(min, lo), self.emit.min(max, hi)]
    }

    /// −a. Tests nothing.
    pub(super) fn neg(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        self.case = "endpoints";
        [self.emit.neg(a.hi), self.emit.neg(a.lo)]
    }

    /// a · b. Tests the products of endpoints if they can be NaN. A NaN operand is tested only if a
    /// minimum or maximum could drop the NaN, that is, if neither sign is known. Otherwise, both
    /// terms contain the same endpoint of the operand of unknown sign, and if that is ±∞ because of
    /// a NaN, so is the result, or it is NaN. The first term contains the endpoint of the other
    /// operand that is NaN if that may be NaN, since it cannot be infinite with this sign.
    pub(super) fn mul(&mut self, a: &Interval<E::Value>, b: &Interval<E::Value>) -> [E::Value; 2] {
        if self.same {
            return self.square(a);
        }
        let (case, [low, high]) = product(a.sign(), b.sign());
        self.case = case;
        let may_create_nan =
            a.may_be_zero() && b.may_be_infinite() || a.may_be_infinite() && b.may_be_zero();
        if self.nan == Nan::Propagate {
            let may_drop_operand_nan = a.sign() == Sign::Any
                && b.sign() == Sign::Any
                && !is_one_term(low, a, b)
                && (a.may_be_nan() || b.may_be_nan());
            let (x, y) = (a.extremes(), b.extremes());
            let needs_test = |[i, j]: [usize; 2]| {
                may_drop_operand_nan || x[i].zero && y[j].infinite || x[i].infinite && y[j].zero
            };
            let conditions = self.are_not_nan(Op::Mul, [a, b], needs_test);
            self.nan_free.extend(conditions);
        }
        let sign = a.sign().product(b.sign());
        self.at_corners_or_zero(Op::Mul, [a, b], [low, high], sign, may_create_nan)
    }

    /// a · a. Tests that a is not NaN, unless that is known.
    fn square(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        self.require_not_nan(a);
        let [low, high] = if a.is_singleton() {
            self.case = "square of a singleton";
            a.endpoints()
        } else if a.sign() == Sign::Plus {
            self.case = "square, a ≥ 0";
            a.endpoints()
        } else if a.sign() == Sign::Minus {
            self.case = "square, a ≤ 0";
            [a.hi, a.lo]
        } else {
            self.case = "square";
            // The member closest to 0, and the greatest magnitude.
            let zero = self.emit.f32(0.0);
            let least = self.emit.max(a.lo, zero);
            let minus = self.emit.neg(a.lo);
            [self.emit.min(least, a.hi), self.emit.max(a.hi, minus)]
        };
        [self.emit.mul(low, low), self.emit.mul(high, high)]
    }

    /// max(a̲, −ā, 0), where 0 is +0.
    pub(super) fn min_magnitude(&mut self, a: &Interval<E::Value>) -> E::Value {
        let zero = self.emit.f32(0.0);
        let minus = self.emit.neg(a.hi);
        let distance = self.emit.max(a.lo, minus);
        self.emit.max(zero, distance)
    }

    /// |a|. Tests that a is not NaN, unless that is known. No endpoint is −0.
    pub(super) fn abs(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        self.require_not_nan(a);
        let floats = *a.known.floats();
        match a.sign() {
            _ if a.is_singleton() => {
                self.case = "singleton";
                [self.emit.abs(a.lo); 2]
            }
            Sign::Plus if !floats.negative_zero => {
                self.case = "a ≥ +0";
                a.endpoints()
            }
            Sign::Plus => {
                self.case = "a ≥ 0";
                a.endpoints().map(|end| self.emit.abs(end))
            }
            Sign::Minus => {
                self.case = "a ≤ 0";
                [a.hi, a.lo].map(|end| self.emit.abs(end))
            }
            Sign::Any => {
                self.case = "general";
                let low = self.min_magnitude(a);
                let [x, y] = a.endpoints().map(|end| self.emit.abs(end));
                [low, self.emit.max(x, y)]
            }
        }
    }

    /// a ÷ b. Unbounded if the divisor contains zeros of both signs, or a zero of unknown sign.
    ///
    /// Otherwise, tests the quotients of endpoints if they can be NaN.
    pub(super) fn div(&mut self, a: &Interval<E::Value>, b: &Interval<E::Value>) -> [E::Value; 2] {
        // Of two corners, the one with the smaller |a| or the larger |b| comes first.
        let (case, low, high): (_, Corners, Corners) = match (a.sign(), divisor_sign(b)) {
            (Sign::Plus, Sign::Plus) => ("a ≥ 0, b ≥ 0", &[[LO, HI]], &[[HI, LO]]),
            (Sign::Plus, Sign::Minus) => ("a ≥ 0, b ≤ 0", &[[HI, HI]], &[[LO, LO]]),
            (Sign::Minus, Sign::Plus) => ("a ≤ 0, b ≥ 0", &[[LO, LO]], &[[HI, HI]]),
            (Sign::Minus, Sign::Minus) => ("a ≤ 0, b ≤ 0", &[[HI, LO]], &[[LO, HI]]),
            (Sign::Plus, Sign::Any) => ("a ≥ 0", &[[LO, HI], [HI, HI]], &[[LO, LO], [HI, LO]]),
            (Sign::Minus, Sign::Any) => ("a ≤ 0", &[[HI, LO], [LO, LO]], &[[HI, HI], [LO, HI]]),
            (Sign::Any, Sign::Plus) => ("b ≥ 0", &[[LO, HI], [LO, LO]], &[[HI, HI], [HI, LO]]),
            (Sign::Any, Sign::Minus) => ("b ≤ 0", &[[HI, LO], [HI, HI]], &[[LO, LO], [LO, HI]]),
            (Sign::Any, Sign::Any) => ("general", ALL, ALL),
        };
        self.case = case;
        let may_create_nan =
            a.may_be_zero() && b.may_be_zero() || a.may_be_infinite() && b.may_be_infinite();
        let sign = a.sign().product(divisor_sign(b));
        let has_pole = self.has_pole(b);
        if self.nan == Nan::Propagate {
            // If the sign of b is known, all terms of an endpoint contain the same endpoint of a, and
            // quotients of infinities by finite numbers are infinite.
            let reveals_nan = has_pole.is_none() && divisor_sign(b) != Sign::Any;
            let nan = !reveals_nan && (a.may_be_nan() || b.may_be_nan());
            if reveals_nan && b.may_be_nan() {
                // A NaN leaves no finite endpoint, and the one closer to 0 cannot be infinite.
                let end = b.endpoints()[if divisor_sign(b) == Sign::Plus { LO } else { HI }];
                let is_not_nan = self.emit.eq(end, end);
                self.require(is_not_nan);
            }
            let (x, y) = (a.extremes(), b.extremes());
            let needs_test = |[i, j]: [usize; 2]| {
                nan || x[i].zero && y[j].zero || x[i].infinite && y[j].infinite
            };
            let conditions = self.are_not_nan(Op::Div, [a, b], needs_test);
            let Some(has_pole) = has_pole else {
                self.nan_free.extend(conditions);
                return self.at_corners_or_zero(Op::Div, [a, b], [low, high], sign, may_create_nan);
            };
            if let Some(all) = conditions.into_iter().reduce(|a, b| self.emit.both(a, b)) {
                let condition = self.emit.either(has_pole, all);
                self.require(condition);
            }
        }
        let [lo, hi] = self.at_corners_or_zero(Op::Div, [a, b], [low, high], sign, may_create_nan);
        let Some(has_pole) = has_pole else { return [lo, hi] };
        let (min, max) = (self.emit.f32(f32::NEG_INFINITY), self.emit.f32(f32::INFINITY));
        [self.emit.select(has_pole, min, lo), self.emit.select(has_pole, max, hi)]
    }

    /// Tests whether quotients tend to both −∞ and ∞ within the divisor; `None` if it is known that
    /// they do not. A zero that is known not to be −0 counts as positive (Clarberg et al. 2010
    /// §4.3).
    fn has_pole(&mut self, b: &Interval<E::Value>) -> Option<E::Value> {
        let floats = *b.known.floats();
        let (may_start_below, may_end_above) = if b.facts.negative_zero {
            (floats.low() <= 0.0, floats.high() >= 0.0)
        } else {
            (floats.low() < 0.0, floats.high() >= 0.0)
        };
        if b.facts.singleton || !may_start_below || !may_end_above {
            return None;
        }
        let zero = self.emit.f32(0.0);
        let starts_below = (floats.high() > 0.0 || !b.facts.negative_zero).then(|| {
            if b.facts.negative_zero { self.emit.le(b.lo, zero) } else { self.emit.lt(b.lo, zero) }
        });
        let ends_above = (floats.low() < 0.0).then(|| self.emit.le(zero, b.hi));
        match (starts_below, ends_above) {
            (Some(below), Some(above)) => Some(self.emit.both(below, above)),
            (one, other) => Some(one.or(other).unwrap_or_else(|| self.emit.bool(true))),
        }
    }

    /// b if b < a, else a. Tests that neither is NaN, unless that is known.
    pub(super) fn min(&mut self, a: &Interval<E::Value>, b: &Interval<E::Value>) -> [E::Value; 2] {
        let [lo, hi] =
            self.min_or_max(Op::Min, a, b, a.known.floats().high() <= b.known.floats().low(), {
                b.known.floats().high() <= a.known.floats().low()
            });
        // The operation ignores NaN.
        [lo, if self.nan == Nan::Suppress && b.facts.nan { a.hi } else { hi }]
    }

    /// b if a < b, else a. Tests that neither is NaN, unless that is known.
    pub(super) fn max(&mut self, a: &Interval<E::Value>, b: &Interval<E::Value>) -> [E::Value; 2] {
        let [lo, hi] =
            self.min_or_max(Op::Max, a, b, a.known.floats().low() >= b.known.floats().high(), {
                b.known.floats().low() >= a.known.floats().high()
            });
        [if self.nan == Nan::Suppress && b.facts.nan { a.lo } else { lo }, hi]
    }

    /// Endpoints of a minimum or maximum. `is_a` and `is_b` state that it is always a, or always b.
    fn min_or_max(
        &mut self,
        op: Op,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
        is_a: bool,
        is_b: bool,
    ) -> [E::Value; 2] {
        self.require_not_nan(a);
        self.require_not_nan(b);
        if is_a {
            self.case = "a";
            return a.endpoints();
        }
        if is_b {
            self.case = "b";
            return b.endpoints();
        }
        self.case = "endpoints";
        [self.emit.op(op, &[a.lo, b.lo]), self.emit.op(op, &[a.hi, b.hi])]
    }
}

/// Whether all corners are the same term: they differ at most in the endpoint of a singleton.
fn is_one_term<V: Copy + PartialEq>(corners: Corners, a: &Interval<V>, b: &Interval<V>) -> bool {
    corners.iter().all(|&[i, j]| {
        (a.is_singleton() || i == corners[0][0]) && (b.is_singleton() || j == corners[0][1])
    })
}

/// The case of a product, and the corners for its lower and its upper endpoint. If an endpoint
/// depends on two corners, the one closer to 0 in the operand of known sign comes first.
pub(super) fn product(a: Sign, b: Sign) -> (&'static str, [Corners; 2]) {
    match (a, b) {
        (Sign::Plus, Sign::Plus) => ("a ≥ 0, b ≥ 0", [&[[LO, LO]], &[[HI, HI]]]),
        (Sign::Plus, Sign::Minus) => ("a ≥ 0, b ≤ 0", [&[[HI, LO]], &[[LO, HI]]]),
        (Sign::Minus, Sign::Plus) => ("a ≤ 0, b ≥ 0", [&[[LO, HI]], &[[HI, LO]]]),
        (Sign::Minus, Sign::Minus) => ("a ≤ 0, b ≤ 0", [&[[HI, HI]], &[[LO, LO]]]),
        (Sign::Plus, Sign::Any) => ("a ≥ 0", [&[[LO, LO], [HI, LO]], &[[LO, HI], [HI, HI]]]),
        (Sign::Minus, Sign::Any) => ("a ≤ 0", [&[[HI, HI], [LO, HI]], &[[HI, LO], [LO, LO]]]),
        (Sign::Any, Sign::Plus) => ("b ≥ 0", [&[[LO, LO], [LO, HI]], &[[HI, LO], [HI, HI]]]),
        (Sign::Any, Sign::Minus) => ("b ≤ 0", [&[[HI, HI], [HI, LO]], &[[LO, HI], [LO, LO]]]),
        (Sign::Any, Sign::Any) => ("general", [ALL, ALL]),
    }
}

/// The sign of a divisor without a [pole](OpLowering::has_pole). A zero has
/// the sign of its reciprocal.
fn divisor_sign<V: Copy + PartialEq>(b: &Interval<V>) -> Sign {
    let floats = b.known.floats();
    let is_tested = b.facts.negative_zero && !b.facts.singleton;
    match b.sign() {
        Sign::Plus if floats.negative_zero && !is_tested => Sign::Any,
        Sign::Minus if floats.positive_zero && !is_tested => Sign::Any,
        sign => sign,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::testing::OpTest;

    const ALL_FLOATS: [f32; 2] = [f32::NEG_INFINITY, f32::INFINITY];

    #[test]
    fn binary_operations_satisfy_the_contract_in_all_cases() {
        let signs = ["a ≥ 0", "a ≤ 0", "b ≥ 0", "b ≤ 0", "general"];
        let both = ["a ≥ 0, b ≥ 0", "a ≥ 0, b ≤ 0", "a ≤ 0, b ≥ 0", "a ≤ 0, b ≤ 0"];
        let sign_cases: Vec<_> = signs.into_iter().chain(both).collect();
        for (op, cases) in [
            (Op::Add, vec!["endpoints"]),
            (Op::Sub, vec!["endpoints"]),
            (Op::Mul, sign_cases.clone()),
            (Op::Div, sign_cases),
            (Op::Min, vec!["a", "b", "endpoints"]),
            (Op::Max, vec!["a", "b", "endpoints"]),
        ] {
            let selected = OpTest::of(op).check_floats(&[ALL_FLOATS; 2], 8_000);
            assert_eq!(selected, cases.into_iter().collect(), "{}", op.name());
        }
    }

    #[test]
    fn squares_satisfy_the_contract_in_all_cases() {
        let cases =
            OpTest::of(Op::Mul).with_equal_operands().check_floats(&[ALL_FLOATS; 2], 10_000);
        assert_eq!(
            cases,
            ["square", "square of a singleton", "square, a ≤ 0", "square, a ≥ 0"]
                .into_iter()
                .collect()
        );
    }

    #[test]
    fn negation_and_absolute_value_satisfy_the_contract_in_all_cases() {
        assert_eq!(
            OpTest::of(Op::Neg).check_floats(&[ALL_FLOATS], 10_000),
            ["endpoints"].into_iter().collect()
        );
        let cases = OpTest::of(Op::Abs).check_floats(&[ALL_FLOATS], 8_000);
        assert_eq!(
            cases,
            ["a ≤ 0", "a ≥ +0", "a ≥ 0", "general", "singleton"].into_iter().collect()
        );
    }
}
