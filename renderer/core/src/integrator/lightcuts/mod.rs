//! Lightcuts (Walter et al. 2005): direct light of thousands of lights at the cost of hundreds,
//! with a bounded error, for arbitrary materials.
//!
//! All lights are converted to points and directions in trees ([`LightTree`]). For each shading
//! point, a cut through the trees replaces clusters of lights by representatives (`cut`) if
//! compiled bounding shaders prove that the error is small (Clarberg et al. 2010 §6.1;
//! Velázquez-Armendáriz et al. 2009). Alternatively, each cluster of a cut of fixed size is sampled
//! (`stochastic`).
//!
//! Specular paths are traced from the eye, up to `maxdepth` events. Only direct light is reflected
//! at other surfaces. Lights that are visible directly or by specular paths contribute their
//! radiance.

mod channels;
mod cut;
mod heap_entry;
mod lighting;
mod stochastic;
#[cfg(test)]
mod testing;

pub use self::channels::FILM_CHANNELS;

use self::channels::CutSample;
use self::cut::{Cut, Limits};
use self::lighting::{Lighting, ShadingPoint};
use self::stochastic::StochasticCut;
use super::material_bound::{BoundError, BoundEvaluator, MaterialBounds};
use super::samples::Samples;
use super::shading::{BsdfValue, ShadingBuffers};
use super::{Counts, CutCounts, Integrator, LightTreeFigures, Worker, eye};
use crate::film::{ChannelSpec, Tile};
use crate::geometry::{Hit, Surface};
use crate::integrator::IntegratorError;
use crate::light_tree::{LightTree, PointOptions};
use crate::material::{GRAZING_COSINE, Material, ShaderInstance};
use crate::scene::Scene;
use crate::settings;
use crate::settings::{LightcutsSettings, RenderSettings};
use lightbound_math::sampling::{PathKey, Sampler, hash, unit_float};
use lightbound_math::{Ray, Vec2, Vec3, Viewpoint, vec2};
use lightbound_shader::{SurfaceSides, Target};
use std::ops::Range;
use std::time::Instant;

/// The lightcuts integrator: settings, light trees and compiled bounds of a scene.
pub struct Lightcuts {
    max_depth: u32,
    cut: settings::Cut,
    checks: bool,
    tree: LightTree,
    figures: LightTreeFigures,
    materials: MaterialBounds,
}

impl Lightcuts {
    /// Builds the trees of a scene, and compiles its bounding shaders.
    ///
    /// *Errors*: a bounding shader cannot be compiled, or a material has no hand-derived bounds.
    pub fn new(
        scene: &Scene,
        max_depth: u32,
        settings: &LightcutsSettings,
    ) -> Result<Lightcuts, IntegratorError> {
        let started = Instant::now();
        let stochastic = matches!(settings.cut, settings::Cut::Stochastic { .. });
        let options = PointOptions {
            area_points: settings.area_points,
            environment_points: settings.environment_points,
            extents: stochastic,
            ..PointOptions::default()
        };
        let tree = LightTree::build(&scene.lights, scene.accel.bounds(), &options);
        let figures = LightTreeFigures {
            build: started.elapsed(),
            bytes: tree.bytes(),
            points: tree.points().len(),
        };
        let materials = MaterialBounds::compile(&scene.shaders, settings.bounds)
            .map_err(|error| material_error(scene, &error))?;
        Ok(Lightcuts {
            max_depth,
            cut: settings.cut,
            checks: settings.check_bounds,
            tree,
            figures,
            materials,
        })
    }
}

/// Adds the name of the material to an error.
fn material_error(scene: &Scene, error: &BoundError) -> IntegratorError {
    let has = |material: &Material, shader: &str| match material {
        Material::Surface { scattering: Some(instance), .. } => {
            scene.shaders[instance.shader as usize].program.name == shader
        }
        _ => false,
    };
    let materials = std::iter::zip(&scene.materials, &scene.material_names);
    let mut matching = materials
        .filter(|(material, _)| matches!(error, BoundError::Hand { name } if has(material, name)));
    let name = matching.next().map_or(String::new(), |(_, name)| format!("material \"{name}\": "));
    IntegratorError(format!("{name}{error}"))
}

impl Integrator for Lightcuts {
    fn name(&self) -> &'static str {
        "lightcuts"
    }

    fn light_tree(&self) -> Option<LightTreeFigures> {
        Some(self.figures)
    }

    fn film_channels(&self) -> &'static [ChannelSpec] {
        FILM_CHANNELS
    }

    fn worker<'a>(
        &'a self,
        scene: &'a Scene,
        settings: &'a RenderSettings,
    ) -> Box<dyn Worker + 'a> {
        Box::new(LightcutsWorker::new(scene, settings, self))
    }
}

/// State of a specular path from the eye. Its ray is stored separately.
#[derive(Clone, Copy)]
struct Path {
    throughput: Vec3,
    /// Index of the sample within the tile.
    sample: u32,
    key: PathKey,
}

/// The state of one thread. Rays and paths are parallel arrays.
struct LightcutsWorker<'a> {
    scene: &'a Scene,
    settings: &'a RenderSettings,
    integrator: &'a Lightcuts,
    sampler: Sampler,
    samples: Samples,
    /// Cut statistics of each sample.
    cuts: Vec<CutSample>,
    rays: Vec<Ray>,
    paths: Vec<Path>,
    next_rays: Vec<Ray>,
    next_paths: Vec<Path>,
    hits: Vec<Hit>,
    lighting: Lighting<'a>,
    cut: Cut,
    stochastic_cut: StochasticCut,
    /// Samples directions for the albedo.
    shading: ShadingBuffers<'a>,
    /// Number of shading points so far.
    points: u64,
}

/// One of this many shading points is timed, since reading the clock costs time.
const TIMING_INTERVAL: u64 = 16;

impl Worker for LightcutsWorker<'_> {
    fn render_tile(&mut self, samples: Range<u32>, tile: &Tile) -> Counts {
        let mut counts = Counts::default();
        self.start(&samples, tile);
        for depth in 0..=self.integrator.max_depth {
            if self.rays.is_empty() {
                break;
            }
            counts.rays += self.rays.len() as u64;
            self.scene.accel.intersect_batch(&self.rays, &mut self.hits);
            for index in 0..self.rays.len() {
                self.process_hit(index, depth, depth == 0 && tile.stores_features());
            }
            std::mem::swap(&mut self.rays, &mut self.next_rays);
            std::mem::swap(&mut self.paths, &mut self.next_paths);
            self.next_rays.clear();
            self.next_paths.clear();
        }
        counts.cuts = std::mem::take(&mut self.lighting.counts);
        counts.shadow_rays = counts.cuts.shadow_rays;
        counts.shading = self.lighting.material.take_counts();
        counts.shading += self.shading.take_counts();
        let mut sums = tile.lock();
        let gain = self.settings.gain;
        self.samples.write(&mut sums, |_, weight| weight * gain);
        if tile.stores_channels() {
            for (s, cut) in self.samples.iter().zip(&self.cuts) {
                // Filter weights may be negative.
                sums.add_channels(s.x, s.y, &cut.values((s.weight * gain).abs()));
            }
        }
        counts
    }
}

impl<'a> LightcutsWorker<'a> {
    fn new(
        scene: &'a Scene,
        settings: &'a RenderSettings,
        integrator: &'a Lightcuts,
    ) -> LightcutsWorker<'a> {
        let material = BoundEvaluator::new(&integrator.materials);
        let target =
            scene.shaders.first().map_or_else(Target::best, |binding| binding.program.target());
        LightcutsWorker {
            scene,
            settings,
            integrator,
            sampler: Sampler::new(settings.sampling.kind, settings.sampling.seed),
            samples: Samples::default(),
            cuts: Vec::new(),
            rays: Vec::new(),
            paths: Vec::new(),
            next_rays: Vec::new(),
            next_paths: Vec::new(),
            hits: Vec::new(),
            lighting: Lighting::new(scene, &integrator.tree, material, integrator.checks),
            cut: Cut::default(),
            stochastic_cut: StochasticCut::default(),
            shading: ShadingBuffers::new(target, None),
            points: 0,
        }
    }

    /// Generates the camera rays of all samples.
    fn start(&mut self, pixel_samples: &Range<u32>, tile: &Tile) {
        self.cuts.clear();
        self.rays.clear();
        self.paths.clear();
        self.samples.start(
            self.scene,
            &self.settings.filter,
            &self.sampler,
            pixel_samples,
            tile,
            |ray, sample, key| {
                self.rays.push(ray);
                self.paths.push(Path { throughput: Vec3::ONE, sample, key });
                self.cuts.push(CutSample::default());
            },
        );
    }

    /// Adds the emission and the reflected direct light at a hit, and continues the path by
    /// specular reflection or refraction.
    fn process_hit(&mut self, index: usize, depth: u32, features: bool) {
        let (scene, hit, ray, path) =
            (self.scene, self.hits[index], self.rays[index], self.paths[index]);
        if hit.is_miss() {
            let radiance: Vec3 =
                scene.lights.environments().map(|(_, light)| light.radiance(ray.d)).sum();
            self.samples.add(path.sample, path.throughput * radiance);
            return;
        }
        let surface = scene.geometry.surface(&hit);
        let primitive = &scene.geometry.primitives[hit.primitive as usize];
        if let Some(light) =
            primitive.first_light.and_then(|first| scene.lights.area(first + hit.element))
        {
            self.samples.add(path.sample, path.throughput * light.radiance(surface.ng, -ray.d));
        }
        let feature = features
            .then(|| self.samples.add_features(path.sample, eye::features(scene, &hit, &surface)));
        let wo = surface.frame.local_direction(-ray.d);
        let continues = depth < self.integrator.max_depth;
        let needs_shading = wo.z.abs() > GRAZING_COSINE && (continues || features);
        if !needs_shading {
            return;
        }
        let [mut lobe, u, v, _] = self.sampler.get4(path.key, 2 * depth + 2);
        let Material::Surface { specular, scattering } =
            &scene.materials[eye::resolve_mix(scene, &hit, &mut lobe) as usize]
        else {
            unreachable!("resolve_mix returns a surface material")
        };
        let at = EyeVertex { hit: &hit, surface: &surface, wo };
        let share = match (specular, scattering) {
            (Some(specular), Some(_)) => specular.share(wo),
            (specular, _) => f32::from(u8::from(specular.is_some())),
        };
        if let Some(instance) = scattering.as_ref().filter(|_| continues) {
            self.add_direct_light(&at, instance, &path, depth);
        }
        let mirror = specular.as_ref().filter(|_| lobe < share);
        let next = mirror.and_then(|mirror| mirror.sample(lobe / share, wo, &surface.lookup()));
        if let Some(feature) = feature {
            let mirrored = || next.map_or(Vec3::ZERO, |next| next.weight * next.eta * next.eta);
            let albedo = match scattering {
                Some(instance) if mirror.is_none() => {
                    self.albedo(&at, instance, vec2(u, v)) / (1.0 - share)
                }
                _ => mirrored(),
            };
            *self.samples.albedo(feature) = albedo;
        }
        if let Some(next) = next.filter(|_| continues) {
            let throughput = path.throughput * next.weight;
            // Paths with NaN continue, so that NaN shows up as an invalid sample.
            if throughput == Vec3::ZERO {
                return;
            }
            let d = surface.frame.to_world(next.wi);
            self.next_rays.push(Ray::new(surface.offset_ray_origin(d), d));
            self.next_paths.push(Path { throughput, ..path });
        }
    }

    /// Adds the direct light of all lights that a shader reflects.
    fn add_direct_light(
        &mut self,
        at: &EyeVertex<'_>,
        instance: &ShaderInstance,
        path: &Path,
        depth: u32,
    ) {
        let scene = self.scene;
        let both_sides =
            scene.shaders[instance.shader as usize].program.sides == SurfaceSides::Both;
        let (side, wo) = at.mirrored(both_sides);
        let view = Viewpoint::new(at.surface.p, &at.surface.frame, side);
        let point = ShadingPoint {
            surface: at.surface,
            view,
            both_sides,
            is_timed: self.points.is_multiple_of(TIMING_INTERVAL),
        };
        self.points += 1;
        let started = point.is_timed.then(Instant::now);
        self.lighting.material.begin(
            instance,
            at.surface,
            || scene.geometry.object_position(at.hit, at.surface.p),
            wo,
        );
        let done = |counts: &CutCounts| [counts.bound_evaluations, counts.shadow_rays];
        let before = done(&self.lighting.counts);
        let (radiance, size, error, capped) = match self.integrator.cut {
            settings::Cut::Deterministic { error, error_mode, max_cut } => {
                let limits = Limits { error, mode: error_mode, max_cut };
                let found = self.cut.compute(&mut self.lighting, &point, &limits);
                (found.radiance, found.size, found.error, found.capped)
            }
            settings::Cut::Stochastic { size } => {
                let [a, b, ..] = self.sampler.get4(path.key, 2 * depth + 1);
                let (seed, mut count) = (hash(hash(a.to_bits(), b.to_bits()), depth), 0);
                let random = || {
                    count += 1;
                    unit_float(hash(seed, count))
                };
                let found = self.stochastic_cut.compute(
                    &mut self.lighting,
                    &point,
                    &scene.lights,
                    size,
                    random,
                );
                (found.radiance, found.size, 0.0, false)
            }
        };
        let counts = &mut self.lighting.counts;
        counts.sizes.add(size);
        counts.capped += u64::from(capped);
        if let Some(started) = started {
            counts.times.total += started.elapsed();
        }
        let [bound_evaluations, shadow_rays] =
            std::array::from_fn(|k| (done(counts)[k] - before[k]) as u32);
        self.samples.add(path.sample, path.throughput * radiance);
        let cut = &mut self.cuts[path.sample as usize];
        cut.cut_size += size;
        cut.bound_evaluations += bound_evaluations;
        cut.shadow_rays += shadow_rays;
        cut.error_bound += path.throughput.max_element() * error;
    }

    /// Estimates the albedo by the weight of a BSDF sample.
    fn albedo(&mut self, at: &EyeVertex<'_>, instance: &ShaderInstance, u: Vec2) -> Vec3 {
        let scene = self.scene;
        let binding = &scene.shaders[instance.shader as usize];
        let (_, wo) = at.mirrored(binding.program.sides == SurfaceSides::Both);
        let object = || scene.geometry.object_position(at.hit, at.surface.p);
        let mut batch = self.shading.begin(binding, 1);
        batch.push(instance, at.surface, object, (u, wo));
        let (wi, BsdfValue { s, pdf }) = batch.set_up().sample().direction(0);
        let eta = eye::eta_ratio(instance.eta, wi, wo);
        if pdf > 0.0 { s / pdf * eta * eta } else { Vec3::ZERO }
    }
}

/// A surface that the eye sees, directly or by a specular path.
struct EyeVertex<'a> {
    hit: &'a Hit,
    surface: &'a Surface,
    /// Outgoing direction in the shading frame.
    wo: Vec3,
}

impl EyeVertex<'_> {
    /// Returns −1 if the frame is mirrored for a one-sided shader, else 1, and `wo` in that frame.
    fn mirrored(&self, both_sides: bool) -> (f32, Vec3) {
        if both_sides {
            (1.0, self.wo)
        } else {
            (1f32.copysign(self.wo.z), self.wo.with_z(self.wo.z.abs()))
        }
    }
}
