//! Ctrl-C during `lightbound render`.
#![cfg(unix)]

mod common;

use common::interrupt;
use common::scene_dir::{SceneDir, channels, stats};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

#[test]
fn ctrl_c_writes_the_unfinished_image() {
    let dir = SceneDir::new();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_lightbound"))
        .args(["render", "scene.pbrt", "-o", "a.exr", "--spp", "10000000", "--threads", "2"])
        .current_dir(dir.root())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The scene is summarized before rendering starts.
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let loaded = lines.find(|line| line.contains("triangles"));
    std::thread::sleep(Duration::from_millis(500));
    assert!(loaded.is_some());
    interrupt(&child);
    let stderr = lines.collect::<Vec<_>>().join("\n");
    assert_eq!(child.wait().unwrap().code(), Some(130), "{stderr}");
    assert!(
        stderr.contains("interrupted") && stderr.contains("of 10000000 samples per pixel"),
        "{stderr}"
    );
    assert_eq!(dir.files(), ["a.exr"]);
    let radiance = channels(&dir.path("a.exr")).into_iter().find(|c| c.0 == "R").unwrap().1;
    assert!(radiance.iter().all(|&bits| f32::from_bits(bits) > 0.0));
}

#[test]
fn ctrl_c_before_every_pixel_has_a_sample_replaces_no_file() {
    let dir = SceneDir::new();
    std::fs::write(dir.path("a.png"), "earlier").unwrap();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_lightbound"))
        .args([
            "render",
            "scene.pbrt",
            "-o",
            "a.png",
            "--resolution",
            "3000x3000",
            "--stats",
            "s.json",
            "--threads",
            "1",
        ])
        .current_dir(dir.root())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("triangles")));
    std::thread::sleep(Duration::from_millis(800));
    interrupt(&child);
    let stderr = lines.collect::<Vec<_>>().join("\n");
    assert_eq!(child.wait().unwrap().code(), Some(130), "{stderr}");
    assert_eq!(std::fs::read_to_string(dir.path("a.png")).unwrap(), "earlier");
    assert!(stderr.contains("a.png is unchanged"), "{stderr}");
    // There may or may not be a sample yet.
    let written = dir.path("a-1.png").exists().then_some("a-1.png");
    assert_eq!(written.is_none(), stderr.contains("no image was written"), "{stderr}");
    assert_eq!(stats(&dir.path("s.json"))["output"].as_str(), written);
}
