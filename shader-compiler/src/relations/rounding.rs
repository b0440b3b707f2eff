//! Error bounds of floats relative to the real numbers that they approximate, for operands with
//! errors of their own.
//!
//! For a float F and the real number G that it approximates, |F − G| ≤ r |G| + η. The relative part
//! comes from rounding, u = 2⁻²⁴ for each operation. The absolute part comes from results below the
//! least normal number, 2⁻¹⁵⁰ each, and from differences. The rules are those of Higham 2002 §3.1,
//! with all terms kept: r of a product is (1 + r_a)(1 + r_b)(1 + u) − 1, and so on. In addition:
//!
//! - A sum of terms with one sign has at most the relative error of its terms: r is the greater
//!   one. A difference has an absolute error of at most r_a |a| + r_b |b|. If its magnitude is
//!   bounded from below, that is converted to a relative one.
//! - If x has an absolute error δ, eˣ has a factor e^δ, and [`EXPONENTIAL`] of its own. If x has a
//!   relative error δ, log x has an absolute error log (1 + δ), and [`LOGARITHM`] of its own. Both
//!   constants follow from the largest errors over all floats (`math/TABLE.md`), in ulps. One ulp
//!   is at most 2u, relatively; a test compares them.
//! - aᵇ is treated as eˣ with x = b ln a, where the relative error of a is multiplied by b. Its own
//!   error is [`power::relative_error`] of |b log₂ a|, which is proved there, and below 2⁻¹²⁶ at
//!   most 2⁻¹²⁶ more.
//!
//! The figures are computed in double precision, and increased by 1e-9 of themselves to cover its
//! rounding.

use crate::math::power;
use crate::range::Range;
use std::f64::consts::LOG2_E;

/// r and η.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Error {
    pub relative: f64,
    pub absolute: f64,
}

/// Half an ulp of 1.
const U: f64 = 1.0 / (1u32 << 24) as f64;

/// Half the least positive float.
const UNDERFLOW: f64 = 7.006492321624086e-46;

/// Relative error of `exp` and `exp2` for normal results. Subnormal results have an absolute error
/// of half as many least positive floats.
const EXPONENTIAL: f64 = 5.0 * U;

/// Relative error of `log` and `log2`, whose results are never subnormal.
const LOGARITHM: f64 = 4.0 * U;

/// Absolute error of `pow` for results below the least normal number.
const POW_UNDERFLOW: f64 = 1.1754943508222875e-38;

/// The least exponent for which `pow` returns 0 for a small enough base.
const LEAST_EXPONENT: f64 = 1.504632769052528e-36;

/// Real numbers of at least this magnitude have normal floats, in spite of their error.
const NORMAL: f64 = 1e-37;

/// Maximum relative distance that a source is moved by.
const MAX_RELATIVE_MOVE: f64 = 0.01;

/// Maximum shift of an endpoint: below rounding for values above 1e-30.
const MAX_SHIFT: f64 = 1e-38;

/// Relative errors from here on are treated as unbounded.
const MAX_RELATIVE_ERROR: f64 = 0.25;

impl Error {
    /// Error of an exact value.
    pub const NONE: Error = Error { relative: 0.0, absolute: 0.0 };

    /// Error of an unknown value.
    const UNKNOWN: Error = Error { relative: f64::INFINITY, absolute: f64::INFINITY };

    /// An error, increased to cover the rounding of its own computation.
    fn of(relative: f64, absolute: f64) -> Error {
        if relative < MAX_RELATIVE_ERROR && absolute.is_finite() {
            Error { relative: relative * (1.0 + 1e-9), absolute: absolute * (1.0 + 1e-9) }
        } else {
            Error::UNKNOWN
        }
    }

    /// Adds one rounding; `subnormal` if results may be subnormal.
    fn rounded(self, subnormal: bool) -> Error {
        let absolute = self.absolute * (1.0 + U) + if subnormal { UNDERFLOW } else { 0.0 };
        Error::of((1.0 + self.relative) * (1.0 + U) - 1.0, absolute)
    }

    /// Both parts as one relative error, for a value of at least the given magnitude; infinite if
    /// that is 0.
    fn all_relative(self, least: f64) -> f64 {
        if self.absolute == 0.0 { self.relative } else { self.relative + self.absolute / least }
    }

    /// The greater error of two.
    pub fn either(self, other: Error) -> Error {
        Error {
            relative: self.relative.max(other.relative),
            absolute: self.absolute.max(other.absolute),
        }
    }

    /// Error of max(a, b) or min(a, b): if the floats are in the other order, their distance is at
    /// most their errors.
    pub fn of_choice(self, other: Error) -> Error {
        Error::of(self.relative.max(other.relative), self.absolute + other.absolute)
    }

    /// Error of a sum, from its terms and its range.
    pub fn of_sum(self, a: Range<f64>, other: Error, b: Range<f64>, sum: Range<f64>) -> Error {
        let absolute = self.absolute + other.absolute;
        let agree =
            a.is_nonnegative() && b.is_nonnegative() || a.is_nonpositive() && b.is_nonpositive();
        let off = if agree {
            Error::of(self.relative.max(other.relative), absolute)
        } else {
            let lost = product(self.relative, a.mag()) + product(other.relative, b.mag());
            match sum.mig() > 0.0 && lost / sum.mig() < MAX_RELATIVE_ERROR {
                true => Error::of(lost / sum.mig(), absolute),
                false => Error::of(0.0, absolute + lost),
            }
        };
        off.rounded(false)
    }

    /// Error of a product.
    pub fn of_product(self, a: Range<f64>, other: Error, b: Range<f64>) -> Error {
        let is_exact_zero = |error: Error, x: Range<f64>| x.is_zero() && error.absolute == 0.0;
        if is_exact_zero(self, a) || is_exact_zero(other, b) {
            return Error::NONE;
        }
        let relative = (1.0 + self.relative) * (1.0 + other.relative) - 1.0;
        let absolute = product(self.absolute, b.mag() * (1.0 + other.relative))
            + product(other.absolute, a.mag() * (1.0 + self.relative))
            + self.absolute * other.absolute;
        // Infinite bounds carry no information.
        let is_normal = a.mig() * b.mig() >= NORMAL;
        Error::of(relative, absolute).rounded(!is_normal)
    }

    /// Error of a quotient.
    pub fn of_quotient(self, a: Range<f64>, other: Error, b: Range<f64>) -> Error {
        if a.is_zero() && self.absolute == 0.0 {
            return Error::NONE;
        }
        let divisor = other.all_relative(b.mig());
        if divisor >= MAX_RELATIVE_ERROR {
            return Error::UNKNOWN;
        }
        let relative = (1.0 + self.relative) / (1.0 - divisor) - 1.0;
        let absolute =
            if self.absolute == 0.0 { 0.0 } else { self.absolute / (b.mig() * (1.0 - divisor)) };
        let is_normal = a.mig() / b.mag() >= NORMAL;
        Error::of(relative, absolute).rounded(!is_normal)
    }

    /// Error of a square root, which is never subnormal.
    pub fn of_root(self, a: Range<f64>) -> Error {
        let all = self.all_relative(a.mig());
        // √(x + y) ≤ √x + √y.
        let off = if all < MAX_RELATIVE_ERROR {
            Error::of(all, 0.0)
        } else {
            Error::of(self.relative, self.absolute.sqrt())
        };
        off.rounded(false)
    }

    /// Error of a logarithm with argument a; `unit` is its value at e.
    pub fn of_logarithm(self, a: Range<f64>, unit: f64) -> Error {
        let all = self.all_relative(a.mig());
        Error::of(
            LOGARITHM,
            if all < MAX_RELATIVE_ERROR {
                all / (1.0 - all) * unit * (1.0 + 8.0 * U)
            } else {
                f64::INFINITY
            },
        )
    }

    /// Error of the exponential function of x; `unit` is the logarithm of its base.
    pub fn of_exponential(self, x: Range<f64>, unit: f64) -> Error {
        let off = (product(self.relative, x.mag()) + self.absolute) * unit;
        Error::of((1.0 + libm::expm1(off.min(1.0))) * (1.0 + EXPONENTIAL) - 1.0, 8.0 * UNDERFLOW)
    }

    /// Error of aᵇ, which is `power`; `exponent` is the range of b ln a.
    pub fn of_power(
        self,
        a: Range<f64>,
        other: Error,
        b: Range<f64>,
        exponent: Range<f64>,
    ) -> Error {
        let base = self.all_relative(a.mig());
        if base >= MAX_RELATIVE_ERROR {
            return Error::UNKNOWN;
        }
        // For the base 0, `pow` is not 0 for very small exponents.
        if a.mig() == 0.0 && b.hi > 0.0 && b.lo < LEAST_EXPONENT {
            return Error::UNKNOWN;
        }
        // For normal results. Others are below 2⁻¹²⁶ (1 + r) in floats, too.
        let t = exponent.mag().min(89.0);
        let magnitude = b.mag() * (1.0 + other.relative) + other.absolute;
        let log = a.log().mag() + 2.0 * base;
        let off = product(base / (1.0 - base), magnitude)
            + other.relative * t
            + product(other.absolute, log);
        // The operation's own error applies to operands in floats.
        let own = power::relative_error((t + off) * LOG2_E);
        Error::of((1.0 + libm::expm1(off.min(1.0))) * (1.0 + own) - 1.0, 2.0 * POW_UNDERFLOW)
    }

    /// Returns (k, H) for two floats that approximate real numbers 0 ≤ G ≤ G': F is at most k F' +
    /// H, and F' is at least F / k − H, if these are computed in floats.
    ///
    /// F ≤ (1 + r) G' + η ≤ (1 + r) / (1 − r) (F' + η) + η. Rounding decreases the product and the
    /// sum by at most 2.1u, and by 2⁻¹⁴⁹.
    pub fn widening(self) -> [f32; 2] {
        let k = (1.0 + self.relative) / (1.0 - self.relative) * (1.0 + 3.0 * U);
        let h = (k + 1.0) * self.absolute + 2.0 * UNDERFLOW;
        [(k as f32).next_up(), ((h * (1.0 + 3.0 * U)) as f32).next_up()]
    }

    /// Returns the number of floats to move by, from t' to t, and H, such that G ≤ (t'/t)ᵉ G'
    /// implies F ≤ F' + H, where e is the least elasticity and G ≥ 0. `None` if that exceeds the
    /// limits.
    ///
    /// F ≤ (1 + r) G + η, and F' ≥ (1 − r) G' − η. So (t/t')ᵉ has to be (1 + r) / (1 − r), plus 3u
    /// for the rounding of the sum. The relative distance of adjacent floats is at least u.
    pub fn moving(self, elasticity: f64) -> Option<(i32, f32)> {
        let gain = (1.0 + self.relative) / (1.0 - self.relative) * (1.0 + 3.0 * U);
        let floats = libm::expm1(libm::log(gain) / elasticity) / U + 2.0;
        let shift = 2.0 * self.absolute * (1.0 + 4.0 * U) + 2.0 * UNDERFLOW;
        (floats <= MAX_RELATIVE_MOVE / U && shift <= MAX_SHIFT)
            .then_some((floats.ceil() as i32, (shift as f32).next_up()))
    }
}

/// The product, 0 if either factor is 0.
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

    fn holds(error: Error, float: f32, real: f64, what: &str) {
        let off = (f64::from(float) - real).abs();
        assert!(
            off <= error.relative * real.abs() * (1.0 + 1e-6) + error.absolute,
            "{what}: {float} for {real}, {error:?}"
        );
    }

    /// (a / b + c)ᵈ and e^(a b − c), whose operands have errors themselves.
    #[test]
    fn floats_are_within_their_error_bounds() {
        let mut random = Random::new(23);
        let of = |x: f32| Range::singleton(f64::from(x));
        for _ in 0..200_000 {
            let mut uniform =
                |high: f32| high * (random.below(1 << 24) as f32 + 1.0) / (1 << 24) as f32;
            let [a, b, c, d] = [uniform(2.0), uniform(2.0), uniform(2.0), uniform(20.0)];
            let quotient = Error::NONE.of_quotient(of(a), Error::NONE, of(b));
            let real = of(a).div(of(b));
            holds(quotient, a / b, real.lo, "quotient");
            let sum = real.add(of(c));
            let off = quotient.of_sum(real, Error::NONE, of(c), sum);
            holds(off, a / b + c, sum.lo, "sum");
            let exponent = sum.log().mul(of(d));
            if exponent.mag() < 80.0 {
                let power = off.of_power(sum, Error::NONE, of(d), exponent);
                holds(
                    power,
                    eval(Op::Pow, &[a / b + c, d]),
                    libm::pow(sum.lo, f64::from(d)),
                    "power",
                );
            }
            let product = of(a).mul(of(b));
            let difference = product.sub(of(c));
            let off = Error::NONE.of_product(of(a), Error::NONE, of(b)).of_sum(
                product,
                Error::NONE,
                of(-c),
                difference,
            );
            holds(off, a * b - c, difference.lo, "difference");
            let exponential = off.of_exponential(difference, 1.0);
            holds(
                exponential,
                eval(Op::Exp, &[a * b - c]),
                libm::exp(difference.lo),
                "exponential",
            );
            let root = off.of_root(Range::singleton(difference.lo.max(0.0)));
            if difference.lo > 0.0 && a * b > c {
                holds(root, (a * b - c).sqrt(), difference.lo.sqrt(), "root");
            }
        }
    }

    #[test]
    fn errors_of_elementary_functions_are_those_of_the_table() {
        // In ulps; one ulp is at most 2u.
        let largest = |name: &str| -> f64 {
            let row = include_str!("../math/TABLE.md")
                .lines()
                .find_map(|line| line.strip_prefix(&format!("| {name} | ")));
            row.and_then(|row| row.split(" | ").nth(2))
                .and_then(|cell| cell.parse().ok())
                .expect("it has a row")
        };
        for (names, relative) in [(["exp", "exp2"], EXPONENTIAL), (["log", "log2"], LOGARITHM)] {
            for name in names {
                assert!(
                    largest(name) > 0.5 && 2.0 * U * largest(name) <= relative,
                    "{name}: {}",
                    largest(name)
                );
            }
        }
        // Errors of subnormal results are in least positive floats, which are twice `UNDERFLOW`.
        assert!(["exp", "exp2"].iter().all(|name| 2.0 * largest(name) <= 8.0));
    }

    #[test]
    fn powers_are_within_their_proved_error() {
        let mut random = Random::new(29);
        let mut closest = 0.0f64;
        for _ in 0..400_000 {
            let mut unit = || random.below(1 << 24) as f64 / f64::from(1 << 24);
            let a = f32::from_bits(0x3500_0000 + (unit() * f64::from(0x1000_0000)) as u32);
            let b = ((unit() - 0.5) * 250.0 / libm::log2(f64::from(a)).abs().max(1e-3)) as f32;
            let real = libm::pow(f64::from(a), f64::from(b));
            let t = f64::from(b) * libm::log2(f64::from(a));
            if (-125.9..127.9).contains(&t) {
                let off = (f64::from(eval(Op::Pow, &[a, b])) - real).abs() / real;
                assert!(off <= power::relative_error(t.abs()), "{a:e}^{b:e}: {}", off / U);
                closest = closest.max(off / power::relative_error(t.abs()));
            }
        }
        // The bound is tight within a factor of 2.
        assert!(closest > 0.5, "{closest}");
    }

    #[test]
    fn powers_of_zero_with_tiny_exponents_are_unbounded() {
        let power = |lo: f64, b: Range<f64>| {
            let (a, other) = (Range::new(lo, 1.0), Error::NONE);
            Error::NONE.of_power(a, other, b, b.mul(a.log()))
        };
        assert!(eval(Op::Pow, &[0.0, 1e-38]) > 0.5);
        assert_eq!(power(0.0, Range::new(0.0, 1.0)), Error::UNKNOWN);
        assert!(power(0.0, Range::new(1e-3, 1.0)).relative < 1e-3);
        assert!(power(0.1, Range::new(0.0, 1.0)).relative < 1e-3);
    }

    #[test]
    fn results_below_the_least_normal_number_have_an_absolute_error() {
        let of = |x: f32| Range::singleton(f64::from(x));
        let (a, b) = (1.1e-20f32, 1.3e-22f32);
        let product = Error::NONE.of_product(of(a), Error::NONE, of(b));
        holds(product, a * b, of(a).mul(of(b)).lo, "product");
        assert!(
            product.absolute > 0.0
                && Error::NONE.of_product(of(a), Error::NONE, of(1.0)).absolute == 0.0
        );
    }
}
