//! Pictures in memory, and their way to and from files.
//!
//! An [`Image`] serves textures and environment maps: it keeps 8-bit samples as they are and
//! decodes them with a table when a pixel is read, so that a texture costs the memory of its file
//! format and every reader sees linear values. What the renderer makes is written by [`mod@write`].

mod encoding;
pub mod layers;
pub mod read;
mod read_exr;
pub mod write;

use crate::math::Vec3;
pub(crate) use encoding::srgb;
pub use encoding::{Encoding, EncodingError};
pub use read_exr::{read_exr, read_exr_header};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Why a picture could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct ImageError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong, and what helps.
    pub problem: Problem,
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The operating system refused to read.
    #[error("cannot be read ({0}); {help}", help = remedy(.0))]
    Read(std::io::Error),
    /// There is nothing in it.
    #[error("the file is empty; export the image again")]
    Empty,
    /// The operating system refused to write; an earlier file of the name is untouched.
    #[error(
        "cannot be written ({0}); check the folder, its permissions and the space left, or choose another place"
    )]
    Write(std::io::Error),
    /// Neither content nor name say a known format.
    #[error("unknown image format; convert the file to EXR, PNG, JPEG, TGA, HDR or PFM")]
    UnknownFormat,
    /// The content does not follow its format.
    #[error("damaged or unsupported {format} file ({message}); export the image again")]
    Damaged {
        /// The format.
        format: &'static str,
        /// What the decoder says.
        message: String,
    },
    /// No channels that make a colour.
    #[error(
        "no layer with channels R, G, B or Y; the channels are {0}; export the colour under these names"
    )]
    NoColour(String),
    /// More pixels than any machine at hand could want.
    #[error("{width} × {height} pixels are more than {max}; scale the image down", max = MAX_PIXELS)]
    TooLarge {
        /// Pixels along x.
        width: u64,
        /// Pixels along y.
        height: u64,
    },
    /// The picture to write does not fit the format.
    #[error("cannot be written as {format} ({message})")]
    Unwritable {
        /// The format.
        format: &'static str,
        /// What the encoder says.
        message: String,
    },
}

/// What helps where reading was refused.
fn remedy(cause: &std::io::Error) -> &'static str {
    match cause.kind() {
        ErrorKind::NotFound => "check the path",
        ErrorKind::IsADirectory => "name a file in this folder",
        ErrorKind::PermissionDenied => "check the permissions of the file and its folder",
        _ => "check the file, and what it is stored on",
    }
}

impl Problem {
    /// The error of `path`.
    fn of(self, path: &Path) -> ImageError {
        ImageError { path: path.into(), problem: self }
    }
}

/// Pixels above which an image is refused: 2²⁸, a square of 16384 by 16384.
pub const MAX_PIXELS: u64 = 1 << 28;

/// Which channels an image has, interleaved in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channels {
    /// One channel.
    Grey = 1,
    /// Red, green, blue.
    Rgb = 3,
    /// Red, green, blue, and opacity that is not 1 everywhere.
    Rgba = 4,
}

/// An image; the first row is the top one.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    width: u32,
    height: u32,
    channels: Channels,
    samples: Samples,
}

#[derive(Clone, Debug, PartialEq)]
enum Samples {
    /// Linear.
    F32(Vec<f32>),
    /// Encoded; `decode` is the linear value of each code. Opacity is linear whatever the encoding
    /// (PNG 1.2 §6.2).
    U8 { codes: Vec<u8>, decode: Box<[f32; 256]> },
}

impl Image {
    /// An image of linear samples.
    ///
    /// # Panics
    /// If `samples` is not `width * height * channels` long, or there is no pixel.
    pub fn from_f32(width: u32, height: u32, channels: Channels, samples: Vec<f32>) -> Image {
        assert_eq!(samples.len(), sample_count(width, height, channels));
        Image { width, height, channels, samples: Samples::F32(samples) }
    }

    /// An image of 8-bit samples in `encoding`.
    ///
    /// # Panics
    /// As [`Image::from_f32`].
    pub fn from_u8(
        width: u32,
        height: u32,
        channels: Channels,
        codes: Vec<u8>,
        encoding: Encoding,
    ) -> Image {
        assert_eq!(codes.len(), sample_count(width, height, channels));
        let decode = Box::new(std::array::from_fn(|i| encoding.decode(i as f32 / 255.0)));
        Image { width, height, channels, samples: Samples::U8 { codes, decode } }
    }

    /// Pixels along x.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Pixels along y.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Which channels there are.
    pub fn channels(&self) -> Channels {
        self.channels
    }

    /// Linear colour of a pixel; y counts from the top.
    ///
    /// # Panics
    /// Outside the image.
    pub fn rgb(&self, x: u32, y: u32) -> Vec3 {
        let at = self.offset(x, y);
        match (&self.samples, self.channels) {
            (Samples::F32(s), Channels::Grey) => Vec3::splat(s[at]),
            (Samples::F32(s), _) => Vec3::from_slice(&s[at..at + 3]),
            (Samples::U8 { codes, decode }, Channels::Grey) => {
                Vec3::splat(decode[codes[at] as usize])
            }
            (Samples::U8 { codes, decode }, _) => {
                let [r, g, b] = [0, 1, 2].map(|c| decode[codes[at + c] as usize]);
                Vec3::new(r, g, b)
            }
        }
    }

    /// What a float texture sees of a pixel, as pbrt-v4 has it: grey as it is, the mean of red,
    /// green and blue, or the opacity where the image has one.
    ///
    /// # Panics
    /// Outside the image.
    pub fn float(&self, x: u32, y: u32) -> f32 {
        match (self.channels, &self.samples) {
            (Channels::Rgba, Samples::F32(s)) => s[self.offset(x, y) + 3],
            (Channels::Rgba, Samples::U8 { codes, .. }) => {
                codes[self.offset(x, y) + 3] as f32 / 255.0
            }
            (Channels::Grey, _) => self.rgb(x, y).x,
            (Channels::Rgb, _) => self.rgb(x, y).element_sum() / 3.0,
        }
    }

    /// Linear colours of all pixels, row by row from the top.
    pub fn pixels(&self) -> impl Iterator<Item = Vec3> {
        (0..self.height).flat_map(move |y| (0..self.width).map(move |x| self.rgb(x, y)))
    }

    /// The image without its opacity, if that is 1 everywhere.
    fn without_idle_opacity(mut self) -> Image {
        if self.channels == Channels::Rgba {
            let opaque = match &mut self.samples {
                Samples::F32(samples) => drop_fourths(samples, 1.0),
                Samples::U8 { codes, .. } => drop_fourths(codes, u8::MAX),
            };
            self.channels = if opaque { Channels::Rgb } else { Channels::Rgba };
        }
        self
    }

    /// Memory of the samples.
    pub fn memory_bytes(&self) -> usize {
        match &self.samples {
            Samples::F32(s) => size_of_val(s.as_slice()),
            Samples::U8 { codes, decode } => codes.len() + size_of_val(decode.as_ref()),
        }
    }

    fn offset(&self, x: u32, y: u32) -> usize {
        assert!(
            x < self.width && y < self.height,
            "pixel {x}, {y} of {} × {}",
            self.width,
            self.height
        );
        (y as usize * self.width as usize + x as usize) * self.channels as usize
    }
}

/// Takes the last of each four samples away, if all those are `idle`; tells whether they were.
fn drop_fourths<T: Copy + PartialEq>(samples: &mut Vec<T>, idle: T) -> bool {
    let are_idle = samples.chunks_exact(4).all(|pixel| pixel[3] == idle);
    if are_idle {
        let pixels = samples.len() / 4;
        // In place, for images are large.
        (0..pixels).for_each(|i| samples.copy_within(4 * i..4 * i + 3, 3 * i));
        samples.truncate(3 * pixels);
        samples.shrink_to_fit();
    }
    are_idle
}

fn sample_count(width: u32, height: u32, channels: Channels) -> usize {
    assert!(width > 0 && height > 0, "an image without pixels");
    width as usize * height as usize * channels as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_readers_see_of_each_layout() {
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
        assert_eq!(opaque.without_idle_opacity(), rgb);
        assert_eq!(rgba.clone().without_idle_opacity(), rgba);
        assert_eq!((rgb.memory_bytes(), rgba.memory_bytes()), (24, 4 + 1024));
    }
}
