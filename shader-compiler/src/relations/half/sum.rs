//! Sums a + b of two unit vectors, and their squared lengths.
//!
//! For real numbers, |a + b|² = 2|a|² + 2|b|² − |a − b|². So it is at most 4 minus the squared
//! distance between the boxes of a and b, and at least 4 minus the maximum squared distance between
//! their members ([`SquaredLength`]). The same holds if a + b is transformed into the frame, and
//! for x² + y² + max(z², ε), which is at most ε greater. The refinement takes some fifty
//! instructions, so it is applied only to sums of squares that are used more than once, where it
//! tightens bounds most.
//!
//! Let ||a|² − 1| ≤ α, ||b|² − 1| ≤ β and u = 2⁻²⁴. In floats, each component of a + b has a
//! relative error of u, which changes |a + b|² by 2.01u; its sum of squares adds 3.01u. With
//! |a + b|² < 4.0001, the total is 20.2u. The squared distance has a relative error of 5.01u,
//! from the differences (which count twice), squares and two sums: 20.1u if it is at most 4.0001,
//! as it is whenever the bound is useful. The last difference has an error of 4.1u. So
//! C = 4 ± (2α + 2β + 46u). In the coordinates of a frame Q, where QᵀQ has eigenvalues within
//! 1 ± 3·2⁻²¹ (see `unit`), |a + b|² changes by another 97u. The dot products in floats have an
//! error of 3.02u · 2.0001 each; with dot products of a and of b and their sum, it is 8.1u. This
//! changes |a + b| by 14.1u and its square by 57u: 154u in total.

use super::U;
use super::normalize::{Square, squares};
use crate::ir::{Emit, Function, Op, Value};
use crate::relations::PointShader;
use crate::relations::dot::{Term, interval_distance, terms};
use crate::relations::unit::UnitVector;

/// The squared length of a sum of two unit vectors.
#[derive(Clone, Copy, Debug)]
pub struct SquaredLength {
    a: [Value; 3],
    b: [Value; 3],
    /// C for the lower and the upper endpoint.
    pub(super) constants: [f32; 2],
}

/// A sum of two unit vectors.
struct UnitVectorSum {
    /// The summands.
    units: [UnitVector; 2],
    /// Whether the sum is in the coordinates of the frame.
    in_frame: bool,
}

impl UnitVectorSum {
    /// Finds two unit vectors whose sum has these components, in any order.
    fn new(point: &PointShader<'_>, components: [Value; 3]) -> Option<UnitVectorSum> {
        if let Some(units) = summands(point, components) {
            return Some(UnitVectorSum { units, in_frame: false });
        }
        let frame: Vec<_> = point.units.iter().filter(|unit| unit.is_frame()).collect();
        let along = |component: Value| {
            frame.iter().enumerate().find_map(|(k, axis)| {
                Some((k, add_operands_along(point.function, component, axis.components)?))
            })
        };
        let [(i, first), (j, second), (k, third)] =
            [along(components[0])?, along(components[1])?, along(components[2])?];
        if i == j
            || j == k
            || k == i
            || [second, third].iter().any(|other| (0..3).any(|k| !is_same_pair(other[k], first[k])))
        {
            return None;
        }
        let units = unit_pair_with_sum(point, |a, b| {
            (0..3).all(|k| is_same_pair(first[k], [a.components[k], b.components[k]]))
        })?;
        Some(UnitVectorSum { units, in_frame: true })
    }
}

/// Matches the coordinate along `axis` of a sum of two vectors: one dot product, or the sum of two.
/// Returns the components of the vectors in pairs.
fn add_operands_along(
    function: &Function,
    component: Value,
    axis: [Value; 3],
) -> Option<[[Value; 2]; 3]> {
    let other = |value: Value| other_operand(&terms(function, value)?, axis);
    if let Some([x, y, z]) = other(component) {
        return Some([
            add_operands(function, x)?,
            add_operands(function, y)?,
            add_operands(function, z)?,
        ]);
    }
    let [a, b] = add_operands(function, component)?;
    let (a, b) = (other(a)?, other(b)?);
    Some([0, 1, 2].map(|k| [a[k], b[k]]))
}

/// The operands of a sum.
fn add_operands(function: &Function, sum: Value) -> Option<[Value; 2]> {
    match function.operation(sum)? {
        (Op::Add, &[a, b]) => Some([a, b]),
        _ => None,
    }
}

/// Whether two unordered pairs are equal.
fn is_same_pair([a, b]: [Value; 2], pair: [Value; 2]) -> bool {
    pair == [a, b] || pair == [b, a]
}

/// The other vector of a dot product with `vector`.
pub(super) fn other_operand(terms: &[Term; 3], vector: [Value; 3]) -> Option<[Value; 3]> {
    let other = vector.map(|component| {
        terms.iter().filter(|term| !term.negated).find_map(|term| match term.factors {
            [a, b] if a == component => Some(b),
            [b, a] if a == component => Some(b),
            _ => None,
        })
    });
    let [Some(x), Some(y), Some(z)] = other else { return None };
    Some([x, y, z])
}

/// Finds two unit vectors whose sum has these components, in any order.
pub(super) fn summands(point: &PointShader<'_>, components: [Value; 3]) -> Option<[UnitVector; 2]> {
    let [x, y, z] = components.map(|component| add_operands(point.function, component));
    let sums = [x?, y?, z?];
    unit_pair_with_sum(point, |a, b| {
        (0..3)
            .all(|k| sums.iter().any(|sum| is_same_pair(*sum, [a.components[k], b.components[k]])))
    })
}

/// Finds two vectors that are unit vectors under all conditions and satisfy `is_sum`.
fn unit_pair_with_sum(
    point: &PointShader<'_>,
    is_sum: impl Fn(&UnitVector, &UnitVector) -> bool,
) -> Option<[UnitVector; 2]> {
    let units: Vec<_> =
        point.units.iter().filter(|unit| unit.guard.is_none() && !unit.may_be_short).collect();
    units.iter().enumerate().find_map(|(k, a)| {
        let b = units[k + 1..].iter().find(|b| is_sum(a, b))?;
        Some([**a, **b])
    })
}

impl SquaredLength {
    /// Matches the squared length of a sum of two unit vectors.
    pub(super) fn new(
        point: &PointShader<'_>,
        value: Value,
        scope: &[bool],
    ) -> Option<SquaredLength> {
        let squares: [Square; 3] = squares(point.function, value)?.try_into().ok()?;
        let UnitVectorSum { units: [a, b], in_frame } =
            UnitVectorSum::new(point, squares.map(|square| square.component))?;
        if !a.components.iter().chain(&b.components).all(|component| scope[component.index()]) {
            return None;
        }
        let slack = 2.0 * (a.slack + b.slack) + if in_frame { 200.0 * U } else { 46.0 * U };
        let clamp_slack: f64 = squares.iter().map(|square| f64::from(square.floor)).sum();
        let constants = [
            ((4.0 - slack) as f32).next_down(),
            ((4.0 + slack + 1.01 * clamp_slack) as f32).next_up(),
        ];
        Some(SquaredLength { a: a.components, b: b.components, constants })
    }

    /// The values from which the endpoints are computed.
    pub(in crate::relations) fn sources(&self) -> Vec<Value> {
        self.a.into_iter().chain(self.b).collect()
    }

    /// Computes the endpoints from the distances between the vectors.
    pub(in crate::relations) fn endpoints<E: Emit<Value: PartialEq>>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        let pairs = std::iter::zip(self.a, self.b).map(|(a, b)| [of(a), of(b)]).collect::<Vec<_>>();
        let [min, max] = self.constants.map(|end| emit.f32(end));
        let [far, near] = [true, false].map(|far| {
            let squares: Vec<_> = pairs
                .iter()
                .map(|&[a, b]| {
                    if far {
                        return squared_max_distance(emit, a, b);
                    }
                    let gap = interval_distance(emit, a, b, false);
                    emit.op(Op::Mul, &[gap, gap])
                })
                .collect();
            let sum = emit.op(Op::Add, &[squares[0], squares[1]]);
            emit.op(Op::Add, &[sum, squares[2]])
        });
        [emit.op(Op::Sub, &[min, far]), emit.op(Op::Sub, &[max, near])]
    }
}

/// Squared maximum distance between members of two intervals.
fn squared_max_distance<E: Emit<Value: PartialEq>>(
    emit: &mut E,
    [a_lo, a_hi]: [E::Value; 2],
    [b_lo, b_hi]: [E::Value; 2],
) -> E::Value {
    let squares = [[a_hi, b_lo], [a_lo, b_hi]].map(|endpoints| {
        let difference = emit.op(Op::Sub, &endpoints);
        emit.op(Op::Mul, &[difference, difference])
    });
    emit.op(Op::Max, &squares)
}
