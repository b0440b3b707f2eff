//! Integers, ordered as signed. If a result wraps around for some operands but not for others, it
//! is unbounded.
//!
//! Unsigned operations convert intervals to unsigned, which gives the full range if the interval
//! has members of both signs. Their results are converted back, with the same effect.

use super::{Interval, OpLowering};
use crate::ir::{Emit, Op};
use crate::math::EmitExt;

/// Magnitudes of products, as floats, that certainly fit: less than 2³¹ by more than three
/// roundings.
const MAX_EXACT_PRODUCT: f32 = 2_147_482_880.0;

impl<E: Emit<Value: PartialEq>> OpLowering<'_, E> {
    /// The endpoints as unsigned: zero and all bits set if the signs of members differ.
    pub(super) fn unsigned(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        if a.is_singleton() || has_one_sign(a) {
            return [a.lo, a.hi];
        }
        let spans = self.sign_differs(a.lo, a.hi);
        let all = self.emit.i32(-1);
        let same = self.emit.xor(spans, all);
        [self.emit.and(a.lo, same), self.emit.or(a.hi, spans)]
    }

    /// The endpoints as signed, from endpoints as unsigned.
    pub(super) fn signed(&mut self, [lo, hi]: [E::Value; 2]) -> [E::Value; 2] {
        let spans = self.sign_differs(lo, hi);
        let zero = self.emit.i32(0);
        let spans = self.emit.slt(spans, zero);
        self.unless(spans, [lo, hi])
    }

    /// All bits set if the signs of two integers differ, else zero.
    fn sign_differs(&mut self, a: E::Value, b: E::Value) -> E::Value {
        let signs = self.emit.xor(a, b);
        let all = self.emit.i32(31);
        self.emit.ashr(signs, all)
    }

    /// All integers if a condition holds, else the given endpoints.
    pub(super) fn unless(&mut self, condition: E::Value, [lo, hi]: [E::Value; 2]) -> [E::Value; 2] {
        let [least, most] = [i32::MIN, i32::MAX].map(|end| self.emit.i32(end));
        [self.emit.select(condition, least, lo), self.emit.select(condition, most, hi)]
    }

    /// Whether an interval has a single member, at run time.
    pub(super) fn is_single(&mut self, a: &Interval<E::Value>) -> E::Value {
        if a.is_singleton() { self.emit.bool(true) } else { self.emit.ieq(a.lo, a.hi) }
    }

    /// Whether both intervals have a single member, at run time.
    pub(super) fn are_single(
        &mut self,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
    ) -> E::Value {
        let (a, b) = (self.is_single(a), self.is_single(b));
        self.emit.both(a, b)
    }

    /// The least and the greatest of some integers.
    pub(super) fn hull(&mut self, values: &[E::Value]) -> [E::Value; 2] {
        let (&first, rest) = values.split_first().expect("hulls have an integer");
        rest.iter().fold([first; 2], |[lo, hi], &x| [self.emit.smin(lo, x), self.emit.smax(hi, x)])
    }

    /// a + b or a − b, depending on `op`. `endpoints` are those of b that yield the least and the
    /// greatest result.
    ///
    /// Results are contiguous if there are fewer than 2³² and the last one is not below the first.
    pub(super) fn integer_sum(
        &mut self,
        op: Op,
        a: &Interval<E::Value>,
        endpoints: [E::Value; 2],
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        let lo = self.emit.op(op, &[a.lo, endpoints[0]]);
        let hi = self.emit.op(op, &[a.hi, endpoints[1]]);
        let [[a_least, a_most], [b_least, b_most]] = [a, b].map(known);
        let [least, most] = if op == Op::IAdd {
            [a_least + b_least, a_most + b_most]
        } else {
            [a_least - b_most, a_most - b_least]
        };
        if i64::from(i32::MIN) <= least && most <= i64::from(i32::MAX) {
            self.case = "endpoints";
            return [lo, hi];
        }
        let mut splits = self.emit.slt(hi, lo);
        self.case = "may wrap";
        if !a.is_singleton() && !b.is_singleton() {
            let (width, part) = (self.emit.isub(hi, lo), self.emit.isub(a.hi, a.lo));
            let overflows = self.emit.ult(width, part);
            splits = self.emit.either(splits, overflows);
        }
        self.unless(splits, [lo, hi])
    }

    /// a · b
    pub(super) fn integer_product(
        &mut self,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        let [[a_least, a_most], [b_least, b_most]] = [a, b].map(known);
        let magnitude = a_least.abs().max(a_most.abs()) * b_least.abs().max(b_most.abs());
        let fits = magnitude < MAX_EXACT_PRODUCT as i64 - 1024;
        if fits && a_least >= 0 && b_least >= 0 {
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
        let single = self.are_single(a, b);
        let exact = self.emit.either(fits, single);
        let wraps = self.emit.not(exact);
        self.unless(wraps, endpoints)
    }

    /// The greatest magnitude, as a float.
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

    /// a ÷ b, signed. If b may be 0, or the quotient may not fit, its magnitude is at most that of
    /// a.
    pub(super) fn signed_quotient(
        &mut self,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        let divide = |emit: &mut E, x, y| emit.op(Op::SDiv, &[x, y]);
        let [[a_least, _], [b_least, b_most]] = [a, b].map(known);
        if b_least > 0 && b.is_singleton() {
            self.case = "endpoints";
            return [divide(self.emit, a.lo, b.lo), divide(self.emit, a.hi, b.lo)];
        }
        let pairs = [(a.lo, b.lo), (a.hi, b.lo), (a.lo, b.hi), (a.hi, b.hi)];
        let count = if b.is_singleton() { 2 } else { 4 };
        let quotients: Vec<_> =
            pairs[..count].iter().map(|&(x, y)| divide(self.emit, x, y)).collect();
        let endpoints = self.hull(&quotients);
        if a_least > i64::from(i32::MIN) && (b_least > 0 || b_most < 0) {
            self.case = "quotients";
            return endpoints;
        }
        self.case = "any";
        let [zero, least, minus_one] = [0, i32::MIN, -1].map(|x| self.emit.i32(x));
        let (above, below) = (self.emit.slt(zero, b.lo), self.emit.slt(b.hi, zero));
        let single = self.is_single(b);
        let has_sign = self.emit.either(above, below);
        let has_sign = self.emit.either(has_sign, single);
        let (is_least, is_minus_one) = (self.emit.ieq(a.lo, least), self.emit.ieq(b.hi, minus_one));
        let overflows = self.emit.both(is_least, is_minus_one);
        let fits = self.emit.not(overflows);
        let exact = self.emit.both(has_sign, fits);
        let most = self.emit.i32(-i32::MAX);
        let most = self.emit.smax(a.lo, most);
        let (most, least) = (self.emit.isub(zero, most), self.emit.isub(zero, a.hi));
        let (most, least) = (self.emit.smax(a.hi, most), self.emit.smin(a.lo, least));
        [self.emit.select(exact, endpoints[0], least), self.emit.select(exact, endpoints[1], most)]
    }

    /// a ÷ b, unsigned: a if b = 0, which is the maximum of all quotients.
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

    /// The remainder of a ÷ b, signed. For a single b and as long as the quotient is the same, it
    /// increases with a.
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
        let single = self.is_single(b);
        let same = self.emit.both(same, single);
        let same = self.emit.both(same, defined);
        // Magnitudes are below that of b, and not above that of a.
        let [x, y] = [b.lo, b.hi].map(|end| {
            // The greater of x − 1 and −1 − x, which holds for the least integer, too.
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
        let most = self.emit.umax(b_hi, one);
        let most = self.emit.isub(most, one);
        let most = self.emit.umin(a_hi, most);
        let endpoints = [self.emit.select(same, lo, zero), self.emit.select(same, hi, most)];
        self.signed(endpoints)
    }
}

/// Whether all members are known to be negative, or all to be nonnegative.
fn has_one_sign<V>(a: &Interval<V>) -> bool {
    a.known.ints().hull().is_some_and(|[least, most]| least >= 0 || most < 0)
}

/// The known least and greatest integer, as i64 so that sums and products do not overflow.
pub(super) fn known<V>(a: &Interval<V>) -> [i64; 2] {
    a.known.ints().hull().unwrap_or([i32::MIN, i32::MAX]).map(i64::from)
}

#[cfg(test)]
mod tests {
    use crate::interval::testing::OpTest;
    use crate::ir::{Op, Type};

    #[test]
    fn integer_operations_contain_those_of_members() {
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
