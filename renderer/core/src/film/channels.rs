//! Extra channels of a film: statistics that an integrator declares and adds per sample.

use super::fixed::{channel_mean, channel_to_fixed, mean};

/// Declaration of an extra channel. Its image holds the mean over all samples of each pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelSpec {
    /// Name of the EXR layer.
    pub layer: &'static str,
    /// Name of the sum in part files, see [`super::column_names`].
    pub sum: &'static str,
    /// How values are summed.
    pub encoding: ChannelEncoding,
}

/// How a film sums the values of an extra channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelEncoding {
    /// A 64-bit integer.
    Count,
    /// An unsigned 128-bit fixed-point number. A saturated sum counts as infinite.
    FixedPoint,
}

/// The value that a sample adds to an extra channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChannelValue {
    /// For [`ChannelEncoding::Count`].
    Count(u32),
    /// For [`ChannelEncoding::FixedPoint`]: non-negative; NaN counts as infinite.
    Real(f32),
}

/// The sums of an extra channel, one per pixel.
#[derive(Debug)]
pub(super) enum ChannelSums {
    Count(Vec<u64>),
    FixedPoint(Vec<u128>),
}

impl ChannelSums {
    /// Creates the sums of `n` pixels, all 0.
    pub fn new(encoding: ChannelEncoding, n: usize) -> ChannelSums {
        match encoding {
            ChannelEncoding::Count => ChannelSums::Count(vec![0; n]),
            ChannelEncoding::FixedPoint => ChannelSums::FixedPoint(vec![0; n]),
        }
    }

    /// Returns the memory of the sums, bytes.
    #[cfg(test)]
    pub fn memory_bytes(&self) -> usize {
        match self {
            ChannelSums::Count(sums) => size_of_val(sums.as_slice()),
            ChannelSums::FixedPoint(sums) => size_of_val(sums.as_slice()),
        }
    }

    /// Adds a value to pixel `i`.
    ///
    /// # Panics
    /// If the value does not match the encoding.
    pub fn add(&mut self, i: usize, value: ChannelValue) {
        match (self, value) {
            (ChannelSums::Count(sums), ChannelValue::Count(n)) => {
                sums[i] = sums[i].saturating_add(n.into());
            }
            (ChannelSums::FixedPoint(sums), ChannelValue::Real(x)) => {
                sums[i] = sums[i].saturating_add(channel_to_fixed(x));
            }
            (_, value) => panic!("{value:?} does not match the channel's encoding"),
        }
    }

    /// Returns the mean over `samples` samples of pixel `i`.
    pub fn mean(&self, i: usize, samples: u32) -> f32 {
        match self {
            ChannelSums::Count(sums) => mean(sums[i].into(), 0, samples),
            ChannelSums::FixedPoint(sums) => channel_mean(sums[i], samples),
        }
    }
}
