//! Scene descriptions: lists of complete entities, with names resolved to indices.
//!
//! A pbrt file is a program for a small state machine. [`describe`] runs it once (in
//! `describe/interpret`) over the main file and its includes. Entities are interpreted by the next
//! stage, [`crate::build`].

mod interpret;
#[cfg(test)]
mod tests;

use super::diagnostics::{Diagnostics, Location, SceneError, Source};
use super::file::parse::Entity;
use super::inputs::Inputs;
use glam::DAffine3;
use std::path::PathBuf;
use std::sync::Arc;

/// A scene as described by its files.
#[derive(Debug, Default)]
pub struct Description {
    /// Folder of the main file; other file names are relative to it.
    pub folder: PathBuf,
    /// The files read.
    pub inputs: Inputs,
    /// `Option` directives, in file order.
    pub options: Vec<SceneOption>,
    /// Camera, if given; the default is a perspective camera at the origin, looking along +z.
    pub camera: Option<CameraEntity>,
    /// Film, if given.
    pub film: Option<Entity>,
    /// Reconstruction filter, if given.
    pub filter: Option<Entity>,
    /// Sampler, if given.
    pub sampler: Option<Entity>,
    /// Integrator, if given.
    pub integrator: Option<Entity>,
    /// Acceleration structure, if given.
    pub accelerator: Option<Entity>,
    /// Textures; a texture follows those it refers to.
    pub textures: Vec<TextureEntity>,
    /// Materials, named and inline; the first is the default, diffuse.
    pub materials: Vec<MaterialEntity>,
    /// Participating media.
    pub media: Vec<Entity>,
    /// Lights other than area lights.
    pub lights: Vec<LightEntity>,
    /// Area lights, which shapes refer to.
    pub area_lights: Vec<Entity>,
    /// Shapes that are not part of an object.
    pub shapes: Vec<ShapeEntity>,
    /// Groups of shapes, instantiated by [`Description::instances`].
    pub objects: Vec<ObjectEntity>,
    /// Instances of objects.
    pub instances: Vec<InstanceEntity>,
}

/// One `Option`.
#[derive(Clone, Debug)]
pub struct SceneOption {
    /// Its name in lower case, without `_` and `-`.
    pub name: String,
    /// Its value as written, without quotes.
    pub value: String,
    /// Location of the directive.
    pub location: Location,
}

/// The camera.
#[derive(Clone, Debug)]
pub struct CameraEntity {
    /// Kind and parameters.
    pub entity: Entity,
    /// Transform from world to camera space (left-handed, looking along +z).
    pub camera_from_world: DAffine3,
}

/// A texture.
#[derive(Clone, Debug)]
pub struct TextureEntity {
    /// Its name; a float and a spectrum texture may share a name.
    pub name: String,
    /// Whether its values are floats rather than spectra.
    pub is_float: bool,
    /// Kind and parameters.
    pub entity: Entity,
    /// Transform from texture to world space.
    pub ctm: DAffine3,
}

/// A material.
#[derive(Clone, Debug)]
pub struct MaterialEntity {
    /// Its name; `None` for an inline material.
    pub name: Option<String>,
    /// Kind and parameters.
    pub entity: Entity,
}

/// A light.
#[derive(Clone, Debug)]
pub struct LightEntity {
    /// Kind and parameters.
    pub entity: Entity,
    /// Transform from light to world space.
    pub ctm: DAffine3,
}

/// The media on both sides of a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediumInterface {
    /// Index into [`Description::media`] of the medium that the normal points away from; `None` is
    /// vacuum.
    pub inside: Option<usize>,
    /// Index of the medium that the normal points into.
    pub outside: Option<usize>,
}

/// A shape.
#[derive(Clone, Debug)]
pub struct ShapeEntity {
    /// Kind and parameters.
    pub entity: Entity,
    /// Transform from shape to world space; within an object, to the space of the object.
    pub ctm: DAffine3,
    /// Whether normals are flipped by `ReverseOrientation`.
    pub reverse_orientation: bool,
    /// Index into [`Description::materials`].
    pub material: usize,
    /// Index into [`Description::area_lights`] if it emits.
    pub area_light: Option<usize>,
    /// Media on its sides, if set by `MediumInterface`.
    #[allow(dead_code, reason = "media are described, but not rendered yet")]
    pub media: Option<MediumInterface>,
}

/// A group of shapes for instancing.
#[derive(Clone, Debug)]
pub struct ObjectEntity {
    /// Its name.
    pub name: String,
    /// Its shapes.
    pub shapes: Vec<ShapeEntity>,
}

/// An instance of an object.
#[derive(Clone, Debug)]
pub struct InstanceEntity {
    /// Index into [`Description::objects`].
    pub object: usize,
    /// Transform from the space of the object to world space.
    pub ctm: DAffine3,
    /// Location of the directive.
    pub location: Location,
}

impl Description {
    /// Path of a file named in the scene: relative to the main file's folder, unless absolute.
    pub fn resolve(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    /// Index of a named material.
    pub fn material(&self, name: &str) -> Option<usize> {
        self.materials.iter().position(|m| m.name.as_deref() == Some(name))
    }
}

/// Reads a scene and its includes; file names are relative to the folder in the source's path.
///
/// *Errors*: a file cannot be read or does not follow the format, or, in strict mode, the first
/// warning.
pub fn describe(
    source: &Arc<Source>,
    diagnostics: &mut Diagnostics,
) -> Result<Description, SceneError> {
    interpret::interpret(source.clone(), diagnostics)
}
