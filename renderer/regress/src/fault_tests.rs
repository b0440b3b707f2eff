//! Mutation tests of the project's suite: each deliberate fault must make a case fail.

use super::outcome::{Outcome, Status};
use super::run::{self, RenderContext};
use super::suite::{Case, Suite};
use lightbound::integrator::{Fault, FaultyPathTracer, Integrator, PathTracer};
use lightbound::settings::PathSettings;
use lightbound_pbrt::diagnostics::Source;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Runs a case of the project's suite with an edited scene and another seed.
fn run_case(name: &str, edit: impl Fn(String) -> String, fault: Option<Fault>) -> Outcome {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes/suite.toml");
    let suite = Suite::read(&path).unwrap();
    let case: &Case =
        suite.cases.iter().find(|case| case.name == name).expect("the suite has the case");
    let text =
        edit(String::from_utf8(Source::file(&case.scene).read().unwrap().into_owned()).unwrap());
    let (loaded, warnings) = run::load(case, &Source::memory(&case.scene, text), Some(2)).unwrap();
    assert!(warnings.is_empty());
    let max_depth = loaded.settings.integrator.max_depth;
    let tracer = PathTracer::new(&loaded.scene, max_depth, &PathSettings::default())
        .expect("the path tracer supports the scene");
    let integrator: &dyn Integrator = match fault {
        Some(fault) => &FaultyPathTracer { tracer, fault },
        None => &tracer,
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let context = RenderContext { threads, stop: &AtomicBool::new(false), progress: &|_| () };
    let rendered =
        run::render_with_integrator(&loaded.scene, &loaded.settings, integrator, None, context)
            .expect("rendering is not stopped");
    run::evaluate(case, &rendered, &run::read_reference(case).unwrap(), false)
}

fn assert_fails(outcome: &Outcome) {
    let Status::Failed(failures) = &outcome.status else {
        panic!("{} passes: {:?}", outcome.name, outcome.metrics)
    };
    println!("{}: {failures:?}", outcome.name);
}

/// An edit that replaces a string, which must occur exactly once.
fn replace<'a>(from: &'a str, to: &'a str) -> impl Fn(String) -> String + 'a {
    move |text| {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        text.replace(from, to)
    }
}

#[test]
fn another_seed_without_a_fault_passes() {
    for name in ["cornell-box", "contact", "lanterns", "textures"] {
        let outcome = run_case(name, |text| text, None);
        assert_eq!(outcome.status, Status::Passed, "{name}: {:?}", outcome.metrics);
    }
}

#[test]
fn a_material_one_percent_darker_fails() {
    let darker = replace("[0.74 0.72 0.68]", "[0.7326 0.7128 0.6732]");
    assert_fails(&run_case("cornell-box", darker, None));
}

#[test]
fn dropping_one_of_24_lights_fails() {
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
            .expect("the scene has point lights");
        let rest = text.replace(weakest, "");
        assert_eq!(lights(&rest), lights(&text) - 1);
        rest
    };
    assert_fails(&run_case("lanterns", dropped, None));
}

#[test]
fn a_light_pdf_off_by_five_percent_fails() {
    assert_fails(&run_case("cornell-box", |text| text, Some(Fault::LightDensity)));
}

#[test]
fn an_upside_down_texture_fails() {
    let flipped = replace("\"float uscale\" [1.7]", "\"float uscale\" [1.7] \"float vscale\" [-1]");
    assert_fails(&run_case("textures", flipped, None));
}

#[test]
fn overweighted_samples_fail() {
    assert_fails(&run_case("cornell-box", |text| text, Some(Fault::HeavySamples)));
}

#[test]
fn shadow_rays_with_too_large_an_offset_fail() {
    assert_fails(&run_case("contact", |text| text, Some(Fault::LateShadowRays)));
}
