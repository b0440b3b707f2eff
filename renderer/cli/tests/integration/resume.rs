//! `lightbound render --resume` adds samples to checkpoints and images with exact sums. The result
//! equals that of a single rendering, bit by bit.

use crate::common::scene_dir::{SCENE, SceneDir, assert_same_exr, channels};

/// Arguments of the first rendering, and of the one that resumes it.
struct Case {
    first: &'static str,
    then: &'static str,
}

/// A scene with an image `whole.exr` of `spp` samples.
struct ResumeDir(SceneDir);

impl ResumeDir {
    fn new(options: &str) -> ResumeDir {
        ResumeDir::with_scene(&SCENE, options)
    }

    fn with_scene(scene: &str, options: &str) -> ResumeDir {
        let dir = ResumeDir(SceneDir::with_scene(scene));
        dir.render(&format!("-o whole.exr {options}"));
        dir
    }

    fn command(&self, args: &str) -> assert_cmd::Command {
        self.0.render(&args.split_whitespace().collect::<Vec<_>>())
    }

    /// `lightbound render scene.pbrt ARGS`; returns stderr.
    fn render(&self, args: &str) -> String {
        let output = self.command(args).assert().success().get_output().stderr.clone();
        String::from_utf8(output).unwrap()
    }

    fn assert_rejected(&self, args: &str, messages: &[&str]) {
        crate::common::assert_input_error(&mut self.command(args), messages);
    }

    fn assert_same(&self, file: &str) {
        assert_same_exr(&self.0.path("whole.exr"), &self.0.path(file));
    }

    fn has_sums(&self, file: &str) -> bool {
        channels(&self.0.path(file)).iter().any(|channel| channel.0 == "sums.R0")
    }
}

/// Renderings that take one sample per pixel, of many, and leave a checkpoint.
const ONE_SAMPLE: &str = "--spp 1000 --threads 1 --time-limit 1e-9 --checkpoint 1000";

#[test]
fn checkpoints_resume_with_other_numbers_of_samples() {
    for spp in [1, 2, 6, 7] {
        let dir = ResumeDir::new(&format!("--spp {spp}"));
        dir.render(&format!("-o a.exr {ONE_SAMPLE}"));
        let stderr = dir.render(&format!("-o a.exr --resume --spp {spp}"));
        assert!(stderr.contains("resuming from a.exr.checkpoint"), "{stderr}");
        assert!(!dir.0.path("a.exr.checkpoint").exists());
        dir.assert_same("a.exr");
    }
}

#[test]
fn noise_thresholds_stop_resumed_renderings_at_the_same_sample() {
    let dir = ResumeDir::new("--spp 4096 --noise-threshold 0.1");
    // The noise is not estimated at 10 samples.
    dir.render("-o a.exr --spp 10 --noise-threshold 1e-9 --keep-sums");
    dir.render("-o a.exr --spp 4096 --noise-threshold 0.1 --resume");
    dir.assert_same("a.exr");
}

#[test]
fn finished_images_get_more_samples() {
    let independent = SCENE.replace("\"zsobol\"", "\"independent\"");
    let tree = "--light-sampling material-tree --bsdf-sampling bounds";
    for (scene, options) in [
        (&*SCENE, ""),
        (&independent, ""),
        (&SCENE, tree),
        (&SCENE, "--integrator lightcuts"),
        (&SCENE, "--integrator lightcuts --mode stochastic"),
        (&SCENE, "--variance"),
        (&SCENE, "--crop 0.1,0.7,0,1"),
    ] {
        let dir = ResumeDir::with_scene(scene, &format!("--spp 11 {options}"));
        for Case { first, then } in [
            Case { first: "--spp 6 --sample-range 0..6", then: "" },
            Case { first: "--spp 4 --keep-sums", then: "" },
            // Three renderings.
            Case { first: "--spp 1 --keep-sums", then: "--spp 7 --keep-sums" },
        ] {
            dir.render(&format!("-o a.exr {options} {first}"));
            if !then.is_empty() {
                dir.render(&format!("-o a.exr {options} {then} --resume"));
            }
            let stderr = dir.render(&format!("-o a.exr {options} --spp 11 --resume"));
            assert!(stderr.contains("resuming from a.exr"), "{stderr}");
            if options.contains("--crop") {
                // Parts store times.
                let [a, b] = ["whole.exr", "a.exr"].map(|file| channels(&dir.0.path(file)));
                assert!(a == b);
            } else {
                dir.assert_same("a.exr");
            }
        }
    }
}

#[test]
fn unsuitable_numbers_of_samples_are_rejected() {
    let dir = ResumeDir::new("--spp 4 --keep-sums");
    let fewer = ["whole.exr: has sample 3 of some pixels", "before sample 3", "at least 4 samples"];
    dir.assert_rejected("-o whole.exr --resume --spp 3", &fewer);
    dir.render("-o a.exr --spp 8 --sample-range 4..8");
    let later = ["a.exr: has samples 4..8 of columns 0..24", "not the first samples", "merge"];
    dir.assert_rejected("-o a.exr --resume --spp 16", &later);
    dir.render("-o a.exr --crop 0,0.5,0,1");
    dir.assert_rejected("-o a.exr --resume", &["has samples 0..4 of columns 0..12", "--crop"]);
    dir.assert_rejected(
        "-o a.exr --resume --crop 0,0.25,0,1",
        &["is a picture of another rendering", "leave out --resume"],
    );
    dir.assert_rejected(
        "-o whole.exr --resume --seed 5",
        &["whole.exr: is a picture of another rendering", "its seed is 0"],
    );
    dir.assert_rejected("-o a.png --keep-sums", &["--keep-sums needs an .exr file"]);
}

#[test]
fn resumed_renderings_keep_checkpoints_and_sums() {
    let dir = ResumeDir::new("--spp 9");
    dir.render("-o a.exr --spp 3 --keep-sums");
    let unfinished = "-o a.exr --spp 9 --resume --threads 1 --time-limit 1e-9";
    dir.render(unfinished);
    assert!(dir.0.path("a.exr.checkpoint").exists() && dir.has_sums("a.exr"));
    // Both can be resumed.
    std::fs::copy(dir.0.path("a.exr"), dir.0.path("b.exr")).unwrap();
    for file in ["a.exr", "b.exr"] {
        let stderr = dir.render(&format!("-o {file} --spp 9 --resume"));
        let has_checkpoint = file == "a.exr";
        assert_eq!(stderr.contains("resuming from a.exr.checkpoint"), has_checkpoint, "{stderr}");
        dir.assert_same(file);
        assert!(!dir.0.path("a.exr.checkpoint").exists());
    }
}

#[test]
fn images_without_sums_are_finished_or_kept() {
    let dir = ResumeDir::new("--spp 4");
    dir.render("-o quiet.exr --spp 32 --noise-threshold 1e9");
    dir.render("-o a.exr --spp 4 --resume");
    dir.assert_same("a.exr");
    let read = |file: &str| std::fs::read(dir.0.path(file)).unwrap();
    let (whole, quiet) = (read("whole.exr"), read("quiet.exr"));
    for args in
        ["-o whole.exr --spp 4 --resume", "-o quiet.exr --spp 32 --noise-threshold 1e9 --resume"]
    {
        let stderr = dir.render(args);
        assert!(stderr.contains("is finished; nothing is left to render"), "{stderr}");
        assert!(!stderr.contains("warning"), "{stderr}");
    }
    let stderr = dir.render("-o whole.exr --spp 4 --resume -q --stats s.json");
    assert!(stderr.contains("warning: no statistics are written, since"), "{stderr}");
    let messages = [
        "whole.exr: cannot be resumed, since it contains no exact sums",
        "no exact sums",
        "omit --resume",
        "--keep-sums",
    ];
    for other in [
        "--spp 8",
        "--spp 2",
        "--spp 4 --seed 5",
        "--spp 4 --keep-sums",
        "--spp 4 --crop 0,0.5,0,1",
        "--spp 4 --variance",
    ] {
        dir.assert_rejected(&format!("-o whole.exr --resume -q {other}"), &messages);
    }
    dir.assert_rejected(
        "-o quiet.exr --spp 32 --noise-threshold 1e-9 --resume",
        &["quiet.exr: cannot be resumed"],
    );
    assert!(read("whole.exr") == whole && read("quiet.exr") == quiet);
    // The header is complete, but pixels are missing.
    std::fs::write(dir.0.path("whole.exr"), &whole[..whole.len() - 100]).unwrap();
    dir.assert_rejected("-o whole.exr --spp 4 --resume", &messages);
    dir.render("-o a.png");
    dir.assert_rejected("-o a.png --resume", &["a.png: cannot be resumed"]);
}
