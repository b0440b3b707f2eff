//! NanoVDB files.

use super::scene::Scenes;
use super::{Reader, files};
use flate2::read::ZlibDecoder;
use std::fs;
use std::io::Read;

/// Renders media of files.
pub struct Volumes {
    scenes: Scenes,
}

/// Sizes of the header of a file, and of the metadata of a grid without its name.
const HEADER_SIZE: usize = 16;
const METADATA_SIZE: usize = 176;

const SCENE: &[u8] = br#"
LookAt 0.5 0.5 -3  0.5 0.5 0  0 1 0
Camera "perspective" "float fov" 40
Integrator "volpath" "integer maxdepth" 3
WorldBegin
LightSource "distant"
MakeNamedMedium "smoke" "string type" "nanovdb" "string filename" "input.nvdb"
MediumInterface "smoke" ""
Material "interface"
Translate 0.5 0.5 0.5
Shape "sphere" "float radius" 2
"#;

impl Volumes {
    /// Creates a reader.
    pub fn new() -> Volumes {
        Volumes { scenes: Scenes::new() }
    }
}

impl Reader for Volumes {
    fn corpus(&self) -> Vec<Vec<u8>> {
        let mut corpus = files("renderer/pbrt/testdata", "nvdb");
        // Damage to compressed data seldom gets past the decompressor.
        let uncompressed: Vec<_> = corpus.iter().filter_map(|file| decompress(file)).collect();
        assert!(!uncompressed.is_empty(), "a file is compressed with zip");
        corpus.extend(uncompressed);
        corpus
    }

    fn read(&mut self, input: &[u8]) -> Result<(), String> {
        fs::write(self.scenes.path("input.nvdb"), input).map_err(|error| error.to_string())?;
        self.scenes.read(SCENE)
    }
}

/// Decompresses the grids of a valid file with one segment; `None` if its codec is not zip.
fn decompress(file: &[u8]) -> Option<Vec<u8>> {
    let integer = |offset: usize| u64::from_le_bytes(file[offset..][..8].try_into().unwrap());
    let [count, codec] = [12, 14].map(|offset| file[offset]);
    if codec != 1 {
        return None;
    }
    let (mut offset, mut sizes) = (HEADER_SIZE, Vec::new());
    for _ in 0..count {
        sizes.push((offset, integer(offset + 8) as usize));
        offset += METADATA_SIZE + integer(offset + 136) as u32 as usize;
    }
    let mut out = file[..offset].to_vec();
    out[14] = 0;
    for (metadata, stored) in sizes {
        // The size of the stream comes before it.
        let length = ZlibDecoder::new(&file[offset + 8..offset + stored])
            .read_to_end(&mut out)
            .expect("the file is valid");
        out[metadata + 8..][..8].copy_from_slice(&(length as u64).to_le_bytes());
        offset += stored;
    }
    Some(out)
}
