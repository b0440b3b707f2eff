//! Renders a scene in a temporary folder.

use super::lightbound;
use super::room::room;
use assert_cmd::Command;
use exr::prelude::{FlatSamples, read_all_flat_layers_from_file};
use lightbound_image::read_exr;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tempfile::TempDir;

/// The room at a small size.
pub static SCENE: LazyLock<String> = LazyLock::new(|| {
    room(
        r#""integer xresolution" 24 "integer yresolution" 16 "string filename" "from-film.exr""#,
        4,
    )
});

/// A temporary folder with a scene, `scene.pbrt`.
pub struct SceneDir {
    folder: TempDir,
}

impl SceneDir {
    pub fn new() -> SceneDir {
        SceneDir::with_scene(&SCENE)
    }

    pub fn with_scene(scene: &str) -> SceneDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("scene.pbrt"), scene).unwrap();
        SceneDir { folder }
    }

    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// `lightbound render scene.pbrt ARGS`, in the folder.
    pub fn render(&self, args: &[&str]) -> Command {
        let mut command = lightbound(&["render", "scene.pbrt"]);
        command.args(args).current_dir(self.root());
        command
    }

    /// All channels of a rendering with these arguments.
    pub fn channels(&self, args: &[&str]) -> Vec<(String, Vec<u32>)> {
        self.render(args).args(["-o", "channels.exr"]).assert().success();
        channels(&self.path("channels.exr"))
    }

    /// Names of the files in the folder, except for the scene.
    pub fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.root()).unwrap();
        let names = entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name != "scene.pbrt").collect();
        names.sort();
        names
    }
}

/// Name and bits of every channel of an EXR file.
pub fn channels(path: &Path) -> Vec<(String, Vec<u32>)> {
    let image = read_all_flat_layers_from_file(path).unwrap();
    let channels = image.layer_data.iter().flat_map(|layer| &layer.channel_data.list);
    let bits = |samples: &FlatSamples| match samples {
        FlatSamples::F32(s) => s.iter().map(|x| x.to_bits()).collect(),
        FlatSamples::U32(s) => s.clone(),
        FlatSamples::F16(_) => panic!("no half floats are written"),
    };
    channels.map(|c| (c.name.to_string(), bits(&c.sample_data))).collect()
}

/// Asserts that two EXR files have the same pixels, bit by bit, and the same attributes except for
/// the render time.
pub fn assert_same_exr(a: &Path, b: &Path) {
    let attributes = |path: &Path| {
        let mut attributes = read_exr(path).unwrap().attributes;
        attributes.retain(|(name, _)| name != "lightbound/renderSeconds");
        attributes
    };
    assert_eq!(attributes(a), attributes(b));
    let (a, b) = (channels(a), channels(b));
    let names = |channels: &[(String, Vec<u32>)]| {
        channels.iter().map(|channel| channel.0.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&a), names(&b));
    assert!(a == b, "the pixels differ");
}

/// Parses a statistics file.
pub fn stats(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}
