//! Scenes. They are immutable once built. [`RenderSettings`](crate::RenderSettings) define how to
//! render one.

mod builder;

pub use builder::{MaterialError, MaterialId, MediumId, SceneBuilder};

use crate::accel::Accel;
use crate::camera::Camera;
use crate::geometry::{Geometry, Hit, Surface, SurfaceDerivatives};
use crate::light::Lights;
use crate::material::{Material, ShaderBinding};
use crate::medium::Medium;
use crate::settings::MethodName;
use crate::texture::{Footprint, Lookup, LookupNeeds, TangentFrame};
use lightbound_math::{Frame, Vec3};
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
    /// Participating media.
    pub media: Vec<Medium>,
    /// Index of the medium around the camera; `None` is vacuum.
    pub camera_medium: Option<u32>,
    /// All lights.
    pub lights: Lights,
    /// Ray queries over `geometry`.
    pub accel: Arc<dyn Accel>,
}

impl Scene {
    /// Why images that this integrator renders are black, if the scene has no light.
    pub fn why_black(&self, method: MethodName) -> Option<&'static str> {
        let needs_light = method != MethodName::AmbientOcclusion;
        let media_emit = self.media.iter().any(Medium::emits);
        if !needs_light || media_emit || !self.lights.is_black() {
            return None;
        }
        Some(match self.lights.all().is_empty() {
            true => "the scene has no light",
            false => "no light of the scene has any power",
        })
    }

    /// Returns whether the camera, a surface or a light moves while the shutter is open.
    pub fn moves(&self) -> bool {
        self.camera.moves() || self.geometry.moves() || self.lights.any_moves()
    }

    /// Returns the point of a hit of a ray of direction `d` for texture lookups, with what they
    /// need. `surface` is that of the hit, with its bump map.
    pub fn lookup(&self, hit: &Hit, d: Vec3, surface: &Surface, needs: LookupNeeds) -> Lookup<'_> {
        let mut lookup = surface.lookup();
        if needs.footprint {
            lookup.footprint = self.footprint(surface, &self.geometry.derivatives(hit, d));
        }
        if !needs.attributes.is_empty() {
            lookup.attributes = self.geometry.attribute_point(hit);
        }
        if needs.tangent_frame {
            let own = self.geometry.surface(hit, d).frame;
            let sign = self.geometry.bitangent_sign(hit);
            lookup.tangent_frame = Some(TangentFrame::new(&own, sign, &surface.frame));
        }
        lookup
    }

    /// Returns the footprint of a pixel at a surface with these derivatives.
    fn footprint(&self, surface: &Surface, derivatives: &SurfaceDerivatives) -> Footprint {
        let dp = self.camera.footprint(surface.p, surface.ng);
        Footprint::new(dp, derivatives.dpdu, derivatives.dpdv)
    }

    /// Returns the shading frame at a hit of a ray of direction `d` on a material with a bump map;
    /// `None` if the material has none. `surface` is that of the hit.
    pub fn bumped_frame(
        &self,
        hit: &Hit,
        d: Vec3,
        surface: &Surface,
        material: u32,
    ) -> Option<Frame> {
        let bump = self.materials[material as usize].bump()?;
        let derivatives = self.geometry.derivatives(hit, d);
        let footprint = self.footprint(surface, &derivatives);
        let attributes = self.geometry.attribute_point(hit);
        let lookup = Lookup { footprint, attributes, ..surface.lookup() };
        let bitangent_sign = self.geometry.bitangent_sign(hit);
        let positions = || self.geometry.shader_positions(hit, surface.p);
        Some(bump.frame(surface, bitangent_sign, &derivatives, &lookup, positions))
    }
}
