//! Image files, in every format that textures may have.

use super::{Kind, Reader, files};
use ::image::{DynamicImage, ImageFormat, RgbImage, RgbaImage};
use lightbound_image::inspect::{ChannelStatistics, describe_file};
use lightbound_image::layers::decode_layers;
use lightbound_image::read::read_with;
use lightbound_image::write::{Channel, ChannelSamples, ExrImage, write_exr, write_pfm};
use lightbound_image::{Encoding, ExrDepth, ExrHeader, encode_exr_layers, read_exr};
use std::fs;
use std::io::Cursor;
use std::path::Path;

/// Reads images of a format.
pub struct Images {
    format: Kind,
    folder: tempfile::TempDir,
}

impl Images {
    /// Creates a reader for a format.
    pub fn new(format: Kind) -> Images {
        Images { format, folder: tempfile::tempdir().expect("temporary files can be created") }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join(format!("image.{}", self.format))
    }

    /// Encodes images of several pixel formats.
    fn encoded(&self, format: ImageFormat) -> Vec<Vec<u8>> {
        let rgb = RgbImage::from_fn(13, 9, |x, y| [20 * x as u8, 25 * y as u8, 128].into());
        let rgba = RgbaImage::from_fn(5, 7, |x, y| [40 * x as u8, 30 * y as u8, 9, 200].into());
        let rgb = DynamicImage::from(rgb);
        let images = match format {
            ImageFormat::Png => vec![
                rgb.clone(),
                rgba.into(),
                rgb.to_luma8().into(),
                rgb.to_rgb16().into(),
                rgb.to_luma_alpha16().into(),
            ],
            ImageFormat::Hdr => vec![rgb.to_rgb32f().into()],
            ImageFormat::Tga => vec![rgb.clone(), rgba.into(), rgb.to_luma8().into()],
            _ => vec![rgb.clone(), rgb.to_luma8().into()],
        };
        let encode = |image: &DynamicImage| {
            let mut data = Cursor::new(Vec::new());
            image.write_to(&mut data, format).expect("the format supports the image");
            data.into_inner()
        };
        images.iter().map(encode).collect()
    }
}

impl Reader for Images {
    fn corpus(&self) -> Vec<Vec<u8>> {
        let path = self.path();
        let rgb: Vec<[f32; 3]> = (0..20).map(|i| [i as f32, 0.5, -1.0]).collect();
        let file = || vec![fs::read(&path).expect("the file was written")];
        let encoded = match self.format {
            Kind::Png => self.encoded(ImageFormat::Png),
            Kind::Jpeg => self.encoded(ImageFormat::Jpeg),
            Kind::Tga => self.encoded(ImageFormat::Tga),
            Kind::Hdr => self.encoded(ImageFormat::Hdr),
            Kind::Pfm => {
                write_pfm(&path, 5, 4, &rgb).expect("the file can be written");
                file()
            }
            _ => {
                write_exr(&path, &exr()).expect("the file can be written");
                file()
            }
        };
        [encoded, files("renderer/fuzz/corpus", &self.format.to_string())].concat()
    }

    fn read(&mut self, input: &[u8]) -> Result<(), String> {
        let path = self.path();
        // As textures are read.
        let image = read_with(&path, Encoding::Srgb, |_: &Path| Ok(input.into()));
        let image = image.map(|image| image.pixels().count());
        std::hint::black_box(describe_file(&path, input).is_ok());
        // As `compare`, `info` and `convert` read them.
        let layers = decode_layers(&path, input).map_err(|error| error.to_string())?;
        let samples = layers.layers.iter().flat_map(|layer| &layer.channels);
        samples.for_each(|c| _ = std::hint::black_box(ChannelStatistics::new(&c.samples)));
        let window = layers.layers[0].data_window;
        // As `convert` checks it.
        if layers.layers.iter().all(|layer| layer.data_window == window) {
            let header = match self.format {
                Kind::Exr => ExrHeader::read(input).map_err(|problem| problem.to_string())?,
                _ => ExrHeader::default(),
            };
            encode_exr_layers(&layers, header, ExrDepth::Half)?;
        }
        if self.format == Kind::Exr {
            // As parts are read.
            fs::write(&path, input).expect("temporary files can be written");
            read_exr(&path).map_err(|error| error.to_string())?;
        }
        image.map(drop).map_err(|error| error.to_string())
    }
}

/// An image with float and integer channels in a window.
fn exr() -> ExrImage {
    let floats = |scale: f32| ChannelSamples::F32((0..20).map(|i| scale * i as f32).collect());
    let channel = |name: &str, samples| Channel { name: name.into(), samples };
    ExrImage {
        size: [5, 4],
        offset: [2, 1],
        full_size: [8, 6],
        channels: vec![
            channel("R", floats(1.0)),
            channel("G", floats(0.5)),
            channel("B", floats(0.0)),
            channel("depth.Z", floats(2.0)),
            channel("object.id", ChannelSamples::U32((0..20).collect())),
        ],
        attributes: Vec::new(),
    }
}

/// Corrects the checksums of a PNG's chunks.
pub fn repair_png(data: &mut [u8]) {
    let mut at = 8;
    while let Some(length) = data.get(at..at + 4) {
        let length = u32::from_be_bytes(length.try_into().expect("four bytes")) as usize;
        let end = at.saturating_add(8).saturating_add(length);
        let Some(chunk) = data.get(at + 4..end) else { return };
        let mut crc = flate2::Crc::new();
        crc.update(chunk);
        let Some(sum) = data.get_mut(end..end + 4) else { return };
        sum.copy_from_slice(&crc.sum().to_be_bytes());
        at = end + 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repaired_png_has_valid_checksums() {
        let mut reader = Images::new(Kind::Png);
        let mut data = reader.corpus().swap_remove(0);
        // The eighth byte of the first chunk's data is the bit depth; 7 bits are unknown.
        data[8 + 8 + 8] = 7;
        let message = reader.read(&data).unwrap_err();
        assert!(message.to_lowercase().contains("crc"), "{message}");
        repair_png(&mut data);
        let message = reader.read(&data).unwrap_err();
        assert!(!message.to_lowercase().contains("crc"), "{message}");
    }
}
