//! The order of two values: x ≤ y for all members of a box. It follows from how the values are
//! computed, from [sorted](super::sorted) inputs, and from the conditions of the arms in which they
//! are used.
//!
//! [`Ranges::compare`] proves the order. If x ≤ y:
//!
//! - y − x is not negative, and x − y is not positive;
//! - x/y is at most 1 and y/x at least 1 for 0 ≤ x, unless they are NaN;
//! - the comparison of x and y is decided, max(x, y) is y, and min(x, y) is x.
//!
//! Endpoints need no widening: a quotient of at most 1 is rounded to at most 1.
//!
//! Each conclusion uses at most one condition. An arm runs if the endpoints of the compared values
//! allow some member to take it. So conclusions from its condition do not make endpoints cross
//! there, as long as other conditions do not refine the same endpoints. For a box without a
//! member that can take the arm, the results of the arm are discarded.

use super::{PointShader, Refinement, RelationInfo};
use crate::analysis::symbolic::Ranges;
use crate::interval::{Bools, Bounds, Floats};
use crate::ir::{Emit, Op, Type, Value};

/// What the order of two operands implies for the result of an operation on them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// The value lies between two constants.
    Between([f32; 2]),
    /// The value is a known boolean.
    Decided(bool),
    /// The value equals another value.
    EqualTo(Value),
}

/// Finds values that the order of other values decides or refines.
pub(super) fn find(point: &PointShader<'_>, related: &mut RelationInfo) {
    let mut ranges = Ranges::with_orders(point.function, &point.bounds, &point.orders);
    point.for_each_operation(|value, _| point.refine_by_order(value, &mut ranges, related));
}

impl Order {
    /// The values from which the endpoints are computed.
    pub(super) fn sources(&self) -> Vec<Value> {
        match *self {
            Order::EqualTo(value) => vec![value],
            Order::Between(_) | Order::Decided(_) => vec![],
        }
    }

    /// The implied endpoints.
    pub(super) fn endpoints<E: Emit>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        match *self {
            Order::Between(endpoints) => endpoints.map(|end| emit.f32(end)),
            Order::Decided(truth) => [emit.bool(truth); 2],
            Order::EqualTo(value) => of(value),
        }
    }
}

impl PointShader<'_> {
    /// Adds the refinement that order implies for a value, if any.
    fn refine_by_order(&self, value: Value, ranges: &mut Ranges<'_>, related: &mut RelationInfo) {
        const INFINITY: f32 = f32::INFINITY;
        let Some((op, &[a, b])) = self.function.operation(value) else { return };
        if self.function.ty(a) != Type::F32 {
            return;
        }
        if !matches!(op, Op::Sub | Op::Div | Op::Le | Op::Lt | Op::Max | Op::Min) {
            return;
        }
        let known = ranges.compare(a, b, ranges.region_of(value));
        let order = match op {
            Op::Sub if known.is_ge => Order::Between([0.0, INFINITY]),
            Op::Sub if known.is_le => Order::Between([-INFINITY, 0.0]),
            Op::Div if self.is_nonnegative(a) && known.is_le => Order::Between([-INFINITY, 1.0]),
            Op::Div if self.hull(b).is_some_and(|[min, _]| min > 0.0) && known.is_ge => {
                Order::Between([1.0, INFINITY])
            }
            Op::Le if known.is_le => Order::Decided(true),
            Op::Lt if known.is_ge => Order::Decided(false),
            Op::Max if known.is_le => Order::EqualTo(b),
            Op::Max if known.is_ge => Order::EqualTo(a),
            Op::Min if known.is_le => Order::EqualTo(a),
            Op::Min if known.is_ge => Order::EqualTo(b),
            _ => return,
        };
        let known = &self.bounds[value.index()];
        let implied = match order {
            Order::Between([lo, hi]) => Bounds::Float(Floats::between(lo, hi)),
            Order::Decided(truth) => {
                Bounds::Bool(Bools { may_be_false: !truth, may_be_true: truth })
            }
            Order::EqualTo(other) => {
                Bounds::Float(Floats::of(self.bounds[other.index()].floats().pieces))
            }
        };
        if known.meet(&implied) != *known {
            related.add(self, value, Refinement::Order(order), implied);
        }
    }
}
