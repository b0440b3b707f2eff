//! `-` as a file: stdin and stdout. Also the links that outputs follow.
#![cfg(unix)]

use crate::common::scene_dir::{SceneDir, assert_same_exr};
use crate::common::{assert_input_error, lightbound};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use std::fs;
use std::process::{Output, Stdio};

/// Runs a command in the folder with input on stdin.
fn run(dir: &SceneDir, args: &[&str], input: &[u8]) -> Output {
    let mut command = lightbound(args);
    let assert = command.current_dir(dir.root()).write_stdin(input).assert().success();
    assert.get_output().clone()
}

#[test]
fn scenes_come_from_stdin_and_pictures_go_to_stdout() {
    let dir = SceneDir::new();
    dir.render(&["-o", "a.exr", "-q"]).assert().success();
    dir.render(&["-o", "a.png", "-q"]).assert().success();
    let scene = fs::read(dir.path("scene.pbrt")).unwrap();
    let png = run(&dir, &["render", "-", "-o", "png:-"], &scene);
    assert_eq!(png.stdout, fs::read(dir.path("a.png")).unwrap());
    assert!(String::from_utf8_lossy(&png.stderr).contains("24 × 16"));

    let exr = run(&dir, &["render", "-", "-o", "-", "-q"], &scene).stdout;
    fs::write(dir.path("b.exr"), exr).unwrap();
    let compare = ["compare", "-", "a.exr", "--layers", "all", "--fail-above", "max=0"];
    run(&dir, &compare, &fs::read(dir.path("b.exr")).unwrap());
    // Without -o, the picture has the name of the film.
    run(&dir, &["render", "-", "-q"], &scene);
    assert!(dir.path("from-film.exr").is_file());
}

#[test]
fn other_results_go_to_stdout() {
    let dir = SceneDir::new();
    let stats = dir.render(&["-o", "a.exr", "--stats", "-"]).assert().success();
    let stats: serde_json::Value = serde_json::from_slice(&stats.get_output().stdout).unwrap();
    assert_eq!(stats["width"], 24);
    let exr = fs::read(dir.path("a.exr")).unwrap();
    let map = run(&dir, &["falsecolor", "-", "--layer", "depth", "-o", "-"], &exr).stdout;
    assert!(map.starts_with(b"\x89PNG"));
    let args = ["compare", "a.exr", "a.exr", "--heatmap", "-", "-q", "--metric", "mae"];
    assert!(run(&dir, &args, b"").stdout.starts_with(b"\x89PNG"));
    assert_input_error(
        lightbound(&args[..5]).current_dir(dir.root()),
        &["--heatmap would write to stdout"],
    );
    dir.render(&["-o", "part.exr", "--sample-range", "0..4", "-q"]).assert().success();
    let merged = run(&dir, &["merge", "part.exr", "-o", "-", "-q"], b"").stdout;
    assert!(merged.starts_with(b"\x76\x2f\x31\x01"));
}

#[test]
fn a_part_may_come_from_stdin() {
    let dir = SceneDir::new();
    for (range, name) in [("0..2", "a.exr"), ("2..4", "b.exr")] {
        dir.render(&["--spp", "4", "--sample-range", range, "-o", name, "-q"]).assert().success();
    }
    run(&dir, &["merge", "a.exr", "b.exr", "-o", "files.exr"], b"");
    let part = fs::read(dir.path("b.exr")).unwrap();
    run(&dir, &["merge", "a.exr", "-", "-o", "stdin.exr"], &part);
    assert_same_exr(&dir.path("files.exr"), &dir.path("stdin.exr"));
    let mut twice = lightbound(&["merge", "b.exr", "-", "-o", "c.exr"]);
    let twice = twice.current_dir(dir.root()).write_stdin(part);
    assert_input_error(twice, &["stdin: has samples 2..4", "in common with b.exr"]);
}

#[test]
fn closed_stdout_is_an_error_for_images_only() {
    let dir = SceneDir::new();
    dir.render(&["-o", "a.exr", "-q"]).assert().success();
    dir.render(&["-o", "part.exr", "--sample-range", "0..4", "-q"]).assert().success();
    for (args, exit) in [
        ("convert a.exr png:-", 3),
        ("render scene.pbrt -o - -q", 3),
        ("merge part.exr -o - -q", 3),
        ("info a.exr", 0),
    ] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_lightbound"));
        command.args(args.split(' ')).current_dir(dir.root());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let Output { status, stderr, .. } = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&stderr);
        assert_eq!(status.code(), Some(exit), "{args}: {stderr}");
        assert_eq!(stderr.contains("stdout: cannot be written"), exit == 3, "{args}: {stderr}");
        assert!(!stderr.contains("saved"), "{args}: {stderr}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn progress_that_cannot_be_written_causes_one_warning() {
    let dir = SceneDir::new();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_lightbound"));
    command.args("render scene.pbrt -o a.exr -q --progress json".split(' '));
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command.current_dir(dir.root()).stdout(full).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert_eq!(stderr.matches("the progress cannot be written").count(), 1, "{stderr}");
}

/// A file beyond `ulimit -f` is an error, not the end by a signal.
#[test]
fn file_size_limits_are_errors() {
    let dir = SceneDir::new();
    let mut command = std::process::Command::new("sh");
    let program = env!("CARGO_BIN_EXE_lightbound");
    command.args(["-c", &format!("ulimit -f 1; exec '{program}' render scene.pbrt -o a.exr -q")]);
    let output = command.current_dir(dir.root()).env("TMPDIR", dir.root()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("a.exr") && stderr.contains("File too large"), "{stderr}");
}

#[test]
fn streams_cannot_be_shared() {
    let dir = SceneDir::new();
    let both = ["-o", "-", "--stats", "-"];
    assert_input_error(&mut dir.render(&both), &["--output and --stats would write"]);
    let progress = ["-o", "-", "--progress", "json"];
    assert_input_error(&mut dir.render(&progress), &["--output and --progress json"]);
    let checkpoint = ["-o", "-", "--checkpoint", "9"];
    assert_input_error(&mut dir.render(&checkpoint), &["a checkpoint is a file"]);
    assert_input_error(&mut lightbound(&["compare", "-", "-"]), &["stdin can be read once"]);
    let merge = ["merge", "-", "-", "-o", "a.exr"];
    assert_input_error(&mut lightbound(&merge), &["stdin can be read once"]);
}

#[test]
fn unusable_input_names_stdin() {
    let dir = SceneDir::new();
    for (args, input, message) in [
        (&["render", "-"][..], &b"Shpae"[..], "stdin:1:1"),
        (&["render", "-"], b"\x1f\x8b\x08", "stdin: the scene cannot be read"),
        (&["compare", "-", "a.exr"], b"text", "stdin: unknown image format"),
        (&["regress", "-"], b"[[case]]\nname = 4\n", "stdin:2:8"),
        (&["shader", "check", "-"], b"fn", "stdin"),
        (&["merge", "-", "-o", "a.exr"], b"fn", "stdin: "),
    ] {
        let mut command = lightbound(args);
        command.current_dir(dir.root()).write_stdin(input);
        command.assert().code(2).stdout("").stderr(contains(message));
    }
}

#[test]
fn outputs_follow_links_to_new_files() {
    let dir = SceneDir::new();
    fs::create_dir(dir.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink("elsewhere/a.png", dir.path("link.png")).unwrap();
    for _ in 0..2 {
        // The second time, the file exists.
        dir.render(&["-o", "link.png", "-q"]).assert().success();
        assert!(fs::symlink_metadata(dir.path("link.png")).unwrap().is_symlink());
        assert!(fs::symlink_metadata(dir.path("elsewhere/a.png")).unwrap().is_file());
    }
}

#[test]
fn progress_is_json_on_request() {
    let dir = SceneDir::new();
    let args = ["-o", "a.exr", "--progress", "json", "--spp", "64", "--noise-threshold", "1e-9"];
    let done = dir.render(&args).assert().success();
    let done = done.stderr(contains("24 × 16").and(contains("{").not()));
    let text = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let last = lines.last().expect("a line at the end");
    assert_eq!((&last["fraction"], &last["seconds_left"]), (&1.0.into(), &0.0.into()));
    assert_eq!(last["samples"], 24 * 16 * 64);
    assert!(last["noise"].as_f64().unwrap() > 0.0, "{last}");
    let fractions = |lines: &str| -> Vec<f64> {
        let values = lines.lines().map(serde_json::from_str::<serde_json::Value>);
        values.map(|value| value.expect(lines)["fraction"].as_f64().unwrap()).collect()
    };
    assert!(fractions(&text).is_sorted(), "{text}");
    let limited =
        ["-o", "a.exr", "--progress", "json", "-q", "--spp", "1000000", "--time-limit", "1.5"];
    let limited = dir.render(&limited).assert().success().get_output().stdout.clone();
    let fractions = fractions(&String::from_utf8(limited).unwrap());
    assert!(fractions.len() > 2 && fractions.is_sorted(), "{fractions:?}");
    assert_eq!(fractions.last(), Some(&1.0));
    let quiet = dir.render(&["-o", "a.exr", "--progress", "json", "-q"]).assert().success();
    quiet.stderr("").stdout(contains("\"noise\":null"));
}
