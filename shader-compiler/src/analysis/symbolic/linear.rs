//! Expressions that bound values: sums of products of integer values with rational coefficients.

use crate::ir::Value;
use crate::range::Range;

/// Maximum number of terms besides the constant.
const MAX_TERMS: usize = 4;

/// Maximum magnitude of coefficients and divisors: with it, no evaluation overflows an `i128`.
const MAX_COEFFICIENT: i64 = 1 << 32;

/// Maximum magnitude of the constant.
const MAX_CONSTANT: i64 = 1 << 62;

/// Stands for the missing second factor of a [`Term`].
const ONE: Value = Value(u32::MAX);

/// A coefficient times a value, or times a product of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    factors: [Value; 2],
    coefficient: i64,
}

/// (Σ terms + constant) ÷ divisor, in real numbers. Values are read as signed integers. Nothing
/// wraps around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linear {
    /// In ascending order of their factors, none with coefficient 0.
    terms: [Term; MAX_TERMS],
    len: u8,
    constant: i64,
    /// Positive.
    divisor: i64,
}

impl Term {
    const NONE: Term = Term { factors: [ONE; 2], coefficient: 0 };

    /// The factors: one value or two.
    pub fn factors(&self) -> &[Value] {
        if self.factors[1] == ONE { &self.factors[..1] } else { &self.factors }
    }

    pub fn coefficient(&self) -> i64 {
        self.coefficient
    }
}

impl Linear {
    pub fn constant(constant: i64) -> Linear {
        Linear { terms: [Term::NONE; MAX_TERMS], len: 0, constant, divisor: 1 }
    }

    pub fn value(value: Value) -> Linear {
        let mut linear = Linear::constant(0);
        linear.terms[0] = Term { factors: [value, ONE], coefficient: 1 };
        linear.len = 1;
        linear
    }

    pub fn terms(&self) -> &[Term] {
        &self.terms[..usize::from(self.len)]
    }

    pub fn is_constant(&self) -> bool {
        self.len == 0
    }

    /// All values that the expression mentions.
    pub fn values(&self) -> impl Iterator<Item = Value> + '_ {
        self.terms().iter().flat_map(|term| term.factors().iter().copied())
    }

    /// Adds a multiple of a product of values.
    fn add_term(&mut self, term: Term) -> Option<()> {
        let len = usize::from(self.len);
        match self.terms[..len].binary_search_by_key(&term.factors, |term| term.factors) {
            Ok(at) => {
                self.terms[at].coefficient =
                    self.terms[at].coefficient.checked_add(term.coefficient)?;
                if self.terms[at].coefficient == 0 {
                    self.terms.copy_within(at + 1..len, at);
                    self.terms[len - 1] = Term::NONE;
                    self.len -= 1;
                }
            }
            Err(at) => {
                if len == MAX_TERMS {
                    return None;
                }
                self.terms.copy_within(at..len, at + 1);
                self.terms[at] = term;
                self.len += 1;
            }
        }
        Some(())
    }

    /// The expression in lowest terms; `None` if a coefficient is too large.
    fn reduced(mut self) -> Option<Linear> {
        if self.divisor > 1 {
            let all = self.terms().iter().map(|term| term.coefficient);
            let common = all.chain([self.constant]).fold(self.divisor, gcd);
            for term in &mut self.terms[..usize::from(self.len)] {
                term.coefficient /= common;
            }
            self.constant /= common;
            self.divisor /= common;
        }
        let fits = self.divisor <= MAX_COEFFICIENT
            && self.constant.abs() <= MAX_CONSTANT
            && self.terms().iter().all(|term| term.coefficient.abs() <= MAX_COEFFICIENT);
        fits.then_some(self)
    }

    /// The sum of the expression and `factor` times another one; `None` if it is too complex.
    pub fn add_scaled(&self, other: &Linear, factor: i64) -> Option<Linear> {
        let (mut sum, mut scale) = (*self, factor);
        if self.divisor != other.divisor {
            sum = sum.scaled(other.divisor)?;
            scale = scale.checked_mul(self.divisor)?;
            sum.divisor = self.divisor.checked_mul(other.divisor)?;
        }
        sum.constant = sum.constant.checked_add(other.constant.checked_mul(scale)?)?;
        if scale != 0 {
            for term in other.terms() {
                let coefficient = term.coefficient.checked_mul(scale)?;
                sum.add_term(Term { coefficient, ..*term })?;
            }
        }
        sum.reduced()
    }

    /// The numerator times a factor that is not 0.
    fn scaled(mut self, factor: i64) -> Option<Linear> {
        for term in &mut self.terms[..usize::from(self.len)] {
            term.coefficient = term.coefficient.checked_mul(factor)?;
        }
        self.constant = self.constant.checked_mul(factor)?;
        Some(self)
    }

    pub fn plus(&self, constant: i64) -> Option<Linear> {
        self.add_scaled(&Linear::constant(constant), 1)
    }

    pub fn minus(&self, other: &Linear) -> Option<Linear> {
        self.add_scaled(other, -1)
    }

    pub fn negated(&self) -> Option<Linear> {
        Linear::constant(0).minus(self)
    }

    /// A positive multiple of the expression that is an integer.
    pub fn numerator(self) -> Linear {
        Linear { divisor: 1, ..self }
    }

    /// The quotient by a number other than 0.
    pub fn divided_by(&self, divisor: i64) -> Option<Linear> {
        let mut quotient = self.scaled(divisor.signum())?;
        quotient.divisor = self.divisor.checked_mul(divisor.checked_abs()?)?;
        quotient.reduced()
    }

    /// The product; `None` if a product of three values is a term.
    pub fn times(&self, other: &Linear) -> Option<Linear> {
        let mut product = Linear::constant(self.constant.checked_mul(other.constant)?);
        product.divisor = self.divisor.checked_mul(other.divisor)?;
        for (linear, constant) in [(self, other.constant), (other, self.constant)] {
            for term in linear.terms().iter().filter(|_| constant != 0) {
                let coefficient = term.coefficient.checked_mul(constant)?;
                product.add_term(Term { coefficient, ..*term })?;
            }
        }
        for a in self.terms() {
            for b in other.terms() {
                let (&[x], &[y]) = (a.factors(), b.factors()) else { return None };
                let factors = [x.min(y), x.max(y)];
                let coefficient = a.coefficient.checked_mul(b.coefficient)?;
                product.add_term(Term { factors, coefficient })?;
            }
        }
        product.reduced()
    }

    /// The expression with a term replaced by its coefficient times another expression.
    pub fn replaced(&self, term: &Term, by: &Linear) -> Option<Linear> {
        let mut rest = *self;
        let removed = Term { coefficient: -term.coefficient, ..*term };
        rest.add_term(removed)?;
        let scaled = Linear { divisor: by.divisor.checked_mul(self.divisor)?, ..*by };
        rest.add_scaled(&scaled, term.coefficient)
    }

    /// The integers from the least to the greatest value of the expression, rounded inward: they
    /// include every integer that the expression bounds. `of` returns the ranges of values.
    pub fn range(&self, mut of: impl FnMut(Value) -> Range<i64>) -> Range<i64> {
        let (mut low, mut high) = (i128::from(self.constant), i128::from(self.constant));
        for term in self.terms() {
            let a = of(term.factors[0]);
            let corners = match *term.factors() {
                [_] => [a.lo.into(), a.hi.into(), a.lo.into(), a.hi.into()],
                [x, y] if x == y => {
                    let [least, most] = [a.mig(), a.mag()].map(|x| i128::from(x) * i128::from(x));
                    [least, most, least, most]
                }
                _ => {
                    let b = of(term.factors[1]);
                    let product = |x: i64, y: i64| i128::from(x) * i128::from(y);
                    [
                        product(a.lo, b.lo),
                        product(a.lo, b.hi),
                        product(a.hi, b.lo),
                        product(a.hi, b.hi),
                    ]
                }
            };
            let corners = corners.map(|corner| corner * i128::from(term.coefficient));
            let [first, rest @ ..] = corners;
            low += rest.into_iter().fold(first, i128::min);
            high += rest.into_iter().fold(first, i128::max);
        }
        let divisor = i128::from(self.divisor);
        let saturated = |x: i128| x.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        Range {
            lo: saturated(-(-low).div_euclid(divisor)),
            hi: saturated(high.div_euclid(divisor)),
        }
    }
}

#[cfg(test)]
impl Linear {
    /// The expression as text.
    pub fn display(&self, function: &crate::ir::Function) -> String {
        let mut text = String::new();
        let mut add = |coefficient: i64, factors: &str| {
            let sign = match (text.is_empty(), coefficient < 0) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            let factor = match coefficient.abs() {
                1 if !factors.is_empty() => String::new(),
                factor if factors.is_empty() => format!("{factor}"),
                factor => format!("{factor}*"),
            };
            text += &format!("{sign}{factor}{factors}");
        };
        for term in self.terms() {
            let factors =
                term.factors().iter().map(|&value| crate::ir::text::name(function, value));
            add(term.coefficient, &factors.collect::<Vec<_>>().join("*"));
        }
        if self.constant != 0 || self.is_constant() {
            add(self.constant, "");
        }
        match self.divisor {
            1 => text,
            divisor if text.contains(' ') => format!("({text}) / {divisor}"),
            divisor => format!("{text} / {divisor}"),
        }
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a as i64
}
