//! The render loop: an integrator fills a film on several threads.
//!
//! The work is a list of jobs, each a tile and a range of samples, ordered so that all pixels
//! gain samples evenly. A thread takes the next job when it is free; sums are exact
//! ([`crate::film`]), so the assignment of jobs to threads does not affect the result.
//!
//! [`Work`] can be paused. Threads finish the jobs that they took, so the film then holds exactly
//! the first jobs of the list. The film and the number of these jobs suffice to resume.

use crate::film::{Coverage, Film, FilmOptions, Picture, PixelBlock, TILE};
use crate::integrator::{self, Counts, Integrator, IntegratorError};
use crate::scene::Scene;
use crate::settings::RenderSettings;
use lightbound_image::Window;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::ops::{AddAssign, Range};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Maximum number of samples per pixel in one job.
pub const PASS_SAMPLES: u32 = 4;

/// Options of a rendering that do not affect the value of a sample.
pub struct RenderOptions<'a> {
    /// Number of threads.
    pub threads: usize,
    /// Stops taking new jobs after this long, but not before every pixel has a sample.
    pub time_limit: Option<Duration>,
    /// What to record besides the radiance.
    pub film: FilmOptions,
    /// Stops taking new jobs once set.
    pub stop: &'a AtomicBool,
    /// Called with the number of camera samples of each finished job.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

impl Default for RenderOptions<'_> {
    /// All threads of the machine, radiance only, no time limit.
    fn default() -> Self {
        static NEVER: AtomicBool = AtomicBool::new(false);
        RenderOptions {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            time_limit: None,
            film: FilmOptions::default(),
            stop: &NEVER,
            progress: &|_| (),
        }
    }
}

/// A rendered image with statistics.
#[derive(Debug)]
pub struct Rendering {
    /// The picture, with fewer samples than requested if it was stopped.
    pub picture: Picture,
    /// Statistics of rays and shaders.
    pub counts: Counts,
    /// Camera samples taken.
    pub camera_samples: u64,
    /// Wall-clock time.
    pub wall: Duration,
    /// CPU time of the process during rendering, over all threads.
    pub cpu: Duration,
}

/// Statistics of a rendering so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenderStats {
    /// Statistics of rays and shaders.
    pub counts: Counts,
    /// Camera samples taken.
    pub camera_samples: u64,
    /// Wall-clock time.
    pub wall: Duration,
    /// CPU time of the process during rendering, over all threads.
    pub cpu: Duration,
}

impl AddAssign for RenderStats {
    fn add_assign(&mut self, other: RenderStats) {
        self.counts += other.counts;
        self.camera_samples = self.camera_samples.saturating_add(other.camera_samples);
        self.wall = self.wall.saturating_add(other.wall);
        self.cpu = self.cpu.saturating_add(other.cpu);
    }
}

/// The samples of a pass over all tiles; empty after the last pass. The first passes take a single
/// sample, so that an early stop leaves a complete picture, the others `PASS_SAMPLES`.
fn pass(index: usize, samples: &Range<u32>) -> Range<u32> {
    let start = |i: u64| match i {
        0..=2 => i,
        _ => (i - 2) * u64::from(PASS_SAMPLES),
    };
    let clamp = |n: u64| (u64::from(samples.start) + n).min(samples.end.into()) as u32;
    clamp(start(index as u64))..clamp(start(index as u64 + 1))
}

/// The pass that starts when each pixel has at least `taken` samples.
fn pass_after(taken: u32) -> usize {
    match taken {
        0..=2 => taken as usize,
        _ => taken.div_ceil(PASS_SAMPLES) as usize + 2,
    }
}

/// CPU time of the process so far.
fn cpu_time() -> Duration {
    let t = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

/// Renders a scene.
///
/// *Errors*: the integrator does not support this scene.
pub fn render(
    scene: &Scene,
    settings: &RenderSettings,
    options: &RenderOptions,
) -> Result<Rendering, IntegratorError> {
    let integrator = integrator::new(scene, &settings.integrator)?;
    Ok(render_with(scene, settings, &*integrator, options))
}

/// [`render`] with an existing integrator.
pub fn render_with(
    scene: &Scene,
    settings: &RenderSettings,
    integrator: &dyn Integrator,
    options: &RenderOptions,
) -> Rendering {
    let mut work = Work::new(scene, settings, integrator, 0..settings.sampling.spp, options);
    work.run(&Budget::default());
    work.into_rendering()
}

/// Limits of one call of [`Work::run`], which returns there although samples are left.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    /// Samples per pixel, rounded up to the end of a pass. This limit is exact, so that decisions
    /// based on the film do not depend on time.
    pub samples: Option<u32>,
    /// Approximate end time: threads finish their jobs, and at least one job is completed.
    pub time: Option<Instant>,
}

/// Why [`Work::run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// All samples are taken.
    Done,
    /// The [`Budget`] is used up.
    Paused,
    /// [`RenderOptions::time_limit`] has passed.
    TimeLimit,
    /// [`RenderOptions::stop`] was set.
    Stopped,
}

/// A rendering in progress.
pub struct Work<'a> {
    scene: &'a Scene,
    settings: &'a RenderSettings,
    integrator: &'a dyn Integrator,
    options: &'a RenderOptions<'a>,
    /// Indices of the samples to take.
    samples: Range<u32>,
    film: Film,
    /// Number of finished jobs, which are the first ones of the list.
    jobs: usize,
    stats: RenderStats,
    /// Wall-clock time that earlier processes spent on this rendering.
    earlier: Duration,
}

impl<'a> Work<'a> {
    /// New work: these samples of each pixel of the film's window.
    pub fn new(
        scene: &'a Scene,
        settings: &'a RenderSettings,
        integrator: &'a dyn Integrator,
        samples: Range<u32>,
        options: &'a RenderOptions,
    ) -> Work<'a> {
        let film = Film::new(settings.window, options.film);
        Work {
            scene,
            settings,
            integrator,
            options,
            samples,
            film,
            jobs: 0,
            stats: RenderStats::default(),
            earlier: Duration::ZERO,
        }
    }

    /// Continues work whose first `jobs` jobs are done and stored in `film`. The scene and the
    /// sample range must be the same as before.
    ///
    /// # Panics
    /// If the window or options of the film differ.
    pub fn resume(mut self, film: Film, jobs: usize, stats: RenderStats) -> Work<'a> {
        assert_eq!((film.window(), film.options()), (self.film.window(), self.film.options()));
        (self.film, self.jobs, self.stats, self.earlier) = (film, jobs, stats, stats.wall);
        self
    }

    /// The sums so far.
    pub fn film(&self) -> &Film {
        &self.film
    }

    /// Number of finished jobs.
    pub fn jobs(&self) -> usize {
        self.jobs
    }

    /// Whether the finished jobs exceed a [`Budget::samples`] of `samples`.
    pub fn is_beyond(&self, samples: u32) -> bool {
        self.jobs > pass_after(samples).saturating_mul(self.film.tiles().len())
    }

    /// Statistics so far.
    pub fn stats(&self) -> RenderStats {
        self.stats
    }

    /// Minimum number of samples of a pixel.
    pub fn taken(&self) -> u32 {
        pass(self.jobs / self.film.tiles().len(), &self.samples).start - self.samples.start
    }

    /// The samples that the film holds.
    pub fn coverage(&self) -> Coverage {
        let tiles = self.film.tiles().len();
        let (passes, rest) = (self.jobs / tiles, self.jobs % tiles);
        let next = pass(passes, &self.samples);
        let mut coverage = Coverage::default();
        for (window, samples) in
            [(Some(self.film.window()), self.samples.start..next.start)].into_iter().chain(
                first_tiles(self.film.window(), rest as u32)
                    .into_iter()
                    .map(|window| (window, next.clone())),
            )
        {
            if let Some(block) = window.and_then(|window| PixelBlock::new(window, samples)) {
                coverage.add(block);
            }
        }
        coverage
    }

    /// Renders until all samples are taken, the budget is used up, or the options stop it.
    pub fn run(&mut self, budget: &Budget) -> StopReason {
        let tiles = self.film.tiles();
        let passes = pass_after(self.samples.len() as u32);
        let end = budget
            .samples
            .map_or(passes, |samples| pass_after(samples).min(passes))
            .saturating_mul(tiles.len());
        let next = AtomicUsize::new(self.jobs);
        let totals = Mutex::new((Counts::default(), 0u64));
        let (start, cpu_start) = (Instant::now(), cpu_time());
        let here = self.stats.wall - self.earlier;
        let stop_reason = |job: usize| {
            let late = |limit: Duration| here + start.elapsed() >= limit;
            match () {
                _ if self.options.stop.load(Ordering::Relaxed) => Some(StopReason::Stopped),
                _ if job >= tiles.len() && self.options.time_limit.is_some_and(late) => {
                    Some(StopReason::TimeLimit)
                }
                // At least one job is done, however short the time.
                _ if job > self.jobs && budget.time.is_some_and(|time| Instant::now() >= time) => {
                    Some(StopReason::Paused)
                }
                () => None,
            }
        };
        let work = || {
            let mut worker = self.integrator.worker(self.scene, self.settings);
            let (mut counts, mut camera_samples) = (Counts::default(), 0);
            // Stop only before taking a job: every job that was taken is finished.
            while stop_reason(next.load(Ordering::Relaxed)).is_none() {
                let job = next.fetch_add(1, Ordering::Relaxed);
                if job >= end {
                    break;
                }
                let (samples, tile) =
                    (pass(job / tiles.len(), &self.samples), &tiles[job % tiles.len()]);
                let taken = tile.window().pixels().count() as u64 * samples.len() as u64;
                counts += worker.render_tile(samples, tile);
                camera_samples += taken;
                (self.options.progress)(taken);
            }
            let mut totals = totals.lock().expect("no thread panics while it holds the totals");
            totals.0 += counts;
            totals.1 += camera_samples;
        };
        std::thread::scope(|scope| {
            for _ in 1..self.options.threads.min(end.saturating_sub(self.jobs)) {
                // If the system refuses more threads, the existing ones do the work.
                if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                    break;
                }
            }
            work();
        });
        let jobs = next.load(Ordering::Relaxed).min(end);
        let reason = match () {
            _ if jobs == passes.saturating_mul(tiles.len()) => StopReason::Done,
            _ if jobs == end => StopReason::Paused,
            () => stop_reason(jobs).expect("time and signals do not go back"),
        };
        let (counts, camera_samples) = totals.into_inner().expect("all threads are done");
        self.jobs = jobs;
        self.stats += RenderStats {
            counts,
            camera_samples,
            wall: start.elapsed(),
            cpu: cpu_time() - cpu_start,
        };
        reason
    }

    /// Returns the film.
    pub fn into_film(self) -> Film {
        self.film
    }

    /// Converts the work done so far to a picture with statistics.
    pub fn into_rendering(self) -> Rendering {
        let RenderStats { counts, camera_samples, wall, cpu } = self.stats;
        Rendering { picture: self.film.picture(), counts, camera_samples, wall, cpu }
    }
}

/// The pixels of the first `n` tiles of a film's window: complete rows of tiles, and the started
/// row.
fn first_tiles(window: Window, n: u32) -> [Option<Window>; 2] {
    let columns = window.width().div_ceil(TILE);
    let y = |row: u32| (window.y0 + row * TILE).min(window.y1);
    let row = n / columns;
    let rows = Window { y1: y(row), ..window };
    let rest = Window {
        x1: (window.x0 + n % columns * TILE).min(window.x1),
        y0: y(row),
        y1: y(row + 1),
        ..window
    };
    [rows, rest].map(|window| window.intersection(window))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_cover_all_samples_once() {
        for (start, spp) in
            [1, 2, 3, 5, 8, 17, 64].into_iter().flat_map(|spp| [0, 7].map(|start| (start, spp)))
        {
            let samples = start..start + spp;
            let passes: Vec<_> =
                (0..).map(|i| pass(i, &samples)).take_while(|p| !p.is_empty()).collect();
            assert_eq!(passes.len(), pass_after(spp));
            assert_eq!(
                passes.into_iter().flatten().collect::<Vec<_>>(),
                samples.collect::<Vec<_>>()
            );
        }
        assert_eq!([0, 1, 2, 3, 4].map(|i| pass(i, &(0..9))), [0..1, 1..2, 2..4, 4..8, 8..9]);
        assert_eq!([0, 1, 2, 3, 4].map(|i| pass(i, &(6..11))), [6..7, 7..8, 8..10, 10..11, 11..11]);
        assert!(pass(1 << 40, &(0..u32::MAX)).is_empty());
    }

    #[test]
    fn a_pause_rounds_samples_up_to_the_end_of_a_pass() {
        for (requested, taken) in
            [(0, 0), (1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (16, 16), (17, 20)]
        {
            assert_eq!(pass(pass_after(requested), &(0..100)).start, taken, "{requested}");
        }
    }

    #[test]
    fn first_tiles_match_the_tiles_of_the_film() {
        let window = Window { x0: 5, y0: 7, x1: 5 + 3 * TILE - 2, y1: 7 + 2 * TILE + 3 };
        let film = Film::new(window, FilmOptions::default());
        for n in 0..=film.tiles().len() {
            let mut first: Vec<_> = first_tiles(window, n as u32)
                .into_iter()
                .flatten()
                .flat_map(Window::pixels)
                .collect();
            let mut expected: Vec<_> =
                film.tiles()[..n].iter().flat_map(|tile| tile.window().pixels()).collect();
            first.sort();
            expected.sort();
            assert_eq!(first, expected, "{n}");
        }
    }
}
