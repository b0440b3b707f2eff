//! Pictures that know how noisy they are: what references are, and what is kept of cases that are done.
//!
//! The file is an EXR with `R`, `G`, `B`, the means, `variance.R`, `variance.G`, `variance.B`, the variance of each mean, and the
//! attribute `lightbound/samples`. All of it in 32 bits, without loss: bits are compared.

use super::statistics::Estimate;
use crate::film::Picture;
use crate::image::write::{Attribute, Channel, ChannelSamples, ExrPicture, write_exr};
use crate::image::{ImageError, MAX_PIXELS, Problem};
use exr::prelude::{AttributeValue, MetaData, ReadChannels, ReadLayers, Text};
use std::io::Cursor;
use std::path::Path;

/// A picture and its variance, row by row from the top.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Mean radiance.
    pub mean: Vec<[f32; 3]>,
    /// Variance of `mean`; infinite for a single sample.
    pub variance: Vec<[f32; 3]>,
    /// Samples of each pixel.
    pub samples: u32,
}

/// The attribute with the number of samples; `render` writes it, too.
const SAMPLES: &str = "lightbound/samples";

impl Measurement {
    /// That of a finished picture; `None` where its film kept no moments.
    pub fn of(picture: Picture) -> Option<Measurement> {
        let (width, height) = (picture.window.width(), picture.window.height());
        let (mean, variance, samples) = (picture.radiance, picture.variance?, picture.min_samples);
        Some(Measurement { width, height, mean, variance, samples })
    }

    /// As statistics want it.
    pub fn estimate(&self) -> Estimate<'_> {
        Estimate { mean: &self.mean, variance: &self.variance, samples: self.samples }
    }

    /// Reads one.
    ///
    /// *Errors*: the file cannot be read, is no EXR, or lacks a channel or the number of samples.
    pub fn read(path: &Path) -> Result<Measurement, ImageError> {
        let fault = |problem: Problem| ImageError { path: path.into(), problem };
        let data = std::fs::read(path).map_err(|cause| fault(Problem::Read(cause)))?;
        decode(&data).map_err(|message| fault(Problem::Damaged { format: "reference", message }))
    }

    /// Writes it in one step, with `notes` on how it was made.
    pub fn write(&self, path: &Path, notes: Vec<(String, Attribute)>) -> Result<(), ImageError> {
        let planes = |prefix: &str, values: &[[f32; 3]]| {
            let plane = |(c, name)| Channel {
                name: format!("{prefix}{name}"),
                samples: ChannelSamples::F32(values.iter().map(|value| value[c]).collect()),
            };
            ["R", "G", "B"].into_iter().enumerate().map(plane).collect::<Vec<_>>()
        };
        let size = [self.width, self.height];
        let mut attributes = notes;
        attributes.push((SAMPLES.into(), Attribute::Int(self.samples.try_into().unwrap_or(i32::MAX))));
        let channels = [planes("", &self.mean), planes("variance.", &self.variance)].concat();
        write_exr(path, &ExrPicture { size, offset: [0, 0], full_size: size, channels, attributes })
    }
}

fn decode(data: &[u8]) -> Result<Measurement, String> {
    let text = |error: exr::error::Error| error.to_string();
    let meta = MetaData::read_from_buffered(Cursor::new(data), false).map_err(text)?;
    let pixels = |header: &exr::meta::header::Header| header.layer_size.x() as u64 * header.layer_size.y() as u64;
    if meta.headers.iter().any(|h| !(1..=MAX_PIXELS).contains(&pixels(h)) || h.chunk_count > data.len() / 8) {
        return Err("its size cannot be true".into());
    }
    let reader = exr::image::read::read().no_deep_data().largest_resolution_level().all_channels().first_valid_layer();
    let layer = reader.all_attributes().from_buffered(Cursor::new(data)).map_err(text)?.layer_data;
    let find = |name: String| {
        let channel = layer.channel_data.list.iter().find(|channel| channel.name.eq(name.as_str()));
        let channel = channel.filter(|channel| channel.sampling == exr::math::Vec2(1, 1));
        channel.map(|channel| channel.sample_data.values_as_f32()).ok_or_else(|| format!("there is no channel {name}"))
    };
    let pixels = |prefix: &str| {
        let [r, g, b] = ["R", "G", "B"].map(|name| find(format!("{prefix}{name}")));
        Ok::<_, String>(r?.zip(g?).zip(b?).map(|((r, g), b)| [r, g, b]).collect::<Vec<[f32; 3]>>())
    };
    let samples = match layer.attributes.other.get(&Text::from(SAMPLES)) {
        Some(&AttributeValue::I32(samples)) if samples > 0 => samples as u32,
        _ => return Err(format!("there is no attribute {SAMPLES}")),
    };
    let (width, height) = (layer.size.x() as u32, layer.size.y() as u32);
    Ok(Measurement { width, height, mean: pixels("")?, variance: pixels("variance.")?, samples })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Measurement {
        let value = |i: u32, scale: f32| [0, 1, 2].map(|c| scale * (1.0 + (i * 3 + c) as f32).sqrt());
        Measurement {
            width: 5,
            height: 3,
            mean: (0..15).map(|i| value(i, 0.7)).collect(),
            variance: (0..15).map(|i| if i == 4 { [f32::INFINITY; 3] } else { value(i, 1e-20) }).collect(),
            samples: 12,
        }
    }

    #[test]
    fn files_keep_every_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.exr");
        some().write(&path, vec![("lightbound/seed".into(), Attribute::Text("7".into()))]).unwrap();
        assert_eq!(Measurement::read(&path).unwrap(), some());
    }

    #[test]
    fn what_is_missing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.exr");
        let message = |path: &Path| Measurement::read(path).unwrap_err().to_string();
        assert!(message(&path).contains("a.exr: cannot be read"));
        let plane = |name: &str| Channel { name: name.into(), samples: ChannelSamples::F32(vec![0.0; 2]) };
        let mut picture = ExrPicture { size: [2, 1], full_size: [2, 1], channels: vec![plane("R")], ..Default::default() };
        write_exr(&path, &picture).unwrap();
        assert!(message(&path).contains("no attribute lightbound/samples"), "{}", message(&path));
        picture.attributes.push((SAMPLES.into(), Attribute::Int(4)));
        write_exr(&path, &picture).unwrap();
        assert!(message(&path).contains("no channel G"), "{}", message(&path));
        picture.channels.extend(["G", "B"].map(plane));
        write_exr(&path, &picture).unwrap();
        assert!(message(&path).contains("no channel variance.R"), "{}", message(&path));
        let whole = std::fs::read(&path).unwrap();
        for length in 0..whole.len() {
            assert!(decode(&whole[..length]).is_err(), "{length}");
        }
    }
}
