//! Renders an image and measures its cuts.

use super::Args;
use super::scene::scene_text;
use lightbound::integrator::{self, CutTimes, Integrator};
use lightbound::render::{RenderOptions, render_with};
use lightbound::settings::{BoundMode, Cut, ErrorMode, LightcutsSettings, Method};
use lightbound_pbrt::build::{LoadedScene, Overrides, load_source};
use lightbound_pbrt::diagnostics::{Diagnostics, Source};

/// Loads the scene with the given material and number of lights.
pub fn load(material: &str, lights: u32, resolution: (u32, u32)) -> LoadedScene {
    let source = Source::memory("lightcuts.pbrt", scene_text(material, lights, resolution));
    match load_source(&source, &[], &Overrides::default(), &mut Diagnostics::new(true)) {
        Ok(loaded) => loaded,
        Err(error) => panic!("{error}"),
    }
}

/// The options that determine cuts.
#[derive(Clone, Copy)]
pub struct CutOptions {
    pub error: f32,
    pub mode: ErrorMode,
    pub max_cut: u32,
    pub bounds: BoundMode,
}

impl CutOptions {
    /// Creates options from the command line, with error mode `cluster` and related bounds.
    pub fn from_args(args: &Args) -> CutOptions {
        CutOptions {
            error: args.error,
            mode: ErrorMode::Cluster,
            max_cut: args.max_cut,
            bounds: BoundMode::Related,
        }
    }

    /// Options for the sum over all lights.
    pub const FULL: CutOptions = CutOptions {
        error: 0.0,
        mode: ErrorMode::Cluster,
        max_cut: u32::MAX,
        bounds: BoundMode::Related,
    };
}

/// Creates an integrator for a scene: builds its trees and compiles its bounds.
pub fn integrator(loaded: &mut LoadedScene, options: &CutOptions) -> Box<dyn Integrator> {
    integrator_with(loaded, |settings| {
        settings.cut = Cut::Deterministic {
            error: options.error,
            error_mode: options.mode,
            max_cut: options.max_cut,
        };
        settings.bounds = options.bounds;
    })
}

/// Creates an integrator for a scene after its settings are changed.
pub fn integrator_with(
    loaded: &mut LoadedScene,
    change: impl FnOnce(&mut LightcutsSettings),
) -> Box<dyn Integrator> {
    let Method::Lightcuts(settings) = &mut loaded.settings.integrator.method else {
        unreachable!("the scenes use lightcuts")
    };
    change(settings);
    integrator::new(&loaded.scene, &loaded.settings).unwrap_or_else(|error| panic!("{error}"))
}

/// Measurements of the cuts of an image.
#[derive(Debug)]
pub struct CutMeasurement {
    /// Number of cuts, one per shading point.
    pub cuts: u64,
    /// Mean cut size.
    pub mean: f64,
    /// Median cut size.
    pub median: f64,
    /// Fraction of the cuts that reached the maximum size.
    pub capped: f64,
    /// Number of cluster bounds.
    pub bound_evaluations: u64,
    /// Number of shadow rays.
    pub shadow_rays: u64,
    /// CPU time of rendering, seconds.
    pub cpu_seconds: f64,
    /// Breakdown of the lighting time over all rounds: wall-clock time, sampled at some shading
    /// points.
    pub times: CutTimes,
    /// The image.
    pub radiance: Vec<[f32; 3]>,
}

impl CutMeasurement {
    /// Returns the CPU time per cut, µs.
    pub fn cost(&self) -> f64 {
        1e6 * self.cpu_seconds / self.cuts as f64
    }

    /// Returns the fractions of the lighting time for bounds, shading and shadow rays.
    pub fn fractions(&self) -> [f64; 3] {
        let CutTimes { total, bounds, shading, visibility } = self.times;
        [bounds, shading, visibility].map(|time| time.as_secs_f64() / total.as_secs_f64())
    }

    /// Merges the measurement of another round: the minimum CPU time, and the sum of the
    /// breakdowns.
    fn merge(&mut self, other: &CutMeasurement) {
        assert_eq!(self.radiance, other.radiance, "all rounds give the same image");
        self.cpu_seconds = self.cpu_seconds.min(other.cpu_seconds);
        self.times += other.times;
    }
}

/// Renders an image and measures it.
pub fn measure(
    loaded: &LoadedScene,
    integrator: &dyn Integrator,
    threads: usize,
) -> CutMeasurement {
    let options = RenderOptions { threads, ..RenderOptions::default() };
    let rendering = render_with(&loaded.scene, &loaded.settings, integrator, &options);
    assert_eq!(rendering.image.invalid_samples, 0);
    let cuts = rendering.counts.cuts;
    let count = cuts.sizes.count();
    let [mean, median] =
        [cuts.sizes.mean(), cuts.sizes.median()].map(|size| size.expect("the image has cuts"));
    CutMeasurement {
        cuts: count,
        mean,
        median,
        capped: cuts.capped as f64 / count as f64,
        bound_evaluations: cuts.bound_evaluations,
        shadow_rays: cuts.shadow_rays,
        cpu_seconds: rendering.cpu.as_secs_f64(),
        times: cuts.times,
        radiance: rendering.image.radiance,
    }
}

/// Measures all candidates in interleaved rounds. Returns the minimum CPU time of each.
pub fn fastest(candidates: &[(&LoadedScene, &dyn Integrator)], args: &Args) -> Vec<CutMeasurement> {
    let round =
        || candidates.iter().map(|(scene, integrator)| measure(scene, *integrator, args.threads));
    let mut best: Vec<CutMeasurement> = round().collect();
    for _ in 1..args.rounds {
        best.iter_mut().zip(round()).for_each(|(best, other)| best.merge(&other));
    }
    best
}

/// Formats a fraction as a percentage.
pub fn percent(fraction: f64) -> String {
    format!("{:.1} %", 100.0 * fraction)
}
