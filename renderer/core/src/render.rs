//! The render loop: an integrator fills a film on several threads.
//!
//! [`Work`] is a list of jobs. A job is a tile with a range of samples. The list is divided into
//! passes over all tiles, so that all pixels receive samples evenly. Each thread takes the next job
//! when it is free. Sums are exact ([`crate::film`]), so the assignment of jobs to threads does not
//! affect the result.
//!
//! Work can be paused. Threads finish the jobs that they took, so the film then holds exactly the
//! first jobs of the list. The film and the set of its samples suffice to resume, with the same or
//! another number of samples in total: the value of a sample depends only on its index, and passes
//! skip the samples that a tile has.

use crate::film::{Coverage, Film, FilmOptions, PixelBlock, RenderedImage, Tile};
use crate::integrator::{self, Counts, Integrator, IntegratorError};
use crate::scene::Scene;
use crate::settings::RenderSettings;
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
    /// Called with 0 once the integrator is prepared, and after each job with its number of camera
    /// samples.
    pub progress: &'a (dyn Fn(u64) + Sync),
    /// Called after each job with its tile, by the thread that rendered it.
    pub tile_done: &'a (dyn Fn(&Tile) + Sync),
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
            tile_done: &|_| (),
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
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

/// The passes over all tiles. Integrators may render groups of consecutive samples together: no pass
/// divides a group of the size `group`, a power of two.
///
/// The first passes take few samples per pixel, so that every pixel soon has a sample. From the
/// fourth, passes take `PASS_SAMPLES`. With groups, all passes take at least a group.
#[derive(Clone, Copy, Debug)]
struct Passes {
    group: u32,
}

impl Passes {
    /// Number of first passes of one sample.
    fn single(self) -> u32 {
        if self.group == 1 { 2 } else { 0 }
    }

    /// Number of samples of a later pass.
    fn samples_per_pass(self) -> u32 {
        PASS_SAMPLES.max(self.group)
    }

    /// Returns the sample indices of a pass; empty after the last pass.
    fn samples(self, index: usize, samples: &Range<u32>) -> Range<u32> {
        let (single, per_pass) = (u64::from(self.single()), u64::from(self.samples_per_pass()));
        let start = |i: u64| if i <= single { i } else { (i - single) * per_pass };
        let clamp = |n: u64| (u64::from(samples.start) + n).min(samples.end.into()) as u32;
        clamp(start(index as u64))..clamp(start(index as u64 + 1))
    }

    /// Returns the first pass that starts with at least `samples` samples per pixel.
    fn after(self, samples: u32) -> usize {
        match samples {
            _ if samples <= self.single() => samples as usize,
            _ => (samples.div_ceil(self.samples_per_pass()) + self.single()) as usize,
        }
    }

    /// Returns the number of passes that are finished once a pixel has `samples` of `total` samples.
    fn finished(self, samples: u32, total: u32) -> usize {
        match samples {
            _ if samples == total => self.after(total),
            _ if samples <= self.single() => samples as usize,
            _ => (samples / self.samples_per_pass() + self.single()) as usize,
        }
    }
}

/// Runs `work` on up to `threads` threads, at least on this one, and waits for them.
pub(crate) fn run_on_threads(threads: usize, work: impl Fn() + Copy + Send) {
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // If the system refuses more threads, the existing ones do the work.
            if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
}

/// Returns the CPU time of the process so far.
pub fn cpu_time() -> Duration {
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
    let integrator = integrator::new(scene, settings)?;
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
pub struct Budget<'a> {
    /// Number of samples per pixel, rounded up to the end of a pass. This limit is exact, so that
    /// decisions based on the film do not depend on time.
    pub samples: Option<u32>,
    /// Approximate end time: threads finish their jobs, and at least one job is completed.
    pub time: Option<Instant>,
    /// No new job is started while this is set.
    pub pause: Option<&'a AtomicBool>,
}

/// Why [`Work::run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// All samples are taken.
    Done,
    /// A limit of the [`Budget`] was reached.
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
    /// For each tile, the end of the samples that the film held when this work began.
    resumed: Vec<u32>,
    stats: RenderStats,
    /// Wall-clock time that earlier processes spent on this rendering.
    earlier_wall: Duration,
}

impl<'a> Work<'a> {
    /// Creates the work of taking `samples` of each pixel in the settings' window.
    ///
    /// # Panics
    /// If the samples are not entire [groups](crate::settings::IntegratorSettings::sample_group).
    pub fn new(
        scene: &'a Scene,
        settings: &'a RenderSettings,
        integrator: &'a dyn Integrator,
        samples: Range<u32>,
        options: &'a RenderOptions,
    ) -> Work<'a> {
        let group = settings.integrator.sample_group();
        let is_aligned = [samples.start, samples.end].iter().all(|n| n.is_multiple_of(group));
        assert!(is_aligned, "samples {samples:?} are not entire groups of {group}");
        let film = Film::new(settings.window, options.film);
        let resumed = vec![samples.start; film.tiles().len()];
        Work {
            scene,
            settings,
            integrator,
            options,
            samples,
            film,
            jobs: 0,
            resumed,
            stats: RenderStats::default(),
            earlier_wall: Duration::ZERO,
        }
    }

    /// Resumes earlier work on the same scene. `add_sums` adds the sums of the samples in
    /// `coverage` to the film; a second film could need too much memory. Returns `None` unless
    /// these are, for each tile, the first samples of the range.
    pub fn resume<E>(
        mut self,
        coverage: &Coverage,
        stats: RenderStats,
        add_sums: impl FnOnce(&mut Film) -> Result<(), E>,
    ) -> Option<Result<Work<'a>, E>> {
        let tile_ends = self.tile_ends(coverage)?;
        Some(add_sums(&mut self.film).map(|()| self.with_progress(tile_ends, stats)))
    }

    /// Returns the end of each tile's samples in `coverage`; `None` unless these are, for each
    /// tile, the first samples of the range.
    fn tile_ends(&self, coverage: &Coverage) -> Option<Vec<u32>> {
        if !coverage.is_within(self.block()) {
            return None;
        }
        let end =
            |tile: &Tile| Some(coverage.first_samples(tile.window(), self.samples.start)?.end);
        self.film.tiles().iter().map(end).collect()
    }

    /// Resumes earlier work. The film already holds each tile's samples before `tile_ends`.
    fn with_progress(mut self, tile_ends: Vec<u32>, stats: RenderStats) -> Work<'a> {
        let (passes, total) = (self.passes(), self.samples.len() as u32);
        let tiles = tile_ends.len();
        // Jobs before the first unfinished one need not be visited.
        let first_unfinished = |(tile, &end): (usize, &u32)| {
            let pass = passes.finished(end - self.samples.start, total);
            if pass == passes.after(total) { pass * tiles } else { pass * tiles + tile }
        };
        self.jobs =
            tile_ends.iter().enumerate().map(first_unfinished).min().expect("a film has tiles");
        (self.resumed, self.stats, self.earlier_wall) = (tile_ends, stats, stats.wall);
        self
    }

    /// Returns the pixels and samples to render.
    ///
    /// # Panics
    /// If the range of samples is empty.
    pub fn block(&self) -> PixelBlock {
        let block = PixelBlock::new(self.film.window(), self.samples.clone());
        block.expect("there are samples to render")
    }

    /// Returns the sums so far.
    pub fn film(&self) -> &Film {
        &self.film
    }

    /// Returns whether a pixel has more samples than a [`Budget::samples`] of `samples` allows.
    pub fn is_beyond(&self, samples: u32) -> bool {
        let end = self.passes().samples(self.passes().after(samples), &self.samples).start;
        self.ends().any(|taken| taken > end)
    }

    /// Returns the statistics so far.
    pub fn stats(&self) -> RenderStats {
        self.stats
    }

    fn passes(&self) -> Passes {
        Passes { group: self.settings.integrator.sample_group() }
    }

    /// Returns the end of each tile's samples.
    fn ends(&self) -> impl Iterator<Item = u32> {
        let tiles = self.film.tiles().len();
        let next = self.passes().samples(self.jobs / tiles, &self.samples);
        self.resumed.iter().enumerate().map(move |(tile, &resumed)| {
            resumed.max(if tile < self.jobs % tiles { next.end } else { next.start })
        })
    }

    /// Returns the minimum number of samples of a pixel.
    pub fn min_samples(&self) -> u32 {
        self.ends().min().expect("a film has tiles") - self.samples.start
    }

    /// Returns the samples that the film holds.
    pub fn coverage(&self) -> Coverage {
        let mut coverage = Coverage::default();
        for (tile, end) in self.film.tiles().iter().zip(self.ends()) {
            if let Some(block) = PixelBlock::new(tile.window(), self.samples.start..end) {
                coverage.add(block);
            }
        }
        coverage
    }

    /// Renders until all samples are taken, the budget is spent, or the options stop it.
    pub fn run(&mut self, budget: &Budget) -> StopReason {
        let tiles = self.film.tiles();
        let passes = self.passes().after(self.samples.len() as u32);
        let end = budget
            .samples
            .map_or(passes, |samples| self.passes().after(samples).min(passes))
            .saturating_mul(tiles.len());
        let next = AtomicUsize::new(self.jobs);
        let totals = Mutex::new((Counts::default(), 0u64));
        let (start, cpu_start) = (Instant::now(), cpu_time());
        if self.jobs < end {
            self.integrator.prepare(self.scene, self.settings, self.options);
            (self.options.progress)(0);
        }
        let wall_before = self.stats.wall - self.earlier_wall;
        let stop_reason = |job: usize| {
            let has_passed = |limit: Duration| wall_before + start.elapsed() >= limit;
            match () {
                _ if self.options.stop.load(Ordering::Relaxed) => Some(StopReason::Stopped),
                _ if job >= tiles.len() && self.options.time_limit.is_some_and(has_passed) => {
                    Some(StopReason::TimeLimit)
                }
                _ if budget.pause.is_some_and(|pause| pause.load(Ordering::Relaxed)) => {
                    Some(StopReason::Paused)
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
                let (pass, tile) = (job / tiles.len(), job % tiles.len());
                let mut samples = self.passes().samples(pass, &self.samples);
                samples.start = samples.start.max(self.resumed[tile]);
                if samples.is_empty() {
                    continue;
                }
                let tile = &tiles[tile];
                let job_samples = tile.window().pixels().count() as u64 * samples.len() as u64;
                counts += worker.render_tile(samples, tile);
                camera_samples += job_samples;
                (self.options.progress)(job_samples);
                (self.options.tile_done)(tile);
            }
            let mut totals = totals.lock().expect("no thread panics while it holds the totals");
            totals.0 += counts;
            totals.1 += camera_samples;
        };
        run_on_threads(self.options.threads.min(end.saturating_sub(self.jobs)), work);
        let jobs = next.load(Ordering::Relaxed).min(end);
        let reason = match () {
            _ if jobs == passes.saturating_mul(tiles.len()) => StopReason::Done,
            _ if jobs == end => StopReason::Paused,
            // `pause` may be cleared in the meantime.
            () => stop_reason(jobs).unwrap_or(StopReason::Paused),
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

    /// Returns the image of the samples so far, with statistics.
    pub fn into_rendering(self) -> Rendering {
        let RenderStats { counts, camera_samples, wall, cpu } = self.stats;
        Rendering { image: self.film.image(), counts, camera_samples, wall, cpu }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SINGLE: Passes = Passes { group: 1 };

    #[test]
    fn passes_do_not_divide_groups() {
        for group in [2, 4, 8, 64] {
            let passes = Passes { group };
            for (start, spp) in [1, 2, 5, 16].into_iter().flat_map(|n| [0, 3].map(|k| (k, n))) {
                let samples = start * group..(start + spp) * group;
                let count = passes.after(samples.len() as u32);
                let all: Vec<_> = (0..count).map(|i| passes.samples(i, &samples)).collect();
                assert!(all.iter().cloned().flatten().eq(samples.clone()));
                for (index, pass) in all.iter().enumerate() {
                    assert!(!pass.is_empty() && pass.start.is_multiple_of(group));
                    let taken = pass.end - samples.start;
                    assert_eq!(passes.finished(taken, samples.len() as u32), index + 1);
                    assert_eq!(passes.after(taken), index + 1);
                }
                assert!(passes.samples(count, &samples).is_empty());
            }
        }
    }

    #[test]
    fn passes_cover_all_samples_once() {
        for (start, spp) in
            [1, 2, 3, 5, 8, 17, 64].into_iter().flat_map(|spp| [0, 7].map(|start| (start, spp)))
        {
            let samples = start..start + spp;
            let passes: Vec<_> =
                (0..).map(|i| SINGLE.samples(i, &samples)).take_while(|p| !p.is_empty()).collect();
            assert_eq!(passes.len(), SINGLE.after(spp));
            assert_eq!(
                passes.into_iter().flatten().collect::<Vec<_>>(),
                samples.collect::<Vec<_>>()
            );
        }
        assert_eq!(
            [0, 1, 2, 3, 4].map(|i| SINGLE.samples(i, &(0..9))),
            [0..1, 1..2, 2..4, 4..8, 8..9]
        );
        assert_eq!(
            [0, 1, 2, 3, 4].map(|i| SINGLE.samples(i, &(6..11))),
            [6..7, 7..8, 8..10, 10..11, 11..11]
        );
        assert!(SINGLE.samples(1 << 40, &(0..u32::MAX)).is_empty());
    }

    #[test]
    fn sample_budgets_round_up_to_the_end_of_a_pass() {
        for (requested, taken) in
            [(0, 0), (1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (16, 16), (17, 20)]
        {
            assert_eq!(
                SINGLE.samples(SINGLE.after(requested), &(0..100)).start,
                taken,
                "{requested}"
            );
        }
    }

    #[test]
    fn finished_passes_have_all_their_samples() {
        for total in 1..30 {
            let samples = 7..7 + total;
            for taken in 0..=total {
                let is_finished = |&pass: &usize| SINGLE.samples(pass, &samples).end <= 7 + taken;
                let expected = (0..SINGLE.after(total)).take_while(is_finished).count();
                assert_eq!(SINGLE.finished(taken, total), expected, "{taken} of {total}");
            }
        }
    }
}
