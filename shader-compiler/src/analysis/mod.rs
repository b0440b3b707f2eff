//! Analyses read the IR and never change it.
//!
//! [`bounds`] is what is known of a value at compile time.

pub mod bounds;
pub mod solve;

pub use bounds::{Bools, Bounds, Floats, Ints, Pieces};
