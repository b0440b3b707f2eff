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

#[test]
fn info_describes_assets() {
    let mut command = lightbound(&["info"]);
    command.arg(asset()).assert().success().stdout(contains("emitting triangles, 1 spot light"));
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
}
