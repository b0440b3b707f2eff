//! The option `--denoise`: a denoised image beside the image.

use super::image_file::ImageFile;
use super::job::RenderJob;
use crate::Error;
use crate::denoise::{denoise, denoise_file, denoised_name};
use crate::output::{ImageFormat, OutputFile};
use lightbound::film::{Film, FilmOptions};
use lightbound_denoise::Denoiser;
use lightbound_image::ExrHeader;
use lightbound_image::layers::{COLOUR, Layer, Layers, PixelRect};
use lightbound_image::write::{Channel, ChannelSamples};
use std::path::Path;

/// The denoised image of a rendering.
pub struct DenoisedFile {
    denoiser: Denoiser,
    /// The file.
    pub output: OutputFile,
}

impl DenoisedFile {
    /// Checks that an image can be denoised, and that the result can be written beside it.
    pub fn check(image_file: &ImageFile, threads: usize) -> Result<DenoisedFile, Error> {
        let path = image_file.output.path().filter(|_| !image_file.output.is_write_once());
        let path = path.ok_or_else(|| {
            let name = image_file.output.name().display();
            Error::option(
                format!("--denoise writes a second file beside the image, and {name} is no file"),
                "name a file with -o, or leave out --denoise and use `lightbound denoise`",
            )
        })?;
        let output = OutputFile::check(&denoised_name(path))?;
        Ok(DenoisedFile { denoiser: Denoiser::load(threads)?, output })
    }

    /// Denoises an .exr, from its file.
    pub fn write_exr(&self, path: &Path) -> Result<String, Error> {
        denoise_file(&self.denoiser, path, &self.output, ImageFormat::Exr, 0.0)
    }

    /// Writes the denoised image of a film, which has albedo and normal, in the format of the image.
    /// Returns a summary in one line.
    pub fn write(&self, job: RenderJob, film: &Film) -> Result<String, Error> {
        let (path, format) = (job.image_file.output.name(), job.image_file.format);
        if format == ImageFormat::Exr {
            return self.write_exr(path);
        }
        let image = film.image();
        let features = image.features.unwrap_or_default();
        let radiance = job.loaded.settings.colour_space.to_srgb(image.radiance);
        let window = image.window;
        let data_window = PixelRect::from_size(0, 0, window.width().into(), window.height().into());
        let layer = |name: &str, channels: [&str; 3], pixels: &[[f32; 3]]| {
            let channel = |k: usize| Channel {
                name: channels[k].into(),
                samples: ChannelSamples::F32(pixels.iter().map(|pixel| pixel[k]).collect()),
            };
            Layer { name: name.into(), data_window, channels: [0, 1, 2].map(channel).into() }
        };
        let layers = vec![
            layer(COLOUR, ["R", "G", "B"], &radiance),
            layer("albedo", ["R", "G", "B"], &features.albedo),
            layer("normal", ["X", "Y", "Z"], &features.normal),
        ];
        let image = Layers {
            display_window: data_window,
            has_position: false,
            is_display_referred: false,
            layers,
        };
        let exposure = job.args.exposure.unwrap_or(0.0);
        let image = (image, ExrHeader::default());
        denoise(&self.denoiser, image, path, &self.output, format, exposure)
    }
}

/// Adds the data that guide the denoiser to those that a film stores.
pub fn with_guides(mut options: FilmOptions) -> FilmOptions {
    options.features.albedo = true;
    options.features.normal = true;
    options
}
