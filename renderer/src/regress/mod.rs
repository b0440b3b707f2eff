//! Regression tests: scenes whose pictures are held against references, listed in a [`suite`].
//!
//! A case is rendered ([`run`]) and judged by [`statistics`], since two renderings with different
//! random numbers are never equal, or by its bits. A reference is a [`measurement`], a picture that
//! knows its variance; [`update`] makes one. [`schedule`] runs cases side by side, and keeps in a
//! [`state`] what an interrupted run need not do again. What became of a case is an [`outcome`],
//! and [`report`] shows all of them.

pub mod key;
pub mod measurement;
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
