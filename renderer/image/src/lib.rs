//! Image I/O, [comparison metrics](mod@compare) and [false-colour maps](heatmap).
//!
//! An [`Image`] holds a texture or an environment map. It stores samples as its file has them: in
//! half or single precision, or as codes of 8 or 16 bits, which are decoded through a table on
//! access. So an 8-bit texture takes one byte per sample, and callers always get linear values.
//! Rendered images are written by [`mod@write`].
//!
//! ```
//! use lightbound_image::compare::{Metric, Planes, compare};
//!
//! // Two grey images of 2 × 1 pixels; relMSE is the mean of (A − B)² / (B² + 0.01).
//! let test = Planes::new(2, 1, vec![vec![1.0, 0.5]]);
//! let reference = Planes::new(2, 1, vec![vec![0.5, 0.5]]);
//! let comparison = compare(&test, &reference, &[Metric::RelMse], 0.0);
//! let rel_mse = comparison.value(Metric::RelMse).unwrap().overall;
//! assert!((rel_mse - 0.5 * 0.25 / 0.26).abs() < 1e-6);
//! ```

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod compare;
mod crop;
mod digits;
mod encoding;
mod exr_blocks;
mod exr_rows;
#[allow(clippy::disallowed_methods, reason = "colours of maps may differ in the last bit")]
pub mod heatmap;
pub mod inspect;
mod isolation;
pub mod layers;
pub mod read;
mod read_exr;
mod read_jpeg;
mod resize;
mod samples;
mod srgb_codes;
mod tone_map;
mod window;
pub mod write;
mod write_layers;
mod write_png;

pub use crop::{Crop, CropError};
pub use digits::six_digits;
pub use encoding::{Encoding, EncodingError, linear_to_srgb};
pub use exr::prelude::f16;
pub use exr_rows::read_exr_blocks;
use glam::Mat3;
use lightbound_math::Vec3;
use lightbound_math::spectrum::Primaries;
pub use read_exr::{read_exr, read_exr_channel_names, read_exr_header};
pub use samples::{Codes, Samples};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
pub use tone_map::{ToneMap, exposure_gain};
pub use window::Window;
pub use write_layers::{ExrDepth, ExrHeader, encode_exr_layers, half_overflows};
pub use write_png::{PngDepth, encode_png_planes};

/// An error while reading or writing an image.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct ImageError {
    /// The file.
    pub path: PathBuf,
    /// The cause and a remedy.
    pub problem: Problem,
}

/// The cause of an [`ImageError`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Reading the file failed.
    #[error("cannot be read ({0}); {help}", help = read_remedy(.0))]
    Read(std::io::Error),
    /// The file is empty.
    #[error("the file is empty; export the image again")]
    Empty,
    /// Writing the file failed; an existing file is unchanged.
    #[error(
        "cannot be written ({0}); check the folder, its permissions and the free disk space, or choose another path"
    )]
    Write(std::io::Error),
    /// Neither content nor file name indicates a known format.
    #[error("unknown image format; convert the file to EXR, PNG, JPEG, TGA, HDR or PFM")]
    UnknownFormat,
    /// The content is not valid in its format.
    #[error("damaged or unsupported {format} file ({message}); export the image again")]
    Damaged {
        /// The format.
        format: &'static str,
        /// The decoder's message.
        message: String,
    },
    /// No layer has colour channels; holds the names of the channels.
    #[error(
        "no layer with channels R, G, B or Y; the channels are {0}; export the colour to channels named R, G, B or Y"
    )]
    NoColour(String),
    /// More than [`MAX_PIXELS`] pixels.
    #[error("{width} × {height} pixels are more than {max}; scale the image down", max = MAX_PIXELS)]
    TooLarge {
        /// Width in pixels.
        width: u64,
        /// Height in pixels.
        height: u64,
    },
    /// The format cannot represent the image.
    #[error("cannot be written as {format} ({message})")]
    Unwritable {
        /// The format.
        format: &'static str,
        /// The encoder's message.
        message: String,
    },
}

/// Returns the remedy for an error while a file is read.
pub fn read_remedy(cause: &std::io::Error) -> &'static str {
    match cause.kind() {
        ErrorKind::NotFound => "check the path",
        ErrorKind::IsADirectory => "name a file in this folder",
        ErrorKind::PermissionDenied => "check the permissions of the file and its folder",
        _ => "check the file and its storage device",
    }
}

impl Problem {
    /// Attaches the path of the file.
    fn in_file(self, path: &Path) -> ImageError {
        ImageError { path: path.into(), problem: self }
    }
}

/// Maximum number of pixels: 2²⁸ (16384 × 16384).
pub const MAX_PIXELS: u64 = 1 << 28;

/// The channels of an image, interleaved in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channels {
    /// One channel.
    Grey = 1,
    /// Red, green, blue.
    Rgb = 3,
    /// Red, green, blue, and an opacity.
    Rgba = 4,
}

/// An image, row by row from the top.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    width: u32,
    height: u32,
    channels: Channels,
    samples: Samples,
    primaries: Primaries,
}

impl Image {
    /// Creates an image from linear samples.
    ///
    /// # Panics
    /// If `samples` does not have `width * height * channels` elements, or the image has no pixels.
    pub fn from_f32(width: u32, height: u32, channels: Channels, samples: Vec<f32>) -> Image {
        assert_eq!(samples.len(), sample_count(width, height, channels));
        let primaries = Primaries::SRGB;
        Image { width, height, channels, samples: Samples::F32(samples), primaries }
    }

    /// Creates an image from 8-bit samples in `encoding`.
    ///
    /// # Panics
    /// See [`Image::from_f32`].
    pub fn from_u8(
        width: u32,
        height: u32,
        channels: Channels,
        codes: Vec<u8>,
        encoding: Encoding,
    ) -> Image {
        assert_eq!(codes.len(), sample_count(width, height, channels));
        let samples = Samples::U8(Codes::<u8>::new(codes, encoding));
        Image { width, height, channels, samples, primaries: Primaries::SRGB }
    }

    /// Creates an image from 16-bit samples in `encoding`.
    ///
    /// # Panics
    /// See [`Image::from_f32`].
    pub fn from_u16(
        width: u32,
        height: u32,
        channels: Channels,
        codes: Vec<u16>,
        encoding: Encoding,
    ) -> Image {
        assert_eq!(codes.len(), sample_count(width, height, channels));
        let samples = Samples::U16(Codes::<u16>::new(codes, encoding));
        Image { width, height, channels, samples, primaries: Primaries::SRGB }
    }

    /// Creates an image from linear samples in half precision.
    ///
    /// # Panics
    /// See [`Image::from_f32`].
    pub fn from_f16(width: u32, height: u32, channels: Channels, samples: Vec<f16>) -> Image {
        assert_eq!(samples.len(), sample_count(width, height, channels));
        let primaries = Primaries::SRGB;
        Image { width, height, channels, samples: Samples::F16(samples), primaries }
    }

    /// Returns the primaries of its colours: sRGB, unless an EXR file says otherwise.
    pub fn primaries(&self) -> Primaries {
        self.primaries
    }

    /// Converts the colours to linear sRGB by a matrix from the image's primaries. Grey images and
    /// images of codes, which are sRGB already, stay as they are. Halves become floats.
    #[must_use]
    pub fn into_srgb(mut self, srgb_from_rgb: Mat3) -> Image {
        if self.channels != Channels::Grey {
            if let Samples::F16(samples) = &self.samples {
                self.samples = Samples::F32(samples.iter().map(|sample| sample.to_f32()).collect());
            }
            if let Samples::F32(samples) = &mut self.samples {
                for pixel in samples.chunks_exact_mut(self.channels as usize) {
                    (srgb_from_rgb * Vec3::from_slice(pixel)).write_to_slice(pixel);
                }
            }
        }
        self.primaries = Primaries::SRGB;
        self
    }

    /// Returns the width in pixels.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Returns the height in pixels.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Returns the channels.
    pub fn channels(&self) -> Channels {
        self.channels
    }

    /// Returns the linear colour of a pixel; y counts from the top.
    ///
    /// # Panics
    /// If the pixel is outside the image.
    pub fn rgb(&self, x: u32, y: u32) -> Vec3 {
        let i = self.offset(x, y);
        let is_grey = self.channels == Channels::Grey;
        match &self.samples {
            Samples::F32(samples) => colour(is_grey, i, |i| samples[i]),
            Samples::F16(samples) => colour(is_grey, i, |i| samples[i].to_f32()),
            Samples::U16(samples) => colour(is_grey, i, |i| samples.colour(i)),
            Samples::U8(samples) => colour(is_grey, i, |i| samples.colour(i)),
        }
    }

    /// Returns the value of a pixel for a float texture, as in pbrt-v4: the opacity if the image
    /// has one, else the mean of red, green and blue, or the grey value.
    ///
    /// # Panics
    /// If the pixel is outside the image.
    pub fn float(&self, x: u32, y: u32) -> f32 {
        match self.channels {
            Channels::Rgba => self.samples.opacity(self.offset(x, y) + 3),
            Channels::Grey => self.rgb(x, y).x,
            Channels::Rgb => self.rgb(x, y).element_sum() / 3.0,
        }
    }

    /// Returns the linear colours of all pixels, row by row from the top.
    pub fn pixels(&self) -> impl Iterator<Item = Vec3> {
        (0..self.height).flat_map(move |y| (0..self.width).map(move |x| self.rgb(x, y)))
    }

    /// Returns the samples.
    pub fn samples(&self) -> &Samples {
        &self.samples
    }

    /// Drops the opacity if it is 1 everywhere.
    fn without_opaque_alpha(mut self) -> Image {
        if self.channels == Channels::Rgba {
            let is_opaque = self.samples.drop_opaque_alpha();
            self.channels = if is_opaque { Channels::Rgb } else { Channels::Rgba };
        }
        self
    }

    /// Returns whether samples are stored as codes, so that all values are from 0 to 1.
    pub fn has_codes(&self) -> bool {
        matches!(self.samples, Samples::U8(_) | Samples::U16(_))
    }

    /// Returns the memory of the samples in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.samples.memory_bytes()
    }

    fn offset(&self, x: u32, y: u32) -> usize {
        assert!(
            x < self.width && y < self.height,
            "pixel ({x}, {y}) is outside of {} × {} pixels",
            self.width,
            self.height
        );
        (y as usize * self.width as usize + x as usize) * self.channels as usize
    }
}

/// Returns the colour of the pixel with its first sample at an index.
fn colour(is_grey: bool, index: usize, sample: impl Fn(usize) -> f32) -> Vec3 {
    if is_grey {
        Vec3::splat(sample(index))
    } else {
        Vec3::new(sample(index), sample(index + 1), sample(index + 2))
    }
}

fn sample_count(width: u32, height: u32, channels: Channels) -> usize {
    assert!(width > 0 && height > 0, "the image has no pixels");
    width as usize * height as usize * channels as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_are_decoded_in_each_channel_layout() {
        let grey = Image::from_f32(2, 1, Channels::Grey, vec![0.25, 3.0]);
        assert_eq!((grey.rgb(1, 0), grey.float(1, 0)), (Vec3::splat(3.0), 3.0));
        let rgb = Image::from_f32(1, 2, Channels::Rgb, vec![0.0, 0.0, 0.0, 1.0, 2.0, 6.0]);
        assert_eq!((rgb.rgb(0, 1), rgb.float(0, 1)), (Vec3::new(1.0, 2.0, 6.0), 3.0));
        assert!(rgb.pixels().eq([Vec3::ZERO, Vec3::new(1.0, 2.0, 6.0)]));
        let rgba = Image::from_u8(1, 1, Channels::Rgba, vec![0, 128, 255, 51], Encoding::Srgb);
        assert_eq!(rgba.rgb(0, 0), Vec3::new(0.0, Encoding::Srgb.decode(128.0 / 255.0), 1.0));
        assert_eq!(rgba.float(0, 0), 0.2);
        let opaque =
            Image::from_f32(1, 2, Channels::Rgba, vec![0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 6.0, 1.0]);
        assert_eq!(opaque.without_opaque_alpha(), rgb);
        assert_eq!(rgba.clone().without_opaque_alpha(), rgba);
        assert_eq!((rgb.memory_bytes(), rgba.memory_bytes()), (24, 4 + 1024));
    }

    #[test]
    fn samples_of_16_bits_have_the_values_of_floats() {
        let codes: Vec<u16> = (0..48).map(|k| (k * k * 28) as u16).collect();
        for channels in [Channels::Grey, Channels::Rgb, Channels::Rgba] {
            let width = 48 / channels as u32;
            let pixels = |image: &Image| -> Vec<[f32; 4]> {
                let pixel =
                    |x| [image.rgb(x, 0).to_array().as_slice(), &[image.float(x, 0)]].concat();
                (0..width).map(|x| pixel(x).try_into().unwrap()).collect()
            };
            for encoding in [Encoding::Srgb, Encoding::Linear, Encoding::Gamma(2.2)] {
                let decoded = codes.iter().enumerate().map(|(i, &code)| {
                    let is_opacity = channels == Channels::Rgba && i % 4 == 3;
                    let stored = f32::from(code) / 65535.0;
                    if is_opacity { stored } else { encoding.decode(stored) }
                });
                let floats = Image::from_f32(width, 1, channels, decoded.collect());
                let image = Image::from_u16(width, 1, channels, codes.clone(), encoding);
                assert_eq!(pixels(&image), pixels(&floats), "{channels:?} {encoding:?}");
                assert!(image.has_codes() && !floats.has_codes());
            }
            let halves: Vec<f16> =
                codes.iter().map(|&code| f16::from_bits(code & 0xbfff)).collect();
            let floats = halves.iter().map(|sample| sample.to_f32()).collect();
            let floats = Image::from_f32(width, 1, channels, floats);
            let image = Image::from_f16(width, 1, channels, halves);
            assert_eq!(pixels(&image), pixels(&floats), "{channels:?}");
            assert_eq!((image.memory_bytes(), floats.memory_bytes()), (96, 192));
            let matrix = Mat3::from_diagonal(glam::Vec3::new(2.0, 0.5, 3.0));
            assert_eq!(pixels(&image.into_srgb(matrix)), pixels(&floats.into_srgb(matrix)));
        }
    }
}
