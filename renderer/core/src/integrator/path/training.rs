//! Training of the path guide: paths over the whole image, whose contributions are recorded.

use super::{PathTracer, PathWorker};
use crate::film::{Film, FilmOptions};
use crate::integrator::Worker;
use crate::integrator::fault::Faults;
use crate::integrator::guiding::{BinIndex, GUIDE_AXES, Guide, TrainingSample};
use crate::render::{RenderOptions, run_on_threads};
use crate::scene::Scene;
use crate::settings::{Guiding, RenderSettings};
use lightbound_image::Window;
use lightbound_math::sampling::hash;
use lightbound_math::vec2;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of pixels of the image that training renders. Larger images are trained at a
/// lower resolution.
const MAX_PIXELS: f32 = 32_768.0;

/// Samples of each pixel, for each pass of the training. Passes use the guide of those before.
const PASSES: [Range<u32>; 3] = [0..1, 1..3, 3..7];

/// Guides are used if the second moment of contributions is below this, relative to that without a
/// guide. Sampling from a guide takes up to 10 % of the time.
const MAX_MOMENT_RATIO: f64 = 0.95;

/// Separates the random numbers of training from those of the image.
const TRAINING_STREAM: u32 = 0x6775_6964;

/// A vertex of a training path, from which the path continues in a guided direction.
pub(super) struct TrainingVertex {
    /// Position and normal.
    pub point: [f32; GUIDE_AXES],
    /// Random numbers for the direction, and their density.
    pub u: [f32; 2],
    pub pdf: f32,
    /// Index of the sample within the wavefront.
    pub sample: u32,
}

/// Records what training paths find.
#[derive(Default)]
pub(super) struct TrainingRecorder {
    /// The vertices of the paths of a tile, each with the radiance of the sample before the path
    /// continues.
    vertices: Vec<(TrainingVertex, f32)>,
    /// Number of vertices of earlier scattering events.
    earlier: usize,
    samples: Vec<TrainingSample>,
}

impl TrainingRecorder {
    /// Adds a vertex of the current scattering event.
    pub fn add(&mut self, vertex: TrainingVertex) {
        self.vertices.push((vertex, 0.0));
    }

    /// Ends a scattering event. `radiance` returns the radiance of a sample so far.
    pub fn end_event(&mut self, radiance: impl Fn(u32) -> f32) {
        for (vertex, before) in &mut self.vertices[self.earlier..] {
            *before = radiance(vertex.sample);
        }
        self.earlier = self.vertices.len();
    }

    /// Ends the paths of a tile. `radiance` returns the radiance of a sample.
    pub fn end_paths(&mut self, radiance: impl Fn(u32) -> f32) {
        self.earlier = 0;
        self.samples.extend(self.vertices.drain(..).filter_map(|(vertex, before)| {
            let contribution = radiance(vertex.sample) - before;
            let weight = contribution * contribution * vertex.pdf;
            (weight > 0.0 && weight.is_finite()).then(|| TrainingSample {
                point: vertex.point,
                bin: BinIndex::new(vertex.u),
                weight,
                fold: (vertex.sample % 2) as u8,
            })
        }));
    }
}

impl PathTracer {
    /// Trains a guide. It depends only on the scene, the resolution and the seed. Returns `None` if
    /// it would not help, or if the options stop the training.
    pub(super) fn train(
        &self,
        scene: &Scene,
        settings: &RenderSettings,
        options: &RenderOptions,
    ) -> Option<Guide> {
        if self.guiding == Guiding::Off || self.max_depth < 2 {
            return None;
        }
        let (width, height) = settings.resolution;
        let scale = (MAX_PIXELS / (width as f32 * height as f32)).sqrt().min(1.0);
        let resolution = [width, height].map(|pixels| (pixels as f32 * scale).ceil() as u32);
        let mut settings = RenderSettings {
            resolution: resolution.into(),
            window: Window { x0: 0, y0: 0, x1: resolution[0], y1: resolution[1] },
            ..settings.clone()
        };
        settings.sampling.seed = hash(settings.sampling.seed, TRAINING_STREAM);
        let pixel_size =
            vec2(width as f32, height as f32) / vec2(resolution[0] as f32, resolution[1] as f32);
        let film = Film::new(settings.window, FilmOptions::default());
        let (mut samples, mut guide) = (Vec::new(), None);
        for pass in PASSES {
            let worker = || {
                let mut worker =
                    PathWorker::new(scene, &settings, self, guide.as_ref(), Faults::default());
                worker.wavefront.recorder = Some(TrainingRecorder::default());
                worker.wavefront.samples.pixel_size = pixel_size;
                worker
            };
            samples.append(&mut render_pass(&film, &pass, options, worker)?);
            guide = Some(Guide::new(&mut samples));
        }
        let is_useful =
            |guide: &Guide| self.guiding == Guiding::On || guide.moment_ratio() <= MAX_MOMENT_RATIO;
        guide.filter(is_useful)
    }
}

/// Renders a pass of the training over all tiles. Returns the samples in the order of tiles; `None`
/// if the options stop it.
fn render_pass<'a>(
    film: &Film,
    pass: &Range<u32>,
    options: &RenderOptions,
    worker: impl Fn() -> PathWorker<'a> + Sync,
) -> Option<Vec<TrainingSample>> {
    let tiles = film.tiles();
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    run_on_threads(options.threads.min(tiles.len()), || {
        let mut worker = worker();
        while !options.stop.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(tile) = tiles.get(index) else { break };
            worker.render_tile(pass.clone(), tile);
            let recorder = worker.wavefront.recorder.as_mut().expect("training records paths");
            let samples = std::mem::take(&mut recorder.samples);
            results.lock().expect("no thread panics while it adds samples").push((index, samples));
        }
    });
    let mut results = results.into_inner().expect("all threads are done");
    results.sort_unstable_by_key(|&(tile, _)| tile);
    let is_complete = results.len() == tiles.len();
    is_complete.then(|| results.into_iter().flat_map(|(_, samples)| samples).collect())
}
