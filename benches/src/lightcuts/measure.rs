//! One picture, and what its cuts took.

use super::Args;
use super::scene::text;
use lightbound::film::FilmOptions;
use lightbound::integrator::{self, CutTimes, Integrator};
use lightbound::render::{RenderOptions, render};
use lightbound::scene::build::{Overrides, load_source};
use lightbound::scene::diagnostics::{Diagnostics, Source};
use lightbound::scene::{BoundMode, Cut, ErrorMode, Method, Scene};
use std::sync::atomic::AtomicBool;

/// The scene of so many lights.
pub fn load(material: &str, lights: u32, resolution: (u32, u32)) -> Scene {
    let source = Source::memory("lightcuts.pbrt", text(material, lights, resolution));
    match load_source(&source, &[], &Overrides::default(), &mut Diagnostics::new(true)) {
        Ok(loaded) => loaded.scene,
        Err(error) => panic!("{error}"),
    }
}

/// How cuts are chosen.
#[derive(Clone, Copy)]
pub struct Choice {
    pub error: f32,
    pub mode: ErrorMode,
    pub max_cut: u32,
    pub bounds: BoundMode,
}

impl Choice {
    /// As the command line says, by clusters and related bounds.
    pub fn of(args: &Args) -> Choice {
        Choice {
            error: args.error,
            mode: ErrorMode::Cluster,
            max_cut: args.max_cut,
            bounds: BoundMode::Related,
        }
    }

    /// All lights, one by one.
    pub const FULL: Choice = Choice {
        error: 0.0,
        mode: ErrorMode::Cluster,
        max_cut: u32::MAX,
        bounds: BoundMode::Related,
    };
}

/// The integrator of a scene, its trees built and its bounds compiled.
pub fn integrator(scene: &mut Scene, choice: &Choice) -> Box<dyn Integrator> {
    let Method::Lightcuts(settings) = &mut scene.integrator.method else {
        unreachable!("scenes ask for lightcuts")
    };
    settings.cut = Cut::Deterministic {
        error: choice.error,
        error_mode: choice.mode,
        max_cut: choice.max_cut,
    };
    settings.bounds = choice.bounds;
    integrator::of(scene).unwrap_or_else(|error| panic!("{error}"))
}

/// What a picture took.
#[derive(Debug)]
pub struct Measured {
    /// Points that were shaded.
    pub cuts: u64,
    /// Mean size of cuts.
    pub mean: f64,
    /// Median of it.
    pub median: f64,
    /// Share of the cuts that ended at the most clusters.
    pub capped: f64,
    /// CPU time of rendering, seconds.
    pub cpu: f64,
    /// Where the time of lighting went, in all rounds: at single points, since it is wall-clock
    /// time.
    pub times: CutTimes,
    /// The picture.
    pub radiance: Vec<[f32; 3]>,
}

impl Measured {
    /// CPU time of a cut, µs.
    pub fn cost(&self) -> f64 {
        1e6 * self.cpu / self.cuts as f64
    }

    /// Shares of the time of lighting, in bounds, shading and shadow rays.
    pub fn shares(&self) -> [f64; 3] {
        let CutTimes { total, bounds, shading, visibility } = self.times;
        [bounds, shading, visibility].map(|time| time.as_secs_f64() / total.as_secs_f64())
    }

    /// Takes another round in.
    fn add(&mut self, other: &Measured) {
        assert_eq!(self.radiance, other.radiance, "rounds are the same but for time");
        self.cpu = self.cpu.min(other.cpu);
        self.times += other.times;
    }
}

/// Renders.
pub fn measure(scene: &Scene, integrator: &dyn Integrator, threads: usize) -> Measured {
    let stop = AtomicBool::new(false);
    let options = RenderOptions {
        threads,
        time_limit: None,
        film: FilmOptions::default(),
        stop: &stop,
        progress: &|_| (),
    };
    let rendering = render(scene, integrator, &options);
    assert_eq!(rendering.picture.invalid_samples, 0);
    let cuts = rendering.counts.cuts;
    let count = cuts.sizes.count();
    let [mean, median] =
        [cuts.sizes.mean(), cuts.sizes.median()].map(|size| size.expect("something is lit"));
    Measured {
        cuts: count,
        mean,
        median,
        capped: cuts.capped as f64 / count as f64,
        cpu: rendering.cpu.as_secs_f64(),
        times: cuts.times,
        radiance: rendering.picture.radiance,
    }
}

/// The fastest of rounds in which all take turns.
pub fn fastest(all: &[(&Scene, &dyn Integrator)], args: &Args) -> Vec<Measured> {
    let round = || all.iter().map(|(scene, integrator)| measure(scene, *integrator, args.threads));
    let mut best: Vec<Measured> = round().collect();
    for _ in 1..args.rounds {
        best.iter_mut().zip(round()).for_each(|(best, other)| best.add(&other));
    }
    best
}

/// A share in percent.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
