//! Vertices of paths on surfaces with a shader.

use crate::geometry::{Hit, Surface};
use crate::integrator::shading::{BsdfColumns, ShadingBuffers};
use crate::material::ShaderInstance;
use crate::scene::Scene;
use crate::texture::LookupNeeds;
use lightbound_math::{Columns, Vec2, Vec3};
use lightbound_shader::SurfaceSides;

/// A vertex of a path.
pub(super) struct PathVertex<'a> {
    pub hit: &'a Hit,
    /// Direction of the ray.
    pub d: Vec3,
    pub surface: &'a Surface,
    /// Direction back along the ray in the shading frame.
    pub wo: Vec3,
}

/// A sampled direction.
pub(super) struct DirectionSample {
    /// Direction in the shading frame; for a one-sided shader, mirrored to the side of `wo`.
    pub wi: Vec3,
    /// BSDF × cosine, 1/sr.
    pub s: Vec3,
    /// Density of the direction, 1/sr; 0 if no direction was sampled.
    pub pdf: f32,
}

impl PathVertex<'_> {
    /// Returns −1 if the frame is mirrored for a one-sided shader, else 1, and `wo` in that frame.
    pub fn mirrored(&self, both_sides: bool) -> (f32, Vec3) {
        if both_sides {
            (1.0, self.wo)
        } else {
            (1f32.copysign(self.wo.z), self.wo.with_z(self.wo.z.abs()))
        }
    }

    /// Converts a direction from the frame of a shader, which [`Self::mirrored`] describes.
    pub fn to_world(&self, scene: &Scene, instance: &ShaderInstance, w: Vec3) -> Vec3 {
        let sides = scene.shaders[instance.shader as usize].program.sides;
        let (side, _) = self.mirrored(sides == SurfaceSides::Both);
        self.surface.frame.to_world(w.with_z(side * w.z))
    }

    /// Samples a direction by the shader. Lookups have what `needs` says.
    pub fn sample_direction<'s>(
        &self,
        shading: &mut ShadingBuffers<'s>,
        scene: &'s Scene,
        (instance, nm): (&ShaderInstance, Option<f32>),
        needs: LookupNeeds,
        u: Vec2,
    ) -> DirectionSample {
        let binding = &scene.shaders[instance.shader as usize];
        let (_, wo) = self.mirrored(binding.program.sides == SurfaceSides::Both);
        let positions = || scene.geometry.shader_positions(self.hit, self.surface.p);
        let mut batch = shading.begin(binding, 1);
        let Columns([u, v]) = Columns::splat(u.into());
        batch.set_points(0, [&u, &v], &Columns::splat(wo.into()));
        let lookup = || scene.lookup(self.hit, self.d, self.surface, needs);
        batch.set_material(0, (instance, nm), lookup, self.surface.frame.n, positions);
        let (mut wi, mut bsdf) = (Columns::ZERO, BsdfColumns::default());
        batch.set_up().sample().directions(0, &mut wi, &mut bsdf);
        DirectionSample { wi: wi.get(0), s: bsdf.s.get(0), pdf: bsdf.pdf[0] }
    }
}
