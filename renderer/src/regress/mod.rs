//! Regression tests: scenes whose pictures are held against references, listed in a suite.

pub mod outcome;
pub mod report;
