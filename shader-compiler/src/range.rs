//! Compile-time ranges of numbers: closed intervals from `lo` to `hi`.
//!
//! The type is generic over the numbers, which differ in how they [compute endpoints](Endpoint):
//!
//! | range | elements | endpoints of a sum |
//! |---|---|---|
//! | `Range<f64>` | real numbers | rounded outward if inexact |
//! | `Range<f32>` | floats | the result of the operation itself, since rounding is monotone |
//! | `Range<i64>` | integers, before they wrap to 32 bits | exact, or saturated |
//!
//! An infinite endpoint means unbounded. For real numbers 0 · ∞ is 0, since the numbers themselves
//! are finite. No endpoint is NaN.
//!
//! A range does not track NaN or the sign of a zero, and has no gaps.
//! [`Bounds`](crate::interval::Bounds), which static bounds analysis computes for an entire
//! function and code selection uses, are unions of ranges with flags for these. They cannot replace
//! ranges: the builder looks at a few operations while a function is being built, before any
//! analysis, and proofs about real numbers need endpoints that are rounded outward.

/// All numbers from `lo` to `hi`, inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range<T> {
    pub lo: T,
    pub hi: T,
}

/// A number that can be the endpoint of a range.
pub(crate) trait Endpoint: Copy + PartialOrd {
    const ZERO: Self;
    /// Lower endpoint of an unbounded range.
    const UNBOUNDED_BELOW: Self;
    /// Upper endpoint of an unbounded range.
    const UNBOUNDED_ABOVE: Self;
    /// 0 − x; never −0 for floats.
    fn negate(self) -> Self;
    /// Lower endpoint of a sum, or the upper one if `up`.
    fn sum(self, other: Self, up: bool) -> Self;
}

impl Endpoint for f64 {
    const ZERO: f64 = 0.0;
    const UNBOUNDED_BELOW: f64 = f64::NEG_INFINITY;
    const UNBOUNDED_ABOVE: f64 = f64::INFINITY;

    fn negate(self) -> f64 {
        0.0 - self
    }

    fn sum(self, other: f64, up: bool) -> f64 {
        let s = self + other;
        if s.is_nan() {
            return unbounded(up);
        }
        // The exact rounding error (Knuth's TwoSum).
        let part = s - self;
        round_outward(s, (self - (s - part)) + (other - part), up)
    }
}

impl Endpoint for f32 {
    const ZERO: f32 = 0.0;
    const UNBOUNDED_BELOW: f32 = f32::NEG_INFINITY;
    const UNBOUNDED_ABOVE: f32 = f32::INFINITY;

    fn negate(self) -> f32 {
        0.0 - self
    }

    fn sum(self, other: f32, up: bool) -> f32 {
        let s = self + other;
        if s.is_nan() { unbounded(up) } else { s }
    }
}

impl Endpoint for i64 {
    const ZERO: i64 = 0;
    const UNBOUNDED_BELOW: i64 = i64::MIN;
    const UNBOUNDED_ABOVE: i64 = i64::MAX;

    fn negate(self) -> i64 {
        0i64.saturating_sub(self)
    }

    fn sum(self, other: i64, _: bool) -> i64 {
        self.saturating_add(other)
    }
}

fn unbounded<T: Endpoint>(up: bool) -> T {
    if up { T::UNBOUNDED_ABOVE } else { T::UNBOUNDED_BELOW }
}

/// The smaller of two numbers that are not NaN.
fn lesser<T: PartialOrd>(a: T, b: T) -> T {
    if b < a { b } else { a }
}

/// The larger of two numbers that are not NaN.
fn greater<T: PartialOrd>(a: T, b: T) -> T {
    if b > a { b } else { a }
}

impl<T: Endpoint> Range<T> {
    pub const ZERO: Range<T> = Range { lo: T::ZERO, hi: T::ZERO };
    /// All numbers.
    pub const ALL: Range<T> = Range { lo: T::UNBOUNDED_BELOW, hi: T::UNBOUNDED_ABOVE };
    /// All numbers ≥ 0.
    pub const NONNEGATIVE: Range<T> = Range { lo: T::ZERO, hi: T::UNBOUNDED_ABOVE };

    pub fn new(lo: T, hi: T) -> Range<T> {
        Range { lo, hi }
    }

    /// The range that contains a single number.
    pub fn singleton(x: T) -> Range<T> {
        Range { lo: x, hi: x }
    }

    /// Whether all numbers are ≥ 0.
    pub fn is_nonnegative(self) -> bool {
        self.lo >= T::ZERO
    }

    /// Whether all numbers are ≤ 0.
    pub fn is_nonpositive(self) -> bool {
        self.hi <= T::ZERO
    }

    pub fn contains_zero(self) -> bool {
        self.lo <= T::ZERO && self.hi >= T::ZERO
    }

    /// Whether the range is {0}.
    pub fn is_zero(self) -> bool {
        self == Range::ZERO
    }

    /// Whether this range contains all of `other`.
    pub fn includes(self, other: Range<T>) -> bool {
        self.lo <= other.lo && other.hi <= self.hi
    }

    /// Largest magnitude.
    pub fn mag(self) -> T {
        greater(self.lo.negate(), self.hi)
    }

    /// Smallest magnitude.
    pub fn mig(self) -> T {
        greater(greater(self.lo, self.hi.negate()), T::ZERO)
    }

    pub fn hull(self, other: Range<T>) -> Range<T> {
        Range { lo: lesser(self.lo, other.lo), hi: greater(self.hi, other.hi) }
    }

    pub fn neg(self) -> Range<T> {
        Range { lo: self.hi.negate(), hi: self.lo.negate() }
    }

    pub fn add(self, other: Range<T>) -> Range<T> {
        Range { lo: self.lo.sum(other.lo, false), hi: self.hi.sum(other.hi, true) }
    }

    pub fn sub(self, other: Range<T>) -> Range<T> {
        self.add(other.neg())
    }

    pub fn abs(self) -> Range<T> {
        Range { lo: self.mig(), hi: self.mag() }
    }

    pub fn min(self, other: Range<T>) -> Range<T> {
        Range { lo: lesser(self.lo, other.lo), hi: lesser(self.hi, other.hi) }
    }

    pub fn max(self, other: Range<T>) -> Range<T> {
        Range { lo: greater(self.lo, other.lo), hi: greater(self.hi, other.hi) }
    }
}

impl Range<f64> {
    pub const ONE: Range<f64> = Range { lo: 1.0, hi: 1.0 };

    /// The intersection, or `self` if that is empty.
    pub fn intersect(self, other: Range<f64>) -> Range<f64> {
        let both = Range { lo: self.lo.max(other.lo), hi: self.hi.min(other.hi) };
        if both.lo <= both.hi { both } else { self }
    }

    pub fn mul(self, other: Range<f64>) -> Range<f64> {
        self.corners(other, |a, b| if a == 0.0 || b == 0.0 { 0.0 } else { a * b }, product)
    }

    /// The quotient; all numbers if 0 lies inside the divisor.
    pub fn div(self, other: Range<f64>) -> Range<f64> {
        if self.is_zero() {
            return Range::ZERO;
        }
        if other.lo < 0.0 && other.hi > 0.0 || other.is_zero() {
            return Range::ALL;
        }
        // A zero endpoint takes the sign of the adjacent divisors.
        let sign = if other.lo < 0.0 { -1.0 } else { 1.0 };
        let signed = |x: f64| if x == 0.0 { 0.0 * sign } else { x };
        let nearest = |a: f64, b: f64| if is_quotient_zero(a, b) { 0.0 } else { a / b };
        self.corners(Range::new(signed(other.lo), signed(other.hi)), nearest, quotient)
    }

    /// Range of an operation that attains its extrema at endpoints of both operands. `nearest`
    /// rounds to nearest, and `outward` up or down.
    fn corners(
        self,
        other: Range<f64>,
        nearest: impl Fn(f64, f64) -> f64,
        outward: impl Fn(f64, f64, bool) -> f64,
    ) -> Range<f64> {
        let pairs =
            [(self.lo, other.lo), (self.lo, other.hi), (self.hi, other.lo), (self.hi, other.hi)];
        let results = pairs.map(|(a, b)| nearest(a, b));
        let has_nan = results.iter().any(|x| x.is_nan());
        let lo = results.into_iter().fold(f64::INFINITY, f64::min);
        let hi = results.into_iter().fold(f64::NEG_INFINITY, f64::max);
        // Rounding is monotone, so that only the extrema need be rounded outward.
        let endpoint = |up: bool, extremum: f64, best: fn(f64, f64) -> f64, start: f64| {
            std::iter::zip(pairs, results)
                .filter(|&(_, result)| has_nan || result == extremum)
                .fold(start, |end, ((a, b), _)| best(end, outward(a, b, up)))
        };
        Range {
            lo: endpoint(false, lo, f64::min, f64::INFINITY),
            hi: endpoint(true, hi, f64::max, f64::NEG_INFINITY),
        }
    }

    pub fn scale(self, factor: f64) -> Range<f64> {
        self.mul(Range::singleton(factor))
    }

    pub fn square(self) -> Range<f64> {
        Range {
            lo: product(self.mig(), self.mig(), false),
            hi: product(self.mag(), self.mag(), true),
        }
    }

    /// Square roots. Requires nonnegative numbers.
    pub fn sqrt(self) -> Range<f64> {
        let root = |x: f64, up| {
            let s = x.sqrt();
            round_outward(s, (-s).mul_add(s, x), up)
        };
        Range { lo: root(self.lo, false), hi: root(self.hi, true) }
    }

    pub fn exp(self) -> Range<f64> {
        let exp = |x: f64, up| widen(libm::exp(x), x == 0.0, up).max(0.0);
        Range { lo: exp(self.lo, false), hi: exp(self.hi, true) }
    }

    /// Natural logarithms. Requires nonnegative numbers.
    pub fn log(self) -> Range<f64> {
        let log = |x: f64, up| widen(libm::log(x), x == 1.0, up);
        Range { lo: log(self.lo, false), hi: log(self.hi, true) }
    }
}

/// Rounds an endpoint outward. Its exact value is x + δ; `error` has the sign of δ, or is NaN if
/// the sign is unknown.
fn round_outward(x: f64, error: f64, up: bool) -> f64 {
    match up {
        _ if x.is_infinite() => x,
        true if error > 0.0 || error.is_nan() => x.next_up(),
        false if error < 0.0 || error.is_nan() => x.next_down(),
        _ => x,
    }
}

/// Endpoint of a product, rounded outward.
fn product(a: f64, b: f64, up: bool) -> f64 {
    if a == 0.0 || b == 0.0 {
        return 0.0;
    }
    let p = a * b;
    // The rounding error of a small product may itself underflow.
    round_outward(p, if p.abs() < 1e-250 { f64::NAN } else { a.mul_add(b, -p) }, up)
}

fn is_quotient_zero(a: f64, b: f64) -> bool {
    a == 0.0 || b.is_infinite() && a.is_finite()
}

/// Endpoint of a quotient, rounded outward.
fn quotient(a: f64, b: f64, up: bool) -> f64 {
    if is_quotient_zero(a, b) {
        return 0.0;
    }
    let q = a / b;
    if q.is_nan() {
        return unbounded(up);
    }
    round_outward(
        q,
        if q.abs() < 1e-250 || a.abs() < 1e-200 {
            f64::NAN
        } else {
            (-q).mul_add(b, a) * b.signum()
        },
        up,
    )
}

/// Widens an endpoint that `libm` computed with an error of a few ulps, unless it is exact.
fn widen(x: f64, exact: bool, up: bool) -> f64 {
    let margin = if exact || x.is_infinite() { 0.0 } else { x.abs() * 1e-14 + 1e-300 };
    if up { x + margin } else { x - margin }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn inexact_endpoints_of_reals_are_rounded_outward() {
        let (one, half) = (Range::ONE, Range::new(0.0, 0.5));
        assert_eq!(one.sub(half), Range::new(0.5, 1.0));
        assert_eq!(one.sub(half).square().square(), Range::new(0.0625, 1.0));
        let third = one.div(Range::singleton(3.0));
        assert!(
            third.lo.next_up() == third.hi
                && third.scale(3.0).lo < 1.0
                && third.scale(3.0).hi > 1.0
        );
        assert_eq!(Range::singleton(-1.0).div(Range::singleton(3.0)), third.neg());
        assert_eq!(one.div(Range::singleton(-3.0)), third.neg());
        assert_eq!(one.add(Range::singleton(1e-30)), Range::new(1.0, 1.0f64.next_up()));
        assert_eq!(one.sub(Range::singleton(1e-30)), Range::new(1.0f64.next_down(), 1.0));
        let root = Range::singleton(2.0).sqrt();
        assert!(root.lo < root.hi && root.square().lo <= 2.0 && root.square().hi >= 2.0);
        assert_eq!((Range::ZERO.exp(), Range::ONE.log()), (Range::ONE, Range::ZERO));
    }

    #[test]
    fn infinite_endpoints_mean_unbounded() {
        let positive: Range<f64> = Range::NONNEGATIVE;
        assert_eq!(Range::ZERO.mul(positive), Range::ZERO);
        assert_eq!(positive.mul(Range::new(-1.0, 0.0)), Range::new(f64::NEG_INFINITY, 0.0));
        assert_eq!(Range::ONE.div(Range::new(0.0, 2.0)), Range::new(0.5, f64::INFINITY));
        assert_eq!(Range::ONE.div(Range::new(-2.0, 0.0)), Range::new(f64::NEG_INFINITY, -0.5));
        assert_eq!(Range::ONE.div(Range::new(-1.0, 1.0)), Range::ALL);
        assert_eq!(positive.sub(positive), Range::ALL);
    }

    #[test]
    fn endpoints_of_floats_match_float_arithmetic() {
        let tiny = Range::singleton(1e-30f32);
        assert_eq!(Range::singleton(1.0f32).add(tiny), Range::singleton(1.0));
        assert_eq!(Range::singleton(f32::MAX).add(Range::singleton(f32::MAX)).lo, f32::INFINITY);
        assert_eq!(Range::<f32>::ALL.sub(Range::ALL), Range::ALL);
    }

    #[test]
    fn absolute_value_spans_smallest_to_largest_magnitude() {
        assert_eq!(Range::new(-5, -3).abs(), Range::new(3, 5));
        assert_eq!(Range::new(-5, 3).abs(), Range::new(0, 5));
        assert_eq!(Range::new(-3.0f32, 5.0).abs(), Range::new(0.0, 5.0));
    }

    #[test]
    fn products_and_quotients_are_the_extrema_of_corners_rounded_outward() {
        let mut random = Random::new(9);
        let special = [0.0, 1.0, 1.0 / 3.0, 1e-300, 5e-324, 1e200, 1e308, f64::INFINITY];
        let mut number = || {
            let x = if random.once_in(2) {
                *random.pick(&special)
            } else {
                random.below(1 << 20) as f64 / f64::from(random.below(1 << 20) as u32 + 1)
            };
            if random.once_in(2) { 0.0 - x } else { x }
        };
        for _ in 0..200_000 {
            let [a, b, c, d] = [(); 4].map(|()| number());
            let (x, y) = (Range::new(a.min(b), a.max(b)), Range::new(c.min(d), c.max(d)));
            let corners = |op: fn(f64, f64, bool) -> f64| {
                let all = |up| {
                    [(x.lo, y.lo), (x.lo, y.hi), (x.hi, y.lo), (x.hi, y.hi)]
                        .map(|(a, b)| op(a, b, up))
                };
                Range {
                    lo: all(false).into_iter().fold(f64::INFINITY, f64::min),
                    hi: all(true).into_iter().fold(f64::NEG_INFINITY, f64::max),
                }
            };
            assert_eq!(x.mul(y), corners(product), "{x:?} * {y:?}");
            if y.lo > 0.0 && !x.is_zero() {
                assert_eq!(x.div(y), corners(quotient), "{x:?} / {y:?}");
            }
        }
    }
}
