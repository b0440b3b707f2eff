//! The integrator `lightcuts`: options, layers, statistics and parts.

use crate::common::lightbound;
use crate::common::room::room;
use assert_cmd::assert::Assert;
use predicates::prelude::*;
use predicates::str::contains;
use tempfile::TempDir;

/// A temporary folder with a scene.
struct SceneDir(TempDir);

impl SceneDir {
    fn new(text: &str) -> SceneDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("scene.pbrt"), text).unwrap();
        SceneDir(folder)
    }

    fn room() -> SceneDir {
        SceneDir::new(&room(
            r#""integer xresolution" 20 "integer yresolution" 16 "string filename" "a.exr""#,
            2,
        ))
    }

    fn run(&self, args: &[&str]) -> Assert {
        lightbound(args).current_dir(self.0.path()).assert()
    }

    fn render(&self, args: &[&str]) -> Assert {
        self.run(&[&["render", "scene.pbrt", "--integrator", "lightcuts", "-q"], args].concat())
    }

    fn statistics(&self) -> serde_json::Value {
        let file = std::fs::File::open(self.0.path().join("s.json")).unwrap();
        serde_json::from_reader(file).unwrap()
    }
}

#[test]
fn layers_and_statistics_report_cuts() {
    let dir = SceneDir::room();
    dir.render(&["--check-bounds", "--stats", "s.json"]).code(0).stderr("");
    let all = dir.statistics();
    let cuts = &all["lightcuts"];
    assert_eq!(cuts["bound_violations"], 0);
    assert!(
        cuts["cut_size_mean"].as_f64().unwrap() > 1.0
            && cuts["bound_checks"].as_u64().unwrap() > 1000,
        "{cuts}"
    );
    assert!(
        all["light_tree"]["leaves"].as_u64().unwrap() >= 1024
            && cuts["shadow_rays"] == all["shadow_rays"],
        "{all}"
    );
    for layer in ["cut_size", "bound_evaluations", "shadow_rays", "error_bound"] {
        dir.run(&["falsecolor", "a.exr", "--layer", layer, "-o", "map.png"]).code(0);
    }
}

#[test]
fn scene_files_and_options_are_equivalent() {
    let dir = SceneDir::room();
    dir.render(&["--error", "0.5", "-o", "options.exr"]).code(0);
    let text = std::fs::read_to_string(dir.0.path().join("scene.pbrt")).unwrap();
    let text = text.replace(r#"Integrator "path""#, r#"Integrator "lightcuts" "float error" 0.5"#);
    std::fs::write(dir.0.path().join("scene.pbrt"), text).unwrap();
    dir.run(&["render", "scene.pbrt", "-q", "-o", "file.exr"]).code(0).stderr("");
    dir.run(&["compare", "options.exr", "file.exr", "--fail-above", "differing=0"]).code(0);
}

#[test]
fn parts_with_other_settings_are_rejected() {
    let dir = SceneDir::room();
    for (range, error, name) in
        [("0..1", "0.02", "a.exr"), ("1..2", "0.02", "b.exr"), ("1..2", "0.1", "c.exr")]
    {
        dir.render(&["--sample-range", range, "--error", error, "-o", name]).code(0);
    }
    dir.render(&["-o", "whole.exr"]).code(0);
    dir.run(&["merge", "a.exr", "b.exr", "-q", "-o", "merged.exr"]).code(0);
    dir.run(&[
        "compare",
        "merged.exr",
        "whole.exr",
        "--layers",
        "all",
        "--fail-above",
        "differing=0",
    ])
    .code(0);
    dir.run(&["merge", "a.exr", "c.exr", "-o", "merged.exr"])
        .code(2)
        .stderr(contains("c.exr").and(contains("error")));
}

/// Asserts that two halves of eight samples merge to `a.exr`, which has all of them.
fn assert_parts_make_the_image(dir: &SceneDir, whole: &[&str]) {
    for (range, name) in [("0..4", "b.exr"), ("4..8", "c.exr")] {
        dir.render(&[whole, &["--sample-range", range, "-o", name]].concat()).code(0);
    }
    dir.run(&["merge", "b.exr", "c.exr", "-q", "-o", "merged.exr"]).code(0);
    let differing = ["--layers", "all", "--fail-above", "differing=0"];
    dir.run(&[&["compare", "merged.exr", "a.exr"], &differing[..]].concat()).code(0);
}

#[test]
fn cuts_of_whole_pixels_have_layers_statistics_and_parts() {
    let dir = SceneDir::room();
    let whole = ["--spp", "8", "--gather", "4"];
    dir.render(&[&whole[..], &["--check-bounds", "--stats", "s.json"]].concat()).code(0).stderr("");
    let all = dir.statistics();
    let cuts = &all["lightcuts"];
    assert_eq!(cuts["bound_violations"], 0);
    let [groups, points, pairs] =
        ["cuts", "gather_points", "pairs"].map(|name| cuts[name].as_u64().expect("it is a count"));
    // Groups that only see the sky have no cut.
    assert!(groups > 200 && groups <= 2 * 20 * 16, "{cuts}");
    assert!(points > 3 * groups && points <= 4 * groups && pairs > 1000, "{cuts}");
    for layer in ["gather_points", "pairs", "bound_evaluations", "error_bound"] {
        dir.run(&["falsecolor", "a.exr", "--layer", layer, "-o", "map.png"]).code(0);
    }
    assert_parts_make_the_image(&dir, &whole);
    for (args, message) in [
        (&["--spp", "6", "--gather", "4"][..], "6 samples per pixel are no multiple"),
        (&["--spp", "8", "--gather", "4", "--sample-range", "2..8"], "divides a group of 4"),
        (&["--gather", "3"], "expected a power of two from 1 to 256"),
        (&["--gather", "2", "--bounds", "hand"], "need compiled bounds"),
        (&["--gather", "2", "--mode", "stochastic", "--bounds", "hand"], "need compiled bounds"),
    ] {
        dir.render(args).code(2).stderr(contains(message));
    }
}

#[test]
fn stochastic_cuts_of_whole_pixels_have_layers_statistics_and_parts() {
    let dir = SceneDir::room();
    let whole = ["--mode", "stochastic", "--spp", "8", "--gather", "4", "--cut-size", "24"];
    dir.render(&[&whole[..], &["--check-bounds", "--stats", "s.json"]].concat()).code(0).stderr("");
    let all = dir.statistics();
    let cuts = &all["lightcuts"];
    assert_eq!(cuts["bound_violations"], 0);
    let [groups, points, pairs] =
        ["cuts", "gather_points", "pairs"].map(|name| cuts[name].as_u64().expect("it is a count"));
    assert!(points > 3 * groups && points <= 4 * groups, "{cuts}");
    assert!(pairs > groups && pairs <= 24 * groups, "{cuts}");
    for layer in ["gather_points", "pairs", "bound_evaluations", "shadow_rays"] {
        dir.run(&["falsecolor", "a.exr", "--layer", layer, "-o", "map.png"]).code(0);
    }
    assert_parts_make_the_image(&dir, &whole);
}

#[test]
fn materials_without_hand_derived_bounds_are_named() {
    let dir = SceneDir::room();
    dir.render(&["--bounds", "hand"]).code(0).stderr("");
    let text = std::fs::read_to_string(dir.0.path().join("scene.pbrt")).unwrap();
    let rough = r#"Material "conductor" "float roughness" 0.3"#;
    let text = text.replace(r#"Material "diffuse" "rgb reflectance" [ 0.7 0.7 0.7 ]"#, rough);
    let dir = SceneDir::new(&text);
    dir.render(&["--bounds", "hand"])
        .code(2)
        .stderr(contains("conductor.wgsl").and(contains("--bounds related")));
}

#[test]
fn invalid_settings_show_their_location() {
    for (parameter, location, message) in [
        ("\"float error\" -0.5", "scene.pbrt:2:3", "give 0 or more"),
        ("\"string mode\" \"stochastik\"", "scene.pbrt:2:3", "did you mean \"stochastic\"?"),
        ("\"integer skypoints\" 2000000000", "scene.pbrt:2:3", "give 1 or more, up to 16777216"),
        ("\"integer gather\" 3", "scene.pbrt:2:3", "give a power of two from 1 to 256"),
        ("\"integer maxdepth\" -1", "scene.pbrt:2:3", "give 0 or more"),
    ] {
        let scene =
            SceneDir::new(&format!("Integrator \"lightcuts\"\n  {parameter}\nWorldBegin\n"));
        scene
            .run(&["render", "scene.pbrt"])
            .code(2)
            .stderr(contains(location).and(contains(message)));
    }
}

#[test]
fn misspelt_settings_and_lights_without_power_are_reported() {
    let world = "Film \"rgb\" \"integer xresolution\" 4 \"integer yresolution\" 4\nWorldBegin\nLightSource \"point\" \"rgb I\" [0 0 0]\n";
    let scene = SceneDir::new(&format!("Integrator \"lightcuts\" \"float eror\" 0.1\n{world}"));
    let expected = contains("scene.pbrt:1:24")
        .and(contains("did you mean \"error\"?"))
        .and(contains("no light of the scene has any power"));
    scene.run(&["render", "scene.pbrt", "-o", "a.exr", "-q"]).code(0).stderr(expected);
}

#[test]
fn light_that_illuminates_nothing_is_reported() {
    let scene = |medium: &str, light: &str| {
        SceneDir::new(&format!(
            r#"
MakeNamedMedium "m" "string type" "homogeneous" {medium}
MediumInterface "" "m"
Camera "perspective"
Film "rgb" "integer xresolution" 4 "integer yresolution" 4 "string filename" "a.exr"
Sampler "zsobol" "integer pixelsamples" 1
WorldBegin
MediumInterface "m" "m"
{light}
Translate 0 0 3
Shape "sphere"
"#
        ))
    };
    let sun = scene("", r#"LightSource "distant""#);
    sun.render(&["--light-paths", "10"])
        .code(0)
        .stderr(contains("10 paths from lights left no virtual lights"));
    scene("", "")
        .render(&["--light-paths", "10"])
        .code(0)
        .stderr(contains("the scene has no light").and(contains("virtual lights").not()));
    let fire = scene(r#""rgb Le" [1 1 1]"#, r#"LightSource "point""#);
    fire.render(&[]).code(0).stderr(contains(
        "the light of medium \"m\" illuminates nothing; it is only visible itself",
    ));
    fire.render(&["--light-paths", "10", "--strict"]).code(2);
}

#[test]
fn light_that_cuts_miss_is_reported() {
    let scene = |max_depth: u32, material: &str| {
        SceneDir::new(&format!(
            r#"
Camera "perspective"
Film "rgb" "integer xresolution" 4 "integer yresolution" 4 "string filename" "a.exr"
Sampler "zsobol" "integer pixelsamples" 4
Integrator "lightcuts" "integer maxdepth" {max_depth}
WorldBegin
LightSource "point" "point3 from" [0 2 0]
MakeNamedMaterial "m" {material}
NamedMaterial "m"
Translate 0 0 3
Shape "sphere"
"#
        ))
    };
    let pane = "no light passes panes of material \"m\"";
    scene(5, r#""string type" "thindielectric""#).render(&[]).code(0).stderr(contains(pane));
    let rough = r#""string type" "dielectric" "float roughness" 0.2"#;
    let dark = "nothing but lights is visible through material \"m\"";
    let scattered = scene(5, rough);
    scattered.render(&[]).code(0).stderr(contains(dark).and(contains("--glossy-paths")));
    scattered.render(&["--glossy-paths"]).code(0).stderr("");
    let direct = scene(1, rough).render(&["--glossy-paths"]).code(0);
    let without_effect = "no path continues at a glossy surface, since \"maxdepth\" is 1";
    direct.stderr(contains(without_effect).and(contains(dark)).and(contains("\"maxdepth\" 2")));
    let diffuse = scene(5, r#""string type" "diffuse""#);
    diffuse.render(&["--noise-threshold", "0.1"]).code(0).stderr("");
    for (args, cause) in [
        (["--light-paths", "100"], "virtual lights, which are the same for all samples"),
        (["--gather", "4"], "samples that share a cut"),
    ] {
        let args = [&args[..], &["--noise-threshold", "0.1"]].concat();
        diffuse.render(&args).code(0).stderr(contains(cause));
    }
    diffuse.run(&["render", "scene.pbrt", "--integrator", "path", "--glossy-paths"]).code(2);
}
