//! Unidirectional path tracing with next-event estimation (Kajiya 1986; multiple importance
//! sampling after Veach 1997 §9).
//!
//! The samples of a tile form a wavefront. All camera rays are traced in one batch, and all hits
//! are shaded. Then all shadow rays and all continuation rays are traced in batches, and so on
//! until no path is left.
//!
//! Hits are sorted by shader and shaded in batches of a few groups of 16 SIMD lanes. A group
//! ([`VertexGroup`]) passes through these stages; each runs for all groups of a batch before the
//! next, but the last two in turns. *Shader* is a call of the batch's shader.
//!
//! | stage | reads | writes |
//! |---|---|---|
//! | `load_vertices` | [`Paths`], hits, rays, bump maps | path state, surface; samples' emission |
//! | `prepare_vertices` | keys, surface, materials | random numbers, `wo`, material |
//! | *shader* `setup` | surface, textures | material parameters |
//! | `sample_lights` | surface, random numbers | light samples |
//! | *shader* `evaluate` | light samples, `wo`, parameters | BSDF values |
//! | `add_direct_light` | throughput, light samples, values | shadow rays, pending radiance |
//! | *shader* `scatter` | random numbers, `wo`, parameters | directions, BSDF values |
//! | `sample_bsdf` | directions, values, delta distributions | BSDF samples; albedo |
//! | `append_continuations` | throughput, surface, BSDF samples | the next [`Paths`] |
//!
//! Before the first sample, the tracer is [trained](training): it adapts Russian roulette of
//! [paths](roulette) and of [shadow rays](shadow_roulette), and may guide directions and continue a
//! path several times at its first vertex. Then the last three stages repeat for each branch.
//!
//! Data stays in columns from hit to next ray. The arithmetic of a stage is a loop over lanes that
//! compiles to SIMD instructions of the CPU's level. Each lane performs the same operations on
//! every CPU, so results are bit-identical.

mod components;
mod continuation;
mod media;
mod media_channels;
mod next_event;
mod paths;
mod roulette;
mod shader_order;
mod shadow_roulette;
mod surfaces;
mod training;
mod vertex;

use self::continuation::{BsdfSamples, Continuations};
use self::media::PathMedia;
use self::media_channels::MediaSampleCounts;
use self::next_event::{DirectLight, ShadowQueue};
use self::paths::{OptionalColumns, Paths};
use self::roulette::TrainedRoulette;
use self::shader_order::{MISS, Rank, ShaderOrder, ShaderRanks};
use self::training::{Trained, TrainingRecorder};
use self::vertex::VertexGroup;
use super::directions::{DirectionPicker, DirectionSampling};
use super::fault::Faults;
use super::light_sampling::{LightPicker, LightSampler, Receiver};
use super::medium_rays::has_media;
use super::mix::resolve_mix;
use super::samples::{Sample, TileSamples};
use super::shading::{BsdfColumns, ShadingBuffers};
use super::{Counts, Integrator, LightTreeStats, TrainingStats, Worker};
use crate::film::{ChannelSpec, FeatureLayers, Tile};
use crate::geometry::{Hit, TriangleColumns};
use crate::integrator::IntegratorError;
use crate::light::{AreaLightColumns, LightColumns};
use crate::material::{Material, ShaderBinding};
use crate::medium::Medium;
use crate::render::RenderOptions;
use crate::scene::Scene;
use crate::settings::{Guiding, LightSampling, PathSettings, RenderSettings, ShadowTerminator};
use lightbound_math::{COLUMN_LEN, Columns, Vec2, Vec3};
use lightbound_shader::Target;
use std::ops::Range;
use std::sync::OnceLock;

/// The path tracer. It is unbiased: it clamps no contributions.
#[derive(Debug)]
pub struct PathTracer {
    /// Maximum number of scattering events on a path; 1 is direct light only.
    max_depth: u32,
    lights: LightSampler,
    directions: DirectionSampling,
    guiding: Guiding,
    /// The result of the training.
    trained: OnceLock<Trained>,
    has_media: bool,
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
        let mut lights = LightSampler::new(scene, settings.light_sampling)?;
        if settings.light_sampling == LightSampling::Auto && settings.guiding != Guiding::Off {
            lights.add_optional_materials(scene);
        }
        let directions =
            DirectionSampling::new(scene, settings.bsdf_sampling).map_err(|error| {
                IntegratorError(format!("cannot sample directions from bounds: {error}"))
            })?;
        Ok(PathTracer {
            max_depth,
            lights,
            directions,
            guiding: settings.guiding,
            trained: OnceLock::new(),
            has_media: has_media(scene),
        })
    }
}

/// A wavefront of paths with its scratch buffers.
struct Wavefront<'a> {
    scene: &'a Scene,
    settings: &'a RenderSettings,
    max_depth: u32,
    /// Number of scattering events of the current paths.
    depth: u32,
    /// Number of scattering events after which paths end: `max_depth`, or one less if no ray can
    /// hit a light.
    continuation_limit: u32,
    samples: TileSamples<'a>,
    paths: Paths,
    next: Paths,
    columns: OptionalColumns,
    has_bump_maps: bool,
    light_picker: LightPicker<'a>,
    shadows: ShadowQueue,
    hits: Vec<Hit>,
    /// Rays through media.
    media: PathMedia<'a>,
    /// Counts of each sample, if the film stores them.
    media_counts: Vec<MediaSampleCounts>,
    shader_ranks: ShaderRanks,
    shader_order: ShaderOrder,
    vertices: VertexBatch<'a>,
    buffers: StageBuffers,
    trained: Option<&'a Trained>,
    /// Inverse brightness of the pixel of each sample, if Russian roulette is trained.
    inverse_brightness: Vec<f32>,
    /// Number of continuations of each path at its first vertex.
    branches: u32,
    /// Records paths for the training.
    recorder: Option<TrainingRecorder>,
    faults: Faults,
}

/// The vertices of a shading batch.
struct VertexBatch<'a> {
    kind: VertexKind,
    /// The first `group_count` groups are in use.
    groups: Vec<VertexGroup<'a>>,
    group_count: usize,
    /// Receivers of the vertices; empty if light densities do not depend on the point.
    receivers: Vec<Receiver>,
}

impl<'a> VertexBatch<'a> {
    fn used_groups(&self) -> &[VertexGroup<'a>] {
        &self.groups[..self.group_count]
    }

    fn used_groups_mut(&mut self) -> &mut [VertexGroup<'a>] {
        &mut self.groups[..self.group_count]
    }
}

/// Buffers of the stages that shade a batch.
#[derive(Default)]
struct StageBuffers {
    triangles: TriangleColumns,
    area_lights: AreaLightColumns,
    light_samples: LightColumns,
    direct_light: DirectLight,
    /// Directions in the shader's frame, with their BSDF values.
    wi: Columns<3>,
    bsdf: BsdfColumns,
    bsdf_samples: BsdfSamples,
    continuations: Continuations,
    /// Words of the material parameters of a vertex.
    parameters: Vec<u32>,
}

/// What path vertices are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VertexKind {
    /// Hits of surfaces.
    Surface,
    /// Collisions in media.
    Collision,
}

/// Maximum number of groups in a shading batch: enough to amortise the calls of shaders, but not
/// more than fit in the L1 cache.
const MAX_GROUPS: usize = 4;

impl Integrator for PathTracer {
    fn name(&self) -> &'static str {
        if self.has_media { "volpath" } else { "path" }
    }

    fn worker<'a>(
        &'a self,
        scene: &'a Scene,
        settings: &'a RenderSettings,
    ) -> Box<dyn Worker + 'a> {
        Box::new(PathWorker::new(scene, settings, self, self.trained.get(), Faults::default()))
    }

    fn prepare(&self, scene: &Scene, settings: &RenderSettings, options: &RenderOptions) {
        match self.trained.get() {
            Some(trained) => trained.assert_is_for(settings),
            None => {
                if let Some(trained) = self.train(scene, settings, options) {
                    self.trained.get_or_init(|| trained);
                }
            }
        }
    }

    fn training(&self) -> Option<TrainingStats> {
        self.trained.get().and_then(Trained::stats)
    }

    fn has_components(&self) -> bool {
        true
    }

    fn film_channels(&self) -> &'static [ChannelSpec] {
        if self.has_media { media_channels::FILM_CHANNELS } else { &[] }
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
        let trained = self.tracer.trained.get();
        Box::new(PathWorker::new(scene, settings, &self.tracer, trained, faults))
    }

    fn prepare(&self, scene: &Scene, settings: &RenderSettings, options: &RenderOptions) {
        self.tracer.prepare(scene, settings, options);
    }

    fn training(&self) -> Option<TrainingStats> {
        self.tracer.training()
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
        trained: Option<&'a Trained>,
        faults: Faults,
    ) -> PathWorker<'a> {
        let target =
            scene.shaders.first().map_or_else(Target::best, |binding| binding.program.target());
        PathWorker {
            wavefront: Wavefront::new(scene, settings, tracer, trained, faults),
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
            if wavefront.paths.rays.is_empty() {
                break;
            }
            wavefront.depth = depth;
            counts.rays += wavefront.paths.rays.len() as u64;
            wavefront.scene.accel.intersect_batch(&wavefront.paths.rays, &mut wavefront.hits);
            if wavefront.columns.media {
                wavefront.track_paths();
            }
            wavefront.sort_by_shader(depth);
            let features = if depth == 0 { tile.features() } else { FeatureLayers::NONE };
            wavefront.shade(shading, depth, features);
            if let Some(recorder) = wavefront.recorder.as_mut().filter(|_| depth == 0) {
                recorder.set_emitted(&wavefront.samples);
            }
            counts.shadow_rays += wavefront.shadows.rays.len() as u64;
            if wavefront.columns.media {
                wavefront.track_shadow_rays();
            } else {
                let ShadowQueue { rays, blocked, .. } = &mut wavefront.shadows;
                wavefront.scene.accel.occluded_batch(rays, blocked);
            }
            wavefront.collect_light();
            if let Some(recorder) = &mut wavefront.recorder {
                recorder.end_event(&wavefront.samples, wavefront.next.rays.len());
            }
            wavefront.advance();
        }
        if let Some(recorder) = &mut wavefront.recorder {
            recorder.end_paths(&wavefront.samples, samples.len());
        }
        counts.shading += shading.take_counts();
        counts.shading += wavefront.light_picker.take_counts();
        counts.media += wavefront.media.take_counts();
        let (faults, gain) = (&wavefront.faults, wavefront.settings.gain);
        let mut sums = tile.lock();
        wavefront
            .samples
            .add_to(&mut sums, |pixel_sample, weight| faults.weight(pixel_sample, weight) * gain);
        for (s, counts) in wavefront.samples.iter().zip(wavefront.media_counts.drain(..)) {
            sums.add_channels(s.x, s.y, &counts.values());
        }
        drop(sums);
        counts
    }
}

impl<'a> Wavefront<'a> {
    fn new(
        scene: &'a Scene,
        settings: &'a RenderSettings,
        tracer: &'a PathTracer,
        trained: Option<&'a Trained>,
        faults: Faults,
    ) -> Wavefront<'a> {
        let columns = OptionalColumns {
            dispersion: scene.materials.iter().any(Material::disperses),
            media: has_media(scene),
            previous_vertices: tracer.lights.depends_on_point() && scene.lights.can_be_hit(),
        };
        let has_bump_maps = scene.materials.iter().any(|material| material.bump().is_some());
        let emission_can_be_hit =
            scene.lights.can_be_hit() || scene.media.iter().any(Medium::emits);
        let light_picker = LightPicker::new(
            &tracer.lights,
            &scene.lights,
            trained.is_some_and(|trained| trained.material_weights),
        );
        Wavefront {
            scene,
            settings,
            max_depth: tracer.max_depth,
            depth: 0,
            continuation_limit: tracer.max_depth.saturating_sub(u32::from(!emission_can_be_hit)),
            samples: TileSamples::new(scene, settings),
            paths: Paths::default(),
            next: Paths::default(),
            columns,
            has_bump_maps,
            light_picker,
            shadows: ShadowQueue::default(),
            hits: Vec::new(),
            media: PathMedia::new(scene),
            media_counts: Vec::new(),
            shader_ranks: ShaderRanks::new(scene),
            shader_order: ShaderOrder::default(),
            vertices: VertexBatch {
                kind: VertexKind::Surface,
                groups: (0..MAX_GROUPS).map(|_| VertexGroup::default()).collect(),
                group_count: 0,
                receivers: Vec::new(),
            },
            buffers: StageBuffers::default(),
            trained,
            inverse_brightness: Vec::new(),
            branches: trained.map_or(1, |trained| trained.branches),
            recorder: None,
            faults,
        }
    }

    /// Returns the trained Russian roulette of paths.
    fn roulette(&self) -> Option<&'a TrainedRoulette> {
        self.trained.and_then(|trained| trained.roulette.as_ref())
    }

    /// Returns whether the BSDF of shaders is multiplied by the factor of soft shadow terminators.
    fn has_soft_terminator(&self) -> bool {
        self.settings.integrator.shadow_terminator == ShadowTerminator::Soft
    }

    /// Generates the camera rays of all samples.
    fn start(&mut self, pixel_samples: &Range<u32>, tile: &Tile) {
        let (paths, columns) = (&mut self.paths, self.columns);
        paths.clear();
        let medium = self.scene.camera_medium;
        self.samples.start(pixel_samples, tile, |ray, sample, key| {
            paths.push_camera_ray(ray, sample, key, medium, columns);
        });
        if let Some(roulette) = self.roulette() {
            self.inverse_brightness.clear();
            let inverse = |sample: &Sample| roulette.inverse_brightness(sample.x, sample.y);
            self.inverse_brightness.extend(self.samples.iter().map(inverse));
        }
        if self.columns.media && tile.stores_channels() {
            self.media_counts.resize(self.samples.len() as usize, MediaSampleCounts::default());
        }
    }

    /// Sorts the paths by the shaders of the hits and collisions.
    fn sort_by_shader(&mut self, depth: u32) {
        let mut order = std::mem::take(&mut self.shader_order);
        let ranks = (0..self.paths.rays.len()).map(|path| self.rank(path, depth));
        order.sort(ranks, self.shader_ranks.ended_rank());
        self.shader_order = order;
    }

    /// Returns the rank of a path.
    #[inline(always)]
    fn rank(&self, path: usize, depth: u32) -> Rank {
        let ranks = &self.shader_ranks;
        if self.columns.media {
            if self.paths.throughput(path) == Vec3::ZERO {
                return ranks.ended_rank();
            }
            if let Some(collision) = self.media.collision(path) {
                return ranks.medium_rank(collision.medium);
            }
        }
        let hit = &self.hits[path];
        if hit.is_miss() {
            return MISS;
        }
        let primitive = &self.scene.geometry.primitives[hit.primitive as usize];
        ranks.material_rank(primitive.material).unwrap_or_else(|| {
            let [mut lobe_u, ..] = self.samples.sampler.get4(self.paths.key[path], 2 * depth + 2);
            let d = self.paths.rays[path].d;
            let material = resolve_mix(self.scene, hit, d, &mut lobe_u);
            ranks.material_rank(material).expect("the resolved material is not a mix")
        })
    }

    /// Adds the emission and direct light at all hits, and samples the next ray of each path.
    /// `features` are the denoiser features to record.
    fn shade(&mut self, shading: &mut ShadingBuffers<'a>, depth: u32, features: FeatureLayers) {
        let order = std::mem::take(&mut self.shader_order);
        self.add_environment_light(order.paths(MISS));
        for rank in self.shader_ranks.vertex_ranks() {
            let is_collision = self.shader_ranks.is_collision(rank);
            self.vertices.kind =
                if is_collision { VertexKind::Collision } else { VertexKind::Surface };
            let shader = self.shader_ranks.shader(rank);
            let binding = shader.map(|shader| &self.scene.shaders[shader as usize]);
            if depth == self.max_depth && features.is_empty() {
                self.shade_last(order.paths(rank));
            } else {
                for paths in order.paths(rank).chunks(MAX_GROUPS * COLUMN_LEN) {
                    self.shade_batch(shading, binding, paths, depth, features);
                }
            }
        }
        self.shader_order = order;
    }

    /// Adds the emission that paths hit at their last vertices.
    fn shade_last(&mut self, paths: &[u32]) {
        if self.vertices.kind == VertexKind::Collision {
            return;
        }
        let geometry = &self.scene.geometry;
        for &path in paths {
            let hit = self.hits[path as usize];
            if let Some(light) = geometry.light(&hit) {
                let surface = geometry.surface(&hit, self.paths.rays[path as usize].d);
                self.add_emission(path as usize, light, surface.ng, surface.uv);
            }
        }
    }

    /// Adds the light that a path hits; `ng` is the geometric normal there, `uv` are the texture
    /// coordinates.
    fn add_emission(&mut self, path: usize, light: u32, ng: Vec3, uv: Vec2) {
        let le = self.area_light(path, light, ng, uv);
        self.samples.add(self.paths.sample[path], self.paths.throughput(path) * le);
        self.add_component(path, light, le);
    }

    /// Shades paths that all hit materials of one shader, or materials without a shader.
    fn shade_batch(
        &mut self,
        shading: &mut ShadingBuffers<'a>,
        binding: Option<&'a ShaderBinding>,
        paths: &[u32],
        depth: u32,
        features: FeatureLayers,
    ) {
        self.vertices.receivers.clear();
        self.vertices.group_count = paths.len().div_ceil(COLUMN_LEN);
        let is_collision = self.vertices.kind == VertexKind::Collision;
        // Collisions have no denoiser features.
        let features = if is_collision { FeatureLayers::NONE } else { features };
        for (group, paths) in paths.chunks(COLUMN_LEN).enumerate() {
            if is_collision {
                self.load_collisions(group, paths);
            } else {
                self.load_vertices(group, paths, depth, features);
            }
        }
        if depth == self.max_depth && !features.albedo {
            return;
        }
        let mut batch = binding.map(|binding| shading.begin(binding, paths.len()));
        for group in 0..self.vertices.group_count {
            match &mut batch {
                Some(batch) if is_collision => self.prepare_collisions(group, batch, depth),
                _ => self.prepare_vertices(group, batch.as_mut(), depth),
            }
        }
        let is_last_event = depth >= self.continuation_limit && !features.albedo;
        let Some(batch) = batch else {
            if !is_last_event {
                (0..self.vertices.group_count)
                    .for_each(|group| self.sample_bsdf(group, None, depth, features.albedo));
            }
            return;
        };
        let mut batch = batch.set_up();
        if depth < self.max_depth {
            (0..self.vertices.group_count).for_each(|group| self.sample_lights(group, &mut batch));
            if batch.is_lit() {
                if self.stores_lobes_of(depth) {
                    batch.evaluate_specular();
                }
                let evaluated = batch.evaluate();
                self.add_direct_light(&evaluated);
                batch = evaluated.into_prepared();
            }
        }
        if !is_last_event {
            self.branch(batch, depth, features.albedo);
        }
    }

    /// Makes the continuation rays the current rays.
    fn advance(&mut self) {
        std::mem::swap(&mut self.paths, &mut self.next);
        self.next.clear();
    }
}
