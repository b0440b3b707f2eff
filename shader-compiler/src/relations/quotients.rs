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
//! that occur on both sides. If the dividend is a scalar times a sum, each cᵢ has it as a factor.
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
//! If static bounds do not exclude D = 0, a [`Guard`] tests at run time that the lower endpoint of
//! the divisor is at least M = 10⁻²⁰. Then the quotient is no NaN, since N is finite.
//!
//! If the sum N overflows, the quotient is infinite. So the upper endpoint is infinite if the upper
//! endpoint of N is. Nothing else may overflow.

use super::{Guard, PointShader, Refinement, RelationInfo};
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
    /// Tests that the divisor is not 0, if it may be.
    guard: Option<Guard>,
}

/// The ratio cᵢ/dᵢ of two terms: a quotient of products of nonnegative values, with a sign.
#[derive(Clone, Debug)]
struct Ratio {
    numerator: Vec<Value>,
    denominator: Vec<Value>,
    negated: bool,
}

/// The least divisor where it may be 0 in static bounds.
const MIN_GUARDED_DIVISOR: f32 = 1e-20;

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
        let is_guarded = quotient.is_guarded();
        if !constant || is_guarded || lo > known.low() || hi < known.high() {
            let set = if is_guarded { Floats::all() } else { Floats::between(lo, hi) };
            related.add(point, *value, Refinement::Quotient(quotient), Bounds::Float(set));
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
            let scaled = self.scaled_sum(dividend).and_then(|scaled| {
                self.quotient_by_sum([dividend, divisor], scaled, sum, floors.clone())
            });
            scaled.or_else(|| {
                self.quotient_by_sum([dividend, divisor], (dividend, None), sum, floors)
            })
        })
    }

    /// Matches a quotient by a divisor that is a sum, or the maximum of a sum and other values. The
    /// dividend is `dividend_sum` times `scale`.
    fn quotient_by_sum(
        &self,
        [dividend, divisor]: [Value; 2],
        (dividend_sum, scale): (Value, Option<Value>),
        sum: Value,
        floors: Vec<Value>,
    ) -> Option<Quotient> {
        let numerator = terms(self.function, dividend_sum)?;
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
            let error = self.error(term, &shared.leaves);
            errors[0].push(scale.map_or(error, |scale| self.product_error(error, scale)));
            errors[1].push(self.error(other, &shared.leaves));
            let Shared { mut numerator, denominator, .. } = shared;
            numerator.extend(scale);
            ratios.push(Ratio { numerator, denominator, negated });
        }
        errors[1].resize(terms, ProductError::default());
        let [min, max] = self.hull(divisor)?;
        let [dividend_min, dividend_max] = self.hull(dividend)?;
        if max == f32::INFINITY || dividend_min == f32::NEG_INFINITY {
            return None;
        }
        let overflows = (dividend_max == f32::INFINITY).then_some(dividend);
        let guard = Guard { value: divisor, min: MIN_GUARDED_DIVISOR };
        let guard = (min <= 0.0).then_some(guard);
        if guard.is_some() && (overflows.is_some() || !floors.is_empty()) {
            return None;
        }
        let min = guard.map_or(min, |guard| guard.min);
        let quotient = Quotient {
            ratios,
            includes_zero: !denominator.is_empty(),
            relative: 0.0,
            absolute: 0.0,
            sum,
            floors,
            overflows,
            guard,
        };
        self.with_errors(quotient, errors.map(|errors| ProductError::sum(&errors)), f64::from(min))
    }

    /// Splits a product of a sum and a nonnegative scalar.
    fn scaled_sum(&self, dividend: Value) -> Option<(Value, Option<Value>)> {
        let operation = |value: Value| self.function.operation(value);
        let Some((Op::Mul, &[a, b])) = operation(dividend) else { return None };
        let is_sum = |value: Value| matches!(operation(value), Some((Op::Add | Op::Sub, _)));
        let is_scale =
            |value: Value| !self.is_interval[value.index()] && self.is_nonnegative(value);
        match () {
            () if is_sum(a) && is_scale(b) => Some((a, Some(b))),
            () if is_sum(b) && is_scale(a) => Some((b, Some(a))),
            () => None,
        }
    }

    /// The error of the product of a value that has an error and an exact value.
    fn product_error(&self, error: ProductError, exact: Value) -> ProductError {
        let max = self.hull(exact).map_or(f64::INFINITY, |[_, hi]| f64::from(hi));
        let scaled = if error.underflow == 0.0 { 0.0 } else { error.underflow * max };
        ProductError {
            roundings: error.roundings + 1,
            underflow: HIGHER_ORDER_FACTOR * (scaled + ROUNDING_UNDERFLOW),
        }
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
        let guard = self.guard.map(|guard| guard.value);
        of_ratios.chain(of_floors).chain(&self.overflows).copied().chain(guard).collect()
    }

    pub(super) fn is_guarded(&self) -> bool {
        self.guard.is_some()
    }

    /// The minimum and the maximum ratio, widened, if the guard holds.
    pub(super) fn endpoints<E: Emit<Value: PartialEq>>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        let endpoints = self.unguarded(emit, &of);
        match self.guard {
            Some(guard) => guard.guarded(emit, of, endpoints),
            None => endpoints,
        }
    }

    /// The minimum and the maximum ratio, widened.
    fn unguarded<E: Emit<Value: PartialEq>>(
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

#[cfg(test)]
mod tests {
    use crate::interval::Nan;
    use crate::random::Random;
    use crate::relations::testing::{Bounder, members};
    use crate::relations::{Relation, Relations};

    /// k (x² + y² + z²) ÷ ((bx)² + (cy)² + (dz)²), the shape of microfacet distributions, for
    /// scalars k, b, c and d.
    fn text(scalars: [f32; 3], k: &str) -> String {
        let [b, c, d] = scalars.map(|x| format!("{x:?}"));
        format!(
            "fn f(x: f32, y: f32, z: f32) -> (r: f32) {{
               %0 = mul x, x %1 = mul y, y %2 = mul z, z %3 = add %0, %1 %4 = add %3, %2
               %5 = mul %4, {k}
               %bx = mul x, {b} %cy = mul y, {c} %dz = mul z, {d}
               %6 = mul %bx, %bx %7 = mul %cy, %cy %8 = mul %dz, %dz
               %9 = add %6, %7 %10 = add %9, %8
               %11 = div %5, %10
               return %11
             }}"
        )
    }

    #[test]
    fn scaled_quotients_by_divisors_that_may_be_zero_are_weighted_means() {
        let mut random = Random::new(41);
        let mut tight = 0;
        for _ in 0..150 {
            let scalars = [0; 3].map(|_| *random.pick(&[1.0, 0.5, 0.01, 1e-6, 30.0]));
            let k = *random.pick(&[0.0f32, 1.0, 0.25, 1e-30, 7.0]);
            let nan = *random.pick(&[Nan::Propagate, Nan::Suppress, Nan::Ignore]);
            let relations = Relations::NONE.with(Relation::Quotients);
            let bounder =
                Bounder::new(&text(scalars, &format!("{k:?}")), &[None; 3], relations, nan);
            for _ in 0..40 {
                let scale = *random.pick(&[1.0, 1.0, 1e-3, 1e-9, 1e-19, 1e-30]);
                let width = *random.pick(&[0.0, 1e-4, 0.3, 2.0]);
                let boxes = [0; 3].map(|_| {
                    let x = random.below(2001) as f32 / 1000.0 - 1.0;
                    let y = (x + width * (random.below(1001) as f32 / 1000.0)).min(1.0);
                    [x * scale, y * scale]
                });
                let members = members(&mut random, boxes, 30, 8);
                let is_nan = |[x, y, z]: &[f32; 3]| {
                    let [b, c, d] = scalars;
                    let sum = (b * x) * (b * x) + (c * y) * (c * y) + (d * z) * (d * z);
                    sum == 0.0
                };
                // Bounds of code that ignores NaN are meaningless if a NaN occurs.
                if nan == Nan::Ignore && boxes.iter().all(|[lo, hi]| *lo <= 1e-9 && *hi >= -1e-9) {
                    continue;
                }
                let members = members.iter().filter(|x| nan != Nan::Ignore || !is_nan(x));
                let [lo, hi] = bounder.run(&boxes, members)[0];
                let ratios = scalars.map(|x| k / (x * x));
                let least = ratios.into_iter().fold(f32::INFINITY, f32::min);
                let most = ratios.into_iter().fold(0.0, f32::max);
                tight += usize::from(hi <= most * 1.001 + 1e-20 && lo >= least * 0.999 - 1e-20);
            }
        }
        assert!(tight > 2500, "{tight}");
    }
}
