//! Cut statistics as extra channels of the film.

use crate::film::{ChannelEncoding, ChannelSpec, ChannelValue};

/// The channels of `SampleCutStats`, in the order of its values.
pub const FILM_CHANNELS: &[ChannelSpec] = &[
    ChannelSpec { layer: "cut_size", sum: "cutSize", encoding: ChannelEncoding::Count },
    ChannelSpec {
        layer: "bound_evaluations",
        sum: "boundEvaluations",
        encoding: ChannelEncoding::Count,
    },
    ChannelSpec { layer: "shadow_rays", sum: "cutShadowRays", encoding: ChannelEncoding::Count },
    ChannelSpec { layer: "error_bound", sum: "errorBound", encoding: ChannelEncoding::FixedPoint },
];

/// The channels with cuts of several samples, in the order of `SampleCutStats::gather_values`.
pub const GATHER_CHANNELS: &[ChannelSpec] = &[
    ChannelSpec { layer: "gather_points", sum: "gatherPoints", encoding: ChannelEncoding::Count },
    ChannelSpec { layer: "pairs", sum: "pairs", encoding: ChannelEncoding::Count },
    FILM_CHANNELS[1],
    FILM_CHANNELS[2],
    FILM_CHANNELS[3],
];

/// Statistics of the cuts of one sample, and the bound on their error.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SampleCutStats {
    /// Number of gather points in the cut of a group of samples. The first sample of a group has the
    /// statistics of the group.
    pub gather_points: u32,
    /// Number of clusters in the cuts, or of pairs.
    pub cut_size: u32,
    /// Number of evaluated cluster bounds.
    pub bound_evaluations: u32,
    /// Number of shadow rays.
    pub shadow_rays: u32,
    /// Upper bound on the error, a non-negative radiance, times the magnitude of the sample's weight;
    /// NaN counts as infinite.
    pub error_bound: f32,
}

impl SampleCutStats {
    /// Returns the values of [`FILM_CHANNELS`], with the error bound multiplied by `weight`.
    pub fn values(&self, weight: f32) -> [ChannelValue; 4] {
        [
            ChannelValue::Count(self.cut_size),
            ChannelValue::Count(self.bound_evaluations),
            ChannelValue::Count(self.shadow_rays),
            ChannelValue::Real(self.error_bound * weight),
        ]
    }

    /// Returns the values of [`GATHER_CHANNELS`], with the error bound multiplied by `weight`.
    pub fn gather_values(&self, weight: f32) -> [ChannelValue; 5] {
        let [pairs, bound_evaluations, shadow_rays, error_bound] = self.values(weight);
        let gather_points = ChannelValue::Count(self.gather_points);
        [gather_points, pairs, bound_evaluations, shadow_rays, error_bound]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::film::{FilmOptions, column_names};

    #[test]
    fn column_names_match_stored_parts() {
        let options = FilmOptions { channels: FILM_CHANNELS, ..FilmOptions::default() };
        assert_eq!(
            column_names(options, [0; 2])[13..],
            [
                "sums.cutSize0",
                "sums.cutSize1",
                "sums.boundEvaluations0",
                "sums.boundEvaluations1",
                "sums.cutShadowRays0",
                "sums.cutShadowRays1",
                "sums.errorBound0",
                "sums.errorBound1",
                "sums.errorBound2",
                "sums.errorBound3",
            ]
        );
    }
}
