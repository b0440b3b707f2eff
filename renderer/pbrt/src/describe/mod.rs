//! Scene descriptions: lists of entities with names resolved to indices.
//!
//! The directives of a pbrt file modify and use a graphics state. [`describe`] runs those of the
//! main file and its includes (in `describe/interpret`). The next stage, [`crate::build`],
//! interprets the entities.

mod curves;
mod interpret;
#[cfg(test)]
mod tests;

use super::ctm::CheckedTransform;
use super::diagnostics::{Diagnostics, Location, SceneError, Source};
use super::file::parse::Entity;
use super::inputs::InputFiles;
use glam::DAffine3;
use std::path::PathBuf;
use std::sync::Arc;

pub use curves::{Curve, CurveRun, curve};

/// The contents of a scene file and its includes.
#[derive(Debug, Default)]
pub struct Description {
    /// Folder of the main file. All file names are relative to it.
    pub folder: PathBuf,
    /// The input files.
    pub inputs: InputFiles,
    /// Start and end time of transforms, seconds.
    pub transform_times: [f32; 2],
    /// `Option` directives, in file order.
    pub options: Vec<SceneOption>,
    /// Camera, if specified; the default is a perspective camera at the origin, looking along +z.
    pub camera: Option<CameraEntity>,
    /// Film, if specified.
    pub film: Option<Entity>,
    /// Reconstruction filter, if specified.
    pub filter: Option<Entity>,
    /// Sampler, if specified.
    pub sampler: Option<Entity>,
    /// Integrator, if specified.
    pub integrator: Option<Entity>,
    /// Acceleration structure, if specified.
    pub accelerator: Option<Entity>,
    /// Textures, each after the textures that it refers to.
    pub textures: Vec<TextureEntity>,
    /// Named and inline materials. The first is the default material, diffuse.
    pub materials: Vec<MaterialEntity>,
    /// Participating media.
    pub media: Vec<MediumEntity>,
    /// Lights other than area lights.
    pub lights: Vec<LightEntity>,
    /// Area lights that shapes refer to.
    pub area_lights: Vec<Entity>,
    /// Shapes outside object definitions.
    pub shapes: Vec<ShapeEntity>,
    /// Groups of shapes, instantiated by [`Description::instances`].
    pub objects: Vec<ObjectEntity>,
    /// Instances of objects.
    pub instances: Vec<InstanceEntity>,
}

/// An `Option` directive.
#[derive(Clone, Debug)]
pub struct SceneOption {
    /// Name in lower case, without `_` and `-`.
    pub name: String,
    /// Value as written, without quotes.
    pub value: String,
    /// Location of the directive.
    pub location: Location,
}

/// The camera.
#[derive(Clone, Debug)]
pub struct CameraEntity {
    /// Type and parameters.
    pub entity: Entity,
    /// Transform from world to camera space (left-handed, looking along +z), at the start time.
    pub camera_from_world: DAffine3,
    /// The transform at the end time, if the camera moves.
    pub end_camera_from_world: Option<DAffine3>,
    /// Index into [`Description::media`] of the medium around the camera; `None` is vacuum.
    pub medium: Option<usize>,
}

/// A texture.
#[derive(Clone, Debug)]
pub struct TextureEntity {
    /// Name. A float and a spectrum texture may share a name.
    pub name: String,
    /// Whether this is a float texture rather than a spectrum texture.
    pub is_float: bool,
    /// Type and parameters.
    pub entity: Entity,
    /// Transform from texture to world space, which not all textures use.
    pub ctm: CheckedTransform,
}

/// A material.
#[derive(Clone, Debug)]
pub struct MaterialEntity {
    /// Name; `None` for an inline material.
    pub name: Option<String>,
    /// Type and parameters.
    pub entity: Entity,
}

/// A participating medium.
#[derive(Clone, Debug)]
pub struct MediumEntity {
    /// Name.
    pub name: String,
    /// Type and parameters.
    pub entity: Entity,
    /// Transform from the medium's own space to world space, which homogeneous media do not use.
    pub ctm: CheckedTransform,
}

/// A light.
#[derive(Clone, Debug)]
pub struct LightEntity {
    /// Type and parameters.
    pub entity: Entity,
    /// Transform from light to world space, at the start time.
    pub ctm: DAffine3,
    /// The transform at the end time, if the light moves.
    pub end_ctm: Option<DAffine3>,
}

/// The media on the two sides of a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediumInterface {
    /// Index into [`Description::media`] of the medium opposite the normal; `None` is vacuum.
    pub inside: Option<usize>,
    /// Index of the medium on the side of the normal.
    pub outside: Option<usize>,
}

impl MediumInterface {
    /// Returns whether the media differ. As in pbrt-v4, a surface between equal media does not
    /// change the medium of a ray, whichever that is.
    pub fn is_transition(self) -> bool {
        self.inside != self.outside
    }
}

/// A shape.
#[derive(Clone, Debug)]
pub struct ShapeEntity {
    /// Type and parameters.
    pub entity: Entity,
    /// Transform from shape space to world space, or to object space within an object, at the
    /// start time.
    pub ctm: DAffine3,
    /// The transform at the end time, if the shape moves.
    pub end_ctm: Option<DAffine3>,
    /// Whether `ReverseOrientation` flips the normals.
    pub reverse_orientation: bool,
    /// Index into [`Description::materials`].
    pub material: usize,
    /// Index into [`Description::area_lights`] if the shape emits.
    pub area_light: Option<usize>,
    /// Media on the two sides, if set by `MediumInterface`.
    pub media: Option<MediumInterface>,
    /// If this is a curve, the rest of its run.
    pub curves: CurveRun,
}

/// A group of shapes that can be instantiated.
#[derive(Clone, Debug)]
pub struct ObjectEntity {
    /// Name.
    pub name: String,
    /// Shapes.
    pub shapes: Vec<ShapeEntity>,
}

/// An instance of an object.
#[derive(Clone, Debug)]
pub struct InstanceEntity {
    /// Index into [`Description::objects`].
    pub object: usize,
    /// Name that `Attribute "shape"` gives shapes, if it does; the default is that of the object.
    pub name: Option<String>,
    /// Transform from object space to world space, at the start time.
    pub ctm: DAffine3,
    /// The transform at the end time, if the instance moves.
    pub end_ctm: Option<DAffine3>,
    /// Location of the directive.
    pub location: Location,
}

impl Description {
    /// Iterates over all shapes, including those of objects.
    pub fn all_shapes(&self) -> impl Iterator<Item = &ShapeEntity> {
        self.shapes.iter().chain(self.objects.iter().flat_map(|object| &object.shapes))
    }

    /// Returns the path of a file that the scene names: relative to the folder of the main file,
    /// unless absolute.
    pub fn resolve(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    /// Returns the index of a named material.
    pub fn material(&self, name: &str) -> Option<usize> {
        self.materials.iter().position(|m| m.name.as_deref() == Some(name))
    }
}

/// Reads a scene and its includes. File names are relative to the folder of the source. Fails if a
/// file cannot be read or is malformed, and in strict mode at the first warning.
pub fn describe(
    source: &Arc<Source>,
    diagnostics: &mut Diagnostics,
) -> Result<Description, SceneError> {
    interpret::interpret(source.clone(), diagnostics)
}
