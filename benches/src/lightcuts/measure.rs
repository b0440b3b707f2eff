//! Renders a picture and measures its cuts.

use super::Args;
use super::scene::text;
use lightbound::integrator::{self, CutTimes, Integrator};
use lightbound::render::{RenderOptions, render_with};
use lightbound::settings::{BoundMode, Cut, ErrorMode, Method};
use lightbound_pbrt::build::{LoadedScene, Overrides, load_source};
use lightbound_pbrt::diagnostics::{Diagnostics, Source};

/// The scene with this number of lights.
pub fn load(material: &str, lights: u32, resolution: (u32, u32)) -> LoadedScene {
    let source = Source::memory("lightcuts.pbrt", text(material, lights, resolution));
    match load_source(&source, &[], &Overrides::default(), &mut Diagnostics::new(true)) {
        Ok(loaded) => loaded,
        Err(error) => panic!("{error}"),
    }
}

/// The parameters that select cuts.
#[derive(Clone, Copy)]
pub struct Choice {
    pub error: f32,
    pub mode: ErrorMode,
    pub max_cut: u32,
    pub bounds: BoundMode,
}

impl Choice {
    /// Parameters from the command line, with error by cluster and related bounds.
    pub fn of(args: &Args) -> Choice {
        Choice {
            error: args.error,
            mode: ErrorMode::Cluster,
            max_cut: args.max_cut,
            bounds: BoundMode::Related,
        }
    }

    /// All lights individually.
    pub const FULL: Choice = Choice {
        error: 0.0,
        mode: ErrorMode::Cluster,
        max_cut: u32::MAX,
        bounds: BoundMode::Related,
    };
}

/// The integrator of a scene, with its trees built and its bounds compiled.
pub fn integrator(loaded: &mut LoadedScene, choice: &Choice) -> Box<dyn Integrator> {
    let Method::Lightcuts(settings) = &mut loaded.settings.integrator.method else {
        unreachable!("the scenes use lightcuts")
    };
    settings.cut = Cut::Deterministic {
        error: choice.error,
        error_mode: choice.mode,
        max_cut: choice.max_cut,
    };
    settings.bounds = choice.bounds;
    integrator::new(&loaded.scene, &loaded.settings.integrator)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Measurements of a picture.
#[derive(Debug)]
pub struct Measured {
    /// Number of shaded points.
    pub cuts: u64,
    /// Mean cut size.
    pub mean: f64,
    /// Median cut size.
    pub median: f64,
    /// Fraction of the cuts that reached the maximum size.
    pub capped: f64,
    /// CPU time of rendering, seconds.
    pub cpu: f64,
    /// Breakdown of the lighting time over all rounds. It is wall-clock time, sampled at single
    /// shading points.
    pub times: CutTimes,
    /// The picture.
    pub radiance: Vec<[f32; 3]>,
}

impl Measured {
    /// CPU time per cut, µs.
    pub fn cost(&self) -> f64 {
        1e6 * self.cpu / self.cuts as f64
    }

    /// Fractions of the lighting time for bounds, shading and shadow rays.
    pub fn shares(&self) -> [f64; 3] {
        let CutTimes { total, bounds, shading, visibility } = self.times;
        [bounds, shading, visibility].map(|time| time.as_secs_f64() / total.as_secs_f64())
    }

    /// Merges another round.
    fn add(&mut self, other: &Measured) {
        assert_eq!(self.radiance, other.radiance, "rounds are the same but for time");
        self.cpu = self.cpu.min(other.cpu);
        self.times += other.times;
    }
}

/// Renders.
pub fn measure(loaded: &LoadedScene, integrator: &dyn Integrator, threads: usize) -> Measured {
    let options = RenderOptions { threads, ..RenderOptions::default() };
    let rendering = render_with(&loaded.scene, &loaded.settings, integrator, &options);
    assert_eq!(rendering.picture.invalid_samples, 0);
    let cuts = rendering.counts.cuts;
    let count = cuts.sizes.count();
    let [mean, median] =
        [cuts.sizes.mean(), cuts.sizes.median()].map(|size| size.expect("some points are lit"));
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

/// The fastest rounds; all choices take turns.
pub fn fastest(all: &[(&LoadedScene, &dyn Integrator)], args: &Args) -> Vec<Measured> {
    let round = || all.iter().map(|(scene, integrator)| measure(scene, *integrator, args.threads));
    let mut best: Vec<Measured> = round().collect();
    for _ in 1..args.rounds {
        best.iter_mut().zip(round()).for_each(|(best, other)| best.add(&other));
    }
    best
}

/// A fraction as a percentage.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
