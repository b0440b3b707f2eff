//! Bitwise operations: exact for singletons, and where the operation is monotone. Otherwise, the
//! range of possible results.

use super::integer::known_range;
use super::{Interval, Nan, OpLowering};
use crate::ir::{Emit, Op};
use crate::math::EmitExt;

/// Bits of +∞ as an integer. Greater integers are NaNs.
const INFINITY: i32 = 0x7f80_0000;

/// Bits of −∞ as an integer. Greater negative integers are NaNs; below, floats increase as integers
/// decrease.
const MINUS_INFINITY: i32 = 0xff80_0000_u32 as i32;

impl<E: Emit<Value: PartialEq>> OpLowering<'_, E> {
    /// The result of an operation if the operand is a singleton, else the operation's range.
    pub(super) fn exact_if_singleton(
        &mut self,
        op: Op,
        a: &Interval<E::Value>,
        range: [i32; 2],
    ) -> [E::Value; 2] {
        self.case = "single";
        let single = self.emit_is_singleton(a);
        let value = self.emit.op(op, &[a.lo]);
        range.map(|end| {
            let end = self.emit.i32(end);
            self.emit.select(single, value, end)
        })
    }

    /// Bitwise and. Not negative if one operand is not, and not above either nonnegative operand.
    pub(super) fn and(&mut self, a: &Interval<E::Value>, b: &Interval<E::Value>) -> [E::Value; 2] {
        self.case = "endpoints";
        let [zero, min] = [0, i32::MIN].map(|x| self.emit.i32(x));
        let [x, y] = [a, b].map(|operand| {
            if known_range(operand)[0] >= 0 {
                return self.emit.bool(true);
            }
            let some_negative = self.emit.slt(operand.lo, zero);
            self.emit.not(some_negative)
        });
        let either = self.emit.either(x, y);
        let lo = self.emit.select(either, zero, min);
        // In general, the greater of the upper endpoints. If one operand is nonnegative, its upper
        // endpoint. If both are, the smaller of the two.
        let (max, smaller) = (self.emit.smax(a.hi, b.hi), self.emit.smin(a.hi, b.hi));
        let one = self.emit.select(x, a.hi, max);
        let one_or_other = self.emit.select(y, b.hi, one);
        let both = self.emit.both(x, y);
        let hi = self.emit.select(both, smaller, one_or_other);
        let single = self.emit_are_singletons(a, b);
        let value = self.emit.and(a.lo, b.lo);
        [self.emit.select(single, value, lo), self.emit.select(single, value, hi)]
    }

    /// Bitwise or, or exclusive or. For nonnegative operands, it is at most their sum.
    pub(super) fn or_xor(
        &mut self,
        op: Op,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        self.case = "endpoints";
        let [zero, min, max] = [0, i32::MIN, i32::MAX].map(|x| self.emit.i32(x));
        let lower = self.emit.smin(a.lo, b.lo);
        let some_negative = self.emit.slt(lower, zero);
        let sum = self.emit.iadd(a.hi, b.hi);
        let overflows = self.emit.slt(sum, zero);
        let unknown = self.emit.either(some_negative, overflows);
        let hi = self.emit.select(unknown, max, sum);
        let lo = if op == Op::Or { self.emit.smax(a.lo, b.lo) } else { zero };
        let lo = self.emit.select(some_negative, min, lo);
        let single = self.emit_are_singletons(a, b);
        let value = self.emit.op(op, &[a.lo, b.lo]);
        [self.emit.select(single, value, lo), self.emit.select(single, value, hi)]
    }

    /// Left shift; unbounded if significant bits are lost.
    pub(super) fn shift_left(
        &mut self,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        self.case = "endpoints";
        let endpoints = [a.lo, a.hi].map(|end| self.emit.shl(end, b.lo));
        let [lo, hi] = [(endpoints[0], a.lo), (endpoints[1], a.hi)].map(|(shifted, end)| {
            let back = self.emit.ashr(shifted, b.lo);
            self.emit.ieq(back, end)
        });
        let kept = self.emit.both(lo, hi);
        let single = self.emit_is_singleton(a);
        let exact = self.emit.either(kept, single);
        let one_amount = self.emit_is_singleton(b);
        let exact = self.emit.both(exact, one_amount);
        let lost = self.emit.not(exact);
        self.unbounded_if(lost, endpoints)
    }

    /// Logical right shift.
    pub(super) fn shift_right_logical(
        &mut self,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        self.case = "endpoints";
        let endpoints = self.unsigned(a);
        let shifted = endpoints.map(|end| self.emit.lshr(end, b.lo));
        let (single, zero) = (self.emit_is_singleton(b), self.emit.i32(0));
        let lo = self.emit.select(single, shifted[0], zero);
        let hi = self.emit.select(single, shifted[1], endpoints[1]);
        self.signed([lo, hi])
    }

    /// Arithmetic right shift, which moves a towards 0 or −1.
    pub(super) fn shift_right_arithmetic(
        &mut self,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        self.case = "endpoints";
        let single = self.emit_is_singleton(b);
        let [zero, minus_one] = [0, -1].map(|x| self.emit.i32(x));
        let [lo, hi] = [a.lo, a.hi].map(|end| self.emit.ashr(end, b.lo));
        let (min, max) = (self.emit.smin(a.lo, zero), self.emit.smax(a.hi, minus_one));
        [self.emit.select(single, lo, min), self.emit.select(single, hi, max)]
    }

    /// Number of leading zeros, which decreases in the unsigned integer.
    pub(super) fn leading_zeros(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        self.case = "endpoints";
        let [lo, hi] = self.unsigned(a);
        [hi, lo].map(|end| self.emit.op(Op::LeadingZeros, &[end]))
    }

    /// The bits of a float. They are in the order of floats if the sign bit is clear, and in
    /// reverse order if it is set.
    ///
    /// The sign of a zero endpoint need not be that of the member, so the signs of zeros come from
    /// static facts.
    pub(super) fn bits_of_float(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        if a.facts.nan && self.nan != Nan::Ignore {
            self.case = "any NaN";
            return [i32::MIN, i32::MAX].map(|end| self.emit.i32(end));
        }
        let zero = self.emit.f32(0.0);
        let [lo, hi] = [a.lo, a.hi].map(|end| {
            let end = self.emit.add(end, zero);
            self.emit.bits(end)
        });
        let floats = a.known.floats();
        if floats.low() > 0.0 {
            self.case = "positive";
            return [lo, hi];
        }
        self.case = "any";
        let positive =
            if a.facts.negative_zero { self.emit.lt(zero, a.lo) } else { self.emit.le(zero, a.lo) };
        let negative = self.emit.lt(a.hi, zero);
        let min = self.emit.i32(i32::MIN);
        let low = self.emit.select(negative, hi, min);
        [self.emit.select(positive, lo, low), self.emit.select(negative, lo, hi)]
    }

    /// The float with these bits; unbounded if members include a NaN or both signs.
    pub(super) fn float_from_bits(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        let [lo, hi] = [a.lo, a.hi].map(|end| self.emit.float(end));
        let [min, max] = known_range(a);
        if min >= 0 && max <= i64::from(INFINITY) {
            self.case = "positive";
            return [lo, hi];
        }
        self.case = "any";
        let [zero, infinity, minus_infinity] =
            [0, INFINITY, MINUS_INFINITY].map(|x| self.emit.i32(x));
        let (some_negative, some_nan) = (self.emit.slt(a.lo, zero), self.emit.slt(infinity, a.hi));
        let not_positive = self.emit.either(some_negative, some_nan);
        let some_nan = self.emit.slt(minus_infinity, a.hi);
        let negative = self.emit.not(some_nan);
        let [min, max] = [f32::NEG_INFINITY, f32::INFINITY].map(|x| self.emit.f32(x));
        let (low, high) =
            (self.emit.select(negative, hi, min), self.emit.select(negative, lo, max));
        [self.emit.select(not_positive, low, lo), self.emit.select(not_positive, high, hi)]
    }
}

#[cfg(test)]
mod tests {
    use crate::interval::testing::OpTest;
    use crate::ir::{Op, Type};

    #[test]
    fn bitwise_operations_contain_results_of_members() {
        for op in [Op::And, Op::Or, Op::Xor, Op::Shl, Op::LShr, Op::AShr] {
            OpTest::of(op).check(&[Type::I32; 2], 8_000);
        }
        for op in [Op::CountOnes, Op::LeadingZeros, Op::TrailingZeros, Op::ReverseBits] {
            OpTest::of(op).check(&[Type::I32], 10_000);
        }
    }

    #[test]
    fn reinterpretations_contain_results_of_members() {
        assert_eq!(OpTest::of(Op::Bits).check(&[Type::F32], 20_000).len(), 3);
        assert_eq!(OpTest::of(Op::Float).check(&[Type::I32], 20_000).len(), 2);
    }
}
