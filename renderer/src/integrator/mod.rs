//! Integrators: how light gets from the scene into the film.

mod eye;
mod fault;
mod path;
mod shading;

#[cfg(test)]
pub use fault::Fault;
#[cfg(test)]
pub use path::FaultyPathTracer;
pub use path::PathTracer;

use crate::film::Tile;
use crate::scene::Scene;
use serde::{Deserialize, Serialize};
use std::ops::{AddAssign, Range};

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Closest-hit rays, camera rays included.
    pub rays: u64,
    /// Shadow rays.
    pub shadow_rays: u64,
    /// Shaders.
    pub shading: ShadingCounts,
}

/// Work of compiled shaders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShadingCounts {
    /// Evaluations of functions of shaders.
    pub evaluations: u64,
    /// Lanes of the SIMD groups in which they ran; those beyond the number of evaluations were idle.
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
    }
}

impl AddAssign for ShadingCounts {
    fn add_assign(&mut self, other: ShadingCounts) {
        self.evaluations = self.evaluations.saturating_add(other.evaluations);
        self.lanes = self.lanes.saturating_add(other.lanes);
        self.capped = self.capped.saturating_add(other.capped);
    }
}

/// A way to compute pictures.
pub trait Integrator: Sync {
    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// What a thread works with; it keeps its buffers from tile to tile.
    fn worker<'a>(&'a self, scene: &'a Scene) -> Box<dyn Worker + 'a>;
}

/// An integrator at work on one thread.
pub trait Worker {
    /// Adds samples number `samples` of every pixel of the tile. What is added for a pixel's sample depends on nothing but the
    /// scene, the pixel and the sample's number.
    fn render_tile(&mut self, samples: Range<u32>, tile: &Tile) -> Counts;
}
