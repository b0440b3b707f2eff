//! Polynomials p(x) with constant coefficients, such as the quintic weights of gradient noise. The
//! interval lowering treats all occurrences of x as independent.
//!
//! Let d⁻ ≤ 0 ≤ d⁺ bound the derivative over the static bounds of x, computed at compile time. For
//! all x in [l, h], p(x) ≤ p(l) + d⁺ (h − l) and p(x) ≤ p(h) − d⁻ (h − l), and the lower bounds are
//! alike. If p is monotone, they are its values at the ends. They are clamped to the static bounds
//! of p.
//!
//! # Rounding
//!
//! A bound e on the error of p in floats follows from the magnitudes of all intermediate results:
//! an operation with the result r adds u |r| + 2⁻¹⁵⁰, with u = 2⁻²⁴. Members and values at the ends
//! have this error each, and the operations on endpoints add less than 4u (|p| + d (h − l)).
//! Coefficients are computed in double precision, and their error is below that by far.

use super::{PointShader, Refinement, RelationInfo};
use crate::interval::{Bounds, Floats};
use crate::ir::function::for_each_stmt;
use crate::ir::{Emit, Function, Op, Stmt, Value};

/// A polynomial in one value.
#[derive(Clone, Debug)]
pub struct Polynomial {
    base: Value,
    /// The operations that compute it, in order.
    operations: Vec<(Op, Vec<Operand>)>,
    /// Bounds on the derivative, d⁻ ≤ 0 ≤ d⁺.
    slopes: [f32; 2],
    /// Bounds on the value.
    range: [f32; 2],
    /// Widening of the endpoints.
    margin: f32,
}

/// An operand of an operation.
#[derive(Clone, Copy, Debug)]
enum Operand {
    Constant(f32),
    /// The base, or the result of an operation: 0 is the base.
    Result(usize),
}

/// A polynomial while it is searched for.
#[derive(Clone, Debug)]
struct Found {
    base: Value,
    /// Coefficients, constant first.
    coefficients: Vec<f64>,
}

/// Greatest degree.
const MAX_DEGREE: usize = 12;

/// Parts of the static bounds of x, in which derivatives are bounded.
const PARTS: u32 = 1024;

/// Finds polynomials with more than one term.
pub(super) fn find(point: &PointShader<'_>, related: &mut RelationInfo) {
    let function = point.function;
    let mut found: Vec<Option<Found>> = vec![None; function.len()];
    let mut is_part = vec![false; function.len()];
    for_each_stmt(&function.body, &mut |stmt| {
        let Stmt::Op(value) = stmt else { return };
        let Some((op, args)) = function.operation(*value) else { return };
        let polynomial = combine(function, &found, op, args);
        if polynomial.is_some() {
            args.iter().for_each(|arg| is_part[arg.index()] = true);
        }
        found[value.index()] = polynomial;
    });
    for (index, polynomial) in found.iter().enumerate() {
        let Some(Found { base, coefficients }) = polynomial else { continue };
        let terms = coefficients[1..].iter().filter(|&&c| c != 0.0).count();
        let is_linear = coefficients[2..].iter().all(|&c| c == 0.0);
        let is_refined = is_part[index] || !related.refinements[index].is_empty();
        if is_linear || terms < 2 || is_refined || !point.is_interval[base.index()] {
            continue;
        }
        let value = Value(index as u32);
        if let Some(polynomial) = point.polynomial(value, *base, coefficients) {
            let [low, high] = polynomial.range;
            let set = Bounds::Float(Floats::between(low, high));
            related.add(point, value, Refinement::Polynomial(polynomial), set);
        }
    }
}

/// Returns the polynomial that an operation computes, if any.
fn combine(function: &Function, found: &[Option<Found>], op: Op, args: &[Value]) -> Option<Found> {
    if !matches!(op, Op::Add | Op::Sub | Op::Mul | Op::Neg) {
        return None;
    }
    let mut base = None;
    let operands = args.iter().map(|&arg| match function.constant(arg) {
        Some(bits) => Some(vec![f64::from(f32::from_bits(bits))]),
        None => {
            let polynomial = found[arg.index()].clone();
            let Found { base: its_base, coefficients } =
                polynomial.unwrap_or(Found { base: arg, coefficients: vec![0.0, 1.0] });
            (*base.get_or_insert(its_base) == its_base).then_some(coefficients)
        }
    });
    let operands: Vec<Vec<f64>> = operands.collect::<Option<_>>()?;
    let coefficients = match (op, &operands[..]) {
        (Op::Neg, [p]) => p.iter().map(|c| -c).collect(),
        (Op::Mul, [p, q]) => {
            let mut product = vec![0.0; p.len() + q.len() - 1];
            for (i, a) in p.iter().enumerate() {
                for (j, b) in q.iter().enumerate() {
                    product[i + j] += a * b;
                }
            }
            product
        }
        (_, [p, q]) => {
            let sign = if op == Op::Sub { -1.0 } else { 1.0 };
            let at = |p: &[f64], i: usize| p.get(i).copied().unwrap_or(0.0);
            (0..p.len().max(q.len())).map(|i| at(p, i) + sign * at(q, i)).collect()
        }
        _ => unreachable!("operations have one or two operands"),
    };
    let fits = coefficients.len() <= MAX_DEGREE + 1;
    (coefficients.len() > 1 && fits).then_some(Found { base: base?, coefficients })
}

impl PointShader<'_> {
    /// Bounds a polynomial over the static bounds of its base.
    fn polynomial(&self, value: Value, base: Value, coefficients: &[f64]) -> Option<Polynomial> {
        let [low, high] = self.hull(base)?.map(f64::from);
        let magnitude = low.abs().max(high.abs());
        let scale = absolute(coefficients, magnitude);
        if !(magnitude < 1e6 && scale < 1e30) {
            return None;
        }
        let mut operations = vec![];
        let mut errors = vec![(magnitude, 0.0)];
        self.collect(value, &mut vec![base], &mut operations, &mut errors)?;
        let (_, error) = *errors.last().expect("there are operations");
        let derivative = derivative(coefficients);
        let second = self::derivative(&derivative);
        let (mut slopes, mut range) = ([0.0f64; 2], [f64::INFINITY, f64::NEG_INFINITY]);
        let half = (high - low) / f64::from(2 * PARTS);
        for part in 0..PARTS {
            let middle = low + half * f64::from(2 * part + 1);
            // Bounds on the second derivative in the part by interval arithmetic.
            let [a, b] = over(&second, [middle - half, middle + half]);
            let curvature = a.abs().max(b.abs());
            let slope = at(&derivative, middle);
            let deviation = half * curvature;
            slopes = [slopes[0].min(slope - deviation), slopes[1].max(slope + deviation)];
            let center = at(coefficients, middle);
            let deviation = half * (slope.abs() + deviation);
            range = [range[0].min(center - deviation), range[1].max(center + deviation)];
        }
        const U: f64 = 1.0 / (1u32 << 24) as f64;
        let steepest = slopes[1].max(-slopes[0]);
        let margin =
            2.0 * error + 8.0 * U * (scale + steepest * (high - low)) + 1e-12 * scale + 1e-40;
        let outwards = |[low, high]: [f64; 2]| [(low as f32).next_down(), (high as f32).next_up()];
        Some(Polynomial {
            base,
            operations,
            slopes: outwards(slopes),
            range: outwards([range[0] - margin, range[1] + margin]),
            margin: (margin as f32).next_up(),
        })
    }

    /// Collects the operations that compute a value, with bounds on the magnitude and the error of
    /// their results. Returns the index of the value. `computed` begins with the base.
    fn collect(
        &self,
        value: Value,
        computed: &mut Vec<Value>,
        operations: &mut Vec<(Op, Vec<Operand>)>,
        errors: &mut Vec<(f64, f64)>,
    ) -> Option<usize> {
        const U: f64 = 1.0 / (1u32 << 24) as f64;
        if let Some(index) = computed.iter().position(|&other| other == value) {
            return Some(index);
        }
        let (op, args) = self.function.operation(value)?;
        let mut operands = vec![];
        for &arg in args {
            operands.push(match self.function.constant(arg) {
                Some(bits) => Operand::Constant(f32::from_bits(bits)),
                None => Operand::Result(self.collect(arg, computed, operations, errors)?),
            });
        }
        let of = |operand: &Operand| match *operand {
            Operand::Constant(x) => (f64::from(x.abs()), 0.0),
            Operand::Result(index) => errors[index],
        };
        let (magnitude, error) = match (op, &operands[..]) {
            (Op::Neg, [p]) => of(p),
            (Op::Mul, [p, q]) => {
                let ((a, e), (b, f)) = (of(p), of(q));
                let magnitude = a * b;
                (magnitude, a * f + b * e + e * f + U * (a + e) * (b + f) + 1e-45)
            }
            (_, [p, q]) => {
                let ((a, e), (b, f)) = (of(p), of(q));
                (a + b, e + f + U * (a + b + e + f))
            }
            _ => return None,
        };
        errors.push((magnitude, error));
        operations.push((op, operands));
        computed.push(value);
        Some(computed.len() - 1)
    }
}

/// Evaluates a polynomial.
fn at(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// Returns Σ |cᵢ| xⁱ.
fn absolute(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c.abs())
}

/// Bounds a polynomial over an interval.
fn over(coefficients: &[f64], x: [f64; 2]) -> [f64; 2] {
    coefficients.iter().rev().fold([0.0; 2], |[low, high], c| {
        let products = [low * x[0], low * x[1], high * x[0], high * x[1]];
        let min = products.iter().copied().fold(f64::INFINITY, f64::min);
        let max = products.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        [min + c, max + c]
    })
}

/// Returns the coefficients of the derivative.
fn derivative(coefficients: &[f64]) -> Vec<f64> {
    coefficients.iter().enumerate().skip(1).map(|(i, c)| i as f64 * c).collect()
}

impl Polynomial {
    /// The value from which the endpoints are computed.
    pub(super) fn sources(&self) -> Vec<Value> {
        vec![self.base]
    }

    /// Bounds from the values at both ends of the base.
    pub(super) fn endpoints<E: Emit>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        let ends = of(self.base);
        let values = ends.map(|end| {
            let mut results = vec![end];
            for (op, operands) in &self.operations {
                let operands: Vec<_> = operands
                    .iter()
                    .map(|operand| match *operand {
                        Operand::Constant(x) => emit.f32(x),
                        Operand::Result(index) => results[index],
                    })
                    .collect();
                let result = emit.op(*op, &operands);
                results.push(result);
            }
            results[results.len() - 1]
        });
        let width = emit.op(Op::Sub, &[ends[1], ends[0]]);
        let [falling, rising] = self.slopes.map(|slope| {
            let slope = emit.f32(slope);
            emit.op(Op::Mul, &[width, slope])
        });
        let margin = emit.f32(self.margin);
        let from_low = emit.op(Op::Add, &[values[0], falling]);
        let from_high = emit.op(Op::Sub, &[values[1], rising]);
        let low = emit.op(Op::Max, &[from_low, from_high]);
        let low = emit.op(Op::Sub, &[low, margin]);
        let from_low = emit.op(Op::Add, &[values[0], rising]);
        let from_high = emit.op(Op::Sub, &[values[1], falling]);
        let high = emit.op(Op::Min, &[from_low, from_high]);
        let high = emit.op(Op::Add, &[high, margin]);
        let range = self.range.map(|end| emit.f32(end));
        [emit.op(Op::Max, &[low, range[0]]), emit.op(Op::Min, &[high, range[1]])]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpreter;
    use crate::interval::{Bounds, Floats};
    use crate::ir::text::parse;
    use crate::lift::{self, Input, Options};
    use crate::math::eval::ConstantEvaluator;
    use crate::random::Random;
    use crate::relations::testing::related;
    use crate::relations::{Relation, Relations};

    type Expected = fn(f32) -> f32;

    /// The weights of gradient noise and of value noise, and one that is not monotone.
    const POLYNOMIALS: [(&str, Expected); 3] = [
        (
            "%0 = mul x, x
            %1 = mul %0, x
            %2 = mul x, 6.0
            %3 = sub %2, 15.0
            %4 = mul x, %3
            %5 = add %4, 10.0
            %6 = mul %1, %5
            return %6",
            |x| x * x * x * (x * (x * 6.0 - 15.0) + 10.0),
        ),
        (
            "%0 = mul x, x
            %1 = mul x, 2.0
            %2 = sub 3.0, %1
            %3 = mul %0, %2
            return %3",
            |x| x * x * (3.0 - x * 2.0),
        ),
        (
            "%0 = mul x, x
            %1 = mul %0, x
            %2 = mul x, 0.5
            %3 = sub %1, %2
            return %3",
            |x| x * x * x - x * 0.5,
        ),
    ];

    #[test]
    fn endpoints_contain_all_values_and_are_tight() {
        let mut random = Random::new(5);
        for (body, f) in POLYNOMIALS {
            let text = format!("fn f(x: f32) -> (r: f32) {{ {body} }}");
            let function = parse(&text).expect("the text is well formed");
            let relations = Relations::NONE.with(Relation::Polynomials);
            let found = related(&function, &[None], relations);
            let result = function.body.yields[0].index();
            let [Refinement::Polynomial(polynomial)] = &found.refinements[result][..] else {
                panic!("{text} is a polynomial: {:?}", found.refinements);
            };
            for _ in 0..20_000 {
                let low = random.below(1 << 24) as f32 / (1 << 23) as f32 - 1.0;
                let width = random.below(1 << 24) as f32 / (1 << 24) as f32;
                let high = (low + width * *random.pick(&[0.0, 1e-6, 1e-2, 1.0])).min(1.0);
                let of = |_| [low, high].map(f32::to_bits);
                let ends =
                    polynomial.endpoints(&mut ConstantEvaluator::default(), of).map(f32::from_bits);
                let values = (0..=16).map(|i| f(low + (high - low) * (i as f32 / 16.0)));
                let (mut min, mut max) = (f32::INFINITY, f32::NEG_INFINITY);
                for value in values {
                    assert!(ends[0] <= value && value <= ends[1], "{text} {low} {high}");
                    (min, max) = (min.min(value), max.max(value));
                }
                // If it is monotone, bounds are the values at the ends. Otherwise, each deviates by
                // the width times the flatter of both slopes at most.
                let flatter = polynomial.slopes[1].min(-polynomial.slopes[0]);
                let slack = 2.0 * flatter * (high - low) + 4.0 * polynomial.margin;
                assert!(ends[1] - ends[0] <= max - min + slack);
            }
        }
    }

    #[test]
    fn powers_of_polynomials_are_within_static_bounds() {
        // The square of the polynomial %8 has tighter bounds than %8 itself.
        let text = "fn f(c: f32) -> (r: f32) {
            %0 = min c, 1.0 %1 = mul %0, 6.0 %2 = sub 3.0, %1 %3 = mul %0, %2 %4 = sub 0.5, %3
            %5 = mul %0, %4 %6 = sub 1.0, %5 %7 = mul %6, %0 %8 = mul %7, %7 %9 = mul %8, %8
            %10 = mul %7, %9
            return %10
        }";
        let point = parse(text).unwrap();
        let bounds = Bounds::Float(Floats::between(0.0, 1000.0));
        let input = Input { interval: true, bounds, axis: None, sorted: None };
        let options = Options { relations: Relations::all(), ..Options::default() };
        let lifted = lift::run(&point, &[input], &[0], &options);
        let words = [0.0, 320.0f32].map(f32::to_bits);
        let endpoints = interpreter::run(&lifted.function, &[], &words, 1).unwrap();
        let known = lifted.bounds[lifted.point.body.yields[0].index()];
        assert!(endpoints.iter().all(|&end| known.contains(end)), "{endpoints:x?} in {known}");
    }
}
