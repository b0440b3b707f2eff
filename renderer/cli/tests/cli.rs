//! The command line as a user calls it: the program is started, and checked by exit code, messages
//! and files.

mod common;

use assert_cmd::Command;
use common::room::room;
use exr::prelude::{FlatSamples, read_all_flat_layers_from_file};
use lightbound_shader::Target;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The room at the size of these tests.
static SCENE: LazyLock<String> = LazyLock::new(|| {
    room(
        r#""integer xresolution" 24 "integer yresolution" 16 "string filename" "from-film.exr""#,
        4,
    )
});

/// A folder with a scene in it.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Place {
        Place::with(&SCENE)
    }

    fn with(scene: &str) -> Place {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("scene.pbrt"), scene).unwrap();
        Place { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `lightbound render scene.pbrt ARGS`, in the folder.
    fn render(&self, args: &[&str]) -> Command {
        let mut command = lightbound(&["render", "scene.pbrt"]);
        command.args(args).current_dir(self.folder.path());
        command
    }

    /// All channels of a rendering with these arguments.
    fn channels(&self, args: &[&str]) -> Vec<(String, Vec<u32>)> {
        self.render(args).args(["-o", "channels.exr"]).assert().success();
        channels(&self.path("channels.exr"))
    }

    /// Everything in the folder but the scene.
    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let names = entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name != "scene.pbrt").collect();
        names.sort();
        names
    }
}

fn lightbound(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lightbound"));
    command.args(args).timeout(Duration::from_secs(60));
    command
}

/// Name and bits of every channel of an EXR file.
fn channels(path: &Path) -> Vec<(String, Vec<u32>)> {
    let image = read_all_flat_layers_from_file(path).unwrap();
    let channels = image.layer_data.iter().flat_map(|layer| &layer.channel_data.list);
    let bits = |samples: &FlatSamples| match samples {
        FlatSamples::F32(s) => s.iter().map(|x| x.to_bits()).collect(),
        FlatSamples::U32(s) => s.clone(),
        FlatSamples::F16(_) => panic!("no half floats are written"),
    };
    channels.map(|c| (c.name.to_string(), bits(&c.sample_data))).collect()
}

fn stats(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn help_and_version() {
    lightbound(&["--version"]).assert().success().stdout(contains(env!("CARGO_PKG_VERSION")));
    lightbound(&["--help"])
        .assert()
        .success()
        .stdout(contains("render").and(contains("Exit codes")));
    let options = [
        "--output",
        "--integrator",
        "--spp",
        "--seed",
        "--threads",
        "--accel",
        "--target",
        "--crop",
        "--resolution",
        "--time-limit",
        "--exposure",
        "--stats",
        "--quiet",
        "--strict",
        "Examples",
    ];
    let help = lightbound(&["render", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    for option in options {
        assert!(help.contains(option), "{option} is missing in:\n{help}");
    }
    lightbound(&[]).assert().code(2);
    // Only the program has a version.
    lightbound(&["render", "--version"]).assert().code(2);
}

#[test]
fn invalid_options_name_the_remedy() {
    let place = Place::new();
    let cases: [(&[&str], &str); 30] = [
        (&["--integrator", "magic"], "path, lightcuts"),
        (&["--error", "-1"], "as in 0.02"),
        (&["--error-mode", "sum"], "cluster, total"),
        (&["--max-cut", "0"], "from 1 to 2147483647"),
        (&["--bounds", "tight"], "naive, optimized, related, hand"),
        (&["--error", "0.1"], "add --integrator lightcuts"),
        (&["--check-bounds"], "add --integrator lightcuts"),
        (&["--integrator", "lightcuts", "--cut-size", "8"], "add --mode stochastic"),
        (&["--light-sampling", "tre"], "auto, uniform, power, tree, material-tree"),
        (&["--integrator", "lightcuts", "--light-sampling", "auto"], "add --integrator path"),
        (&["--bsdf-sampling", "best"], "shader, bounds, cosine"),
        (&["--integrator", "lightcuts", "--bsdf-sampling", "bounds"], "add --integrator path"),
        (&["--sky-sampling", "produkt"], "map, product"),
        (&["--integrator", "lightcuts", "--sky-sampling", "map"], "add --integrator path"),
        (&["--accel", "kd"], "builtin"),
        (&["--target", "avx512"], "interpreter, sse, avx, avx2"),
        (&["--spp", "0"], "from 1 to 16777216"),
        (&["--spp", "-1"], "from 1 to 16777216"),
        (&["--threads", "0"], "from 1 to 4096"),
        (&["--threads", "-1"], "from 1 to 4096"),
        (&["--seed=-1"], "from 0 to 4294967295"),
        (&["--resolution", "0x10"], "1920x1080"),
        (&["--resolution", "10"], "1920x1080"),
        (&["--crop", "0.5,0.5,0,1"], "x0 < x1"),
        (&["--crop", "0,1,0,NaN"], "x0 < x1"),
        (&["--crop", "-0.1,1,0,1"], "x0 < x1"),
        (&["--time-limit", "0"], "above 0"),
        (&["--time-limit", "inf"], "above 0"),
        (&["--exposure", "NaN"], "stops"),
        (&["--exposure", "1", "-o", "a.exr"], ".png"),
    ];
    for (args, said) in cases {
        place.render(args).assert().code(2).stderr(contains(said));
    }
    assert!(place.files().is_empty());
}

#[test]
fn missing_accelerator_is_an_error() {
    let place = Place::new();
    place.render(&["-q", "--accel", "builtin", "-o", "a.pfm"]).assert().success();
    let embree = place.render(&["-q", "--accel", "embree", "-o", "b.pfm"]).assert();
    if cfg!(feature = "embree") {
        embree.success();
    } else {
        embree.code(2).stderr(contains("--features embree"));
    }
}

#[test]
fn every_format_is_written() {
    let place = Place::new();
    for (name, magic) in [
        ("a.exr", &b"\x76\x2f\x31\x01"[..]),
        ("a.png", b"\x89PNG"),
        ("a.pfm", b"PF\n"),
        ("B.EXR", b"\x76\x2f"),
    ] {
        let done = place.render(&["-o", name]).assert().success();
        done.stderr(contains(name).and(contains("24 × 16")).and(contains("4 samples per pixel")));
        assert!(std::fs::read(place.path(name)).unwrap().starts_with(magic), "{name}");
    }
    assert_eq!(place.files(), ["B.EXR", "a.exr", "a.pfm", "a.png"]);
}

#[test]
fn variance_layer_is_written_on_request() {
    let place = Place::new();
    let mut with = place.channels(&["--variance"]);
    let without = place.channels(&[]);
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
    let single = place.channels(&["--variance", "--spp", "1"]);
    assert!(
        single.iter().filter(|c| is_variance(c)).all(|c| values(c).iter().all(|x| x.is_infinite()))
    );
    place
        .render(&["--variance", "-o", "a.png"])
        .assert()
        .code(2)
        .stderr(contains("a.png").and(contains(".exr")));
}

#[test]
fn exr_has_layers_and_attributes() {
    let place = Place::new();
    place.render(&["-o", "a.exr", "--seed", "7", "--accel", "builtin"]).assert().success();
    let mut names: Vec<String> = channels(&place.path("a.exr")).into_iter().map(|c| c.0).collect();
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
        "position.X",
        "position.Y",
        "position.Z",
    ];
    assert_eq!(names, expected);
    let bytes = std::fs::read(place.path("a.exr")).unwrap();
    let header = String::from_utf8_lossy(&bytes[..4096.min(bytes.len())]);
    for said in ["lightbound", "scene.pbrt", "path", "builtin", "floor"] {
        assert!(header.contains(said), "{said} is missing in the attributes");
    }
    assert!(!header.contains(place.folder.path().to_str().unwrap()), "private paths stay private");
}

#[test]
fn the_film_names_the_output() {
    let place = Place::new();
    place.render(&["--quiet"]).assert().success();
    assert_eq!(place.files(), ["from-film.exr"]);
    let place = Place::with(&SCENE.replace(
        r#""string filename" "from-film.exr""#,
        r#""string filename" "/nowhere/film.png""#,
    ));
    place.render(&["--quiet"]).assert().success();
    assert_eq!(place.files(), ["film.png"]);
}

#[test]
fn exposure_brightens_png() {
    let place = Place::new();
    let sum = |stops: &str| -> u64 {
        place.render(&["-o", "a.png", "--exposure", stops]).assert().success();
        image::open(place.path("a.png"))
            .unwrap()
            .to_rgb8()
            .into_raw()
            .into_iter()
            .map(u64::from)
            .sum()
    };
    let (dark, bright) = (sum("-2"), sum("1"));
    assert!(dark * 3 / 2 < bright, "{dark} {bright}");
}

#[test]
fn invalid_outputs_are_errors_before_rendering() {
    let place = Place::new();
    // The missing scene file is not read.
    for (output, said) in [
        ("a.jpg", ".exr"),
        ("a", ".exr"),
        ("no/such/folder/a.exr", "no folder"),
        (".", "is a folder"),
    ] {
        let command = lightbound(&["render", "missing.pbrt", "-o", output])
            .current_dir(place.folder.path())
            .assert()
            .code(2);
        command.stderr(contains(said).and(contains(output)));
    }
    place
        .render(&["--stats", "no/such/folder/s.json"])
        .assert()
        .code(2)
        .stderr(contains("no folder"));
    std::fs::create_dir(place.path("folder.exr")).unwrap();
    place.render(&["-o", "folder.exr"]).assert().code(2).stderr(contains("is a folder"));
    assert_eq!(place.files(), ["folder.exr"]);
}

#[cfg(target_os = "linux")]
#[test]
fn unwritable_folder_is_an_error_before_rendering() {
    // Not even root can create files there.
    Place::new().render(&["-o", "/proc/a.exr"]).assert().code(2).stderr(contains("/proc"));
}

#[test]
fn last_of_repeated_options_wins() {
    let place = Place::new();
    place
        .render(&["-o", "a.png", "--spp", "9", "-o", "b.png", "--spp", "1"])
        .assert()
        .success()
        .stderr(contains("1 sample per pixel"));
    assert_eq!(place.files(), ["b.png"]);
}

#[test]
fn input_files_of_the_scene_are_not_overwritten() {
    const WORLD: &str = "WorldBegin\n";
    let read = "Texture \"a\" \"spectrum\" \"imagemap\" \"string filename\" \"maps/a.png\"\nInclude \"more.pbrt\"\n";
    let scene = SCENE.replace(WORLD, &format!("{WORLD}{read}")).replace("from-film.exr", "a.png");
    let place = Place::with(&scene);
    std::fs::create_dir(place.path("maps")).unwrap();
    let texture = place.path("maps/a.png");
    lightbound_image::write::write_png(&texture, 1, 1, &[[0.5; 3]], 0.0).unwrap();
    std::fs::write(place.path("more.pbrt"), "# more\n").unwrap();
    let before = std::fs::read(&texture).unwrap();
    let refused = |command: &mut Command, file: &str| {
        let done = command.assert().code(2);
        done.stderr(contains("would overwrite").and(contains(file)).and(contains("is read from")));
    };
    refused(&mut place.render(&["-o", "maps/a.png"]), "maps/a.png");
    refused(&mut place.render(&["-o", "maps/../maps/a.png"]), "a.png");
    refused(&mut place.render(&["-o", "b.png", "--stats", "maps/a.png"]), "maps/a.png");
    refused(&mut place.render(&["-o", "b.png", "--stats", "more.pbrt"]), "more.pbrt");
    // The film's own name, in the current folder.
    let mut there = lightbound(&["render", "../scene.pbrt"]);
    refused(there.current_dir(place.path("maps")), "a.png");
    assert_eq!(std::fs::read(&texture).unwrap(), before);
    assert_eq!(place.files(), ["maps", "more.pbrt"]);
    let checkpoint = place
        .render(&["-o", "b.png", "--checkpoint", "9", "--stats", "b.png.checkpoint"])
        .assert()
        .code(2);
    checkpoint.stderr(contains("would overwrite `b.png.checkpoint`"));
}

#[test]
fn excessive_options_are_not_blamed_on_the_file() {
    let place = Place::new();
    let large = place.render(&["--resolution", "65536x65536"]).assert().code(2);
    large.stderr(
        contains("--resolution")
            .and(contains("--crop"))
            .and(contains("65536x65536"))
            .and(contains("Film").not()),
    );
    place.render(&["-o", "."]).assert().code(2).stderr(contains("`.` is a folder"));
}

#[test]
fn stats_overwrite_neither_picture_nor_scene() {
    let place = Place::new();
    for file in ["a.png", "scene.pbrt", "./a.png"] {
        place
            .render(&["-o", "a.png", "--stats", file])
            .assert()
            .code(2)
            .stderr(contains("overwrite").and(contains(file)));
    }
    assert!(place.files().is_empty());
    assert_eq!(std::fs::read_to_string(place.path("scene.pbrt")).unwrap(), *SCENE);
}

#[cfg(target_os = "linux")]
#[test]
fn stats_can_be_written_to_stdout() {
    let place = Place::new();
    let render = ["-q", "-o", "a.pfm", "--stats", "/dev/stdout"];
    place.render(&render).assert().success().stdout(contains("render_seconds"));
    // A redirected file is appended to, not replaced.
    std::fs::write(place.path("log"), "first\n").unwrap();
    let log = std::fs::OpenOptions::new().append(true).open(place.path("log")).unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_lightbound"));
    command
        .args(["render", "scene.pbrt"])
        .args(render)
        .current_dir(place.folder.path())
        .stdout(log);
    assert!(command.status().unwrap().success());
    let log = std::fs::read_to_string(place.path("log")).unwrap();
    assert!(log.starts_with("first\n{") && log.contains("render_seconds"), "{log}");
}

#[test]
fn errors_are_marked() {
    let place = Place::with("WorldBegin Shape \"sphre\"");
    for args in [["-o", "a.png"], ["-o", "a.jpg"], ["--spp", "x"]] {
        place.render(&args).assert().code(2).stderr(contains("error: "));
    }
}

#[test]
fn scene_without_light_causes_a_warning() {
    let place = Place::with("WorldBegin Shape \"sphere\"");
    let small = ["-o", "a.png", "--resolution", "8x8", "--spp", "1"];
    place.render(&small).assert().success().stderr(contains("no light"));
    place.render(&small).arg("--strict").assert().code(2).stderr(contains("no light"));
}

#[test]
fn a_missing_scene_is_named() {
    lightbound(&["render", "no-such-scene.pbrt", "--quiet"])
        .assert()
        .code(2)
        .stderr(contains("no-such-scene.pbrt"));
}

#[test]
fn a_broken_scene_names_file_and_line() {
    let place = Place::with(&SCENE.replace("Translate 0 0.6 0", "Translate 0 0.6"));
    let line = 1 + SCENE.lines().position(|l| l.contains("Translate")).unwrap();
    // The missing number is noticed at the next token, one line below.
    let named =
        contains(format!("scene.pbrt:{line}:")).or(contains(format!("scene.pbrt:{}:", line + 1)));
    place.render(&[]).assert().code(2).stderr(named);
    assert!(place.files().is_empty());
}

#[test]
fn strict_turns_warnings_into_errors() {
    let place = Place::with(&SCENE.replace(r#"Integrator "path""#, r#"Integrator "bdpt""#));
    place
        .render(&["-q", "-o", "a.exr"])
        .assert()
        .success()
        .stderr(contains("warning").and(contains("bdpt")));
    place.render(&["-o", "b.exr", "--strict"]).assert().code(2).stderr(contains("bdpt"));
    assert_eq!(place.files(), ["a.exr"]);
}

#[test]
fn quiet_prints_nothing() {
    Place::new().render(&["-o", "a.exr", "--quiet"]).assert().success().stdout("").stderr("");
}

#[test]
fn stats_have_documented_keys() {
    let place = Place::new();
    place
        .render(&["-o", "a.exr", "--stats", "s.json", "--threads", "2", "--seed", "9"])
        .assert()
        .success();
    let stats = stats(&place.path("s.json"));
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
        ("lights", 2),
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
    // A lamp, and regions of an environment map.
    let tree = &stats["light_tree"];
    assert!(
        tree["leaves"].as_u64() > Some(500) && tree["memory_bytes"].as_u64() > Some(50_000),
        "{tree}"
    );
    assert!(tree["build_seconds"].as_f64() > Some(0.0), "{tree}");
    assert!(["builtin", "embree"].contains(&stats["accel"].as_str().unwrap()));
    assert_eq!(stats["warnings"], Value::Array(Vec::new()));
    if cfg!(target_os = "linux") {
        assert!(stats["peak_memory_bytes"].as_u64().unwrap() > 1 << 20);
    }
}

#[test]
fn targets_give_equal_pictures() {
    let place = Place::new();
    let here = || Target::ALL.into_iter().filter(|target| target.is_available());
    let pictures: Vec<_> = here()
        .map(|target| {
            let channels = place.channels(&["--target", target.name(), "--stats", "s.json"]);
            assert_eq!(stats(&place.path("s.json"))["shader_target"], target.name());
            channels
        })
        .collect();
    assert!(pictures.iter().all(|picture| *picture == pictures[0]));
    for target in Target::ALL.into_iter().filter(|target| !target.is_available()) {
        let refused = place.render(&["--target", target.name()]).assert().code(2);
        refused.stderr(contains(target.name()).and(contains("--target interpreter")));
    }
}

#[test]
fn without_evaluations_shaders_have_no_occupancy() {
    let place =
        Place::with("WorldBegin LightSource \"infinite\" Material \"dielectric\" Shape \"sphere\"");
    place
        .render(&["-q", "-o", "a.exr", "--spp", "1", "--resolution", "8x8", "--stats", "s.json"])
        .assert()
        .success();
    let stats = stats(&place.path("s.json"));
    assert_eq!(
        (&stats["shader_evaluations"], &stats["shader_occupancy"]),
        (&Value::from(0), &Value::Null),
        "{stats}"
    );
    assert_eq!(stats["light_tree"], Value::Null, "{stats}");
}

#[test]
fn resolution_and_crop_set_the_size() {
    let place = Place::new();
    let size = |args: &[&str]| {
        place.render(args).args(["-o", "a.png", "--stats", "s.json"]).assert().success();
        let stats = stats(&place.path("s.json"));
        let png = image::image_dimensions(place.path("a.png")).unwrap();
        assert_eq!(
            (stats["width"].as_u64(), stats["height"].as_u64()),
            (Some(png.0.into()), Some(png.1.into()))
        );
        png
    };
    assert_eq!(size(&["--resolution", "40x10"]), (40, 10));
    assert_eq!(size(&["--crop", "0.25,0.75,0,0.5"]), (12, 8));
    assert_eq!(size(&["--crop", "0,0.1,0,1", "--resolution", "40x10"]), (4, 10));
}

#[test]
fn crop_equals_region_of_full_picture() {
    let place = Place::new();
    let (whole, part) = (place.channels(&[]), place.channels(&["--crop", "0.25,0.75,0.5,1"]));
    for ((name, whole), (_, part)) in whole.iter().zip(&part) {
        for (i, value) in part.iter().enumerate() {
            let (x, y) = (i % 12 + 6, i / 12 + 8);
            assert_eq!(*value, whole[y * 24 + x], "{name} at {x}, {y}");
        }
    }
}

#[test]
fn threads_and_repetition_do_not_change_pixels() {
    let place = Place::new();
    let args = ["--resolution", "80x70", "--spp", "6", "--threads"];
    let run = |threads: &'static str| place.channels(&[&args[..], &[threads]].concat());
    let one = run("1");
    for threads in ["1", "2", "5"] {
        assert!(run(threads) == one, "{threads} threads give other pixels");
    }
    let other = place.channels(&[&args[..], &["2", "--seed", "1"]].concat());
    assert!(other != one, "another seed gives other pixels");
}

#[test]
fn time_limit_is_not_a_failure() {
    let place = Place::new();
    let start = Instant::now();
    place
        .render(&["-o", "a.exr", "--spp", "1000000", "--time-limit", "0.5", "--stats", "s.json"])
        .assert()
        .success()
        .stderr(contains("of 1000000 samples per pixel").and(contains("time limit")));
    assert!(start.elapsed() < Duration::from_secs(20));
    let stats = stats(&place.path("s.json"));
    assert!(stats["min_samples"].as_u64().unwrap() > 0);
    assert!(stats["max_samples"].as_u64().unwrap() < 1_000_000);
    assert_eq!(place.files(), ["a.exr", "s.json"]);
}

#[test]
fn own_scenes_cause_no_warning() {
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

#[cfg(unix)]
#[test]
fn ctrl_c_writes_the_unfinished_picture() {
    let place = Place::new();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_lightbound"))
        .args(["render", "scene.pbrt", "-o", "a.exr", "--spp", "10000000", "--threads", "2"])
        .current_dir(place.folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The line about the scene comes before the rendering.
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let loaded = lines.find(|line| line.contains("triangles"));
    std::thread::sleep(Duration::from_millis(500));
    // The shell's builtin `kill`, since not every machine has the program.
    let kill = std::process::Command::new("sh")
        .args(["-c", &format!("kill -INT {}", child.id())])
        .status()
        .unwrap();
    assert!(loaded.is_some() && kill.success());
    let said = lines.collect::<Vec<_>>().join("\n");
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    assert!(
        said.contains("interrupted") && said.contains("of 10000000 samples per pixel"),
        "{said}"
    );
    assert_eq!(place.files(), ["a.exr"]);
    let radiance = channels(&place.path("a.exr")).into_iter().find(|c| c.0 == "R").unwrap().1;
    assert!(radiance.iter().all(|&bits| f32::from_bits(bits) > 0.0));
}

#[cfg(unix)]
#[test]
fn ctrl_c_before_every_pixel_has_a_sample_replaces_no_picture() {
    let place = Place::new();
    std::fs::write(place.path("a.png"), "earlier").unwrap();
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
        .current_dir(place.folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("triangles")));
    std::thread::sleep(Duration::from_millis(800));
    let kill = std::process::Command::new("sh")
        .args(["-c", &format!("kill -INT {}", child.id())])
        .status()
        .unwrap();
    assert!(kill.success());
    let said = lines.collect::<Vec<_>>().join("\n");
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    assert_eq!(std::fs::read_to_string(place.path("a.png")).unwrap(), "earlier");
    assert!(said.contains("a.png is unchanged"), "{said}");
    // There may be no sample yet.
    let so_far = place.path("a-1.png").exists().then_some("a-1.png");
    assert_eq!(so_far.is_none(), said.contains("no picture is written"), "{said}");
    assert_eq!(stats(&place.path("s.json"))["output"].as_str(), so_far);
}

#[test]
fn unwritable_picture_is_saved_elsewhere() {
    let place = Place::new();
    let (folder, spare) = (place.path("out"), place.path("spare"));
    for folder in [&folder, &spare] {
        std::fs::create_dir(folder).unwrap();
    }
    let removing = folder.clone();
    let remover = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1000));
        std::fs::remove_dir_all(removing).unwrap();
    });
    // The file of an earlier failure is kept.
    std::fs::write(spare.join("a.exr"), "earlier").unwrap();
    let args = ["-o", "out/a.exr", "--spp", "1000000", "--time-limit", "2"];
    let done = place.render(&args).env("TMPDIR", &spare).assert().code(3);
    done.stderr(contains("out/a.exr").and(contains("saved as")).and(contains("a-1.exr")));
    remover.join().unwrap();
    assert_eq!(std::fs::read_to_string(spare.join("a.exr")).unwrap(), "earlier");
    assert!(!channels(&spare.join("a-1.exr")).is_empty());
}
