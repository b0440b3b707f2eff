//! Analyses read the IR and never change it.
//!
//! [`bounds`] is what is known of a value at compile time, [`transfer`] how that comes through an operation, [`solve`] through a
//! function, [`valid_range`] what the users of a value demand of it, and [`reported`] where a test for NaN can stand for others.

pub mod bounds;
pub mod reported;
pub mod solve;
pub mod transfer;
pub mod valid_range;

pub use bounds::{Bools, Bounds, Floats, Ints, Pieces};
