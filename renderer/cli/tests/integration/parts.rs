//! Merged parts, resumed renderings and renderings with a noise threshold are bit-identical to a
//! single run.

use crate::common::room::room;
#[cfg(unix)]
use crate::common::running::Running;
use crate::common::scene_dir::assert_same_exr;
use assert_cmd::Command;
use lightbound_image::read_exr;
use lightbound_image::write::{Attribute, ExrImage, write_exr};
#[cfg(unix)]
use lightbound_shader::random::Random;
use predicates::prelude::*;
use predicates::str::contains;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;
#[cfg(unix)]
use std::time::{Instant, SystemTime};
use tempfile::TempDir;

/// The room at a small size.
static SCENE: LazyLock<String> =
    LazyLock::new(|| room(r#""integer xresolution" 80 "integer yresolution" 50"#, 10));

/// A temporary folder with a scene.
struct SceneDir(TempDir);

impl SceneDir {
    fn new() -> SceneDir {
        SceneDir::with(&SCENE)
    }

    fn with(scene: &str) -> SceneDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("scene.pbrt"), scene).unwrap();
        SceneDir(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn lightbound(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lightbound"));
        command
            .args(args.split_whitespace())
            .current_dir(self.0.path())
            .timeout(Duration::from_secs(120));
        command
    }

    /// `lightbound render scene.pbrt -q ARGS`, which succeeds.
    fn render(&self, args: &str) {
        self.lightbound(&format!("render scene.pbrt -q {args}")).assert().success().stderr("");
    }

    /// Reads an image file, without its render time.
    fn image(&self, name: &str) -> ExrImage {
        let mut image = read_exr(&self.path(name)).unwrap();
        image.attributes.retain(|(name, _)| name != "lightbound/renderSeconds");
        image
    }

    fn assert_same(&self, a: &str, b: &str) {
        assert_same_exr(&self.path(a), &self.path(b));
    }

    fn attribute(&self, file: &str, name: &str) -> Attribute {
        self.image(file)
            .attributes
            .into_iter()
            .find(|a| a.0 == format!("lightbound/{name}"))
            .unwrap()
            .1
    }

    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

#[test]
fn all_layers_are_merged_and_resumed() {
    let area = "AreaLightSource \"diffuse\"";
    assert!(SCENE.contains(area));
    let dir =
        SceneDir::with(&SCENE.replace(area, &format!("{area} \"string lightgroup\" \"key\"")));
    dir.render("-o whole.exr --layers all");
    dir.render("-o a.exr --layers all --sample-range 0..3 --crop 0,50,0,50");
    dir.render("-o b.exr --layers all --sample-range 0..3 --crop 50,80,0,50");
    dir.render("-o c.exr --layers all --sample-range 3..10");
    dir.lightbound("merge c.exr a.exr b.exr -o merged.exr -q").assert().success();
    dir.assert_same("whole.exr", "merged.exr");
    let names: Vec<String> =
        dir.image("merged.exr").channels.into_iter().map(|channel| channel.name).collect();
    for name in ["light_key.R", "light_default.B", "specular.G", "forward.u"] {
        assert!(names.iter().any(|n| n == name), "{name}: {names:?}");
    }
    dir.render("-o d.exr --layers all --spp 4 --keep-sums");
    std::fs::copy(dir.path("d.exr"), dir.path("e.exr")).unwrap();
    dir.render("-o d.exr --layers all --resume");
    dir.assert_same("whole.exr", "d.exr");
    dir.lightbound("render scene.pbrt -o e.exr --layers direct,variance --resume")
        .assert()
        .code(2)
        .stderr(contains("its layers differ"));
}

#[test]
fn merged_parts_are_bit_identical_to_full_image() {
    let dir = SceneDir::new();
    dir.render("-o whole.exr --variance");
    let splits: [&[&str]; 4] = [
        &["--sample-range 0..10"],
        &["--sample-range 7..10", "--sample-range 0..1", "--sample-range 1..7"],
        &["--crop 0,0.33,0,1", "--crop 0.33,1,0,0.71", "--crop 0.33,1,0.71,1"],
        &[
            "--sample-range 3..10 --crop 0,1,0,0.5",
            "--sample-range 3..10 --crop 0,1,0.5,1",
            "--sample-range 0..3 --threads 1",
        ],
    ];
    for split in splits {
        let mut merge = "merge -q -o merged.exr".to_string();
        for (i, args) in split.iter().enumerate() {
            dir.render(&format!("{args} --variance -o part{i}.exr"));
            merge += &format!(" part{i}.exr");
        }
        dir.lightbound(&merge).assert().success().stderr("");
        dir.assert_same("whole.exr", "merged.exr");
    }
}

#[test]
fn parts_of_renderings_with_other_numbers_of_samples_are_merged() {
    let dir = SceneDir::new();
    dir.render("-o whole.exr --spp 17");
    dir.render("-o a.exr --spp 5 --keep-sums");
    dir.render("-o b.exr --spp 17 --sample-range 5..17 --crop 0,0.5,0,1");
    dir.render("-o c.exr --spp 12 --sample-range 5..12 --crop 0.5,1,0,1");
    dir.render("-o d.exr --spp 17 --sample-range 12..17 --crop 0.5,1,0,1");
    let merged = dir.lightbound("merge c.exr a.exr -o ca.exr").assert().success();
    merged.stderr(contains("lacks samples 5..12 of columns 0..40, rows 0..50"));
    let merged = dir.lightbound("merge ca.exr d.exr b.exr -o merged.exr").assert().success();
    merged.stderr(contains("lacks").not());
    dir.assert_same("whole.exr", "merged.exr");
}

#[test]
fn missing_samples_are_reported_and_can_be_merged_later() {
    let dir = SceneDir::new();
    dir.render("-o whole.exr");
    dir.render("-o a.exr --sample-range 0..4");
    dir.render("-o b.exr --sample-range 4..10 --crop 0,0.5,0,1");
    dir.render("-o c.exr --sample-range 4..10 --crop 0.5,1,0,1");
    let merged = dir.lightbound("merge b.exr a.exr -o ab.exr").assert().success();
    merged.stderr(contains("lacks samples 4..10 of columns 40..80, rows 0..50"));
    let is_image = |name: &str| dir.image(name).channels.iter().any(|channel| channel.name == "R");
    assert!(is_image("a.exr") && is_image("ab.exr"));
    dir.lightbound("merge c.exr ab.exr -o abc.exr")
        .assert()
        .success()
        .stderr(contains("lacks").not());
    dir.assert_same("whole.exr", "abc.exr");
}

#[test]
fn crop_window_of_the_scene_is_the_full_image() {
    let window = r#""integer yresolution" 50 "float cropwindow" [0.25 0.75 0 1]"#;
    let dir = SceneDir::with(&SCENE.replace(r#""integer yresolution" 50"#, window));
    dir.render("-o whole.exr");
    dir.render("-o a.exr --sample-range 0..5");
    dir.render("-o b.exr --sample-range 5..10");
    dir.lightbound("merge a.exr b.exr -o ab.exr")
        .assert()
        .success()
        .stderr(contains("lacks").not());
    dir.assert_same("whole.exr", "ab.exr");
}

#[test]
fn unrelated_parts_are_rejected() {
    let dir = SceneDir::new();
    dir.render("-o a.exr --sample-range 0..5");
    dir.render("-o whole.exr");
    let assert_rejected = |with: &str, message: &str| {
        let merge = dir.lightbound(&format!("merge a.exr {with} -o out.exr")).assert().code(2);
        merge.stderr(contains(with).and(contains(message)));
    };
    for (args, message) in [
        ("--seed 3", "its seed is 3, but a.exr has 0"),
        ("--resolution 40x50", "40 × 50 pixels, but a.exr has 80 × 50"),
        ("--variance", "it stores variances"),
    ] {
        dir.render(&format!("-o b.exr --sample-range 5..10 {args}"));
        assert_rejected("b.exr", message);
    }
    dir.render("-o b.exr --sample-range 4..10 --crop 0,0.5,0,1");
    assert_rejected("b.exr", "has sample 4 of columns 0..40, rows 0..50 in common with a.exr");
    assert_rejected("whole.exr", "no exact sums");
    assert_rejected("scene.pbrt", "unknown image format");
    assert_rejected("none.exr", "cannot be read");

    // The hits of these parts depend on the machine.
    dir.render("-o b.exr --sample-range 5..10");
    for (file, variant) in [("a.exr", "4.4.0 avx2"), ("b.exr", "4.4.0 avx512")] {
        let mut image = read_exr(&dir.path(file)).unwrap();
        image.attributes.push(("lightbound/accelVariant".into(), Attribute::text(variant)));
        write_exr(&dir.path(file), &image).unwrap();
    }
    assert_rejected("b.exr", "its accelVariant is 4.4.0 avx512, but a.exr has 4.4.0 avx2");
    dir.render("-o a.exr --sample-range 0..5");

    std::fs::write(dir.path("scene.pbrt"), SCENE.replace("0.7 0.7 0.7", "0.7 0.7 0.6")).unwrap();
    dir.render("-o b.exr --sample-range 5..10");
    assert_rejected("b.exr", "its scene differs from that of a.exr");

    let whole = std::fs::read(dir.path("b.exr")).unwrap();
    std::fs::write(dir.path("b.exr"), &whole[..whole.len() / 2]).unwrap();
    assert_rejected("b.exr", "b.exr");
    // A file in which header and pixels disagree.
    std::fs::write(dir.path("scene.pbrt"), &*SCENE).unwrap();
    dir.render("-o b.exr --sample-range 5..10");
    let whole = std::fs::read(dir.path("b.exr")).unwrap();
    std::fs::write(dir.path("b.exr"), &whole[..whole.len() / 2]).unwrap();
    assert_rejected("b.exr", "b.exr: is damaged");
    std::fs::write(dir.path("b.exr"), whole).unwrap();
    let mut inconsistent = read_exr(&dir.path("b.exr")).unwrap();
    let header = inconsistent.attributes.iter_mut().find(|a| a.0 == "lightbound/part").unwrap();
    let Attribute::Text(text) = &mut header.1 else { panic!() };
    *text = text.replace("[0,0,80,50,5,10]", "[0,0,80,50,5,9]");
    write_exr(&dir.path("b.exr"), &inconsistent).unwrap();
    assert_rejected("b.exr", "is damaged");
    dir.lightbound("merge a.exr whole.exr -o whole.exr")
        .assert()
        .code(2)
        .stderr(contains("overwrite"));
    dir.lightbound("merge a.exr -o a.png").assert().code(2).stderr(contains("a.png"));
    dir.lightbound("merge -o a.exr").assert().code(2).stderr(contains("PART"));
    assert!(!dir.path("out.exr").exists());
    for (args, message) in [
        ("--sample-range 4..11 -o b.exr", "10 samples per pixel"),
        ("--sample-range 4..4 -o b.exr", "0..64"),
        ("--sample-range 4..8 -o b.png", "b.png"),
    ] {
        dir.lightbound(&format!("render scene.pbrt {args}"))
            .assert()
            .code(2)
            .stderr(contains(message));
    }
}

#[test]
fn noise_threshold_stops_independently_of_threads() {
    let dir = SceneDir::new();
    dir.render("-o one.exr --spp 4096 --noise-threshold 0.03 --threads 1");
    dir.render("-o three.exr --spp 4096 --noise-threshold 0.03 --threads 3 --stats stats.json");
    dir.assert_same("one.exr", "three.exr");
    let Attribute::Float(noise) = dir.attribute("one.exr", "noise") else { panic!() };
    let Attribute::Int(taken) = dir.attribute("one.exr", "minSamples") else { panic!() };
    assert!(
        (0.003..0.03).contains(&noise)
            && [16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128].contains(&taken),
        "{noise} {taken}"
    );
    assert_eq!(dir.attribute("one.exr", "maxSamples"), Attribute::Int(taken));
    let stats: serde_json::Value =
        serde_json::from_slice(&std::fs::read(dir.path("stats.json")).unwrap()).unwrap();
    assert_eq!(
        (stats["noise_threshold"].as_f64(), stats["noise"].as_f64().map(|x| x as f32)),
        (Some(0.03), Some(noise))
    );
    // Half the error takes about four times the samples.
    dir.render("-o less.exr --spp 4096 --noise-threshold 0.015");
    let Attribute::Int(more) = dir.attribute("less.exr", "minSamples") else { panic!() };
    assert!(more > 2 * taken && more < 4096, "{taken} {more}");
    let all = dir
        .lightbound("render scene.pbrt -o all.exr --spp 12 --noise-threshold 1e-9")
        .assert()
        .success();
    all.stderr(contains("12 samples per pixel, estimated error 0."));
    // Without a threshold, the same samples give the same image.
    dir.render(&format!("-o plain.exr --spp {taken}"));
    let channels = |name: &str| dir.image(name).channels;
    assert!(channels("plain.exr") == channels("one.exr"));
    for wrong in ["0", "-1", "x"] {
        dir.lightbound(&format!("render scene.pbrt --noise-threshold {wrong}")).assert().code(2);
    }
}

/// A rendering that takes about a second.
#[cfg(unix)]
const LONG: &str = "render scene.pbrt --spp 640 --threads 2 -o a.exr --checkpoint 0.1 --resume";

/// Renders repeatedly until at least `kills` renderings were killed at random times, and a third as
/// many were resumed. Each finished image must equal that of an uninterrupted run.
#[cfg(unix)]
fn kill_and_resume(kills: usize) {
    let seed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64;
    println!("seed {seed}");
    let mut generator = Random::new(seed);
    let mut random = || (generator.bits() >> 40) as f64 / (1u64 << 24) as f64;
    let dir = SceneDir::new();
    let start = Instant::now();
    dir.render("--spp 640 --threads 2 -o whole.exr");
    let typical = start.elapsed();
    let (mut killed, mut resumed, mut done) = (0, 0, 0);
    while killed < kills || resumed < kills / 3 || done == 0 {
        assert!(killed < 20 * kills, "seed {seed}: only {resumed} of {killed} were resumed");
        let had_checkpoint = dir.path("a.exr.checkpoint").exists();
        let mut running = Running::lightbound(dir.0.path(), LONG);
        let kill_time = if killed < kills || resumed < kills / 3 {
            typical.mul_f64(random() * 0.8)
        } else {
            Duration::from_secs(100)
        };
        let start = Instant::now();
        while running.is_running() && start.elapsed() < kill_time {
            std::thread::sleep(Duration::from_millis(2));
        }
        running.kill();
        let (status, stderr) = running.finish();
        let is_resumed = stderr.contains("resuming from");
        assert!(had_checkpoint || !is_resumed, "{stderr}");
        resumed += usize::from(is_resumed);
        match status.code() {
            None => killed += 1,
            Some(0) => {
                assert_eq!(is_resumed, had_checkpoint, "{stderr}");
                dir.assert_same("whole.exr", "a.exr");
                assert_eq!(dir.files(), ["a.exr", "scene.pbrt", "whole.exr"]);
                std::fs::remove_file(dir.path("a.exr")).unwrap();
                done += 1;
            }
            Some(code) => panic!("exit code {code} with seed {seed}: {stderr}"),
        }
    }
    println!("{killed} killed, {resumed} resumed, {done} done");
}

#[cfg(unix)]
#[test]
fn killed_and_resumed_rendering_is_bit_identical() {
    kill_and_resume(3);
}

#[cfg(unix)]
#[test]
#[ignore = "takes a minute: cargo test -p lightbound-cli --test integration parts -- --ignored --nocapture"]
fn rendering_killed_fifty_times_is_bit_identical() {
    kill_and_resume(50);
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_a_checkpoint_and_an_image() {
    let dir = SceneDir::new();
    dir.render("--spp 4096 --noise-threshold 0.008 -o whole.exr");
    let args = "render scene.pbrt --spp 4096 --noise-threshold 0.008 --threads 1 -o a.exr --checkpoint 1000";
    let mut running = Running::lightbound(dir.0.path(), args);
    running.wait_for_rendering();
    running.signal("INT");
    running.finish_with(130);
    assert!(dir.path("a.exr").exists() && dir.path("a.exr.checkpoint").exists());

    dir.lightbound(args)
        .assert()
        .code(2)
        .stderr(contains("a.exr.checkpoint").and(contains("--resume")));
    let assert_other = |options: &str, message: &str| {
        let failed = dir.lightbound(&format!("{args} --resume {options}")).assert().code(2);
        failed.stderr(
            contains("a.exr.checkpoint: is a checkpoint of another rendering")
                .and(contains(message)),
        );
    };
    assert_other("--seed 5", "its seed is 0, but this rendering has 5");
    assert_other("--resolution 70x50", "80 × 50 pixels");
    assert_other("--crop 0,1,0,0.5", "rows 0..25");
    let text = std::fs::read(dir.path("scene.pbrt")).unwrap();
    std::fs::write(dir.path("scene.pbrt"), [&text[..], b"\n"].concat()).unwrap();
    assert_other("", "its scene differs from that of this rendering");
    std::fs::write(dir.path("scene.pbrt"), text).unwrap();
    dir.lightbound("merge a.exr.checkpoint -o b.exr").assert().success().stderr(contains("lacks"));

    dir.lightbound(&format!("{args} --resume"))
        .assert()
        .success()
        .stderr(contains("resuming from"));
    dir.assert_same("whole.exr", "a.exr");
    assert!(!dir.path("a.exr.checkpoint").exists());
    dir.lightbound(&format!("{args} --resume")).assert().success().stderr(contains("is finished"));
    dir.lightbound("render scene.pbrt -o new.exr --resume")
        .assert()
        .success()
        .stderr(contains("from the beginning"));
}

#[test]
fn damaged_checkpoint_is_rejected() {
    let dir = SceneDir::new();
    std::fs::write(dir.path("a.exr.checkpoint"), "not an EXR file").unwrap();
    dir.lightbound("render scene.pbrt -o a.exr --resume")
        .assert()
        .code(2)
        .stderr(contains("a.exr.checkpoint: is a damaged checkpoint").and(contains("remove it")));
}

#[cfg(unix)]
#[test]
fn unwritable_checkpoint_does_not_stop_rendering() {
    let dir = SceneDir::new();
    // Files are limited to 16 or 32 KiB, depending on the block size of the shell: the image fits,
    // the checkpoint does not.
    let program = env!("CARGO_BIN_EXE_lightbound");
    let command = format!(
        "trap '' XFSZ; ulimit -f 32; exec '{program}' render scene.pbrt --spp 400 --threads 1 -o a.png --checkpoint 0.1"
    );
    let limited =
        Command::new("sh").args(["-c", &command]).current_dir(dir.0.path()).assert().success();
    let stderr = String::from_utf8(limited.get_output().stderr.clone()).unwrap();
    assert_eq!(
        stderr.matches("warning: no checkpoint: a.png.checkpoint: cannot be written").count(),
        1,
        "{stderr}"
    );
    assert_eq!(dir.files(), ["a.png", "scene.pbrt"]);
}

#[cfg(unix)]
#[test]
fn unfinished_images_store_the_samples_if_the_checkpoint_cannot_be_written() {
    let dir = SceneDir::new();
    dir.render("--spp 400 -o whole.exr");
    let interrupt = |image: &str, help: &str| {
        let args = format!("render scene.pbrt --spp 400 -o {image} --checkpoint 100 --threads 1");
        let mut running = Running::lightbound(dir.0.path(), &args);
        running.wait_for_rendering();
        // A folder cannot be replaced by a file.
        std::fs::create_dir(dir.path(&format!("{image}.checkpoint"))).unwrap();
        running.signal("INT");
        let stderr = running.finish_with(3);
        assert!(
            stderr.contains("checkpoint: cannot be written") && stderr.contains(help),
            "{stderr}"
        );
        std::fs::remove_dir(dir.path(&format!("{image}.checkpoint"))).unwrap();
    };
    interrupt("a.exr", "stores the samples instead");
    dir.lightbound("render scene.pbrt --spp 400 -o a.exr --resume").assert().success();
    dir.assert_same("whole.exr", "a.exr");
    interrupt("a.png", "render again, to an .exr");
    assert!(dir.path("a.png").exists());
}

#[cfg(unix)]
#[test]
fn renderings_resume_from_the_file_with_more_samples() {
    let dir = SceneDir::new();
    dir.render("--spp 400 -o whole.exr");
    let checkpoint = dir.path("a.exr.checkpoint");
    let interrupt = |options: &str, code: i32| {
        let args = format!("render scene.pbrt -o a.exr --checkpoint 100 --threads 1 {options}");
        let mut running = Running::lightbound(dir.0.path(), &args);
        running.wait_for_rendering();
        if code == 3 {
            std::fs::rename(&checkpoint, dir.path("earlier")).unwrap();
            std::fs::create_dir(&checkpoint).unwrap();
        }
        running.signal("INT");
        running.finish_with(code);
    };
    interrupt("--spp 400", 130);
    interrupt("--spp 400 --resume", 3);
    let resume = "render scene.pbrt --spp 400 -o a.exr --resume";
    dir.lightbound(resume).assert().code(2).stderr(contains("is a folder"));
    std::fs::remove_dir(&checkpoint).unwrap();
    std::fs::copy(dir.path("earlier"), &checkpoint).unwrap();
    dir.lightbound(resume).assert().success().stderr(contains("resuming from a.exr\n"));
    dir.assert_same("whole.exr", "a.exr");
    assert!(!checkpoint.exists());

    // An image of another rendering is no reason to ignore the checkpoint.
    dir.render("--spp 500 --seed 5 --keep-sums -o a.exr");
    std::fs::copy(dir.path("earlier"), &checkpoint).unwrap();
    dir.lightbound(resume).assert().success().stderr(contains("resuming from a.exr.checkpoint"));
    dir.assert_same("whole.exr", "a.exr");
}
