//! Integers, which are ordered as signed. Where a result wraps around for some operands and not for
//! others, it is anything.
//!
//! Unsigned operations see an interval as unsigned, which is all there is if it has members of both
//! signs; what they give is taken for signed again, with the same effect.

use super::{Forms, Interval};
use crate::ir::{Emit, Op};
use crate::math::Steps;

/// Magnitudes of products, as floats, up to which they certainly fit: less than 2³¹ by more than
/// three roundings.
const FITS: f32 = 2_147_482_880.0;

impl<E: Emit<Value: PartialEq>> Forms<'_, E> {
    /// Least and greatest as unsigned: from zero to all bits set where the sign is not the same for
    /// all.
    pub(super) fn unsigned(&mut self, a: &Interval<E::Value>) -> [E::Value; 2] {
        if a.is_number() || has_one_sign(a) {
            return [a.lo, a.hi];
        }
        let spans = self.sign_differs(a.lo, a.hi);
        let all = self.emit.i32(-1);
        let same = self.emit.xor(spans, all);
        [self.emit.and(a.lo, same), self.emit.or(a.hi, spans)]
    }

    /// Least and greatest as signed of what has these ends as unsigned.
    pub(super) fn signed(&mut self, [lo, hi]: [E::Value; 2]) -> [E::Value; 2] {
        let spans = self.sign_differs(lo, hi);
        let zero = self.emit.i32(0);
        let spans = self.emit.slt(spans, zero);
        self.unless(spans, [lo, hi])
    }

    /// All bits set where the signs of integers differ, else none.
    fn sign_differs(&mut self, a: E::Value, b: E::Value) -> E::Value {
        let signs = self.emit.xor(a, b);
        let all = self.emit.i32(31);
        self.emit.ashr(signs, all)
    }

    /// All integers where a condition holds, else these.
    pub(super) fn unless(&mut self, condition: E::Value, [lo, hi]: [E::Value; 2]) -> [E::Value; 2] {
        let [least, most] = [i32::MIN, i32::MAX].map(|end| self.emit.i32(end));
        [self.emit.select(condition, least, lo), self.emit.select(condition, most, hi)]
    }

    /// Whether an interval has one member only.
    pub(super) fn is_single(&mut self, a: &Interval<E::Value>) -> E::Value {
        if a.is_number() { self.emit.bool(true) } else { self.emit.ieq(a.lo, a.hi) }
    }

    /// Whether both intervals have one member only.
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
        let (&first, rest) = values.split_first().expect("there is an integer");
        rest.iter().fold([first; 2], |[lo, hi], &x| [self.emit.smin(lo, x), self.emit.smax(hi, x)])
    }

    /// a + b or a − b, whichever `op` says; `ends` are those of b that belong to the least and the
    /// greatest result.
    ///
    /// Results follow each other without a gap if there are fewer than 2³² and the last one is not
    /// below the first.
    pub(super) fn integer_sum(
        &mut self,
        op: Op,
        a: &Interval<E::Value>,
        ends: [E::Value; 2],
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        let lo = self.emit.op(op, &[a.lo, ends[0]]);
        let hi = self.emit.op(op, &[a.hi, ends[1]]);
        let [[a_least, a_most], [b_least, b_most]] = [a, b].map(known);
        let [least, most] = if op == Op::IAdd {
            [a_least + b_least, a_most + b_most]
        } else {
            [a_least - b_most, a_most - b_least]
        };
        if i64::from(i32::MIN) <= least && most <= i64::from(i32::MAX) {
            self.case = "ends";
            return [lo, hi];
        }
        let mut splits = self.emit.slt(hi, lo);
        self.case = "may wrap";
        if !a.is_number() && !b.is_number() {
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
        let fits = magnitude < FITS as i64 - 1024;
        if fits && a_least >= 0 && b_least >= 0 {
            self.case = "ends";
            return [self.emit.imul(a.lo, b.lo), self.emit.imul(a.hi, b.hi)];
        }
        let products = [(a.lo, b.lo), (a.hi, b.lo), (a.lo, b.hi), (a.hi, b.hi)]
            .map(|(x, y)| self.emit.imul(x, y));
        let ends = match () {
            () if b.is_number() => self.hull(&products[..2]),
            () if a.is_number() => self.hull(&[products[0], products[2]]),
            () => self.hull(&products),
        };
        if fits {
            self.case = "products";
            return ends;
        }
        self.case = "may wrap";
        let (x, y) = (self.magnitude(a), self.magnitude(b));
        let magnitude = self.emit.mul(x, y);
        let end = self.emit.f32(FITS);
        let fits = self.emit.lt(magnitude, end);
        let single = self.are_single(a, b);
        let exact = self.emit.either(fits, single);
        let wraps = self.emit.not(exact);
        self.unless(wraps, ends)
    }

    /// The greatest magnitude, as a float.
    fn magnitude(&mut self, a: &Interval<E::Value>) -> E::Value {
        let [lo, hi] = [a.lo, a.hi].map(|end| {
            let x = self.emit.convert(end);
            self.emit.abs(x)
        });
        self.emit.max(lo, hi)
    }

    /// Smaller or larger of unsigned integers
    pub(super) fn unsigned_sides(
        &mut self,
        op: Op,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        self.case = "ends";
        let (a, b) = (self.unsigned(a), self.unsigned(b));
        let ends = [0, 1].map(|side| self.emit.op(op, &[a[side], b[side]]));
        self.signed(ends)
    }

    /// a ÷ b, signed. Where b may be 0, or the quotient may not fit, its magnitude is that of a at
    /// most.
    pub(super) fn signed_quotient(
        &mut self,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        let divide = |emit: &mut E, x, y| emit.op(Op::SDiv, &[x, y]);
        let [[a_least, _], [b_least, b_most]] = [a, b].map(known);
        if b_least > 0 && b.is_number() {
            self.case = "ends";
            return [divide(self.emit, a.lo, b.lo), divide(self.emit, a.hi, b.lo)];
        }
        let pairs = [(a.lo, b.lo), (a.hi, b.lo), (a.lo, b.hi), (a.hi, b.hi)];
        let count = if b.is_number() { 2 } else { 4 };
        let quotients: Vec<_> =
            pairs[..count].iter().map(|&(x, y)| divide(self.emit, x, y)).collect();
        let ends = self.hull(&quotients);
        if a_least > i64::from(i32::MIN) && (b_least > 0 || b_most < 0) {
            self.case = "quotients";
            return ends;
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
        [self.emit.select(exact, ends[0], least), self.emit.select(exact, ends[1], most)]
    }

    /// a ÷ b, unsigned: a where b = 0, which no other quotient exceeds.
    pub(super) fn unsigned_quotient(
        &mut self,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        self.case = "ends";
        let (a, b) = (self.unsigned(a), self.unsigned(b));
        let ends = [0, 1].map(|side| self.emit.op(Op::UDiv, &[a[side], b[1 - side]]));
        self.signed(ends)
    }

    /// The remainder of a ÷ b, signed: as long as the quotient is the same for one b, it grows with
    /// a.
    pub(super) fn signed_remainder(
        &mut self,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        self.case = "ends";
        let ends = [a.lo, a.hi].map(|x| {
            let quotient = self.emit.op(Op::SDiv, &[x, b.lo]);
            let whole = self.emit.imul(quotient, b.lo);
            (quotient, self.emit.isub(x, whole))
        });
        let [(first, lo), (last, hi)] = ends;
        let [zero, one, minus_one] = [0, 1, -1].map(|x| self.emit.i32(x));
        let (is_zero, same) = (self.emit.ieq(b.lo, zero), self.emit.ieq(first, last));
        let defined = self.emit.not(is_zero);
        let single = self.is_single(b);
        let same = self.emit.both(same, single);
        let same = self.emit.both(same, defined);
        // Magnitudes are below that of b, and not above that of a.
        let [x, y] = [b.lo, b.hi].map(|end| {
            // −1 − x where that is the greater, also of the least integer.
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

    /// The remainder of a ÷ b, unsigned: as long as the quotient is the same, it grows with a and
    /// falls with b.
    pub(super) fn unsigned_remainder(
        &mut self,
        a: &Interval<E::Value>,
        b: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        self.case = "ends";
        let ([a_lo, a_hi], [b_lo, b_hi]) = (self.unsigned(a), self.unsigned(b));
        let [(first, lo), (last, hi)] = [(a_lo, b_hi), (a_hi, b_lo)].map(|(x, y)| {
            let quotient = self.emit.op(Op::UDiv, &[x, y]);
            let whole = self.emit.imul(quotient, y);
            (quotient, self.emit.isub(x, whole))
        });
        let [zero, one] = [0, 1].map(|x| self.emit.i32(x));
        let (is_zero, same) = (self.emit.ieq(b_lo, zero), self.emit.ieq(first, last));
        let defined = self.emit.not(is_zero);
        let same = self.emit.both(same, defined);
        let most = self.emit.umax(b_hi, one);
        let most = self.emit.isub(most, one);
        let most = self.emit.umin(a_hi, most);
        let ends = [self.emit.select(same, lo, zero), self.emit.select(same, hi, most)];
        self.signed(ends)
    }
}

/// Whether all members are known to be negative, or none to be.
fn has_one_sign<V>(a: &Interval<V>) -> bool {
    a.known.ints().hull().is_some_and(|[least, most]| least >= 0 || most < 0)
}

/// Least and greatest integer that are known, with room for a sum or a product.
pub(super) fn known<V>(a: &Interval<V>) -> [i64; 2] {
    a.known.ints().hull().unwrap_or([i32::MIN, i32::MAX]).map(i64::from)
}

#[cfg(test)]
mod tests {
    use crate::interval::testing::Form;
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
            Form::of(op).check(&[Type::I32; 2], 8_000);
        }
        let cases = |op| Form::of(op).check(&[Type::I32; 2], 4000).len();
        assert_eq!(
            [Op::IAdd, Op::ISub, Op::IMul, Op::SDiv].map(cases),
            [2, 2, 3, 3],
            "all cases occur"
        );
    }
}
