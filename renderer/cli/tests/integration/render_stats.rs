//! Statistics of `lightbound render --stats`.

use crate::common::scene_dir::{SCENE, SceneDir, stats};
use lightbound_shader::Target;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

#[test]
fn stats_have_documented_keys() {
    // With a second light, light selection uses a tree.
    let two_lights = SCENE.replace("WorldBegin", "WorldBegin\nLightSource \"point\"");
    let dir = SceneDir::with_scene(&two_lights);
    dir.render(&["-o", "a.exr", "--stats", "s.json", "--threads", "2", "--seed", "9"])
        .assert()
        .success();
    let stats = stats(&dir.path("s.json"));
    for name in [
        "render_seconds",
        "render_cpu_seconds",
        "load_seconds",
        "build_seconds",
        "accel_memory_bytes",
    ] {
        assert!(stats[name].as_f64().unwrap() > 0.0, "{name} in {stats}");
    }
    assert!(
        stats["rays"].as_u64() > Some(24 * 16 * 4) && stats["shadow_rays"].as_u64() > Some(0),
        "{stats}"
    );
    let exact = [
        ("spp", 4),
        ("min_samples", 4),
        ("max_samples", 4),
        ("camera_samples", 24 * 16 * 4),
        ("width", 24),
        ("height", 16),
        ("triangles", 3),
        ("lights", 3),
        ("threads", 2),
        ("seed", 9),
        ("invalid_samples", 0),
        ("shader_capped", 0),
    ];
    for (name, value) in exact {
        assert_eq!(stats[name], value, "{name}");
    }
    // Each shadow ray needs an evaluation, and most lanes are occupied.
    let (evaluations, occupancy) =
        (stats["shader_evaluations"].as_u64(), stats["shader_occupancy"].as_f64());
    assert!(
        evaluations >= stats["shadow_rays"].as_u64()
            && occupancy > Some(0.5)
            && occupancy <= Some(1.0),
        "{stats}"
    );
    assert_eq!(stats["shader_target"], Target::best().name());
    assert_eq!(stats["integrator"], "path");
    let tree = &stats["light_tree"];
    assert!(tree["leaves"] == 2 && tree["memory_bytes"].as_u64() > Some(500), "{tree}");
    assert!(tree["build_seconds"].as_f64() > Some(0.0), "{tree}");
    assert!(["builtin", "embree"].contains(&stats["accel"].as_str().unwrap()));
    assert_eq!(stats["warnings"], Value::Array(Vec::new()));
    if cfg!(target_os = "linux") {
        assert!(stats["peak_memory_bytes"].as_u64().unwrap() > 1 << 20);
    }
}

#[test]
fn occupancy_is_null_without_shader_evaluations() {
    let dir = SceneDir::with_scene(
        "WorldBegin LightSource \"infinite\" Material \"dielectric\" Shape \"sphere\"",
    );
    dir.render(&["-q", "-o", "a.exr", "--spp", "1", "--resolution", "8x8", "--stats", "s.json"])
        .assert()
        .success();
    let stats = stats(&dir.path("s.json"));
    assert_eq!(
        (&stats["shader_evaluations"], &stats["shader_occupancy"]),
        (&Value::from(0), &Value::Null),
        "{stats}"
    );
    assert_eq!(stats["light_tree"], Value::Null, "{stats}");
}

#[cfg(target_os = "linux")]
#[test]
fn stats_can_be_written_to_stdout() {
    let dir = SceneDir::new();
    let render = ["-q", "-o", "a.pfm", "--stats", "/dev/stdout"];
    dir.render(&render).assert().success().stdout(contains("render_seconds"));
    // A redirected file is appended to, not replaced.
    std::fs::write(dir.path("log"), "first\n").unwrap();
    let log = std::fs::OpenOptions::new().append(true).open(dir.path("log")).unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_lightbound"));
    command.args(["render", "scene.pbrt"]).args(render).current_dir(dir.root()).stdout(log);
    assert!(command.status().unwrap().success());
    let log = std::fs::read_to_string(dir.path("log")).unwrap();
    assert!(log.starts_with("first\n{") && log.contains("render_seconds"), "{log}");
}

#[test]
fn stats_overwrite_neither_image_nor_scene() {
    let dir = SceneDir::new();
    for file in ["a.png", "scene.pbrt", "./a.png"] {
        dir.render(&["-o", "a.png", "--stats", file])
            .assert()
            .code(2)
            .stderr(contains("overwrite").and(contains(file)));
    }
    assert!(dir.files().is_empty());
    assert_eq!(std::fs::read_to_string(dir.path("scene.pbrt")).unwrap(), *SCENE);
}
