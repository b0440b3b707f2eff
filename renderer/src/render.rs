//! Rendering: integrator, film and threads brought together.
//!
//! The work is a list of jobs, each a tile and a range of sample numbers, ordered so that the whole
//! picture gains samples evenly. Threads take the next job when they are free; sums are exact
//! ([`crate::film`]), so who does what leaves no trace.
//!
//! [`Work`] can be paused: every job that a thread took is finished before it stands still, so that
//! the film then holds the first jobs of the list, whole, and nothing else. How many they are, and
//! the film, is all that it takes to go on later.

use crate::film::{Block, Coverage, Film, FilmOptions, Picture, TILE, Window};
use crate::integrator::{Counts, Integrator};
use crate::scene::Scene;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::ops::{AddAssign, Range};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Most samples per pixel in one job.
pub const PASS_SAMPLES: u32 = 4;

/// How to render; none of it changes the value of a sample.
pub struct RenderOptions<'a> {
    /// Number of threads.
    pub threads: usize,
    /// Stops taking new jobs after this long, but not before every pixel has a sample.
    pub time_limit: Option<Duration>,
    /// What to record besides the radiance.
    pub film: FilmOptions,
    /// Stops taking new jobs once set.
    pub stop: &'a AtomicBool,
    /// Told the number of camera samples of each finished job.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

/// A rendered picture and what it took.
#[derive(Debug)]
pub struct Rendering {
    /// The picture; fewer samples than asked for where it was stopped.
    pub picture: Picture,
    /// Rays traced, shaders run.
    pub counts: Counts,
    /// Camera samples taken.
    pub camera_samples: u64,
    /// Wall-clock time.
    pub wall: Duration,
    /// CPU time of the process during rendering, over all threads.
    pub cpu: Duration,
}

/// What rendering took so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effort {
    /// Rays traced, shaders run.
    pub counts: Counts,
    /// Camera samples taken.
    pub camera_samples: u64,
    /// Wall-clock time.
    pub wall: Duration,
    /// CPU time of the process during rendering, over all threads.
    pub cpu: Duration,
}

impl AddAssign for Effort {
    fn add_assign(&mut self, other: Effort) {
        self.counts += other.counts;
        self.camera_samples = self.camera_samples.saturating_add(other.camera_samples);
        self.wall = self.wall.saturating_add(other.wall);
        self.cpu = self.cpu.saturating_add(other.cpu);
    }
}

/// Jobs of one tile: which samples to take, pass by pass. Single ones first, so that an early stop
/// leaves a whole picture, then `PASS_SAMPLES` at a time. Empty from the last pass on.
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

/// Renders the scene's film window.
pub fn render(scene: &Scene, integrator: &dyn Integrator, options: &RenderOptions) -> Rendering {
    let mut work = Work::new(scene, integrator, 0..scene.sampling.spp, options);
    work.go_on(&Pause::default());
    work.into_rendering()
}

/// When to stand still, though there is more to do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pause {
    /// Once each pixel has so many samples (or a few more, where that is not the end of a pass);
    /// exact, so that what is decided then does not depend on time.
    pub samples: Option<u32>,
    /// At about this time, when all threads have finished their jobs; not before one is done.
    pub time: Option<Instant>,
}

/// Why work stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// All samples are taken.
    Done,
    /// As [`Pause`] says.
    Paused,
    /// The time limit.
    TimeLimit,
    /// [`RenderOptions::stop`].
    Stopped,
}

/// A rendering in the making.
pub struct Work<'a> {
    scene: &'a Scene,
    integrator: &'a dyn Integrator,
    options: &'a RenderOptions<'a>,
    /// Which sample numbers.
    samples: Range<u32>,
    film: Film,
    /// Number of jobs that are done, the first ones of the list.
    jobs: usize,
    effort: Effort,
    /// Time that other processes have spent on it.
    earlier: Duration,
}

impl<'a> Work<'a> {
    /// Work that has not begun: samples of these numbers for the scene's film window.
    pub fn new(
        scene: &'a Scene,
        integrator: &'a dyn Integrator,
        samples: Range<u32>,
        options: &'a RenderOptions,
    ) -> Work<'a> {
        let film = Film::new(scene.film.window, options.film);
        Work {
            scene,
            integrator,
            options,
            samples,
            film,
            jobs: 0,
            effort: Effort::default(),
            earlier: Duration::ZERO,
        }
    }

    /// Work of which the first `jobs` jobs are done, and summed up in `film`. The scene and the
    /// sample numbers are the same as then.
    ///
    /// # Panics
    /// If the film is not that of the scene and options.
    pub fn resume(mut self, film: Film, jobs: usize, effort: Effort) -> Work<'a> {
        assert_eq!((film.window(), film.options()), (self.film.window(), self.film.options()));
        (self.film, self.jobs, self.effort, self.earlier) = (film, jobs, effort, effort.wall);
        self
    }

    /// The sums so far.
    pub fn film(&self) -> &Film {
        &self.film
    }

    /// How many jobs are done.
    pub fn jobs(&self) -> usize {
        self.jobs
    }

    /// Whether the jobs that are done go beyond `samples` samples for each pixel, to which
    /// [`Pause::samples`] could go.
    pub fn is_beyond(&self, samples: u32) -> bool {
        self.jobs > pass_after(samples).saturating_mul(self.film.tiles().len())
    }

    /// What it took so far.
    pub fn effort(&self) -> Effort {
        self.effort
    }

    /// Fewest samples that any pixel has.
    pub fn taken(&self) -> u32 {
        pass(self.jobs / self.film.tiles().len(), &self.samples).start - self.samples.start
    }

    /// Which samples the film holds.
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
            if let Some(block) = window.and_then(|window| Block::new(window, samples)) {
                coverage.add(block);
            }
        }
        coverage
    }

    /// Works on until there is a reason not to.
    pub fn go_on(&mut self, pause: &Pause) -> Halt {
        let tiles = self.film.tiles();
        let passes = pass_after(self.samples.len() as u32);
        let end = pause
            .samples
            .map_or(passes, |samples| pass_after(samples).min(passes))
            .saturating_mul(tiles.len());
        let next = AtomicUsize::new(self.jobs);
        let totals = Mutex::new((Counts::default(), 0u64));
        let (start, cpu_start) = (Instant::now(), cpu_time());
        let here = self.effort.wall - self.earlier;
        let halt = |job: usize| {
            let late = |limit: Duration| here + start.elapsed() >= limit;
            match () {
                _ if self.options.stop.load(Ordering::Relaxed) => Some(Halt::Stopped),
                _ if job >= tiles.len() && self.options.time_limit.is_some_and(late) => {
                    Some(Halt::TimeLimit)
                }
                // However short the time, something gets done.
                _ if job > self.jobs && pause.time.is_some_and(|time| Instant::now() >= time) => {
                    Some(Halt::Paused)
                }
                () => None,
            }
        };
        let work = || {
            let mut worker = self.integrator.worker(self.scene);
            let (mut counts, mut camera_samples) = (Counts::default(), 0);
            // Whether to stop is asked before a job is taken: none that was taken is left undone.
            while halt(next.load(Ordering::Relaxed)).is_none() {
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
                // Where the system has no more threads to give, those that there are do the work.
                if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                    break;
                }
            }
            work();
        });
        let jobs = next.load(Ordering::Relaxed).min(end);
        let reason = match () {
            _ if jobs == passes.saturating_mul(tiles.len()) => Halt::Done,
            _ if jobs == end => Halt::Paused,
            () => halt(jobs).expect("time and signals do not go back"),
        };
        let (counts, camera_samples) = totals.into_inner().expect("all threads are done");
        self.jobs = jobs;
        self.effort +=
            Effort { counts, camera_samples, wall: start.elapsed(), cpu: cpu_time() - cpu_start };
        reason
    }

    /// The sums, for good.
    pub fn into_film(self) -> Film {
        self.film
    }

    /// What there is.
    pub fn into_rendering(self) -> Rendering {
        let Effort { counts, camera_samples, wall, cpu } = self.effort;
        Rendering { picture: self.film.picture(), counts, camera_samples, wall, cpu }
    }
}

/// The pixels of the first `n` tiles of a film's window: whole rows of tiles, and what there is of
/// the next.
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
    fn samples_at_a_pause_are_those_that_were_asked_for_or_the_next() {
        for (asked, taken) in [(0, 0), (1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (16, 16), (17, 20)] {
            assert_eq!(pass(pass_after(asked), &(0..100)).start, taken, "{asked}");
        }
    }

    #[test]
    fn first_tiles_are_those_of_the_film() {
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
