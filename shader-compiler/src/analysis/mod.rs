//! Analyses read the IR and never change it.
//!
//! [`solve`] computes the [`Bounds`] of every value of a function, from
//! the results of single operations ([`transfer`]) and from further facts ([`constraint`]).
//! [`reported`] finds NaN tests that can replace others, and [`demand`] the demanded endpoints.

pub mod constraint;
pub mod demand;
pub mod reported;
pub mod solve;
pub mod transfer;

pub use crate::interval::{Bools, Bounds, Floats, Ints, Pieces};
pub use constraint::Constraint;

/// A property of the endpoints of a value: a set of sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Endpoints {
    /// Whether the lower endpoint has it.
    pub lo: bool,
    /// Whether the upper endpoint has it.
    pub hi: bool,
}

impl Endpoints {
    /// Both endpoints.
    pub const BOTH: Endpoints = Endpoints { lo: true, hi: true };
    /// Only the lower endpoint.
    pub const LOWER: Endpoints = Endpoints { lo: true, hi: false };
    /// Only the upper endpoint.
    pub const UPPER: Endpoints = Endpoints { lo: false, hi: true };

    /// The union.
    pub fn or(self, other: Endpoints) -> Endpoints {
        Endpoints { lo: self.lo || other.lo, hi: self.hi || other.hi }
    }

    /// The intersection.
    pub fn and(self, other: Endpoints) -> Endpoints {
        Endpoints { lo: self.lo && other.lo, hi: self.hi && other.hi }
    }

    /// The difference.
    pub fn but(self, other: Endpoints) -> Endpoints {
        Endpoints { lo: self.lo && !other.lo, hi: self.hi && !other.hi }
    }

    /// The same with sides swapped.
    pub fn swapped(self) -> Endpoints {
        Endpoints { lo: self.hi, hi: self.lo }
    }

    /// The same, with sides swapped if `swap`.
    pub fn swapped_if(self, swap: bool) -> Endpoints {
        if swap { self.swapped() } else { self }
    }
}
