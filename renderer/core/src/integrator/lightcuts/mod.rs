//! Lightcuts (Walter et al. 2005): direct light of thousands of lights at the cost of hundreds,
//! with a bounded error, for arbitrary materials.
//!
//! All lights are converted to points and directions in trees ([`LightTree`]). For each shading
//! point, a cut through the trees replaces clusters of lights by representatives (`cut`) if
//! compiled bounding shaders prove that the error is small (Clarberg et al. 2010 §6.1;
//! Velázquez-Armendáriz et al. 2009). Alternatively, each cluster of a cut of fixed size is sampled
//! (`stochastic`).
//!
//! Or all shading points of several samples of a pixel have one cut, through pairs of their clusters
//! and of clusters of lights (`gather`; Walter et al. 2006).
//!
//! Paths start at the camera and continue at specular surfaces only, for up to `maxdepth` events.
//! Other surfaces reflect direct light and, with `virtual_lights`, indirect light. Lights that a path
//! hits contribute their radiance.

mod channels;
mod cut;
mod gather;
mod heap_entry;
mod in_scattering;
mod lighting;
mod stochastic;
#[cfg(test)]
mod testing;
mod vertex;
mod virtual_lights;

pub use self::channels::{FILM_CHANNELS, GATHER_CHANNELS};

use self::channels::SampleCutStats;
use self::cut::{DeterministicCut, StopCriteria};
use self::gather::Gather;
use self::in_scattering::InScattering;
use self::lighting::{Lighting, ShadingPoint};
use self::stochastic::StochasticCut;
use self::vertex::PathVertex;
use self::virtual_lights::{TraceOptions, VirtualLightEvaluator, VirtualLights};
use super::material_bound::{BoundError, BoundEvaluator, MaterialBounds};
use super::medium_rays::{MediumRays, has_media, media_around, medium_beyond, medium_index};
use super::mix::resolve_mix;
use super::samples::TileSamples;
use super::shading::{ShadingBuffers, eta_ratio};
use super::shadow_terminator::soft_factor;
use super::{Counts, CutCounts, Integrator, LightTreeStats, Worker};
use crate::film::{ChannelSpec, FeatureLayers, Tile};
use crate::geometry::{Hit, Surface};
use crate::integrator::IntegratorError;
use crate::light_tree::{LightTree, PointOptions};
use crate::material::{GRAZING_COSINE, Material, PathWavelength, ShaderInstance};
use crate::medium::{ChannelWeights, MediumInterface, Tracking, Walk};
use crate::scene::Scene;
use crate::settings;
use crate::settings::{
    BoundMode, LightcutsSettings, RenderSettings, ShadowTerminator, VirtualLightSettings,
};
use lightbound_math::sampling::{PathKey, RandomStream, hash, unit_float};
use lightbound_math::{Frame, Ray, Vec2, Vec3, Viewpoint, vec2};
use lightbound_shader::{SurfaceSides, Target};
use std::ops::Range;
use std::time::Instant;

/// The lightcuts integrator: settings, light trees and bounding shaders of a scene.
pub struct Lightcuts {
    max_depth: u32,
    cut: settings::Cut,
    /// See [`LightcutsSettings::gather`].
    gather: u32,
    check_bounds: bool,
    tree: LightTree,
    tree_stats: LightTreeStats,
    materials: MaterialBounds,
    /// Indirect light, if there is any.
    indirect: Option<Indirect>,
}

/// The virtual lights, and how they are clamped.
struct Indirect {
    lights: VirtualLights,
    /// Distance below which their light does not increase.
    clamp_distance: f32,
    /// Whether rays compensate for clamping.
    compensation: bool,
}

/// Seed of the paths from lights.
const LIGHT_PATH_SEED: u32 = 0x11_9857;

impl Lightcuts {
    /// Builds the trees of a scene, and compiles its bounding shaders.
    ///
    /// # Errors
    /// If a bounding shader cannot be compiled, or the settings require hand-derived bounds and a
    /// material has none.
    pub fn new(
        scene: &Scene,
        max_depth: u32,
        shadow_terminator: ShadowTerminator,
        settings: &LightcutsSettings,
    ) -> Result<Lightcuts, IntegratorError> {
        if scene.lights.any_moves() {
            let message = "lightcuts cannot render lights that move; use the integrator path";
            return Err(IntegratorError(message.to_string()));
        }
        if settings.gather > 1 {
            let unsupported = match (settings.cut, settings.bounds) {
                (settings::Cut::Stochastic { .. }, _) => Some("the mode deterministic"),
                (_, BoundMode::Hand) => Some("compiled bounds, such as --bounds related"),
                _ => None,
            };
            if let Some(needed) = unsupported {
                return Err(IntegratorError(format!("cuts of several samples need {needed}")));
            }
        }
        let started = Instant::now();
        let stochastic = matches!(settings.cut, settings::Cut::Stochastic { .. });
        let options = PointOptions {
            area_points: settings.area_points,
            environment_points: settings.environment_points,
            extents: stochastic,
            ..PointOptions::default()
        };
        let mut tree = LightTree::build(&scene.lights, scene.accel.bounds(), &options);
        let compile = match settings.gather {
            1 => MaterialBounds::compile,
            _ => MaterialBounds::compile_for_clusters,
        };
        let materials = compile(&scene.shaders, settings.bounds)
            .map_err(|error| material_error(scene, &error))?;
        let indirect = match &settings.virtual_lights {
            Some(virtual_lights) if max_depth > 1 => {
                let options = TraceOptions {
                    paths: virtual_lights.paths,
                    max_events: max_depth - 1,
                    clamp_distance: clamp_distance(scene, virtual_lights),
                    seed: LIGHT_PATH_SEED,
                    shadow_terminator,
                };
                let compensation = virtual_lights.compensation;
                Some(Indirect::new(scene, &mut tree, &materials, &options, compensation)?)
            }
            _ => None,
        };
        let tree_stats = LightTreeStats {
            build: started.elapsed(),
            bytes: tree.bytes() + indirect.as_ref().map_or(0, |indirect| indirect.lights.bytes()),
            points: tree.points().len(),
            virtual_lights: indirect.as_ref().map_or(0, |indirect| indirect.lights.len()),
        };
        Ok(Lightcuts {
            max_depth,
            cut: settings.cut,
            gather: settings.gather,
            check_bounds: settings.check_bounds,
            tree,
            tree_stats,
            materials,
            indirect,
        })
    }
}

impl Indirect {
    /// Traces virtual lights, and adds them to the tree.
    fn new(
        scene: &Scene,
        tree: &mut LightTree,
        materials: &MaterialBounds,
        options: &TraceOptions,
        compensation: bool,
    ) -> Result<Indirect, IntegratorError> {
        if has_media(scene) {
            let message = "lightcuts has no indirect light in scenes with participating media; \
                           leave out the paths from lights, or use the integrator path";
            return Err(IntegratorError(message.to_string()));
        }
        let (lights, points) = virtual_lights::trace(scene, tree, materials, options);
        if points.len() > MAX_VIRTUAL_LIGHTS {
            let message = format!(
                "the paths from lights hit {} surfaces, more than the {MAX_VIRTUAL_LIGHTS} that \
                 lightcuts can use; trace fewer paths",
                points.len()
            );
            return Err(IntegratorError(message));
        }
        tree.add_virtual_lights(&points, scene.accel.bounds());
        Ok(Indirect { lights, clamp_distance: options.clamp_distance, compensation })
    }
}

/// Returns the distance below which virtual lights do not get brighter.
fn clamp_distance(scene: &Scene, settings: &VirtualLightSettings) -> f32 {
    let automatic = || {
        let bounds = scene.accel.bounds();
        let size = (bounds.max - bounds.min).max(Vec3::ZERO);
        let area = 2.0 * (size.x * size.y + size.y * size.z + size.z * size.x);
        AUTOMATIC_CLAMP * (area / settings.paths as f32).sqrt()
    };
    settings.clamp_distance.unwrap_or_else(automatic).clamp(f32::MIN_POSITIVE, f32::MAX)
}

/// Maximum number of virtual lights: fewer than the leaves of a light tree.
const MAX_VIRTUAL_LIGHTS: usize = 1 << 30;

/// The automatic clamp distance over the distance between virtual lights on the scene's bounding
/// box. A virtual light then adds little to the light of a point at this distance.
const AUTOMATIC_CLAMP: f32 = 2.0;

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

    fn light_tree(&self) -> Option<LightTreeStats> {
        Some(self.tree_stats)
    }

    fn film_channels(&self) -> &'static [ChannelSpec] {
        if self.gather > 1 { GATHER_CHANNELS } else { FILM_CHANNELS }
    }

    fn worker<'a>(
        &'a self,
        scene: &'a Scene,
        settings: &'a RenderSettings,
    ) -> Box<dyn Worker + 'a> {
        Box::new(LightcutsWorker::new(scene, settings, self))
    }
}

/// State of a specular path from the camera. Its ray is stored separately.
#[derive(Clone, Copy)]
struct Path {
    throughput: Vec3,
    /// Wavelength in nm from the first dispersion on; `None` for RGB.
    nm: Option<f32>,
    /// Medium around the ray, as in [`Walk::medium`].
    medium: u32,
    /// Index of the sample within the tile.
    sample: u32,
    key: PathKey,
    /// Number of successive rays that compensate for clamping, up to the last one.
    compensations: u32,
}

/// The state of one thread. Rays and paths are parallel arrays.
struct LightcutsWorker<'a> {
    scene: &'a Scene,
    settings: &'a RenderSettings,
    integrator: &'a Lightcuts,
    samples: TileSamples<'a>,
    /// Cut statistics of each sample.
    cut_stats: Vec<SampleCutStats>,
    rays: Vec<Ray>,
    paths: Vec<Path>,
    next_rays: Vec<Ray>,
    next_paths: Vec<Path>,
    hits: Vec<Hit>,
    lighting: Lighting<'a>,
    deterministic_cut: DeterministicCut,
    stochastic_cut: StochasticCut,
    gather: Gather,
    /// Samples directions for the albedo.
    shading: ShadingBuffers<'a>,
    /// Number of cuts so far.
    cuts: u64,
    has_media: bool,
    media: MediumRays<'a>,
    in_scattering: InScattering<'a>,
    /// The parts of the rays that are in media.
    crossings: Vec<Walk>,
}

/// First sets of sampler dimensions in media, beyond those of any scattering event: for the
/// transmittance of rays, and for points that scatter light.
const TRANSMITTANCE_SETS: u32 = 0x4000_0000;
const SCATTERING_SETS: u32 = 0x8000_0000;

/// One in `TIMING_INTERVAL` cuts is timed, since reading the clock costs time.
const TIMING_INTERVAL: u64 = 16;

impl Worker for LightcutsWorker<'_> {
    fn render_tile(&mut self, samples: Range<u32>, tile: &Tile) -> Counts {
        let mut counts = Counts::default();
        self.start(&samples, tile);
        for depth in 0.. {
            if self.rays.is_empty() {
                break;
            }
            counts.rays += self.rays.len() as u64;
            self.scene.accel.intersect_batch(&self.rays, &mut self.hits);
            if self.has_media {
                self.cross_media(depth);
            }
            let features = if depth == 0 { tile.features() } else { FeatureLayers::NONE };
            for index in 0..self.rays.len() {
                self.process_hit(index, depth, features);
            }
            std::mem::swap(&mut self.rays, &mut self.next_rays);
            std::mem::swap(&mut self.paths, &mut self.next_paths);
            self.next_rays.clear();
            self.next_paths.clear();
        }
        self.compute_gather_cuts();
        counts.cuts = std::mem::take(&mut self.lighting.counts);
        counts.shadow_rays = counts.cuts.shadow_rays;
        counts.shading = self.lighting.material.take_counts();
        counts.shading += self.shading.take_counts();
        counts.shading += self.lighting.take_virtual_light_counts();
        counts.media = self.media.take_counts();
        counts.media += self.in_scattering.take_counts();
        let mut sums = tile.lock();
        let gain = self.settings.gain;
        self.samples.add_to(&mut sums, |_, weight| weight * gain);
        if tile.stores_channels() {
            for (s, cut_stats) in self.samples.iter().zip(&self.cut_stats) {
                match self.integrator.gather {
                    1 => sums.add_channels(s.x, s.y, &cut_stats.values(gain)),
                    _ => sums.add_channels(s.x, s.y, &cut_stats.gather_values(gain)),
                }
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
        let virtual_lights = integrator
            .indirect
            .as_ref()
            .map(|indirect| VirtualLightEvaluator::new(&indirect.lights, &integrator.materials));
        let target =
            scene.shaders.first().map_or_else(Target::best, |binding| binding.program.target());
        LightcutsWorker {
            scene,
            settings,
            integrator,
            samples: TileSamples::new(scene, settings),
            cut_stats: Vec::new(),
            rays: Vec::new(),
            paths: Vec::new(),
            next_rays: Vec::new(),
            next_paths: Vec::new(),
            hits: Vec::new(),
            lighting: Lighting::new(scene, &integrator.tree, material, integrator.check_bounds)
                .with_virtual_lights(virtual_lights),
            deterministic_cut: DeterministicCut::default(),
            stochastic_cut: StochasticCut::default(),
            gather: Gather::default(),
            shading: ShadingBuffers::new(target, None),
            cuts: 0,
            has_media: has_media(scene),
            media: MediumRays::new(scene),
            in_scattering: InScattering::default(),
            crossings: Vec::new(),
        }
    }

    /// Generates the camera rays of all samples.
    fn start(&mut self, pixel_samples: &Range<u32>, tile: &Tile) {
        self.cut_stats.clear();
        self.gather.points.clear();
        self.rays.clear();
        self.paths.clear();
        self.samples.start(pixel_samples, tile, |ray, sample, key| {
            self.rays.push(ray);
            let medium = medium_index(self.scene.camera_medium);
            let (throughput, nm, compensations) = (Vec3::ONE, None, 0);
            self.paths.push(Path { throughput, nm, medium, sample, key, compensations });
        });
        self.cut_stats.resize(self.samples.len() as usize, SampleCutStats::default());
    }

    /// Attenuates the paths by the media between their last vertices and their hits, and adds the
    /// light that media scatter and emit on the way.
    fn cross_media(&mut self, depth: u32) {
        let (scene, sampler) = (self.scene, self.samples.sampler);
        let random =
            |path: &Path, set: u32| RandomStream::new(&sampler, path.key, set.wrapping_add(depth));
        let walks = (0..).zip(&self.paths).map(|(index, path)| {
            let weights = ChannelWeights::new(path.throughput, Vec3::ONE);
            Walk::new(index, path.medium, weights, random(path, TRANSMITTANCE_SETS))
        });
        self.crossings.clear();
        let (rays, hits, crossings) = (&mut self.rays, &mut self.hits, &mut self.crossings);
        let walks = self.media.track(scene, Tracking::Ratio, walks, rays, hits, |walk| {
            crossings.push(*walk);
        });
        for Walk { index, medium, weights, .. } in walks {
            let path = &mut self.paths[*index as usize];
            (path.throughput, path.medium) = (weights.value, *medium);
        }
        let mut crossings = std::mem::take(&mut self.crossings);
        if depth < self.integrator.max_depth {
            for walk in &crossings {
                let path = self.paths[walk.index as usize];
                self.add_in_scattering(walk, &path, depth, random(&path, SCATTERING_SETS));
            }
        }
        crossings.clear();
        self.crossings = crossings;
    }

    /// Adds the light that a medium scatters or emits towards the start of a ray.
    fn add_in_scattering(&mut self, walk: &Walk, path: &Path, depth: u32, random: RandomStream) {
        let scene = self.scene;
        let (medium, ray) = (&scene.media[walk.medium as usize], self.rays[walk.index as usize]);
        let lights = &self.integrator.tree;
        let Some(sample) = self.in_scattering.sample(medium, walk, &ray, lights, random) else {
            return;
        };
        self.samples.add(path.sample, sample.emission);
        let (p, wo) = (sample.p, -ray.d.normalize());
        let frame = Frame::from_normal(wo);
        let surface = Surface { p, ng: Vec3::ZERO, frame, uv: Vec2::ZERO, offset: 0.0 };
        let around = MediumInterface { inside: Some(walk.medium), outside: Some(walk.medium) };
        let point = ShadingPoint {
            surface,
            view: Viewpoint::new(p, &frame, 1.0),
            both_sides: true,
            media: around,
            seed: hash(hash(path.key.hash(), depth), 1),
            time: ray.time,
            has_soft_terminator: false,
            has_virtual_lights: false,
            is_timed: self.cuts.is_multiple_of(TIMING_INTERVAL),
        };
        self.cuts += 1;
        let started = point.is_timed.then(Instant::now);
        let origin = scene.geometry.origin.as_vec3();
        self.lighting.material.begin(
            (&medium.phase, None),
            surface.lookup(),
            wo,
            || [p + origin, medium.transform.inverse().point(p)],
            Vec3::Z,
        );
        let path = Path { throughput: sample.throughput, ..*path };
        self.add_cut(&point, &path, depth, started);
    }

    /// Adds the emission and the reflected direct light at a hit, and continues the path by
    /// specular reflection or refraction. `features` are the denoiser features to record.
    fn process_hit(&mut self, index: usize, depth: u32, features: FeatureLayers) {
        let (scene, hit, ray, mut path) =
            (self.scene, self.hits[index], self.rays[index], self.paths[index]);
        if path.throughput == Vec3::ZERO {
            return;
        }
        if path.compensations > 0 {
            self.process_compensation(index, depth);
            return;
        }
        if hit.is_miss() {
            let lights = &scene.lights;
            let radiance: Vec3 =
                lights.environments().map(|(_, light)| light.radiance(ray.d)).sum();
            let behind_portals = lights.portals().map(|(_, light)| light.radiance(ray.o, ray.d));
            let radiance = behind_portals.fold(radiance, |sum, radiance| sum + radiance);
            self.samples.add(path.sample, path.throughput * radiance);
            return;
        }
        let mut surface = scene.geometry.surface(&hit, ray.d);
        if let Some(light) = scene.geometry.light(&hit).and_then(|light| scene.lights.area(light)) {
            let le = light.radiance(surface.ng, surface.uv, -ray.d);
            self.samples.add(path.sample, path.throughput * le);
        }
        let [mut lobe_u, u, v, _] = self.samples.sampler.get4(path.key, 2 * depth + 2);
        let material = resolve_mix(scene, &hit, ray.d, &mut lobe_u);
        if let Some(frame) = scene.bumped_frame(&hit, ray.d, &surface, material) {
            surface.frame = frame;
        }
        let feature_index =
            (!features.is_empty()).then(|| self.samples.add_features(path.sample, &hit, &surface));
        let wo = surface.frame.local_direction(-ray.d);
        let continues = depth < self.integrator.max_depth;
        let needs_shading = wo.z.abs() > GRAZING_COSINE && (continues || features.albedo);
        if !needs_shading {
            return;
        }
        let Material::Surface { specular, scattering, .. } = &scene.materials[material as usize]
        else {
            unreachable!("resolve_mix returns a surface material")
        };
        let vertex = PathVertex { hit: &hit, d: ray.d, surface: &surface, wo };
        let specular_probability = match (specular, scattering) {
            (Some(specular), Some(_)) => specular.sampling_probability(wo),
            (specular, _) => f32::from(u8::from(specular.is_some())),
        };
        if let Some(instance) = scattering.as_ref().filter(|_| continues) {
            if instance.dispersive_index().is_some() {
                // The shader does not use `lobe_u`.
                let (nm, colour) = PathWavelength { nm: path.nm, u: lobe_u }.select();
                (path.nm, path.throughput) = (Some(nm), path.throughput * colour);
            }
            self.add_reflected_light(&vertex, instance, &path, depth);
            self.compensate(&vertex, instance, &path, vec2(u, v), depth);
        }
        let sampled_specular = specular.as_ref().filter(|_| lobe_u < specular_probability);
        let next = sampled_specular.and_then(|specular| {
            let wavelength = PathWavelength { nm: path.nm, u };
            let lookup = scene.lookup(&hit, ray.d, &surface, specular.needs_footprint());
            specular.sample(lobe_u / specular_probability, wavelength, wo, &lookup)
        });
        if let Some(feature_index) = feature_index.filter(|_| features.albedo) {
            let albedo = match scattering {
                Some(instance) if sampled_specular.is_none() => {
                    self.albedo(&vertex, instance, vec2(u, v)) / (1.0 - specular_probability)
                }
                _ => next.map_or(Vec3::ZERO, |next| next.weight * next.eta * next.eta),
            };
            *self.samples.albedo_mut(feature_index) = albedo;
        }
        if let Some(next) = next.filter(|_| continues) {
            let throughput = path.throughput * next.weight;
            // Paths with NaN continue, so that NaN shows up as an invalid sample.
            if throughput == Vec3::ZERO {
                return;
            }
            let d = surface.frame.to_world(next.wi);
            self.next_rays
                .push(Ray { time: ray.time, ..Ray::new(surface.offset_ray_origin(d), d) });
            let medium = medium_beyond(scene, &hit, d, path.medium);
            self.next_paths.push(Path { throughput, nm: next.nm, medium, ..path });
        }
    }

    fn has_soft_terminator(&self) -> bool {
        self.settings.integrator.shadow_terminator == ShadowTerminator::Soft
    }

    /// Returns whether virtual lights illuminate a vertex of a path. Vertices that compensate have the
    /// depth of the surfaces of paths from lights.
    fn has_virtual_lights(&self, path: &Path, depth: u32) -> bool {
        let surfaces = if path.compensations > 0 { path.compensations } else { depth };
        surfaces + 2 <= self.integrator.max_depth
    }

    /// Continues a path with a ray that finds the light lost to clamping.
    fn compensate(
        &mut self,
        vertex: &PathVertex<'_>,
        instance: &ShaderInstance,
        path: &Path,
        u: Vec2,
        depth: u32,
    ) {
        let Some(indirect) = self.integrator.indirect.as_ref().filter(|i| i.compensation) else {
            return;
        };
        if !self.has_virtual_lights(path, depth) {
            return;
        }
        let needs_footprint = instance.needs_footprint();
        let material = (instance, path.nm);
        let sample =
            vertex.sample_direction(&mut self.shading, self.scene, material, needs_footprint, u);
        let d = vertex.to_world(self.scene, instance, sample.wi);
        let mut throughput = path.throughput * sample.s / sample.pdf;
        if self.has_soft_terminator() {
            throughput *= soft_factor(d, vertex.surface.frame.n, vertex.surface.ng);
        }
        if sample.pdf <= 0.0 || throughput == Vec3::ZERO {
            return;
        }
        let origin = vertex.surface.offset_ray_origin(d);
        let (time, tmax) = (vertex.hit.time, indirect.clamp_distance);
        self.next_rays.push(Ray { time, tmax, ..Ray::new(origin, d) });
        let compensations = path.compensations + 1;
        self.next_paths.push(Path { throughput, compensations, ..*path });
    }

    /// Adds the light of a surface that a compensating ray hits.
    fn process_compensation(&mut self, index: usize, depth: u32) {
        let (scene, hit, ray, mut path) =
            (self.scene, self.hits[index], self.rays[index], self.paths[index]);
        let Some(indirect) = self.integrator.indirect.as_ref().filter(|_| !hit.is_miss()) else {
            return;
        };
        let mut surface = scene.geometry.surface(&hit, ray.d);
        // The share that clamping takes away. It is the probability that the path survives.
        let ratio = surface.p.distance(ray.o) / indirect.clamp_distance;
        let [mut lobe_u, u, v, roulette_u] = self.samples.sampler.get4(path.key, 2 * depth + 2);
        if roulette_u >= 1.0 - ratio * ratio {
            return;
        }
        let material = resolve_mix(scene, &hit, ray.d, &mut lobe_u);
        if let Some(frame) = scene.bumped_frame(&hit, ray.d, &surface, material) {
            surface.frame = frame;
        }
        let wo = surface.frame.local_direction(-ray.d);
        if let Material::Surface { scattering: Some(instance), .. } =
            &scene.materials[material as usize]
            && wo.z.abs() > GRAZING_COSINE
        {
            if instance.dispersive_index().is_some() {
                let (nm, colour) = PathWavelength { nm: path.nm, u: lobe_u }.select();
                (path.nm, path.throughput) = (Some(nm), path.throughput * colour);
            }
            let vertex = PathVertex { hit: &hit, d: ray.d, surface: &surface, wo };
            self.add_reflected_light(&vertex, instance, &path, depth);
            self.compensate(&vertex, instance, &path, vec2(u, v), depth);
        }
    }

    /// Adds the light that a shader reflects from all lights.
    fn add_reflected_light(
        &mut self,
        vertex: &PathVertex<'_>,
        instance: &ShaderInstance,
        path: &Path,
        depth: u32,
    ) {
        let scene = self.scene;
        let both_sides =
            scene.shaders[instance.shader as usize].program.sides == SurfaceSides::Both;
        let (side, wo) = vertex.mirrored(both_sides);
        let view = Viewpoint::new(vertex.surface.p, &vertex.surface.frame, side);
        let point = ShadingPoint {
            surface: *vertex.surface,
            view,
            both_sides,
            media: media_around(scene, vertex.hit, path.medium),
            seed: hash(path.key.hash(), depth),
            time: vertex.hit.time,
            has_soft_terminator: self.has_soft_terminator(),
            has_virtual_lights: self.has_virtual_lights(path, depth),
            is_timed: self.cuts.is_multiple_of(TIMING_INTERVAL),
        };
        self.cuts += 1;
        let started = point.is_timed.then(Instant::now);
        self.lighting.material.begin(
            (instance, path.nm),
            scene.lookup(vertex.hit, vertex.d, vertex.surface, instance.needs_footprint()),
            vertex.surface.frame.n,
            || scene.geometry.shader_positions(vertex.hit, vertex.surface.p),
            wo,
        );
        self.add_cut(&point, path, depth, started);
    }

    /// Adds the direct light at a shading point, whose material is set, or makes it a gather point.
    /// `started` is when the work at the point started, if it is timed.
    fn add_cut(&mut self, point: &ShadingPoint, path: &Path, depth: u32, started: Option<Instant>) {
        if self.integrator.gather > 1 {
            let weight = self.samples.weight(path.sample);
            let throughput = path.throughput;
            if !(throughput * weight).is_finite() {
                // An invalid sample of its own, which leaves the group as it is.
                self.samples.add(path.sample, Vec3::NAN);
                return;
            }
            self.gather.points.add(&self.lighting, point, path.sample, throughput, weight);
            return;
        }
        let before = work(&self.lighting.counts);
        let (radiance, size, error, capped) = match self.integrator.cut {
            settings::Cut::Deterministic { error, error_mode, max_cut } => {
                let criteria = StopCriteria { error, mode: error_mode, max_cut };
                let cut = self.deterministic_cut.compute(&mut self.lighting, point, &criteria);
                (cut.radiance, cut.size, cut.error, cut.capped)
            }
            settings::Cut::Stochastic { size } => {
                let [a, b, ..] = self.samples.sampler.get4(path.key, 2 * depth + 1);
                let (seed, mut count) = (hash(hash(a.to_bits(), b.to_bits()), depth), 0);
                let random = || {
                    count += 1;
                    unit_float(hash(seed, count))
                };
                let cut = self.stochastic_cut.compute(
                    &mut self.lighting,
                    point,
                    &self.scene.lights,
                    size,
                    random,
                );
                (cut.radiance, cut.size, 0.0, false)
            }
        };
        let counts = &mut self.lighting.counts;
        counts.sizes.add(size);
        counts.capped += u64::from(capped);
        if let Some(started) = started {
            counts.times.total += started.elapsed();
        }
        let [bound_evaluations, shadow_rays] =
            std::array::from_fn(|k| (work(counts)[k] - before[k]) as u32);
        self.samples.add(path.sample, path.throughput * radiance);
        let weight = self.samples.weight(path.sample);
        let stats = &mut self.cut_stats[path.sample as usize];
        stats.cut_size += size;
        stats.bound_evaluations += bound_evaluations;
        stats.shadow_rays += shadow_rays;
        stats.error_bound += path.throughput.abs().max_element() * error * weight.abs();
    }

    /// Adds the direct light at all gather points.
    fn compute_gather_cuts(&mut self) {
        let settings::Cut::Deterministic { error, error_mode, max_cut } = self.integrator.cut
        else {
            return;
        };
        let criteria = StopCriteria { error, mode: error_mode, max_cut };
        for (first_sample, group) in self.gather.groups(self.integrator.gather) {
            let is_timed = self.cuts.is_multiple_of(TIMING_INTERVAL);
            self.cuts += 1;
            let started = is_timed.then(Instant::now);
            let before = work(&self.lighting.counts);
            let (lighting, samples) = (&mut self.lighting, &mut self.samples);
            let add = |sample, radiance| samples.add(sample, radiance);
            let cut = self.gather.compute(lighting, group, &criteria, is_timed, add);
            let counts = &mut self.lighting.counts;
            counts.sizes.add(cut.pairs);
            counts.gather_points += u64::from(cut.points);
            counts.pairs += u64::from(cut.pairs);
            counts.capped += u64::from(cut.capped);
            if let Some(started) = started {
                counts.times.total += started.elapsed();
            }
            let [bound_evaluations, shadow_rays] =
                std::array::from_fn(|k| (work(counts)[k] - before[k]) as u32);
            self.cut_stats[first_sample as usize] = SampleCutStats {
                gather_points: cut.points,
                cut_size: cut.pairs,
                bound_evaluations,
                shadow_rays,
                error_bound: cut.error,
            };
        }
    }

    /// Estimates the albedo by the weight of a BSDF sample.
    fn albedo(&mut self, vertex: &PathVertex<'_>, instance: &ShaderInstance, u: Vec2) -> Vec3 {
        let needs_footprint = instance.needs_footprint();
        let sample = vertex.sample_direction(
            &mut self.shading,
            self.scene,
            (instance, None),
            needs_footprint,
            u,
        );
        let binding = &self.scene.shaders[instance.shader as usize];
        let (_, wo) = vertex.mirrored(binding.program.sides == SurfaceSides::Both);
        let eta = eta_ratio(instance.eta, sample.wi, wo);
        if sample.pdf > 0.0 { sample.s / sample.pdf * eta * eta } else { Vec3::ZERO }
    }
}

/// Returns the counts of bounds and of shadow rays.
fn work(counts: &CutCounts) -> [u64; 2] {
    [counts.bound_evaluations, counts.shadow_rays]
}
