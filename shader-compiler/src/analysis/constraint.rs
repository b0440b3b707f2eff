//! Constraints: facts about a value, beyond those that its operation implies, that narrow its
//! static bounds.
//!
//! Static bounds make two claims about a value (see [`bounds`](crate::interval::bounds)). They
//! contain every *member*, that is, every result of the point shader. They also contain every
//! *endpoint* that the bounding shader computes. Transfer functions establish both. A constraint
//! must keep both, and the two differ. The result s of `step` is 0 or 1, so its bounds are
//! {0} ∪ {1}, and so are the bounds of s · (1 − s). But code that replaces the upper endpoint of
//! s · (1 − s) by ¼ computes an endpoint between 0 and 1. So there are two ways to narrow bounds,
//! and the type distinguishes them:
//!
//! | constraint | members | endpoints of the operation | new bounds |
//! |---|---|---|---|
//! | [`observe`](Constraint::observe) | are in the set | are in it already, or code tests that they are | intersection |
//! | [`replace`](Constraint::replace) | are in the range | are replaced by others, anywhere in the range | hull of the bounds ∩ range |
//!
//! Invariant: `apply` never claims a fact about endpoints that only holds for members.

use crate::interval::Bounds;
use crate::ir::Type;

/// A constraint on a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constraint {
    /// Set that contains members and endpoints, besides the bounds that the operation implies.
    within: Bounds,
    /// Whether code replaces endpoints, so that they may lie between members.
    replaces: bool,
}

impl Constraint {
    /// No constraint on values of a type.
    pub fn none(ty: Type) -> Constraint {
        Constraint { within: Bounds::all(ty), replaces: false }
    }

    /// Whether it is no constraint.
    pub fn is_none(&self) -> bool {
        *self == Constraint::none(self.within.ty())
    }

    /// Members are in a set, and so are the endpoints that the operation's interval lowering
    /// computes.
    pub fn observe(set: Bounds) -> Constraint {
        Constraint { within: set, replaces: false }
    }

    /// Members are in the hull of a set, and code replaces endpoints by others in that hull.
    pub fn replace(set: Bounds) -> Constraint {
        Constraint { within: set.hull(), replaces: true }
    }

    /// Combines two constraints.
    pub fn and(&self, other: &Constraint) -> Constraint {
        let (within, replaces) = (self.within.meet(&other.within), self.replaces || other.replaces);
        Constraint { within: if replaces { within.hull() } else { within }, replaces }
    }

    /// Narrows bounds by the constraint.
    pub fn apply(&self, bounds: &Bounds) -> Bounds {
        let bounds = if self.replaces { bounds.hull() } else { *bounds };
        bounds.meet(&self.within)
    }

    /// Returns whether `lo` and `hi` may replace the endpoints of a float with these bounds where
    /// they are tighter: each satisfies the constraint on its own side, or else the operation's
    /// endpoint does. A NaN never satisfies it.
    ///
    /// The opposite side does not matter: if the box has a member, `lo` is below it and `hi` above.
    pub fn admits(&self, bounds: &Bounds, [lo, hi]: [f32; 2]) -> bool {
        let (Bounds::Float(within), Bounds::Float(known)) = (&self.within, bounds) else {
            return true;
        };
        let keeps_lower = lo >= within.low() || !lo.is_nan() && known.low() >= within.low();
        let keeps_upper = hi <= within.high() || !hi.is_nan() && known.high() <= within.high();
        keeps_lower && keeps_upper
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::{Floats, Pieces};

    fn steps() -> Bounds {
        Bounds::Float(Floats {
            negative_zero: false,
            ..Floats::of(Pieces::one(0.0, 0.0).join(&Pieces::one(1.0, 1.0)))
        })
    }

    #[test]
    fn observing_keeps_gaps_and_replacing_closes_them() {
        let quarter = Bounds::Float(Floats::between(0.0, 0.25));
        let [observed, replaced] =
            [Constraint::observe(quarter), Constraint::replace(quarter)].map(|c| c.apply(&steps()));
        assert!(observed.contains(0.0f32.to_bits()) && !observed.contains(0.25f32.to_bits()));
        for endpoint in [0.0f32, 0.1, 0.25] {
            assert!(replaced.contains(endpoint.to_bits()), "{endpoint} is not in {replaced}");
        }
        assert!(!replaced.contains(1.0f32.to_bits()) && !replaced.contains((-0.0f32).to_bits()));
    }

    #[test]
    fn a_replacement_combined_with_no_constraint_closes_gaps() {
        let any = Constraint::none(Type::F32);
        let unit = Bounds::Float(Floats::between(0.0, 1.0));
        for both in [Constraint::replace(unit).and(&any), any.and(&Constraint::replace(unit))] {
            assert!(both.apply(&steps()).contains(0.5f32.to_bits()));
        }
        assert_eq!(any.apply(&steps()), steps());
    }

    #[test]
    fn an_observation_combined_with_a_replacement_closes_gaps() {
        let (observed, replaced) =
            (Constraint::observe(steps()), Constraint::replace(Bounds::all(Type::F32)));
        for both in [observed.and(&replaced), replaced.and(&observed)] {
            assert!(both.apply(&steps()).contains(0.5f32.to_bits()));
            assert!(!both.apply(&Bounds::all(Type::F32)).contains(1.5f32.to_bits()));
        }
    }

    #[test]
    fn closing_a_gap_around_zero_adds_both_zeros() {
        let signs = Bounds::Float(Floats::of(Pieces::one(-1.0, -1.0).join(&Pieces::one(1.0, 1.0))));
        let closed = Constraint::replace(Bounds::all(Type::F32)).apply(&signs);
        assert!([0.0f32, -0.0, 0.5].iter().all(|x| closed.contains(x.to_bits())), "{closed}");
    }

    #[test]
    fn endpoints_are_checked_only_on_their_own_side() {
        let constraint = Constraint::replace(Bounds::Float(Floats::between(0.0, 1.0)));
        let (wide, positive) =
            (Bounds::Float(Floats::finite()), Bounds::Float(Floats::between(0.0, 5.0)));
        assert!(constraint.admits(&wide, [0.0, 1.0]) && constraint.admits(&wide, [2.0, -1.0]));
        assert!(!constraint.admits(&wide, [-0.5, 1.0]) && !constraint.admits(&wide, [0.0, 1.5]));
        assert!(
            constraint.admits(&positive, [-0.5, 1.0]) && !constraint.admits(&positive, [-0.5, 1.5])
        );
        assert!(!constraint.admits(&positive, [f32::NAN, 1.0]));
    }
}
