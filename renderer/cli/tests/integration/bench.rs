//! `lightbound bench`: renderings for equal times and samples, and errors in configurations.

use crate::common::lightbound;
use crate::common::scene_dir::SceneDir;
use assert_cmd::assert::Assert;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use std::fs;

/// A folder with a scene, configurations and a reference.
fn folder(configs: &str) -> SceneDir {
    let dir = SceneDir::new();
    fs::write(dir.path("configs.toml"), configs).unwrap();
    dir.render(&["-q", "--spp", "8", "-o", "reference.exr"]).assert().success();
    dir
}

/// `lightbound ARGS`, in the folder.
fn run(dir: &SceneDir, args: &[&str]) -> Assert {
    lightbound(args).current_dir(dir.root()).assert()
}

const CONFIGS: &str = "path = '--integrator path'\nao = '--integrator ambientocclusion'\n";

/// Arguments of `bench` for the folder.
fn arguments<'a>(limit: &[&'a str], render: &[&'a str]) -> Vec<&'a str> {
    let start = ["bench", "scene.pbrt", "-c", "configs.toml", "-r", "reference.exr"];
    let middle = ["--report", "page"];
    let render = if render.is_empty() { vec![] } else { [&["--"], render].concat() };
    [&start[..], &middle, limit, &render].concat()
}

#[test]
fn configurations_are_rendered_in_turns_and_compared() {
    let dir = folder(CONFIGS);
    let args = arguments(&["--seconds", "0.1", "--spp", "1,2"], &["--seed", "3"]);
    let output = run(&dir, &args).success().get_output().clone();
    let text = String::from_utf8(output.stderr).unwrap();
    let titles: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once(" of 6: "))
        .map(|(_, title)| title)
        .collect();
    let expected = ["path, 0.1s", "ao, 0.1s", "path, 1spp", "ao, 1spp", "path, 2spp", "ao, 2spp"];
    assert_eq!(titles, expected, "{text}");
    assert!(text.contains("report: page/index.html"), "{text}");
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("page/images/ao-2spp.exr"), "{table}");
    // The same image as that of `render`.
    dir.render(&["-q", "--seed", "3", "--spp", "2", "-o", "same.exr"]).assert().success();
    let compare =
        ["compare", "same.exr", "page/images/path-2spp.exr", "--fail-above", "max=0", "-q"];
    run(&dir, &compare).success();
    // The time ends the rendering, not a number of samples.
    let compare = ["compare", "page/images/path-0.1s.exr", "-r", "reference.exr"];
    let several = [&compare[..], &["page/images/ao-0.1s.exr", "--format", "json"]].concat();
    let report = run(&dir, &several).success().get_output().stdout.clone();
    let report: Value = serde_json::from_slice(&report).unwrap();
    let number = |key: &str| report["images"][0][key].as_f64().unwrap();
    assert!(number("seconds") >= 0.1 && number("samples") < 16777216.0, "{report}");
}

#[test]
fn errors_are_found_before_anything_is_rendered() {
    for (configs, limit, render, message) in [
        ("path = ''", vec!["--spp", "1"], vec!["--spp", "4"], "--spp cannot be used here"),
        ("path = '--time-limit 3'", vec!["--spp", "1"], vec![], "--time-limit cannot be used here"),
        ("path = '--stats a.json'", vec!["--spp", "1"], vec![], "--stats cannot be used here"),
        ("path = '--resume'", vec!["--spp", "1"], vec![], "--resume cannot be used here"),
        ("path = '-o a.exr'", vec!["--spp", "1"], vec![], "-o cannot be used here"),
        (
            "a = ''\n\nb = '--integrator none'",
            vec!["--spp", "1"],
            vec![],
            "`b`: invalid value 'none'",
        ),
        ("# A\nb = 1", vec!["--spp", "1"], vec![], "configs.toml:2: the options of `b`"),
        ("path = ''", vec![], vec![], "--seconds 1,2,4 or --spp 16,64"),
        ("path = ''", vec!["--seconds", "0"], vec![], "above 0"),
    ] {
        let dir = folder(configs);
        let command = run(&dir, &arguments(&limit, &render));
        command.code(2).stderr(contains(message).and(contains("1 of").not()));
        assert!(!dir.path("page/images/path-1spp.exr").exists());
    }
    let dir = folder(CONFIGS);
    fs::remove_file(dir.path("reference.exr")).unwrap();
    let command = run(&dir, &arguments(&["--spp", "1"], &[]));
    command.code(2).stderr(contains("reference.exr: cannot be read").and(contains("1 of").not()));
}

#[test]
fn images_have_another_seed_than_the_reference() {
    let dir = folder(CONFIGS);
    run(&dir, &arguments(&["--spp", "1"], &[])).success().stdout(contains("the seed of").not());
    let same = contains("page/images/ao-1spp.exr: it has the scene and the seed of the reference");
    run(&dir, &arguments(&["--spp", "1"], &["--seed", "0"])).success().stdout(same);
}

#[test]
fn images_of_another_size_than_the_reference_are_an_error_at_once() {
    let dir = folder(CONFIGS);
    let command = run(&dir, &arguments(&["--spp", "1,2"], &["--resolution", "20x10"])).code(2);
    let sizes = contains("path-1spp.exr has 20 × 10 pixels, and the reference 24 × 16");
    command.stderr(sizes.and(contains("2 of 4").not()));
}

#[test]
fn configurations_that_fail_do_not_stop_the_others() {
    let dir = folder("bad = '--environment nope.exr'\ngood = ''\n");
    let output = run(&dir, &arguments(&["--spp", "1"], &[])).code(2).get_output().clone();
    let (stdout, stderr) = (String::from_utf8(output.stdout), String::from_utf8(output.stderr));
    let stderr = stderr.unwrap();
    assert!(stderr.contains("nope.exr") && stderr.contains("failed: bad, 1spp"), "{stderr}");
    assert!(stdout.unwrap().contains("good-1spp.exr"));
    assert!(dir.path("page/index.html").exists());
    // The image of a run is not the reference of the next.
    let image = "page/images/good-1spp.exr";
    let again = [
        "bench",
        "scene.pbrt",
        "-c",
        "configs.toml",
        "-r",
        image,
        "--report",
        "page",
        "--spp",
        "1",
    ];
    run(&dir, &again).code(2).stderr(contains("would be overwritten"));
}
