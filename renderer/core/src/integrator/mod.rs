//! Integrators: algorithms that estimate the radiance that reaches the film.

mod ambient_occlusion;
mod counts;
mod cut_counts;
mod directions;
mod fault;
mod guiding;
mod lane_set;
mod light_sampling;
pub mod lightcuts;
pub mod material_bound;
mod medium_rays;
#[cfg(test)]
pub(crate) mod medium_testing;
mod mix;
mod path;
mod sample_components;
mod samples;
mod shading;
mod shadow_terminator;

pub use ambient_occlusion::AmbientOcclusion;
pub use counts::{Counts, ShadingCounts};
pub use cut_counts::{CutCounts, CutSizes, CutTimes, LightSums};
#[cfg(any(test, feature = "faults"))]
pub use fault::Fault;
pub use lightcuts::Lightcuts;
#[cfg(any(test, feature = "faults"))]
pub use path::FaultyPathTracer;
pub use path::PathTracer;

use crate::film::{ChannelSpec, Tile};
use crate::render::RenderOptions;
use crate::scene::Scene;
use crate::settings::{Method, RenderSettings};
use std::ops::Range;
use std::time::Duration;

/// An algorithm that renders a scene.
pub trait Integrator: Send + Sync {
    /// Returns the name, as on the command line.
    fn name(&self) -> &'static str;

    /// Returns statistics of the light trees, if the integrator uses any.
    fn light_tree(&self) -> Option<LightTreeStats> {
        None
    }

    /// Returns the film channels recorded in addition to radiance and features.
    fn film_channels(&self) -> &'static [ChannelSpec] {
        &[]
    }

    /// Returns whether the integrator divides radiance into [components](crate::film::Component).
    /// Without, the film must not store any.
    fn has_components(&self) -> bool {
        false
    }

    /// Returns statistics of the training, if there was one.
    fn training(&self) -> Option<TrainingStats> {
        None
    }

    /// Does the work that must precede all samples, the first time. Wrappers must forward it. The
    /// options do not affect its result, unless they stop it.
    ///
    /// # Panics
    /// May panic if the settings have another resolution or seed than those of the first call: the
    /// result depends on them.
    fn prepare(&self, _scene: &Scene, _settings: &RenderSettings, _options: &RenderOptions) {}

    /// Creates the worker of one thread. It reuses its buffers from tile to tile.
    fn worker<'a>(&'a self, scene: &'a Scene, settings: &'a RenderSettings)
    -> Box<dyn Worker + 'a>;
}

/// Statistics of light trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LightTreeStats {
    /// Wall-clock build time.
    pub build: Duration,
    /// Memory in bytes.
    pub bytes: usize,
    /// Number of leaves. Each is a point or direction that represents a light or a part of a light.
    pub points: usize,
    /// Number of leaves that are virtual lights.
    pub virtual_lights: usize,
}

/// Statistics of a training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrainingStats {
    /// Wall-clock time.
    pub time: Duration,
    /// Number of continuations of each path at its first vertex.
    pub branches: u32,
    /// Whether light sampling `auto` includes the material.
    pub material_weights: bool,
    /// Contributions below this, relative to the brightness of the pixel, get a shadow ray with a
    /// probability; `None` if all get one.
    pub shadow_threshold: Option<f32>,
    /// The path guide; `None` if it does not help.
    pub guide: Option<GuideStats>,
}

/// Statistics of a path guide.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GuideStats {
    /// Number of cells of the scene with directional densities of their own.
    pub cells: usize,
    /// Expected second moment of contributions, relative to that without the guide: a weighted mean
    /// over the cells.
    pub moment_ratio: f64,
}

/// Why an integrator cannot render a scene.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct IntegratorError(String);

/// Prepares an integrator for a scene.
///
/// # Errors
/// If the integrator needs bounds on a material that cannot be computed.
pub fn new(
    scene: &Scene,
    settings: &RenderSettings,
) -> Result<Box<dyn Integrator>, IntegratorError> {
    let max_depth = settings.integrator.max_depth;
    match &settings.integrator.method {
        Method::Path(path) => Ok(Box::new(PathTracer::new(scene, max_depth, path)?)),
        Method::Lightcuts(lightcuts) => Ok(Box::new(Lightcuts::new(scene, settings, lightcuts)?)),
        &Method::AmbientOcclusion(settings) => Ok(Box::new(AmbientOcclusion(settings))),
    }
}

/// The state of an integrator on one thread.
pub trait Worker {
    /// Renders the samples with indices `samples` of each pixel, and adds them to the tile. The
    /// value of a sample depends only on the scene, the settings, the pixel and the sample index.
    fn render_tile(&mut self, samples: Range<u32>, tile: &Tile) -> Counts;
}
