//! Scenes. They are immutable once built. [`RenderSettings`](crate::RenderSettings) define how to
//! render one.

mod builder;

pub use builder::{MaterialError, MaterialId, SceneBuilder};

use crate::accel::Accel;
use crate::camera::Camera;
use crate::geometry::Geometry;
use crate::light::Lights;
use crate::material::{Material, ShaderBinding};
use std::sync::Arc;

/// A camera, surfaces, materials and lights.
pub struct Scene {
    /// The camera. It is specific to an image resolution.
    pub camera: Camera,
    /// All surfaces.
    pub geometry: Arc<Geometry>,
    /// Materials, indexed by [`Primitive::material`](crate::geometry::Primitive::material).
    pub materials: Vec<Material>,
    /// Compiled shaders, indexed by
    /// [`ShaderInstance::shader`](crate::material::ShaderInstance::shader).
    pub shaders: Vec<ShaderBinding>,
    /// Names of the materials, for attributes of image files.
    pub material_names: Vec<String>,
    /// Names of the objects, indexed by [`Geometry::object_id`].
    pub object_names: Vec<String>,
    /// All lights.
    pub lights: Lights,
    /// Ray queries over `geometry`.
    pub accel: Arc<dyn Accel>,
}

impl Scene {
    /// Returns whether the camera or a surface moves while the shutter is open.
    pub fn moves(&self) -> bool {
        self.camera.moves() || !self.geometry.motions.is_empty()
    }
}
