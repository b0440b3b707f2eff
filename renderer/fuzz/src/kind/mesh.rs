//! PLY meshes.

use super::{Reader, files};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::path::Path;

/// Reads meshes.
pub struct Meshes;

impl Reader for Meshes {
    fn corpus(&self) -> Vec<Vec<u8>> {
        let text = files("renderer/fuzz/corpus", "ply");
        let vertices = [[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.5]];
        let faces: [&[u32]; 2] = [&[0, 1, 2], &[0, 1, 3, 2]];
        let mut corpus = text;
        for big_endian in [false, true] {
            let order = if big_endian { "big" } else { "little" };
            let mut data = format!(
                "ply\nformat binary_{order}_endian 1.0\nelement vertex 4\nproperty float x\n\
                 property float y\nproperty float z\nelement face 2\n\
                 property list uchar int vertex_indices\nend_header\n"
            )
            .into_bytes();
            let mut push = |word: u32| {
                data.extend(if big_endian { word.to_be_bytes() } else { word.to_le_bytes() });
            };
            vertices.iter().flatten().for_each(|x| push(x.to_bits()));
            for face in faces {
                data.push(face.len() as u8);
                for index in face {
                    data.extend(if big_endian { index.to_be_bytes() } else { index.to_le_bytes() });
                }
            }
            corpus.push(data);
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&corpus[0]).expect("memory is writable");
        corpus.push(encoder.finish().expect("memory is writable"));
        corpus
    }

    fn read(&mut self, input: &[u8]) -> Result<(), String> {
        let names = ["color", "alpha", "uv1", "flag"].map(String::from);
        lightbound_pbrt::ply::parse(input, Path::new("mesh.ply"), &names)
            .map(drop)
            .map_err(|error| error.to_string())
    }
}
