//! Statistics of tracking in media as extra channels of the film.

use crate::film::{ChannelEncoding, ChannelSpec, ChannelValue};
use crate::medium::WalkCounts;

/// The channels of [`MediaSampleCounts`], in the order of its values.
pub(super) const FILM_CHANNELS: &[ChannelSpec] = &[
    ChannelSpec { layer: "collisions", sum: "collisions", encoding: ChannelEncoding::Count },
    ChannelSpec {
        layer: "null_collisions",
        sum: "nullCollisions",
        encoding: ChannelEncoding::Count,
    },
    ChannelSpec { layer: "medium_cells", sum: "mediumCells", encoding: ChannelEncoding::Count },
];

/// Counts of the paths of one sample.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MediaSampleCounts {
    /// Collisions, of the whole path.
    collisions: u32,
    /// Null collisions, of the whole path.
    null_collisions: u32,
    /// Cells of majorant trees that the first ray crosses up to its first collision.
    cells: u32,
}

impl MediaSampleCounts {
    /// Adds a ray after `depth` scattering events.
    pub fn add(&mut self, depth: u32, collides: bool, counts: WalkCounts) {
        self.collisions += u32::from(collides);
        self.null_collisions += counts.null_collisions;
        if depth == 0 {
            self.cells += counts.cells;
        }
    }

    /// Returns the values of [`FILM_CHANNELS`].
    pub fn values(&self) -> [ChannelValue; 3] {
        [self.collisions, self.null_collisions, self.cells].map(ChannelValue::Count)
    }
}
