//! The order of two floats, from how they are computed and from conditions.
//!
//! Facts about order come from: x ≤ max(x, y) and min(x, y) ≤ x; x ≤ x + a, x − a ≤ x and xb ≤ x
//! for x, a ≥ 0 and 0 ≤ b ≤ 1; |x|, ⌊x⌋ and ⌈x⌉; sums, roots and products of ordered operands;
//! static bounds on both; sorted inputs; a comparison that controls the region. Rounding to nearest is monotone, so
//! they hold for floats: fl(x + a) ≥ fl(x) = x. No value in a derivation can be NaN.
//!
//! Each derivation uses at most one condition. Bounding code clamps the endpoints of compared
//! values, so a condition is used only if no other one in effect may make the clamped intervals
//! empty.

use super::{Ranges, Region};
use crate::analysis::conditions::Inequality;
use crate::ir::{Op, Value};

/// Maximum number of steps of a derivation.
const MAX_STEPS: usize = 6;

impl Ranges<'_> {
    /// Whether x ≤ y is proved in a region.
    pub(super) fn is_float_le(&mut self, x: Value, y: Value, at: Region) -> bool {
        if self.proves_le(x, y, MAX_STEPS) {
            return true;
        }
        let mut orders = vec![];
        let mut region = self.controlling(at);
        while let Some(at) = region {
            let facts = self.facts(at);
            orders.extend_from_slice(&facts.orders);
            region = facts.outer;
        }
        orders.iter().any(|order| {
            orders.iter().all(|other| self.is_compatible(order, other))
                && self.proves_le(x, order.low, MAX_STEPS / 2)
                && self.proves_le(order.high, y, MAX_STEPS / 2)
        })
    }

    /// Whether intervals clamped by one inequality stay nonempty if another one holds as well.
    fn is_compatible(&self, order: &Inequality, other: &Inequality) -> bool {
        let below = |x: Value, y: Value| {
            self.float_hull(x).zip(self.float_hull(y)).is_some_and(|(x, y)| x[1] <= y[0])
        };
        order.low == other.low && order.high == other.high
            || (other.high != order.low || below(other.low, order.high))
                && (other.low != order.high || below(order.low, other.high))
    }

    /// Whether x ≤ y can be proved in at most `steps` steps.
    fn proves_le(&self, x: Value, y: Value, steps: usize) -> bool {
        let (Some([_, max]), Some([min, _])) = (self.float_hull(x), self.float_hull(y)) else {
            return false;
        };
        if x == y || max <= min || self.orders.contains(&[x, y]) {
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
        self.float_hull(value).is_some_and(|[lo, hi]| low <= lo && hi <= high)
    }

    /// Whether a value can be neither NaN nor negative.
    fn is_nonnegative(&self, value: Value) -> bool {
        self.is_within(value, 0.0, f32::INFINITY)
    }
}
