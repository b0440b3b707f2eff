//! Tests of `lightbound denoise` and `render --denoise`. Most need Open Image Denoise at the path in
//! `LIGHTBOUND_OIDN`, which `scripts/prepare-denoiser` sets.

use crate::common::scene_dir::{SceneDir, channels};
use crate::common::{assert_input_error, lightbound};
use lightbound_image::compare::errors::Errors;
use lightbound_image::layers::{Layers, read_layers};
use lightbound_image::read_exr_header;
use lightbound_image::write::{Attribute, ChannelSamples};
use predicates::str::contains;
use std::fs;

const LIBRARY: &str = "LIGHTBOUND_OIDN";

/// Whether the library is there; says so if not.
fn has_library() -> bool {
    let has = std::env::var_os(LIBRARY).is_some();
    if !has {
        eprintln!("skipped: eval \"$(scripts/prepare-denoiser)\" provides the library");
    }
    has
}

fn colour(image: &Layers, name: &str) -> Vec<f32> {
    let channels = &image.get(name).unwrap_or_else(|| panic!("no layer {name}")).channels;
    let samples = channels.iter().map(|channel| match &channel.samples {
        ChannelSamples::F32(samples) => samples.as_slice(),
        ChannelSamples::U32(_) => panic!("ids"),
    });
    samples.flatten().copied().collect()
}

/// Relative mean squared error.
fn error(image: &[f32], reference: &[f32]) -> f64 {
    let pairs = std::iter::zip(image, reference).map(|(a, b)| (*a, *b));
    Errors::from_pairs(pairs).rel_mse
}

#[test]
fn denoised_images_have_less_error_and_say_so() {
    if !has_library() {
        return;
    }
    let dir = SceneDir::new();
    let render = |name: &str, args: &[&str]| {
        let spp = if name == "reference.exr" { "512" } else { "8" };
        let mut command = dir.render(&["-q", "--resolution", "64x64", "--spp", spp, "-o", name]);
        command.args(args).assert().success();
        read_layers(&dir.path(name)).unwrap()
    };
    let reference = colour(&render("reference.exr", &["--layers", "beauty"]), "colour");
    let noisy = render("noisy.exr", &["--denoise"]);
    let plain = render("plain.exr", &[]);
    assert_eq!(channels(&dir.path("noisy.exr")), channels(&dir.path("plain.exr")));
    let denoised = read_layers(&dir.path("noisy-denoised.exr")).unwrap();
    let (before, after) = (colour(&noisy, "colour"), colour(&denoised, "colour"));
    let (before_error, after_error) = (error(&before, &reference), error(&after, &reference));
    assert!(after_error < 0.3 * before_error, "{after_error} of {before_error}");
    assert_eq!(colour(&denoised, "noisy"), before);
    assert_eq!(colour(&denoised, "albedo"), colour(&plain, "albedo"));
    let header = read_exr_header(&dir.path("noisy-denoised.exr")).unwrap();
    let attribute = |name: &str| {
        let found = header.attributes.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.clone())
    };
    let Some(Attribute::Text(library)) = attribute("lightbound/denoised") else { panic!() };
    assert!(library.starts_with("Open Image Denoise 2."), "{library}");
    assert_eq!(attribute("lightbound/samples"), Some(Attribute::Int(8)));

    // The command gives the same, and so does a render that is finished already.
    let mut command = lightbound(&["denoise", "plain.exr", "again.exr"]);
    command.current_dir(dir.root()).assert().success().stderr(contains("with albedo and normal"));
    assert_eq!(channels(&dir.path("again.exr")), channels(&dir.path("noisy-denoised.exr")));
    fs::remove_file(dir.path("noisy-denoised.exr")).unwrap();
    render("noisy.exr", &["--denoise", "--resume"]);
    assert_eq!(channels(&dir.path("again.exr")), channels(&dir.path("noisy-denoised.exr")));

    // Fewer layers still have what guides the filter; other formats have no layers.
    render("few.exr", &["--denoise", "--layers", "beauty"]);
    assert_eq!(colour(&read_layers(&dir.path("few-denoised.exr")).unwrap(), "colour"), after);
    let mut command = dir.render(&["-q", "--resolution", "64x64", "--spp", "8", "-o", "a.pfm"]);
    command.arg("--denoise").assert().success();
    assert_eq!(colour(&read_layers(&dir.path("a-denoised.pfm")).unwrap(), "colour"), after);
    let mut command = lightbound(&["denoise", "plain.exr", "plain.png", "--exposure", "1"]);
    command.current_dir(dir.root()).assert().success();
    let mut command = lightbound(&["convert", "again.exr", "again.png", "--exposure", "1"]);
    command.current_dir(dir.root()).assert().success();
    let pixels = |name: &str| colour(&read_layers(&dir.path(name)).unwrap(), "colour");
    assert_eq!(pixels("plain.png"), pixels("again.png"));

    let mut command = dir.render(&["-q", "--denoise", "-o", "png:-"]);
    assert_input_error(&mut command, &["--denoise writes a second file", "lightbound denoise"]);
    let mut command = lightbound(&["denoise", "plain.exr", "plain.exr"]);
    assert_input_error(command.current_dir(dir.root()), &["would overwrite the image"]);
    let mut command = lightbound(&["denoise", "again.exr", "twice.exr"]);
    assert_input_error(command.current_dir(dir.root()), &["is denoised already"]);
    let stats = "a-denoised.exr";
    let mut command = dir.render(&["-q", "--denoise", "-o", "a.exr", "--stats", stats]);
    assert_input_error(&mut command, &["--stats would overwrite `a-denoised.exr`"]);
    let mut command = lightbound(&["convert", "plain.exr", "ids.exr", "--layer", "material.id"]);
    command.current_dir(dir.root()).assert().success();
    let mut command = lightbound(&["denoise", "ids.exr"]);
    assert_input_error(command.current_dir(dir.root()), &["has no colour"]);
    let mut command = lightbound(&["denoise", "none.exr"]);
    assert_input_error(command.current_dir(dir.root()), &["none.exr"]);
}

#[test]
fn missing_libraries_are_errors_before_rendering() {
    let dir = SceneDir::new();
    let mut command = dir.render(&["-q", "--denoise", "-o", "a.exr"]);
    command.env(LIBRARY, "/none/oidn.so");
    assert_input_error(&mut command, &["/none/oidn.so", "install Open Image Denoise 2"]);
    assert_eq!(dir.files(), [""; 0]);
    // Another library.
    let mut command = dir.render(&["-q", "--denoise", "-o", "a.exr"]);
    command.env(LIBRARY, dir.path("scene.pbrt"));
    assert_input_error(&mut command, &["Open Image Denoise cannot be loaded"]);
}
