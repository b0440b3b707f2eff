//! Analyses read the IR and never change it.
//!
//! [`bounds`] is what is known of a value at compile time, [`transfer`] how that comes through an operation, [`solve`] through a
//! function, [`valid_range`] what the users of a value demand of it, [`reported`] where a test for NaN can stand for others, and
//! [`demand`] which ends are needed at all.

pub mod bounds;
pub mod demand;
pub mod reported;
pub mod solve;
pub mod transfer;
pub mod valid_range;

pub use bounds::{Bools, Bounds, Floats, Ints, Pieces};
