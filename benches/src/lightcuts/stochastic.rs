//! Stochastic cuts against the path tracer at equal time: errors of direct light with depth of field.
//!
//! The scenes are those of the other tables with a lens, and a town of this repository. Each method
//! renders two numbers of samples; the power law through both gives its error at the time of the path
//! tracer.

use super::scene::scene_text;
use super::{Args, Table};
use crate::report::{print_head, print_row};
use lightbound::integrator::{self, Integrator};
use lightbound::render::{RenderOptions, render_with};
use lightbound::settings::{CutMode, MethodName};
use lightbound_image::compare::errors::Errors;
use lightbound_pbrt::build::{LightcutsOverrides, LoadedScene, Overrides, load_source};
use lightbound_pbrt::diagnostics::{Diagnostics, Source};

/// Number of samples of references.
const REFERENCE_SPP: u32 = 4096;

/// A method with its two numbers of samples per pixel.
#[derive(Clone, Copy)]
struct Candidate {
    name: &'static str,
    /// Number of samples that share a cut, and the size of cuts; `None` for the path tracer.
    cut: Option<[u32; 2]>,
    spp: [u32; 2],
}

/// The methods; the path tracer is the first.
const CANDIDATES: [Candidate; 7] = [
    Candidate { name: "path", cut: None, spp: [16, 64] },
    Candidate { name: "cuts of 8", cut: Some([1, 8]), spp: [8, 32] },
    Candidate { name: "cuts of 32", cut: Some([1, 32]), spp: [2, 8] },
    Candidate { name: "16 samples, 16 pairs", cut: Some([16, 16]), spp: [16, 64] },
    Candidate { name: "16 samples, 64 pairs", cut: Some([16, 64]), spp: [16, 64] },
    Candidate { name: "16 samples, 256 pairs", cut: Some([16, 256]), spp: [16, 64] },
    Candidate { name: "64 samples, 256 pairs", cut: Some([64, 256]), spp: [64, 128] },
];

/// CPU time of rendering, seconds, and error of an image.
#[derive(Clone, Copy, Debug)]
struct ErrorAtTime {
    seconds: f64,
    relmse: f64,
}

/// A scene with a lens.
struct LensScene {
    name: String,
    /// Path of the scene, for its files.
    path: String,
    text: String,
}

impl LensScene {
    /// Returns the scenes of the table.
    fn all(args: &Args) -> Vec<LensScene> {
        let mut scenes = vec![];
        for material in args.materials() {
            for lights in args.lights(Table::Stochastic) {
                let text = scene_text(material, lights, args.resolution);
                scenes.push(LensScene::new(
                    format!("{material}, {lights}"),
                    "lightcuts.pbrt".to_owned(),
                    &text,
                    [0.15, 10.9],
                ));
            }
        }
        let town = include_str!("../../../scenes/many-lights/scene.pbrt");
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenes/many-lights/lens.pbrt");
        scenes.push(LensScene::new("town".to_owned(), path.to_owned(), town, [0.4, 48.0]));
        scenes
    }

    /// Adds a lens, given by its radius and the distance in focus, and renders direct light only.
    fn new(name: String, path: String, text: &str, [radius, distance]: [f32; 2]) -> LensScene {
        let camera = "Camera \"perspective\"";
        let lens =
            format!("{camera} \"float lensradius\" {radius} \"float focaldistance\" {distance}");
        let text = text.replacen(camera, &lens, 1).replacen(
            "\"integer maxdepth\" [4]",
            "\"integer maxdepth\" 1",
            1,
        );
        LensScene { name, path, text }
    }

    fn load(&self, cut: Option<[u32; 2]>, spp: u32, seed: u32, args: &Args) -> LoadedScene {
        let (method, lightcuts) = match cut {
            None => (MethodName::Path, LightcutsOverrides::default()),
            Some([gather, size]) => {
                let (gather, cut_size) = (Some(gather), Some(size));
                let mode = Some(CutMode::Stochastic);
                let cut = LightcutsOverrides { mode, cut_size, gather, ..Default::default() };
                (MethodName::Lightcuts, cut)
            }
        };
        let overrides = Overrides {
            integrator: Some(method),
            lightcuts,
            spp: Some(spp),
            seed: Some(seed),
            resolution: Some(args.resolution),
            ..Overrides::default()
        };
        let source = Source::memory(&self.path, self.text.clone());
        load_source(&source, &[], &overrides, &mut Diagnostics::new(true))
            .unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Creates the integrator of a scene.
fn integrator(loaded: &LoadedScene) -> Box<dyn Integrator> {
    integrator::new(&loaded.scene, &loaded.settings).unwrap_or_else(|error| panic!("{error}"))
}

/// Renders a scene; returns the CPU time and the image.
fn render(loaded: &LoadedScene, integrator: &dyn Integrator, args: &Args) -> (f64, Vec<[f32; 3]>) {
    let options = RenderOptions { threads: args.threads, ..RenderOptions::default() };
    let rendering = render_with(&loaded.scene, &loaded.settings, integrator, &options);
    assert_eq!(rendering.image.invalid_samples, 0);
    (rendering.cpu.as_secs_f64(), rendering.image.radiance)
}

/// Measures all candidates in interleaved rounds with different seeds: the minimum time, and the mean
/// error, for each number of samples.
fn measure(scene: &LensScene, spp: u32, args: &Args) -> Vec<[ErrorAtTime; 2]> {
    let loaded = scene.load(None, spp, 999, args);
    let (_, reference) = render(&loaded, &*integrator(&loaded), args);
    let mut results = [[ErrorAtTime { seconds: f64::INFINITY, relmse: 0.0 }; 2]; CANDIDATES.len()];
    for round in 0..args.rounds {
        for (candidate, results) in CANDIDATES.iter().zip(&mut results) {
            for (spp, result) in candidate.spp.into_iter().zip(results) {
                let loaded = scene.load(candidate.cut, spp, round as u32, args);
                let (seconds, image) = render(&loaded, &*integrator(&loaded), args);
                let pairs = std::iter::zip(image.as_flattened(), reference.as_flattened());
                let errors = Errors::from_pairs(pairs.map(|(&a, &b)| (a, b)));
                result.seconds = result.seconds.min(seconds);
                result.relmse += errors.rel_mse / args.rounds as f64;
            }
        }
    }
    results.to_vec()
}

/// Returns the error at a time, by the power law through two measurements.
fn error_at([a, b]: [ErrorAtTime; 2], seconds: f64) -> f64 {
    let exponent = (b.relmse / a.relmse).ln() / (b.seconds / a.seconds).ln();
    b.relmse * (seconds / b.seconds).powf(exponent)
}

/// Prints the table.
pub fn print(args: &Args) {
    println!("## Stochastic cuts against the path tracer\n");
    println!(
        "Direct light with depth of field. relMSE and CPU time for two numbers of samples per pixel, \
         and the error at the time of the path tracer with {} samples, relative to its error. \
         References: {REFERENCE_SPP} samples.\n",
        CANDIDATES[0].spp[1]
    );
    let titles = ["scene", "method", "samples", "CPU s", "relMSE", "error at equal time"];
    print_head(&titles.map(str::to_owned));
    for scene in LensScene::all(args) {
        let results = measure(&scene, REFERENCE_SPP, args);
        let path = results[0][1];
        for (candidate, result) in CANDIDATES.iter().zip(&results) {
            let ratio = error_at(*result, path.seconds) / path.relmse;
            let both = |of: &dyn Fn(usize) -> String| format!("{}, {}", of(0), of(1));
            print_row([
                scene.name.clone(),
                candidate.name.to_owned(),
                both(&|k| candidate.spp[k].to_string()),
                both(&|k| format!("{:.3}", result[k].seconds)),
                both(&|k| format!("{:.5}", result[k].relmse)),
                format!("{ratio:.2}"),
            ]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::args;
    use super::*;

    #[test]
    fn errors_follow_a_power_law() {
        let at = |seconds, relmse| ErrorAtTime { seconds, relmse };
        let measured = [at(1.0, 0.8), at(4.0, 0.2)];
        assert!((error_at(measured, 16.0) - 0.05).abs() < 1e-9);
        assert!((error_at(measured, 2.0) - 0.4).abs() < 1e-9);
    }

    #[test]
    fn methods_converge_to_the_same_image() {
        let args = args(&["--materials", "phong", "--lights", "50"]);
        let args = Args { resolution: (8, 6), rounds: 8, ..args };
        let scenes = LensScene::all(&args);
        assert_eq!(scenes.len(), 2);
        for (candidate, [few, many]) in CANDIDATES.iter().zip(measure(&scenes[0], 16384, &args)) {
            let case = format!("{}: {few:?} {many:?}", candidate.name);
            // The error of independent samples is inversely proportional to their number.
            let [a, b] = candidate.spp.map(f64::from);
            assert!(many.relmse < few.relmse * (a / b).powf(0.7), "{case}");
        }
        assert!(scenes[1].load(None, 1, 0, &args).settings.integrator.max_depth == 1);
    }
}
