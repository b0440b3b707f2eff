//! `lightbound convert`: converts an image to another format, size, exposure or layer.

use super::input::{self, VARIANCE};
use super::interrupt::Interrupt;
use super::output::{ImageFormat, OutputFile};
use super::render::parse_exposure;
use super::{Error, Exit, console};
use lightbound::film::{NO_DEPTH, is_exact_sum};
use lightbound::light::LatLongMap;
use lightbound::math::Vec3;
use lightbound::part;
use lightbound_image::layers::{COLOUR, Layer, Layers, PixelRect, decode_layers, is_exr};
use lightbound_image::write::{Channel, ChannelSamples, encode_pfm, save};
use lightbound_image::{
    Crop, ExrDepth, ExrHeader, ImageError, MAX_PIXELS, PngDepth, Problem, ToneMap,
    encode_exr_layers, encode_png_planes, exposure_gain, half_overflows,
};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  lightbound convert picture.exr picture.png --exposure 1 --tonemap agx
  lightbound convert picture.exr picture.png --bits 16
  lightbound convert picture.exr half.exr --bits 16            all layers, as half floats
  lightbound convert picture.exr small.exr --resize 50%
  lightbound convert picture.exr albedo.png --layer albedo
  lightbound convert photo.jpg photo.exr                       decoded from sRGB
  lightbound convert studio.hdr studio.exr --envmap equiarea   for pbrt-v4
  lightbound convert picture.exr png:- --crop 0.4,0.6,0.4,0.6 > detail.png

The steps are, in this order: layer, crop, resize, environment map, exposure,
tone mapping, encoding. All but the last work on linear values.

An .exr of an .exr has all layers and attributes, except for the exact sums of a
part. With --layer, --envmap, --exposure or --tonemap it has one layer; other
formats always have one: the colour, unless --layer selects another. Opacity is
kept in .exr and .png, except with --envmap.";

/// Options of `convert`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub struct Args {
    /// Input image: EXR, PFM, HDR, PNG, JPEG or TGA; - reads stdin
    #[arg(value_name = "IN")]
    pub input: PathBuf,

    /// Output image: .exr, .png or .pfm; exr:-, png:- or pfm:- writes to stdout
    #[arg(value_name = "OUT")]
    pub output: PathBuf,

    /// Convert one layer or channel of an .exr, such as albedo or depth.Z
    #[arg(short, long, value_name = "NAME")]
    pub layer: Option<String>,

    /// Crop to columns x0..x1 and rows y0..y1, exclusive of x1 and y1, from the upper left corner
    /// of the full image; fractions if all are from 0 to 1, otherwise pixels
    #[arg(long, value_name = "x0,x1,y0,y1", allow_hyphen_values = true)]
    pub crop: Option<Crop>,

    /// Resize to this many pixels, as in 640x360, 640x or x360, which keep the proportions; or to a
    /// percentage, as in 50%
    ///
    /// The filter preserves the mean, has no negative weights, and causes no ringing. Ids and
    /// depths are taken from the nearest pixel. The layer `variance` is left out.
    #[arg(long, value_name = "WxH", value_parser = parse_size, allow_hyphen_values = true)]
    pub resize: Option<Size>,

    /// Resample an environment map of latitude and longitude to this layout
    #[arg(long, value_name = "LAYOUT", value_enum)]
    pub envmap: Option<EnvmapLayout>,

    /// Exposure in stops [default: 0]
    #[arg(long, value_name = "STOPS", value_parser = parse_exposure)]
    pub exposure: Option<f32>,

    /// Tone mapping
    #[arg(long, value_enum, default_value = "none")]
    pub tonemap: ToneMapName,

    /// Bits per sample: 8 or 16 for .png, 16 (half floats) or 32 for .exr [default: 8 or 32]
    #[arg(long, value_name = "N", value_parser = parse_bits)]
    pub bits: Option<u8>,

    /// Print nothing but warnings and errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// Layout of an environment map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum EnvmapLayout {
    /// Square, equal-area octahedral: that of pbrt-v4, as by `imgtool makeequiarea`
    Equiarea,
}

/// A tone mapping curve by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ToneMapName {
    /// None: values above 1 clip in a .png
    None,
    /// AgX (Sobotka; the polynomial of Wrensch 2024): bright colours turn pale, hues hold
    Agx,
    /// ACES 1.0 for sRGB displays (the fit by Hill): more contrast and saturation
    Aces,
}

/// A size to resize to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// Width and height in pixels; one that is missing keeps the proportions.
    Pixels(Option<u32>, Option<u32>),
    /// A factor on both.
    Factor(f64),
}

/// Parses `WxH`, `Wx`, `xH` or `N%`.
fn parse_size(text: &str) -> Result<Size, String> {
    let expected = || {
        "expected columns x rows, each from 1 to 65536, as in 640x360, 640x or x360, or a \
         percentage above 0, as in 50%"
            .to_string()
    };
    if let Some(percent) = text.strip_suffix('%') {
        let factor = percent.trim().parse().ok().map(|percent: f64| percent / 100.0);
        let factor = factor.filter(|factor| *factor > 0.0 && factor.is_finite());
        return factor.map(Size::Factor).ok_or_else(expected);
    }
    let (width, height) = text.split_once(['x', 'X', '×']).ok_or_else(expected)?;
    let size = |text: &str| match text {
        "" => Ok(None),
        text => {
            let n = text.parse().ok().filter(|n| (1..=1 << 16).contains(n));
            n.map(Some).ok_or_else(expected)
        }
    };
    match (size(width)?, size(height)?) {
        (None, None) => Err(expected()),
        (width, height) => Ok(Size::Pixels(width, height)),
    }
}

fn parse_bits(text: &str) -> Result<u8, String> {
    let bits = text.parse().ok().filter(|bits| [8, 16, 32].contains(bits));
    bits.ok_or_else(|| "expected 8, 16 or 32".into())
}

impl Size {
    /// The new size of an image.
    fn of(self, width: usize, height: usize) -> Result<[usize; 2], Error> {
        let scaled = |n: usize, factor: f64| ((n as f64 * factor).round() as usize).max(1);
        let ratio = |new: u32, old: usize| f64::from(new) / old as f64;
        let size = match self {
            Size::Pixels(Some(w), Some(h)) => [w as usize, h as usize],
            Size::Pixels(Some(w), None) => [w as usize, scaled(height, ratio(w, width))],
            Size::Pixels(None, Some(h)) => [scaled(width, ratio(h, height)), h as usize],
            Size::Pixels(None, None) => [width, height],
            Size::Factor(factor) => [scaled(width, factor), scaled(height, factor)],
        };
        match (size[0] as u64).checked_mul(size[1] as u64) {
            Some(pixels) if pixels <= MAX_PIXELS => Ok(size),
            _ => Err(Error::option(
                format!("--resize to {} × {} pixels is too large", size[0], size[1]),
                format!("choose a size of at most {MAX_PIXELS} pixels"),
            )),
        }
    }
}

/// The encoding of the output.
#[derive(Clone, Copy, Debug)]
pub(super) enum Encoder {
    Exr(ExrDepth),
    Png(PngDepth),
    Pfm,
}

impl Encoder {
    pub(super) fn new(format: ImageFormat, bits: Option<u8>) -> Result<Encoder, Error> {
        match (format, bits) {
            (ImageFormat::Exr, None | Some(32)) => Ok(Encoder::Exr(ExrDepth::Float)),
            (ImageFormat::Exr, Some(16)) => Ok(Encoder::Exr(ExrDepth::Half)),
            (ImageFormat::Png, None | Some(8)) => Ok(Encoder::Png(PngDepth::Eight)),
            (ImageFormat::Png, Some(16)) => Ok(Encoder::Png(PngDepth::Sixteen)),
            (ImageFormat::Pfm, None | Some(32)) => Ok(Encoder::Pfm),
            (format, Some(bits)) => Err(Error::option(
                format!(".{} has no samples of {bits} bits", format.extension()),
                ".png has 8 or 16 bits, .exr 16 or 32, and .pfm 32",
            )),
        }
    }

    /// Describes the samples of a file with these layers.
    fn samples(self, layers: &[Layer]) -> &'static str {
        let is_id = |channel: &Channel| matches!(channel.samples, ChannelSamples::U32(_));
        match self {
            Encoder::Exr(_) if layers.iter().flat_map(|layer| &layer.channels).all(is_id) => {
                "32-bit integers"
            }
            Encoder::Exr(ExrDepth::Half) => "half floats",
            Encoder::Exr(ExrDepth::Float) | Encoder::Pfm => "32-bit floats",
            Encoder::Png(PngDepth::Eight) => "8 bits in sRGB",
            Encoder::Png(PngDepth::Sixteen) => "16 bits in sRGB",
        }
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    // Signals end the command, without a message, and leave no temporary files.
    Interrupt::install(true);
    let format = ImageFormat::from_option(&args.output)?;
    let encoder = Encoder::new(format, args.bits)?;
    let output = OutputFile::check(&args.output)?;
    if output.is_same_file(&args.input) {
        return Err(Error::option(
            format!("the output would overwrite the image `{}`", args.input.display()),
            "name another file",
        ));
    }
    let data = input::image_data(&args.input)?;
    let file = input::name(&args.input);
    let mut image = decode_layers(file, &data).map_err(Error::Image)?;
    let mut header = match is_exr(&data) {
        true => input::exr_header(&args.input, &data)?,
        false => ExrHeader::default(),
    };
    drop(data);
    // The sums are those of a rendering, which a converted image is no longer.
    image.layers.retain(|layer| !is_exact_sum(&layer.name));
    if image.layers.is_empty() {
        return Err(Error::Data {
            message: format!("{}: contains no image, only exact sums", file.display()),
            help: "resume the rendering, with `lightbound render --resume`, and convert its image"
                .into(),
        });
    }
    let one_layer = format != ImageFormat::Exr
        || args.layer.is_some()
        || args.envmap.is_some()
        || args.exposure.is_some()
        || args.tonemap != ToneMapName::None;
    let described = match one_layer {
        true => select(&mut image, args.layer.as_deref(), file)?,
        false => console::count(image.layers.len() as u64, "layer"),
    };
    // An .exr states its primaries. The tone mapping curves and the other formats are for sRGB, and
    // `render` sets components of lights in sRGB to 0 where they are negative.
    if format != ImageFormat::Exr || args.tonemap != ToneMapName::None || args.envmap.is_some() {
        input::convert_to_srgb(&mut image.layers[0], &described, &mut header, &args.input);
    }
    let window = check_windows(&image, file)?;
    if let Some(crop) = args.crop {
        crop_image(&mut image, crop, window)?;
    }
    if args.resize.is_some() || matches!(encoder, Encoder::Exr(ExrDepth::Half)) {
        leave_out_mattes(&mut image, &mut header, args.layer.as_deref(), file)?;
    }
    if let Some(size) = args.resize {
        leave_out_variance(&mut image, args.layer.as_deref(), file)?;
        resize_image(&mut image, size)?;
    }
    if one_layer {
        make_colour(&mut image);
    }
    if let Some(EnvmapLayout::Equiarea) = args.envmap {
        to_equal_area(&mut image, file)?;
    }
    expose(&mut image, args.exposure.unwrap_or(0.0));
    tone_map(&mut image, args.tonemap, file)?;
    let bytes = encode(&image, encoder, header, file, args.layer.is_some())?;
    output.write(|path| save(path, &bytes))?;
    if !args.quiet {
        let window = image.layers[0].data_window;
        console::print(&format!(
            "{}: {} × {} pixels, {described}, {}",
            output.name().display(),
            window.width(),
            window.height(),
            encoder.samples(&image.layers)
        ));
    }
    Ok(Exit::Success)
}

/// The float samples of each channel.
pub(super) fn floats(layer: &mut Layer) -> impl Iterator<Item = &mut Vec<f32>> {
    layer.channels.iter_mut().filter_map(|channel| match &mut channel.samples {
        ChannelSamples::F32(samples) => Some(samples),
        ChannelSamples::U32(_) => None,
    })
}

/// Names of layers for messages, except for those that are channels of the colour.
fn names(image: &Layers) -> String {
    image.layers.iter().map(|layer| layer.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Keeps one layer and its opacity. Returns its name.
fn select(image: &mut Layers, name: Option<&str>, file: &Path) -> Result<String, Error> {
    let wanted = name.unwrap_or(COLOUR);
    let found = image.layers.iter().position(|layer| layer.name == wanted);
    let mut layer = match found.or_else(|| channel_layer(image, wanted)) {
        Some(at) => image.layers.swap_remove(at),
        None => {
            let message = match name {
                Some(name) => format!("{}: there is no layer `{name}`", file.display()),
                None => format!("{}: no layer has channels R, G, B or Y", file.display()),
            };
            let suggestion = input::layer_suggestion(wanted);
            let help =
                format!("{suggestion}select one with --layer; the layers are {}", names(image));
            return Err(Error::Option { message, help });
        }
    };
    if found.is_none() {
        let channel = layer.channels.iter().position(|c| layer.full_name(c) == wanted);
        layer.channels = vec![layer.channels.swap_remove(channel.expect("the layer has it"))];
    }
    let opacity = if layer.name == COLOUR { "A".into() } else { format!("{}.A", layer.name) };
    let opacity = image.layers.iter().position(|other| other.name == opacity);
    let opacity = opacity.filter(|_| layer.is_colour()).map(|at| image.layers.swap_remove(at));
    image.layers = vec![layer];
    image.layers.extend(opacity);
    Ok(wanted.into())
}

/// Makes a layer with its opacity the colour layer, so that its channels have plain names.
fn make_colour(image: &mut Layers) {
    for (layer, name) in image.layers.iter_mut().zip([COLOUR, "A"]) {
        layer.name = name.into();
    }
}

/// The layer with a channel of this full name.
fn channel_layer(image: &Layers, name: &str) -> Option<usize> {
    let has = |layer: &Layer| layer.channels.iter().any(|c| layer.full_name(c) == name);
    image.layers.iter().position(has)
}

/// Checks that all layers have the same pixels; returns their window.
pub(super) fn check_windows(image: &Layers, file: &Path) -> Result<PixelRect, Error> {
    let window = image.layers[0].data_window;
    match image.layers.iter().find(|layer| layer.data_window != window) {
        None => Ok(window),
        Some(other) => Err(Error::Option {
            message: format!(
                "{}: the layers `{}` and `{}` have different data windows",
                file.display(),
                image.layers[0].name,
                other.name
            ),
            help: "convert one layer, with --layer".into(),
        }),
    }
}

fn crop_image(image: &mut Layers, crop: Crop, window: PixelRect) -> Result<(), Error> {
    let area = crop.area(image.display_window);
    if area.width() == 0 || area.height() == 0 || !window.contains(area) {
        return Err(Error::Option {
            message: format!("--crop {crop} has pixels that the image lacks, or none"),
            help: format!(
                "the image has columns {} to {} and rows {} to {}; the last are exclusive",
                window.x0, window.x1, window.y0, window.y1
            ),
        });
    }
    image.layers = std::mem::take(&mut image.layers).into_iter().map(|l| l.crop(area)).collect();
    Ok(())
}

/// Removes the layer `variance`: the variance of a mean of pixels is not the mean of their
/// variances. `selected` is the name of the selected layer, if any. The only layer cannot be left
/// out.
fn leave_out_variance(
    image: &mut Layers,
    selected: Option<&str>,
    file: &Path,
) -> Result<(), Error> {
    let is_selected = selected.is_some_and(|name| name.split('.').next() == Some(VARIANCE));
    let before = image.layers.len();
    image.layers.retain(|layer| layer.name != VARIANCE);
    if is_selected || image.layers.is_empty() {
        return Err(Error::option(
            format!("{}: --resize cannot tell the variance of the new pixels", file.display()),
            "omit it, or render at that resolution, with --variance",
        ));
    }
    if image.layers.len() < before {
        console::warn(&"the layer `variance` is left out, since --resize changes what it measures");
    }
    Ok(())
}

/// Removes the layers of Cryptomatte and the attributes that announce them: hashes have no mean, and
/// do not fit into 16 bits.
fn leave_out_mattes(
    image: &mut Layers,
    header: &mut ExrHeader,
    selected: Option<&str>,
    file: &Path,
) -> Result<(), Error> {
    let before = image.layers.len();
    let is_selected = selected.is_some() && image.layers.iter().any(Layer::is_matte);
    image.layers.retain(|layer| !layer.is_matte());
    if is_selected || image.layers.is_empty() {
        return Err(Error::option(
            format!("{}: mattes cannot be resized or written with 16 bits", file.display()),
            "convert them with --bits 32 and without --resize",
        ));
    }
    if image.layers.len() < before {
        header.remove_all("cryptomatte/");
        console::warn(
            &"the mattes are left out, since --resize or 16 bits change the hashes of names",
        );
    }
    Ok(())
}

/// Resizes the data window; the display window is scaled by the same factors.
fn resize_image(image: &mut Layers, size: Size) -> Result<(), Error> {
    let (from, full) = (image.layers[0].data_window, image.display_window);
    let to = size.of(from.width(), from.height())?;
    let factors = [to[0] as f64 / from.width() as f64, to[1] as f64 / from.height() as f64];
    let scaled = |x: i64, axis: usize| (x as f64 * factors[axis]).round() as i64;
    let corner = [scaled(from.x0, 0), scaled(from.y0, 1)];
    image.display_window = match full == from {
        true => PixelRect::from_size(corner[0], corner[1], to[0] as u64, to[1] as u64),
        false => PixelRect {
            x0: scaled(full.x0, 0),
            y0: scaled(full.y0, 1),
            x1: scaled(full.x1, 0).max(scaled(full.x0, 0) + 1),
            y1: scaled(full.y1, 1).max(scaled(full.y0, 1) + 1),
        },
    };
    let layers = std::mem::take(&mut image.layers).into_iter();
    image.layers = layers.map(|layer| layer.resize(corner, to[0], to[1])).collect();
    Ok(())
}

/// Resamples a map of latitude and longitude to the equal-area layout, without its opacity.
fn to_equal_area(image: &mut Layers, file: &Path) -> Result<(), Error> {
    image.layers.truncate(1);
    let layer = &mut image.layers[0];
    let (width, height) = (layer.data_window.width(), layer.data_window.height());
    if width != 2 * height {
        return Err(Error::option(
            format!(
                "{}: --envmap needs latitude and longitude, twice as wide as high, but there are \
                 {width} × {height} pixels",
                file.display()
            ),
            "choose a part with --crop, or a size with --resize",
        ));
    }
    let mut planes = colours(layer, "--envmap", file)?;
    let texel = |i: usize| Vec3::from_array([0, 1, 2].map(|c| planes[c.min(planes.len() - 1)][i]));
    let texels: Vec<Vec3> = (0..width * height).map(texel).collect();
    let negative = texels.iter().filter(|texel| texel.min_element() < 0.0).count();
    if negative > 0 {
        console::warn(&format!(
            "{}: {negative} of {} texels {} negative; instead: 0",
            file.display(),
            texels.len(),
            if negative == 1 { "is" } else { "are" }
        ));
    }
    let map = LatLongMap { texels: &texels, width, height };
    let (texels, side) = map.to_equal_area().map_err(|error| Error::Data {
        message: format!("{}: {error}", file.display()),
        help: "export the image again".into(),
    })?;
    for (c, plane) in planes.iter_mut().enumerate() {
        **plane = texels.iter().map(|texel| texel[c]).collect();
    }
    layer.data_window = PixelRect::from_size(0, 0, side as u64, side as u64);
    image.display_window = layer.data_window;
    Ok(())
}

/// The samples of a colour, in one channel or three. `option` is what needs them.
fn colours<'a>(
    layer: &'a mut Layer,
    option: &str,
    file: &Path,
) -> Result<Vec<&'a mut Vec<f32>>, Error> {
    if layer.is_colour() {
        return Ok(floats(layer).collect());
    }
    Err(Error::option(
        format!(
            "{}: {option} needs the float channels R, G, B or Y; the layer has {}",
            file.display(),
            channel_names(layer)
        ),
        "omit it, or choose a colour with --layer",
    ))
}

/// Scales all but the opacity by 2 to the power of `stops`.
pub(super) fn expose(image: &mut Layers, stops: f32) {
    if stops == 0.0 {
        return;
    }
    let gain = exposure_gain(stops);
    for samples in floats(&mut image.layers[0]) {
        samples.iter_mut().for_each(|x| *x *= gain);
    }
}

fn tone_map(image: &mut Layers, name: ToneMapName, file: &Path) -> Result<(), Error> {
    let map = match name {
        ToneMapName::None => return Ok(()),
        ToneMapName::Agx => ToneMap::Agx,
        ToneMapName::Aces => ToneMap::Aces,
    };
    let (layer, rest) = image.layers.split_first_mut().expect("an image has layers");
    let alpha = rest.first_mut().and_then(|opacity| floats(opacity).next().cloned());
    let mut planes = colours(layer, "--tonemap", file)?;
    for i in 0..planes[0].len() {
        // The curve is that of the colour itself, not of what shows of it.
        let a = alpha.as_ref().map_or(1.0, |alpha| alpha[i]);
        let factor = if a > 0.0 { a } else { 1.0 };
        let at = |c: usize| planes[c.min(planes.len() - 1)][i] / factor;
        let mapped = map.apply([at(0), at(1), at(2)]).map(|x| x * factor);
        match &mut planes[..] {
            [grey] => grey[i] = mapped[1],
            planes => (0..3).for_each(|c| planes[c][i] = mapped[c]),
        }
    }
    Ok(())
}

fn channel_names(layer: &Layer) -> String {
    layer.channels.iter().map(|channel| channel.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Number of depths that only mark pixels without a surface.
fn pixels_without_surface(image: &Layers) -> usize {
    let depths = image.layers.iter().filter_map(Layer::depths).flatten();
    depths.filter(|z| **z == NO_DEPTH).count()
}

pub(super) fn encode(
    image: &Layers,
    encoder: Encoder,
    mut header: ExrHeader,
    file: &Path,
    selects_layer: bool,
) -> Result<Vec<u8>, Error> {
    let unwritable = |format: &'static str, message: String| {
        let problem = Problem::Unwritable { format, message };
        Error::Image(ImageError { path: file.into(), problem })
    };
    if let Encoder::Exr(depth) = encoder {
        let overflows = match depth {
            ExrDepth::Half => half_overflows(image) - pixels_without_surface(image),
            ExrDepth::Float => 0,
        };
        if overflows > 0 {
            console::warn(&format!(
                "{} above 65504, the largest half float, overflowed to infinity; --bits 32 avoids it",
                console::count(overflows as u64, "value")
            ));
        }
        header.remove(part::HEADER);
        return encode_exr_layers(image, header, depth).map_err(|m| unwritable("EXR", m));
    }
    let layer = &image.layers[0];
    let window = layer.data_window;
    let size = [window.width() as u32, window.height() as u32];
    let plane = |channel: &'_ Channel| match &channel.samples {
        ChannelSamples::F32(samples) => Ok(samples.clone()),
        ChannelSamples::U32(_) => Err(Error::option(
            format!("{}: the layer has ids, which only .exr can store", file.display()),
            "`lightbound falsecolor` draws them; or name an .exr file",
        )),
    };
    let planes = layer.channels.iter().map(plane).collect::<Result<Vec<_>, Error>>()?;
    if !matches!(planes.len(), 1 | 3) {
        return Err(Error::option(
            format!(
                "{}: the layer has the channels {}, but a picture has one or three",
                file.display(),
                channel_names(layer)
            ),
            "select a channel with --layer, or name an .exr file",
        ));
    }
    match encoder {
        Encoder::Exr(_) => unreachable!("returned above"),
        Encoder::Pfm => {
            let is_transparent = |opacity: &Layer| {
                matches!(&opacity.channels[0].samples, ChannelSamples::F32(alpha)
                    if alpha.iter().any(|&alpha| alpha < 1.0))
            };
            if image.layers.get(1).is_some_and(is_transparent) {
                console::warn(
                    &"the opacity is left out, since .pfm has none; colours are over black",
                );
            }
            let interleaved: Vec<f32> =
                (0..planes[0].len()).flat_map(|i| planes.iter().map(move |p| p[i])).collect();
            Ok(encode_pfm(size[0], size[1], planes.len(), &interleaved))
        }
        Encoder::Png(depth) => {
            let nan = planes.iter().flatten().filter(|x| x.is_nan()).count();
            if nan > 0 {
                let nan = console::count(nan as u64, "value");
                console::warn(&format!("NaN becomes 0: {nan}; .exr and .pfm keep it"));
            }
            if planes.len() == 1 && selects_layer && planes[0].iter().all(|x| *x >= 1.0) {
                console::warn(
                    &"no value is below 1, so the picture is white; `lightbound falsecolor` draws \
                      the layer",
                );
            }
            let opacity = image.layers.get(1).map(|layer| plane(&layer.channels[0])).transpose()?;
            let planes: Vec<&[f32]> = planes.iter().map(Vec::as_slice).collect();
            encode_png_planes(size, &planes, opacity.as_deref(), depth)
                .map_err(|m| unwritable("PNG", m))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed() {
        assert_eq!(parse_size("640x360"), Ok(Size::Pixels(Some(640), Some(360))));
        assert_eq!(parse_size("640x"), Ok(Size::Pixels(Some(640), None)));
        assert_eq!(parse_size("x360"), Ok(Size::Pixels(None, Some(360))));
        assert_eq!(parse_size("12.5%"), Ok(Size::Factor(0.125)));
        for wrong in ["", "x", "0x1", "640", "70000x1", "%", "0%", "-5%", "nan%", "1x2x3", "inf%"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn missing_sizes_keep_the_proportions() {
        let of = |text: &str| parse_size(text).unwrap().of(300, 200).unwrap();
        assert_eq!(
            ["30x20", "150x", "x1", "50%", "0.001%"].map(of),
            [[30, 20], [150, 100], [2, 1], [150, 100], [1, 1]]
        );
        assert!(parse_size("1e9%").unwrap().of(300, 200).is_err());
    }
}
