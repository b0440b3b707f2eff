//! Suites of regression tests.

use super::{Reader, files, repository};
use lightbound_regress::suite::Suite;
use std::fs;

/// Reads suites.
pub struct Suites {
    folder: tempfile::TempDir,
}

impl Suites {
    /// Creates a reader with the scenes that the corpus refers to.
    pub fn new() -> Suites {
        let folder = tempfile::tempdir().expect("temporary files can be created");
        let scene = repository("renderer/fuzz/corpus/lights.pbrt");
        fs::copy(scene, folder.path().join("scene.pbrt")).expect("the file can be copied");
        Suites { folder }
    }
}

impl Reader for Suites {
    fn corpus(&self) -> Vec<Vec<u8>> {
        files("renderer/fuzz/corpus", "toml")
    }

    fn read(&mut self, input: &[u8]) -> Result<(), String> {
        let path = self.folder.path().join("suite.toml");
        fs::write(&path, input).expect("temporary files can be written");
        Suite::read(&path).map(drop).map_err(|error| error.to_string())
    }
}
