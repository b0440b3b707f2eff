//! `lightbound render --frames`.

use crate::common::lightbound;
use crate::common::running::Running;
use crate::common::scene_dir::{SCENE, SceneDir, channels};
use std::fs;
use std::path::Path;

/// A folder with the frames 8 to 11, of different brightness.
fn sequence() -> SceneDir {
    let dir = SceneDir::new();
    for frame in 8..12 {
        let scene = format!("# frame {frame}\n{}", *SCENE);
        fs::write(dir.path(&format!("frame{frame:04}.pbrt")), scene).unwrap();
    }
    fs::remove_file(dir.path("scene.pbrt")).unwrap();
    dir
}

fn render(dir: &Path, args: &str) -> assert_cmd::assert::Assert {
    lightbound(&["render"]).args(args.split(' ')).current_dir(dir).assert()
}

fn stderr(result: &assert_cmd::assert::Assert) -> String {
    String::from_utf8_lossy(&result.get_output().stderr).into_owned()
}

fn images(dir: &SceneDir) -> Vec<String> {
    dir.files().into_iter().filter(|name| !name.ends_with(".pbrt")).collect()
}

#[test]
fn frames_are_rendered_as_single_scenes_are() {
    let dir = sequence();
    let result = render(dir.root(), "frame0008.pbrt --frames 9..11 --seed 3").success();
    assert_eq!(images(&dir), ["frame0009.exr", "frame0010.exr", "frame0011.exr"]);
    let stderr = stderr(&result);
    assert!(stderr.contains("frame 10 (2 of 3): frame0010.pbrt"), "{stderr}");
    render(dir.root(), "frame0010.pbrt --seed 3 -o single.exr").success();
    assert!(channels(&dir.path("frame0010.exr")) == channels(&dir.path("single.exr")));
}

#[test]
fn outputs_follow_their_patterns() {
    let dir = sequence();
    let args = "frame####.pbrt --frames 10..11 -o p.%03d.png --stats s.#.json --progress json";
    let result = render(dir.root(), args).success();
    assert_eq!(images(&dir), ["p.010.png", "p.011.png", "s.10.json", "s.11.json"]);
    let stdout = String::from_utf8(result.get_output().stdout.clone()).unwrap();
    let frame = stdout.lines().find(|line| line.contains("\"index\":2")).unwrap();
    assert!(frame.contains("\"frame\":11") && frame.contains("frame0011.pbrt"), "{frame}");
}

#[test]
fn missing_frames_are_an_error_before_rendering() {
    let dir = sequence();
    for (args, message, help) in [
        (
            "frame0008.pbrt --frames 6..12",
            "3 of 7 frames are missing: 6, 7, 12; there is no `frame0006.pbrt`",
            "export them",
        ),
        (
            "scene.pbrt --frames 1..2",
            "`scene.pbrt`: its name has no frame number",
            "frame####.pbrt",
        ),
        (
            "frame0008.pbrt --frames 8..9 -o a.exr",
            "-o `a.exr` would be replaced by every frame",
            "a.####.exr",
        ),
        (
            "frame0008.pbrt --frames 8..9 --resume -o a.####.png",
            "only .exr files say whether they are finished",
            "write .exr files",
        ),
        ("frame0008.pbrt --frames 9..8", "expected two frame numbers", "1..250"),
    ] {
        let stderr = stderr(&render(dir.root(), args).code(2));
        assert!(stderr.contains(message) && stderr.contains(help), "{args}: {stderr}");
    }
    assert!(images(&dir).is_empty());
}

#[test]
fn resume_skips_finished_frames() {
    let dir = sequence();
    render(dir.root(), "frame0008.pbrt --frames 8..9").success();
    let modified = || fs::metadata(dir.path("frame0009.exr")).unwrap().modified().unwrap();
    let before = modified();
    let stderr = stderr(&render(dir.root(), "frame0008.pbrt --frames 8..11 --resume").success());
    assert_eq!(stderr.matches("nothing is left to render").count(), 2, "{stderr}");
    assert_eq!((modified(), images(&dir).len()), (before, 4));
}

#[test]
fn invalid_frame_ends_the_sequence_and_keeps_the_others() {
    let dir = sequence();
    fs::write(dir.path("frame0010.pbrt"), "Shap").unwrap();
    let stderr = stderr(&render(dir.root(), "frame0008.pbrt --frames 8..11").code(2));
    assert!(stderr.contains("frame0010.pbrt"), "{stderr}");
    assert_eq!(images(&dir), ["frame0008.exr", "frame0009.exr"]);
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_finished_frames() {
    let dir = sequence();
    let slow = SCENE.replace("\"integer pixelsamples\"", "\"integer pixelsamples\" 1000000 #");
    assert_ne!(slow, *SCENE);
    fs::write(dir.path("frame0009.pbrt"), slow).unwrap();
    let mut running =
        Running::lightbound(dir.root(), "render frame0008.pbrt --frames 8..11 --threads 2");
    running.wait_for("frame 9 (2 of 4)");
    running.wait_for_rendering();
    running.signal("INT");
    let stderr = running.finish_with(130);
    assert!(stderr.contains("2 of 4 frames were rendered"), "{stderr}");
    assert_eq!(images(&dir), ["frame0008.exr", "frame0009.exr"]);
}
