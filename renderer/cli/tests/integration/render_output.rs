//! Files that `lightbound render` writes.

use crate::common::lightbound;
use crate::common::scene_dir::{SCENE, SceneDir, channels};
use assert_cmd::Command;
use lightbound_image::write::{Attribute, write_pfm};
use predicates::prelude::*;
use predicates::str::contains;
use std::time::Duration;

#[test]
fn every_format_is_written() {
    let dir = SceneDir::new();
    for (name, magic) in [
        ("a.exr", &b"\x76\x2f\x31\x01"[..]),
        ("a.png", b"\x89PNG"),
        ("a.pfm", b"PF\n"),
        ("B.EXR", b"\x76\x2f"),
    ] {
        let done = dir.render(&["-o", name]).assert().success();
        done.stderr(contains(name).and(contains("24 × 16")).and(contains("4 samples per pixel")));
        assert!(std::fs::read(dir.path(name)).unwrap().starts_with(magic), "{name}");
    }
    assert_eq!(dir.files(), ["B.EXR", "a.exr", "a.pfm", "a.png"]);
}

#[test]
fn variance_layer_is_written_on_request() {
    let dir = SceneDir::new();
    let mut with = dir.channels(&["--variance"]);
    let without = dir.channels(&[]);
    let is_variance = |channel: &(String, Vec<u32>)| channel.0.starts_with("variance.");
    let layers: Vec<_> = with.extract_if(.., |channel| is_variance(channel)).collect();
    assert_eq!(with, without);
    assert_eq!(
        layers.iter().map(|c| c.0.as_str()).collect::<Vec<_>>(),
        ["variance.B", "variance.G", "variance.R"]
    );
    let values =
        |c: &(String, Vec<u32>)| c.1.iter().map(|&bits| f32::from_bits(bits)).collect::<Vec<_>>();
    assert!(layers.iter().all(|c| values(c).iter().all(|&x| (0.0..100.0).contains(&x))
        && values(c).iter().any(|&x| x > 0.0)));
    let single = dir.channels(&["--variance", "--spp", "1"]);
    assert!(
        single.iter().filter(|c| is_variance(c)).all(|c| values(c).iter().all(|x| x.is_infinite()))
    );
    dir.render(&["--variance", "-o", "a.png"])
        .assert()
        .code(2)
        .stderr(contains("a.png").and(contains(".exr")));
}

#[test]
fn exr_has_layers_and_attributes() {
    let dir = SceneDir::new();
    dir.render(&["-o", "a.exr", "--seed", "7", "--accel", "builtin"]).assert().success();
    let mut names: Vec<String> = channels(&dir.path("a.exr")).into_iter().map(|c| c.0).collect();
    names.sort();
    let expected = [
        "B",
        "G",
        "R",
        "albedo.B",
        "albedo.G",
        "albedo.R",
        "depth.Z",
        "material.id",
        "normal.X",
        "normal.Y",
        "normal.Z",
        "object.id",
    ];
    assert_eq!(names, expected);
    let bytes = std::fs::read(dir.path("a.exr")).unwrap();
    let header = String::from_utf8_lossy(&bytes[..4096.min(bytes.len())]);
    for name in ["lightbound", "scene.pbrt", "path", "builtin", "floor"] {
        assert!(header.contains(name), "{name} is missing in the attributes");
    }
    assert!(!header.contains(dir.root().to_str().unwrap()), "paths of folders are private");
}

#[test]
fn layers_are_selected_by_name() {
    let dir = SceneDir::new();
    let names = |layers: &str| {
        let mut names: Vec<_> =
            dir.channels(&["--layers", layers]).into_iter().map(|c| c.0).collect();
        names.sort();
        names.join(" ")
    };
    assert_eq!(names("beauty"), "B G R");
    assert_eq!(names("depth"), "B G R depth.Z");
    assert_eq!(
        names("ids,position"),
        "B G R material.id object.id position.X position.Y position.Z"
    );
    assert_eq!(names("object,variance"), "B G R object.id variance.B variance.G variance.R");
    assert_eq!(
        names("motion,lightgroups"),
        "B G R forward.u forward.v light_default.B light_default.G light_default.R"
    );
    // The layers that are written have the same bits, whatever others there are.
    let all = dir.channels(&["--layers", "all"]);
    assert_eq!(all.len(), 45);
    assert!(dir.channels(&[]).iter().all(|channel| all.contains(channel)));

    let error = |args: &[&str], message: &str| {
        dir.render(args).assert().code(2).stderr(contains(message));
    };
    error(&["--layers", "depht"], "'depth'");
    error(&["--layers", "beauty", "-o", "a.png"], "--layers needs an .exr file");
    error(&["--layers", "cuts"], "needs the integrator lightcuts");
}

#[test]
fn positions_are_those_of_the_scene_far_away_and_depths_are_not_clamped() {
    // A wall at z = 3·10⁷ that fills the view.
    let dir = SceneDir::with_scene(
        r#"Film "rgb" "integer xresolution" 2 "integer yresolution" 2
           Camera "perspective" "float fov" 20
           WorldBegin
           LightSource "infinite"
           Shape "trianglemesh" "integer indices" [0 1 2 0 2 3]
             "point3 P" [-1e8 -1e8 3e7  1e8 -1e8 3e7  1e8 1e8 3e7  -1e8 1e8 3e7]"#,
    );
    dir.render(&["-o", "a.exr", "--layers", "depth,position"])
        .assert()
        .success()
        .stderr(contains("warning").not());
    for (name, bits) in channels(&dir.path("a.exr")) {
        if ["depth.Z", "position.Z"].contains(&name.as_str()) {
            assert!(bits.iter().all(|&z| (f32::from_bits(z) / 3e7 - 1.0).abs() < 1e-6), "{name}");
        }
    }
}

/// Each pixel takes 52 bytes, and files are written without a copy of the image.
#[cfg(target_os = "linux")]
#[test]
fn memory_is_64_bytes_a_pixel_for_beauty_alone() {
    let dir = SceneDir::new();
    let peak = |resolution: &str, options: &[&str]| {
        let options = [&["--resolution", resolution, "--spp", "1", "--stats", "s.json"], options];
        dir.render(&options.concat()).assert().success();
        let stats: serde_json::Value =
            serde_json::from_slice(&std::fs::read(dir.path("s.json")).unwrap()).unwrap();
        stats["peak_memory_bytes"].as_f64().unwrap()
    };
    let small = peak("24x16", &["-o", "a.png"]);
    for (options, bytes) in [
        (&["-o", "a.png"][..], 64.0),
        (&["-o", "a.pfm"], 64.0),
        (&["-o", "a.exr", "--layers", "beauty"], 64.0),
        (&["-o", "a.exr", "--layers", "beauty,variance"], 112.0),
    ] {
        let per_pixel = (peak("1600x1000", options) - small) / 1.6e6;
        // Buffers for some rows are the same for images of any height.
        assert!(per_pixel < bytes + 8.0, "{options:?}: {per_pixel} bytes a pixel");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn images_that_do_not_fit_into_memory_are_refused() {
    let dir = SceneDir::new();
    // 8192 × 8192 pixels take 8.9 GB; the process may have 4 GB.
    let program = assert_cmd::cargo::cargo_bin!("lightbound").display().to_string();
    let script = format!(
        "ulimit -v 4000000; exec '{program}' render scene.pbrt -o a.exr --threads 1 \
         --resolution 8192x8192 \"$@\""
    );
    let render = |options: &[&str]| {
        let mut command = assert_cmd::Command::new("sh");
        command.args(["-c", &script, "sh"]).args(options).current_dir(dir.root());
        command.assert()
    };
    render(&[]).code(2).stderr(
        contains("8192 × 8192 pixels with these layers needs 8.86 GB (132 bytes a pixel)")
            .and(contains("--layers beauty")),
    );
    assert!(dir.files().is_empty());
    // A part of the image fits.
    render(&["--crop", "0,0.01,0,0.01", "--spp", "1"]).success();
}

#[test]
fn default_output_is_the_file_name_of_the_film() {
    let dir = SceneDir::new();
    dir.render(&["--quiet"]).assert().success();
    assert_eq!(dir.files(), ["from-film.exr"]);
    let dir = SceneDir::with_scene(&SCENE.replace(
        r#""string filename" "from-film.exr""#,
        r#""string filename" "/nowhere/film.png""#,
    ));
    dir.render(&["--quiet"]).assert().success();
    assert_eq!(dir.files(), ["film.png"]);
    let dir = SceneDir::with_scene(&SCENE.replace("from-film.exr", "out"));
    dir.render(&["--quiet"]).assert().success().stderr("");
    assert_eq!(dir.files(), ["out.exr"]);
}

#[test]
fn invalid_outputs_are_errors_before_rendering() {
    let dir = SceneDir::new();
    // The missing scene file is not read.
    for (output, message) in [
        ("a.jpg", ".exr"),
        ("a", ".exr"),
        ("no/such/folder/a.exr", "no folder"),
        (".", "is a folder"),
    ] {
        let command = lightbound(&["render", "missing.pbrt", "-o", output])
            .current_dir(dir.root())
            .assert()
            .code(2);
        command.stderr(contains(message).and(contains(output)));
    }
    dir.render(&["--stats", "no/such/folder/s.json"])
        .assert()
        .code(2)
        .stderr(contains("no folder"));
    std::fs::create_dir(dir.path("folder.exr")).unwrap();
    dir.render(&["-o", "folder.exr"]).assert().code(2).stderr(contains("is a folder"));
    assert_eq!(dir.files(), ["folder.exr"]);
}

#[cfg(target_os = "linux")]
#[test]
fn unwritable_folder_is_an_error_before_rendering() {
    // Not even root can create files there.
    SceneDir::new().render(&["-o", "/proc/a.exr"]).assert().code(2).stderr(contains("/proc"));
}

#[test]
fn input_files_of_the_scene_are_not_overwritten() {
    const WORLD: &str = "WorldBegin\n";
    let read = "Texture \"a\" \"spectrum\" \"imagemap\" \"string filename\" \"maps/a.png\"\nInclude \"more.pbrt\"\n";
    let scene = SCENE.replace(WORLD, &format!("{WORLD}{read}")).replace("from-film.exr", "a.png");
    let dir = SceneDir::with_scene(&scene);
    std::fs::create_dir(dir.path("maps")).unwrap();
    let texture = dir.path("maps/a.png");
    lightbound_image::write::write_png(&texture, 1, 1, &[[0.5; 3]], 0.0).unwrap();
    std::fs::write(dir.path("more.pbrt"), "# more\n").unwrap();
    let before = std::fs::read(&texture).unwrap();
    let assert_rejected = |command: &mut Command, file: &str| {
        let done = command.assert().code(2);
        done.stderr(
            contains("would overwrite")
                .and(contains(file))
                .and(contains("an input file of the scene")),
        );
    };
    assert_rejected(&mut dir.render(&["-o", "maps/a.png"]), "maps/a.png");
    assert_rejected(&mut dir.render(&["-o", "maps/../maps/a.png"]), "a.png");
    assert_rejected(&mut dir.render(&["-o", "b.png", "--stats", "maps/a.png"]), "maps/a.png");
    assert_rejected(&mut dir.render(&["-o", "b.png", "--stats", "more.pbrt"]), "more.pbrt");
    // The default output, in the current folder.
    let mut command = lightbound(&["render", "../scene.pbrt"]);
    assert_rejected(command.current_dir(dir.path("maps")), "a.png");
    assert_eq!(std::fs::read(&texture).unwrap(), before);
    assert_eq!(dir.files(), ["maps", "more.pbrt"]);
    let checkpoint = dir
        .render(&["-o", "b.png", "--checkpoint", "9", "--stats", "b.png.checkpoint"])
        .assert()
        .code(2);
    checkpoint.stderr(contains("would overwrite `b.png.checkpoint`"));
}

#[test]
fn unwritable_image_is_saved_elsewhere() {
    let dir = SceneDir::new();
    let (folder, fallback) = (dir.path("out"), dir.path("fallback"));
    for folder in [&folder, &fallback] {
        std::fs::create_dir(folder).unwrap();
    }
    let removing = folder.clone();
    let remover = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1000));
        std::fs::remove_dir_all(removing).unwrap();
    });
    // An existing file is not replaced.
    std::fs::write(fallback.join("a.exr"), "earlier").unwrap();
    let args = ["-o", "out/a.exr", "--spp", "1000000", "--time-limit", "2"];
    let done = dir.render(&args).env("TMPDIR", &fallback).assert().code(3);
    done.stderr(contains("out/a.exr").and(contains("saved as")).and(contains("a-1.exr")));
    remover.join().unwrap();
    assert_eq!(std::fs::read_to_string(fallback.join("a.exr")).unwrap(), "earlier");
    assert!(!channels(&fallback.join("a-1.exr")).is_empty());
}

#[test]
fn color_space_converts_exr_files_and_states_their_chromaticities() {
    let dir = SceneDir::new();
    let srgb = dir.channels(&[]);
    let rec2020 = dir.channels(&["--color-space", "rec2020"]);
    let value = |channels: &[(String, Vec<u32>)], name: &str| {
        let (_, bits) = channels.iter().find(|c| c.0 == name).unwrap();
        bits.iter().map(|&bits| f64::from(f32::from_bits(bits))).collect::<Vec<_>>()
    };
    let [r, g, b] = ["R", "G", "B"].map(|name| value(&srgb, name));
    for (i, red) in value(&rec2020, "R").into_iter().enumerate() {
        // BT.2087.
        let expected = 0.627_404 * r[i] + 0.329_283 * g[i] + 0.043_313 * b[i];
        assert!((red - expected).abs() < 1e-4 * expected.abs() + 1e-6, "{red} {expected}");
    }
    assert_eq!(value(&srgb, "depth.Z"), value(&rec2020, "depth.Z"));
    let image = lightbound_image::read_exr(&dir.path("channels.exr")).unwrap();
    let find = |name: &str| &image.attributes.iter().find(|a| a.0 == name).unwrap().1;
    let xy = [[0.708, 0.292], [0.17, 0.797], [0.131, 0.046], [0.3127, 0.329]];
    assert_eq!(find("chromaticities"), &Attribute::Chromaticities(xy));
    assert_eq!(find("lightbound/colorSpace"), &Attribute::Text("rec2020".into()));
    dir.render(&["--color-space", "rec2020", "-o", "a.png"])
        .assert()
        .code(2)
        .stderr(contains("a.png").and(contains("--color-space")).and(contains(".exr")));
    dir.render(&["--color-space", "srgb", "-o", "a.png"]).assert().success();
}

#[test]
fn pngs_of_scenes_in_other_colour_spaces_are_srgb() {
    let wide = SceneDir::with_scene(&format!(
        "ColorSpace \"rec2020\" {}",
        SCENE.replacen("WorldBegin", "ColorSpace \"srgb\" WorldBegin", 1)
    ));
    let srgb = SceneDir::new();
    let codes = |dir: &SceneDir| {
        dir.render(&["-o", "a.png"]).assert().success();
        let image =
            lightbound_image::read::read(&dir.path("a.png"), lightbound_image::Encoding::Srgb);
        image.unwrap().pixels().collect::<Vec<_>>()
    };
    let (wide, srgb) = (codes(&wide), codes(&srgb));
    // Rounding may change a code by one.
    assert!(wide.iter().zip(&srgb).all(|(a, b)| (*a - *b).abs().max_element() < 0.01));
    assert!(srgb.iter().any(|pixel| pixel.max_element() > 0.1));
}

#[test]
fn merged_parts_keep_their_colour_space() {
    let dir = SceneDir::new();
    let part = |range: &str, name: &str| {
        dir.render(&["--color-space", "acescg", "--sample-range", range, "-o", name])
            .assert()
            .success();
    };
    part("0..2", "a.exr");
    part("2..4", "b.exr");
    let mut merge = lightbound(&["merge", "a.exr", "b.exr", "-o", "merged.exr"]);
    merge.current_dir(dir.root()).assert().success();
    let at_once = dir.channels(&["--color-space", "acescg"]);
    assert_eq!(channels(&dir.path("merged.exr")), at_once);
    let image = lightbound_image::read_exr(&dir.path("merged.exr")).unwrap();
    assert!(image.attributes.iter().any(|(name, _)| name == "chromaticities"));
}

#[test]
fn environment_option_lights_the_scene() {
    let dir = SceneDir::new();
    let texels: Vec<[f32; 3]> = (0..8).map(|i| [i as f32, 1.0, 2.0]).collect();
    write_pfm(&dir.path("globe.pfm"), 4, 2, &texels).unwrap();
    write_pfm(&dir.path("odd.pfm"), 3, 2, &texels[..6]).unwrap();
    assert_ne!(dir.channels(&["--environment", "globe.pfm"]), dir.channels(&[]));
    for (file, message) in [("odd.pfm", "twice as wide as high"), ("none.exr", "--environment")] {
        dir.render(&["--environment", file, "-o", "a.exr"])
            .assert()
            .code(2)
            .stderr(contains(file).and(contains(message)));
    }
    dir.render(&["--environment", "globe.pfm", "-o", "globe.pfm"])
        .assert()
        .code(2)
        .stderr(contains("would overwrite"));
}

#[test]
fn compare_converts_colours_of_any_space() {
    let dir = SceneDir::new();
    for space in ["srgb", "acescg"] {
        let file = format!("{space}.exr");
        dir.render(&["--color-space", space, "-o", &file, "-q"]).assert().success();
    }
    let options = ["--layers", "colour,albedo", "--metric", "max", "--fail-above", "max=1e-5"];
    let mut compare = crate::common::lightbound(&["compare", "acescg.exr", "srgb.exr"]);
    compare.args(options).current_dir(dir.root()).assert().success();
}

#[test]
fn film_names_in_other_formats_cause_a_warning_with_the_written_file() {
    let dir = SceneDir::with_scene(&SCENE.replace("from-film.exr", "pic.jpg"));
    let warning = "warning: the film's file name `pic.jpg` does not end in .exr, .png or .pfm; \
                   instead: `pic.exr`";
    dir.render(&["-q"]).assert().success().stderr(contains(warning));
    assert_eq!(dir.files(), ["pic.exr"]);
    dir.render(&["-q", "-o", "a.exr"]).assert().success().stderr("");
}
