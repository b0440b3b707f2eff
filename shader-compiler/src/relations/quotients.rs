//! Quotients of sums over the same terms, Σ cᵢpᵢ / Σ dᵢpᵢ with pᵢ ≥ 0 and dᵢ > 0: weighted means of
//! the cᵢ/dᵢ, so no less than the least of them and no more than the greatest. Weighted means
//! proper have dᵢ = 1, shares as a/(a + b) have cᵢ of 1 and 0.
//!
//! A divisor max(Σ dᵢpᵢ, ε) takes the quotient towards 0 where ε is the greater; where the lower
//! end of the sum is not below ε, it is the mean. A quotient by max(a, b) of a is one such, with a
//! single term.
//!
//! A term cᵢpᵢ and a term dᵢpᵢ are products, of which pᵢ are the factors that they share: one of
//! them as a whole, so that how it is computed does not matter, or else any of the values that both
//! are the products of.
//!
//! # Rounding
//!
//! Let u = 2⁻²⁴, and N, D be the sums for real numbers, the pᵢ and the other factors taken as they
//! are in floats; r is the mean that is sought, N = rD. A product of k roundings is itself times
//! (1 + θ), |θ| ≤ (1 + u)ᵏ − 1, and off by what it loses below the least normal number: each
//! rounding by at most 2⁻¹⁵⁰, times all factors that come after it, for which their static bounds
//! are taken. Sums lose nothing there. So, with the most roundings that a term goes through, N in
//! floats is within Σ|cᵢ|pᵢ γ + A of N, and D, all of whose terms are positive, within Dγ' + A' of
//! D. As the divisor in floats is at least its static bound M > 0, and at least D in floats, the
//! quotient in floats is off from r by at most δ max|cᵢ/dᵢ| + A/M and what the division loses,
//! where δ is u times the number of roundings, and one more for terms of higher order (fewer than
//! 1000 roundings), and A'/M.
//!
//! The ratios cᵢ/dᵢ at run time are products and quotients in the same way, so their roundings add
//! to δ, and so do those of the two operations that widen the ends. Where nothing is negative, ends
//! are scaled by 1 ± δ; else they are moved by δ times the greatest magnitude. What is lost below
//! the least normal number is added, or is one more u in δ where no ratio is small enough for it to
//! count.
//!
//! A sum N that overflows says nothing of the mean, so that the upper end is infinite where the
//! upper end of N is. Nothing else may overflow.

use super::{Alternative, Point, Related};
use crate::analysis::{Bounds, Floats};
use crate::ir::function::for_each_stmt;
use crate::ir::op::Words;
use crate::ir::{Emit, Function, Op, Stmt, Value};

/// A quotient of sums over the same terms.
#[derive(Clone, Debug)]
pub struct Quotient {
    ratios: Vec<Ratio>,
    /// Whether terms of the divisor are not in the dividend, so that 0 is among the ratios.
    zero: bool,
    /// δ.
    relative: f32,
    /// What is lost below the least normal number, or 0 where that is part of δ.
    absolute: f32,
    /// The sum in the divisor.
    sum: Value,
    /// What that may be less than, so that the divisor is one of them.
    floors: Vec<Value>,
    /// The dividend, where it may overflow.
    overflows: Option<Value>,
}

/// The ratio cᵢ/dᵢ of two terms: products of values that are not negative, with a sign.
#[derive(Clone, Debug)]
struct Ratio {
    above: Vec<Value>,
    below: Vec<Value>,
    minus: bool,
}

/// Unit of rounding.
const U: f64 = 1.0 / (1 << 24) as f64;

/// What a rounding loses below the least normal number.
const LOST: f64 = f32::from_bits(1) as f64 / 2.0;

/// What covers terms of higher order where losses are added.
const MORE: f64 = 1.01;

/// Sums of more terms, and products of more factors, are not looked at.
const MOST: usize = 16;

/// Finds quotients that are intervals.
pub(super) fn find(point: &Point<'_>, related: &mut Related) {
    for_each_stmt(&point.function.body, &mut |stmt| {
        let Stmt::Op(value) = stmt else { return };
        let Some((Op::Div, &[dividend, divisor])) = point.function.operation(*value) else {
            return;
        };
        if !point.kinds[value.index()] {
            return;
        }
        let Some(quotient) = point.quotient(dividend, divisor) else { return };
        let of = |value: Value| {
            point.hull(value).map(|ends| ends.map(f32::to_bits)).expect("it was looked at")
        };
        let [lo, hi] = quotient.ends(&mut Words::default(), of).map(f32::from_bits);
        let known = point.bounds[value.index()].floats();
        // Limits are all that there is to ratios of constants.
        let constant =
            quotient.sources().iter().all(|&source| point.function.constant(source).is_some());
        if !constant || lo > known.low() || hi < known.high() {
            related.add(
                point,
                *value,
                Alternative::Quotient(quotient),
                Bounds::Float(Floats::between(lo, hi)),
            );
        }
    });
}

/// The terms of a sum, with their signs.
fn terms(function: &Function, sum: Value) -> Option<Vec<(Value, bool)>> {
    let (mut found, mut work) = (vec![], vec![(sum, false)]);
    while let Some((value, minus)) = work.pop() {
        match function.operation(value) {
            Some((Op::Add, &[a, b])) => work.extend([(b, minus), (a, minus)]),
            Some((Op::Sub, &[a, b])) => work.extend([(b, !minus), (a, minus)]),
            Some((Op::Neg, &[a])) => work.push((a, !minus)),
            _ => found.push((value, minus)),
        }
        if work.len() + found.len() > MOST {
            return None;
        }
    }
    Some(found)
}

/// The values of which one is the maximum of several, or the one that it is itself.
fn maximum_of(function: &Function, value: Value) -> Vec<Value> {
    match function.operation(value) {
        Some((Op::Max, &[a, b])) => [maximum_of(function, a), maximum_of(function, b)].concat(),
        _ => vec![value],
    }
}

/// The values that a product is made of, which are no products.
fn factors(function: &Function, product: Value) -> Option<Vec<Value>> {
    let (mut found, mut work) = (vec![], vec![product]);
    while let Some(value) = work.pop() {
        match function.operation(value) {
            Some((Op::Mul, args)) => work.extend(args),
            _ => found.push(value),
        }
        if work.len() + found.len() > MOST {
            return None;
        }
    }
    Some(found)
}

/// The factors of a product beside one that it has.
fn rest(function: &Function, product: Value, factor: Value) -> Option<Vec<Value>> {
    if product == factor {
        return Some(vec![]);
    }
    let Some((Op::Mul, &[a, b])) = function.operation(product) else { return None };
    [(a, b), (b, a)]
        .into_iter()
        .find_map(|(a, b)| Some([rest(function, a, factor)?, vec![b]].concat()))
}

/// How far a product is off: roundings, and what is lost below the least normal number.
#[derive(Clone, Copy, Default)]
struct Error {
    roundings: usize,
    lost: f64,
}

impl Error {
    /// The worst of a sum's terms, what they lose added up.
    fn of_sum(errors: &[Error]) -> Error {
        let roundings = errors.iter().map(|error| error.roundings).max().unwrap_or(0);
        Error {
            roundings: roundings + errors.len() - 1,
            lost: MORE * errors.iter().map(|error| error.lost).sum::<f64>(),
        }
    }
}

/// What two terms share, p, and the rest.
struct Shared {
    above: Vec<Value>,
    below: Vec<Value>,
    /// All values that count as they are.
    leaves: Vec<Value>,
}

impl Point<'_> {
    fn quotient(&self, dividend: Value, divisor: Value) -> Option<Quotient> {
        let sums = maximum_of(self.function, divisor);
        (0..sums.len()).find_map(|k| {
            let mut floors = sums.clone();
            let sum = floors.swap_remove(k);
            self.over(dividend, divisor, sum, floors)
        })
    }

    /// The quotient by a divisor that is a sum or the maximum of that and of other values.
    fn over(
        &self,
        dividend: Value,
        divisor: Value,
        sum: Value,
        floors: Vec<Value>,
    ) -> Option<Quotient> {
        let above = terms(self.function, dividend)?;
        let mut below: Vec<_> = terms(self.function, sum)?;
        if floors.iter().chain([&sum]).any(|&value| self.hull(value).is_none()) {
            return None;
        }
        if below.iter().any(|&(term, minus)| minus || !self.is_positive(term)) {
            return None;
        }
        let terms = below.len();
        let (mut ratios, mut errors) = (vec![], [vec![], vec![]]);
        for (term, minus) in above {
            let (k, shared) = below
                .iter()
                .enumerate()
                .find_map(|(k, &(other, _))| Some((k, self.shared(term, other)?)))?;
            let (other, _) = below.swap_remove(k);
            errors[0].push(self.error(term, &shared.leaves));
            errors[1].push(self.error(other, &shared.leaves));
            let Shared { above, below, .. } = shared;
            ratios.push(Ratio { above, below, minus });
        }
        errors[1].resize(terms, Error::default());
        let [least, most] = self.hull(divisor)?;
        let [dividend_least, dividend_most] = self.hull(dividend)?;
        if least <= 0.0 || most == f32::INFINITY || dividend_least == f32::NEG_INFINITY {
            return None;
        }
        let overflows = (dividend_most == f32::INFINITY).then_some(dividend);
        let quotient = Quotient {
            ratios,
            zero: !below.is_empty(),
            relative: 0.0,
            absolute: 0.0,
            sum,
            floors,
            overflows,
        };
        self.with_errors(quotient, errors.map(|errors| Error::of_sum(&errors)), f64::from(least))
    }

    /// The factors that terms of dividend and divisor share, if what they come to is not negative,
    /// nor are the others.
    fn shared(&self, term: Value, other: Value) -> Option<Shared> {
        let of = |p: &[Value], above: Vec<Value>, below: Vec<Value>| {
            let leaves = [p, &above, &below].concat();
            let fits = above.iter().all(|&c| self.is_positive(c))
                && below.iter().all(|&d| self.hull(d).is_some_and(|[lo, _]| lo > 0.0));
            fits.then_some(Shared { above, below, leaves })
        };
        if let Some(above) = rest(self.function, term, other) {
            return of(&[other], above, vec![]);
        }
        if let Some(below) = rest(self.function, other, term).filter(|_| self.is_positive(term)) {
            return of(&[term], vec![], below);
        }
        let (mut above, mut shared) = (vec![], vec![]);
        let mut below = factors(self.function, other)?;
        for factor in factors(self.function, term)? {
            match below.iter().position(|&other| other == factor) {
                Some(k) => shared.push(below.swap_remove(k)),
                None => above.push(factor),
            }
        }
        let is_even = |&p: &Value| shared.iter().filter(|&&other| other == p).count() % 2 == 0;
        let positive =
            !shared.is_empty() && shared.iter().all(|p| is_even(p) || self.is_positive(*p));
        if positive { of(&shared, above, below) } else { None }
    }

    /// How far a product is off, of values that count as they are.
    fn error(&self, product: Value, leaves: &[Value]) -> Error {
        match self.function.operation(product) {
            Some((Op::Mul, &[a, b])) if !leaves.contains(&product) => {
                let [x, y] = [a, b].map(|factor| self.error(factor, leaves));
                let [most_a, most_b] = [a, b].map(|factor| match self.hull(factor) {
                    Some([lo, hi]) => f64::from(lo.abs().max(hi.abs())),
                    None => f64::INFINITY,
                });
                let scaled = |lost: f64, by: f64| if lost == 0.0 { 0.0 } else { lost * by };
                let lost = scaled(x.lost, most_b) + scaled(y.lost, most_a + x.lost) + LOST;
                Error { roundings: x.roundings + y.roundings + 1, lost: MORE * lost }
            }
            _ => Error::default(),
        }
    }

    /// What a ratio is between, and how far it is off at run time; `None` if it might overflow.
    fn range(&self, ratio: &Ratio) -> Option<([f64; 2], Error)> {
        let (mut range, mut error) = ([1.0; 2], Error::default());
        for (k, &factor) in ratio.above.iter().enumerate() {
            let [lo, hi] = self.hull(factor)?.map(f64::from);
            if k > 0 {
                error =
                    Error { roundings: error.roundings + 1, lost: MORE * (error.lost * hi + LOST) };
            }
            range = [range[0] * lo, range[1] * hi];
        }
        let mut divisor = [1.0; 2];
        for &factor in &ratio.below {
            let [lo, hi] = self.hull(factor)?.map(f64::from);
            divisor = [divisor[0] * lo, divisor[1] * hi];
            if divisor[0] < f64::from(f32::MIN_POSITIVE) || divisor[1] > f64::from(f32::MAX) {
                return None;
            }
        }
        if !ratio.below.is_empty() {
            let roundings = error.roundings + ratio.below.len();
            error = Error { roundings, lost: MORE * (error.lost / divisor[0] + LOST) };
        }
        let quotient = [range[0] / divisor[1], range[1] / divisor[0]];
        (range[1].max(quotient[1]) <= f64::from(f32::MAX)).then_some((quotient, error))
    }

    /// A quotient with δ and losses, of sums that are off by `errors` and a divisor that is at
    /// least so much.
    fn with_errors(
        &self,
        mut quotient: Quotient,
        [above, below]: [Error; 2],
        least: f64,
    ) -> Option<Quotient> {
        let (mut smallest, mut of_ratios) = (f64::INFINITY, Error::default());
        for ratio in &quotient.ratios {
            let ([lo, _], error) = self.range(ratio)?;
            smallest = f64::min(smallest, lo);
            of_ratios.roundings = of_ratios.roundings.max(error.roundings);
            of_ratios.lost = f64::max(of_ratios.lost, error.lost);
        }
        // The division, the two operations that widen, and terms of higher order.
        let mut roundings = above.roundings + below.roundings + of_ratios.roundings + 4;
        let lost = MORE * (MORE * above.lost / least + MORE * of_ratios.lost + 4.0 * LOST);
        if quotient.zero || quotient.is_signed() || lost > smallest * U {
            quotient.absolute = (lost as f32).next_up();
        } else {
            roundings += 1;
        }
        let relative = roundings as f64 * U + below.lost / least * MORE;
        quotient.relative = (relative as f32).next_up();
        (relative < 1e-3 && lost < f64::from(f32::MAX)).then_some(quotient)
    }
}

impl Quotient {
    fn is_signed(&self) -> bool {
        self.ratios.iter().any(|ratio| ratio.minus)
    }

    /// The values whose ends it needs.
    pub(super) fn sources(&self) -> Vec<Value> {
        let of_ratios = self.ratios.iter().flat_map(|ratio| ratio.above.iter().chain(&ratio.below));
        let of_floors = self.floors.iter().chain((!self.floors.is_empty()).then_some(&self.sum));
        of_ratios.chain(of_floors).chain(&self.overflows).copied().collect()
    }

    /// Least and greatest of the ratios, widened.
    pub(super) fn ends<E: Emit<Value: PartialEq>>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        let zero = emit.f32(0.0);
        let mut range = self.zero.then_some([zero; 2]);
        for ratio in &self.ratios {
            let [lo, hi] = ratio.ends(emit, &of);
            range = Some(match range {
                Some([least, most]) => {
                    [emit.op(Op::Min, &[least, lo]), emit.op(Op::Max, &[most, hi])]
                }
                None => [lo, hi],
            });
        }
        let [lo, hi] = range.expect("there is a ratio");
        let [mut lo, mut hi] =
            if self.is_signed() { self.moved(emit, lo, hi) } else { self.scaled(emit, lo, hi) };
        let floor =
            self.floors.iter().map(|&floor| of(floor)[1]).reduce(|a, b| emit.op(Op::Max, &[a, b]));
        if let Some(floor) = floor {
            let reached = emit.op(Op::Le, &[floor, of(self.sum)[0]]);
            if self.is_signed() {
                let above = emit.op(Op::Max, &[hi, zero]);
                hi = emit.op(Op::Select, &[reached, hi, above]);
                let below = emit.op(Op::Min, &[lo, zero]);
                lo = emit.op(Op::Select, &[reached, lo, below]);
            } else if !self.zero {
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

    /// Ends that are not negative, widened.
    fn scaled<E: Emit>(&self, emit: &mut E, lo: E::Value, hi: E::Value) -> [E::Value; 2] {
        let [below, above] = [(1.0 - self.relative).next_down(), (1.0 + self.relative).next_up()]
            .map(|end| emit.f32(end));
        let absolute = emit.f32(self.absolute);
        let mut hi = emit.op(Op::Mul, &[hi, above]);
        if self.zero {
            // The interval form is not below 0 either.
            let nothing = emit.f32(f32::NEG_INFINITY);
            return [nothing, emit.op(Op::Add, &[hi, absolute])];
        }
        let mut lo = emit.op(Op::Mul, &[lo, below]);
        if self.absolute > 0.0 {
            hi = emit.op(Op::Add, &[hi, absolute]);
            lo = emit.op(Op::Sub, &[lo, absolute]);
        }
        [lo, hi]
    }

    /// Ends of any sign, widened.
    fn moved<E: Emit>(&self, emit: &mut E, lo: E::Value, hi: E::Value) -> [E::Value; 2] {
        let opposite = emit.op(Op::Neg, &[lo]);
        let most = emit.op(Op::Max, &[hi, opposite]);
        let [relative, absolute] = [self.relative, self.absolute].map(|x| emit.f32(x));
        let by = emit.op(Op::Mul, &[most, relative]);
        let by = emit.op(Op::Add, &[by, absolute]);
        [emit.op(Op::Sub, &[lo, by]), emit.op(Op::Add, &[hi, by])]
    }
}

impl Ratio {
    fn ends<E: Emit>(&self, emit: &mut E, of: &impl Fn(Value) -> [E::Value; 2]) -> [E::Value; 2] {
        let ends = [0, 1].map(|side| {
            let product = |emit: &mut E, factors: &[Value], side: usize| {
                let ends = factors.iter().map(|&factor| of(factor)[side]);
                ends.reduce(|a, b| emit.op(Op::Mul, &[a, b]))
            };
            let above = match product(emit, &self.above, side) {
                Some(above) => above,
                None => emit.f32(1.0),
            };
            match product(emit, &self.below, 1 - side) {
                Some(below) => emit.op(Op::Div, &[above, below]),
                None => above,
            }
        });
        if self.minus { [emit.op(Op::Neg, &[ends[1]]), emit.op(Op::Neg, &[ends[0]])] } else { ends }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Case;
    use super::super::{Relation, Relations};
    use super::*;
    use crate::interval::Nan;

    const WITH: Relations = Relations::NONE;

    fn within(lo: f32, hi: f32) -> (bool, Bounds) {
        (true, Bounds::Float(Floats::between(lo, hi)))
    }

    /// The exponent of an anisotropic lobe, between n_u and n_v.
    const EXPONENT: &str = "fn f(x: f32, y: f32, n_u: f32, n_v: f32) -> (r: f32) {
        %0 = mul x, x
        %1 = mul y, y
        %2 = mul n_u, %0
        %3 = mul n_v, %1
        %4 = add %2, %3
        %5 = add %0, %1
        %6 = max %5, 1e-20
        %7 = div %4, %6
        return %7
    }";

    #[test]
    fn means_are_between_what_they_are_of() {
        let number = |lo, hi| (false, Bounds::Float(Floats::between(lo, hi)));
        let case = Case::new(
            EXPONENT,
            &[within(-2.0, 2.0), within(-2.0, 2.0), number(1.0, 1e4), number(1.0, 1e4)],
        );
        let ends = |relations: Relations, x: [f32; 2]| {
            let lifted = case.lifted(relations, Nan::Ignore);
            case.ends(&lifted, &[x, [0.1, 0.2], [1000.0; 2], [50.0; 2]])[0]
        };
        let [lo, hi] = ends(WITH.with(Relation::Quotients), [-0.1, 0.1]);
        assert!((49.999..=50.0).contains(&lo) && (1000.0..1000.001).contains(&hi), "{lo:?} {hi:?}");
        let [lo, hi] = ends(WITH, [-0.1, 0.1]);
        assert!(lo < 11.0 && hi > 1100.0, "{lo:?} {hi:?}");
    }

    #[test]
    fn quotients_are_within_their_ends() {
        let all = Floats::between(0.0, f32::MAX);
        let number = |floats| (false, Bounds::Float(floats));
        // Whatever the exponents are, the dividend may overflow.
        for n in [
            Floats::between(1.0, 1e4),
            Floats::between(0.0, 1.0),
            all,
            Floats::between(f32::MIN_POSITIVE, 1e30),
        ] {
            for x in [within(-2.0, 2.0), within(0.0, 1e-18), within(1.0, 1e15)] {
                let case = Case::new(
                    EXPONENT,
                    &[x, within(-1.0, 1.0), number(n), (true, Bounds::Float(n))],
                );
                let seen = case.check(Relation::Quotients, 2000);
                assert!(seen.tighter * 20 > seen.ends, "{n:?} {x:?} {seen:?}");
            }
        }
    }

    #[test]
    fn quotients_of_all_shapes_are_within_their_ends() {
        let positive = |hi| within(0.0, hi);
        let shapes: [(&str, &[(bool, Bounds)]); 6] = [
            // (a − b)/(a + b)
            (
                "fn f(a: f32, b: f32) -> (r: f32) { %0 = sub a, b %1 = add b, a %2 = div %0, %1 return %2 }",
                &[positive(1.0), within(1e-30, 2.0)],
            ),
            // b/(a + b)
            (
                "fn f(a: f32, b: f32) -> (r: f32) { %1 = add b, a %2 = div b, %1 return %2 }",
                &[positive(1e30), within(1e-3, 1.0)],
            ),
            // a/max(a, max(b, 1e-4))
            (
                "fn f(a: f32, b: f32) -> (r: f32) { %0 = max b, 1e-4 %1 = max a, %0 %2 = div a, %1 return %2 }",
                &[positive(1.0), within(-1.0, 1.0)],
            ),
            // (x² + y²)/((αx)² + (y + y²β)²) is none; with factors in another order, (x x + y
            // y)/((α x)(α x) + (β y)(β y)) is one.
            (
                "fn f(x: f32, y: f32, a: f32, b: f32) -> (r: f32) {
                    %0 = mul x, x %1 = mul y, y %2 = add %0, %1
                    %3 = mul a, x %4 = mul %3, %3 %5 = mul y, b %6 = mul %5, %5 %7 = add %6, %4
                    %8 = max %7, 1e-15 %9 = div %2, %8 return %9 }",
                &[within(-1.0, 1.0), within(-3.0, 1e-4), within(1e-3, 1.0), (false, Bounds::Float(Floats::between(0.01, 1.0)))],
            ),
            // (a x² − b y + c·3 z)/(x² + y + z + 1)
            (
                "fn f(x: f32, y: f32, z: f32, a: f32, b: f32, c: f32) -> (r: f32) {
                    %0 = mul x, x %1 = mul %0, a %2 = mul b, y %3 = sub %1, %2 %4 = mul c, 3.0 %5 = mul %4, z %6 = add %3, %5
                    %7 = add y, 1.0 %8 = add %0, z %9 = add %8, %7 %10 = div %6, %9 return %10 }",
                &[within(-9.0, 9.0), positive(1.0), positive(1e-40), positive(2.0), positive(1.0), within(0.5, 1e9)],
            ),
            // (x³ + y²)/(x² + y) for x ≥ 0
            (
                "fn f(x: f32, y: f32) -> (r: f32) {
                    %0 = mul x, x %1 = mul %0, x %2 = mul y, y %3 = add %1, %2 %4 = add %0, y %5 = div %3, %4 return %5 }",
                &[positive(1.0), within(1e-10, 2.0)],
            ),
        ];
        for (text, inputs) in shapes {
            let seen = Case::new(text, inputs).check(Relation::Quotients, 5000);
            assert!(seen.tighter * 50 > seen.ends, "{text}: {seen:?}");
        }
    }
}
