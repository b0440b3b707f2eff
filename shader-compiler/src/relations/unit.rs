//! Recognizes triples of values that are unit vectors.
//!
//! - Inputs that are declared as unit vectors ([`Axis`]): ||v|² − 1| ≤ 2⁻²¹.
//! - Coordinates v' = Qv of such an input in the frame, computed by dot products in floats; n, t
//!   and b are the rows of Q. QQᵀ = I + E, where entries of E are at most 2⁻²¹. So the eigenvalues
//!   of QQᵀ and of QᵀQ are within 1 ± 3·2⁻²¹, and ||Qv|² − 1| ≤ 4.01·2⁻²¹. A dot
//!   product of unit vectors in floats has an error of at most 3.01 · 2⁻²⁴ times the sum of the
//!   magnitudes of its terms, which is at most 1 + 2⁻²⁰. So |v'| has an error of √3 · 3.02 · 2⁻²⁴,
//!   and |v'|² has an error of 10.5 · 2⁻²⁴ < 1.4 · 2⁻²¹. In total, ||v'|² − 1| ≤ 6 · 2⁻²¹.

use super::dot::{Term, terms};
use super::{Axis, Guard, UNIT_LENGTH_SLACK};
use crate::ir::function::for_each_stmt;
use crate::ir::{Def, Function, Stmt, Value};

/// Values that are the components of a unit vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct UnitVector {
    pub components: [Value; 3],
    /// Bound on ||v|² − 1|.
    pub slack: f64,
    /// The declaration of the input, if the vector is an input.
    pub axis: Option<Axis>,
    /// Whether it may be shorter than 1, because it was divided by more than its length.
    pub may_be_short: bool,
    /// Condition on the box under which it is a unit vector.
    pub guard: Option<Guard>,
}

impl UnitVector {
    /// A unit vector that is not an input.
    pub(crate) fn new(components: [Value; 3], slack: f64) -> UnitVector {
        UnitVector { components, slack, axis: None, may_be_short: false, guard: None }
    }

    /// Whether it belongs to the frame.
    pub(crate) fn is_frame(&self) -> bool {
        self.axis.is_some_and(|axis| axis.frame)
    }

    /// Whether it is the normal.
    pub(crate) fn is_normal(&self, units: &[UnitVector]) -> bool {
        units.iter().find(|unit| unit.is_frame()).is_some_and(|normal| normal == self)
    }

    /// Whether it is on the same side of the surface as the normal.
    pub(crate) fn is_above(&self) -> bool {
        self.axis.is_some_and(|axis| axis.above)
    }
}

/// Bound on ||v|² − 1| for a vector in the coordinates of the frame.
const FRAME_COORDINATES_SLACK: f64 = 6.0 * UNIT_LENGTH_SLACK;

/// Finds all unit vectors except normalized ones.
pub(crate) fn find(function: &Function, axes: &[Option<Axis>]) -> Vec<UnitVector> {
    let mut units = vec![];
    let vectors = axes.iter().flatten().map(|axis| axis.vector + 1).max().unwrap_or(0);
    let unit = |vector: usize| {
        let component = |component: usize| {
            let matches = |axis: &Axis| axis.vector == vector && axis.component == component;
            let input = axes.iter().position(|axis| axis.as_ref().is_some_and(matches))?;
            let position =
                function.values.iter().position(|data| data.def == Def::Input(input as u32))?;
            Some((Value(position as u32), axes[input]))
        };
        let [(x, axis), (y, _), (z, _)] = [component(0)?, component(1)?, component(2)?];
        Some(UnitVector { axis, ..UnitVector::new([x, y, z], UNIT_LENGTH_SLACK) })
    };
    units.extend((0..vectors).filter_map(unit));
    units.extend(in_frame(function, &units));
    units
}

/// Finds inputs in the coordinates of the frame.
fn in_frame(function: &Function, inputs: &[UnitVector]) -> Vec<UnitVector> {
    let (frame, others): (Vec<&UnitVector>, Vec<&UnitVector>) =
        inputs.iter().partition(|unit| unit.is_frame());
    if frame.len() != 3 {
        return vec![];
    }
    let mut found: Vec<[Option<Value>; 3]> = vec![[None; 3]; others.len()];
    for_each_stmt(&function.body, &mut |stmt| {
        let Stmt::Op(value) = stmt else { return };
        let Some(terms) = terms(function, *value) else { return };
        for (vector, found) in std::iter::zip(&others, &mut found) {
            for (axis, found) in std::iter::zip(&frame, found) {
                if is_dot(&terms, vector.components, axis.components) {
                    *found = Some(*value);
                }
            }
        }
    });
    let unit = |[a, b, c]: [Option<Value>; 3]| {
        Some(UnitVector::new([a?, b?, c?], FRAME_COORDINATES_SLACK))
    };
    found.into_iter().filter_map(unit).collect()
}

/// Whether terms form the dot product of two vectors.
pub(super) fn is_dot(terms: &[Term; 3], a: [Value; 3], b: [Value; 3]) -> bool {
    std::iter::zip(a, b).all(|(a, b)| {
        terms.iter().any(|term| !term.negated && (term.factors == [a, b] || term.factors == [b, a]))
    })
}
