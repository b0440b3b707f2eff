//! pbrt-v4 scenes.

use super::{Reader, files, repository};
use lightbound::render::{RenderOptions, render};
use lightbound_image::{Crop, write};
use lightbound_pbrt::{Diagnostics, Overrides, Source, load_source};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// Loads scenes and renders a few pixels.
pub struct Scenes {
    folder: tempfile::TempDir,
}

impl Scenes {
    /// Creates a reader with the files that the corpus refers to.
    pub fn new() -> Scenes {
        let folder = tempfile::tempdir().expect("temporary files can be created");
        for file in ["fuzz/corpus/mesh.ply", "fuzz/corpus/stripes.wgsl", "pbrt/testdata/smoke.nvdb"]
        {
            let from = repository("renderer").join(file);
            let name = from.file_name().expect("the path has a name");
            fs::copy(&from, folder.path().join(name)).expect("the file can be copied");
        }
        let texels: Vec<[f32; 3]> = (0..64).map(|i| [i as f32 / 64.0, 0.5, 0.25]).collect();
        write::write_pfm(&folder.path().join("map.pfm"), 8, 8, &texels)
            .expect("the file can be written");
        Scenes { folder }
    }

    /// Returns the path of a file beside the scene.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Reader for Scenes {
    fn corpus(&self) -> Vec<Vec<u8>> {
        files("renderer/fuzz/corpus", "pbrt")
    }

    fn read(&mut self, input: &[u8]) -> Result<(), String> {
        let source = Source::memory(self.path("scene.pbrt"), input);
        let overrides = Overrides {
            spp: Some(1),
            resolution: Some((8, 8)),
            crop: Some(Crop::Fractions([0.0, 1.0, 0.0, 1.0])),
            ..Overrides::default()
        };
        let mut diagnostics = Diagnostics::new(false);
        let loaded = load_source(&source, &[], &overrides, &mut diagnostics)
            .map_err(|error| error.to_string())?;
        let options = RenderOptions {
            threads: 1,
            time_limit: Some(Duration::from_secs(1)),
            ..RenderOptions::default()
        };
        render(&loaded.scene, &loaded.settings, &options)
            .map(drop)
            .map_err(|error| error.to_string())
    }
}
