//! Options of `lightbound render`.

use crate::common::lightbound;
use crate::common::scene_dir::{SceneDir, stats};
use lightbound::accel::AccelKind;
use lightbound_shader::Target;
use predicates::prelude::*;
use predicates::str::contains;
use std::time::{Duration, Instant};

#[test]
fn help_and_version_are_printed() {
    let version = concat!("lightbound ", env!("CARGO_PKG_VERSION"), "\n");
    lightbound(&["-V"]).assert().success().stdout(version);
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
    // Subcommands have no `--version`.
    lightbound(&["render", "--version"]).assert().code(2);
}

#[test]
fn errors_in_options_name_the_remedy() {
    let dir = SceneDir::new();
    let cases: [(&[&str], &str); 30] = [
        (&["--integrator", "magic"], "path, volpath, lightcuts"),
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
        (&["--guiding", "maybe"], "auto, on, off"),
        (&["--integrator", "lightcuts", "--guiding", "off"], "add --integrator path"),
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
    for (args, message) in cases {
        dir.render(args).assert().code(2).stderr(contains(message));
    }
    assert!(dir.files().is_empty());
}

#[test]
fn missing_accelerator_is_an_error() {
    let dir = SceneDir::new();
    dir.render(&["-q", "--accel", "builtin", "-o", "a.pfm"]).assert().success();
    let embree = dir.render(&["-q", "--accel", "embree", "-o", "b.pfm"]).assert();
    if AccelKind::Embree.is_available() {
        embree.success();
        dir.render(&["-q", "--accel", "embree", "-o", "b.exr"]).assert().success();
        let info = lightbound(&["info", "b.exr"]).current_dir(dir.root()).assert();
        info.stdout(contains("lightbound/accelVariant"));
    } else {
        embree.code(2).stderr(contains("set LIGHTBOUND_EMBREE"));
    }
    // An empty variable is none.
    dir.render(&["-q", "-o", "c.pfm"]).env("LIGHTBOUND_EMBREE", "").assert().success();
    let mut command = dir.render(&["-q", "-o", "c.pfm"]);
    let missing = command.env("LIGHTBOUND_EMBREE", "missing.so").assert();
    missing.code(2).stderr(contains("missing.so").and(contains("--accel builtin")));
}

#[test]
fn last_of_repeated_options_wins() {
    let dir = SceneDir::new();
    dir.render(&["-o", "a.png", "--spp", "9", "-o", "b.png", "--spp", "1"])
        .assert()
        .success()
        .stderr(contains("1 sample per pixel"));
    assert_eq!(dir.files(), ["b.png"]);
}

#[test]
fn errors_in_options_do_not_blame_the_scene() {
    let dir = SceneDir::new();
    let large = dir.render(&["--resolution", "65536x65536"]).assert().code(2);
    large.stderr(
        contains("--resolution")
            .and(contains("--crop"))
            .and(contains("65536x65536"))
            .and(contains("Film").not()),
    );
    dir.render(&["-o", "."]).assert().code(2).stderr(contains("`.` is a folder"));
}

#[test]
fn exposure_brightens_png() {
    let dir = SceneDir::new();
    let sum = |stops: &str| -> u64 {
        dir.render(&["-o", "a.png", "--exposure", stops]).assert().success();
        image::open(dir.path("a.png"))
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
fn quiet_prints_nothing() {
    SceneDir::new().render(&["-o", "a.exr", "--quiet"]).assert().success().stdout("").stderr("");
}

#[test]
fn targets_give_equal_images() {
    let dir = SceneDir::new();
    let available = || Target::ALL.into_iter().filter(|target| target.is_available());
    let lightcuts = |args: &[&'static str]| [&["--integrator", "lightcuts"], args].concat();
    for args in [
        vec![],
        vec!["--light-sampling", "material-tree"],
        vec!["--bsdf-sampling", "bounds"],
        vec!["--integrator", "ambientocclusion"],
        lightcuts(&[]),
        lightcuts(&["--mode", "stochastic", "--light-paths", "100"]),
        lightcuts(&["--gather", "4"]),
    ] {
        let best = dir.channels(&args);
        for target in available() {
            let of_target = ["--target", target.name(), "--stats", "s.json"];
            assert!(dir.channels(&[&args[..], &of_target].concat()) == best, "{args:?} {target}");
            assert_eq!(stats(&dir.path("s.json"))["shader_target"], target.name());
        }
    }
    for target in Target::ALL.into_iter().filter(|target| !target.is_available()) {
        let failed = dir.render(&["--target", target.name()]).assert().code(2);
        failed.stderr(contains(target.name()).and(contains("--target interpreter")));
    }
}

#[test]
fn resolution_and_crop_set_the_size() {
    let dir = SceneDir::new();
    let size = |args: &[&str]| {
        dir.render(args).args(["-o", "a.png", "--stats", "s.json"]).assert().success();
        let stats = stats(&dir.path("s.json"));
        let png = image::image_dimensions(dir.path("a.png")).unwrap();
        assert_eq!(
            (stats["width"].as_u64(), stats["height"].as_u64()),
            (Some(png.0.into()), Some(png.1.into()))
        );
        png
    };
    assert_eq!(size(&["--resolution", "40x10"]), (40, 10));
    assert_eq!(size(&["--crop", "0.25,0.75,0,0.5"]), (12, 8));
    assert_eq!(size(&["--crop", "0,0.1,0,1", "--resolution", "40x10"]), (4, 10));
    assert_eq!(size(&["--crop", "3,10,0,16"]), (7, 16));
    assert_eq!(size(&["--crop", "30,40,2,3", "--resolution", "40x10"]), (10, 1));
    let outside = dir.render(&["-o", "a.png", "--crop", "3,25,0,16"]).assert().code(2);
    outside.stderr(contains("3,25,0,16 is not within the image").and(contains("24 × 16")));
}

#[test]
fn crop_equals_region_of_full_image() {
    let dir = SceneDir::new();
    let (full, cropped) = (dir.channels(&[]), dir.channels(&["--crop", "0.25,0.75,0.5,1"]));
    assert_eq!(cropped, dir.channels(&["--crop", "6,18,8,16"]));
    for ((name, full), (_, cropped)) in full.iter().zip(&cropped) {
        for (i, value) in cropped.iter().enumerate() {
            let (x, y) = (i % 12 + 6, i / 12 + 8);
            assert_eq!(*value, full[y * 24 + x], "{name} at {x}, {y}");
        }
    }
}

#[test]
fn threads_and_repetition_do_not_change_pixels() {
    let dir = SceneDir::new();
    let args = ["--resolution", "80x70", "--spp", "6", "--threads"];
    let run = |threads: &'static str| dir.channels(&[&args[..], &[threads]].concat());
    let one = run("1");
    for threads in ["1", "2", "5"] {
        assert!(run(threads) == one, "{threads} threads change pixels");
    }
    let other = dir.channels(&[&args[..], &["2", "--seed", "1"]].concat());
    assert!(other != one, "a different seed must change pixels");
}

#[test]
fn time_limit_is_not_a_failure() {
    let dir = SceneDir::new();
    let start = Instant::now();
    dir.render(&["-o", "a.exr", "--spp", "1000000", "--time-limit", "0.5", "--stats", "s.json"])
        .assert()
        .success()
        .stderr(contains("of 1000000 samples per pixel").and(contains("time limit")));
    assert!(start.elapsed() < Duration::from_secs(20));
    let stats = stats(&dir.path("s.json"));
    assert!(stats["min_samples"].as_u64().unwrap() > 0);
    assert!(stats["max_samples"].as_u64().unwrap() < 1_000_000);
    assert_eq!(dir.files(), ["a.exr", "s.json"]);
}
