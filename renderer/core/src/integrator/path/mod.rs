//! Unidirectional path tracing with next-event estimation (Kajiya 1986; multiple importance
//! sampling after Veach 1997 §9).
//!
//! The samples of a tile form a wavefront. All camera rays are traced in one batch, and all hits
//! are shaded. Then all shadow rays and all continuation rays are traced in batches, and so on
//! until no path is left. Hits are sorted by shader and shaded in batches: the BSDF is evaluated
//! for all light samples of a batch, then all next directions are sampled, in full SIMD groups.

mod next_event;
mod vertex;

use self::next_event::{LightCandidate, PendingContribution, PendingSamples, PreviousVertex};
use self::vertex::Vertex;
use super::directions::{DirectionPicker, DirectionSampling};
use super::environment_sampling::EnvironmentSampler;
use super::fault::Faults;
use super::light_sampling::{LightPicker, LightSampler, Receiver};
use super::mix::resolve_mix;
use super::samples::TileSamples;
use super::shading::{SampledBatch, ShadingBatch, ShadingBuffers};
use super::{Counts, Integrator, LightTreeStats, Worker};
use crate::film::{FeatureLayers, Tile};
use crate::geometry::{Hit, SurfaceInteraction};
use crate::integrator::IntegratorError;
use crate::light::{EnvironmentSamples, TriangleLightSamples};
use crate::material::{GRAZING_COSINE, Material, PathWavelength, ShaderBinding, Specular};
use crate::scene::Scene;
use crate::settings::{PathSettings, RenderSettings};
use lightbound_math::sampling::PathKey;
use lightbound_math::{Ray, Vec3, vec2};
use lightbound_shader::{SurfaceSides, Target};
use std::ops::Range;

/// The path tracer. It is unbiased: it clamps no contributions.
#[derive(Debug)]
pub struct PathTracer {
    /// Maximum number of scattering events on a path; 1 is direct light only.
    max_depth: u32,
    lights: LightSampler,
    directions: DirectionSampling,
    /// Product sampling of one environment light, which `lights` excludes.
    environment: Option<EnvironmentSampler>,
}

impl PathTracer {
    /// Creates the path tracer of a scene. Paths have at most `max_depth` scattering events; 1 is
    /// direct light only.
    ///
    /// # Errors
    /// If the settings require bounds on a material that cannot be compiled.
    pub fn new(
        scene: &Scene,
        max_depth: u32,
        settings: &PathSettings,
    ) -> Result<PathTracer, IntegratorError> {
        let environment = EnvironmentSampler::new(&scene.lights, settings);
        let other_lights = environment.as_ref().map(|sampler| scene.lights.without(sampler.light));
        let lights = LightSampler::new(
            scene,
            other_lights.as_ref().unwrap_or(&scene.lights),
            settings.light_sampling,
        )?;
        let directions =
            DirectionSampling::new(scene, settings.bsdf_sampling, environment.is_some()).map_err(
                |error| IntegratorError(format!("cannot sample directions from bounds: {error}")),
            )?;
        Ok(PathTracer { max_depth, lights, directions, environment })
    }
}

/// State of a path between two scattering events. Its ray is stored separately.
#[derive(Clone, Copy)]
struct Path {
    /// Product of BSDF, cosine and Russian roulette weights over densities.
    throughput: Vec3,
    /// Density of the ray's direction, 1/sr. 0 for camera rays and after a delta distribution:
    /// light sampling cannot generate their directions.
    pdf: f32,
    /// Density of the ray's direction under environment product sampling, 1/sr.
    environment_pdf: f32,
    /// Product of the squared ratios of refractive indices. Russian roulette uses the throughput
    /// times this factor.
    eta_scale: f32,
    /// Wavelength in nm from the first dispersion on; `None` for RGB.
    nm: Option<f32>,
    /// Whether the path has met a dispersive surface, after which throughput may be negative.
    is_dispersed: bool,
    /// Index of the sample within the wavefront.
    sample: u32,
    key: PathKey,
}

/// A wavefront of paths with its scratch buffers. Rays and paths are parallel arrays.
struct Wavefront<'a> {
    scene: &'a Scene,
    settings: &'a RenderSettings,
    max_depth: u32,
    /// Number of scattering events after which paths end: `max_depth`, or one less if no ray can
    /// hit a light.
    continuation_limit: u32,
    samples: TileSamples<'a>,
    rays: Vec<Ray>,
    paths: Vec<Path>,
    next_rays: Vec<Ray>,
    next_paths: Vec<Path>,
    /// The previous vertex of each path; empty if light densities do not depend on it.
    previous_vertices: Vec<PreviousVertex>,
    next_previous_vertices: Vec<PreviousVertex>,
    /// Words of the material parameters of the previous vertices.
    previous_parameters: Vec<u32>,
    next_previous_parameters: Vec<u32>,
    /// Words of the material parameters of the current vertex.
    scratch: Vec<u32>,
    light_picker: LightPicker<'a>,
    environment: Option<&'a EnvironmentSampler>,
    /// Probability of sampling `light_picker` rather than `environment`.
    picker_probability: f32,
    /// Whether paths keep their previous vertices.
    keeps_previous_vertices: bool,
    shadow_rays: Vec<Ray>,
    pending: Vec<PendingContribution>,
    hits: Vec<Hit>,
    /// Surface interactions of a batch.
    interactions: Vec<SurfaceInteraction>,
    blocked: Vec<bool>,
    /// Rank of each material when sorted by shader, from 1; [`MIXED`] for mixed materials. Misses
    /// have rank 0.
    ranks: Vec<u32>,
    /// The shader of each rank.
    shaders: Vec<Option<u32>>,
    /// Indices of the hits sorted by rank, the rank of each hit, and the start of each rank.
    order: Vec<u32>,
    keys: Vec<u32>,
    starts: Vec<u32>,
    vertices: Vec<Vertex<'a>>,
    /// Receivers of the vertices; empty if light densities do not depend on the point.
    receivers: Vec<Receiver>,
    candidates: Vec<LightCandidate>,
    triangle_samples: PendingSamples<TriangleLightSamples>,
    environment_samples: PendingSamples<EnvironmentSamples<'a>>,
    faults: Faults,
}

/// First scattering event, from 0, after which Russian roulette may terminate paths. The survival
/// probability is the square root of the throughput. Compared with pbrt-v4's rule (event 1, the
/// throughput itself), a sample costs 1.3 times as much and has 0.62 times the variance in a
/// Cornell box; 1.5 times and 0.46 times in a room lit through a door.
const ROULETTE_DEPTH: u32 = 3;

/// Maximum number of points in a shading batch: enough to fill SIMD groups, but not more than fit
/// in the L1 cache.
const MAX_BATCH: usize = 128;

/// Rank of mixed materials.
const MIXED: u32 = u32::MAX;

/// Maximum survival probability, so that paths between perfect mirrors terminate.
const MAX_SURVIVAL: f32 = 0.99;

impl Integrator for PathTracer {
    fn name(&self) -> &'static str {
        "path"
    }

    fn worker<'a>(
        &'a self,
        scene: &'a Scene,
        settings: &'a RenderSettings,
    ) -> Box<dyn Worker + 'a> {
        Box::new(PathWorker::new(scene, settings, self, Faults::default()))
    }

    fn light_tree(&self) -> Option<LightTreeStats> {
        self.lights.tree_stats()
    }
}

/// A path tracer with an injected fault, for tests that must detect it.
#[cfg(any(test, feature = "faults"))]
pub struct FaultyPathTracer {
    /// The correct path tracer.
    pub tracer: PathTracer,
    /// The injected fault.
    pub fault: super::Fault,
}

#[cfg(any(test, feature = "faults"))]
impl Integrator for FaultyPathTracer {
    fn name(&self) -> &'static str {
        "faulty path"
    }

    fn worker<'a>(
        &'a self,
        scene: &'a Scene,
        settings: &'a RenderSettings,
    ) -> Box<dyn Worker + 'a> {
        let faults = Faults { fault: Some(self.fault) };
        Box::new(PathWorker::new(scene, settings, &self.tracer, faults))
    }
}

/// The wavefront of one thread, and the buffers that its shading batches borrow.
struct PathWorker<'a> {
    wavefront: Wavefront<'a>,
    shading: ShadingBuffers<'a>,
}

impl<'a> PathWorker<'a> {
    fn new(
        scene: &'a Scene,
        settings: &'a RenderSettings,
        tracer: &'a PathTracer,
        faults: Faults,
    ) -> PathWorker<'a> {
        let target =
            scene.shaders.first().map_or_else(Target::best, |binding| binding.program.target());
        PathWorker {
            wavefront: Wavefront::new(scene, settings, tracer, faults),
            shading: ShadingBuffers::new(target, Some(DirectionPicker::new(&tracer.directions))),
        }
    }
}

impl Worker for PathWorker<'_> {
    fn render_tile(&mut self, samples: Range<u32>, tile: &Tile) -> Counts {
        let PathWorker { wavefront, shading } = self;
        let mut counts = Counts::default();
        wavefront.start(&samples, tile);
        for depth in 0..=wavefront.max_depth {
            if wavefront.rays.is_empty() {
                break;
            }
            counts.rays += wavefront.rays.len() as u64;
            wavefront.scene.accel.intersect_batch(&wavefront.rays, &mut wavefront.hits);
            wavefront.sort_by_shader(depth);
            let features = if depth == 0 { tile.features() } else { FeatureLayers::NONE };
            wavefront.shade(shading, depth, features);
            counts.shadow_rays += wavefront.shadow_rays.len() as u64;
            wavefront.scene.accel.occluded_batch(&wavefront.shadow_rays, &mut wavefront.blocked);
            wavefront.collect_light();
            wavefront.advance();
        }
        counts.shading += shading.take_counts();
        counts.shading += wavefront.light_picker.take_counts();
        let (faults, gain) = (&wavefront.faults, wavefront.settings.gain);
        wavefront.samples.add_to(&mut tile.lock(), |pixel_sample, weight| {
            faults.weight(pixel_sample, weight) * gain
        });
        counts
    }
}

impl<'a> Wavefront<'a> {
    fn new(
        scene: &'a Scene,
        settings: &'a RenderSettings,
        tracer: &'a PathTracer,
        faults: Faults,
    ) -> Wavefront<'a> {
        let shader = |material: usize| match &scene.materials[material] {
            Material::Surface { scattering: Some(instance), .. } => Some(instance.shader),
            _ => None,
        };
        let mut order: Vec<usize> = (0..scene.materials.len()).collect();
        order.sort_by_key(|&material| shader(material));
        let mut ranks = vec![0; order.len()];
        for (rank, &material) in (1..).zip(&order) {
            let mixed = matches!(scene.materials[material], Material::Mix { .. });
            ranks[material] = if mixed { MIXED } else { rank };
        }
        let shaders = std::iter::once(None).chain(order.into_iter().map(shader)).collect();
        Wavefront {
            scene,
            settings,
            max_depth: tracer.max_depth,
            continuation_limit: tracer
                .max_depth
                .saturating_sub(u32::from(!scene.lights.can_be_hit())),
            samples: TileSamples::new(scene, settings),
            rays: Vec::new(),
            paths: Vec::new(),
            next_rays: Vec::new(),
            next_paths: Vec::new(),
            previous_vertices: Vec::new(),
            next_previous_vertices: Vec::new(),
            previous_parameters: Vec::new(),
            next_previous_parameters: Vec::new(),
            scratch: Vec::new(),
            light_picker: LightPicker::new(&tracer.lights, &scene.lights),
            environment: tracer.environment.as_ref(),
            picker_probability: 1.0
                - tracer.environment.as_ref().map_or(0.0, |sampler| sampler.probability),
            keeps_previous_vertices: tracer.lights.depends_on_point() && scene.lights.can_be_hit(),
            shadow_rays: Vec::new(),
            pending: Vec::new(),
            hits: Vec::new(),
            interactions: Vec::new(),
            blocked: Vec::new(),
            ranks,
            shaders,
            order: Vec::new(),
            keys: Vec::new(),
            starts: Vec::new(),
            vertices: Vec::new(),
            receivers: Vec::new(),
            candidates: Vec::new(),
            triangle_samples: PendingSamples::default(),
            environment_samples: PendingSamples::default(),
            faults,
        }
    }

    /// Generates the camera rays of all samples.
    fn start(&mut self, pixel_samples: &Range<u32>, tile: &Tile) {
        self.rays.clear();
        self.paths.clear();
        self.previous_vertices.clear();
        self.samples.start(pixel_samples, tile, |ray, sample, key| {
            self.rays.push(ray);
            self.paths.push(Path {
                throughput: Vec3::ONE,
                pdf: 0.0,
                environment_pdf: 0.0,
                eta_scale: 1.0,
                nm: None,
                is_dispersed: false,
                sample,
                key,
            });
        });
    }

    /// Sorts the hits by shader, then by material, with misses first (counting sort).
    fn sort_by_shader(&mut self, depth: u32) {
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        keys.extend(self.hits.iter().zip(&self.paths).map(|(hit, path)| {
            if hit.is_miss() {
                return 0;
            }
            match self.ranks
                [self.scene.geometry.primitives[hit.primitive as usize].material as usize]
            {
                MIXED => {
                    let [mut lobe_u, ..] = self.samples.sampler.get4(path.key, 2 * depth + 2);
                    self.ranks[resolve_mix(self.scene, hit, &mut lobe_u) as usize]
                }
                rank => rank,
            }
        }));
        self.starts.clear();
        self.starts.resize(self.shaders.len() + 1, 0);
        for &key in &keys {
            self.starts[key as usize + 1] += 1;
        }
        for k in 1..self.starts.len() {
            self.starts[k] += self.starts[k - 1];
        }
        self.order.clear();
        self.order.resize(keys.len(), 0);
        for (i, &key) in keys.iter().enumerate() {
            let slot = &mut self.starts[key as usize];
            self.order[*slot as usize] = i as u32;
            *slot += 1;
        }
        self.keys = keys;
    }

    /// Adds the emission and direct light at all hits, and samples the next ray of each path.
    /// `features` are the denoiser features to record.
    fn shade(&mut self, shading: &mut ShadingBuffers<'a>, depth: u32, features: FeatureLayers) {
        let order = std::mem::take(&mut self.order);
        let mut rest = &order[..];
        while let Some(&first) = rest.first() {
            let shader = |i: u32| self.shaders[self.keys[i as usize] as usize];
            let same_shader =
                rest.iter().take(MAX_BATCH).take_while(|&&i| shader(i) == shader(first)).count();
            let (batch, after) = rest.split_at(same_shader);
            let binding = shader(first).map(|shader| &self.scene.shaders[shader as usize]);
            self.shade_batch(shading, binding, batch, depth, features);
            rest = after;
        }
        self.order = order;
    }

    /// Shades paths that all hit materials of one shader, or materials without a shader.
    fn shade_batch(
        &mut self,
        shading: &mut ShadingBuffers<'a>,
        binding: Option<&ShaderBinding>,
        paths: &[u32],
        depth: u32,
        features: FeatureLayers,
    ) {
        // Misses come first.
        let misses = paths.iter().take_while(|&&i| self.hits[i as usize].is_miss()).count();
        let (misses, paths) = paths.split_at(misses);
        self.add_environment_light(misses);
        self.vertices.clear();
        self.receivers.clear();
        self.candidates.clear();
        let mut batch = binding.map(|binding| shading.begin(binding, paths.len()));
        // At the last vertex, only emitters contribute.
        let (primitives, is_last) =
            (&self.scene.geometry.primitives, depth == self.max_depth && features.is_empty());
        let contributes =
            |hit: &Hit| !is_last || primitives[hit.primitive as usize].first_light.is_some();
        let hits = paths.iter().map(|&i| (&self.hits[i as usize], &self.rays[i as usize]));
        self.scene
            .geometry
            .interactions(hits.filter(|(hit, _)| contributes(hit)), &mut self.interactions);
        let mut interactions = 0..self.interactions.len();
        for &i in paths {
            if contributes(&self.hits[i as usize]) {
                let interaction =
                    interactions.next().expect("each contributing hit has an interaction");
                self.process_hit(i as usize, interaction, batch.as_mut(), depth, features);
            }
        }
        let is_last_event = depth >= self.continuation_limit && !features.albedo;
        let mut sampled = None;
        if let Some(batch) = batch {
            let mut batch = batch.set_up();
            self.sample_lights(&mut batch);
            let batch = batch.evaluate();
            self.add_direct_light(&batch);
            if !is_last_event {
                sampled = Some(batch.sample());
            }
        }
        if is_last_event {
            return;
        }
        for row in 0..self.vertices.len() {
            self.sample_bsdf(row, sampled.as_ref(), depth, features);
        }
    }

    /// Adds the emission that a path hits. If the path may continue, also adds a vertex with the
    /// random numbers of its light sample.
    fn process_hit(
        &mut self,
        i: usize,
        interaction: usize,
        batch: Option<&mut ShadingBatch<'_, 'a>>,
        depth: u32,
        features: FeatureLayers,
    ) {
        let scene = self.scene;
        let sample = self.paths[i].sample;
        if let Some(light) = scene.geometry.light(&self.hits[i]) {
            let surface = self.interactions[interaction].surface;
            let le = self.area_light(i, light, &surface);
            self.samples.add(sample, self.paths[i].throughput * le);
        }
        let (hit, SurfaceInteraction { surface, wo }) =
            (&self.hits[i], &self.interactions[interaction]);
        let mut wo = *wo;
        let feature_index =
            if features.is_empty() { 0 } else { self.samples.add_features(sample, hit, surface) };
        let continues = wo.z.abs() > GRAZING_COSINE && (depth < self.max_depth || features.albedo);
        if !continues {
            return;
        }
        let binding = batch.as_ref().map(|batch| batch.binding());
        // Specular surfaces take no light sample.
        let (key, sampler) = (self.paths[i].key, &self.samples.sampler);
        let needs_random_numbers = binding.is_some() || depth >= ROULETTE_DEPTH;
        let [pick, light_u, light_v, roulette_u] =
            if needs_random_numbers { sampler.get4(key, 2 * depth + 1) } else { [0.0; 4] };
        let [mut lobe_u, u, v, pick_low] = sampler.get4(key, 2 * depth + 2);
        let Material::Surface { specular, scattering } =
            &scene.materials[resolve_mix(scene, hit, &mut lobe_u) as usize]
        else {
            unreachable!("resolve_mix returns a surface material")
        };
        let specular = specular.as_ref();
        let (mut side, mut eta, mut specular_probability) = (1.0, 1.0, 1.0);
        if let (Some(batch), Some(instance)) = (batch, scattering) {
            match batch.binding().program.sides {
                SurfaceSides::One => (side, wo.z) = (1f32.copysign(wo.z), wo.z.abs()),
                SurfaceSides::Both => eta = instance.eta,
            }
            if let Some(index) = instance.dispersive_index() {
                // The shader does not use `lobe_u`.
                let path = &mut self.paths[i];
                let (nm, colour) = PathWavelength { nm: path.nm, u: lobe_u }.select();
                path.throughput *= colour;
                (path.nm, path.is_dispersed) = (Some(nm), true);
                eta = index.at(nm);
            }
            specular_probability =
                specular.map_or(0.0, |specular| specular.sampling_probability(wo));
            let positions = || scene.geometry.shader_positions(hit, surface.p);
            batch.push((instance, self.paths[i].nm), surface, positions, (vec2(u, v), wo));
        }
        let takes_light_sample = binding.is_some() && depth < self.max_depth;
        if self.light_picker.depends_on_point() {
            let receiver =
                self.receiver(binding, scattering.as_ref(), surface, -self.rays[i].d, side);
            self.receivers.push(receiver);
        }
        self.vertices.push(Vertex {
            path: i as u32,
            interaction: interaction as u32,
            specular,
            wo,
            side,
            eta,
            specular_probability,
            wavelength: PathWavelength { nm: self.paths[i].nm, u },
            lobe_u,
            roulette_u,
            feature_index,
            light_u: takes_light_sample.then_some([pick, pick_low, light_u, light_v]),
        });
    }

    /// Samples the next ray of a path. `batch` holds the directions sampled by the shader, if the
    /// vertices have one.
    fn sample_bsdf(
        &mut self,
        row: usize,
        batch: Option<&SampledBatch<'_, 'a>>,
        depth: u32,
        features: FeatureLayers,
    ) {
        let vertex = &self.vertices[row];
        let surface = &self.interactions[vertex.interaction as usize].surface;
        let next = if vertex.lobe_u < vertex.specular_probability {
            vertex.sample_specular(surface)
        } else {
            batch.and_then(|batch| vertex.sample_shader(batch.direction(row)))
        };
        if features.albedo {
            *self.samples.albedo_mut(vertex.feature_index) =
                next.as_ref().map_or(Vec3::ZERO, |next| next.weight * next.eta * next.eta);
        }
        let Some(next) = next.filter(|_| depth < self.continuation_limit) else { return };
        let path = &self.paths[vertex.path as usize];
        let eta_scale = path.eta_scale * next.eta * next.eta;
        let is_dispersed =
            path.is_dispersed || matches!(vertex.specular, Some(Specular::Dispersive { .. }));
        let mut throughput = path.throughput * next.weight;
        if throughput.is_nan() {
            // NaN is recorded, so that faulty shaders show up as invalid samples.
            self.samples.add(path.sample, throughput);
            return;
        }
        let magnitude = |rgb: Vec3| if is_dispersed { rgb.abs() } else { rgb }.max_element();
        // Russian roulette ignores the factor 1/η², since a later refraction cancels it.
        if depth >= ROULETTE_DEPTH {
            let survival = magnitude(throughput * eta_scale).max(0.0).sqrt().min(MAX_SURVIVAL);
            if vertex.roulette_u >= survival {
                return;
            }
            throughput *= 1.0 / survival;
        }
        if magnitude(throughput) <= 0.0 {
            return;
        }
        let d = surface.frame.to_world(next.wi);
        self.next_rays.push(Ray::new(surface.offset_ray_origin(d), d));
        let environment_pdf = match (self.environment, batch) {
            (Some(environment), Some(batch)) if next.pdf > 0.0 => {
                batch.direction_tree(row).map_or(0.0, |tree| {
                    environment.pdf(
                        &self.scene.lights,
                        &vertex.environment_sample_context(tree, surface),
                        vertex.mirrored(next.wi),
                    )
                })
            }
            _ => 0.0,
        };
        self.next_paths.push(Path {
            throughput,
            pdf: next.pdf,
            environment_pdf,
            eta_scale,
            nm: next.nm,
            is_dispersed,
            ..*path
        });
        if self.keeps_previous_vertices {
            let next_parameters = &mut self.next_previous_parameters;
            let (first, receiver) = (next_parameters.len(), self.receivers[row]);
            // Delta distributions need no light density and thus no material parameters.
            if let (Some(batch), Some(_), true) = (batch, &receiver.lobe, next.pdf > 0.0) {
                next_parameters.extend(batch.parameters(row));
            }
            let parameters = [first as u32, (next_parameters.len() - first) as u32];
            self.next_previous_vertices.push(PreviousVertex { receiver, parameters });
        }
    }

    /// Makes the continuation rays the current rays.
    fn advance(&mut self) {
        std::mem::swap(&mut self.rays, &mut self.next_rays);
        std::mem::swap(&mut self.paths, &mut self.next_paths);
        std::mem::swap(&mut self.previous_vertices, &mut self.next_previous_vertices);
        std::mem::swap(&mut self.previous_parameters, &mut self.next_previous_parameters);
        self.next_rays.clear();
        self.next_paths.clear();
        self.next_previous_vertices.clear();
        self.next_previous_parameters.clear();
    }
}
