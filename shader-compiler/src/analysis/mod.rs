//! Analyses read the IR and never change it.
//!
//! [`solve`] computes the [`Bounds`] of every value of a function, from the results of single
//! operations ([`transfer`]), from [`conditions`], and from further facts ([`constraint`]).
//! `symbolic` computes ranges on demand, with bounds that are other values.
//! [`nan_tests`] finds NaN tests that can replace others, and [`demand`] the demanded endpoints.

pub mod conditions;
pub mod constraint;
pub mod demand;
pub(crate) mod differences;
pub mod nan_tests;
pub mod solve;
pub(crate) mod symbolic;
pub mod transfer;

pub use crate::interval::{Bools, Bounds, Floats, Ints, Pieces};
pub use constraint::Constraint;

/// A set of endpoints of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Endpoints {
    /// Whether it contains the lower endpoint.
    pub lo: bool,
    /// Whether it contains the upper endpoint.
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
    pub fn union(self, other: Endpoints) -> Endpoints {
        Endpoints { lo: self.lo || other.lo, hi: self.hi || other.hi }
    }

    /// The intersection.
    pub fn intersection(self, other: Endpoints) -> Endpoints {
        Endpoints { lo: self.lo && other.lo, hi: self.hi && other.hi }
    }

    /// The difference.
    pub fn difference(self, other: Endpoints) -> Endpoints {
        Endpoints { lo: self.lo && !other.lo, hi: self.hi && !other.hi }
    }

    /// Swaps the lower and the upper endpoint.
    pub fn swapped(self) -> Endpoints {
        Endpoints { lo: self.hi, hi: self.lo }
    }

    /// Swaps the lower and the upper endpoint if `swap`.
    pub fn swapped_if(self, swap: bool) -> Endpoints {
        if swap { self.swapped() } else { self }
    }
}
