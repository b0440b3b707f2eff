//! Rendering: integrator, film and threads brought together.
//!
//! The work is a list of jobs, each a tile and a range of sample numbers, ordered so that the whole picture gains samples evenly.
//! Threads take the next job when they are free; sums are exact ([`crate::film`]), so who does what leaves no trace.

use crate::film::{Film, FilmOptions, Picture};
use crate::integrator::{Counts, Integrator};
use crate::scene::Scene;
use rustix::time::{ClockId, clock_gettime};
use std::ops::Range;
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

/// Sample numbers of a pass: single ones first, so that an early stop leaves a whole picture, then `PASS_SAMPLES` at a time.
/// Empty from the last pass on.
fn pass(index: usize, spp: u32) -> Range<u32> {
    let start = |i: u64| match i {
        0..=2 => i,
        _ => (i - 2) * u64::from(PASS_SAMPLES),
    };
    let clamp = |n: u64| n.min(u64::from(spp)) as u32;
    clamp(start(index as u64))..clamp(start(index as u64 + 1))
}

/// CPU time of the process so far.
fn cpu_time() -> Duration {
    let t = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

/// Renders the scene's film window.
pub fn render(scene: &Scene, integrator: &dyn Integrator, options: &RenderOptions) -> Rendering {
    let film = Film::new(scene.film.window, options.film);
    let tiles = film.tiles();
    let next = AtomicUsize::new(0);
    let totals = Mutex::new((Counts::default(), 0u64));
    let (start, cpu_start) = (Instant::now(), cpu_time());
    let work = || {
        let mut worker = integrator.worker(scene);
        let (mut counts, mut camera_samples) = (Counts::default(), 0);
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            let samples = pass(job / tiles.len(), scene.sampling.spp);
            let late = job >= tiles.len() && options.time_limit.is_some_and(|limit| start.elapsed() >= limit);
            if late || samples.is_empty() || options.stop.load(Ordering::Relaxed) {
                break;
            }
            let tile = &tiles[job % tiles.len()];
            let taken = tile.window().pixels().count() as u64 * samples.len() as u64;
            counts += worker.render_tile(samples, tile);
            camera_samples += taken;
            (options.progress)(taken);
        }
        let mut totals = totals.lock().expect("no thread panics while it holds the totals");
        totals.0 += counts;
        totals.1 += camera_samples;
    };
    std::thread::scope(|scope| {
        let jobs = tiles.len().saturating_mul(scene.sampling.spp as usize);
        for _ in 1..options.threads.min(jobs) {
            // Where the system has no more threads to give, those that there are do the work.
            if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    let (wall, cpu) = (start.elapsed(), cpu_time() - cpu_start);
    let (counts, camera_samples) = totals.into_inner().expect("all threads are done");
    Rendering { picture: film.picture(), counts, camera_samples, wall, cpu }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_cover_all_samples_once() {
        for spp in [1, 2, 3, 5, 8, 17, 64] {
            let passes = (0..).map(|i| pass(i, spp)).take_while(|p| !p.is_empty());
            assert_eq!(passes.flatten().collect::<Vec<_>>(), (0..spp).collect::<Vec<_>>());
        }
        assert_eq!([0, 1, 2, 3, 4].map(|i| pass(i, 9)), [0..1, 1..2, 2..4, 4..8, 8..9]);
        assert!(pass(1 << 40, u32::MAX).is_empty());
    }
}
