//! From a description of a scene file to a [`Scene`].

use super::Scene;
use super::diagnostics::{Diagnostics, SceneError};
use crate::accel::AccelKind;
use std::path::Path;
use std::time::Duration;

/// What the command line says over the scene file.
#[derive(Clone, Debug)]
pub struct Overrides {
    /// Which accelerator.
    pub accel: AccelKind,
    /// Integrator instead of the file's.
    pub integrator: Option<String>,
    /// Samples per pixel instead of the file's.
    pub spp: Option<u32>,
    /// Seed; the file's, or 0, where there is none.
    pub seed: Option<u32>,
    /// Columns and rows instead of the file's.
    pub resolution: Option<(u32, u32)>,
    /// Part of the image to render, as fractions `x0, x1, y0, y1` (pbrt's crop window).
    pub crop: Option<[f32; 4]>,
}

/// A scene and how long it took to get it.
pub struct Loaded {
    /// The scene.
    pub scene: Scene,
    /// Reading and parsing the scene file and the files it names.
    pub load: Duration,
    /// Building: lights and acceleration structure.
    pub build: Duration,
}

/// Reads and builds the scene of a pbrt-v4 file.
pub fn load(path: &Path, overrides: &Overrides, diagnostics: &mut Diagnostics) -> Result<Loaded, SceneError> {
    let _ = (path, overrides, diagnostics);
    todo!("scene builder")
}
