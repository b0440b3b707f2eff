//! Tests of glTF assets: `render`, `info` and `import`.

use crate::common::{assert_input_error, lightbound};
use lightbound_image::read_exr;
use predicates::str::contains;
use std::fs;
use std::path::{Path, PathBuf};

fn asset() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes/gltf/spheres.gltf")
}

#[test]
fn imported_scenes_render_the_same_picture() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let render = |scene: &Path, picture: &str| {
        let mut command = lightbound(&["render", "-q", "--spp", "2", "--resolution", "48x24"]);
        command.args(["--strict", "--layers", "beauty", "-o", picture]).arg(scene);
        command.current_dir(here).assert().success().stderr("");
        read_exr(&here.join(picture)).unwrap()
    };
    let direct = render(&asset(), "direct.exr");
    let mut import = lightbound(&["import", "-o", "balls.pbrt"]);
    import.arg(asset()).current_dir(here).assert().success();
    let text = fs::read_to_string(here.join("balls.pbrt")).unwrap();
    assert!(text.contains("\"string filename\" \"balls-files/gold.ply\""), "{text}");
    assert!(here.join("balls-files/gold.ply").is_file());
    let imported = render(&here.join("balls.pbrt"), "imported.exr");
    assert_eq!(direct.channels, imported.channels);
    // Names that need escapes in a scene.
    let mut import = lightbound(&["import", "-o", "a b\"c.pbrt"]);
    let import = import.arg(asset()).current_dir(here).assert().success();
    import.stderr(contains("files in a_b_c-files"));
    assert_eq!(direct.channels, render(&here.join("a b\"c.pbrt"), "quoted.exr").channels);
}

fn moving_asset() -> PathBuf {
    asset().with_file_name("motion.gltf")
}

#[test]
fn imported_motion_renders_the_same_picture() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let moment = ["--time", "0.95", "--shutter", "1/24"];
    let render = |scene: &Path, options: &[&str], picture: &str| {
        let mut command = lightbound(&["render", "-q", "--spp", "4", "--resolution", "48x32"]);
        command.args(["--strict", "-o", picture]).arg(scene).args(options).current_dir(here);
        command.assert().success().stderr("");
        read_exr(&here.join(picture)).unwrap().channels
    };
    let mut import = lightbound(&["import", "--strict", "-o", "play.pbrt"]);
    import.arg(moving_asset()).args(moment).current_dir(here).assert().success();
    let text = fs::read_to_string(here.join("play.pbrt")).unwrap();
    assert!(text.contains("\"string filename1\" \"play-files/ball-end.ply\""), "{text}");
    assert!(text.contains("ActiveTransform EndTime"), "{text}");
    let direct = render(&moving_asset(), &moment, "direct.exr");
    assert_eq!(direct, render(&here.join("play.pbrt"), &[], "imported.exr"));
    assert_ne!(direct, render(&moving_asset(), &moment[..2], "still.exr"));
}

#[test]
fn frames_of_animations_are_rendered_at_their_times() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let render = |options: &str| {
        let mut command = lightbound(&["render", "--spp", "1", "--resolution", "48x32"]);
        command.arg(moving_asset()).args(options.split(' ')).current_dir(here).assert()
    };
    let image = |name: &str| read_exr(&here.join(name)).unwrap().channels;
    let result = render("--frames 6..7 --fps 20 --shutter 0.01 --layers beauty").success();
    let stderr = String::from_utf8_lossy(&result.get_output().stderr).into_owned();
    assert!(stderr.contains("frame 7 (2 of 2)"), "{stderr}");
    render("--time 0.35 --shutter 0.01 --layers beauty -o single.exr").success();
    assert_eq!(image("motion.0007.exr"), image("single.exr"));
    assert_ne!(image("motion.0006.exr"), image("single.exr"));
    // The time is that of the frame 0.
    render("--frames 2..2 --fps 20 --time 0.25 --shutter 0.01 --layers beauty -o x.##.exr")
        .success();
    assert_eq!(image("x.02.exr"), image("single.exr"));
}

#[test]
fn info_describes_assets() {
    let mut command = lightbound(&["info"]);
    command.arg(asset()).assert().success().stdout(contains("emitting triangles, 1 spot light"));
}

#[test]
fn images_that_do_not_exist_are_warnings() {
    let folder = tempfile::tempdir().unwrap();
    // No material uses the first image, and the shape has none.
    let text = fs::read_to_string(asset()).unwrap();
    let start = text.find('{').unwrap() + 1;
    let images = r#""images":[{"name":"old","uri":"old.png"},{"uri":"older.png"}],"#;
    let text = format!("{}{images}{}", &text[..start], &text[start..]);
    assert_eq!(text.matches("\"images\"").count(), 1);
    fs::write(folder.path().join("a.gltf"), text).unwrap();
    let names = ["image 0 \"old\" is in old.png, which does not exist", "image 1 is in older.png,"];
    let mut info = lightbound(&["info", "a.gltf"]);
    let info = info.current_dir(folder.path()).assert().success();
    let mut import = lightbound(&["import", "a.gltf", "-o", "a.pbrt"]);
    let import = import.current_dir(folder.path()).assert().success();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    for output in [text(&info.get_output().stdout), text(&import.get_output().stderr)] {
        for name in names {
            assert_eq!(output.matches(name).count(), 1, "{output}");
        }
    }
    let mut strict = lightbound(&["import", "--strict", "a.gltf", "-o", "b.pbrt"]);
    assert_input_error(strict.current_dir(folder.path()), &[names[0], "keep the files"]);
}

#[test]
fn wrong_options_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken.glb");
    fs::write(&broken, b"glTF\x02\0\0\0\xff\0\0\0").unwrap();
    let mut command = lightbound(&["render", "-q", "-o", "x.exr"]);
    command.arg(&broken).current_dir(folder.path());
    assert_input_error(
        &mut command,
        &["broken.glb: the GLB has 12 bytes instead of 255", "copy it"],
    );
    let mut command = lightbound(&["import", "-o", "x.exr"]);
    command.arg(asset()).current_dir(folder.path());
    assert_input_error(&mut command, &["`x.exr`: its name does not end in .pbrt"]);
    fs::write(folder.path().join("x-files"), "").unwrap();
    let mut command = lightbound(&["import", "-o", "x.pbrt"]);
    command.arg(asset()).current_dir(folder.path());
    assert_input_error(&mut command, &["cannot create the folder `x-files`", "it is a file"]);
    let mut command = lightbound(&["import", "-o", "y.pbrt", "--environment", "none.hdr"]);
    command.arg(asset()).current_dir(folder.path());
    assert_input_error(&mut command, &["cannot read the environment map none.hdr", ".pfm"]);
    assert!(!folder.path().join("y-files").exists());
    let mut command = lightbound(&["render", "-q", "--camera", "top"]);
    command.arg(asset()).current_dir(folder.path());
    assert_input_error(&mut command, &["has no camera \"top\"", "camera 0 \"front\", auto"]);
    let mut command = lightbound(&["render", "scene.pbrt", "--time", "1"]);
    command.current_dir(folder.path());
    assert_input_error(&mut command, &["--time is for glTF assets"]);
    let mut command = lightbound(&["render", "frame1.pbrt", "--frames", "1..2", "--fps", "24"]);
    command.current_dir(folder.path());
    assert_input_error(&mut command, &["--fps is for glTF assets, and frame1.pbrt is not one"]);
    let mut command = lightbound(&["render", "--frames", "1..2", "--fps", "24", "-o", "x.exr"]);
    command.arg(asset()).current_dir(folder.path());
    assert_input_error(&mut command, &["`x.exr` would be replaced by every frame", "x.####.exr"]);
    let mut command = lightbound(&["render", "-q", "--shutter", "1/48"]);
    command.arg(asset()).current_dir(folder.path());
    assert_input_error(&mut command, &["has no animation for --shutter", "remove the option"]);
    for (option, value) in [("--shutter", "-1"), ("--shutter", "1/0"), ("--fps", "0")] {
        let mut command = lightbound(&["render", "--frames", "1", option, value]);
        command.arg(asset()).current_dir(folder.path());
        assert_input_error(&mut command, &["expected a number of"]);
    }
}
