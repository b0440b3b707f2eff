//! Training of the path tracer: paths over the whole image, whose contributions are recorded.
//!
//! It trains the path guide and Russian roulette, of paths and of shadow rays, and chooses the number
//! of branches at first vertices: the error that direct and indirect light have in training paths
//! decides how many continuations of a path are worth their cost (splitting; Arvo and Kirk 1990,
//! *Particle Transport and Image Synthesis*). With many emitters, it tests whether the material
//! weights of light trees pay.

use super::roulette::{BrightnessMap, PathSample, TrainedRoulette};
use super::shadow_roulette::{SampleCost, ShadowRayRecorder, ShadowRaySample, ShadowRoulette};
use super::{PathTracer, PathWorker};
use crate::film::{Film, FilmOptions, TILE, Tile};
use crate::integrator::fault::Faults;
use crate::integrator::guiding::{
    BinIndex, CELL_SAMPLES, GUIDE_AXES, Guide, SpatialTree, TrainingSample,
};
use crate::integrator::light_sampling::has_many_lights;
use crate::integrator::samples::TileSamples;
use crate::integrator::{Counts, GuideStats, TrainingStats, Worker};
use crate::material::Material;
use crate::render::{RenderOptions, run_on_threads};
use crate::scene::Scene;
use crate::settings::{Guiding, RenderSettings};
use lightbound_image::Window;
use lightbound_math::sampling::hash;
use lightbound_math::{Vec3, vec2};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Maximum number of pixels of the image that training renders. Larger images are trained at a
/// lower resolution.
const MAX_PIXELS: u32 = 32_768;

/// Samples of each pixel, for each pass of the training. Passes use the guide of those before.
const PASSES: [Range<u32>; 3] = [0..1, 1..3, 3..TRAINING_SAMPLES];

/// Samples of each pixel in all passes.
const TRAINING_SAMPLES: u32 = 7;

/// Maximum number of branches: with more of them, images with few samples take too long.
const MAX_BRANCHES: u32 = 4;

/// Guides are used if the second moment of contributions is below this, relative to that without a
/// guide. It is estimated for guides from half of the samples, so most gain more than it says.
/// Sampling from a guide takes up to 10 % of the time.
const MAX_MOMENT_RATIO: f64 = 0.98;

/// Number of scattering events from which light is recorded, so that long paths need no more memory.
const RECORDED_EVENTS: u32 = 8;

/// Samples of each pixel for the tests of light trees without and with material weights.
const LIGHT_TREE_PASS: Range<u32> = TRAINING_SAMPLES..TRAINING_SAMPLES + 2;

/// Returns whether light trees are tested on a tile: on a quarter of all, in every column and row.
fn tests_light_trees(tile: &Tile) -> bool {
    let Window { x0, y0, .. } = tile.window();
    (x0 / TILE + 2 * (y0 / TILE)).is_multiple_of(4)
}

/// Time of a shader evaluation in units of that of a ray. Material weights take 22 to 42 ns for each
/// evaluation in eleven scenes with other materials and lights; rays with their vertices take 400
/// to 750 ns.
const EVALUATION_WORK: f64 = 0.055;

/// Material weights are used if variance × work is below this, relative to that without them.
const MAX_MATERIAL_COST_RATIO: f64 = 0.9;

/// Separates the random numbers of training from those of the image.
const TRAINING_STREAM: u32 = 0x6775_6964;

/// A vertex of a training path, from which the path continues.
pub(super) struct TrainingVertex {
    /// Position and normal.
    pub point: [f32; GUIDE_AXES],
    /// Random numbers for the direction, and their density.
    pub u: [f32; 2],
    pub pdf: f32,
    /// Index of the sample within the wavefront.
    pub sample: u32,
    /// Throughput of the path after the vertex, without the factor 1/η² of refractions.
    pub throughput: f32,
}

/// A vertex with the state of its sample before the path continues.
struct RecordedVertex {
    vertex: TrainingVertex,
    radiance: f32,
    rays: u32,
}

/// Records what training paths find.
#[derive(Default)]
pub(super) struct TrainingRecorder {
    /// The vertices of the paths of a tile.
    vertices: Vec<RecordedVertex>,
    /// Number of vertices of earlier scattering events.
    earlier: usize,
    /// Number of scattering events so far.
    events: u32,
    /// Radiance of each sample of a tile that its camera ray hits.
    emitted: Vec<f32>,
    /// Radiance of each sample of a tile from first vertices.
    direct: Vec<f32>,
    /// Number of continuation rays of each sample of a tile so far; samples at the end without rays
    /// may lack.
    rays: Vec<u32>,
    /// Whether the pass is the one from which Russian roulette learns.
    records_paths: bool,
    /// The shadow rays of the paths of a tile.
    shadow_rays: ShadowRayRecorder,
    pass: Pass,
}

impl TrainingRecorder {
    /// Adds a vertex of the current scattering event, before the [ray](Self::add_ray) that continues
    /// its path.
    pub fn add(&mut self, vertex: TrainingVertex) {
        if self.events < RECORDED_EVENTS {
            let rays = self.rays.get(vertex.sample as usize).copied().unwrap_or(0);
            self.vertices.push(RecordedVertex { vertex, radiance: 0.0, rays });
        }
    }

    /// Counts a ray that continues the path of a sample.
    pub fn add_ray(&mut self, sample: u32) {
        let sample = sample as usize;
        if self.rays.len() <= sample {
            self.rays.resize(sample + 1, 0);
        }
        self.rays[sample] += 1;
    }

    /// Adds a shadow ray of a sample in the current scattering event. `contribution` is that without
    /// occlusion.
    pub fn add_shadow_ray(&mut self, sample: u32, contribution: Vec3) {
        if self.records_paths {
            self.shadow_rays.add(sample, contribution, self.events == 0);
        }
    }

    /// Sets the actual contributions of the shadow rays of the current scattering event.
    pub fn set_shadow_rays(&mut self, contributions: impl Iterator<Item = Vec3>) {
        if self.records_paths {
            self.shadow_rays.set_actual(contributions);
        }
    }

    /// Records the light that camera rays hit. `samples` have the radiance so far.
    pub fn set_emitted(&mut self, samples: &TileSamples) {
        self.emitted.extend((0..samples.len()).map(|sample| radiance(samples, sample)));
    }

    /// Ends a scattering event. `samples` have the radiance so far; `continuations` is the number of
    /// paths that continue.
    pub fn end_event(&mut self, samples: &TileSamples, continuations: usize) {
        for recorded in &mut self.vertices[self.earlier..] {
            recorded.radiance = radiance(samples, recorded.vertex.sample);
        }
        self.earlier = self.vertices.len();
        if self.events == 0 {
            self.direct.extend((0..samples.len()).map(|sample| radiance(samples, sample)));
        }
        self.events += 1;
        self.pass.stats.continuations += continuations as f64;
    }

    /// Ends the paths of a tile with `pixel_samples` adjacent samples of each pixel.
    pub fn end_paths(&mut self, samples: &TileSamples, pixel_samples: usize) {
        (self.earlier, self.events) = (0, 0);
        let mut paths =
            Vec::with_capacity(if self.records_paths { self.vertices.len() } else { 0 });
        for RecordedVertex { vertex, radiance: before, rays } in self.vertices.drain(..) {
            let contribution = radiance(samples, vertex.sample) - before;
            let path = PathSample {
                point: vertex.point,
                radiance: contribution / vertex.throughput,
                rays: self.rays[vertex.sample as usize] - rays,
            };
            if self.records_paths && path.radiance.is_finite() {
                paths.push(path);
            }
            let weight = contribution * contribution * vertex.pdf;
            if weight > 0.0 && weight.is_finite() {
                self.pass.samples.push(TrainingSample {
                    point: vertex.point,
                    bin: BinIndex::new(vertex.u),
                    weight,
                    fold: (vertex.sample % 2) as u8,
                });
            }
        }
        self.pass.paths.push(paths);
        self.pass.shadow_rays.push(self.shadow_rays.take(samples));
        self.rays.clear();
        // No event ended if the lens of the camera blocks all rays.
        self.direct.resize(samples.len() as usize, 0.0);
        let indirect = |sample: u32| radiance(samples, sample) - self.direct[sample as usize];
        let indirect: Vec<f32> = (0..samples.len()).map(indirect).collect();
        self.pass.stats.add(&self.direct, &indirect, pixel_samples);
        self.emitted.resize(samples.len() as usize, 0.0);
        let scattered = |sample: u32| radiance(samples, sample) - self.emitted[sample as usize];
        self.pass
            .scattered
            .extend(samples.iter().zip(0..).map(|(s, i)| ((s.x, s.y), scattered(i))));
        self.direct.clear();
        self.emitted.clear();
    }
}

fn radiance(samples: &TileSamples, sample: u32) -> f32 {
    samples.radiance(sample).element_sum()
}

/// What a pass of the training finds.
#[derive(Default)]
struct Pass {
    /// Samples with light, for the guide.
    samples: Vec<TrainingSample>,
    /// Paths of each tile, for Russian roulette. They are not copied to one list, since there can be
    /// a million.
    paths: Vec<Vec<PathSample>>,
    /// Shadow rays of each tile, for their Russian roulette.
    shadow_rays: Vec<Vec<ShadowRaySample>>,
    /// Pixel of each camera sample, and its radiance without the light that the camera ray hits.
    scattered: Vec<((u32, u32), f32)>,
    stats: PassStats,
}

impl Pass {
    fn merge(&mut self, mut other: Pass) {
        self.samples.append(&mut other.samples);
        self.paths.append(&mut other.paths);
        self.shadow_rays.append(&mut other.shadow_rays);
        self.scattered.append(&mut other.scattered);
        self.stats.merge(&other.stats);
    }
}

/// Variance and work of a pass, in total and for direct and indirect light.
#[derive(Clone, Copy, Default)]
struct PassStats {
    /// Number of pixels with light.
    pixels: f64,
    /// Sum of the variances of pixels by direct light, relative to their squared brightness.
    direct: f64,
    /// The same for indirect light.
    indirect: f64,
    /// Number of camera rays.
    camera_rays: f64,
    /// Number of other rays from vertex to vertex.
    continuations: f64,
    /// Sum of the variances of pixels, relative to the squared mean of the tile.
    total: f64,
    /// Time, in units of that of a ray.
    work: f64,
}

impl PassStats {
    /// Adds the samples of a tile, `pixel_samples` for each pixel. Direct light varies more from
    /// pixel to pixel than indirect light, but has less noise. So the brightness of a pixel is
    /// estimated by its own direct light and the indirect light of the tile.
    fn add(&mut self, direct: &[f32], indirect: &[f32], pixel_samples: usize) {
        self.camera_rays += direct.len() as f64;
        let (mean_direct, mean_indirect) = (mean(direct), mean(indirect));
        let tile_mean = mean_direct + mean_indirect;
        if pixel_samples < 2 || !(tile_mean > 0.0 && tile_mean.is_finite()) {
            return;
        }
        for (direct, indirect) in direct.chunks(pixel_samples).zip(indirect.chunks(pixel_samples)) {
            let total: Vec<f32> = direct.iter().zip(indirect).map(|(a, b)| a + b).collect();
            self.total += variance(&total) / (tile_mean * tile_mean);
            let brightness = mean(direct) + mean_indirect;
            if brightness > 0.0 {
                self.pixels += 1.0;
                self.direct += variance(direct) / (brightness * brightness);
                self.indirect += variance(indirect) / (brightness * brightness);
            }
        }
    }

    fn merge(&mut self, other: &PassStats) {
        self.pixels += other.pixels;
        self.direct += other.direct;
        self.indirect += other.indirect;
        self.camera_rays += other.camera_rays;
        self.continuations += other.continuations;
        self.total += other.total;
        self.work += other.work;
    }

    /// Adds the work of a tile.
    fn add_work(&mut self, counts: &Counts) {
        let rays = counts.rays + counts.shadow_rays;
        self.work += rays as f64 + EVALUATION_WORK * counts.shading.evaluations as f64;
    }

    fn variance_times_work(&self) -> f64 {
        self.total * self.work
    }

    /// Returns √(C / V), where C is the number of rays per sample, and V the variance of a sample
    /// relative to the squared brightness, with this number of branches.
    fn efficiency(&self, branches: u32) -> f64 {
        let SampleCost { variance, rays, .. } = self.sample_cost(branches);
        (rays / variance).sqrt()
    }

    /// Returns the variance and work of a sample with this number of branches.
    fn sample_cost(&self, branches: u32) -> SampleCost {
        let b = f64::from(branches);
        SampleCost {
            samples: self.camera_rays,
            variance: (self.direct + self.indirect / b) / self.pixels,
            rays: 1.0 + b * self.continuations / self.camera_rays,
            branches,
        }
    }

    /// Returns the number of continuations at first vertices with the least product of variance and
    /// number of rays. n branches divide the variance of indirect light by n, and multiply its rays
    /// by n.
    fn branches(&self) -> u32 {
        let variances = self.indirect / self.direct;
        let rays = self.camera_rays / self.continuations;
        let branches = (variances * rays).sqrt();
        // NaN becomes 0 before it is clamped.
        (branches.round() as u32).clamp(1, MAX_BRANCHES)
    }
}

fn mean(samples: &[f32]) -> f64 {
    samples.iter().copied().map(f64::from).sum::<f64>() / samples.len() as f64
}

/// Returns the unbiased estimate of the variance.
fn variance(samples: &[f32]) -> f64 {
    let mean = mean(samples);
    let squares: f64 = samples.iter().map(|&x| f64::from(x) - mean).map(|x| x * x).sum();
    squares / (samples.len() - 1) as f64
}

/// The result of a training.
#[derive(Debug)]
pub(super) struct Trained {
    /// Cells of the scene, for the guide and for Russian roulette.
    pub cell_tree: Option<SpatialTree>,
    /// The guide, if it helps.
    pub guide: Option<Guide>,
    /// `None` if training found no light or no noise.
    pub roulette: Option<TrainedRoulette>,
    /// Russian roulette of shadow rays, if it pays. It needs `roulette`, which has the brightness of
    /// pixels.
    pub shadow_roulette: Option<ShadowRoulette>,
    /// Number of continuations of each path at its first vertex.
    pub branches: u32,
    /// Whether light trees use optional material weights.
    pub material_weights: bool,
    /// Wall-clock time; `None` without training.
    time: Option<Duration>,
    /// Resolution and seed of the image.
    image: ((u32, u32), u32),
}

impl Trained {
    /// Creates the result without training.
    fn untrained(settings: &RenderSettings) -> Trained {
        Trained {
            cell_tree: None,
            guide: None,
            roulette: None,
            shadow_roulette: None,
            branches: 1,
            material_weights: false,
            time: None,
            image: (settings.resolution, settings.sampling.seed),
        }
    }

    /// Panics if the settings are those of another image.
    pub fn assert_is_for(&self, settings: &RenderSettings) {
        let image = (settings.resolution, settings.sampling.seed);
        assert_eq!(self.image, image, "an integrator renders one resolution with one seed");
    }

    pub fn stats(&self) -> Option<TrainingStats> {
        let guide = self.guide.as_ref().map(|guide| GuideStats {
            cells: guide.cell_count(),
            moment_ratio: guide.moment_ratio(),
        });
        let Trained { branches, material_weights, .. } = *self;
        let shadow_threshold = self.shadow_roulette.map(ShadowRoulette::threshold);
        Some(TrainingStats {
            time: self.time?,
            branches,
            material_weights,
            shadow_threshold,
            guide,
        })
    }
}

impl PathTracer {
    /// Trains a guide and Russian roulette, and chooses the number of branches and the weights of light
    /// trees. The result depends only on the scene, the resolution and the seed. Returns `None` if the
    /// options stop the training.
    pub(super) fn train(
        &self,
        scene: &Scene,
        settings: &RenderSettings,
        options: &RenderOptions,
    ) -> Option<Trained> {
        let tests_materials = self.max_depth > 0 && self.lights.has_optional_materials();
        if self.guiding == Guiding::Off || (self.max_depth < 2 && !tests_materials) {
            return Some(Trained::untrained(settings));
        }
        let start = Instant::now();
        let mut trained = Trained::untrained(settings);
        let (width, height) = settings.resolution;
        let resolution = training_resolution(width, height);
        let mut settings = RenderSettings {
            resolution,
            window: Window { x0: 0, y0: 0, x1: resolution.0, y1: resolution.1 },
            ..settings.clone()
        };
        settings.sampling.seed = hash(settings.sampling.seed, TRAINING_STREAM);
        let pixel_size =
            vec2(width as f32, height as f32) / vec2(resolution.0 as f32, resolution.1 as f32);
        let film = Film::new(settings.window, FilmOptions::default());
        let render = |pass: Range<u32>, tiles: &[&Tile], trained: &Trained| {
            let records_paths = pass.end == TRAINING_SAMPLES;
            let worker = || {
                let mut worker =
                    PathWorker::new(scene, &settings, self, Some(trained), Faults::default());
                worker.wavefront.recorder =
                    Some(TrainingRecorder { records_paths, ..TrainingRecorder::default() });
                worker.wavefront.samples.pixel_size = pixel_size;
                worker.wavefront.branches = 1;
                worker
            };
            render_pass(tiles, &pass, options, worker)
        };
        // All branches of a path would have to share its wavelength. With many lights, direct light
        // has rare large samples, and its variance in a few samples is too low.
        let may_branch =
            !has_many_lights(&scene.lights) && !scene.materials.iter().any(Material::disperses);
        if self.max_depth > 1 {
            let tiles: Vec<&Tile> = film.tiles().iter().collect();
            let mut samples = Vec::new();
            let mut image = vec![0.0; resolution.0 as usize * resolution.1 as usize];
            let mut last = Pass::default();
            for pass in PASSES {
                last = render(pass, &tiles, &trained)?;
                samples.append(&mut last.samples);
                for &((x, y), radiance) in &last.scattered {
                    if radiance.is_finite() {
                        image[(y * resolution.0 + x) as usize] += f64::from(radiance);
                    }
                }
                let (tree, cells) = SpatialTree::new(&mut samples, CELL_SAMPLES);
                trained.guide = Some(Guide::new(&samples, &cells));
                trained.cell_tree = Some(tree);
            }
            if may_branch {
                trained.branches = last.stats.branches();
            }
            image.iter_mut().for_each(|sum| *sum /= f64::from(TRAINING_SAMPLES));
            let brightness = BrightnessMap::new(&image, resolution, (width, height));
            let efficiency = last.stats.efficiency(trained.branches);
            let cost = last.stats.sample_cost(trained.branches);
            trained.shadow_roulette = ShadowRoulette::new(&last.shadow_rays, &brightness, cost);
            trained.roulette = trained
                .cell_tree
                .as_ref()
                .and_then(|tree| TrainedRoulette::new(&last.paths, tree, efficiency, brightness));
            if trained.roulette.is_none() {
                // It has the brightness of pixels.
                trained.shadow_roulette = None;
            }
        }
        if tests_materials {
            let tiles: Vec<&Tile> =
                film.tiles().iter().filter(|tile| tests_light_trees(tile)).collect();
            let without = render(LIGHT_TREE_PASS, &tiles, &trained)?;
            trained.material_weights = true;
            let with = render(LIGHT_TREE_PASS, &tiles, &trained)?;
            let limit = MAX_MATERIAL_COST_RATIO * without.stats.variance_times_work();
            trained.material_weights = with.stats.variance_times_work() < limit;
        }
        let is_useful =
            |guide: &Guide| self.guiding == Guiding::On || guide.moment_ratio() < MAX_MOMENT_RATIO;
        trained.guide = trained.guide.filter(is_useful);
        trained.time = Some(start.elapsed());
        Some(trained)
    }
}

/// Returns the resolution of the training image: at most [`MAX_PIXELS`] pixels, with about the
/// aspect ratio of an image.
fn training_resolution(width: u32, height: u32) -> (u32, u32) {
    let scale = (MAX_PIXELS as f64 / (f64::from(width) * f64::from(height))).sqrt().min(1.0);
    let scaled = |pixels: u32| ((f64::from(pixels) * scale) as u32).max(1);
    let (width, height) = (scaled(width), scaled(height));
    (width.min(MAX_PIXELS / height).max(1), height.min(MAX_PIXELS / width).max(1))
}

/// Renders a pass of the training, with results in the order of tiles. Returns `None` if the options
/// stop it.
fn render_pass<'a>(
    tiles: &[&Tile],
    pass: &Range<u32>,
    options: &RenderOptions,
    worker: impl Fn() -> PathWorker<'a> + Sync,
) -> Option<Pass> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    run_on_threads(options.threads.min(tiles.len()), || {
        let mut worker = worker();
        while !options.stop.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(tile) = tiles.get(index) else { break };
            let counts = worker.render_tile(pass.clone(), tile);
            let recorder = worker.wavefront.recorder.as_mut().expect("training records paths");
            let mut pass = std::mem::take(&mut recorder.pass);
            pass.stats.add_work(&counts);
            let mut results = results.lock().expect("no thread panics while it adds samples");
            results.push((index, pass));
        }
    });
    let mut results = results.into_inner().expect("all threads are done");
    if results.len() < tiles.len() {
        return None;
    }
    results.sort_unstable_by_key(|&(tile, _)| tile);
    let mut pass = Pass::default();
    results.into_iter().for_each(|(_, of_tile)| pass.merge(of_tile));
    Some(pass)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::sampling::unit_float;

    /// Returns the number of branches for noise of direct and indirect light at each pixel, with
    /// means 1.
    fn branches(direct: f32, indirect: f32, continuations: f64) -> u32 {
        let mut stats = PassStats { continuations, ..PassStats::default() };
        let samples = |noise: f32, seed: u32| -> Vec<f32> {
            (0..1024).map(|i| 1.0 + noise * (unit_float(hash(seed, i)) - 0.5)).collect()
        };
        stats.add(&samples(direct, 1), &samples(indirect, 2), 4);
        stats.branches()
    }

    #[test]
    fn training_images_are_small_and_keep_the_aspect_ratio() {
        assert_eq!(training_resolution(128, 128), (128, 128));
        assert_eq!(training_resolution(1920, 1080), (241, 135));
        assert_eq!(training_resolution(1, 3_000), (1, 3_000));
        for (width, height) in [(1 << 20, 1), (1, 1 << 20), (70_000, 70_000), (3, 100_000)] {
            let (x, y) = training_resolution(width, height);
            assert!(x > 0 && y > 0 && x * y <= MAX_PIXELS && x * y > MAX_PIXELS / 2, "{x} × {y}");
        }
    }

    #[test]
    fn a_quarter_of_the_tiles_tests_light_trees_in_all_columns_and_rows() {
        let window = Window { x0: 0, y0: 0, x1: 8 * TILE, y1: 4 * TILE };
        let film = Film::new(window, FilmOptions::default());
        let tested: Vec<Window> =
            film.tiles().iter().filter(|tile| tests_light_trees(tile)).map(Tile::window).collect();
        assert_eq!(tested.len(), 8);
        for row in 0..4 {
            assert_eq!(tested.iter().filter(|tile| tile.y0 == row * TILE).count(), 2, "{row}");
        }
    }

    #[test]
    fn branches_balance_noise_and_cost() {
        // Equal costs: the ratio of the deviations.
        assert_eq!(branches(0.5, 1.0, 1024.0), 2);
        assert_eq!(branches(0.5, 1.5, 1024.0), 3);
        assert_eq!(branches(0.5, 0.5, 1024.0), 1);
        // Long paths.
        assert_eq!(branches(0.5, 1.5, 9.0 * 1024.0), 1);
    }

    #[test]
    fn branches_are_limited() {
        assert_eq!(branches(1.0, 0.0, 1024.0), 1);
        assert_eq!(branches(0.0, 1.0, 1024.0), MAX_BRANCHES);
        assert_eq!(branches(0.0, 0.0, 0.0), 1);
        assert_eq!(PassStats::default().branches(), 1);
    }

    #[test]
    fn efficiency_does_not_depend_on_the_number_of_samples() {
        for pixel_samples in [2, 4] {
            let mut stats = PassStats::default();
            // Variances 2 and 8 of samples with brightness 2 + 4.
            let direct: Vec<f32> = (0..64).map(|i| if i % 2 == 0 { 1.0 } else { 3.0 }).collect();
            let indirect: Vec<f32> = direct.iter().map(|x| 2.0 * x).collect();
            stats.add(&direct, &indirect, pixel_samples);
            stats.continuations = 3.0 * 64.0;
            // The variance of n samples ±1 is n / (n − 1).
            let variance = pixel_samples as f64 / (pixel_samples - 1) as f64 / 36.0;
            for branches in [1, 4] {
                let b = f64::from(branches);
                let expected = ((1.0 + 3.0 * b) / (variance * (1.0 + 4.0 / b))).sqrt();
                assert!((stats.efficiency(branches) / expected - 1.0).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn pixels_count_relative_to_their_brightness() {
        let mut stats = PassStats::default();
        stats.add(&[1.0, 3.0, 1000.0, 3000.0], &[0.0; 4], 2);
        assert!((stats.direct - 1.0).abs() < 1e-12 && stats.indirect == 0.0);
        assert!((stats.total - 2_000_002.0 / (1001.0 * 1001.0)).abs() < 1e-9, "{}", stats.total);
        let before = stats.direct;
        stats.add(&[0.0; 4], &[0.0; 4], 2);
        assert_eq!(stats.direct, before, "black tiles have no noise");
    }
}
