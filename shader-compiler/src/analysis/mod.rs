//! Analyses read the IR and never change it.
//!
//! [`bounds`] is what is known of a value at compile time, [`constraint`] what narrows it,
//! [`transfer`] how that comes through an operation, [`solve`] through a function, [`valid_range`]
//! what the users of a value demand of it, [`reported`] where a test for NaN can stand for others,
//! and [`demand`] which ends are needed at all.

pub mod bounds;
pub mod constraint;
pub mod demand;
pub mod reported;
pub mod solve;
pub mod transfer;
pub mod valid_range;

pub use bounds::{Bools, Bounds, Floats, Ints, Pieces};
pub use constraint::Constraint;

/// Something that is said of the ends of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// Of the lower one.
    pub lo: bool,
    /// Of the upper one.
    pub hi: bool,
}

impl Ends {
    /// It is said of both.
    pub const BOTH: Ends = Ends { lo: true, hi: true };
    /// Of the lower one alone.
    pub const LOWER: Ends = Ends { lo: true, hi: false };
    /// Of the upper one alone.
    pub const UPPER: Ends = Ends { lo: false, hi: true };

    /// What either says.
    pub fn or(self, other: Ends) -> Ends {
        Ends { lo: self.lo || other.lo, hi: self.hi || other.hi }
    }

    /// What both say.
    pub fn and(self, other: Ends) -> Ends {
        Ends { lo: self.lo && other.lo, hi: self.hi && other.hi }
    }

    /// What the one does not say of what the other says.
    pub fn but(self, other: Ends) -> Ends {
        Ends { lo: self.lo && !other.lo, hi: self.hi && !other.hi }
    }

    /// The same of the other ends.
    pub fn swapped(self) -> Ends {
        Ends { lo: self.hi, hi: self.lo }
    }

    /// The same, of the other ends if so.
    pub fn swapped_if(self, swap: bool) -> Ends {
        if swap { self.swapped() } else { self }
    }
}
