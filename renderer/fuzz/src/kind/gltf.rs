//! glTF assets.

use super::{Reader, files};
use lightbound_gltf::{Options, translate_bytes};
use lightbound_pbrt::{Diagnostics, ply};
use std::path::Path;

/// Translates assets, and reads the meshes that result.
pub struct Assets;

/// Bytes of a header of a GLB file, and of a chunk.
const HEADER: u32 = 12;
const CHUNK: u32 = 8;

impl Reader for Assets {
    fn corpus(&self) -> Vec<Vec<u8>> {
        let mut corpus = files("scenes/gltf", "gltf");
        for json in corpus.clone() {
            let length = (json.len() as u32).next_multiple_of(4);
            let mut file = b"glTF".to_vec();
            for word in [2, HEADER + CHUNK + length, length, 0x4e4f_534a] {
                file.extend(u32::to_le_bytes(word));
            }
            file.extend(&json);
            file.resize((HEADER + CHUNK + length) as usize, b' ');
            corpus.push(file);
        }
        corpus
    }

    fn read(&mut self, input: &[u8]) -> Result<(), String> {
        let path = Path::new("asset.gltf");
        let is_animated = input.windows(12).any(|bytes| bytes == b"\"animations\"");
        let options = Options { shutter: is_animated.then_some(0.5), ..Options::default() };
        let mut diagnostics = Diagnostics::new(false);
        let translation = translate_bytes(path, input, &options, "", &mut diagnostics)
            .map_err(|error| error.to_string())?;
        let names = ["color", "alpha", "uv1"].map(String::from);
        for (name, content) in &translation.files {
            if name.ends_with(".ply") {
                ply::parse(content, Path::new(name), &names).map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }
}
