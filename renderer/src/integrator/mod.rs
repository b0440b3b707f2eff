//! Integrators: how light gets from the scene into the film.

mod path;

pub use path::PathTracer;

use crate::film::Tile;
use crate::scene::Scene;
use std::ops::{AddAssign, Range};

/// Rays that were traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RayCounts {
    /// Closest-hit rays, camera rays included.
    pub rays: u64,
    /// Shadow rays.
    pub shadow_rays: u64,
}

impl AddAssign for RayCounts {
    fn add_assign(&mut self, other: RayCounts) {
        self.rays += other.rays;
        self.shadow_rays += other.shadow_rays;
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
    fn render_tile(&mut self, samples: Range<u32>, tile: &Tile) -> RayCounts;
}
