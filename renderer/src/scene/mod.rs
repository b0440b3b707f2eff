//! Scenes: read from pbrt-v4 files, built once, immutable from then on.

pub mod build;
mod ctm;
pub mod describe;
pub mod diagnostics;
pub mod file;
pub mod inputs;
mod integrator;
pub mod ply;
pub mod shader_file;

pub use integrator::{
    BoundMode, BsdfSampling, Cut, CutMode, ErrorMode, IntegratorSettings, LightSampling,
    LightcutsSettings, Method, MethodName, PathSettings, SkySampling,
};

use crate::accel::Accel;
use crate::camera::Camera;
use crate::film::Window;
use crate::filter::Filter;
use crate::geometry::Geometry;
use crate::light::Lights;
use crate::material::{Bound, Material};
use crate::sampling::SamplerKind;
use std::path::PathBuf;
use std::sync::Arc;

/// Everything an integrator needs, immutable.
pub struct Scene {
    /// Where pictures are taken from.
    pub camera: Camera,
    /// What the film looks like.
    pub film: FilmSettings,
    /// How samples become pixels.
    pub filter: Filter,
    /// Which random numbers, and how many samples.
    pub sampling: SamplingSettings,
    /// How light gets into the picture.
    pub integrator: IntegratorSettings,
    /// All surfaces.
    pub geometry: Arc<Geometry>,
    /// Materials, as [`crate::geometry::Primitive::material`] counts them.
    pub materials: Vec<Material>,
    /// Compiled shaders, as [`crate::material::Instance::shader`] counts them.
    pub shaders: Vec<Bound>,
    /// Names of the materials, for picture attributes.
    pub material_names: Vec<String>,
    /// Names of the objects, as [`Geometry::object`] counts them.
    pub object_names: Vec<String>,
    /// All lights.
    pub lights: Lights,
    /// Ray queries over `geometry`.
    pub accel: Arc<dyn Accel>,
}

/// Size and exposure of the picture.
#[derive(Clone, Debug)]
pub struct FilmSettings {
    /// Columns and rows of the whole image.
    pub resolution: (u32, u32),
    /// The pixels that the scene file asks for, whatever is rendered of them now; maybe none.
    pub own: Window,
    /// The pixels to render.
    pub window: Window,
    /// Radiance is multiplied by this: exposure time × ISO / 100, as in pbrt-v4.
    pub gain: f32,
    /// The file that the scene asks for; empty where it names none.
    pub filename: PathBuf,
}

/// Random numbers of a rendering.
#[derive(Clone, Copy, Debug)]
pub struct SamplingSettings {
    /// Which sequence.
    pub kind: SamplerKind,
    /// Samples per pixel.
    pub spp: u32,
    /// Same seed, same bits.
    pub seed: u32,
}
