//! Images with their variance: references, and the stored images of finished cases.
//!
//! The file is an EXR with the means `R`, `G`, `B`, the variances of the means `variance.R`,
//! `variance.G`, `variance.B`, and the attribute `lightbound/samples`. All channels have 32 bits
//! and lossless compression, since exact cases compare bits.

use super::statistics::Estimate;
use lightbound::film::RenderedImage;
use lightbound_image::write::{Attribute, Channel, ChannelSamples, ExrImage, write_exr};
use lightbound_image::{ImageError, Problem, read_exr};
use std::path::Path;

/// An image and its variance, in scanline order from the top.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Mean radiance.
    pub mean: Vec<[f32; 3]>,
    /// Variance of `mean`; infinite for a single sample.
    pub variance: Vec<[f32; 3]>,
    /// Samples per pixel.
    pub samples: u32,
}

/// The attribute with the number of samples per pixel, which `lightbound render` also writes.
const SAMPLES: &str = "lightbound/samples";

impl Measurement {
    /// Converts a finished image; `None` if its film did not accumulate moments.
    pub fn from_image(image: RenderedImage) -> Option<Measurement> {
        let (width, height) = (image.window.width(), image.window.height());
        let (mean, variance, samples) = (image.radiance, image.variance?, image.min_samples);
        Some(Measurement { width, height, mean, variance, samples })
    }

    /// The input of the statistical tests.
    pub fn estimate(&self) -> Estimate<'_> {
        Estimate { mean: &self.mean, variance: &self.variance, samples: self.samples }
    }

    /// Reads a measurement.
    ///
    /// # Errors
    /// If the file cannot be read, is not an EXR, or lacks a channel or the number of samples.
    pub fn read(path: &Path) -> Result<Measurement, ImageError> {
        from_exr(&read_exr(path)?).map_err(|message| ImageError {
            path: path.into(),
            problem: Problem::Damaged { format: "reference", message },
        })
    }

    /// Writes the measurement atomically, with `metadata` on how it was rendered.
    pub fn write(&self, path: &Path, metadata: Vec<(String, Attribute)>) -> Result<(), ImageError> {
        let planes = |prefix: &str, values: &[[f32; 3]]| {
            let plane = |(c, name)| Channel {
                name: format!("{prefix}{name}"),
                samples: ChannelSamples::F32(values.iter().map(|value| value[c]).collect()),
            };
            ["R", "G", "B"].into_iter().enumerate().map(plane).collect::<Vec<_>>()
        };
        let size = [self.width, self.height];
        let mut attributes = metadata;
        attributes
            .push((SAMPLES.into(), Attribute::Int(self.samples.try_into().unwrap_or(i32::MAX))));
        let channels = [planes("", &self.mean), planes("variance.", &self.variance)].concat();
        write_exr(path, &ExrImage { size, offset: [0, 0], full_size: size, channels, attributes })
    }
}

/// Extracts the measurement from an EXR file; the error names what is missing.
fn from_exr(file: &ExrImage) -> Result<Measurement, String> {
    let plane = |name: String| match file.channels.iter().find(|channel| channel.name == name) {
        Some(Channel { samples: ChannelSamples::F32(samples), .. }) => Ok(samples),
        _ => Err(format!("there is no channel {name}")),
    };
    let pixels = |prefix: &str| {
        let [r, g, b] = ["R", "G", "B"].map(|name| plane(format!("{prefix}{name}")));
        Ok::<_, String>(
            r?.iter().zip(g?).zip(b?).map(|((&r, &g), &b)| [r, g, b]).collect::<Vec<[f32; 3]>>(),
        )
    };
    let samples = match file.attributes.iter().find(|(name, _)| name == SAMPLES) {
        Some(&(_, Attribute::Int(samples))) if samples > 0 => samples as u32,
        _ => return Err(format!("there is no attribute {SAMPLES}")),
    };
    let [width, height] = file.size;
    Ok(Measurement { width, height, mean: pixels("")?, variance: pixels("variance.")?, samples })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Measurement {
        let value =
            |i: u32, scale: f32| [0, 1, 2].map(|c| scale * (1.0 + (i * 3 + c) as f32).sqrt());
        Measurement {
            width: 5,
            height: 3,
            mean: (0..15).map(|i| value(i, 0.7)).collect(),
            variance: (0..15)
                .map(|i| if i == 4 { [f32::INFINITY; 3] } else { value(i, 1e-20) })
                .collect(),
            samples: 12,
        }
    }

    #[test]
    fn files_round_trip_losslessly() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.exr");
        example()
            .write(&path, vec![("lightbound/seed".into(), Attribute::Text("7".into()))])
            .unwrap();
        assert_eq!(Measurement::read(&path).unwrap(), example());
    }

    #[test]
    fn missing_channels_and_attributes_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.exr");
        let message = |path: &Path| Measurement::read(path).unwrap_err().to_string();
        assert!(message(&path).contains("a.exr: cannot be read"));
        let plane =
            |name: &str| Channel { name: name.into(), samples: ChannelSamples::F32(vec![0.0; 2]) };
        let mut image = ExrImage {
            size: [2, 1],
            full_size: [2, 1],
            channels: vec![plane("R")],
            ..Default::default()
        };
        write_exr(&path, &image).unwrap();
        assert!(message(&path).contains("no attribute lightbound/samples"), "{}", message(&path));
        image.attributes.push((SAMPLES.into(), Attribute::Int(4)));
        write_exr(&path, &image).unwrap();
        assert!(message(&path).contains("no channel G"), "{}", message(&path));
        image.channels.extend(["G", "B"].map(plane));
        write_exr(&path, &image).unwrap();
        assert!(message(&path).contains("no channel variance.R"), "{}", message(&path));
    }
}
