//! Image comparison.
//!
//! A is the image under test, B the reference. Images are [`Planes`] of linear samples, one plane
//! per channel, independent of files and colour spaces. [`errors`] are per-sample metrics, summed
//! in `f64`. [`ssim`] and [`flip`] compare neighbourhoods of display-encoded values. [`compare`]
//! computes all metrics of a layer.
//!
//! Pixels with non-finite samples are counted, and excluded from all metrics except
//! [`Metric::Differing`].

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

pub use layer::{Comparison, MetricValue, compare};
pub use map::error_map;
pub use metric::{Better, Metric};
pub use planes::Planes;
pub use validity::{InvalidPixels, InvalidSample, Validity};
