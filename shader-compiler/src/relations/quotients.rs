//! Quotients of sums over the same terms, Σ cᵢpᵢ / Σ dᵢpᵢ with pᵢ ≥ 0 and dᵢ > 0. They are weighted
//! means of the ratios cᵢ/dᵢ, so they lie between the minimum and the maximum ratio. For ordinary
//! weighted means, dᵢ = 1; for shares such as a/(a + b), the cᵢ are 1 and 0.
//!
//! A divisor max(Σ dᵢpᵢ, ε) moves the quotient towards 0 if ε is greater. If the lower endpoint of
//! the sum is not below ε, the quotient is the mean. The quotient a / max(a, b) is such a quotient
//! with a single term.
//!
//! The terms cᵢpᵢ and dᵢpᵢ are products, and pᵢ is the product of the factors that they share.
//! Either pᵢ is the entire term on one side, computed in any way, or pᵢ consists of all factors
//! that occur on both sides.
//!
//! # Rounding
//!
//! Let u = 2⁻²⁴, and let N and D be the sums for real numbers, with the pᵢ and the other factors
//! equal to their floats. Let r be the mean: N = rD. A product with k roundings has a relative
//! error θ with |θ| ≤ (1 + u)ᵏ − 1, and an absolute error from underflow: each rounding contributes
//! at most 2⁻¹⁵⁰, times all factors multiplied after it, bounded by their static bounds. Sums do
//! not underflow. So, with the largest number of roundings of any term, N in floats differs from N
//! by at most Σ|cᵢ|pᵢ γ + A. All terms of D are positive, so D in floats differs from D by at most
//! A' plus Dγ'. As the divisor in floats is at least its static bound M > 0, and at least D in
//! floats, the quotient in floats differs from r by at most δ max|cᵢ/dᵢ| + A/M plus the error of
//! the division. Here δ is u times the number of roundings, plus one for terms of higher order
//! (fewer than 1000 roundings), plus A'/M.
//!
//! The ratios cᵢ/dᵢ at run time are products and quotients as well, so their roundings add to δ,
//! as do the roundings of the two operations that widen the endpoints. If no term is
//! negative, endpoints are scaled by 1 ± δ; else they are moved by δ times the maximum magnitude.
//! The underflow term is added, or replaced by another u in δ if no ratio is small enough for it to
//! matter.
//!
//! If the sum N overflows, the quotient is infinite. So the upper endpoint is infinite if the upper
//! endpoint of N is. Nothing else may overflow.

use super::{PointShader, Refinement, RelationInfo};
use crate::interval::{Bounds, Floats};
use crate::ir::function::for_each_stmt;
use crate::ir::{Emit, Function, Op, Stmt, Value};
use crate::math::eval::ConstantEvaluator;

/// A quotient of sums over the same terms.
#[derive(Clone, Debug)]
pub struct Quotient {
    ratios: Vec<Ratio>,
    /// Whether some terms of the divisor are not in the dividend, so that 0 is one of the ratios.
    includes_zero: bool,
    /// δ.
    relative: f32,
    /// Absolute error from underflow, or 0 if δ includes it.
    absolute: f32,
    /// The sum in the divisor.
    sum: Value,
    /// Values ε if the divisor is max(sum, ε, …).
    floors: Vec<Value>,
    /// The dividend, if it may overflow.
    overflows: Option<Value>,
}

/// The ratio cᵢ/dᵢ of two terms: a quotient of products of nonnegative values, with a sign.
#[derive(Clone, Debug)]
struct Ratio {
    numerator: Vec<Value>,
    denominator: Vec<Value>,
    negated: bool,
}

/// Unit roundoff u.
const U: f64 = 1.0 / (1 << 24) as f64;

/// Maximum underflow error of one rounding.
const ROUNDING_UNDERFLOW: f64 = f32::from_bits(1) as f64 / 2.0;

/// Factor that covers higher-order terms where underflow errors are added.
const HIGHER_ORDER_FACTOR: f64 = 1.01;

/// Maximum number of terms in a sum, and of factors in a product.
const MAX_TERMS: usize = 16;

/// Finds quotients of sums over the same terms.
pub(super) fn find(point: &PointShader<'_>, related: &mut RelationInfo) {
    for_each_stmt(&point.function.body, &mut |stmt| {
        let Stmt::Op(value) = stmt else { return };
        let Some((Op::Div, &[dividend, divisor])) = point.function.operation(*value) else {
            return;
        };
        if !point.is_interval[value.index()] {
            return;
        }
        let Some(quotient) = point.quotient(dividend, divisor) else { return };
        let of = |value: Value| {
            point
                .hull(value)
                .map(|endpoints| endpoints.map(f32::to_bits))
                .expect("values in ratios are bounded")
        };
        let [lo, hi] =
            quotient.endpoints(&mut ConstantEvaluator::default(), of).map(f32::from_bits);
        let known = point.bounds[value.index()].floats();
        // For ratios of constants, a constraint suffices.
        let constant =
            quotient.sources().iter().all(|&source| point.function.constant(source).is_some());
        if !constant || lo > known.low() || hi < known.high() {
            related.add(
                point,
                *value,
                Refinement::Quotient(quotient),
                Bounds::Float(Floats::between(lo, hi)),
            );
        }
    });
}

/// The terms of a sum, with their signs.
fn terms(function: &Function, sum: Value) -> Option<Vec<(Value, bool)>> {
    let (mut found, mut work) = (vec![], vec![(sum, false)]);
    while let Some((value, negated)) = work.pop() {
        match function.operation(value) {
            Some((Op::Add, &[a, b])) => work.extend([(b, negated), (a, negated)]),
            Some((Op::Sub, &[a, b])) => work.extend([(b, !negated), (a, negated)]),
            Some((Op::Neg, &[a])) => work.push((a, !negated)),
            _ => found.push((value, negated)),
        }
        if work.len() + found.len() > MAX_TERMS {
            return None;
        }
    }
    Some(found)
}

/// The operands of a maximum of several values, or the value itself.
fn operands_of_maximum(function: &Function, value: Value) -> Vec<Value> {
    match function.operation(value) {
        Some((Op::Max, &[a, b])) => {
            [operands_of_maximum(function, a), operands_of_maximum(function, b)].concat()
        }
        _ => vec![value],
    }
}

/// The factors of a product that are not products themselves.
fn factors(function: &Function, product: Value) -> Option<Vec<Value>> {
    let (mut found, mut work) = (vec![], vec![product]);
    while let Some(value) = work.pop() {
        match function.operation(value) {
            Some((Op::Mul, args)) => work.extend(args),
            _ => found.push(value),
        }
        if work.len() + found.len() > MAX_TERMS {
            return None;
        }
    }
    Some(found)
}

/// The other factors of a product that contains a given factor; `None` if it does not.
fn other_factors(function: &Function, product: Value, factor: Value) -> Option<Vec<Value>> {
    if product == factor {
        return Some(vec![]);
    }
    let Some((Op::Mul, &[a, b])) = function.operation(product) else { return None };
    [(a, b), (b, a)]
        .into_iter()
        .find_map(|(a, b)| Some([other_factors(function, a, factor)?, vec![b]].concat()))
}

/// Error of a product: the number of roundings, and the underflow error.
#[derive(Clone, Copy, Default)]
struct ProductError {
    roundings: usize,
    underflow: f64,
}

impl ProductError {
    /// The error of a sum: the maximum number of roundings of its terms plus those of the
    /// additions, and the sum of underflow errors.
    fn sum(errors: &[ProductError]) -> ProductError {
        let roundings = errors.iter().map(|error| error.roundings).max().unwrap_or(0);
        ProductError {
            roundings: roundings + errors.len() - 1,
            underflow: HIGHER_ORDER_FACTOR
                * errors.iter().map(|error| error.underflow).sum::<f64>(),
        }
    }
}

/// The factors that two terms do not share.
struct Shared {
    numerator: Vec<Value>,
    denominator: Vec<Value>,
    /// All factors, which count as exact.
    leaves: Vec<Value>,
}

impl PointShader<'_> {
    /// Matches a quotient of sums over the same terms.
    fn quotient(&self, dividend: Value, divisor: Value) -> Option<Quotient> {
        let sums = operands_of_maximum(self.function, divisor);
        (0..sums.len()).find_map(|k| {
            let mut floors = sums.clone();
            let sum = floors.swap_remove(k);
            self.quotient_by_sum(dividend, divisor, sum, floors)
        })
    }

    /// Matches a quotient by a divisor that is a sum, or the maximum of a sum and other values.
    fn quotient_by_sum(
        &self,
        dividend: Value,
        divisor: Value,
        sum: Value,
        floors: Vec<Value>,
    ) -> Option<Quotient> {
        let numerator = terms(self.function, dividend)?;
        let mut denominator: Vec<_> = terms(self.function, sum)?;
        if floors.iter().chain([&sum]).any(|&value| self.hull(value).is_none()) {
            return None;
        }
        if denominator.iter().any(|&(term, negated)| negated || !self.is_nonnegative(term)) {
            return None;
        }
        let terms = denominator.len();
        let (mut ratios, mut errors) = (vec![], [vec![], vec![]]);
        for (term, negated) in numerator {
            let (k, shared) = denominator
                .iter()
                .enumerate()
                .find_map(|(k, &(other, _))| Some((k, self.shared(term, other)?)))?;
            let (other, _) = denominator.swap_remove(k);
            errors[0].push(self.error(term, &shared.leaves));
            errors[1].push(self.error(other, &shared.leaves));
            let Shared { numerator, denominator, .. } = shared;
            ratios.push(Ratio { numerator, denominator, negated });
        }
        errors[1].resize(terms, ProductError::default());
        let [min, max] = self.hull(divisor)?;
        let [dividend_min, dividend_max] = self.hull(dividend)?;
        if min <= 0.0 || max == f32::INFINITY || dividend_min == f32::NEG_INFINITY {
            return None;
        }
        let overflows = (dividend_max == f32::INFINITY).then_some(dividend);
        let quotient = Quotient {
            ratios,
            includes_zero: !denominator.is_empty(),
            relative: 0.0,
            absolute: 0.0,
            sum,
            floors,
            overflows,
        };
        self.with_errors(quotient, errors.map(|errors| ProductError::sum(&errors)), f64::from(min))
    }

    /// Splits a term of the dividend and a term of the divisor into shared and other factors. The
    /// product of the shared factors and the other factors must not be negative.
    fn shared(&self, term: Value, other: Value) -> Option<Shared> {
        let split = |shared: &[Value], numerator: Vec<Value>, denominator: Vec<Value>| {
            let leaves = [shared, &numerator, &denominator].concat();
            let fits = numerator.iter().all(|&c| self.is_nonnegative(c))
                && denominator.iter().all(|&d| self.hull(d).is_some_and(|[lo, _]| lo > 0.0));
            fits.then_some(Shared { numerator, denominator, leaves })
        };
        if let Some(numerator) = other_factors(self.function, term, other) {
            return split(&[other], numerator, vec![]);
        }
        if let Some(denominator) =
            other_factors(self.function, other, term).filter(|_| self.is_nonnegative(term))
        {
            return split(&[term], vec![], denominator);
        }
        let (mut numerator, mut shared) = (vec![], vec![]);
        let mut denominator = factors(self.function, other)?;
        for factor in factors(self.function, term)? {
            match denominator.iter().position(|&other| other == factor) {
                Some(k) => shared.push(denominator.swap_remove(k)),
                None => numerator.push(factor),
            }
        }
        let is_even = |&p: &Value| shared.iter().filter(|&&other| other == p).count() % 2 == 0;
        let is_nonnegative =
            !shared.is_empty() && shared.iter().all(|p| is_even(p) || self.is_nonnegative(*p));
        if is_nonnegative { split(&shared, numerator, denominator) } else { None }
    }

    /// The error of a product; `leaves` are exact.
    fn error(&self, product: Value, leaves: &[Value]) -> ProductError {
        match self.function.operation(product) {
            Some((Op::Mul, &[a, b])) if !leaves.contains(&product) => {
                let [x, y] = [a, b].map(|factor| self.error(factor, leaves));
                let [max_a, max_b] = [a, b].map(|factor| match self.hull(factor) {
                    Some([lo, hi]) => f64::from(lo.abs().max(hi.abs())),
                    None => f64::INFINITY,
                });
                let scaled = |underflow: f64, scale: f64| {
                    if underflow == 0.0 { 0.0 } else { underflow * scale }
                };
                let underflow = scaled(x.underflow, max_b)
                    + scaled(y.underflow, max_a + x.underflow)
                    + ROUNDING_UNDERFLOW;
                ProductError {
                    roundings: x.roundings + y.roundings + 1,
                    underflow: HIGHER_ORDER_FACTOR * underflow,
                }
            }
            _ => ProductError::default(),
        }
    }

    /// The range of a ratio, and its error at run time; `None` if it might overflow.
    fn range(&self, ratio: &Ratio) -> Option<([f64; 2], ProductError)> {
        let (mut range, mut error) = ([1.0; 2], ProductError::default());
        for (k, &factor) in ratio.numerator.iter().enumerate() {
            let [lo, hi] = self.hull(factor)?.map(f64::from);
            if k > 0 {
                error = ProductError {
                    roundings: error.roundings + 1,
                    underflow: HIGHER_ORDER_FACTOR * (error.underflow * hi + ROUNDING_UNDERFLOW),
                };
            }
            range = [range[0] * lo, range[1] * hi];
        }
        let mut divisor = [1.0; 2];
        for &factor in &ratio.denominator {
            let [lo, hi] = self.hull(factor)?.map(f64::from);
            divisor = [divisor[0] * lo, divisor[1] * hi];
            if divisor[0] < f64::from(f32::MIN_POSITIVE) || divisor[1] > f64::from(f32::MAX) {
                return None;
            }
        }
        if !ratio.denominator.is_empty() {
            let roundings = error.roundings + ratio.denominator.len();
            error = ProductError {
                roundings,
                underflow: HIGHER_ORDER_FACTOR
                    * (error.underflow / divisor[0] + ROUNDING_UNDERFLOW),
            };
        }
        let quotient = [range[0] / divisor[1], range[1] / divisor[0]];
        (range[1].max(quotient[1]) <= f64::from(f32::MAX)).then_some((quotient, error))
    }

    /// Sets δ and the underflow error of a quotient, for the errors of the two sums and the minimum
    /// `min` of the divisor. `None` if they are too large.
    fn with_errors(
        &self,
        mut quotient: Quotient,
        [numerator, denominator]: [ProductError; 2],
        min: f64,
    ) -> Option<Quotient> {
        let (mut smallest, mut ratio_error) = (f64::INFINITY, ProductError::default());
        for ratio in &quotient.ratios {
            let ([lo, _], error) = self.range(ratio)?;
            smallest = f64::min(smallest, lo);
            ratio_error.roundings = ratio_error.roundings.max(error.roundings);
            ratio_error.underflow = f64::max(ratio_error.underflow, error.underflow);
        }
        // The division, two operations that widen, and higher-order terms.
        let mut roundings = numerator.roundings + denominator.roundings + ratio_error.roundings + 4;
        let underflow = HIGHER_ORDER_FACTOR
            * (HIGHER_ORDER_FACTOR * numerator.underflow / min
                + HIGHER_ORDER_FACTOR * ratio_error.underflow
                + 4.0 * ROUNDING_UNDERFLOW);
        if quotient.includes_zero || quotient.is_signed() || underflow > smallest * U {
            quotient.absolute = (underflow as f32).next_up();
        } else {
            roundings += 1;
        }
        let relative = roundings as f64 * U + denominator.underflow / min * HIGHER_ORDER_FACTOR;
        quotient.relative = (relative as f32).next_up();
        (relative < 1e-3 && underflow < f64::from(f32::MAX)).then_some(quotient)
    }
}

impl Quotient {
    fn is_signed(&self) -> bool {
        self.ratios.iter().any(|ratio| ratio.negated)
    }

    /// The values from which the endpoints are computed.
    pub(super) fn sources(&self) -> Vec<Value> {
        let of_ratios =
            self.ratios.iter().flat_map(|ratio| ratio.numerator.iter().chain(&ratio.denominator));
        let of_floors = self.floors.iter().chain((!self.floors.is_empty()).then_some(&self.sum));
        of_ratios.chain(of_floors).chain(&self.overflows).copied().collect()
    }

    /// The minimum and the maximum ratio, widened.
    pub(super) fn endpoints<E: Emit<Value: PartialEq>>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        let zero = emit.f32(0.0);
        let mut range = self.includes_zero.then_some([zero; 2]);
        for ratio in &self.ratios {
            let [lo, hi] = ratio.endpoints(emit, &of);
            range = Some(match range {
                Some([min, max]) => [emit.op(Op::Min, &[min, lo]), emit.op(Op::Max, &[max, hi])],
                None => [lo, hi],
            });
        }
        let [lo, hi] = range.expect("a quotient has a ratio");
        let [mut lo, mut hi] =
            if self.is_signed() { self.moved(emit, lo, hi) } else { self.scaled(emit, lo, hi) };
        let floor =
            self.floors.iter().map(|&floor| of(floor)[1]).reduce(|a, b| emit.op(Op::Max, &[a, b]));
        if let Some(floor) = floor {
            let reached = emit.op(Op::Le, &[floor, of(self.sum)[0]]);
            if self.is_signed() {
                let at_least_zero = emit.op(Op::Max, &[hi, zero]);
                hi = emit.op(Op::Select, &[reached, hi, at_least_zero]);
                let at_most_zero = emit.op(Op::Min, &[lo, zero]);
                lo = emit.op(Op::Select, &[reached, lo, at_most_zero]);
            } else if !self.includes_zero {
                lo = emit.op(Op::Select, &[reached, lo, zero]);
            }
        }
        if let Some(dividend) = self.overflows {
            let infinity = emit.f32(f32::INFINITY);
            let finite = emit.op(Op::Lt, &[of(dividend)[1], infinity]);
            hi = emit.op(Op::Select, &[finite, hi, infinity]);
        }
        [lo, hi]
    }

    /// Widens nonnegative endpoints.
    fn scaled<E: Emit>(&self, emit: &mut E, lo: E::Value, hi: E::Value) -> [E::Value; 2] {
        let [shrink, grow] = [(1.0 - self.relative).next_down(), (1.0 + self.relative).next_up()]
            .map(|end| emit.f32(end));
        let absolute = emit.f32(self.absolute);
        let mut hi = emit.op(Op::Mul, &[hi, grow]);
        if self.includes_zero {
            // The lower endpoint of the interval lowering is not below 0 either.
            let unbounded = emit.f32(f32::NEG_INFINITY);
            return [unbounded, emit.op(Op::Add, &[hi, absolute])];
        }
        let mut lo = emit.op(Op::Mul, &[lo, shrink]);
        if self.absolute > 0.0 {
            hi = emit.op(Op::Add, &[hi, absolute]);
            lo = emit.op(Op::Sub, &[lo, absolute]);
        }
        [lo, hi]
    }

    /// Widens endpoints of any sign.
    fn moved<E: Emit>(&self, emit: &mut E, lo: E::Value, hi: E::Value) -> [E::Value; 2] {
        let negated = emit.op(Op::Neg, &[lo]);
        let magnitude = emit.op(Op::Max, &[hi, negated]);
        let [relative, absolute] = [self.relative, self.absolute].map(|x| emit.f32(x));
        let margin = emit.op(Op::Mul, &[magnitude, relative]);
        let margin = emit.op(Op::Add, &[margin, absolute]);
        [emit.op(Op::Sub, &[lo, margin]), emit.op(Op::Add, &[hi, margin])]
    }
}

impl Ratio {
    fn endpoints<E: Emit>(
        &self,
        emit: &mut E,
        of: &impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        let endpoints = [0, 1].map(|side| {
            let product = |emit: &mut E, factors: &[Value], side: usize| {
                let endpoints = factors.iter().map(|&factor| of(factor)[side]);
                endpoints.reduce(|a, b| emit.op(Op::Mul, &[a, b]))
            };
            let numerator = match product(emit, &self.numerator, side) {
                Some(numerator) => numerator,
                None => emit.f32(1.0),
            };
            match product(emit, &self.denominator, 1 - side) {
                Some(denominator) => emit.op(Op::Div, &[numerator, denominator]),
                None => numerator,
            }
        });
        if self.negated {
            [emit.op(Op::Neg, &[endpoints[1]]), emit.op(Op::Neg, &[endpoints[0]])]
        } else {
            endpoints
        }
    }
}
