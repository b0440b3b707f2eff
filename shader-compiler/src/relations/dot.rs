//! Dot products of two unit vectors: for real numbers, a·b = (|a|² + |b|² − |a − b|²) / 2. So it is at most 1, and below that by half the
//! square of how far the boxes of a and b are apart; and it is at least −1, and above that likewise for a and −b.
//!
//! A sum of three products counts as one of components in any order and with any signs, which are given to b: that does not change |b|.
//!
//! # Rounding
//!
//! Let ||a|² − 1| ≤ α, ||b|² − 1| ≤ β and u = 2⁻²⁴. The dot product in floats, whatever the order of its sums, is off by at most
//! 3.01u Σ|aᵢbᵢ| ≤ 3.01u (1 + (α + β)/2), and what products lose below the least normal number, less than 2⁻¹⁴⁰. So it is at most
//! C₁ − d²/2 with C₁ = 1 + (α + β)/2 + 3.1u, where d is the distance of the boxes. Computed in floats, d² is the sum of three squares of
//! differences: at most d² (1 + 5.01u). Its product with C₂ = ½ (1 − 8u), and the difference from C₁ + 1.1u, are off by u times themselves
//! each, so that C₁ + 1.1u − C₂ d² in floats is never below C₁ − d²/2: what is rounded down is at most u (C₁ + d²/2) + 6.02u d²/2, and
//! 1.1u + 8u d²/2 was added.

use super::unit::UnitVector;
use super::{Alternative, Point, Related, Relation};
use crate::analysis::{Bounds, Floats};
use crate::ir::function::for_each_stmt;
use crate::ir::{Emit, Function, Op, Stmt, Value};

/// The dot product of two unit vectors.
#[derive(Clone, Copy, Debug)]
pub struct Dot {
    terms: [Term; 3],
    /// What it is never above, its negative never below.
    most: f32,
    /// Whether it is looked at how far the vectors are apart.
    by_distance: bool,
}

/// A product with a sign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Term {
    pub factors: [Value; 2],
    pub minus: bool,
}

/// C₂.
const HALF: f32 = 0.5 - 4.0 / (1 << 24) as f32;

/// C₁ + 1.1u for vectors of these slacks, rounded up.
fn most(a: f64, b: f64) -> f32 {
    let u = 1.0 / f64::from(1 << 24);
    ((1.0 + 0.5 * (a + b) + 4.2 * u) as f32).next_up()
}

/// The three products of a sum of three, by additions and subtractions in any order.
pub(crate) fn terms(function: &Function, sum: Value) -> Option<[Term; 3]> {
    let mut found = vec![];
    let mut work = vec![(sum, false)];
    while let Some((value, minus)) = work.pop() {
        match function.operation(value)? {
            (Op::Add, &[a, b]) => work.extend([(b, minus), (a, minus)]),
            (Op::Sub, &[a, b]) => work.extend([(b, !minus), (a, minus)]),
            (Op::Mul, &[a, b]) => found.push(Term { factors: [a, b], minus }),
            _ => return None,
        }
        if work.len() + found.len() > 3 {
            return None;
        }
    }
    found.try_into().ok()
}

/// Finds dot products of which at least one vector is an interval.
pub(super) fn find(point: &Point<'_>, by_distance: bool, related: &mut Related) {
    for_each_stmt(&point.function.body, &mut |stmt| {
        let Stmt::Op(value) = stmt else { return };
        if !point.kinds[value.index()] {
            return;
        }
        let Some(dot) = terms(point.function, *value).and_then(|terms| dot(&point.units, terms, by_distance)) else { return };
        let limit = Bounds::Float(Floats::between(-dot.most, dot.most));
        related.add(point, *value, Alternative::Dot(dot), limit);
    });
}

/// The dot product that terms are, if they are one: the factors of either side are the components of a unit vector.
fn dot(units: &[UnitVector], terms: [Term; 3], by_distance: bool) -> Option<Dot> {
    // Either factor of each product may be the one of the first vector.
    (0..4).find_map(|swapped: usize| {
        let mut terms = terms;
        terms[1..].iter_mut().enumerate().filter(|(k, _)| swapped >> k & 1 == 1).for_each(|(_, term)| term.factors.swap(0, 1));
        let unit = |side: usize| {
            let has = |part: &Value| terms.iter().any(|term| term.factors[side] == *part);
            units.iter().find(|unit| unit.parts.iter().all(has))
        };
        Some(Dot { terms, most: most(unit(0)?.slack, unit(1)?.slack), by_distance })
    })
}

impl Dot {
    pub(super) fn relation(&self) -> Relation {
        if self.by_distance { Relation::Dot } else { Relation::Unit }
    }

    /// The values whose ends it needs.
    pub(super) fn sources(&self) -> Vec<Value> {
        self.terms.iter().flat_map(|term| term.factors).collect()
    }

    /// Ends by the distance of the vectors, or constants.
    pub(super) fn ends<E: Emit<Value: PartialEq>>(&self, emit: &mut E, of: impl Fn(Value) -> [E::Value; 2]) -> [E::Value; 2] {
        let [least, most] = [-self.most, self.most].map(|end| emit.f32(end));
        if !self.by_distance {
            return [least, most];
        }
        let [above, below] = [true, false].map(|negated| self.half_distance2(emit, &of, negated));
        [emit.op(Op::Add, &[above, least]), emit.op(Op::Sub, &[most, below])]
    }

    /// Half of the square of the distance between the boxes of a and of b, or of −b.
    fn half_distance2<E: Emit<Value: PartialEq>>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
        negated: bool,
    ) -> E::Value {
        let squares = self.terms.map(|term| {
            let [a, b] = term.factors.map(&of);
            let gap = gap(emit, a, b, term.minus != negated);
            emit.op(Op::Mul, &[gap, gap])
        });
        let sum = emit.op(Op::Add, &[squares[0], squares[1]]);
        let sum = emit.op(Op::Add, &[sum, squares[2]]);
        let half = emit.f32(HALF);
        emit.op(Op::Mul, &[sum, half])
    }
}

/// How far two intervals are apart, the second one negated if so; where one is a number, with a sign.
fn gap<E: Emit<Value: PartialEq>>(emit: &mut E, a: [E::Value; 2], b: [E::Value; 2], minus: bool) -> E::Value {
    let apart = if minus { Op::Add } else { Op::Sub };
    for ([lo, hi], [number, other]) in [(a, b), (b, a)] {
        if number == other {
            // From the number to what is closest to it.
            let number = if minus { emit.op(Op::Neg, &[number]) } else { number };
            let closest = emit.op(Op::Max, &[number, lo]);
            let closest = emit.op(Op::Min, &[closest, hi]);
            return emit.op(Op::Sub, &[number, closest]);
        }
    }
    let ([a_lo, a_hi], [b_lo, b_hi]) = (a, if minus { [b[1], b[0]] } else { b });
    // −b ends where b begins.
    let after = emit.op(apart, &[a_lo, b_hi]);
    let before = emit.op(apart, &[a_hi, b_lo]);
    let before = emit.op(Op::Neg, &[before]);
    let gap = emit.op(Op::Max, &[after, before]);
    let zero = emit.f32(0.0);
    emit.op(Op::Max, &[gap, zero])
}
