//! How far values in floats are from those of real numbers, where operands may be off already.
//!
//! For a float F and the real number G that it stands for, |F − G| ≤ r |G| + η. What is relative
//! comes from rounding, u = 2⁻²⁴ at each operation; what is absolute, from results below the least
//! normal number, 2⁻¹⁵⁰ each, and from differences. The rules are first those of Higham 2002 §3.1,
//! all terms kept: r of a product is (1 + r_a)(1 + r_b)(1 + u) − 1, and so on. Then:
//!
//! - A sum of terms with one sign is off by no more than its terms, relatively: r is the greater
//!   one. A difference has an absolute error, of r_a |a| + r_b |b| at most; where its magnitude is
//!   bounded from below, that becomes a relative one.
//! - eˣ of an x that is off by δ is off by a factor e^δ, and by [`EXPONENTIAL`] itself. log x of an
//!   x that is off by a factor 1 + δ is off by log (1 + δ), and by [`LOGARITHM`] itself. Both
//!   follow from the largest errors over all floats (`math/TABLE.md`), in ulp, one of which is at
//!   most 2u, relatively; a test compares them.
//! - aᵇ is as eˣ with x = b ln a, where what is relative of a is times b. It is off by
//!   [`power::relative_error`] of |b log₂ a| itself, which is proved there, and below 2⁻¹²⁶ by
//!   2⁻¹²⁶ more at most.
//!
//! The figures are computed in double precision, and grown by 1e-9 of themselves for that.

use super::range::Range;
use crate::math::power;
use std::f64::consts::LOG2_E;

/// r and η.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Error {
    pub relative: f64,
    pub absolute: f64,
}

/// Half an ulp of 1.
const U: f64 = 1.0 / (1u32 << 24) as f64;

/// Half the least number.
const UNDERFLOW: f64 = 7.006492321624086e-46;

/// Relative error of `exp` and `exp2`, where results are normal; elsewhere, they are off by half as
/// many of the least numbers.
const EXPONENTIAL: f64 = 5.0 * U;

/// Relative error of `log` and `log2`, whose results are never subnormal.
const LOGARITHM: f64 = 4.0 * U;

/// What results of `pow` below the least normal number are off by.
const POW_UNDERFLOW: f64 = 1.1754943508222875e-38;

/// The least exponent for which `pow` takes 0 for a base that is small enough.
const LEAST_EXPONENT: f64 = 1.504632769052528e-36;

/// Real numbers from here on have normal floats, off as they are.
const NORMAL: f64 = 1e-37;

/// A source is moved by so much, relatively, at most.
const MOST_MOVED: f64 = 0.01;

/// An end shifts by so much at most, which is no more than rounding for what is greater than 1e-30.
const MOST_SHIFTED: f64 = 1e-38;

/// Errors of which nothing is expected.
const TOO_MUCH: f64 = 0.25;

impl Error {
    /// Of an exact value.
    pub const NONE: Error = Error { relative: 0.0, absolute: 0.0 };

    /// Of a value of which nothing is known.
    const UNKNOWN: Error = Error { relative: f64::INFINITY, absolute: f64::INFINITY };

    /// Grown for how it was computed.
    fn of(relative: f64, absolute: f64) -> Error {
        if relative < TOO_MUCH && absolute.is_finite() {
            Error { relative: relative * (1.0 + 1e-9), absolute: absolute * (1.0 + 1e-9) }
        } else {
            Error::UNKNOWN
        }
    }

    /// Rounds once more, where results may be subnormal if so.
    fn rounded(self, subnormal: bool) -> Error {
        let absolute = self.absolute * (1.0 + U) + if subnormal { UNDERFLOW } else { 0.0 };
        Error::of((1.0 + self.relative) * (1.0 + U) - 1.0, absolute)
    }

    /// Both kinds of a value of at least such a magnitude, as a relative one; infinite where it may
    /// be 0.
    fn all_relative(self, least: f64) -> f64 {
        if self.absolute == 0.0 { self.relative } else { self.relative + self.absolute / least }
    }

    /// The worse of both.
    pub fn either(self, other: Error) -> Error {
        Error {
            relative: self.relative.max(other.relative),
            absolute: self.absolute.max(other.absolute),
        }
    }

    /// Of max(a, b) or min(a, b): where the floats' order is the other one, they are as close as
    /// they are off.
    pub fn of_choice(self, other: Error) -> Error {
        Error::of(self.relative.max(other.relative), self.absolute + other.absolute)
    }

    /// Of a sum, its terms and what it is.
    pub fn of_sum(self, a: Range, other: Error, b: Range, sum: Range) -> Error {
        let absolute = self.absolute + other.absolute;
        let agree = a.is_positive() && b.is_positive() || a.is_negative() && b.is_negative();
        let off = if agree {
            Error::of(self.relative.max(other.relative), absolute)
        } else {
            let lost = product(self.relative, a.most()) + product(other.relative, b.most());
            match sum.least() > 0.0 && lost / sum.least() < TOO_MUCH {
                true => Error::of(lost / sum.least(), absolute),
                false => Error::of(0.0, absolute + lost),
            }
        };
        off.rounded(false)
    }

    /// Of a product.
    pub fn of_product(self, a: Range, other: Error, b: Range) -> Error {
        let is_exact_zero = |error: Error, x: Range| x.is_zero() && error.absolute == 0.0;
        if is_exact_zero(self, a) || is_exact_zero(other, b) {
            return Error::NONE;
        }
        let relative = (1.0 + self.relative) * (1.0 + other.relative) - 1.0;
        let absolute = product(self.absolute, b.most() * (1.0 + other.relative))
            + product(other.absolute, a.most() * (1.0 + self.relative))
            + self.absolute * other.absolute;
        // Infinite bounds say nothing.
        let is_normal = a.least() * b.least() >= NORMAL;
        Error::of(relative, absolute).rounded(!is_normal)
    }

    /// Of a quotient.
    pub fn of_quotient(self, a: Range, other: Error, b: Range) -> Error {
        if a.is_zero() && self.absolute == 0.0 {
            return Error::NONE;
        }
        let divisor = other.all_relative(b.least());
        if divisor >= TOO_MUCH {
            return Error::UNKNOWN;
        }
        let relative = (1.0 + self.relative) / (1.0 - divisor) - 1.0;
        let absolute =
            if self.absolute == 0.0 { 0.0 } else { self.absolute / (b.least() * (1.0 - divisor)) };
        let is_normal = a.least() / b.most() >= NORMAL;
        Error::of(relative, absolute).rounded(!is_normal)
    }

    /// Of a square root, which is never subnormal.
    pub fn of_root(self, a: Range) -> Error {
        let all = self.all_relative(a.least());
        // √(x + y) ≤ √x + √y.
        let off = if all < TOO_MUCH {
            Error::of(all, 0.0)
        } else {
            Error::of(self.relative, self.absolute.sqrt())
        };
        off.rounded(false)
    }

    /// Of a logarithm whose argument is a; `unit` is its value at e.
    pub fn of_logarithm(self, a: Range, unit: f64) -> Error {
        let all = self.all_relative(a.least());
        Error::of(
            LOGARITHM,
            if all < TOO_MUCH { all / (1.0 - all) * unit * (1.0 + 8.0 * U) } else { f64::INFINITY },
        )
    }

    /// Of the exponential function of x; `unit` is the logarithm of its base.
    pub fn of_exponential(self, x: Range, unit: f64) -> Error {
        let off = (product(self.relative, x.most()) + self.absolute) * unit;
        Error::of((1.0 + libm::expm1(off.min(1.0))) * (1.0 + EXPONENTIAL) - 1.0, 8.0 * UNDERFLOW)
    }

    /// Of aᵇ, which is `power`; `exponent` is the range of b ln a.
    pub fn of_power(self, a: Range, other: Error, b: Range, exponent: Range) -> Error {
        let base = self.all_relative(a.least());
        if base >= TOO_MUCH {
            return Error::UNKNOWN;
        }
        // Of 0, `pow` gives something else than 0 for very small exponents.
        if a.least() == 0.0 && b.hi > 0.0 && b.lo < LEAST_EXPONENT {
            return Error::UNKNOWN;
        }
        // Where the result is normal. Elsewhere it is below 2⁻¹²⁶ (1 + r) in floats, too.
        let t = exponent.most().min(89.0);
        let magnitude = b.most() * (1.0 + other.relative) + other.absolute;
        let log = a.log().most() + 2.0 * base;
        let off = product(base / (1.0 - base), magnitude)
            + other.relative * t
            + product(other.absolute, log);
        // The operation's own error is that for operands in floats.
        let own = power::relative_error((t + off) * LOG2_E);
        Error::of((1.0 + libm::expm1(off.min(1.0))) * (1.0 + own) - 1.0, 2.0 * POW_UNDERFLOW)
    }

    /// (k, H), so that of two floats that stand for real numbers 0 ≤ G ≤ G', the first is at most k
    /// F' + H, and F' at least F / k − H, if they are computed in floats.
    ///
    /// F ≤ (1 + r) G' + η ≤ (1 + r) / (1 − r) (F' + η) + η. Product and sum are rounded down by
    /// 2.1u, and by 2⁻¹⁴⁹, at most.
    pub fn widening(self) -> [f32; 2] {
        let k = (1.0 + self.relative) / (1.0 - self.relative) * (1.0 + 3.0 * U);
        let h = (k + 1.0) * self.absolute + 2.0 * UNDERFLOW;
        [(k as f32).next_up(), ((h * (1.0 + 3.0 * U)) as f32).next_up()]
    }

    /// How many floats to move by, from t' to t, and H, so that G ≤ (t'/t)ᵉ G' makes F at most F' +
    /// H, where e is the least elasticity and G ≥ 0; `None` where that is too much.
    ///
    /// F ≤ (1 + r) G + η, and F' ≥ (1 − r) G' − η. So (t/t')ᵉ has to be (1 + r) / (1 − r), and 3u
    /// more for the rounding of the sum. Each float is u or more, relatively.
    pub fn moving(self, elasticity: f64) -> Option<(i32, f32)> {
        let gain = (1.0 + self.relative) / (1.0 - self.relative) * (1.0 + 3.0 * U);
        let floats = libm::expm1(libm::log(gain) / elasticity) / U + 2.0;
        let shift = 2.0 * self.absolute * (1.0 + 4.0 * U) + 2.0 * UNDERFLOW;
        (floats <= MOST_MOVED / U && shift <= MOST_SHIFTED)
            .then_some((floats.ceil() as i32, (shift as f32).next_up()))
    }
}

/// A product, 0 where a factor is.
fn product(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Op;
    use crate::ir::random::Random;

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

    /// (a / b + c)ᵈ and e^(a b − c), whose operations each have numbers that are off already.
    #[test]
    fn floats_are_as_close_as_is_said() {
        let mut random = Random::new(23);
        let of = |x: f32| Range::of(f64::from(x));
        for _ in 0..200_000 {
            let mut number =
                |high: f32| high * (random.below(1 << 24) as f32 + 1.0) / (1 << 24) as f32;
            let [a, b, c, d] = [number(2.0), number(2.0), number(2.0), number(20.0)];
            let quotient = Error::NONE.of_quotient(of(a), Error::NONE, of(b));
            let real = of(a).div(of(b));
            holds(quotient, a / b, real.lo, "quotient");
            let sum = real.add(of(c));
            let off = quotient.of_sum(real, Error::NONE, of(c), sum);
            holds(off, a / b + c, sum.lo, "sum");
            let exponent = sum.log().mul(of(d));
            if exponent.most() < 80.0 {
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
            let root = off.of_root(Range::of(difference.lo.max(0.0)));
            if difference.lo > 0.0 && a * b > c {
                holds(root, (a * b - c).sqrt(), difference.lo.sqrt(), "root");
            }
        }
    }

    #[test]
    fn errors_of_elementary_functions_are_those_of_the_table() {
        // In ulp, which is at most 2u.
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
        // Subnormal results are off by as many of the least numbers, which are two of `UNDERFLOW`.
        assert!(["exp", "exp2"].iter().all(|name| 2.0 * largest(name) <= 8.0));
    }

    #[test]
    fn powers_are_as_close_as_is_proved() {
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
        // The bound is not much larger than what there is.
        assert!(closest > 0.5, "{closest}");
    }

    #[test]
    fn nothing_is_known_of_powers_of_zero_with_tiny_exponents() {
        let power = |lo: f64, b: Range| {
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
        let of = |x: f32| Range::of(f64::from(x));
        let (a, b) = (1.1e-20f32, 1.3e-22f32);
        let product = Error::NONE.of_product(of(a), Error::NONE, of(b));
        holds(product, a * b, of(a).mul(of(b)).lo, "product");
        assert!(
            product.absolute > 0.0
                && Error::NONE.of_product(of(a), Error::NONE, of(1.0)).absolute == 0.0
        );
    }
}
