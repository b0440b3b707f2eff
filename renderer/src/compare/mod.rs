//! How far one picture is from another.
//!
//! A is the picture under test, B the reference. Pictures are [`Planes`]: linear samples, a plane
//! for each channel; neither files nor colour spaces are known here. [`errors`] are figures of
//! single samples, added in `f64`; [`ssim`] and [`flip`] look at neighbourhoods of what a display
//! would show. [`compare`] puts them together for the channels of a layer.
//!
//! A sample that is not finite says nothing about the others: the whole pixel is left out of every
//! figure, and counted.

pub mod errors;
pub mod flip;
mod layer;
mod map;
mod metric;
#[cfg(test)]
mod pattern;
mod planes;
pub mod ssim;
mod validity;

pub use layer::{Comparison, Figure, compare};
pub use map::map;
pub use metric::{Better, Metric};
pub use planes::Planes;
pub use validity::{Fault, Faults, Validity};
