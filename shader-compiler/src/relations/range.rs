//! Ranges of real numbers: intervals in double precision, ends rounded outwards where they are not
//! exact, so that what ends at 0 or at 1 does so. Ends may be infinite, for what is without bound;
//! 0 · ∞ is 0, since the numbers themselves are finite.

/// All numbers from the first to the second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub lo: f64,
    pub hi: f64,
}

/// The end on one side of a result x, where the true one is x + δ, and `error` has the sign of δ,
/// or is NaN where that is not known.
fn rounded(x: f64, error: f64, up: bool) -> f64 {
    match up {
        _ if x.is_infinite() => x,
        true if error > 0.0 || error.is_nan() => x.next_up(),
        false if error < 0.0 || error.is_nan() => x.next_down(),
        _ => x,
    }
}

fn sum(a: f64, b: f64, up: bool) -> f64 {
    let s = a + b;
    if s.is_nan() {
        return if up { f64::INFINITY } else { f64::NEG_INFINITY };
    }
    // What is lost, exactly (Knuth's TwoSum).
    let part = s - a;
    rounded(s, (a - (s - part)) + (b - part), up)
}

fn product(a: f64, b: f64, up: bool) -> f64 {
    if a == 0.0 || b == 0.0 {
        return 0.0;
    }
    let p = a * b;
    // Of small ones, what is lost may be lost itself.
    rounded(p, if p.abs() < 1e-250 { f64::NAN } else { a.mul_add(b, -p) }, up)
}

fn quotient(a: f64, b: f64, up: bool) -> f64 {
    if a == 0.0 || b.is_infinite() && a.is_finite() {
        return 0.0;
    }
    let q = a / b;
    if q.is_nan() {
        return if up { f64::INFINITY } else { f64::NEG_INFINITY };
    }
    rounded(
        q,
        if q.abs() < 1e-250 || a.abs() < 1e-200 {
            f64::NAN
        } else {
            (-q).mul_add(b, a) * b.signum()
        },
        up,
    )
}

impl Range {
    pub const ZERO: Range = Range { lo: 0.0, hi: 0.0 };
    pub const ONE: Range = Range { lo: 1.0, hi: 1.0 };
    pub const ALL: Range = Range { lo: f64::NEG_INFINITY, hi: f64::INFINITY };

    pub fn new(lo: f64, hi: f64) -> Range {
        Range { lo, hi }
    }

    pub fn of(x: f64) -> Range {
        Range { lo: x, hi: x }
    }

    /// Whether no number is below 0.
    pub fn is_positive(self) -> bool {
        self.lo >= 0.0
    }

    /// Whether no number is above 0.
    pub fn is_negative(self) -> bool {
        self.hi <= 0.0
    }

    pub fn has_zero(self) -> bool {
        self.lo <= 0.0 && self.hi >= 0.0
    }

    pub fn is_zero(self) -> bool {
        self == Range::ZERO
    }

    /// Greatest magnitude.
    pub fn most(self) -> f64 {
        f64::max(-self.lo, self.hi)
    }

    /// Least magnitude.
    pub fn least(self) -> f64 {
        f64::max(self.lo, -self.hi).max(0.0)
    }

    pub fn hull(self, other: Range) -> Range {
        Range { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// What is in both, which is not nothing.
    pub fn meet(self, other: Range) -> Range {
        let both = Range { lo: self.lo.max(other.lo), hi: self.hi.min(other.hi) };
        if both.lo <= both.hi { both } else { self }
    }

    pub fn neg(self) -> Range {
        // 0 − x, so that there is no −0.
        Range { lo: 0.0 - self.hi, hi: 0.0 - self.lo }
    }

    pub fn add(self, other: Range) -> Range {
        Range { lo: sum(self.lo, other.lo, false), hi: sum(self.hi, other.hi, true) }
    }

    pub fn sub(self, other: Range) -> Range {
        self.add(other.neg())
    }

    pub fn mul(self, other: Range) -> Range {
        self.corners(other, product)
    }

    /// All numbers where the divisor may be 0 within.
    pub fn div(self, other: Range) -> Range {
        if self.is_zero() {
            return Range::ZERO;
        }
        if other.lo < 0.0 && other.hi > 0.0 || other.is_zero() {
            return Range::ALL;
        }
        // A zero that is an end belongs to what is next to it.
        let sign = if other.lo < 0.0 { -1.0 } else { 1.0 };
        let end = |x: f64| if x == 0.0 { 0.0 * sign } else { x };
        self.corners(Range::new(end(other.lo), end(other.hi)), quotient)
    }

    fn corners(self, other: Range, of: fn(f64, f64, bool) -> f64) -> Range {
        let pairs =
            [(self.lo, other.lo), (self.lo, other.hi), (self.hi, other.lo), (self.hi, other.hi)];
        let ends = |up| pairs.map(|(a, b)| of(a, b, up));
        Range {
            lo: ends(false).into_iter().fold(f64::INFINITY, f64::min),
            hi: ends(true).into_iter().fold(f64::NEG_INFINITY, f64::max),
        }
    }

    pub fn scale(self, factor: f64) -> Range {
        self.mul(Range::of(factor))
    }

    pub fn square(self) -> Range {
        Range {
            lo: product(self.least(), self.least(), false),
            hi: product(self.most(), self.most(), true),
        }
    }

    pub fn abs(self) -> Range {
        Range { lo: self.least(), hi: self.most() }
    }

    pub fn max(self, other: Range) -> Range {
        Range { lo: self.lo.max(other.lo), hi: self.hi.max(other.hi) }
    }

    /// Of numbers that are not negative.
    pub fn sqrt(self) -> Range {
        let root = |x: f64, up| {
            let s = x.sqrt();
            rounded(s, (-s).mul_add(s, x), up)
        };
        Range { lo: root(self.lo, false), hi: root(self.hi, true) }
    }

    pub fn exp(self) -> Range {
        let exp = |x: f64, up| around(libm::exp(x), x == 0.0, up).max(0.0);
        Range { lo: exp(self.lo, false), hi: exp(self.hi, true) }
    }

    /// Of numbers that are not negative.
    pub fn log(self) -> Range {
        let log = |x: f64, up| around(libm::log(x), x == 1.0, up);
        Range { lo: log(self.lo, false), hi: log(self.hi, true) }
    }
}

/// The end on one side of a result of `libm`, which is off by less than some ulps.
fn around(x: f64, exact: bool, up: bool) -> f64 {
    let margin = if exact || x.is_infinite() { 0.0 } else { x.abs() * 1e-14 + 1e-300 };
    if up { x + margin } else { x - margin }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_rounded_outwards_where_they_are_not_exact() {
        let (one, half) = (Range::ONE, Range::new(0.0, 0.5));
        assert_eq!(one.sub(half), Range::new(0.5, 1.0));
        assert_eq!(one.sub(half).square().square(), Range::new(0.0625, 1.0));
        let third = one.div(Range::of(3.0));
        assert!(
            third.lo.next_up() == third.hi
                && third.scale(3.0).lo < 1.0
                && third.scale(3.0).hi > 1.0
        );
        assert_eq!(Range::of(-1.0).div(Range::of(3.0)), third.neg());
        assert_eq!(one.div(Range::of(-3.0)), third.neg());
        assert_eq!(one.add(Range::of(1e-30)), Range::new(1.0, 1.0f64.next_up()));
        assert_eq!(one.sub(Range::of(1e-30)), Range::new(1.0f64.next_down(), 1.0));
        let root = Range::of(2.0).sqrt();
        assert!(root.lo < root.hi && root.square().lo <= 2.0 && root.square().hi >= 2.0);
        assert_eq!((Range::ZERO.exp(), Range::ONE.log()), (Range::ONE, Range::ZERO));
    }

    #[test]
    fn infinite_ends_stand_for_what_has_no_bound() {
        let positive = Range::new(0.0, f64::INFINITY);
        assert_eq!(Range::ZERO.mul(positive), Range::ZERO);
        assert_eq!(positive.mul(Range::new(-1.0, 0.0)), Range::new(f64::NEG_INFINITY, 0.0));
        assert_eq!(Range::ONE.div(Range::new(0.0, 2.0)), Range::new(0.5, f64::INFINITY));
        assert_eq!(Range::ONE.div(Range::new(-2.0, 0.0)), Range::new(f64::NEG_INFINITY, -0.5));
        assert_eq!(Range::ONE.div(Range::new(-1.0, 1.0)), Range::ALL);
        assert_eq!(positive.sub(positive), Range::ALL);
    }
}
