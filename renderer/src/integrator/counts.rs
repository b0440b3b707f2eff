//! What integrators did.

use super::CutCounts;
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Closest-hit rays, camera rays included.
    pub rays: u64,
    /// Shadow rays.
    pub shadow_rays: u64,
    /// Shaders.
    pub shading: ShadingCounts,
    /// Cuts through trees of lights.
    #[serde(default, skip_serializing_if = "CutCounts::is_empty")]
    pub cuts: CutCounts,
}

/// Work of compiled shaders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShadingCounts {
    /// Evaluations of functions of shaders.
    pub evaluations: u64,
    /// Lanes of the SIMD groups in which they ran; those beyond the number of evaluations were
    /// idle.
    pub lanes: u64,
    /// Evaluations in which a loop was cut off.
    pub capped: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        // Those of files may be anything.
        self.rays = self.rays.saturating_add(other.rays);
        self.shadow_rays = self.shadow_rays.saturating_add(other.shadow_rays);
        self.shading += other.shading;
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
