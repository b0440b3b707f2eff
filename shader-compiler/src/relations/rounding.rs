//! Bounds on rounding errors: the distance between a float and the real number that it
//! approximates, for operands with errors of their own.
//!
//! For a float F and the real number G that it approximates, |F − G| ≤ r |G| + η. The relative part
//! comes from rounding, u = 2⁻²⁴ for each operation. The absolute part comes from results below the
//! smallest normal number, 2⁻¹⁵⁰ each, and from differences. The rules follow Higham 2002 §3.1, but
//! keep all terms: r of a product is (1 + r_a)(1 + r_b)(1 + u) − 1, and so on. In addition:
//!
//! - The relative error of a sum of terms of the same sign is at most the greater of the relative
//!   errors of the terms. A difference has an absolute error of at most r_a |a| + r_b |b|. If its
//!   magnitude is bounded from below, that is converted to a relative error.
//! - An absolute error δ of x changes eˣ by a factor e^δ. A relative error δ of x adds an absolute
//!   error log (1 + δ) to log x. The operations themselves add the relative errors [`EXPONENTIAL`]
//!   and [`LOGARITHM`]. These constants follow from the largest errors in ulps over all floats
//!   (`math/TABLE.md`), since one ulp is a relative error of at most 2u; a test compares them.
//! - aᵇ is treated as eˣ with x = b ln a, where the relative error of a is multiplied by b. The
//!   operation itself adds [`power::relative_error`] of |b log₂ a|, which is proved there. Results
//!   below 2⁻¹²⁶ have an additional absolute error of at most 2⁻¹²⁶.
//!
//! Error bounds are computed in double precision, and increased by a factor 1 + 1e-9 to cover its
//! rounding.

use crate::math::power;
use crate::range::Range;
use std::f64::consts::LOG2_E;

/// A bound r |G| + η on the error of a float that approximates a real number G.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RoundingError {
    /// r
    pub relative: f64,
    /// η
    pub absolute: f64,
}

/// Half an ulp of 1.
const U: f64 = 1.0 / (1u32 << 24) as f64;

/// Half the smallest positive float.
const UNDERFLOW: f64 = 7.006492321624086e-46;

/// Relative error of `exp` and `exp2` for normal results. The absolute error of subnormal results
/// is half as many ulps.
const EXPONENTIAL: f64 = 5.0 * U;

/// Relative error of `log` and `log2`. Results are never subnormal.
const LOGARITHM: f64 = 4.0 * U;

/// Absolute error of `pow` for results below the smallest normal number.
const POW_UNDERFLOW: f64 = 1.1754943508222875e-38;

/// The smallest exponent for which `pow` returns 0 for a small enough base.
const MIN_EXPONENT: f64 = 1.504632769052528e-36;

/// Floats that approximate real numbers of at least this magnitude are normal, in spite of errors.
const NORMAL: f64 = 1e-37;

/// Maximum relative distance that a source is moved by.
const MAX_RELATIVE_MOVE: f64 = 0.01;

/// Maximum shift of an endpoint. It is below the rounding error of values above 1e-30.
const MAX_SHIFT: f64 = 1e-38;

/// Relative errors from here on are treated as unbounded.
const MAX_RELATIVE_ERROR: f64 = 0.25;

impl RoundingError {
    /// Error of an exact value.
    pub const EXACT: RoundingError = RoundingError { relative: 0.0, absolute: 0.0 };

    /// Error of an unknown value: no bound.
    const UNBOUNDED: RoundingError =
        RoundingError { relative: f64::INFINITY, absolute: f64::INFINITY };

    /// An error bound, increased to cover the rounding of its own computation.
    fn of(relative: f64, absolute: f64) -> RoundingError {
        if relative < MAX_RELATIVE_ERROR && absolute.is_finite() {
            RoundingError { relative: relative * (1.0 + 1e-9), absolute: absolute * (1.0 + 1e-9) }
        } else {
            RoundingError::UNBOUNDED
        }
    }

    /// Adds one rounding; `subnormal` if results may be subnormal.
    fn rounded(self, subnormal: bool) -> RoundingError {
        let absolute = self.absolute * (1.0 + U) + if subnormal { UNDERFLOW } else { 0.0 };
        RoundingError::of((1.0 + self.relative) * (1.0 + U) - 1.0, absolute)
    }

    /// Converts the bound to a relative error, for a value of at least the given magnitude;
    /// infinite if that is 0.
    fn all_relative(self, min: f64) -> f64 {
        if self.absolute == 0.0 { self.relative } else { self.relative + self.absolute / min }
    }

    /// The greater of two errors.
    pub fn max(self, other: RoundingError) -> RoundingError {
        RoundingError {
            relative: self.relative.max(other.relative),
            absolute: self.absolute.max(other.absolute),
        }
    }

    /// Error of max(a, b) or min(a, b). If the floats are in the opposite order, their distance is
    /// at most the sum of their errors.
    pub fn min_max(self, other: RoundingError) -> RoundingError {
        RoundingError::of(self.relative.max(other.relative), self.absolute + other.absolute)
    }

    /// Error of a sum, from its terms and its range.
    pub fn add(
        self,
        a: Range<f64>,
        other: RoundingError,
        b: Range<f64>,
        sum: Range<f64>,
    ) -> RoundingError {
        let absolute = self.absolute + other.absolute;
        let same_sign =
            a.is_nonnegative() && b.is_nonnegative() || a.is_nonpositive() && b.is_nonpositive();
        let error = if same_sign {
            RoundingError::of(self.relative.max(other.relative), absolute)
        } else {
            let from_terms = product(self.relative, a.mag()) + product(other.relative, b.mag());
            match sum.mig() > 0.0 && from_terms / sum.mig() < MAX_RELATIVE_ERROR {
                true => RoundingError::of(from_terms / sum.mig(), absolute),
                false => RoundingError::of(0.0, absolute + from_terms),
            }
        };
        error.rounded(false)
    }

    /// Error of a product.
    pub fn mul(self, a: Range<f64>, other: RoundingError, b: Range<f64>) -> RoundingError {
        let is_exact_zero =
            |error: RoundingError, x: Range<f64>| x.is_zero() && error.absolute == 0.0;
        if is_exact_zero(self, a) || is_exact_zero(other, b) {
            return RoundingError::EXACT;
        }
        let relative = (1.0 + self.relative) * (1.0 + other.relative) - 1.0;
        let absolute = product(self.absolute, b.mag() * (1.0 + other.relative))
            + product(other.absolute, a.mag() * (1.0 + self.relative))
            + self.absolute * other.absolute;
        let is_normal = a.mig() * b.mig() >= NORMAL;
        RoundingError::of(relative, absolute).rounded(!is_normal)
    }

    /// Error of a quotient.
    pub fn div(self, a: Range<f64>, other: RoundingError, b: Range<f64>) -> RoundingError {
        if a.is_zero() && self.absolute == 0.0 {
            return RoundingError::EXACT;
        }
        let divisor = other.all_relative(b.mig());
        if divisor >= MAX_RELATIVE_ERROR {
            return RoundingError::UNBOUNDED;
        }
        let relative = (1.0 + self.relative) / (1.0 - divisor) - 1.0;
        let absolute =
            if self.absolute == 0.0 { 0.0 } else { self.absolute / (b.mig() * (1.0 - divisor)) };
        let is_normal = a.mig() / b.mag() >= NORMAL;
        RoundingError::of(relative, absolute).rounded(!is_normal)
    }

    /// Error of a square root, which is never subnormal.
    pub fn sqrt(self, a: Range<f64>) -> RoundingError {
        let relative = self.all_relative(a.mig());
        // √(x + y) ≤ √x + √y.
        let error = if relative < MAX_RELATIVE_ERROR {
            RoundingError::of(relative, 0.0)
        } else {
            RoundingError::of(self.relative, self.absolute.sqrt())
        };
        error.rounded(false)
    }

    /// Error of a logarithm of a; `log_e` is the logarithm of e.
    pub fn log(self, a: Range<f64>, log_e: f64) -> RoundingError {
        let relative = self.all_relative(a.mig());
        RoundingError::of(
            LOGARITHM,
            if relative < MAX_RELATIVE_ERROR {
                relative / (1.0 - relative) * log_e * (1.0 + 8.0 * U)
            } else {
                f64::INFINITY
            },
        )
    }

    /// Error of an exponential function of x; `ln_base` is the natural logarithm of its base.
    pub fn exp(self, x: Range<f64>, ln_base: f64) -> RoundingError {
        let of_operand = (product(self.relative, x.mag()) + self.absolute) * ln_base;
        RoundingError::of(
            (1.0 + libm::expm1(of_operand.min(1.0))) * (1.0 + EXPONENTIAL) - 1.0,
            8.0 * UNDERFLOW,
        )
    }

    /// Error of aᵇ; `exponent` is the range of b ln a.
    pub fn pow(
        self,
        a: Range<f64>,
        other: RoundingError,
        b: Range<f64>,
        exponent: Range<f64>,
    ) -> RoundingError {
        let base = self.all_relative(a.mig());
        if base >= MAX_RELATIVE_ERROR {
            return RoundingError::UNBOUNDED;
        }
        // For a zero base, `pow` does not return 0 if the exponent is very small.
        if a.mig() == 0.0 && b.hi > 0.0 && b.lo < MIN_EXPONENT {
            return RoundingError::UNBOUNDED;
        }
        // This holds for normal results. The floats of others are below 2⁻¹²⁶ (1 + r).
        let t = exponent.mag().min(89.0);
        let magnitude = b.mag() * (1.0 + other.relative) + other.absolute;
        let log = a.log().mag() + 2.0 * base;
        let of_operands = product(base / (1.0 - base), magnitude)
            + other.relative * t
            + product(other.absolute, log);
        // The error of the operation itself depends on its operands as floats.
        let of_pow = power::relative_error((t + of_operands) * LOG2_E);
        RoundingError::of(
            (1.0 + libm::expm1(of_operands.min(1.0))) * (1.0 + of_pow) - 1.0,
            2.0 * POW_UNDERFLOW,
        )
    }

    /// Returns (k, H) such that F ≤ k F' + H and F' ≥ F / k − H, evaluated in floats, for floats F
    /// and F' that approximate real numbers 0 ≤ G ≤ G'.
    ///
    /// F ≤ (1 + r) G' + η ≤ (1 + r) / (1 − r) (F' + η) + η. Rounding decreases the product and the
    /// sum by at most 2.1u, and by 2⁻¹⁴⁹.
    pub fn widening(self) -> [f32; 2] {
        let k = (1.0 + self.relative) / (1.0 - self.relative) * (1.0 + 3.0 * U);
        let h = (k + 1.0) * self.absolute + 2.0 * UNDERFLOW;
        [(k as f32).next_up(), ((h * (1.0 + 3.0 * U)) as f32).next_up()]
    }

    /// Returns the distance between t' and t in ulps, and a shift H, such that G ≤ (t'/t)ᵉ G'
    /// implies F ≤ F' + H, where e is the minimum elasticity and G ≥ 0. `None` if one exceeds its
    /// limit.
    ///
    /// F ≤ (1 + r) G + η, and F' ≥ (1 − r) G' − η. So (t/t')ᵉ has to be (1 + r) / (1 − r), plus 3u
    /// for the rounding of the sum. The relative distance between adjacent floats is at least u.
    pub fn source_move(self, elasticity: f64) -> Option<(i32, f32)> {
        let gain = (1.0 + self.relative) / (1.0 - self.relative) * (1.0 + 3.0 * U);
        let ulps = libm::expm1(libm::log(gain) / elasticity) / U + 2.0;
        let shift = 2.0 * self.absolute * (1.0 + 4.0 * U) + 2.0 * UNDERFLOW;
        (ulps <= MAX_RELATIVE_MOVE / U && shift <= MAX_SHIFT)
            .then_some((ulps.ceil() as i32, (shift as f32).next_up()))
    }
}

/// The product; 0 if either factor is 0, even if the other is infinite.
fn product(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Op;
    use crate::random::Random;

    fn eval(op: Op, args: &[f32]) -> f32 {
        f32::from_bits(op.eval(&args.iter().map(|x| x.to_bits()).collect::<Vec<_>>()))
    }

    fn holds(error: RoundingError, float: f32, real: f64, label: &str) {
        let distance = (f64::from(float) - real).abs();
        assert!(
            distance <= error.relative * real.abs() * (1.0 + 1e-6) + error.absolute,
            "{label}: {float} is not within {error:?} of {real}"
        );
    }

    #[test]
    fn floats_are_within_their_error_bounds() {
        // (a / b + c)ᵈ and e^(a b − c): operands have errors themselves.
        let mut random = Random::new(23);
        let of = |x: f32| Range::singleton(f64::from(x));
        for _ in 0..200_000 {
            let mut uniform =
                |high: f32| high * (random.below(1 << 24) as f32 + 1.0) / (1 << 24) as f32;
            let [a, b, c, d] = [uniform(2.0), uniform(2.0), uniform(2.0), uniform(20.0)];
            let quotient = RoundingError::EXACT.div(of(a), RoundingError::EXACT, of(b));
            let real = of(a).div(of(b));
            holds(quotient, a / b, real.lo, "quotient");
            let sum = real.add(of(c));
            let error = quotient.add(real, RoundingError::EXACT, of(c), sum);
            holds(error, a / b + c, sum.lo, "sum");
            let exponent = sum.log().mul(of(d));
            if exponent.mag() < 80.0 {
                let power = error.pow(sum, RoundingError::EXACT, of(d), exponent);
                holds(
                    power,
                    eval(Op::Pow, &[a / b + c, d]),
                    libm::pow(sum.lo, f64::from(d)),
                    "power",
                );
            }
            let product = of(a).mul(of(b));
            let difference = product.sub(of(c));
            let error = RoundingError::EXACT.mul(of(a), RoundingError::EXACT, of(b)).add(
                product,
                RoundingError::EXACT,
                of(-c),
                difference,
            );
            holds(error, a * b - c, difference.lo, "difference");
            let exponential = error.exp(difference, 1.0);
            holds(
                exponential,
                eval(Op::Exp, &[a * b - c]),
                libm::exp(difference.lo),
                "exponential",
            );
            let root = error.sqrt(Range::singleton(difference.lo.max(0.0)));
            if difference.lo > 0.0 && a * b > c {
                holds(root, (a * b - c).sqrt(), difference.lo.sqrt(), "root");
            }
        }
    }

    #[test]
    fn errors_of_elementary_functions_match_the_table() {
        // In ulps; one ulp is at most 2u.
        let largest_error = |name: &str| -> f64 {
            let row = include_str!("../math/TABLE.md")
                .lines()
                .find_map(|line| line.strip_prefix(&format!("| {name} | ")));
            row.and_then(|row| row.split(" | ").nth(2))
                .and_then(|cell| cell.parse().ok())
                .expect("the table has a row for the function")
        };
        for (names, relative) in [(["exp", "exp2"], EXPONENTIAL), (["log", "log2"], LOGARITHM)] {
            for name in names {
                assert!(
                    largest_error(name) > 0.5 && 2.0 * U * largest_error(name) <= relative,
                    "{name}: {}",
                    largest_error(name)
                );
            }
        }
        // One ulp of a subnormal result is twice `UNDERFLOW`.
        assert!(["exp", "exp2"].iter().all(|name| 2.0 * largest_error(name) <= 8.0));
    }

    #[test]
    fn powers_are_within_the_proved_error_bound() {
        let mut random = Random::new(29);
        let mut largest_ratio = 0.0f64;
        for _ in 0..400_000 {
            let mut unit = || random.below(1 << 24) as f64 / f64::from(1 << 24);
            let a = f32::from_bits(0x3500_0000 + (unit() * f64::from(0x1000_0000)) as u32);
            let b = ((unit() - 0.5) * 250.0 / libm::log2(f64::from(a)).abs().max(1e-3)) as f32;
            let real = libm::pow(f64::from(a), f64::from(b));
            let t = f64::from(b) * libm::log2(f64::from(a));
            if (-125.9..127.9).contains(&t) {
                let error = (f64::from(eval(Op::Pow, &[a, b])) - real).abs() / real;
                assert!(error <= power::relative_error(t.abs()), "{a:e}^{b:e}: {}", error / U);
                largest_ratio = largest_ratio.max(error / power::relative_error(t.abs()));
            }
        }
        // The bound is tight within a factor of 2.
        assert!(largest_ratio > 0.5, "{largest_ratio}");
    }

    #[test]
    fn errors_of_powers_of_zero_with_tiny_exponents_are_unbounded() {
        let power = |lo: f64, b: Range<f64>| {
            let (a, other) = (Range::new(lo, 1.0), RoundingError::EXACT);
            RoundingError::EXACT.pow(a, other, b, b.mul(a.log()))
        };
        assert!(eval(Op::Pow, &[0.0, 1e-38]) > 0.5);
        assert_eq!(power(0.0, Range::new(0.0, 1.0)), RoundingError::UNBOUNDED);
        assert!(power(0.0, Range::new(1e-3, 1.0)).relative < 1e-3);
        assert!(power(0.1, Range::new(0.0, 1.0)).relative < 1e-3);
    }

    #[test]
    fn subnormal_results_have_an_absolute_error() {
        let of = |x: f32| Range::singleton(f64::from(x));
        let (a, b) = (1.1e-20f32, 1.3e-22f32);
        let product = RoundingError::EXACT.mul(of(a), RoundingError::EXACT, of(b));
        holds(product, a * b, of(a).mul(of(b)).lo, "product");
        assert!(
            product.absolute > 0.0
                && RoundingError::EXACT.mul(of(a), RoundingError::EXACT, of(1.0)).absolute == 0.0
        );
    }
}
