//! Integrators: how light gets from the scene into the film.

mod counts;
mod cut_counts;
mod directions;
mod eye;
mod fault;
mod light_sampling;
pub mod lightcuts;
pub mod material_bound;
mod path;
mod samples;
mod shading;
mod sky_sampling;

pub use counts::{Counts, ShadingCounts};
pub use cut_counts::{CutCounts, CutSizes, CutTimes};
#[cfg(test)]
pub use fault::Fault;
pub use lightcuts::Lightcuts;
#[cfg(test)]
pub use path::FaultyPathTracer;
pub use path::PathTracer;

use crate::film::Tile;
use crate::scene::diagnostics::SceneError;
use crate::scene::{Method, Scene};
use std::ops::Range;
use std::time::Duration;

/// A way to compute pictures.
pub trait Integrator: Sync {
    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// The trees of lights that it built before it began, if it has any.
    fn light_tree(&self) -> Option<LightTreeFigures> {
        None
    }

    /// What a thread works with; it keeps its buffers from tile to tile.
    fn worker<'a>(&'a self, scene: &'a Scene) -> Box<dyn Worker + 'a>;
}

/// What trees of lights took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LightTreeFigures {
    /// Wall-clock time of building them.
    pub build: Duration,
    /// Memory, bytes.
    pub bytes: usize,
    /// Points and directions that stand for lights.
    pub points: usize,
}

/// The integrator that a scene asks for.
///
/// *Errors*: it cannot work for this scene.
pub fn of(scene: &Scene) -> Result<Box<dyn Integrator>, SceneError> {
    match &scene.integrator.method {
        Method::Path(settings) => {
            Ok(Box::new(PathTracer::new(scene, scene.integrator.max_depth, settings)?))
        }
        Method::Lightcuts(settings) => {
            Ok(Box::new(Lightcuts::new(scene, scene.integrator.max_depth, settings)?))
        }
    }
}

/// An integrator at work on one thread.
pub trait Worker {
    /// Adds samples number `samples` of every pixel of the tile. What is added for a pixel's sample
    /// depends on nothing but the scene, the pixel and the sample's number.
    fn render_tile(&mut self, samples: Range<u32>, tile: &Tile) -> Counts;
}
