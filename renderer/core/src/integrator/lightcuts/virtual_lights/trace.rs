//! Paths from the lights, which leave virtual lights on surfaces and in media.

use super::emission::{EmissionSampler, EmittedRay};
use super::material_table::MaterialTableBuilder;
use super::media::{LightMedia, ParticleMedia};
use super::{LitPoint, MAX_CORRECTION, VirtualMaterial, VirtualMaterials, correction};
use crate::geometry::{Hit, Surface};
use crate::integrator::lightcuts::vertex::{MediumVertex, PathVertex};
use crate::integrator::material_bound::{BoundEvaluator, MaterialBounds};
use crate::integrator::medium_rays::medium_beyond;
use crate::integrator::mix::resolve_mix;
use crate::integrator::shading::{ShadingBuffers, eta_ratio};
use crate::integrator::shadow_terminator::soft_factor;
use crate::light_tree::{
    EmittingSide, LightTree, MAX_VIRTUAL_LIGHTS, PackedDirection, VirtualLight,
};
use crate::material::{GRAZING_COSINE, Material, PathWavelength};
use crate::medium::Walk;
use crate::scene::Scene;
use crate::settings::ShadowTerminator;
use lightbound_math::sampling::{RandomStream, hash};
use lightbound_math::{Aabb, Ray, Vec3, vec2};
use lightbound_shader::{SurfaceSides, Target};
use rayon::prelude::*;
use std::ops::Range;

/// Options for the paths from lights.
#[derive(Clone, Copy, Debug)]
pub(in crate::integrator::lightcuts) struct TraceOptions {
    /// Number of paths.
    pub paths: u32,
    /// Maximum number of surfaces and collisions along a path.
    pub max_events: u32,
    pub seed: u32,
    pub shadow_terminator: ShadowTerminator,
}

/// Number of paths that are traced together.
const CHUNK: u32 = 1024;

/// Traces paths from the lights in `tree`, in parallel, on the current rayon pool. Returns the
/// virtual lights and their materials; `None` if there are too many.
pub(in crate::integrator::lightcuts) fn trace(
    scene: &Scene,
    tree: &LightTree,
    materials: &MaterialBounds,
    options: &TraceOptions,
) -> Option<(Vec<VirtualLight>, VirtualMaterials)> {
    let (mut lights, mut table) = (Vec::new(), MaterialTableBuilder::default());
    let media = LightMedia::new(scene);
    let outer_bounds = media.map_or(Aabb::EMPTY, |media| media.outer_bounds(scene));
    let bounds = scene.accel.bounds().union(outer_bounds);
    let Some(emission) = EmissionSampler::new(&scene.lights, tree, bounds) else {
        return Some((lights, table.finished()));
    };
    let chunks: Vec<_> = (0..options.paths.div_ceil(CHUNK))
        .into_par_iter()
        .map(|chunk| {
            let first = chunk * CHUNK;
            let paths = first..(first + CHUNK).min(options.paths);
            Tracer::new(scene, &emission, media, materials, options).trace(paths)
        })
        .collect();
    for (chunk, chunk_table) in chunks {
        let moved = table.append(&chunk_table)?;
        lights.extend(
            chunk
                .into_iter()
                .map(|light| VirtualLight { material: moved[&light.material], ..light }),
        );
    }
    (lights.len() <= MAX_VIRTUAL_LIGHTS).then(|| (lights, table.finished()))
}

/// A path from a light, without its ray.
pub(super) struct Particle {
    /// Power, W, divided by the number of paths.
    pub power: Vec3,
    /// Medium around the ray, as in [`Walk::medium`].
    pub medium: u32,
    /// Ray parameter of the collision in a medium that ends the ray.
    pub collision: Option<f32>,
    /// Power over that at the last vertex, where roulette was: what media have not absorbed.
    pub transmittance: f32,
    /// Densities of the channels in media relative to their mean, as in
    /// [`ChannelWeights::delta`](crate::medium::ChannelWeights::delta).
    pub channel_densities: Vec3,
    pub random: RandomStream,
    /// Wavelength in nm from the first dispersion on; `None` for RGB.
    nm: Option<f32>,
    /// The ray that left the light, until the first vertex.
    emitted: Option<EmittedRay>,
}

impl Particle {
    /// Multiplies the power by the weight of a scattering event, and applies Russian roulette, which
    /// keeps the power of the paths that survive. `None` if the path ends.
    fn survive(&mut self, weight: Vec3, u: f32) -> Option<()> {
        let survival = (self.transmittance * weight.abs().max_element()).min(1.0);
        if survival.is_nan() || u >= survival {
            return None;
        }
        self.power *= weight / survival;
        self.transmittance = 1.0;
        Some(())
    }
}

/// Traces paths on one thread.
struct Tracer<'a> {
    scene: &'a Scene,
    emission: &'a EmissionSampler<'a>,
    options: &'a TraceOptions,
    material: BoundEvaluator<'a>,
    shading: ShadingBuffers<'a>,
    media: Option<ParticleMedia<'a>>,
    lights: Vec<VirtualLight>,
    table: MaterialTableBuilder,
}

impl<'a> Tracer<'a> {
    fn new(
        scene: &'a Scene,
        emission: &'a EmissionSampler<'a>,
        media: Option<LightMedia>,
        materials: &'a MaterialBounds,
        options: &'a TraceOptions,
    ) -> Tracer<'a> {
        let target =
            scene.shaders.first().map_or_else(Target::best, |binding| binding.program.target());
        Tracer {
            scene,
            emission,
            options,
            material: BoundEvaluator::new(materials),
            shading: ShadingBuffers::new(target, None),
            media: media.map(|media| ParticleMedia::new(scene, media)),
            lights: Vec::new(),
            table: MaterialTableBuilder::default(),
        }
    }

    fn trace(mut self, paths: Range<u32>) -> (Vec<VirtualLight>, MaterialTableBuilder) {
        let TraceOptions { paths: count, max_events, seed, .. } = *self.options;
        let (mut rays, mut particles) = (Vec::new(), Vec::new());
        for path in paths {
            let mut random = RandomStream::from_seed(hash(seed, path));
            // Stratified over all paths, so that each light gets its share.
            let u = (f64::from(path) + f64::from(random.next_float())) / f64::from(count);
            let time = self.scene.camera.time(random.next_float());
            let Some(emitted) = self.emission.sample(u, &mut random) else { continue };
            let ray = Ray { time, ..emitted.ray };
            let mut particle = Particle {
                power: emitted.power / count as f32,
                medium: Walk::NO_MEDIUM,
                collision: None,
                transmittance: 1.0,
                channel_densities: Vec3::ONE,
                random,
                nm: None,
                emitted: None,
            };
            if let Some(media) = &mut self.media {
                media.enter(&emitted, ray, &mut particle);
                if particle.power == Vec3::ZERO {
                    continue;
                }
            }
            rays.push(ray);
            particles.push(Particle { emitted: Some(emitted), ..particle });
        }
        let mut hits = Vec::new();
        for event in 1..=max_events {
            self.scene.accel.intersect_batch(&rays, &mut hits);
            if let Some(media) = &mut self.media {
                media.cross(&mut particles, &mut rays, &mut hits);
            }
            let mut next_rays = Vec::new();
            let mut next_particles = Vec::new();
            for ((particle, ray), hit) in particles.drain(..).zip(&rays).zip(&hits) {
                let is_last = event == max_events;
                let next = match particle.collision {
                    Some(t) => self.scatter_in_medium(particle, ray, t, is_last),
                    None => self.scatter(particle, ray, hit, is_last),
                };
                if let Some((ray, particle)) = next {
                    next_rays.push(ray);
                    next_particles.push(particle);
                }
            }
            (rays, particles) = (next_rays, next_particles);
            if rays.is_empty() {
                break;
            }
        }
        (self.lights, self.table)
    }

    /// Leaves a virtual light at a hit, and continues the path unless it `is_last`.
    fn scatter(
        &mut self,
        mut particle: Particle,
        ray: &Ray,
        hit: &Hit,
        is_last: bool,
    ) -> Option<(Ray, Particle)> {
        let scene = self.scene;
        if hit.is_miss() {
            return None;
        }
        let mut surface = scene.geometry.surface(hit, ray.d);
        if let Some(emitted) = particle.emitted.take() {
            particle.power *= self.emission.mask(&emitted, surface.p);
        }
        let mut random = || particle.random.next_float();
        let (mut lobe_u, u, v, roulette_u) = (random(), random(), random(), random());
        let material = resolve_mix(scene, hit, ray.d, &mut lobe_u);
        if let Some(frame) = scene.bumped_frame(hit, ray.d, &surface, material) {
            surface.frame = frame;
        }
        let wo = surface.frame.local_direction(-ray.d);
        if wo.z.abs() <= GRAZING_COSINE || particle.power == Vec3::ZERO {
            return None;
        }
        let Material::Surface { specular, scattering, .. } = &scene.materials[material as usize]
        else {
            unreachable!("resolve_mix returns a surface material")
        };
        let vertex = PathVertex { hit, d: ray.d, surface: &surface, wo };
        let mut shader_power = 1.0;
        if let Some(instance) = scattering {
            if instance.dispersive_index().is_some() {
                let (nm, colour) = PathWavelength { nm: particle.nm, u: lobe_u }.select();
                (particle.nm, particle.power) = (Some(nm), particle.power * colour);
            }
            if self.options.shadow_terminator == ShadowTerminator::Soft {
                // Light from a surface is not multiplied, but that which arrives there.
                shader_power *= soft_factor(-ray.d, surface.frame.n, surface.ng);
            }
            let sides = scene.shaders[instance.shader as usize].program.sides;
            let both_sides = sides == SurfaceSides::Both;
            let (side, wo) = vertex.mirrored(both_sides);
            let side = match (both_sides, side < 0.0) {
                (true, _) => EmittingSide::Both,
                (false, false) => EmittingSide::Front,
                (false, true) => EmittingSide::Back,
            };
            let rounded = PackedDirection::new(wo);
            // Rounding could move a grazing direction to the other side.
            if rounded.get().z * wo.z > 0.0 {
                self.material.begin(
                    (instance, particle.nm),
                    scene.lookup(hit, ray.d, &surface, instance.needs().at_point()),
                    surface.frame.n,
                    || scene.geometry.shader_positions(hit, surface.p),
                    rounded.get(),
                );
                let eta = instance.eta_at(particle.nm);
                let virtual_material = VirtualMaterial { shader: instance.shader, eta };
                let parameters = self.material.parameters();
                let lit = LitPoint {
                    surface: &surface,
                    side,
                    d: ray.d,
                    wo: rounded,
                    power: particle.power * shader_power,
                    eta,
                    material: self.table.add(material, virtual_material, parameters),
                };
                self.lights.extend(lit.virtual_light(&mut self.material));
            }
        }
        if is_last {
            return None;
        }
        let specular_probability = match (specular, scattering) {
            (Some(specular), Some(_)) => specular.sampling_probability(wo),
            (specular, _) => f32::from(u8::from(specular.is_some())),
        };
        let (d, weight, nm) = match (specular, scattering) {
            (Some(specular), _) if lobe_u < specular_probability => {
                let wavelength = PathWavelength { nm: particle.nm, u };
                let lobe_u = lobe_u / specular_probability;
                let lookup = scene.lookup(hit, ray.d, &surface, specular.needs().at_point());
                let next = specular.sample(lobe_u, wavelength, wo, &lookup)?;
                let d = surface.frame.to_world(next.wi);
                (d, next.weight * (next.eta * next.eta), next.nm)
            }
            (_, Some(instance)) => {
                let nm = particle.nm;
                let sample = vertex.sample_direction(
                    &mut self.shading,
                    scene,
                    (instance, nm),
                    instance.needs().at_point(),
                    vec2(u, v),
                );
                if sample.pdf <= 0.0 {
                    return None;
                }
                let sides = scene.shaders[instance.shader as usize].program.sides;
                let (_, wo) = vertex.mirrored(sides == SurfaceSides::Both);
                let d = vertex.to_world(scene, instance, sample.wi);
                let eta = eta_ratio(instance.eta_at(nm), sample.wi, wo);
                let corrections = correction(wo.z, surface.ng.dot(ray.d)).min(MAX_CORRECTION)
                    * correction(surface.ng.dot(d), sample.wi.z).min(MAX_CORRECTION);
                let choice = 1.0 - specular_probability;
                (d, sample.s / sample.pdf * (eta * eta * corrections * shader_power / choice), nm)
            }
            _ => return None,
        };
        particle.survive(weight, roulette_u)?;
        particle.nm = nm;
        particle.medium = medium_beyond(scene, hit, d, particle.medium);
        let ray = Ray { time: ray.time, ..Ray::new(surface.offset_ray_origin(d), d) };
        Some((ray, particle))
    }

    /// Leaves a virtual light where a path collides in a medium, at the ray parameter `t`, and
    /// continues the path unless it `is_last`.
    fn scatter_in_medium(
        &mut self,
        mut particle: Particle,
        ray: &Ray,
        t: f32,
        is_last: bool,
    ) -> Option<(Ray, Particle)> {
        let scene = self.scene;
        let (p, medium) = (ray.o + t * ray.d, particle.medium);
        if let Some(emitted) = particle.emitted.take() {
            particle.power *= self.emission.mask(&emitted, p);
        }
        if particle.power == Vec3::ZERO {
            return None;
        }
        let vertex = MediumVertex::new(scene, medium, p, ray.d);
        let wo = PackedDirection::new(Vec3::Z);
        vertex.begin(&mut self.material, wo.get());
        let eta = 1.0;
        let virtual_material = VirtualMaterial { shader: vertex.phase().shader, eta };
        // Media are numbered after the materials of surfaces.
        let index = scene.materials.len() as u32 + medium;
        let lit = LitPoint {
            // Any axis will do as the normal.
            surface: &Surface { ng: vertex.surface.frame.n, ..vertex.surface },
            side: EmittingSide::Both,
            d: ray.d,
            wo,
            power: particle.power,
            eta,
            material: self.table.add(index, virtual_material, self.material.parameters()),
        };
        self.lights.extend(lit.virtual_light(&mut self.material));
        if is_last {
            return None;
        }
        let [u, v, roulette_u] = [0; 3].map(|_| particle.random.next_float());
        let sample = vertex.sample_direction(&mut self.shading, scene, vec2(u, v));
        if sample.pdf <= 0.0 {
            return None;
        }
        particle.survive(sample.s / sample.pdf, roulette_u)?;
        particle.collision = None;
        let d = vertex.surface.frame.to_world(sample.wi);
        Some((Ray { time: ray.time, ..Ray::new(p, d) }, particle))
    }
}
