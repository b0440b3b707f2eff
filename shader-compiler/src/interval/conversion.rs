//! Conversions between floats and integers. They are monotone where the result fits.

use super::{Interval, Nan, OpLowering};
use crate::ir::{Emit, Op};
use crate::math::EmitExt;

/// 2³¹
const TWO_TO_31: f32 = 2_147_483_648.0;

/// 2³²
const TWO_TO_32: f32 = 4_294_967_296.0;

impl<E: Emit<Value: PartialEq>> OpLowering<'_, E> {
    /// The float closest to an unsigned integer.
    pub(super) fn unsigned_to_float(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        self.case = "endpoints";
        self.unsigned(a).map(|end| self.emit.op(Op::FromU32, &[end]))
    }

    /// a truncated to a signed integer; the minimum integer if it does not fit, and for NaN.
    pub(super) fn truncate_to_int(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        let [lo, hi] = [a.lo, a.hi].map(|end| self.emit.truncate_to_int(end));
        let floats = a.known.floats();
        if !floats.nan && floats.high() < TWO_TO_31 {
            self.case = "endpoints";
            return [lo, hi];
        }
        self.case = "any";
        let end = self.emit.f32(TWO_TO_31);
        let fits = self.emit.lt(a.hi, end);
        let [min, max] = [i32::MIN, i32::MAX].map(|x| self.emit.i32(x));
        let lo = if self.nan == Nan::Suppress && a.facts.nan {
            min
        } else {
            self.emit.select(fits, lo, min)
        };
        [lo, self.emit.select(fits, hi, max)]
    }

    /// a truncated to a signed integer, saturating; 0 for NaN.
    pub(super) fn float_to_signed(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        let floats = a.known.floats();
        let fits = !floats.nan && floats.high() < TWO_TO_31;
        self.case = if fits { "endpoints" } else { "any" };
        let [lo, hi] = if fits {
            [a.lo, a.hi].map(|end| self.emit.truncate_to_int(end))
        } else {
            self.saturate([a.lo, a.hi])
        };
        if self.nan == Nan::Suppress && a.facts.nan {
            let zero = self.emit.i32(0);
            return [self.emit.smin(lo, zero), self.emit.smax(hi, zero)];
        }
        [lo, hi]
    }

    /// Endpoints truncated to signed integers, saturating. A NaN becomes the minimum integer as
    /// lower endpoint, and the maximum integer as upper endpoint.
    pub(super) fn saturate(&mut self, [lo, hi]: [E::Value; 2]) -> [E::Value; 2] {
        let (end, max) = (self.emit.f32(TWO_TO_31), self.emit.i32(i32::MAX));
        let (is_large, fits) = (self.emit.le(end, lo), self.emit.lt(hi, end));
        let [lo, hi] = [lo, hi].map(|end| self.emit.truncate_to_int(end));
        [self.emit.select(is_large, max, lo), self.emit.select(fits, hi, max)]
    }

    /// a truncated to an unsigned integer, saturating; 0 for NaN.
    pub(super) fn float_to_unsigned(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        let floats = a.known.floats();
        let may_be_nan = self.nan == Nan::Suppress && a.facts.nan;
        if !floats.nan && floats.high() < TWO_TO_31 {
            self.case = "endpoints";
            let zero = self.emit.f32(0.0);
            return [a.lo, a.hi].map(|end| {
                let end = self.emit.max(zero, end);
                self.emit.truncate_to_int(end)
            });
        }
        self.case = "any";
        let [lo, hi] = [a.lo, a.hi].map(|end| self.emit.op(Op::ToU32, &[end]));
        let lo = if may_be_nan { self.emit.i32(0) } else { lo };
        let (end, max) = (self.emit.f32(TWO_TO_32), self.emit.i32(-1));
        let fits = self.emit.lt(a.hi, end);
        let hi = self.emit.select(fits, hi, max);
        self.signed([lo, hi])
    }
}

#[cfg(test)]
mod tests {
    use crate::interval::testing::OpTest;
    use crate::ir::{Op, Type};

    #[test]
    fn conversions_contain_results_of_members() {
        for op in [Op::FromS32, Op::FromU32] {
            OpTest::of(op).check(&[Type::I32], 20_000);
        }
        for op in [Op::TruncateToInt, Op::ToS32, Op::ToU32] {
            assert_eq!(OpTest::of(op).check(&[Type::F32], 20_000).len(), 2, "all cases occur");
        }
    }
}
