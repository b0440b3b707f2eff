//! Tests of `lightbound info`.

use crate::common::scene_dir::SceneDir;
use crate::common::{assert_input_error, lightbound};
use assert_cmd::Command;
use lightbound::part::HEADER;
use lightbound_image::read_exr;
use lightbound_image::write::{Attribute, Channel, ChannelSamples, ExrImage, write_exr};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;

fn info(dir: &SceneDir, args: &[&str]) -> Command {
    let mut command = lightbound(&["info"]);
    command.args(args).current_dir(dir.root());
    command
}

fn stdout(mut command: Command) -> String {
    String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
}

fn json(mut command: Command) -> Value {
    serde_json::from_slice(&command.assert().success().get_output().stdout).unwrap()
}

/// Words of the line that begins with this word.
fn line(text: &str, first: &str) -> String {
    let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let found = words.into_iter().find(|words| words.first() == Some(&first));
    found.unwrap_or_else(|| panic!("no line `{first}` in\n{text}"))[1..].join(" ")
}

const INSTANCES: &str = r#"
Film "rgb" "integer xresolution" 40 "integer yresolution" 30 "float cropwindow" [0.5 1 0 1]
Sampler "independent" "integer pixelsamples" 7 "integer seed" 3
Integrator "bdpt" "integer maxdepth" 2
Camera "perspective"
WorldBegin
LightSource "point"
LightSource "distant"
ObjectBegin "pair"
  Shape "trianglemesh" "point3 P" [ 0 0 5  1 0 5  0 1 5  1 1 5 ] "integer indices" [ 0 1 2 1 3 2 ]
  Shape "disk"
ObjectEnd
ObjectInstance "pair"
ObjectInstance "pair"
ObjectInstance "pair"
Shape "sphere"
"#;

#[test]
fn scenes_are_described_without_rendering() {
    let dir = SceneDir::new();
    let text = stdout(info(&dir, &["scene.pbrt"]));
    assert_eq!(line(&text, "picture"), "24 × 16 pixels");
    assert_eq!(line(&text, "samples"), "4 per pixel, sobol, seed 0");
    assert_eq!(line(&text, "integrator"), "path, up to 4 scattering events");
    assert_eq!(line(&text, "surfaces"), "3 triangles, 1 sphere");
    assert_eq!(line(&text, "lights"), "1 emitting triangle, 1 environment light");
    assert!(line(&text, "materials").starts_with("3: "), "{text}");
    assert_eq!(line(&text, "fallbacks"), "none");
    assert!(line(&text, "memory").contains("film"), "{text}");
    assert!(dir.files().is_empty(), "nothing is written");
}

#[test]
fn media_are_described() {
    let dir = SceneDir::with_scene(
        r#"Camera "perspective" WorldBegin
        MakeNamedMedium "fog" "string type" "homogeneous" "rgb sigma_a" [1 0 0] "rgb sigma_s" [1 1 2]
        MakeNamedMedium "fire" "string type" "uniformgrid" "float density" 3 "rgb Le" [1 1 1]"#,
    );
    let text = stdout(info(&dir, &["scene.pbrt"]));
    assert_eq!(line(&text, "media"), "fog: homogeneous, extinction (2, 1, 2) per metre");
    let fire = "fire: density grid, extinction up to 6 per metre, emits light";
    assert!(text.lines().any(|line| line.trim() == fire), "{text}");
    let list = json(info(&dir, &["scene.pbrt", "--format", "json"]));
    let [fog, fire] = [0, 1].map(|i| &list[0]["media"][i]);
    assert_eq!((&fog["name"], &fog["kind"]), (&"fog".into(), &"homogeneous".into()));
    assert_eq!(fog["max_extinction"], serde_json::json!([2.0, 1.0, 2.0]));
    assert!(fog["bounds"].is_null() && fog["emits"] == false);
    assert_eq!(
        fire["bounds"],
        serde_json::json!({ "min": [0.0, 0.0, 0.0], "max": [1.0, 1.0, 1.0] })
    );
    assert_eq!(fire["emits"], true);
}

#[test]
fn emitters_in_objects_count_for_each_instance() {
    let light = "  AreaLightSource \"diffuse\"\n  Shape \"disk\"\n";
    let dir = SceneDir::with_scene(&INSTANCES.replace("  Shape \"disk\"\n", light));
    let text = stdout(info(&dir, &["scene.pbrt"]));
    assert_eq!(line(&text, "lights"), "3 emitting disks, 1 point light, 1 distant light");
    let list = json(info(&dir, &["scene.pbrt", "--format", "json"]));
    assert_eq!(list[0]["lights"]["emitting_surfaces"]["disks"], 3);
}

#[test]
fn instances_count_once_stored_and_once_each() {
    let dir = SceneDir::with_scene(INSTANCES);
    let text = stdout(info(&dir, &["scene.pbrt"]));
    assert_eq!(line(&text, "picture"), "40 × 30 pixels, cropped to 20 × 30 at (20, 0)");
    let surfaces =
        "2 triangles, 1 sphere, 1 disk; 6 triangles, 1 sphere, 3 disks with all 3 instances";
    assert_eq!(line(&text, "surfaces"), surfaces);
    assert_eq!(line(&text, "lights"), "1 point light, 1 distant light");
    assert!(line(&text, "fallbacks").contains("bdpt"), "{text}");

    let list = json(info(&dir, &["scene.pbrt", "scene.pbrt", "--format", "json"]));
    assert!(list[1]["memory"]["scene_bytes"].is_null(), "memory is reused");
    let scene = &list[0];
    assert_eq!((&scene["kind"], &scene["seed"]), (&"scene".into(), &3.into()));
    assert_eq!(scene["window"]["x"], 20);
    assert_eq!(scene["surfaces"]["triangles"], 2);
    assert_eq!(scene["surfaces_with_instances"]["triangles"], 6);
    assert_eq!(scene["lights"]["point"], 1);
    assert_eq!(scene["fallbacks"].as_array().unwrap().len(), 1);
    // 20 × 30 pixels with at least radiance, in bytes.
    assert!(scene["memory"]["film_bytes"].as_u64().unwrap() > 20 * 30 * 36);
}

#[test]
fn images_have_layers_statistics_and_attributes() {
    let dir = SceneDir::new();
    dir.render(&["-o", "a.exr", "--crop", "0,0.5,0,1"]).assert().success();
    let text = stdout(info(&dir, &["a.exr"]));
    assert_eq!(line(&text, "size"), "12 × 16 pixels at (0, 0), of 24 × 16");
    assert!(line(&text, "format").starts_with("EXR, float, unsigned integer"), "{text}");
    assert!(line(&text, "lightbound/scene").contains("scene.pbrt"), "{text}");
    assert!(!text.contains("sums.R0") && text.contains("exact sums of a part"), "{text}");

    assert_eq!(line(&text, "contains"), "samples 0..4 of columns 0..12, rows 0..16");
    assert!(!text.contains("lightbound/part"), "{text}");

    let list = json(info(&dir, &["a.exr", "--format", "json"]));
    let layers = list[0]["layers"].as_array().unwrap();
    assert!(layers.iter().all(|layer| !layer["name"].as_str().unwrap().starts_with("sums.")));
    let normal = layers.iter().find(|layer| layer["name"] == "normal").unwrap();
    let channel = &normal["channels"][1];
    assert_eq!(channel["name"], "Y");
    let [min, max, mean] = ["min", "max", "mean"].map(|key| channel[key].as_f64().unwrap());
    assert!(-1.0 <= min && min <= mean && mean <= max && max <= 1.0, "{channel}");
    assert_eq!(list[0]["attributes"]["lightbound/samples"], 4);
    assert_eq!(
        list[0]["data_window"],
        serde_json::json!({"x": 0, "y": 0, "width": 12, "height": 16})
    );
    assert_eq!(list[0]["contains"], line(&text, "contains"));
}

#[test]
fn parts_of_other_versions_are_not_interpreted() {
    let dir = SceneDir::new();
    dir.render(&["-o", "a.exr", "--crop", "0,0.5,0,1"]).assert().success();
    let mut part = read_exr(&dir.path("a.exr")).unwrap();
    let header = part.attributes.iter_mut().find(|a| a.0 == HEADER).unwrap();
    let Attribute::Text(text) = &mut header.1 else { panic!() };
    *text = text.replace("\"format\":2", "\"format\":3");
    write_exr(&dir.path("a.exr"), &part).unwrap();
    let text = stdout(info(&dir, &["a.exr"]));
    assert!(!text.contains("  contains"), "{text}");
    assert!(line(&text, HEADER).contains("\"format\":3"), "{text}");
}

#[test]
fn checkpoints_have_samples_but_no_layers() {
    let dir = SceneDir::new();
    let unfinished = "-o a.exr --spp 1000 --threads 1 --time-limit 1e-9 --checkpoint 1000";
    dir.render(&unfinished.split(' ').collect::<Vec<_>>()).assert().success();
    let text = stdout(info(&dir, &["a.exr.checkpoint"]));
    assert!(text.starts_with("a.exr.checkpoint: checkpoint\n"), "{text}");
    assert_eq!(line(&text, "contains"), "sample 0 of columns 0..24, rows 0..16");
    assert!(!text.contains("minimum"), "{text}");
    let list = json(info(&dir, &["a.exr.checkpoint", "--format", "json"]));
    assert_eq!(
        (&list[0]["kind"], &list[0]["layers"]),
        (&"checkpoint".into(), &Value::Array(vec![]))
    );
}

#[test]
fn pixels_without_a_surface_are_excluded_from_statistics_of_depth() {
    let dir = SceneDir::new();
    let samples = ChannelSamples::F32(vec![1.0, 3.0, 1e10]);
    let channels = vec![Channel { name: "depth.Z".into(), samples }];
    let image = ExrImage { size: [3, 1], full_size: [3, 1], channels, ..ExrImage::default() };
    write_exr(&dir.path("a.exr"), &image).unwrap();
    let text = stdout(info(&dir, &["a.exr"]));
    assert!(line(&text, "depth").starts_with("Z 1 3 2 0 0"), "{text}");
    assert!(text.contains("excluded from depth: 1 pixel without a surface, 1e10"), "{text}");
    let list = json(info(&dir, &["a.exr", "--format", "json"]));
    assert_eq!((&list[0]["without_surface"], &list[0]["contains"]), (&1.into(), &Value::Null));
}

#[test]
fn not_finite_samples_are_counted_and_excluded() {
    let dir = SceneDir::new();
    let samples = vec![1.0, f32::NAN, 3.0, f32::INFINITY];
    let channel = Channel { name: "Y".into(), samples: ChannelSamples::F32(samples) };
    let image = ExrImage {
        size: [4, 1],
        full_size: [4, 1],
        channels: vec![channel],
        ..ExrImage::default()
    };
    write_exr(&dir.path("a.exr"), &image).unwrap();
    let text = stdout(info(&dir, &["a.exr"]));
    assert_eq!(line(&text, "colour"), "Y 1 3 2 1 1");
}

#[test]
fn stdin_may_be_a_scene_or_an_image() {
    let dir = SceneDir::new();
    let scene = std::fs::read(dir.path("scene.pbrt")).unwrap();
    info(&dir, &["-"]).write_stdin(scene).assert().success().stdout(contains("stdin: scene"));
    dir.render(&["-o", "a.png"]).assert().success();
    let png = std::fs::read(dir.path("a.png")).unwrap();
    let described = info(&dir, &["-"]).write_stdin(png).assert().success();
    described.stdout(contains("PNG, 8 bits, sRGB").and(contains("24 × 16 pixels")));
    assert_input_error(&mut info(&dir, &["-", "-"]), &["stdin can be read once"]);
}

#[test]
fn a_bad_file_does_not_hide_the_others() {
    let dir = SceneDir::new();
    std::fs::write(dir.path("a.txt"), "text").unwrap();
    std::fs::write(dir.path("bad.pbrt"), "WorldBegin\nShpae \"sphere\"\n").unwrap();
    let files = ["none.exr", "a.txt", "bad.pbrt", "scene.pbrt"];
    info(&dir, &files)
        .assert()
        .code(2)
        .stdout(contains("scene.pbrt: scene"))
        .stderr(contains("none.exr: cannot be read").and(contains("neither a scene nor an image")))
        .stderr(contains("Shpae"));
    let output = info(&dir, &[&files[..], &["--format", "json"]].concat()).output().unwrap();
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    let kinds: Vec<bool> =
        list.as_array().unwrap().iter().map(|file| file["error"].is_string()).collect();
    assert_eq!(kinds, [true, true, true, false]);
}
