//! Image regression tests: renders the scenes of a [`suite`] and compares them with references.
//!
//! A case is rendered ([`run`]) and compared either bit by bit or by statistical tests
//! ([`statistics`]), since renderings with different random numbers are never equal. A reference is
//! a `measurement`, an image with its variance; [`update`] renders it. [`schedule`] runs cases in
//! parallel and stores finished cases in a [`state`], so that an interrupted run can be resumed.
//! Each case has an [`outcome`], and a [`report`] shows all outcomes.
//!
//! ```
//! use lightbound_regress::statistics::{Estimate, test};
//! use lightbound_regress::suite::Tolerance;
//!
//! // Two by two pixels, each with a standard error of 0.01.
//! let reference = Estimate { mean: &[[0.5; 3]; 4], variance: &[[1e-4; 3]; 4], samples: 64 };
//! let noisy = Estimate { mean: &[[0.51; 3]; 4], ..reference };
//! let brighter = Estimate { mean: &[[0.6; 3]; 4], ..reference };
//! let tolerance = Tolerance { significance: 0.001, accepted: 0.9975 };
//! assert_eq!(test(2, noisy, reference, &tolerance).failed_blocks, 0);
//! assert!(test(2, brighter, reference, &tolerance).failed_blocks > 0);
//! ```

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod key;
mod measurement;
pub mod outcome;
pub mod report;
pub mod run;
pub mod schedule;
pub mod state;
pub mod statistics;
pub mod suite;
pub mod update;

#[cfg(test)]
mod fault_tests;
