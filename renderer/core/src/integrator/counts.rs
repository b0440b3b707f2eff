//! Counters of an integrator's work.

use super::CutCounts;
use crate::medium::TrackingCounts;
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// Counters of an integrator's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Closest-hit rays, camera rays included.
    pub rays: u64,
    /// Shadow rays.
    pub shadow_rays: u64,
    /// Shader evaluations.
    pub shading: ShadingCounts,
    /// Collisions in participating media.
    #[serde(default)]
    pub media: TrackingCounts,
    /// Statistics of cuts through light trees.
    #[serde(default, skip_serializing_if = "CutCounts::is_empty")]
    pub cuts: CutCounts,
}

/// Counters of compiled shaders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShadingCounts {
    /// Evaluations of shader functions.
    pub evaluations: u64,
    /// SIMD lanes of all groups that were executed. Lanes in excess of `evaluations` were idle.
    pub lanes: u64,
    /// Evaluations in which a loop hit its iteration limit.
    pub capped: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        // Counts read from files may be arbitrarily large.
        self.rays = self.rays.saturating_add(other.rays);
        self.shadow_rays = self.shadow_rays.saturating_add(other.shadow_rays);
        self.shading += other.shading;
        self.media += other.media;
        self.cuts += other.cuts;
    }
}

impl AddAssign for ShadingCounts {
    fn add_assign(&mut self, other: ShadingCounts) {
        self.evaluations = self.evaluations.saturating_add(other.evaluations);
        self.lanes = self.lanes.saturating_add(other.lanes);
        self.capped = self.capped.saturating_add(other.capped);
    }
}
