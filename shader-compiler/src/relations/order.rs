//! The order of two values: x ≤ y for all members of a box. It follows from how the values are
//! computed and from the conditions of the arms in which they are used.
//!
//! Facts about order come from: x ≤ max(x, y) and min(x, y) ≤ x; x ≤ x + a, x − a ≤ x and xb ≤ x
//! for x, a ≥ 0 and 0 ≤ b ≤ 1; |x|, ⌊x⌋ and ⌈x⌉; sums, roots and products of ordered operands;
//! static bounds on both; a comparison, inside the arms of its `if`. If x ≤ y:
//!
//! - y − x is not negative, and x − y is not positive;
//! - x/y is at most 1 and y/x at least 1 for 0 ≤ x, unless they are NaN;
//! - the comparison of x and y is decided, max(x, y) is y, and min(x, y) is x.
//!
//! Endpoints need no widening: rounding to nearest is monotone, so fl(x + a) ≥ fl(x) = x, and a
//! quotient of at most 1 is rounded to at most 1. No value in a derivation can be NaN.
//!
//! Each conclusion uses at most one condition. An arm runs if the endpoints of the compared values
//! allow some member to take it. So conclusions from its condition do not make endpoints cross
//! there, as long as other conditions do not refine the same endpoints. For a box without a
//! member that can take the arm, the results of the arm are discarded.

use super::{PointShader, Refinement, RelationInfo};
use crate::analysis::conditions::implied_orders;
use crate::interval::{Bools, Bounds, Floats};
use crate::ir::{Block, Emit, Op, Stmt, Type, Value};

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

/// Maximum number of steps of a derivation.
const MAX_STEPS: usize = 6;

/// A known inequality: the first value is at most the second.
type Inequality = [Value; 2];

/// Finds values that the order of other values decides or refines.
pub(super) fn find(point: &PointShader<'_>, related: &mut RelationInfo) {
    point.visit(&point.function.body, &mut vec![], related);
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
    /// Visits a block, given known inequalities.
    fn visit(&self, block: &Block, facts: &mut Vec<Inequality>, related: &mut RelationInfo) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) if self.is_interval[value.index()] => {
                    self.refine_by_order(*value, facts, related)
                }
                Stmt::Op(_) => {}
                Stmt::If(node) => {
                    for (arm, truth) in [(&node.then, true), (&node.otherwise, false)] {
                        let outer = facts.len();
                        let is_number = |value| self.hull(value).is_some();
                        let implied = implied_orders(self.function, node.cond, truth, &is_number);
                        let of_floats =
                            implied.iter().filter(|order| self.function.ty(order.low) == Type::F32);
                        facts.extend(of_floats.map(|order| [order.low, order.high]));
                        self.visit(arm, facts, related);
                        facts.truncate(outer);
                    }
                }
                Stmt::Loop(node) => {
                    self.visit(&node.head, facts, related);
                    self.visit(&node.body, facts, related);
                }
            }
        }
    }

    /// Adds the refinement that order implies for a value, if any.
    fn refine_by_order(&self, value: Value, facts: &[Inequality], related: &mut RelationInfo) {
        const INFINITY: f32 = f32::INFINITY;
        let Some((op, &[a, b])) = self.function.operation(value) else { return };
        if self.function.ty(a) != Type::F32 {
            return;
        }
        let is_le = |x, y| self.is_le(x, y, facts);
        let order = match op {
            Op::Sub if is_le(b, a) => Order::Between([0.0, INFINITY]),
            Op::Sub if is_le(a, b) => Order::Between([-INFINITY, 0.0]),
            Op::Div if self.is_nonnegative(a) && is_le(a, b) => Order::Between([-INFINITY, 1.0]),
            Op::Div if self.hull(b).is_some_and(|[min, _]| min > 0.0) && is_le(b, a) => {
                Order::Between([1.0, INFINITY])
            }
            Op::Le if is_le(a, b) => Order::Decided(true),
            Op::Lt if is_le(b, a) => Order::Decided(false),
            Op::Max if is_le(a, b) => Order::EqualTo(b),
            Op::Max if is_le(b, a) => Order::EqualTo(a),
            Op::Min if is_le(a, b) => Order::EqualTo(a),
            Op::Min if is_le(b, a) => Order::EqualTo(b),
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

    /// Whether x ≤ y can be proved with at most one of the known inequalities.
    fn is_le(&self, x: Value, y: Value, facts: &[Inequality]) -> bool {
        // Whether the intervals clamped by one inequality stay nonempty if another one holds as
        // well.
        let is_compatible = |[a, b]: Inequality, [low, high]: Inequality| {
            let below = |x: Value, y: Value| {
                self.hull(x).zip(self.hull(y)).is_some_and(|(x, y)| x[1] <= y[0])
            };
            [a, b] == [low, high] || (high != a || below(low, b)) && (low != b || below(a, high))
        };
        let by_fact = |&[a, b]: &Inequality| {
            let is_unaffected = facts.iter().all(|&other| is_compatible([a, b], other));
            is_unaffected
                && self.proves_le(x, a, MAX_STEPS / 2)
                && self.proves_le(b, y, MAX_STEPS / 2)
        };
        self.proves_le(x, y, MAX_STEPS) || facts.iter().any(by_fact)
    }

    /// Whether x ≤ y can be proved in at most `steps` steps.
    fn proves_le(&self, x: Value, y: Value, steps: usize) -> bool {
        let (Some([_, max]), Some([min, _])) = (self.hull(x), self.hull(y)) else {
            return false;
        };
        if x == y || max <= min {
            return true;
        }
        steps > 0
            && (self.proves_le_by_lhs(x, y, steps - 1)
                || self.proves_le_by_rhs(x, y, steps - 1)
                || self.proves_le_isomorphic(x, y, steps - 1))
    }

    /// Proves x ≤ y from bounds on the operands of x.
    fn proves_le_by_lhs(&self, x: Value, y: Value, steps: usize) -> bool {
        let Some((op, args)) = self.function.operation(x) else { return false };
        let any = |holds: &dyn Fn(Value, Value) -> bool| {
            holds(args[0], args[1]) || holds(args[1], args[0])
        };
        let is = |a: Value| self.proves_le(a, y, steps);
        match op {
            Op::Min => any(&|a, _| is(a)),
            Op::Max => is(args[0]) && is(args[1]),
            Op::Add => any(&|a, b| self.is_within(b, f32::NEG_INFINITY, 0.0) && is(a)),
            Op::Sub => self.is_nonnegative(args[1]) && is(args[0]),
            Op::Mul => any(&|a, b| self.is_nonnegative(a) && self.is_within(b, 0.0, 1.0) && is(a)),
            Op::Div => {
                self.is_nonnegative(args[0])
                    && self.is_within(args[1], 1.0, f32::INFINITY)
                    && is(args[0])
            }
            Op::Floor => is(args[0]),
            _ => false,
        }
    }

    /// Proves x ≤ y from bounds on the operands of y.
    fn proves_le_by_rhs(&self, x: Value, y: Value, steps: usize) -> bool {
        let Some((op, args)) = self.function.operation(y) else { return false };
        let any = |holds: &dyn Fn(Value, Value) -> bool| {
            holds(args[0], args[1]) || holds(args[1], args[0])
        };
        let is = |a: Value| self.proves_le(x, a, steps);
        match op {
            Op::Max => any(&|a, _| is(a)),
            Op::Min => is(args[0]) && is(args[1]),
            Op::Add => any(&|a, b| self.is_nonnegative(b) && is(a)),
            Op::Sub => self.is_within(args[1], f32::NEG_INFINITY, 0.0) && is(args[0]),
            Op::Mul => any(&|a, b| {
                self.is_nonnegative(a) && self.is_within(b, 1.0, f32::INFINITY) && is(a)
            }),
            Op::Div => {
                self.is_nonnegative(args[0])
                    && self.is_within(args[1], f32::MIN_POSITIVE, 1.0)
                    && is(args[0])
            }
            Op::Ceil | Op::Abs => is(args[0]),
            _ => false,
        }
    }

    /// Proves x ≤ y for results of the same operation, from the order of their operands.
    fn proves_le_isomorphic(&self, x: Value, y: Value, steps: usize) -> bool {
        let (Some((op, a)), Some((other, b))) =
            (self.function.operation(x), self.function.operation(y))
        else {
            return false;
        };
        if op != other {
            return false;
        }
        let is = |x: Value, y: Value| self.proves_le(x, y, steps);
        match op {
            Op::Add => is(a[0], b[0]) && is(a[1], b[1]) || is(a[0], b[1]) && is(a[1], b[0]),
            Op::Sub => is(a[0], b[0]) && is(b[1], a[1]),
            Op::Neg => is(b[0], a[0]),
            Op::Sqrt => is(a[0], b[0]),
            Op::Mul => {
                let positive = a.iter().chain(b).all(|&factor| self.is_nonnegative(factor));
                positive && (is(a[0], b[0]) && is(a[1], b[1]) || is(a[0], b[1]) && is(a[1], b[0]))
            }
            _ => false,
        }
    }

    /// Whether a value cannot be NaN and lies between two constants.
    fn is_within(&self, value: Value, low: f32, high: f32) -> bool {
        self.hull(value).is_some_and(|[lo, hi]| low <= lo && hi <= high)
    }
}
