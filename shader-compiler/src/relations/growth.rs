//! How a value grows with one of the values that it is computed from. This is a compile-time
//! analysis over real numbers.
//!
//! f(t) has a *slope* t f'(t), and an *elasticity*, a number E with t f'(t) = E f(t) (the
//! derivative of log f with respect to log t). Both are represented by ranges that hold for all t
//! in an interval of one sign, and for all other operands. Elasticities of products add; slopes do
//! not. Slopes of sums add; elasticities do not. Where f is not 0, one follows from the other.
//! Rules:
//!
//! | f | elasticity | slope |
//! |---|---|---|
//! | t | 1 | t |
//! | independent of t | 0 | 0 |
//! | a b | E_a + E_b | a S_b + b S_a |
//! | a / b | E_a − E_b | |
//! | √a | E_a / 2 | |
//! | a + b | same sign: between E_a and E_b, E_b + w (E_a − E_b) with w = a / (a + b) | S_a + S_b |
//! | a − b ≥ 0 | a, b ≥ 0: E_a + ρ (E_a − E_b) with ρ = b / (a − b) | S_a − S_b |
//! | max, min | hull of both | hull of both |
//! | eᵃ | S_a | |
//! | log a | | E_a |
//! | aᵇ | S_b log a + b E_a, and b log a (E_b + E_{log a}) | |
//!
//! For a = 1 + x with x ≥ 0, E_{log a} is E_x h(x) with h(x) = x / ((1 + x) log (1 + x)). h
//! decreases from 1, since (1 + x) log (1 + x) is convex and has slope 1 at 0. The elasticity of
//! max(a, 0) is E_a: where a < 0, the maximum and its slope are 0, so any number will do.

use super::rounding::RoundingError;
use crate::ir::Op;
use crate::range::Range;

/// Range, slope and elasticity of a value as a function of t, and the error of its float.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    /// Range of the value.
    pub range: Range<f64>,
    /// `None` if unknown, for instance where f is 0 but its slope is not.
    pub elasticity: Option<Range<f64>>,
    pub slope: Range<f64>,
    /// Error of the float.
    pub error: RoundingError,
    /// If the value is known to be 1 + x: the range and elasticity of x.
    pub above_one: Option<(Range<f64>, Option<Range<f64>>)>,
}

impl Growth {
    /// Growth of a value that does not depend on t.
    pub fn independent(range: Range<f64>) -> Growth {
        Growth {
            range,
            elasticity: Some(Range::ZERO),
            slope: Range::ZERO,
            error: RoundingError::EXACT,
            above_one: None,
        }
    }

    /// Growth of t itself.
    pub fn identity(range: Range<f64>) -> Growth {
        Growth { elasticity: Some(Range::ONE), slope: range, ..Growth::independent(range) }
    }

    fn is_independent(&self) -> bool {
        self.slope.is_zero()
    }

    /// Growth of an operation's result. `same` states that its two operands are one value. `None`
    /// if unknown, for instance if the operation has no [growth](crate::ir::OpFacts::has_growth).
    pub fn apply(op: Op, args: &[Growth], same: bool) -> Option<Growth> {
        let growth = match (op, args) {
            (Op::Neg, [a]) => a.neg(),
            (Op::Abs, [a]) => a.abs(),
            (Op::Add, [a, b]) => a.add(b),
            (Op::Sub, [a, b]) => a.add(&b.neg()),
            (Op::Mul, [a, _]) if same => a.square(),
            (Op::Mul, [a, b]) => a.mul(b),
            (Op::Div, [a, b]) if !same => a.div(b)?,
            (Op::Sqrt, [a]) => a.sqrt()?,
            (Op::Rsqrt, [a]) => Growth::independent(Range::ONE).div(&a.sqrt()?)?,
            (Op::Max, [a, b]) => a.max(b),
            (Op::Min, [a, b]) => a.neg().max(&b.neg()).neg(),
            (Op::Exp, [a]) => a.exp(1.0),
            (Op::Exp2, [a]) => a.exp(std::f64::consts::LN_2),
            (Op::Log, [a]) => a.log(1.0)?,
            (Op::Log2, [a]) => a.log(std::f64::consts::LN_2)?,
            (Op::Pow, [a, b]) => a.pow(b)?,
            (Op::Select, [cond, a, b]) if cond.is_independent() => a.either(b),
            _ => return None,
        };
        Some(growth.refined())
    }

    /// Refines elasticity and slope with each other.
    pub fn refined(mut self) -> Growth {
        if !self.range.contains_zero() {
            let from_slope = self.slope.div(self.range);
            self.elasticity = Some(
                self.elasticity.map_or(from_slope, |elasticity| elasticity.intersect(from_slope)),
            );
        }
        if let Some(elasticity) = self.elasticity {
            self.slope = self.slope.intersect(elasticity.mul(self.range));
        }
        self
    }

    fn neg(&self) -> Growth {
        Growth { range: self.range.neg(), slope: self.slope.neg(), above_one: None, ..*self }
    }

    fn abs(&self) -> Growth {
        if self.range.is_nonnegative() {
            return *self;
        }
        let neg = self.neg();
        if self.range.is_nonpositive() {
            neg
        } else {
            Growth { range: self.range.abs(), slope: self.slope.hull(neg.slope), ..neg }
        }
    }

    fn add(&self, other: &Growth) -> Growth {
        let (a, b) = (self.range, other.range);
        let range = a.add(b);
        let one_plus = |one: &Growth, x: &Growth| {
            (one.range == Range::ONE && one.is_independent()).then_some((x.range, x.elasticity))
        };
        Growth {
            range,
            elasticity: self
                .elasticity
                .zip(other.elasticity)
                .and_then(|(e, f)| elasticity_of_sum([a, b], range, [e, f])),
            slope: self.slope.add(other.slope),
            error: self.error.add(a, other.error, b, range),
            above_one: one_plus(self, other).or_else(|| one_plus(other, self)),
        }
    }

    fn square(&self) -> Growth {
        Growth {
            range: self.range.square(),
            elasticity: self.elasticity.map(|elasticity| elasticity.scale(2.0)),
            slope: self.range.mul(self.slope).scale(2.0),
            error: self.error.mul(self.range, self.error, self.range),
            above_one: None,
        }
    }

    fn mul(&self, other: &Growth) -> Growth {
        Growth {
            range: self.range.mul(other.range),
            elasticity: self.elasticity.zip(other.elasticity).map(|(a, b)| a.add(b)),
            slope: self.range.mul(other.slope).add(other.range.mul(self.slope)),
            error: self.error.mul(self.range, other.error, other.range),
            above_one: None,
        }
    }

    fn div(&self, other: &Growth) -> Option<Growth> {
        let range = self.range.div(other.range);
        (!other.range.contains_zero()).then(|| Growth {
            range,
            elasticity: self.elasticity.zip(other.elasticity).map(|(a, b)| a.sub(b)),
            slope: self.slope.sub(range.mul(other.slope)).div(other.range),
            error: self.error.div(self.range, other.error, other.range),
            above_one: None,
        })
    }

    fn sqrt(&self) -> Option<Growth> {
        self.range.is_nonnegative().then(|| Growth {
            range: self.range.sqrt(),
            elasticity: self.elasticity.map(|elasticity| elasticity.scale(0.5)),
            slope: Range::ALL,
            error: self.error.sqrt(self.range),
            above_one: None,
        })
    }

    fn either(&self, other: &Growth) -> Growth {
        Growth {
            range: self.range.hull(other.range),
            elasticity: self.elasticity.zip(other.elasticity).map(|(a, b)| a.hull(b)),
            slope: self.slope.hull(other.slope),
            error: self.error.max(other.error),
            above_one: None,
        }
    }

    fn max(&self, other: &Growth) -> Growth {
        let error = self.error.min_max(other.error);
        for (a, b) in [(self, other), (other, self)] {
            if a.range.hi <= b.range.lo {
                return Growth { error, ..*b };
            }
        }
        for (a, b) in [(self, other), (other, self)] {
            if b.range.is_zero() && b.is_independent() {
                return Growth {
                    range: a.range.max(b.range),
                    slope: a.slope.hull(Range::ZERO),
                    above_one: None,
                    error,
                    ..*a
                };
            }
        }
        Growth { range: self.range.max(other.range), error, ..self.either(other) }
    }

    fn exp(&self, ln_base: f64) -> Growth {
        Growth {
            range: self
                .range
                .mul(Range::singleton(ln_base).hull(Range::singleton(ln_base.next_up())))
                .exp(),
            elasticity: Some(self.slope.scale(ln_base)),
            slope: Range::ALL,
            error: self.error.exp(self.range, ln_base),
            above_one: None,
        }
    }

    fn log(&self, ln_base: f64) -> Option<Growth> {
        let divisor = Range::singleton(ln_base).hull(Range::singleton(ln_base.next_up()));
        self.range.is_nonnegative().then(|| Growth {
            range: self.range.log().div(divisor),
            elasticity: None,
            slope: self.elasticity.map_or(Range::ALL, |elasticity| elasticity.div(divisor)),
            error: self.error.log(self.range, 1.0 / ln_base),
            above_one: None,
        })
    }

    fn pow(&self, other: &Growth) -> Option<Growth> {
        if !self.range.is_nonnegative() {
            return None;
        }
        let log = self.range.log();
        let exponent = other.range.mul(log);
        let by_slope = self.elasticity.map(|e| other.slope.mul(log).add(other.range.mul(e)));
        let log_elasticity = match (self.above_one, self.elasticity) {
            (Some((x, Some(elasticity))), _) if x.is_nonnegative() => {
                Some(elasticity.mul(log1p_elasticity(x)))
            }
            (_, Some(elasticity)) if !log.contains_zero() => Some(elasticity.div(log)),
            _ => None,
        };
        let by_elasticity =
            other.elasticity.zip(log_elasticity).map(|(e, l)| exponent.mul(e.add(l)));
        let elasticity = match (by_slope, by_elasticity) {
            (Some(a), Some(b)) => Some(a.intersect(b)),
            (a, b) => a.or(b),
        };
        let error = self.error.pow(self.range, other.error, other.range, exponent);
        Some(Growth {
            range: exponent.exp(),
            elasticity,
            slope: Range::ALL,
            error,
            above_one: None,
        })
    }
}

/// Elasticity of a + b, from the terms and their elasticities.
fn elasticity_of_sum(
    [a, b]: [Range<f64>; 2],
    sum: Range<f64>,
    [e, f]: [Range<f64>; 2],
) -> Option<Range<f64>> {
    let same_sign =
        a.is_nonnegative() && b.is_nonnegative() || a.is_nonpositive() && b.is_nonpositive();
    if same_sign {
        let (a, b) = (a.abs(), b.abs());
        // The smaller a, the smaller its weight.
        let weight =
            |a: f64, b: f64| Range::singleton(a).div(Range::singleton(a).add(Range::singleton(b)));
        let unit_range = Range::new(0.0, 1.0);
        let min = if a.lo > 0.0 { weight(a.lo, b.hi) } else { Range::ZERO }.intersect(unit_range);
        let max = if b.lo > 0.0 && a.hi.is_finite() { weight(a.hi, b.lo) } else { Range::ONE }
            .intersect(unit_range);
        let mean = |w: f64| e.scale(w).add(f.mul(Range::ONE.sub(Range::singleton(w))));
        return Some(mean(min.lo).hull(mean(max.hi)).intersect(e.hull(f)));
    }
    // The elasticity of the greater term, the elasticity of the term that is subtracted, and its
    // magnitude.
    let is_first = (a.is_nonnegative() && b.is_nonpositive() && sum.is_nonnegative())
        || (a.is_nonpositive() && b.is_nonnegative() && sum.is_nonpositive());
    let is_second = (b.is_nonnegative() && a.is_nonpositive() && sum.is_nonnegative())
        || (b.is_nonpositive() && a.is_nonnegative() && sum.is_nonpositive());
    let (e, f, subtracted) = match (is_first, is_second) {
        (true, _) => (e, f, b.abs()),
        (_, true) => (f, e, a.abs()),
        _ => return None,
    };
    let ratio = subtracted.div(sum.abs());
    let ratio = Range::new(ratio.lo.max(0.0), ratio.hi.max(0.0));
    Some(e.add(ratio.mul(e.sub(f))))
}

/// The range of h over a range of x ≥ 0.
fn log1p_elasticity(x: Range<f64>) -> Range<f64> {
    let above = Range::ONE.add(Range::singleton(x.hi));
    let min = if x.hi.is_finite() && x.hi > 1e-6 {
        Range::singleton(x.hi).div(above.mul(above.log())).lo
    } else {
        0.0
    };
    // (1 + x) log (1 + x) ≤ x (1 + x).
    let min = if x.hi <= 1e-6 { Range::ONE.div(above).lo } else { min };
    Range::new(min.clamp(0.0, 1.0), 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// A value and its slope in double precision, and the computed ranges of both.
    #[derive(Clone, Copy)]
    struct Sample {
        value: f64,
        slope: f64,
        growth: Growth,
    }

    impl Sample {
        /// Checks that the value and its slope are within their ranges.
        fn checked(self) -> Sample {
            let close = |range: Range<f64>, x: f64| {
                let margin = 1e-9 * (1.0 + x.abs());
                range.lo - margin <= x && x <= range.hi + margin
            };
            assert!(close(self.growth.range, self.value), "{} {:?}", self.value, self.growth);
            assert!(close(self.growth.slope, self.slope), "{} {:?}", self.slope, self.growth);
            if let (Some(elasticity), true) = (self.growth.elasticity, self.value.abs() > 1e-6) {
                assert!(
                    close(elasticity, self.slope / self.value),
                    "{} {:?}",
                    self.slope / self.value,
                    self.growth
                );
            }
            self
        }
    }

    fn unary(op: Op, a: Sample) -> Option<Sample> {
        let (value, derivative) = match op {
            Op::Neg => (-a.value, -1.0),
            Op::Abs => (a.value.abs(), a.value.signum()),
            Op::Sqrt => (a.value.sqrt(), 0.5 / a.value.sqrt()),
            Op::Rsqrt => (1.0 / a.value.sqrt(), -0.5 / (a.value * a.value.sqrt())),
            Op::Exp => (libm::exp(a.value), libm::exp(a.value)),
            Op::Exp2 => (libm::exp2(a.value), libm::exp2(a.value) * std::f64::consts::LN_2),
            Op::Log => (libm::log(a.value), 1.0 / a.value),
            _ => (libm::log2(a.value), std::f64::consts::LOG2_E / a.value),
        };
        let growth = Growth::apply(op, &[a.growth], false)?;
        let slope = derivative * a.slope;
        (value.abs() < 1e12 && slope.is_finite()).then_some(Sample { value, slope, growth })
    }

    fn binary(op: Op, a: Sample, b: Sample) -> Option<Sample> {
        let (x, y) = (a.value, b.value);
        let (value, slope) = match op {
            Op::Add => (x + y, a.slope + b.slope),
            Op::Sub => (x - y, a.slope - b.slope),
            Op::Mul => (x * y, x * b.slope + y * a.slope),
            Op::Div => (x / y, (a.slope - x / y * b.slope) / y),
            Op::Max => (x.max(y), if x >= y { a.slope } else { b.slope }),
            Op::Min => (x.min(y), if x <= y { a.slope } else { b.slope }),
            _ => (libm::pow(x, y), libm::pow(x, y) * (b.slope * libm::log(x) + y * a.slope / x)),
        };
        let growth = Growth::apply(op, &[a.growth, b.growth], false)?;
        (value.abs() < 1e12 && slope.is_finite()).then_some(Sample { value, slope, growth })
    }

    #[test]
    fn slopes_and_elasticities_of_random_functions_are_within_their_ranges() {
        let mut random = Random::new(17);
        let mut count = 0;
        for _ in 0..40_000 {
            let mut uniform = |low: f64, high: f64| {
                low + (high - low) * random.below(1 << 16) as f64 / f64::from(1 << 16)
            };
            let t = uniform(0.01, 4.0);
            let source = Growth::identity(Range::new(t * uniform(0.3, 1.0), t * uniform(1.0, 3.0)));
            let mut values = vec![Sample { value: t, slope: t, growth: source }];
            for constant in [1.0, 0.0, uniform(-2.0, 2.0)] {
                values.push(Sample {
                    value: constant,
                    slope: 0.0,
                    growth: Growth::independent(Range::singleton(constant)),
                });
            }
            let other = uniform(0.1, 2.0);
            values.push(Sample {
                value: other,
                slope: 0.0,
                growth: Growth::independent(Range::new(other - 0.1, other + 0.3)),
            });
            for _ in 0..8 {
                let [a, b] = [(); 2].map(|()| *random.pick(&values));
                let result = match random.below(3) {
                    0 => unary(
                        *random.pick(&[
                            Op::Neg,
                            Op::Abs,
                            Op::Sqrt,
                            Op::Rsqrt,
                            Op::Exp,
                            Op::Exp2,
                            Op::Log,
                            Op::Log2,
                        ]),
                        a,
                    ),
                    _ => binary(
                        *random.pick(&[
                            Op::Add,
                            Op::Sub,
                            Op::Mul,
                            Op::Div,
                            Op::Max,
                            Op::Min,
                            Op::Pow,
                        ]),
                        a,
                        b,
                    ),
                };
                let Some(sample) = result else { continue };
                values.push(sample.checked());
                count += usize::from(
                    sample.slope != 0.0
                        && sample
                            .growth
                            .elasticity
                            .is_some_and(|e| e.is_nonnegative() || e.is_nonpositive()),
                );
            }
        }
        assert!(count > 20_000, "{count}");
    }

    #[test]
    fn operations_with_growth_match_their_facts() {
        let a = Growth::identity(Range::new(1.5, 2.0));
        let b = Growth::independent(Range::singleton(3.0));
        for &op in Op::ALL {
            let args = [b, a, a];
            let growth = Growth::apply(op, &args[3 - op.arity()..], false);
            assert_eq!(growth.is_some(), op.facts().has_growth, "{}", op.name());
        }
    }

    #[test]
    fn powers_increase_if_the_base_exceeds_one_and_the_exponent_decreases() {
        // (1 + t)^(−1/t) increases to 1.
        let t = Growth::identity(Range::new(1e-20, 8.0));
        let of = |op, args: &[Growth]| Growth::apply(op, args, false).expect("it is defined");
        let one = Growth::independent(Range::ONE);
        let exponent = of(Op::Neg, &[of(Op::Div, &[one, t])]);
        let power = of(Op::Pow, &[of(Op::Add, &[t, one]), exponent]);
        assert!(power.slope.is_nonnegative(), "{power:?}");
    }
}
