//! Values that increase, or decrease, in a value that is used several times, as z / √(z² + y²) does
//! in z.
//!
//! Interval lowerings treat each use independently: for the upper endpoint, they take z̄ in the
//! numerator and z̲ in the denominator. Suppose [`Growth`](super::growth::Growth) proves that a
//! value v, as a function of some uses of t, is increasing for real numbers, for any other
//! operands. Then v is at most its value with t̄ in all of these uses. So the operations from t to
//! v are lowered a second time, with these uses of t *pinned* to a singleton and all other operands
//! as intervals; operations that do not change are shared. In the following, v is increasing, and
//! we compute the upper endpoint. The other cases are symmetric.
//!
//! # Proof
//!
//! Let F be the function of floats, G the function of real numbers with the same operations, and u
//! all operands that are not pinned. [`RoundingError`] bounds the distance between F(t, u) and G(t,
//! u), and between F(t̄, u) and G(t̄, u) ≥ G(t, u). F(t̄, u) is within the endpoints of the second
//! lowering. About t̄ and u, we only know that each is within its own bounds. So the bounds on the
//! operations between t and v are those of [`transfer`](crate::analysis::transfer::transfer):
//! constraints of other relations need not hold at (t̄, u). There are two methods to compensate for
//! rounding errors.
//!
//! - *Widening.* All of the uses are pinned to t̄, and the endpoint is widened. It is intersected
//!   with the endpoint of v's own lowering.
//! - *Moving.* If v ≥ 0 and t ≥ 0, only the uses in which v may decrease are pinned; they are the
//!   second argument of v = F(t, t, u). There, the interval of t is reduced to [t', t̄], where t'
//!   is some ulps below t̄, or t̲ if that is greater. So F(t, t, u) is within the lowering's
//!   endpoints for members with t ≥ t'. For the others, G(t, t, u) ≤ G(t', t', u) ≤
//!   (t'/t̄)ᵉ G(t̄, t', u), where e is the minimum elasticity of G in its first argument, which
//!   must be positive: t' is chosen such that this factor compensates for the relative errors. The
//!   absolute errors, which come from subnormal results, are added as a shift. As [t', t̄] is
//!   within t's endpoints, the new endpoint without the shift is within the endpoint of v's own
//!   lowering. It replaces that endpoint at no cost if v is an output or the shift is 0. Otherwise,
//!   operations after v might amplify the shift, and the two endpoints are intersected. All of this
//!   requires that the operations between t and v have the endpoints of their lowering, so they may
//!   have no refinements.
//!
//! Special cases:
//!
//! - *Monotone pieces.* If t can have both signs, v is analyzed for t ≤ 0 and for t ≥ 0 separately.
//!   v is continuous, since all operations are continuous where they are defined. If v is 0 for
//!   t ≤ 0, only t ≥ 0 needs analysis: the endpoint of v's lowering is not below 0.
//! - *Constraints.* They do hold at (t, u). From t to t̄, a constraint remains valid if the value
//!   moves away from it: a decreasing value stays below its upper constraint.
//! - *Guards.* If v is increasing only for t ≥ c, where some operation is max(t, c), the endpoint
//!   holds for boxes with t̲ ≥ c.
//! - *Clamped operands.* With a factor of unknown sign, it is unknown whether v is increasing. If
//!   v, in floats, is non-decreasing in the factor, replacing the factor by its maximum with 0 does
//!   not decrease v, and makes the sign known. That suffices for upper endpoints with widening.
//!   With moving, the proof above covers members with a nonnegative factor. For a negative factor,
//!   v must be increasing in floats in the uses in which it decreases for a nonnegative one:
//!   F(t, t, u) ≤ F(t, t', u) for t < t'.

mod endpoints;
mod pinned;
mod search;

use super::rounding::RoundingError;
use crate::interval::{Bounds, Floats};
use crate::ir::{Op, Value};
use crate::range::Range;
pub(super) use search::find;

/// A value as a monotone function of a value that it uses several times.
#[derive(Clone, Debug)]
pub struct Monotone {
    /// The value that is used several times.
    source: Value,
    /// The operations that depend on the pinned uses of the source, up to the value.
    steps: Vec<Step>,
    /// Operands that are clamped to nonnegative values.
    clamped: Vec<Value>,
    /// Sign of the value.
    sign: Sign,
    /// How the lower and the upper endpoint are computed.
    endpoints: [Option<PinnedEndpoint>; 2],
    /// Whether moved endpoints replace the endpoints of the interval lowering. This requires that
    /// no operation on the path can be NaN, which the lowering would have to report, and that no
    /// operation after a shift can amplify it.
    replaces: bool,
}

/// One operation of the second lowering.
#[derive(Clone, Debug)]
struct Step {
    value: Value,
    op: Op,
    args: Vec<Arg>,
    bounds: Bounds,
}

/// An operand of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Arg {
    /// The source, pinned.
    Pinned(Floats),
    /// The result of a step.
    Step(usize),
    /// Another value.
    Other { value: Value, bounds: Bounds, singleton: bool },
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Sign {
    Plus,
    Minus,
    Any,
}

impl Sign {
    fn of(bounds: &Bounds) -> Sign {
        match bounds {
            Bounds::Float(floats) if floats.low() >= 0.0 => Sign::Plus,
            Bounds::Float(floats) if floats.high() <= 0.0 => Sign::Minus,
            _ => Sign::Any,
        }
    }
}

/// How an endpoint is computed from a pinned source.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PinnedEndpoint {
    /// Index of the source's endpoint to which uses are pinned.
    source_side: usize,
    method: Method,
}

/// How an endpoint accounts for rounding errors.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Method {
    /// The endpoint is widened by the error. The source must not be below the guard.
    Widening { error: RoundingError, guard: Option<f32> },
    /// Pinned uses are an interval of some ulps at an endpoint of the source, and the result is
    /// shifted.
    Moving { ulps: i32, shift: f32 },
}

/// Direction in which a value moves as the source increases.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Direction {
    Constant,
    Increasing,
    Decreasing,
}

impl Direction {
    /// The direction for a slope, with the source in a range of one sign.
    fn of(slope: Range<f64>, source: Range<f64>) -> Option<Direction> {
        match (slope.is_nonnegative(), slope.is_nonpositive()) {
            (true, true) => Some(Direction::Constant),
            (true, _) => Some(if source.is_nonnegative() {
                Direction::Increasing
            } else {
                Direction::Decreasing
            }),
            (_, true) => Some(if source.is_nonnegative() {
                Direction::Decreasing
            } else {
                Direction::Increasing
            }),
            _ => None,
        }
    }

    /// Direction of the negated value.
    fn reversed(self) -> Direction {
        match self {
            Direction::Constant => Direction::Constant,
            Direction::Increasing => Direction::Decreasing,
            Direction::Decreasing => Direction::Increasing,
        }
    }

    /// Direction of the product with a constant of the given sign.
    fn times(self, sign: Sign) -> Option<Direction> {
        match sign {
            Sign::Plus => Some(self),
            Sign::Minus => Some(self.reversed()),
            Sign::Any => (self == Direction::Constant).then_some(self),
        }
    }

    /// Direction on two pieces together, or of the sum of two values; `None` if unknown.
    fn and(self, other: Direction) -> Option<Direction> {
        match (self, other) {
            (Direction::Constant, direction) | (direction, Direction::Constant) => Some(direction),
            (a, b) => (a == b).then_some(a),
        }
    }
}

/// Whether a value is finite: neither NaN nor infinite.
fn is_finite(bounds: &Bounds) -> bool {
    match bounds {
        Bounds::Float(floats) => {
            !floats.nan && floats.low().is_finite() && floats.high().is_finite()
        }
        _ => true,
    }
}

/// The range of a float that is not NaN.
fn range(floats: &Floats) -> Range<f64> {
    Range::new(f64::from(floats.low()), f64::from(floats.high()))
}

impl Monotone {
    /// The values from which the endpoints are computed.
    pub(super) fn sources(&self) -> Vec<Value> {
        let other =
            |arg: &Arg| if let Arg::Other { value, .. } = arg { Some(*value) } else { None };
        self.steps
            .iter()
            .flat_map(|step| &step.args)
            .filter_map(other)
            .chain([self.source])
            .collect()
    }

    /// Whether an endpoint replaces the one of the interval lowering. Except below 1e-30, it is
    /// never wider.
    pub(super) fn replaces_lowering(&self, side: usize) -> bool {
        self.replaces
            && matches!(
                self.endpoints[side],
                Some(PinnedEndpoint { method: Method::Moving { .. }, .. })
            )
    }
}

/// Whether both operands of an operation are one value.
fn is_same(args: &[Arg]) -> bool {
    matches!(args, [a, b] if a == b)
}

#[cfg(test)]
mod tests;
