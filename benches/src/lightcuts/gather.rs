//! Cuts of all samples of a pixel against a cut for each shading point, at the same samples, with
//! antialiasing, depth of field and motion blur.
//!
//! Each effect is added to scenes of this repository: a lens, or a camera that moves.

use super::measure::{CutMeasurement, fastest, integrator_with};
use super::{Args, Table};
use crate::report::{print_head, print_row};
use lightbound::settings::{Cut, ErrorMode, LightcutsSettings, MethodName};
use lightbound_pbrt::build::{LightcutsOverrides, LoadedScene, Overrides, load_source};
use lightbound_pbrt::diagnostics::{Diagnostics, Source};

/// A scene, the radius of its lens and the distance in focus, and how far its camera moves to the
/// right.
struct GatherScene {
    name: &'static str,
    text: &'static str,
    lens: [f32; 2],
    motion: f32,
}

macro_rules! scene {
    ($name:literal, $lens:expr, $motion:expr) => {
        GatherScene {
            name: $name,
            text: include_str!(concat!("../../../scenes/", $name, "/scene.pbrt")),
            lens: $lens,
            motion: $motion,
        }
    };
}

/// The scenes: many diffuse surfaces and lights, shiny ones, and a room.
const SCENES: [GatherScene; 3] = [
    scene!("many-lights", [0.4, 48.0], 1.0),
    scene!("brushed-metal", [0.05, 4.8], 0.1),
    scene!("interior", [0.02, 3.0], 0.1),
];

/// What varies within a pixel, besides the position on the film.
#[derive(Clone, Copy, Debug)]
enum Effect {
    Antialiasing,
    DepthOfField,
    Motion,
}

impl Effect {
    const ALL: [(Effect, &str); 3] = [
        (Effect::Antialiasing, "antialiasing"),
        (Effect::DepthOfField, "depth of field"),
        (Effect::Motion, "motion blur"),
    ];

    /// Adds the effect to a scene.
    fn scene_text(self, scene: &GatherScene) -> String {
        let camera = "Camera \"perspective\"";
        let (before, lens) = match self {
            Effect::Antialiasing => (String::new(), String::new()),
            Effect::DepthOfField => {
                let [radius, distance] = scene.lens;
                let lens =
                    format!(" \"float lensradius\" {radius} \"float focaldistance\" {distance}");
                (String::new(), lens)
            }
            Effect::Motion => {
                let x = scene.motion;
                let look = scene.text.lines().find(|line| line.starts_with("LookAt"));
                let look = look.expect("the scenes look at a point");
                let moves = format!(
                    "ActiveTransform EndTime Identity Translate {x} 0 0 Scale -1 1 1 {look} \
                     ActiveTransform All\n"
                );
                (moves, String::new())
            }
        };
        assert!(scene.text.contains(camera), "the scenes have a perspective camera");
        scene.text.replacen(camera, &format!("{before}{camera}{lens}"), 1)
    }
}

/// Loads a scene with an effect; `gather` of its `spp` samples share a cut.
fn load(scene: &GatherScene, effect: Effect, spp: u32, gather: u32, args: &Args) -> LoadedScene {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenes");
    let path = format!("{folder}/{}/gather.pbrt", scene.name);
    let source = Source::memory(path, effect.scene_text(scene));
    let overrides = Overrides {
        integrator: Some(MethodName::Lightcuts),
        lightcuts: LightcutsOverrides { gather: Some(gather), ..LightcutsOverrides::default() },
        spp: Some(spp),
        resolution: Some(args.resolution),
        ..Overrides::default()
    };
    load_source(&source, &[], &overrides, &mut Diagnostics::new(false))
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Prints the table.
pub fn print(args: &Args) {
    println!("## Cuts of whole pixels\n");
    println!(
        "Relative to a cut for each shading point at one sample per pixel: pairs or clusters, bound \
         evaluations, shadow rays, and CPU time. Error mode `cluster`.\n"
    );
    let titles = ["scene", "effect", "samples", "gather", "pairs", "bounds", "rays", "time"];
    print_head(&titles.map(str::to_owned));
    for scene in &SCENES {
        for (effect, name) in Effect::ALL {
            let variants: Vec<[u32; 2]> = [[1, 1]]
                .into_iter()
                .chain(args.gather_sizes().into_iter().flat_map(|n| [[n, 1], [n, n]]))
                .collect();
            let mut scenes: Vec<_> = variants
                .iter()
                .map(|&[spp, gather]| load(scene, effect, spp, gather, args))
                .collect();
            let integrators: Vec<_> = scenes
                .iter_mut()
                .map(|scene| integrator_with(scene, |settings| set(settings, args)))
                .collect();
            let candidates: Vec<_> =
                scenes.iter().zip(&integrators).map(|(scene, i)| (scene, &**i)).collect();
            let results = fastest(&candidates, args);
            for ([spp, gather], result) in variants.iter().zip(&results).skip(1) {
                let ratio =
                    |of: fn(&CutMeasurement) -> f64| format!("{:.2}", of(result) / of(&results[0]));
                print_row([
                    scene.name.to_owned(),
                    name.to_owned(),
                    spp.to_string(),
                    gather.to_string(),
                    ratio(|r| r.mean * r.cuts as f64),
                    ratio(|r| r.bound_evaluations as f64),
                    ratio(|r| r.shadow_rays as f64),
                    ratio(|r| r.cpu_seconds),
                ]);
            }
        }
    }
}

/// Sets the limits of cuts.
fn set(settings: &mut LightcutsSettings, args: &Args) {
    settings.cut = Cut::Deterministic {
        error: args.error,
        error_mode: ErrorMode::Cluster,
        max_cut: args.max_cut,
    };
}

impl Args {
    /// Returns the numbers of samples that share a cut: the numbers of lights of the table.
    fn gather_sizes(&self) -> Vec<u32> {
        self.lights(Table::Gather)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::args;
    use super::*;

    #[test]
    fn scenes_have_effects() {
        for scene in &SCENES {
            for (effect, name) in Effect::ALL {
                let loaded = load(scene, effect, 4, 4, &args(&[]));
                let moves = matches!(effect, Effect::Motion);
                assert_eq!(loaded.scene.moves(), moves, "{} {name}", scene.name);
                assert_eq!(loaded.settings.integrator.sample_group(), 4);
            }
        }
    }
}
