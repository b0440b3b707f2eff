//! Profiles of shaders: `render --profile-shaders` and `--shader-profile`.

use crate::common::scene_dir::SceneDir;
use crate::common::{assert_input_error, lightbound};
use predicates::str::contains;
use std::fs;

/// A phong material with a highlight in a small part of its texture, under a light.
const SCENE: &str = r#"
    LookAt 0 3 3  0 0 0  0 1 0
    Camera "perspective" "float fov" 40
    Film "rgb" "integer xresolution" 24 "integer yresolution" 24
    Sampler "independent" "integer pixelsamples" 4
    WorldBegin
    LightSource "point" "point3 from" [1 3 0] "rgb I" [9 9 9]
    LightSource "infinite" "rgb L" [0.3 0.3 0.3]
    Texture "mask" "spectrum" "checkerboard" "float uscale" 1.2 "float vscale" 1.2
        "rgb tex1" [0 0 0] "rgb tex2" [0.5 0.5 0.5]
    Material "shader" "string filename" "phong.wgsl" "texture ks" "mask"
    Shape "bilinearmesh" "point3 P" [-1 0 -1  1 0 -1  -1 0 1  1 0 1]
"#;

#[test]
fn pictures_are_the_same_with_any_profile() {
    let dir = SceneDir::with_scene(SCENE);
    dir.render(&["-o", "none.pfm"]).assert().success();
    dir.render(&["-o", "taken.pfm", "--profile-shaders", "p.json"]).assert().success();
    dir.render(&["-o", "used.pfm", "--shader-profile", "p.json"]).assert().success();
    dir.render(&["-o", "auto.pfm", "--shader-profile", "auto", "--threads", "2"])
        .assert()
        .success();
    let expected = fs::read(dir.path("none.pfm")).unwrap();
    for name in ["taken", "used", "auto"] {
        let picture = fs::read(dir.path(&format!("{name}.pfm"))).unwrap();
        assert!(picture == expected, "{name}");
    }
}

#[test]
fn unusable_profiles_are_refused() {
    let dir = SceneDir::with_scene(SCENE);
    let with = |profile: &str| dir.render(&["-o", "a.pfm", "--shader-profile", profile]);
    assert_input_error(&mut with("absent.json"), &["absent.json", "--profile-shaders"]);
    dir.render(&["-o", "b.pfm", "--profile-shaders", "p.json"]).assert().success();
    let json = fs::read_to_string(dir.path("p.json")).unwrap();
    fs::write(dir.path("truncated.json"), &json[..json.len() / 2]).unwrap();
    assert_input_error(
        &mut with("truncated.json"),
        &["truncated.json", "is not a shader profile", "--profile-shaders"],
    );
    // The profile of another material.
    fs::write(dir.path("scene.pbrt"), SCENE.replace("phong.wgsl", "ward.wgsl")).unwrap();
    assert_input_error(
        &mut with("p.json"),
        &["p.json: has no profile of `ward", "with the same options"],
    );
}

#[test]
fn shader_specialize_shows_code_with_tests() {
    let dir = SceneDir::with_scene(SCENE);
    dir.render(&["-o", "a.pfm", "--profile-shaders", "p.json", "--spp", "64"]).assert().success();
    let specialize = |arguments: &[&str]| {
        let mut command = lightbound(&["shader", "specialize", "phong"]);
        command.args(arguments).current_dir(dir.root());
        command
    };
    let constants = ["--set", "kd=0.4", "--set", "exponent=50"];
    let with_profile = [&constants[..], &["--profile", "p.json"]].concat();
    specialize(&with_profile).assert().success().stdout(contains("--profile"));
    // The scene has no material with another exponent.
    assert_input_error(
        &mut specialize(&["--set", "exponent=60", "--profile", "p.json"]),
        &["p.json: has no profile of `phong", "--set"],
    );
}

#[test]
fn profiles_replace_neither_scene_nor_image() {
    let dir = SceneDir::with_scene(SCENE);
    let mut command = dir.render(&["-o", "a.pfm", "--profile-shaders", "scene.pbrt"]);
    assert_input_error(&mut command, &["--profile-shaders would overwrite", "an input file"]);
    let mut command = dir.render(&["-o", "a.pfm", "--profile-shaders", "a.pfm"]);
    assert_input_error(&mut command, &["--profile-shaders would overwrite", "the image"]);
}
