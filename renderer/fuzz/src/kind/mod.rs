//! The kinds of input: for each, a corpus and the code that reads it.

mod command;
mod gltf;
mod image;
mod materialx;
mod mesh;
mod nanovdb;
mod part;
mod scene;
mod shader;
mod suite;

use crate::mutation::Syntax;
use lightbound_shader::random::Random;
use std::fmt;
use std::path::{Path, PathBuf};

/// A kind of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// pbrt-v4 scenes, loaded and rendered
    Scene,
    /// glTF assets, translated to scenes
    Gltf,
    /// MaterialX documents; their materials are converted
    Materialx,
    /// WGSL materials, compiled, evaluated and bounded
    Shader,
    /// PLY meshes
    Ply,
    /// NanoVDB files, as the medium of a scene
    Nanovdb,
    /// PNG images
    Png,
    /// JPEG images
    Jpeg,
    /// TGA images
    Tga,
    /// Radiance HDR images
    Hdr,
    /// PFM images
    Pfm,
    /// EXR images
    Exr,
    /// Parts for `lightbound merge`
    Part,
    /// Checkpoints for `lightbound render --resume`
    Checkpoint,
    /// Suites for `lightbound regress`
    Suite,
    /// CSV files for `lightbound shader eval`; needs the program `lightbound` in the same folder
    Csv,
    /// Command-line options; needs the program `lightbound` in the same folder
    Options,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&format!("{self:?}").to_lowercase())
    }
}

/// Reads inputs of a kind.
pub trait Reader {
    /// Returns the valid inputs that mutations start from.
    fn corpus(&self) -> Vec<Vec<u8>>;

    /// Reads an input, and uses it as the program would. The error is the message to the user.
    fn read(&mut self, input: &[u8]) -> Result<(), String>;
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 17] = [
        Kind::Scene,
        Kind::Gltf,
        Kind::Materialx,
        Kind::Shader,
        Kind::Ply,
        Kind::Nanovdb,
        Kind::Png,
        Kind::Jpeg,
        Kind::Tga,
        Kind::Hdr,
        Kind::Pfm,
        Kind::Exr,
        Kind::Part,
        Kind::Checkpoint,
        Kind::Suite,
        Kind::Csv,
        Kind::Options,
    ];

    /// Returns the syntax of the inputs.
    pub fn syntax(self) -> Syntax {
        match self {
            Kind::Scene | Kind::Gltf | Kind::Materialx | Kind::Shader => Syntax::Text,
            Kind::Suite | Kind::Csv | Kind::Options => Syntax::Text,
            // The corpus of meshes has text and binary files; half of the latter is a text header.
            Kind::Ply => Syntax::Text,
            Kind::Nanovdb => Syntax::Sparse,
            _ => Syntax::Binary,
        }
    }

    /// Makes some mutated inputs pass the checksums of their format.
    pub fn repair(self, random: &mut Random, input: &mut [u8]) {
        if self == Kind::Png && !random.once_in(4) {
            image::repair_png(input);
        }
    }

    /// Creates a reader.
    pub fn reader(self) -> Box<dyn Reader> {
        match self {
            Kind::Scene => Box::new(scene::Scenes::new()),
            Kind::Gltf => Box::new(gltf::Assets),
            Kind::Materialx => Box::new(materialx::Documents),
            Kind::Shader => Box::new(shader::Shaders),
            Kind::Ply => Box::new(mesh::Meshes),
            Kind::Nanovdb => Box::new(nanovdb::Volumes::new()),
            Kind::Png | Kind::Jpeg | Kind::Tga | Kind::Hdr | Kind::Pfm | Kind::Exr => {
                Box::new(image::Images::new(self))
            }
            Kind::Part => Box::new(part::Parts::new()),
            Kind::Checkpoint => Box::new(part::Checkpoints::new()),
            Kind::Suite => Box::new(suite::Suites::new()),
            Kind::Csv => Box::new(command::Commands::csv()),
            Kind::Options => Box::new(command::Commands::options()),
        }
    }
}

/// Returns the path of a file of the repository.
fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Reads the files with this extension in a folder of the repository, sorted by name.
///
/// # Panics
/// If they cannot be read.
fn files(folder: &str, extension: &str) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(repository(folder)).expect("the folder can be read");
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == extension));
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("the file can be read")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_of_every_corpus_is_valid() {
        // Commands need the program, which tests of this crate do not build.
        for kind in Kind::ALL.into_iter().filter(|k| ![Kind::Csv, Kind::Options].contains(k)) {
            let mut reader = kind.reader();
            let corpus = reader.corpus();
            assert!(!corpus.is_empty());
            for (i, input) in corpus.iter().enumerate() {
                assert_eq!(reader.read(input), Ok(()), "{kind}, input {i}");
            }
        }
    }
}
