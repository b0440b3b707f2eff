//! The render loop: an integrator fills a film on several threads.
//!
//! [`Work`] is a list of jobs. A job is a tile with a range of samples. The list is divided into
//! passes over all tiles, so that all pixels receive samples evenly. Each thread takes the next job
//! when it is free. Sums are exact ([`crate::film`]), so the assignment of jobs to threads does not
//! affect the result.
//!
//! Work can be paused. Threads finish the jobs that they took, so the film then holds exactly the
//! first jobs of the list. The film and the number of these jobs suffice to resume.

use crate::film::{Coverage, Film, FilmOptions, PixelBlock, RenderedImage, TILE};
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
    /// No new job is started after this time, provided that every pixel has a sample.
    pub time_limit: Option<Duration>,
    /// The data to record besides radiance.
    pub film: FilmOptions,
    /// No new job is started once this is set.
    pub stop: &'a AtomicBool,
    /// Called after each job, with its number of camera samples.
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
    /// The image, with fewer samples than requested if rendering was stopped.
    pub image: RenderedImage,
    /// Statistics of rays and shaders.
    pub counts: Counts,
    /// Number of camera samples taken.
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
    /// Number of camera samples taken.
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

/// Returns the sample indices of a pass over all tiles; empty after the last pass. The first passes
/// take few samples per pixel, so that every pixel soon has a sample. From the fourth, passes take
/// `PASS_SAMPLES`.
fn pass_samples(index: usize, samples: &Range<u32>) -> Range<u32> {
    let start = |i: u64| match i {
        0..=2 => i,
        _ => (i - 2) * u64::from(PASS_SAMPLES),
    };
    let clamp = |n: u64| (u64::from(samples.start) + n).min(samples.end.into()) as u32;
    clamp(start(index as u64))..clamp(start(index as u64 + 1))
}

/// Returns the first pass that starts with at least `samples` samples per pixel.
fn pass_after(samples: u32) -> usize {
    match samples {
        0..=2 => samples as usize,
        _ => samples.div_ceil(PASS_SAMPLES) as usize + 2,
    }
}

/// Returns the CPU time of the process so far.
fn cpu_time() -> Duration {
    let t = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

/// Renders a scene.
///
/// # Errors
/// If the integrator does not support the scene.
pub fn render(
    scene: &Scene,
    settings: &RenderSettings,
    options: &RenderOptions,
) -> Result<Rendering, IntegratorError> {
    let integrator = integrator::new(scene, &settings.integrator)?;
    Ok(render_with(scene, settings, &*integrator, options))
}

/// Renders a scene with an existing integrator.
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

/// Limits for one call of [`Work::run`]. It returns when a limit is reached.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    /// Number of samples per pixel, rounded up to the end of a pass. This limit is exact, so that
    /// decisions based on the film do not depend on time.
    pub samples: Option<u32>,
    /// Approximate end time: threads finish their jobs, and at least one job is completed.
    pub time: Option<Instant>,
}

/// Why [`Work::run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// All samples are taken.
    Done,
    /// The [`Budget`] is spent.
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
    /// Number of finished jobs. They are the first jobs of the list.
    jobs: usize,
    stats: RenderStats,
    /// Wall-clock time that earlier processes spent on this rendering.
    earlier_wall: Duration,
}

impl<'a> Work<'a> {
    /// Creates the work of taking `samples` of each pixel in the settings' window.
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
            earlier_wall: Duration::ZERO,
        }
    }

    /// Resumes earlier work: its first `jobs` jobs are finished and stored in `film`. The scene and
    /// the sample range must be the same as before.
    ///
    /// # Panics
    /// If the window or options of the film differ.
    pub fn resume(mut self, film: Film, jobs: usize, stats: RenderStats) -> Work<'a> {
        assert_eq!((film.window(), film.options()), (self.film.window(), self.film.options()));
        self.film = film;
        self.with_progress(jobs, stats)
    }

    /// Resumes earlier work whose sums are already in the film.
    pub(crate) fn with_progress(mut self, jobs: usize, stats: RenderStats) -> Work<'a> {
        (self.jobs, self.stats, self.earlier_wall) = (jobs, stats, stats.wall);
        self
    }

    /// Returns the sums so far.
    pub fn film(&self) -> &Film {
        &self.film
    }

    /// Returns the sums, to add those of earlier work. A second film could need too much memory.
    pub(crate) fn film_mut(&mut self) -> &mut Film {
        &mut self.film
    }

    /// Returns the number of finished jobs.
    pub fn jobs(&self) -> usize {
        self.jobs
    }

    /// Returns whether more jobs are finished than a [`Budget::samples`] of `samples` allows.
    pub fn is_beyond(&self, samples: u32) -> bool {
        self.jobs > pass_after(samples).saturating_mul(self.film.tiles().len())
    }

    /// Returns the statistics so far.
    pub fn stats(&self) -> RenderStats {
        self.stats
    }

    /// Returns the minimum number of samples of a pixel.
    pub fn min_samples(&self) -> u32 {
        pass_samples(self.jobs / self.film.tiles().len(), &self.samples).start - self.samples.start
    }

    /// Returns the samples that the film holds.
    pub fn coverage(&self) -> Coverage {
        let tiles = self.film.tiles().len();
        let (passes, tiles_of_next) = (self.jobs / tiles, self.jobs % tiles);
        let next = pass_samples(passes, &self.samples);
        let mut coverage = Coverage::default();
        for (window, samples) in
            [(Some(self.film.window()), self.samples.start..next.start)].into_iter().chain(
                first_tiles(self.film.window(), tiles_of_next as u32)
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

    /// Renders until all samples are taken, the budget is spent, or the options stop it.
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
        let wall_before = self.stats.wall - self.earlier_wall;
        let stop_reason = |job: usize| {
            let has_passed = |limit: Duration| wall_before + start.elapsed() >= limit;
            match () {
                _ if self.options.stop.load(Ordering::Relaxed) => Some(StopReason::Stopped),
                _ if job >= tiles.len() && self.options.time_limit.is_some_and(has_passed) => {
                    Some(StopReason::TimeLimit)
                }
                // At least one job is finished, however short the time.
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
                    (pass_samples(job / tiles.len(), &self.samples), &tiles[job % tiles.len()]);
                let job_samples = tile.window().pixels().count() as u64 * samples.len() as u64;
                counts += worker.render_tile(samples, tile);
                camera_samples += job_samples;
                (self.options.progress)(job_samples);
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

    /// Returns the image of the samples so far, with statistics.
    pub fn into_rendering(self) -> Rendering {
        let RenderStats { counts, camera_samples, wall, cpu } = self.stats;
        Rendering { image: self.film.image(), counts, camera_samples, wall, cpu }
    }
}

/// Returns the pixels of the first `n` tiles of a film's window: the complete rows of tiles, and
/// the incomplete row.
fn first_tiles(window: Window, n: u32) -> [Option<Window>; 2] {
    let columns = window.width().div_ceil(TILE);
    let y = |row: u32| (window.y0 + row * TILE).min(window.y1);
    let row = n / columns;
    let complete = Window { y1: y(row), ..window };
    let incomplete = Window {
        x1: (window.x0 + n % columns * TILE).min(window.x1),
        y0: y(row),
        y1: y(row + 1),
        ..window
    };
    [complete, incomplete].map(|window| window.intersection(window))
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
                (0..).map(|i| pass_samples(i, &samples)).take_while(|p| !p.is_empty()).collect();
            assert_eq!(passes.len(), pass_after(spp));
            assert_eq!(
                passes.into_iter().flatten().collect::<Vec<_>>(),
                samples.collect::<Vec<_>>()
            );
        }
        assert_eq!(
            [0, 1, 2, 3, 4].map(|i| pass_samples(i, &(0..9))),
            [0..1, 1..2, 2..4, 4..8, 8..9]
        );
        assert_eq!(
            [0, 1, 2, 3, 4].map(|i| pass_samples(i, &(6..11))),
            [6..7, 7..8, 8..10, 10..11, 11..11]
        );
        assert!(pass_samples(1 << 40, &(0..u32::MAX)).is_empty());
    }

    #[test]
    fn sample_budgets_round_up_to_the_end_of_a_pass() {
        for (requested, taken) in
            [(0, 0), (1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (16, 16), (17, 20)]
        {
            assert_eq!(pass_samples(pass_after(requested), &(0..100)).start, taken, "{requested}");
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
