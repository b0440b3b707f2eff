//! Profiles of shaders: `render --profile-shaders` and `--shader-profile`.

use crate::common::scene_dir::SceneDir;
use crate::common::{assert_input_error, lightbound};
use predicates::str::contains;
use serde_json::Value;
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
    // The profile of another range of the texture, and of another version.
    fs::write(dir.path("scene.pbrt"), SCENE.replace("[0.5 0.5 0.5]", "[0.4 0.4 0.4]")).unwrap();
    assert_input_error(
        &mut with("p.json"),
        &["p.json: the profile of `phong", "textures with other ranges", "with the same options"],
    );
    fs::write(dir.path("scene.pbrt"), SCENE).unwrap();
    let version = format!("\"lightbound\": \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(json.contains(&version), "{json}");
    fs::write(dir.path("old.json"), json.replace(&version, "\"lightbound\": \"0.0.1\"")).unwrap();
    assert_input_error(
        &mut with("old.json"),
        &["old.json: was taken with Lightbound 0.0.1", "with the same options"],
    );
    // The profile of another material.
    fs::write(dir.path("scene.pbrt"), SCENE.replace("phong.wgsl", "ward.wgsl")).unwrap();
    assert_input_error(
        &mut with("p.json"),
        &["p.json: has no profile of `ward", "with the same options"],
    );
}

/// Sets the measured time of phong with tests in `p.json`, relative to that without.
fn set_time_ratio(dir: &SceneDir, ratio: f64) {
    let path = dir.path("p.json");
    let mut profile: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let shaders = profile["shaders"].as_array_mut().unwrap();
    let is_phong = |entry: &&mut Value| entry["shader"] == "phong.wgsl";
    let phong = shaders.iter_mut().find(is_phong).expect("the scene has it");
    for kernel in ["evaluate", "scatter"] {
        assert!(phong[kernel]["time_ratio"].is_f64(), "there are tests: {}", phong[kernel]);
        phong[kernel]["time_ratio"] = ratio.into();
    }
    fs::write(path, profile.to_string()).unwrap();
}

#[test]
fn stats_tell_what_a_profile_changed() {
    // The highlight is in so small a part that tests are expected to pay.
    let dir = SceneDir::with_scene(&SCENE.replace("1.2", "1.02"));
    dir.render(&["-o", "a.pfm", "--profile-shaders", "p.json", "--stats", "s.json"])
        .assert()
        .success();
    let stats = |file: &str| -> Value {
        serde_json::from_slice(&fs::read(dir.path(file)).unwrap()).unwrap()
    };
    assert!(stats("s.json")["shader_profile"].is_null());
    // Whether tests save time depends on the machine.
    for (ratio, tested, rejected) in [(0.5, 2, 0), (1.5, 0, 2)] {
        set_time_ratio(&dir, ratio);
        dir.render(&["-o", "a.pfm", "--shader-profile", "p.json", "--stats", "s.json"])
            .assert()
            .success();
        // The other two are those of the default material.
        let expected = serde_json::json!({
            "kernels": 4, "tested_kernels": tested, "rejected_kernels": rejected
        });
        assert_eq!(stats("s.json")["shader_profile"], expected);
    }
}

#[test]
fn shader_specialize_shows_code_with_tests() {
    // The highlight is in so small a part that tests are expected to pay.
    let dir = SceneDir::with_scene(&SCENE.replace("1.2", "1.02"));
    dir.render(&["-o", "a.pfm", "--profile-shaders", "p.json"]).assert().success();
    let specialize = |arguments: &[&str]| {
        let mut command = lightbound(&["shader", "specialize", "phong"]);
        command.args(arguments).current_dir(dir.root());
        command
    };
    set_time_ratio(&dir, 0.5);
    let constants = ["--set", "kd=0.4", "--set", "exponent=50"];
    let with_profile = [&constants[..], &["--profile", "p.json"]].concat();
    specialize(&with_profile).assert().success().stdout(contains("--profile"));
    let ir = |options: &[&str]| {
        let mut command = specialize(&[&constants[..], options, &["--stage", "ir"]].concat());
        String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
    };
    for function in ["evaluate", "sample"] {
        let [without, with] = [&[][..], &["--profile", "p.json"]]
            .map(|profile| ir(&[&["--of", function], profile].concat()));
        assert!(with.matches("= if ").count() > without.matches("= if ").count(), "{with}");
    }
    set_time_ratio(&dir, 1.5);
    let rejected =
        "\nno tests for zero in s and density: they did not save time\nno tests for zero in";
    specialize(&with_profile).assert().success().stdout(contains(rejected));
    let of_evaluate = ["--of", "evaluate"];
    assert_eq!(ir(&[&of_evaluate[..], &["--profile", "p.json"]].concat()), ir(&of_evaluate));
    specialize(&[&with_profile[..], &["--stage", "ir"]].concat())
        .assert()
        .code(2)
        .stderr(contains("add --of evaluate"));
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
