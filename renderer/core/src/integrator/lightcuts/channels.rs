//! Statistics of cuts as extra channels of the film.

use crate::film::{ChannelEncoding, ChannelSpec, ChannelValue};

/// The channels of a `CutSample`, in the order of its values.
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

/// Statistics of the cuts of one sample, and the bound of their error.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CutSample {
    /// Clusters of the cuts.
    pub cut_size: u32,
    /// Clusters that were bounded to find the cuts.
    pub bound_evaluations: u32,
    /// Shadow rays that were traced for the cuts.
    pub shadow_rays: u32,
    /// Upper bound of the error, at least 0, as radiance; NaN counts as infinite.
    pub error_bound: f32,
}

impl CutSample {
    /// The values of [`FILM_CHANNELS`], with the error bound multiplied by `weight`.
    pub fn values(&self, weight: f32) -> [ChannelValue; 4] {
        [
            ChannelValue::Count(self.cut_size),
            ChannelValue::Count(self.bound_evaluations),
            ChannelValue::Count(self.shadow_rays),
            ChannelValue::Real(self.error_bound * weight),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::film::{FilmOptions, column_names};

    #[test]
    fn columns_of_stored_parts_keep_their_names() {
        let options = FilmOptions { channels: FILM_CHANNELS, ..FilmOptions::default() };
        assert_eq!(
            column_names(options)[13..],
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
