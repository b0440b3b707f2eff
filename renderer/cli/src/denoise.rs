//! `lightbound denoise`, and the option `--denoise` of `render`: Intel Open Image Denoise.

use super::convert::{Encoder, check_windows, encode, expose, floats};
use super::input;
use super::interrupt::Interrupt;
use super::numbers::integer;
use super::output::{ImageFormat, OutputFile, is_stream};
use super::render::{MAX_THREADS, all_threads, parse_exposure};
use super::{Error, Exit, console};
use lightbound::film::is_exact_sum;
use lightbound_denoise::{DenoiseError, Denoiser, Images};
use lightbound_image::ExrHeader;
use lightbound_image::layers::{COLOUR, Layer, Layers, decode_layers, is_exr};
use lightbound_image::write::{ChannelSamples, save};
use std::path::{Path, PathBuf};
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  lightbound denoise picture.exr                 writes picture-denoised.exr
  lightbound denoise picture.exr clean.png --exposure 1
  lightbound render scene.pbrt -o picture.exr --denoise       both in one command

The layers albedo and normal guide the filter, so that edges and textures stay
sharp; `render` writes them by default. An .exr has all layers of the input, the
denoised colour as R, G and B, and the original one as the layer noisy. Its
attribute lightbound/denoised names the library.

Needs Open Image Denoise 2: that of the system, or libOpenImageDenoise.so.2 at
the path in LIGHTBOUND_OIDN. Its pictures may differ between versions and CPUs.";

/// Options of `denoise`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub struct Args {
    /// Noisy image: EXR, PFM, HDR, PNG, JPEG or TGA; - reads stdin
    #[arg(value_name = "IN")]
    pub input: PathBuf,

    /// Denoised image: .exr, .png or .pfm; exr:-, png:- or pfm:- writes to stdout [default: the
    /// input's name with -denoised]
    #[arg(value_name = "OUT")]
    pub output: Option<PathBuf>,

    /// Exposure of a .png in stops [default: 0]
    #[arg(long, value_name = "STOPS", value_parser = parse_exposure)]
    pub exposure: Option<f32>,

    /// Number of threads [default: all]
    #[arg(long, value_name = "N", value_parser = integer(1..=MAX_THREADS))]
    pub threads: Option<u16>,

    /// Print nothing but warnings and errors
    #[arg(short, long)]
    pub quiet: bool,
}

impl From<DenoiseError> for Error {
    fn from(error: DenoiseError) -> Error {
        Error::option(error.to_string(), error.remedy())
    }
}

/// Name of the layer with the colour before denoising.
const NOISY: &str = "noisy";

/// EXR attribute with the library that denoised the colour.
const DENOISED: &str = "lightbound/denoised";

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    // Signals end the command, without a message, and leave no temporary files.
    Interrupt::install(true);
    let path = match &args.output {
        Some(path) => path.clone(),
        None if is_stream(&args.input) => {
            return Err(Error::option(
                "the denoised image has no name, since the input is stdin",
                "name the output, as in lightbound denoise - clean.exr",
            ));
        }
        None => denoised_name(&args.input),
    };
    let format = ImageFormat::from_option(&path)?;
    if args.exposure.is_some() && format != ImageFormat::Png {
        return Err(Error::option(
            format!("--exposure needs a .png file; `{}` is linear", path.display()),
            "write a .png file, or leave it out",
        ));
    }
    let output = OutputFile::check(&path)?;
    if output.is_same_file(&args.input) {
        return Err(Error::option(
            format!("the output would overwrite the image `{}`", args.input.display()),
            "name another file",
        ));
    }
    let denoiser = Denoiser::load(args.threads.map_or_else(all_threads, usize::from))?;
    let exposure = args.exposure.unwrap_or(0.0);
    let summary = denoise_file(&denoiser, &args.input, &output, format, exposure)?;
    if !args.quiet {
        console::print(&summary);
    }
    Ok(Exit::Success)
}

/// Returns the name of the denoised image beside an image. Formats that are not written become
/// .exr.
pub fn denoised_name(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let format = ImageFormat::from_extension(path).unwrap_or(ImageFormat::Exr);
    path.with_file_name(format!("{stem}-denoised.{}", format.extension()))
}

/// Denoises the image of a file. Returns a summary in one line.
pub fn denoise_file(
    denoiser: &Denoiser,
    path: &Path,
    output: &OutputFile,
    format: ImageFormat,
    exposure: f32,
) -> Result<String, Error> {
    let data = input::image_data(path)?;
    let file = input::name(path);
    let image = decode_layers(file, &data).map_err(Error::Image)?;
    let header = match is_exr(&data) {
        true => input::exr_header(path, &data)?,
        false => ExrHeader::default(),
    };
    drop(data);
    denoise(denoiser, (image, header), file, output, format, exposure)
}

/// Denoises an image with a header, from a file of this name. Returns a summary in one line.
pub fn denoise(
    denoiser: &Denoiser,
    (mut image, mut header): (Layers, ExrHeader),
    file: &Path,
    output: &OutputFile,
    format: ImageFormat,
    exposure: f32,
) -> Result<String, Error> {
    let begin = Instant::now();
    // Sums and variances are those of the noisy colour.
    image.layers.retain(|layer| !is_exact_sum(&layer.name) && layer.name != input::VARIANCE);
    let invalid = |problem: &str, help: &str| {
        Err(Error::Data { message: format!("{}: {problem}", file.display()), help: help.into() })
    };
    let colour = image.layers.first().filter(|layer| layer.name == COLOUR && layer.is_colour());
    let Some((noisy, colour)) = colour.and_then(|layer| Some((layer.clone(), pixels(layer)?)))
    else {
        return invalid("has no colour, as the channels R, G and B", "denoise a rendered image");
    };
    if image.get(NOISY).is_some() {
        return invalid("is denoised already", "denoise the image that it was made from");
    }
    let window = noisy.data_window;
    if format == ImageFormat::Exr {
        check_windows(&image, file)?;
    }
    let guide =
        |name: &str| image.get(name).filter(|layer| layer.data_window == window).and_then(pixels);
    let (albedo, normal) = (guide("albedo"), guide("normal"));
    let denoised = denoiser.denoise(&Images {
        size: [window.width(), window.height()],
        colour: &colour,
        albedo: albedo.as_deref(),
        normal: normal.as_deref(),
        is_hdr: !image.is_display_referred,
    })?;
    for (k, plane) in floats(&mut image.layers[0]).enumerate() {
        std::iter::zip(plane, &denoised).for_each(|(x, pixel)| *x = pixel[k]);
    }
    let encoder = Encoder::new(format, None)?;
    if format == ImageFormat::Exr {
        image.layers.push(Layer { name: NOISY.into(), ..noisy });
        header.set_text(DENOISED, &denoiser.name());
    } else {
        let is_opacity = |layer: &Layer| layer.name == "A";
        image.layers.retain(|layer| layer.name == COLOUR || is_opacity(layer));
        input::convert_to_srgb(&mut image.layers[0], COLOUR, &mut header, file);
        expose(&mut image, exposure);
    }
    let bytes = encode(&image, encoder, header, file, false)?;
    output.write(|path| save(path, &bytes))?;
    let guides: Vec<&str> = [("albedo", albedo.is_some()), ("normal", normal.is_some())]
        .into_iter()
        .filter_map(|(name, is_used)| is_used.then_some(name))
        .collect();
    let guides = match guides.as_slice() {
        [] => "without albedo and normal".to_string(),
        names => format!("with {}", names.join(" and ")),
    };
    Ok(format!(
        "{}: denoised {guides} by {} in {}",
        output.name().display(),
        denoiser.name(),
        console::duration(begin.elapsed())
    ))
}

/// Returns the pixels of a layer with one float channel, which is repeated, or three.
fn pixels(layer: &Layer) -> Option<Vec<[f32; 3]>> {
    let samples = layer.channels.iter().map(|channel| match &channel.samples {
        ChannelSamples::F32(samples) => Some(samples.as_slice()),
        ChannelSamples::U32(_) => None,
    });
    let planes = samples.collect::<Option<Vec<_>>>()?;
    match planes[..] {
        [grey] => Some(grey.iter().map(|&x| [x; 3]).collect()),
        [a, b, c] => Some((0..a.len()).map(|i| [a[i], b[i], c[i]]).collect()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_denoised_images() {
        let name = |path: &str| denoised_name(Path::new(path)).display().to_string();
        assert_eq!(name("out/a.exr"), "out/a-denoised.exr");
        assert_eq!(name("a.b.png"), "a.b-denoised.png");
        assert_eq!(name("studio.hdr"), "studio-denoised.exr");
    }
}
