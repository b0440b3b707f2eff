//! Operations on integers, ordered as signed. A result is unbounded if it wraps around for some
//! members but not for others.
//!
//! Unsigned operations convert intervals to unsigned and results back to signed. A conversion
//! yields the full range if members have both signs.

use super::{Interval, OpLowering};
use crate::ir::{Emit, Op};
use crate::math::EmitExt;

/// Products whose magnitude, computed in floats, is below this certainly fit: it is below 2³¹ by
/// more than three rounding errors.
const MAX_EXACT_PRODUCT: f32 = 2_147_482_880.0;

impl<E: Emit<Value: PartialEq>> OpLowering<'_, E> {
    /// The endpoints as unsigned: 0 and 2³² − 1 if the signs of members differ.
    pub(super) fn unsigned(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        if a.is_singleton() || has_one_sign(a) {
            return [a.lo, a.hi];
        }
        let spans = self.sign_differs(a.lo, a.hi);
        let all = self.emit.i32(-1);
        let same = self.emit.xor(spans, all);
        [self.emit.and(a.lo, same), self.emit.or(a.hi, spans)]
    }

    /// Converts unsigned endpoints to signed ones.
    pub(super) fn signed(&mut self, [lo, hi]: [E::Value; 2]) -> [E::Value; 2] {
        let spans = self.sign_differs(lo, hi);
        let zero = self.emit.i32(0);
        let spans = self.emit.slt(spans, zero);
        self.unbounded_if(spans, [lo, hi])
    }

    /// All bits set if the signs of two integers differ, else zero.
    fn sign_differs(&mut self, a: E::Value, b: E::Value) -> E::Value {
        let signs = self.emit.xor(a, b);
        let all = self.emit.i32(31);
        self.emit.ashr(signs, all)
    }

    /// The full range if a condition holds, else the given endpoints.
    pub(super) fn unbounded_if(
        &mut self,
        condition: E::Value,
        [lo, hi]: [E::Value; 2],
    ) -> [E::Value; 2] {
        let [min, max] = [i32::MIN, i32::MAX].map(|end| self.emit.i32(end));
        [self.emit.select(condition, min, lo), self.emit.select(condition, max, hi)]
    }

    /// Emits the test whether an interval has a single member.
    pub(super) fn emit_is_singleton(&mut self, a: &Interval<E::Value>) -> E::Value {
        if a.is_singleton() { self.emit.bool(true) } else { self.emit.ieq(a.lo, a.hi) }
    }

    /// Emits the test whether both intervals have a single member.
    pub(super) fn emit_are_singletons(
        &mut self,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
    ) -> E::Value {
        let (a, b) = (self.emit_is_singleton(a), self.emit_is_singleton(b));
        self.emit.both(a, b)
    }

    /// The minimum and the maximum of some integers.
    pub(super) fn hull(&mut self, values: &[E::Value]) -> [E::Value; 2] {
        let (&first, rest) = values.split_first().expect("a hull has at least one integer");
        rest.iter().fold([first; 2], |[lo, hi], &x| [self.emit.smin(lo, x), self.emit.smax(hi, x)])
    }

    /// a + b or a − b, depending on `op`. `endpoints` are the endpoints of b that yield the minimum
    /// and the maximum.
    ///
    /// Results are contiguous if there are fewer than 2³² of them and the last is not below the
    /// first.
    pub(super) fn integer_sum(
        &mut self,
        op: Op,
        a: &Interval<E::Value>,
        endpoints: [E::Value; 2],
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        let lo = self.emit.op(op, &[a.lo, endpoints[0]]);
        let hi = self.emit.op(op, &[a.hi, endpoints[1]]);
        let [[a_min, a_max], [b_min, b_max]] = [a, b].map(known_range);
        let [min, max] = if op == Op::IAdd {
            [a_min + b_min, a_max + b_max]
        } else {
            [a_min - b_max, a_max - b_min]
        };
        if i64::from(i32::MIN) <= min && max <= i64::from(i32::MAX) {
            self.case = "endpoints";
            return [lo, hi];
        }
        let mut splits = self.emit.slt(hi, lo);
        self.case = "may wrap";
        if !a.is_singleton() && !b.is_singleton() {
            let (width, width_of_a) = (self.emit.isub(hi, lo), self.emit.isub(a.hi, a.lo));
            let overflows = self.emit.ult(width, width_of_a);
            splits = self.emit.either(splits, overflows);
        }
        self.unbounded_if(splits, [lo, hi])
    }

    /// a · b.
    pub(super) fn integer_product(
        &mut self,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        let [[a_min, a_max], [b_min, b_max]] = [a, b].map(known_range);
        let magnitude = a_min.abs().max(a_max.abs()) * b_min.abs().max(b_max.abs());
        let fits = magnitude < MAX_EXACT_PRODUCT as i64 - 1024;
        if fits && a_min >= 0 && b_min >= 0 {
            self.case = "endpoints";
            return [self.emit.imul(a.lo, b.lo), self.emit.imul(a.hi, b.hi)];
        }
        let products = [(a.lo, b.lo), (a.hi, b.lo), (a.lo, b.hi), (a.hi, b.hi)]
            .map(|(x, y)| self.emit.imul(x, y));
        let endpoints = match () {
            () if b.is_singleton() => self.hull(&products[..2]),
            () if a.is_singleton() => self.hull(&[products[0], products[2]]),
            () => self.hull(&products),
        };
        if fits {
            self.case = "products";
            return endpoints;
        }
        self.case = "may wrap";
        let (x, y) = (self.magnitude(a), self.magnitude(b));
        let magnitude = self.emit.mul(x, y);
        let end = self.emit.f32(MAX_EXACT_PRODUCT);
        let fits = self.emit.lt(magnitude, end);
        let single = self.emit_are_singletons(a, b);
        let exact = self.emit.either(fits, single);
        let wraps = self.emit.not(exact);
        self.unbounded_if(wraps, endpoints)
    }

    /// The maximum magnitude, as a float.
    fn magnitude(&mut self, a: &Interval<E::Value>) -> E::Value {
        let [lo, hi] = [a.lo, a.hi].map(|end| {
            let x = self.emit.convert(end);
            self.emit.abs(x)
        });
        self.emit.max(lo, hi)
    }

    /// Minimum or maximum of unsigned integers.
    pub(super) fn unsigned_endpointwise(
        &mut self,
        op: Op,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        self.case = "endpoints";
        let (a, b) = (self.unsigned(a), self.unsigned(b));
        let endpoints = [0, 1].map(|side| self.emit.op(op, &[a[side], b[side]]));
        self.signed(endpoints)
    }

    /// a ÷ b, signed. If b may be 0 or the quotient may not fit, only |a ÷ b| ≤ |a| is used.
    pub(super) fn signed_quotient(
        &mut self,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        let divide = |emit: &mut E, x, y| emit.op(Op::SDiv, &[x, y]);
        let [[a_min, _], [b_min, b_max]] = [a, b].map(known_range);
        if b_min > 0 && b.is_singleton() {
            self.case = "endpoints";
            return [divide(self.emit, a.lo, b.lo), divide(self.emit, a.hi, b.lo)];
        }
        let pairs = [(a.lo, b.lo), (a.hi, b.lo), (a.lo, b.hi), (a.hi, b.hi)];
        let count = if b.is_singleton() { 2 } else { 4 };
        let quotients: Vec<_> =
            pairs[..count].iter().map(|&(x, y)| divide(self.emit, x, y)).collect();
        let endpoints = self.hull(&quotients);
        if a_min > i64::from(i32::MIN) && (b_min > 0 || b_max < 0) {
            self.case = "quotients";
            return endpoints;
        }
        self.case = "any";
        let [zero, min, minus_one] = [0, i32::MIN, -1].map(|x| self.emit.i32(x));
        let (above, below) = (self.emit.slt(zero, b.lo), self.emit.slt(b.hi, zero));
        let single = self.emit_is_singleton(b);
        let has_sign = self.emit.either(above, below);
        let has_sign = self.emit.either(has_sign, single);
        let (is_min, is_minus_one) = (self.emit.ieq(a.lo, min), self.emit.ieq(b.hi, minus_one));
        let overflows = self.emit.both(is_min, is_minus_one);
        let fits = self.emit.not(overflows);
        let exact = self.emit.both(has_sign, fits);
        let max = self.emit.i32(-i32::MAX);
        let max = self.emit.smax(a.lo, max);
        let (max, min) = (self.emit.isub(zero, max), self.emit.isub(zero, a.hi));
        let (max, min) = (self.emit.smax(a.hi, max), self.emit.smin(a.lo, min));
        [self.emit.select(exact, endpoints[0], min), self.emit.select(exact, endpoints[1], max)]
    }

    /// a ÷ b, unsigned. For b = 0 the quotient is a, which no other quotient exceeds.
    pub(super) fn unsigned_quotient(
        &mut self,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        self.case = "endpoints";
        let (a, b) = (self.unsigned(a), self.unsigned(b));
        let endpoints = [0, 1].map(|side| self.emit.op(Op::UDiv, &[a[side], b[1 - side]]));
        self.signed(endpoints)
    }

    /// The remainder of a ÷ b, signed. For a single b, it increases with a as long as the quotient
    /// is the same.
    pub(super) fn signed_remainder(
        &mut self,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        self.case = "endpoints";
        let endpoints = [a.lo, a.hi].map(|x| {
            let quotient = self.emit.op(Op::SDiv, &[x, b.lo]);
            let multiple = self.emit.imul(quotient, b.lo);
            (quotient, self.emit.isub(x, multiple))
        });
        let [(first, lo), (last, hi)] = endpoints;
        let [zero, one, minus_one] = [0, 1, -1].map(|x| self.emit.i32(x));
        let (is_zero, same) = (self.emit.ieq(b.lo, zero), self.emit.ieq(first, last));
        let defined = self.emit.not(is_zero);
        let single = self.emit_is_singleton(b);
        let same = self.emit.both(same, single);
        let same = self.emit.both(same, defined);
        // |a rem b| < |b|, and |a rem b| ≤ |a|.
        let [x, y] = [b.lo, b.hi].map(|end| {
            // |x| − 1 = max(x − 1, −1 − x), which does not overflow for the minimum integer.
            let (below, minus) = (self.emit.isub(end, one), self.emit.xor(end, minus_one));
            self.emit.smax(below, minus)
        });
        let below = self.emit.smax(x, y);
        let below = self.emit.smax(below, zero);
        let above = self.emit.isub(zero, below);
        let (low, high) = (self.emit.smin(a.lo, zero), self.emit.smax(a.hi, zero));
        let (low, high) = (self.emit.smax(low, above), self.emit.smin(high, below));
        [self.emit.select(same, lo, low), self.emit.select(same, hi, high)]
    }

    /// The remainder of a ÷ b, unsigned. As long as the quotient is the same, it increases with a
    /// and decreases with b.
    pub(super) fn unsigned_remainder(
        &mut self,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        self.case = "endpoints";
        let ([a_lo, a_hi], [b_lo, b_hi]) = (self.unsigned(a), self.unsigned(b));
        let [(first, lo), (last, hi)] = [(a_lo, b_hi), (a_hi, b_lo)].map(|(x, y)| {
            let quotient = self.emit.op(Op::UDiv, &[x, y]);
            let multiple = self.emit.imul(quotient, y);
            (quotient, self.emit.isub(x, multiple))
        });
        let [zero, one] = [0, 1].map(|x| self.emit.i32(x));
        let (is_zero, same) = (self.emit.ieq(b_lo, zero), self.emit.ieq(first, last));
        let defined = self.emit.not(is_zero);
        let same = self.emit.both(same, defined);
        let max = self.emit.umax(b_hi, one);
        let max = self.emit.isub(max, one);
        let max = self.emit.umin(a_hi, max);
        let endpoints = [self.emit.select(same, lo, zero), self.emit.select(same, hi, max)];
        self.signed(endpoints)
    }
}

/// Whether all members are known to be negative, or all to be nonnegative.
fn has_one_sign<V>(a: &Interval<V>) -> bool {
    a.known.ints().hull().is_some_and(|[min, max]| min >= 0 || max < 0)
}

/// The known minimum and maximum, as i64 so that sums and products do not overflow.
pub(super) fn known_range<V>(a: &Interval<V>) -> [i64; 2] {
    a.known.ints().hull().unwrap_or([i32::MIN, i32::MAX]).map(i64::from)
}

#[cfg(test)]
mod tests {
    use crate::interval::testing::OpTest;
    use crate::ir::{Op, Type};

    #[test]
    fn integer_operations_contain_results_of_members() {
        for op in [
            Op::IAdd,
            Op::ISub,
            Op::IMul,
            Op::SMin,
            Op::SMax,
            Op::UMin,
            Op::UMax,
            Op::SDiv,
            Op::UDiv,
            Op::SRem,
            Op::URem,
        ] {
            OpTest::of(op).check(&[Type::I32; 2], 8_000);
        }
        let cases = |op| OpTest::of(op).check(&[Type::I32; 2], 4000).len();
        assert_eq!(
            [Op::IAdd, Op::ISub, Op::IMul, Op::SDiv].map(cases),
            [2, 2, 3, 3],
            "all cases occur"
        );
    }
}
