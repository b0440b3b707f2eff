//! Dot products of two unit vectors: for real numbers, a·b = (|a|² + |b|² − |a − b|²) / 2. So a·b
//! is at most 1 minus half the squared distance between the boxes of a and b. Likewise, it is at
//! least −1 plus half the squared distance between the boxes of a and −b.
//!
//! Dot products with vectors of the frame are coordinates, which interval arithmetic bounds well
//! enough. They only get constraints, which their endpoints satisfy anyway: components of one
//! vector are within ±(1 + 2⁻²²), so the endpoints are within ± the sum of the magnitudes of the
//! other vector's components, which is at most √3 times its length if that vector is a singleton.
//! This requires that both vectors are inputs, since coordinates computed from inputs may have
//! wider endpoints. If a vector is on the same side of the surface as the normal, its dot product
//! with the normal is not negative.
//!
//! Constants also bound the dot product of a vector with itself. For the dot product of a half
//! vector and one of its two vectors, the bounds of `half` are tighter. The bounds hold for vectors
//! shorter than 1, too.
//!
//! A sum of three products is recognized with the components in any order and with any signs. The
//! signs are attributed to b, which does not change |b|.
//!
//! # Rounding
//!
//! Let ||a|² − 1| ≤ α, ||b|² − 1| ≤ β and u = 2⁻²⁴. The dot product in floats, in any order of
//! summation, has an error of at most 3.01u Σ|aᵢbᵢ| ≤ 3.01u (1 + (α + β)/2), plus the underflow of
//! the products, less than 2⁻¹⁴⁰. So it is at most C₁ − d²/2 with C₁ = 1 + (α + β)/2 + 3.1u, where
//! d is the distance of the boxes. Computed in floats, d² is the sum of three squares of
//! differences: at most d² (1 + 5.01u). Its product with C₂ = ½ (1 − 8u), and the difference from
//! C₁ + 1.1u, each have a relative error of u, so that C₁ + 1.1u − C₂ d² in floats is never below
//! C₁ − d²/2: rounding subtracts at most u (C₁ + d²/2) + 6.02u d²/2, and 1.1u + 8u d²/2 was added.

use super::unit::{UnitVector, is_dot};
use super::{Guard, PointShader, Refinement, Relation, RelationInfo, Relations};
use crate::analysis::Constraint;
use crate::interval::{Bounds, Floats};
use crate::ir::function::for_each_stmt;
use crate::ir::{Emit, Function, Op, Stmt, Value};

/// The dot product of two unit vectors.
#[derive(Clone, Copy, Debug)]
pub struct Dot {
    terms: [Term; 3],
    /// Upper bound on the magnitude of the dot product.
    max: f32,
    /// Whether to use the distance between the vectors.
    uses_distance: bool,
    /// Conditions on the box under which the vectors are unit vectors.
    guards: [Option<Guard>; 2],
}

/// A product of two values, with a sign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Term {
    pub factors: [Value; 2],
    pub negated: bool,
}

/// C₂ = ½ (1 − 8u).
const DISTANCE_FACTOR: f32 = 0.5 - 4.0 / (1 << 24) as f32;

/// C₁ + 1.1u for vectors with slacks α and β, rounded up.
fn max_dot(a: f64, b: f64) -> f32 {
    let u = 1.0 / f64::from(1 << 24);
    ((1.0 + 0.5 * (a + b) + 4.2 * u) as f32).next_up()
}

/// The products of a sum of three products. Additions and subtractions may come in any order. The
/// signs of sums, products and factors are combined.
pub(crate) fn terms(function: &Function, sum: Value) -> Option<[Term; 3]> {
    let mut found = vec![];
    let mut work = vec![(sum, false)];
    while let Some((value, negated)) = work.pop() {
        match function.operation(value)? {
            (Op::Add, &[a, b]) => work.extend([(b, negated), (a, negated)]),
            (Op::Sub, &[a, b]) => work.extend([(b, !negated), (a, negated)]),
            (Op::Neg, &[a]) => work.push((a, !negated)),
            (Op::Mul, &[a, b]) => {
                let [a, b] = [a, b].map(|factor| match function.operation(factor) {
                    Some((Op::Neg, &[of])) => (of, true),
                    _ => (factor, false),
                });
                found.push(Term { factors: [a.0, b.0], negated: negated ^ a.1 ^ b.1 });
            }
            _ => return None,
        }
        if work.len() + found.len() > 3 {
            return None;
        }
    }
    found.try_into().ok()
}

/// Finds dot products of unit vectors.
pub(super) fn find(point: &PointShader<'_>, relations: Relations, related: &mut RelationInfo) {
    let uses_distance = relations.has(Relation::Dot);
    for_each_stmt(&point.function.body, &mut |stmt| {
        let Stmt::Op(value) = stmt else { return };
        let Some(terms) = terms(point.function, *value) else { return };
        let Some((dot, [a, b])) = dot(&point.units, terms, uses_distance) else { return };
        if related.refinements[value.index()]
            .iter()
            .any(|known| matches!(known, Refinement::HalfVectorDot(_)))
        {
            return;
        }
        if dot.is_guarded() {
            return related.add(point, *value, Refinement::Dot(dot), Bounds::Float(Floats::all()));
        }
        let is_coordinate = (a.is_frame() || b.is_frame()) && a.axis.is_some() && b.axis.is_some();
        if !relations.has(if dot.uses_distance && !is_coordinate {
            Relation::Dot
        } else {
            Relation::Unit
        }) {
            return;
        }
        let is_above =
            [(a, b), (b, a)].into_iter().any(|(a, b)| a.is_above() && b.is_normal(&point.units));
        let is_above = is_above && is_dot(&terms, a.components, b.components);
        let dot_bounds =
            |max: f32| Bounds::Float(Floats::between(if is_above { 0.0 } else { -max }, max));
        if !point.is_interval[value.index()] {
            related.constrain(*value, Constraint::observe(dot_bounds(dot.max)));
        } else if is_coordinate {
            let is_singleton = |unit: &UnitVector| {
                unit.components.iter().all(|component| !point.is_interval[component.index()])
            };
            let bounds = dot_bounds(if is_singleton(a) || is_singleton(b) {
                SQRT_3
            } else {
                3.0 + 3.0 * PRODUCT_SLACK
            });
            if is_above {
                related.add(point, *value, Refinement::AtLeast(0.0), bounds);
            } else {
                related.constrain(*value, Constraint::observe(bounds));
            }
        } else {
            related.add(point, *value, Refinement::Dot(dot), dot_bounds(dot.max));
        }
    });
}

/// An upper bound on √3 · (1 + 2⁻²²)(1 + 2⁻²¹), including rounding.
const SQRT_3: f32 = 1.7321;

/// A bound on how much a product of components exceeds 1, including the rounding of sums of three.
const PRODUCT_SLACK: f32 = 1.0 / (1 << 20) as f32;

/// The dot product of unit vectors that three terms form, if any.
fn dot(
    units: &[UnitVector],
    terms: [Term; 3],
    uses_distance: bool,
) -> Option<(Dot, [&UnitVector; 2])> {
    // Either factor of each product may belong to the first vector.
    (0..4).find_map(|swapped: usize| {
        let mut terms = terms;
        terms[1..]
            .iter_mut()
            .enumerate()
            .filter(|(k, _)| swapped >> k & 1 == 1)
            .for_each(|(_, term)| term.factors.swap(0, 1));
        let unit = |side: usize| {
            let has = |component: &Value| terms.iter().any(|term| term.factors[side] == *component);
            units.iter().find(|unit| unit.components.iter().all(has))
        };
        let [a, b] = [unit(0)?, unit(1)?];
        let uses_distance = uses_distance && a != b;
        Some((
            Dot {
                terms,
                max: max_dot(a.slack, b.slack),
                uses_distance,
                guards: [a.guard, b.guard],
            },
            [a, b],
        ))
    })
}

impl Dot {
    pub(super) fn relation(&self) -> Relation {
        if self.uses_distance { Relation::Dot } else { Relation::Unit }
    }

    /// The values from which the endpoints are computed.
    pub(super) fn sources(&self) -> Vec<Value> {
        let guards = self.guards.iter().flatten().map(|guard| guard.value);
        self.terms.iter().flat_map(|term| term.factors).chain(guards).collect()
    }

    pub(super) fn is_guarded(&self) -> bool {
        self.guards.iter().any(Option::is_some)
    }

    /// Endpoints from the distance between the vectors, or constants.
    pub(super) fn endpoints<E: Emit<Value: PartialEq>>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        let endpoints = self.unguarded(emit, &of);
        self.guards
            .iter()
            .flatten()
            .fold(endpoints, |endpoints, guard| guard.guarded(emit, &of, endpoints))
    }

    fn unguarded<E: Emit<Value: PartialEq>>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        let [min, max] = [-self.max, self.max].map(|end| emit.f32(end));
        if !self.uses_distance {
            return [min, max];
        }
        let [above, below] =
            [true, false].map(|negated| self.half_squared_distance(emit, &of, negated));
        [emit.op(Op::Add, &[above, min]), emit.op(Op::Sub, &[max, below])]
    }

    /// Half the squared distance between the boxes of a and b, or of a and −b if `negated`.
    fn half_squared_distance<E: Emit<Value: PartialEq>>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
        negated: bool,
    ) -> E::Value {
        let squares = self.terms.map(|term| {
            let [a, b] = term.factors.map(&of);
            let gap = interval_distance(emit, a, b, term.negated != negated);
            emit.op(Op::Mul, &[gap, gap])
        });
        let sum = emit.op(Op::Add, &[squares[0], squares[1]]);
        let sum = emit.op(Op::Add, &[sum, squares[2]]);
        let half = emit.f32(DISTANCE_FACTOR);
        emit.op(Op::Mul, &[sum, half])
    }
}

/// The distance between two intervals, the second one negated if `negated`. If one is a singleton,
/// the distance may be negative.
pub(super) fn interval_distance<E: Emit<Value: PartialEq>>(
    emit: &mut E,
    a: [E::Value; 2],
    b: [E::Value; 2],
    negated: bool,
) -> E::Value {
    let difference = if negated { Op::Add } else { Op::Sub };
    for ([lo, hi], [singleton, other]) in [(a, b), (b, a)] {
        if singleton == other {
            // From the singleton to the closest member of the other.
            let singleton = if negated { emit.op(Op::Neg, &[singleton]) } else { singleton };
            let closest = emit.op(Op::Max, &[singleton, lo]);
            let closest = emit.op(Op::Min, &[closest, hi]);
            return emit.op(Op::Sub, &[closest, singleton]);
        }
    }
    let ([a_lo, a_hi], [b_lo, b_hi]) = (a, if negated { [b[1], b[0]] } else { b });
    // The upper endpoint of −b is the negated lower endpoint of b.
    let after = emit.op(difference, &[a_lo, b_hi]);
    let before = emit.op(difference, &[a_hi, b_lo]);
    let before = emit.op(Op::Neg, &[before]);
    let gap = emit.op(Op::Max, &[after, before]);
    let zero = emit.f32(0.0);
    emit.op(Op::Max, &[gap, zero])
}

#[cfg(test)]
mod tests {
    use super::super::testing::{axes, box_around, nearly_unit};
    use super::super::unit::find;
    use super::*;
    use crate::ir::text::parse;
    use crate::math::eval::ConstantEvaluator;
    use crate::random::Random;

    #[test]
    fn dot_products_are_within_tight_endpoints() {
        let text = "fn f(a: f32, b: f32, c: f32, x: f32, y: f32, z: f32) -> (r: f32) {
            %0 = mul c, z
            %1 = mul x, a
            %2 = mul b, y
            %3 = add %1, %2
            %4 = sub %0, %3
            return %4
        }";
        let function = parse(text).expect("the text is well formed");
        let units = find(&function, &axes(2));
        let sum = function.body.yields[0];
        let found = dot(&units, terms(&function, sum).expect("it is a sum of products"), true)
            .expect("it is a dot product of unit vectors")
            .0;
        let input = |value: Value| {
            units
                .iter()
                .flat_map(|unit| unit.components)
                .position(|component| component == value)
                .expect("it is a component")
        };
        let mut random = Random::new(5);
        let mut narrow = 0;
        for _ in 0..200_000 {
            let a = nearly_unit(&mut random, None);
            let mirrored = [-a[0], -a[1], a[2]];
            let opposite = mirrored.map(|x| -x);
            let near = *random.pick(&[None, Some(mirrored), Some(opposite)]);
            let b = nearly_unit(&mut random, near);
            let boxes = [
                box_around(&mut random, a),
                if random.once_in(2) { b.map(|x| [x, x]) } else { box_around(&mut random, b) },
            ];
            let product = a[2] * b[2] - (b[0] * a[0] + a[1] * b[1]);
            let of = |value: Value| boxes[input(value) / 3][input(value) % 3].map(f32::to_bits);
            let [lo, hi] =
                found.endpoints(&mut ConstantEvaluator::default(), of).map(f32::from_bits);
            assert!(
                lo <= product && product <= hi,
                "{product} of {a:?} and {b:?} is not in [{lo}, {hi}]"
            );
            narrow += usize::from(hi - lo < 1e-3);
        }
        assert!(narrow > 10_000, "{narrow}");
    }
}
