//! Errors and warnings of `lightbound render` about scenes.

use crate::common::lightbound;
use crate::common::scene_dir::{SCENE, SceneDir};
use predicates::prelude::*;
use predicates::str::contains;
use std::path::Path;

#[test]
fn errors_begin_with_error() {
    let dir = SceneDir::with_scene("WorldBegin Shape \"sphre\"");
    for args in [["-o", "a.png"], ["-o", "a.jpg"], ["--spp", "x"]] {
        dir.render(&args).assert().code(2).stderr(contains("error: "));
    }
}

#[test]
fn scene_without_lights_causes_a_warning() {
    let dir = SceneDir::with_scene("WorldBegin Shape \"sphere\"");
    let small = ["-o", "a.png", "--resolution", "8x8", "--spp", "1"];
    dir.render(&small).assert().success().stderr(contains("no light"));
    dir.render(&small).arg("--strict").assert().code(2).stderr(contains("no light"));
    let occlusion = ["--strict", "--integrator", "ambientocclusion"];
    dir.render(&small).args(occlusion).assert().success();
    let fire = SceneDir::with_scene(
        "WorldBegin MakeNamedMedium \"fire\" \"string type\" \"homogeneous\" \"rgb Le\" [1 1 1]
        MediumInterface \"fire\" \"\" Material \"interface\" Shape \"sphere\"",
    );
    fire.render(&small).arg("--strict").assert().success();
}

#[test]
fn missing_scene_is_named() {
    lightbound(&["render", "no-such-scene.pbrt", "--quiet"])
        .assert()
        .code(2)
        .stderr(contains("no-such-scene.pbrt"));
}

#[test]
fn errors_in_scenes_name_file_and_line() {
    let dir = SceneDir::with_scene(&SCENE.replace("Translate 0 0.6 0", "Translate 0 0.6"));
    let line = 1 + SCENE.lines().position(|l| l.contains("Translate")).unwrap();
    // The missing number is detected at the next token, one line below.
    let location =
        contains(format!("scene.pbrt:{line}:")).or(contains(format!("scene.pbrt:{}:", line + 1)));
    dir.render(&[]).assert().code(2).stderr(location);
    assert!(dir.files().is_empty());
}

#[test]
fn strict_turns_warnings_into_errors() {
    let dir = SceneDir::with_scene(&SCENE.replace(r#"Integrator "path""#, r#"Integrator "bdpt""#));
    dir.render(&["-q", "-o", "a.exr"])
        .assert()
        .success()
        .stderr(contains("warning").and(contains("bdpt")));
    dir.render(&["-o", "b.exr", "--strict"]).assert().code(2).stderr(contains("bdpt"));
    assert_eq!(dir.files(), ["a.exr"]);
}

#[test]
fn scenes_of_the_repository_cause_no_warning() {
    let scenes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes");
    let folder = tempfile::tempdir().unwrap();
    let mut rendered = 0;
    for entry in std::fs::read_dir(scenes).unwrap() {
        let scene = entry.unwrap().path().join("scene.pbrt");
        if scene.exists() {
            let args =
                ["--strict", "--quiet", "--resolution", "32x18", "--spp", "1", "-o", "a.png"];
            lightbound(&["render"])
                .arg(scene)
                .args(args)
                .current_dir(folder.path())
                .assert()
                .success()
                .stderr("");
            rendered += 1;
        }
    }
    assert!(rendered >= 5, "only {rendered} scenes");
}

#[test]
fn missing_and_truncated_files_have_a_remedy() {
    let texture = r#"
        WorldBegin
        Texture "a" "spectrum" "imagemap" "string filename" "x/y.png"
        Material "diffuse" "texture reflectance" "a"
        Shape "sphere""#;
    let dir = SceneDir::with_scene(texture);
    let failed = dir.render(&["-o", "a.png"]).assert().code(2);
    failed.stderr(
        contains("x/y.png cannot be read")
            .and(contains("relative to the folder of the main scene file")),
    );
    std::fs::write(dir.path("scene.pbrt"), b"\x1f\x8b\x08\0\0\0\0\0\0\x03").unwrap();
    let failed = dir.render(&["-o", "a.png"]).assert().code(2);
    failed.stderr(contains("its gzip stream is truncated; copy or download it again"));
}
