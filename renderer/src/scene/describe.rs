//! Descriptions: a scene as plain lists, in which every entity stands with all it needs and names are resolved to indices.
//!
//! pbrt files are programs for a small state machine; [`describe`] runs it once ([`interpret`]), over the main file and all
//! it includes. Nothing is built: what an entity's kind and parameters mean is the next stage's business.

mod interpret;

use super::diagnostics::{Diagnostics, Location, SceneError, Source};
use super::file::parse::Entity;
use glam::DAffine3;
use std::path::{Path, PathBuf};

/// A scene as its files describe it.
#[derive(Debug, Default)]
pub struct Description {
    /// Folder of the main file, which other files are relative to.
    pub folder: PathBuf,
    /// `Option` directives in order.
    pub options: Vec<SceneOption>,
    /// Camera, if one is given; the default is a perspective camera at the origin, looking along +z.
    pub camera: Option<CameraEntity>,
    /// Film, if one is given.
    pub film: Option<Entity>,
    /// Reconstruction filter, if one is given.
    pub filter: Option<Entity>,
    /// Sampler, if one is given.
    pub sampler: Option<Entity>,
    /// Integrator, if one is given.
    pub integrator: Option<Entity>,
    /// Acceleration structure, if one is given.
    pub accelerator: Option<Entity>,
    /// Textures; those a texture refers to stand before it.
    pub textures: Vec<TextureEntity>,
    /// Materials, named and inline; the first is the default, diffuse.
    pub materials: Vec<MaterialEntity>,
    /// Participating media.
    pub media: Vec<MediumEntity>,
    /// Lights that are no surfaces.
    pub lights: Vec<LightEntity>,
    /// Light-emission settings that shapes refer to.
    pub area_lights: Vec<Entity>,
    /// Shapes outside objects.
    pub shapes: Vec<ShapeEntity>,
    /// Groups of shapes that are placed by [`Description::instances`].
    pub objects: Vec<ObjectEntity>,
    /// Placed objects.
    pub instances: Vec<Instance>,
}

/// One `Option`.
#[derive(Clone, Debug)]
pub struct SceneOption {
    /// Its name in lower case, without `_` and `-`.
    pub name: String,
    /// Its value as written, without quotes.
    pub value: String,
    /// Where it stands.
    pub location: Location,
}

/// The camera.
#[derive(Clone, Debug)]
pub struct CameraEntity {
    /// Kind and parameters.
    pub entity: Entity,
    /// World to camera space (left-handed, looking along +z).
    pub camera_from_world: DAffine3,
    /// The medium around it; `None` is vacuum.
    pub medium: Option<usize>,
}

/// A texture.
#[derive(Clone, Debug)]
pub struct TextureEntity {
    /// Its name; a float and a spectrum texture may share one.
    pub name: String,
    /// Whether it yields floats, not spectra.
    pub is_float: bool,
    /// Kind and parameters.
    pub entity: Entity,
    /// Texture to world space.
    pub ctm: DAffine3,
}

/// A material.
#[derive(Clone, Debug)]
pub struct MaterialEntity {
    /// Its name; `None` for those given inline.
    pub name: Option<String>,
    /// Kind and parameters.
    pub entity: Entity,
}

/// A participating medium.
#[derive(Clone, Debug)]
pub struct MediumEntity {
    /// Its name.
    pub name: String,
    /// Kind and parameters.
    pub entity: Entity,
    /// Medium to world space.
    pub ctm: DAffine3,
}

/// A light.
#[derive(Clone, Debug)]
pub struct LightEntity {
    /// Kind and parameters.
    pub entity: Entity,
    /// Light to world space.
    pub ctm: DAffine3,
}

/// The media on the two sides of a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediumInterface {
    /// Index into [`Description::media`] where the normal points away from; `None` is vacuum.
    pub inside: Option<usize>,
    /// Index where the normal points to.
    pub outside: Option<usize>,
}

/// A shape.
#[derive(Clone, Debug)]
pub struct ShapeEntity {
    /// Kind and parameters.
    pub entity: Entity,
    /// Shape to world space; within an object, to the space that instances transform.
    pub ctm: DAffine3,
    /// Whether normals are flipped by `ReverseOrientation`.
    pub reverse_orientation: bool,
    /// Index into [`Description::materials`].
    pub material: usize,
    /// Index into [`Description::area_lights`] where it emits.
    pub area_light: Option<usize>,
    /// Media on its sides, where `MediumInterface` gives any.
    pub media: Option<MediumInterface>,
}

/// A group of shapes for instancing.
#[derive(Clone, Debug)]
pub struct ObjectEntity {
    /// Its name.
    pub name: String,
    /// Its shapes.
    pub shapes: Vec<ShapeEntity>,
    /// Where it begins.
    pub location: Location,
}

/// A placed object.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Index into [`Description::objects`].
    pub object: usize,
    /// Maps the object's shapes, as placed by their own transforms, to world space.
    pub ctm: DAffine3,
    /// Where it stands.
    pub location: Location,
}

impl Description {
    /// A file named in the scene: relative to the main file's folder, unless absolute.
    pub fn resolve(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    /// Index of a texture by name and type.
    pub fn texture(&self, name: &str, is_float: bool) -> Option<usize> {
        self.textures.iter().position(|t| t.name == name && t.is_float == is_float)
    }

    /// Index of a named material.
    pub fn material(&self, name: &str) -> Option<usize> {
        self.materials.iter().position(|m| m.name.as_deref() == Some(name))
    }
}

/// Reads a scene file and all it includes.
///
/// *Errors*: a file cannot be read or does not follow the format, or, when strict, the first warning.
pub fn describe(file: &Path, diagnostics: &mut Diagnostics) -> Result<Description, SceneError> {
    interpret::interpret(Source::file(file), diagnostics)
}

/// [`describe`] for text in memory, whose includes are relative to the current folder.
pub fn describe_text(name: &str, text: &str, diagnostics: &mut Diagnostics) -> Result<Description, SceneError> {
    interpret::interpret(Source::memory(name, text), diagnostics)
}
