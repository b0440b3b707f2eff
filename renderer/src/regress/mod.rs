//! Regression tests: scenes whose pictures are held against references, listed in a suite.

pub mod measurement;
pub mod outcome;
pub mod run;
pub mod statistics;
pub mod suite;
