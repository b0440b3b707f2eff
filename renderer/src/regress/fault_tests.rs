//! Proof that the project's suite bites: faults on purpose, each of which one of its cases must
//! refuse.

use super::outcome::{Outcome, Status};
use super::run::{self, Work};
use super::suite::{Case, Suite};
use crate::integrator::{Fault, FaultyPathTracer, Integrator, PathTracer};
use crate::scene::PathSettings;
use crate::scene::diagnostics::Source;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The outcome of a case of the project's suite, its scene's text edited, with another seed than
/// the suite's.
fn outcome(name: &str, edit: impl Fn(String) -> String, fault: Option<Fault>) -> Outcome {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenes/suite.toml");
    let suite = Suite::read(&path).unwrap();
    let case: &Case =
        suite.cases.iter().find(|case| case.name == name).expect("the suite has the case");
    let text =
        edit(String::from_utf8(Source::file(&case.scene).read().unwrap().into_owned()).unwrap());
    let (loaded, warnings) = run::load(case, &Source::memory(&case.scene, text), Some(2)).unwrap();
    assert!(warnings.is_empty());
    let max_depth = loaded.scene.integrator.max_depth;
    let tracer = PathTracer::new(&loaded.scene, max_depth, &PathSettings::default())
        .expect("there is all it takes");
    let integrator: &dyn Integrator = match fault {
        Some(fault) => &FaultyPathTracer { tracer, fault },
        None => &tracer,
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let work = Work { threads, stop: &AtomicBool::new(false), progress: &|_| () };
    let rendered = run::draw_by(&loaded.scene, integrator, work).expect("nothing stops it");
    run::judge(case, &rendered, &run::reference(case).unwrap(), false)
}

fn assert_refused(outcome: &Outcome) {
    let Status::Failed(failures) = &outcome.status else {
        panic!("{} passes: {:?}", outcome.name, outcome.figures)
    };
    println!("{}: {failures:?}", outcome.name);
}

/// Edits a text in one place, which it has exactly once.
fn replace<'a>(from: &'a str, to: &'a str) -> impl Fn(String) -> String + 'a {
    move |text| {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        text.replace(from, to)
    }
}

#[test]
fn without_a_fault_another_seed_passes() {
    for name in ["cornell-box", "contact", "lanterns", "textures"] {
        let outcome = outcome(name, |text| text, None);
        assert_eq!(outcome.status, Status::Passed, "{name}: {:?}", outcome.figures);
    }
}

#[test]
fn a_material_that_is_a_hundredth_darker() {
    let darker = replace("[0.74 0.72 0.68]", "[0.7326 0.7128 0.6732]");
    assert_refused(&outcome("cornell-box", darker, None));
}

#[test]
fn one_light_of_24_that_is_dropped() {
    let lights = |text: &str| text.matches("LightSource").count();
    let dropped = |text: String| {
        let lines: Vec<&str> = text.lines().collect();
        // The weakest of the point lights.
        let intensity = |line: &str| {
            line.split(['[', ' ', ']']).filter_map(|word| word.parse::<f32>().ok()).next()
        };
        let points = lines.iter().filter(|line| line.starts_with("LightSource \"point\""));
        let weakest = points
            .min_by(|a, b| intensity(a).partial_cmp(&intensity(b)).expect("numbers"))
            .expect("there are some");
        let rest = text.replace(weakest, "");
        assert_eq!(lights(&rest), lights(&text) - 1);
        rest
    };
    assert_refused(&outcome("lanterns", dropped, None));
}

#[test]
fn a_density_that_is_wrong_by_a_twentieth() {
    assert_refused(&outcome("cornell-box", |text| text, Some(Fault::LightDensity)));
}

#[test]
fn a_texture_that_is_upside_down() {
    let flipped = replace("\"float uscale\" [1.7]", "\"float uscale\" [1.7] \"float vscale\" [-1]");
    assert_refused(&outcome("textures", flipped, None));
}

#[test]
fn samples_that_count_too_much() {
    assert_refused(&outcome("cornell-box", |text| text, Some(Fault::HeavySamples)));
}

#[test]
fn shadow_rays_that_start_too_far() {
    assert_refused(&outcome("contact", |text| text, Some(Fault::LateShadowRays)));
}
