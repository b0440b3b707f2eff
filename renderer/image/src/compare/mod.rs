//! Image comparison.
//!
//! A is the image under test, B the reference. Images are [`Planes`] of linear samples, one plane
//! per channel, independent of files and colour spaces. [`errors`] are per-sample metrics, summed
//! in `f64`. [`ssim`] and [`flip`] compare neighbourhoods of displayed values. [`compare`] computes
//! all metrics for the channels of a layer.
//!
//! If a sample is not finite, its pixel is excluded from every metric, and counted.

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
