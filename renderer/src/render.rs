//! Rendering: integrator, film and threads brought together.
//!
//! The work is a list of jobs, each a tile and a range of sample numbers, ordered so that the whole picture gains samples evenly.
//! Threads take the next job when they are free; sums are exact ([`crate::film`]), so who does what leaves no trace.

use crate::film::{Film, Picture};
use crate::integrator::{Integrator, RayCounts};
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
    /// Stops taking new jobs after this long.
    pub time_limit: Option<Duration>,
    /// Whether to record features for denoisers.
    pub features: bool,
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
    /// Rays traced.
    pub counts: RayCounts,
    /// Camera samples taken.
    pub camera_samples: u64,
    /// Wall-clock time.
    pub wall: Duration,
    /// CPU time of the process during rendering, over all threads.
    pub cpu: Duration,
}

/// Sample ranges of the passes: single samples first, so that an early stop leaves a whole picture.
fn passes(spp: u32) -> impl Iterator<Item = Range<u32>> {
    std::iter::successors(Some(0..1u32.min(spp)), move |last| {
        let start = last.end;
        (start < spp).then(|| start..start + start.min(PASS_SAMPLES).min(spp - start))
    })
}

/// CPU time of the process so far.
fn cpu_time() -> Duration {
    let t = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

/// Renders the scene's film window.
pub fn render(scene: &Scene, integrator: &dyn Integrator, options: &RenderOptions) -> Rendering {
    let film = Film::new(scene.film.window, options.features);
    let tiles = film.tiles();
    let passes: Vec<_> = passes(scene.sampling.spp).collect();
    let next = AtomicUsize::new(0);
    let totals = Mutex::new((RayCounts::default(), 0u64));
    let (start, cpu_start) = (Instant::now(), cpu_time());
    let work = || {
        let (mut counts, mut camera_samples) = (RayCounts::default(), 0);
        loop {
            let late = options.time_limit.is_some_and(|limit| start.elapsed() >= limit);
            let job = next.fetch_add(1, Ordering::Relaxed);
            if late || options.stop.load(Ordering::Relaxed) || job >= passes.len() * tiles.len() {
                break;
            }
            let samples = passes[job / tiles.len()].clone();
            let mut tile = tiles[job % tiles.len()].lock().expect("no thread panics while it holds a tile");
            counts += integrator.render_tile(scene, samples.clone(), &mut tile);
            let taken = u64::from(tile.window().width() * tile.window().height()) * samples.len() as u64;
            camera_samples += taken;
            (options.progress)(taken);
        }
        let mut totals = totals.lock().expect("no thread panics while it holds the totals");
        totals.0 += counts;
        totals.1 += camera_samples;
    };
    std::thread::scope(|scope| {
        for _ in 1..options.threads {
            scope.spawn(work);
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
            let all: Vec<u32> = passes(spp).flatten().collect();
            assert_eq!(all, (0..spp).collect::<Vec<_>>());
        }
        assert_eq!(passes(16).next(), Some(0..1));
    }
}
