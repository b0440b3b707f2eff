//! Vertices of paths: points on surfaces with a shader, and points of media.

use crate::geometry::{Hit, Surface};
use crate::integrator::material_bound::BoundEvaluator;
use crate::integrator::shading::{BsdfColumns, ShadingBuffers};
use crate::material::ShaderInstance;
use crate::medium::Medium;
use crate::scene::Scene;
use crate::texture::{Lookup, LookupNeeds};
use lightbound_math::sampling::GOLDEN_RATIO;
use lightbound_math::{COLUMN_LEN, Columns, Vec2, Vec3};
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

impl DirectionSample {
    /// Returns the first of several samples.
    fn first(wi: &Columns<3>, bsdf: &BsdfColumns) -> DirectionSample {
        DirectionSample { wi: wi.get(0), s: bsdf.s.get(0), pdf: bsdf.pdf[0] }
    }
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
        material: (&ShaderInstance, Option<f32>),
        needs: LookupNeeds,
        u: Vec2,
    ) -> DirectionSample {
        let u = &Columns::splat(u.into());
        let (wi, bsdf) = self.sample_directions(shading, scene, material, needs, (1, u));
        DirectionSample::first(&wi, &bsdf)
    }

    /// Returns the mean density of the directions that the shader samples, 1/sr: the integral of the
    /// squared density, estimated by quasi-Monte Carlo integration.
    pub fn mean_density<'s>(
        &self,
        shading: &mut ShadingBuffers<'s>,
        scene: &'s Scene,
        material: (&ShaderInstance, Option<f32>),
    ) -> f32 {
        let mut u = Columns::ZERO;
        for k in 0..COLUMN_LEN {
            u.0[0][k] = (k as f32 + 0.5) / COLUMN_LEN as f32;
            u.0[1][k] = (k as f32 * GOLDEN_RATIO).fract();
        }
        let (needs, rows) = (material.0.needs(), COLUMN_LEN);
        let (_, bsdf) = self.sample_directions(shading, scene, material, needs, (rows, &u));
        bsdf.pdf.iter().sum::<f32>() / COLUMN_LEN as f32
    }

    /// Samples directions, one for each of the first `rows` pairs of random numbers.
    fn sample_directions<'s>(
        &self,
        shading: &mut ShadingBuffers<'s>,
        scene: &'s Scene,
        (instance, nm): (&ShaderInstance, Option<f32>),
        needs: LookupNeeds,
        random: (usize, &Columns<2>),
    ) -> (Columns<3>, BsdfColumns) {
        let binding = &scene.shaders[instance.shader as usize];
        let (_, wo) = self.mirrored(binding.program.sides == SurfaceSides::Both);
        let point = SampledPoint {
            n: self.surface.frame.n,
            wo,
            lookup: || scene.lookup(self.hit, self.d, self.surface, needs),
            positions: || scene.geometry.shader_positions(self.hit, self.surface.p),
        };
        point.sample(shading, scene, (instance, nm), random)
    }
}

/// A vertex of a path in a medium.
pub(super) struct MediumVertex<'a> {
    /// See [`Surface::in_medium`].
    pub surface: Surface,
    medium: &'a Medium,
    /// See [`Geometry::shader_positions`](crate::geometry::Geometry::shader_positions).
    positions: [Vec3; 2],
}

impl<'a> MediumVertex<'a> {
    /// Creates the vertex at `p`, which a ray in direction `d` reaches.
    pub fn new(scene: &'a Scene, medium: u32, p: Vec3, d: Vec3) -> MediumVertex<'a> {
        let medium = &scene.media[medium as usize];
        let object = medium.transform.inverse().point(p);
        let positions = [p + scene.geometry.origin.as_vec3(), object];
        MediumVertex { surface: Surface::in_medium(p, d), medium, positions }
    }

    /// Returns the phase function.
    pub fn phase(&self) -> &'a ShaderInstance {
        &self.medium.phase
    }

    /// Sets the phase function as the material of an evaluator. `wo` is [`Vec3::Z`], or that
    /// rounded.
    pub fn begin(&self, material: &mut BoundEvaluator<'_>, wo: Vec3) {
        let n = self.surface.frame.n;
        let phase = (self.phase(), None);
        material.begin(phase, self.surface.lookup(), n, || self.positions, wo);
    }

    /// Samples a direction by the phase function. It is in the frame of the surface.
    pub fn sample_direction<'s>(
        &self,
        shading: &mut ShadingBuffers<'s>,
        scene: &'s Scene,
        u: Vec2,
    ) -> DirectionSample {
        let point = SampledPoint {
            n: self.surface.frame.n,
            wo: Vec3::Z,
            lookup: || self.surface.lookup(),
            positions: || self.positions,
        };
        let u = &Columns::splat(u.into());
        let (wi, bsdf) = point.sample(shading, scene, (self.phase(), None), (1, u));
        DirectionSample::first(&wi, &bsdf)
    }
}

/// A point at which a shader samples a direction.
struct SampledPoint<L, P> {
    n: Vec3,
    wo: Vec3,
    lookup: L,
    positions: P,
}

impl<'l, L: Fn() -> Lookup<'l>, P: Fn() -> [Vec3; 2]> SampledPoint<L, P> {
    /// Samples directions, one for each of the first `rows` pairs of random numbers, of which there
    /// are at most [`COLUMN_LEN`].
    fn sample<'s>(
        self,
        shading: &mut ShadingBuffers<'s>,
        scene: &'s Scene,
        material: (&ShaderInstance, Option<f32>),
        (rows, random): (usize, &Columns<2>),
    ) -> (Columns<3>, BsdfColumns) {
        let binding = &scene.shaders[material.0.shader as usize];
        let mut batch = shading.begin(binding, rows);
        let Columns([u, v]) = random;
        batch.set_points(0, [u, v], &Columns::splat(self.wo.into()));
        for row in 0..rows {
            batch.set_material(row, material, &self.lookup, self.n, &self.positions);
        }
        let (mut wi, mut bsdf) = (Columns::ZERO, BsdfColumns::default());
        batch.set_up().sample().directions(0, &mut wi, &mut bsdf);
        (wi, bsdf)
    }
}
