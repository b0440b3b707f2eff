//! `lightbound falsecolor`: draws a layer of an image in false colours, with a scale.

use super::console;
use super::output::{ImageFormat, OutputFile};
use super::{Error, Exit};
use lightbound_image::heatmap::{ColourScale, draw};
use lightbound_image::layers::{COLOUR, Layer, read_layers};
use lightbound_image::six_digits;
use lightbound_image::write::{Channel, ChannelSamples, write_png_codes};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  lightbound falsecolor picture.exr --layer cut_size -o cuts.png
  lightbound falsecolor picture.exr --layer error_bound --log -o bound.png
  lightbound falsecolor picture.exr --layer depth --range 0..20 -o depth.png
  lightbound falsecolor picture.exr --layer normal.Z --range -1..1 -o z.png

Layers of .exr files are named by their channels: R, variance.G, depth.Z (or
just depth, which has no other channel), cut_size; an unknown layer lists the
existing ones. Other formats have R, G and B, or Y.

Without --range the scale omits the lowest and the highest 1 % of the pixels,
and ends at round numbers. Values beyond the scale have the colours of its ends,
which are then labelled >= and <=. Infinite values and NaNs are green, and are
counted.";

/// Options of `falsecolor`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Input image: EXR, PFM, HDR, PNG, JPEG or TGA
    pub file: PathBuf,

    /// Layer to draw, or one of its channels
    #[arg(short, long, value_name = "NAME")]
    pub layer: String,

    /// Output image, a .png
    #[arg(short, long, value_name = "OUT.png")]
    pub output: PathBuf,

    /// Values of the first and the last colour [default: derived from the pixels]
    #[arg(long, value_name = "LO..HI", value_parser = parse_range, allow_hyphen_values = true)]
    pub range: Option<[f32; 2]>,

    /// Use a logarithmic scale
    #[arg(long)]
    pub log: bool,

    /// Print nothing but warnings and errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// Parses `LO..HI`.
fn parse_range(text: &str) -> Result<[f32; 2], String> {
    let number = |text: &str| text.trim().parse().ok().filter(|x: &f32| x.is_finite());
    let range = text.split_once("..").and_then(|(lo, hi)| Some([number(lo)?, number(hi)?]));
    let range = range.filter(|[lo, hi]| lo < hi && (hi - lo).is_finite());
    range.ok_or_else(|| {
        "expected two numbers, the first below the second, as in 0..20 or -1..1".into()
    })
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    let output = output(args)?;
    let layers = read_layers(&args.file).map_err(Error::Image)?;
    let Some((name, width, values)) = find(&layers.layers, &args.layer) else {
        return Err(Error::Option {
            message: format!("{}: there is no layer `{}`", args.file.display(), args.layer),
            help: format!("the layers are {}", names(&layers.layers).join(", ")),
        });
    };
    let scale = ColourScale::for_values(&values, args.log, args.range);
    let title = if args.log { format!("{name}, logarithmic") } else { name.clone() };
    let canvas = draw(&values, width, &scale, &title);
    output.write(|path| {
        write_png_codes(path, canvas.width as u32, canvas.height as u32, &canvas.codes)
    })?;
    if !args.quiet {
        console::print(&summary(output.path(), &name, &values, &scale));
    }
    Ok(Exit::Success)
}

/// Checks the options and the output file, which must be a PNG and not the input image.
fn output(args: &Args) -> Result<OutputFile, Error> {
    if let (true, Some([lo, _])) = (args.log, args.range.filter(|[lo, _]| *lo <= 0.0)) {
        return Err(Error::option(
            format!("--log needs positive values, but --range begins at {lo}"),
            "begin above 0, or omit --log",
        ));
    }
    if ImageFormat::from_extension(&args.output) != Some(ImageFormat::Png) {
        return Err(Error::option(
            format!("falsecolor writes PNG, not `{}`", args.output.display()),
            "name a file that ends in .png",
        ));
    }
    let output = OutputFile::check(&args.output)?;
    match output.is_same_file(&args.file) {
        true => Err(Error::option(
            format!("-o would overwrite the image `{}`", args.file.display()),
            "name another file",
        )),
        false => Ok(output),
    }
}

/// Full name of a channel.
fn full_name(layer: &Layer, channel: &Channel) -> String {
    match layer.name.as_str() {
        COLOUR => channel.name.clone(),
        // A channel that is a layer of its own already has its full name.
        name if matches!(channel.samples, ChannelSamples::U32(_))
            || name == channel.name
            || name.ends_with(".A") =>
        {
            name.into()
        }
        name => format!("{name}.{}", channel.name),
    }
}

/// Finds a channel by its name, or by the name of a layer with a single channel. Returns its full
/// name, width and values.
fn find(layers: &[Layer], name: &str) -> Option<(String, usize, Vec<f32>)> {
    let channels =
        layers.iter().flat_map(|layer| layer.channels.iter().map(move |channel| (layer, channel)));
    let found = channels.into_iter().find(|(layer, channel)| {
        let alone = layer.channels.len() == 1 && layer.name != COLOUR;
        full_name(layer, channel) == name || alone && layer.name == name
    });
    found.map(|(layer, channel)| {
        let values = match &channel.samples {
            ChannelSamples::F32(values) => values.clone(),
            ChannelSamples::U32(values) => values.iter().map(|&x| x as f32).collect(),
        };
        (full_name(layer, channel), layer.data_window.width(), values)
    })
}

/// Names of all layers in their shortest form, except for the exact sums of parts
/// (`sums.*`).
fn names(layers: &[Layer]) -> Vec<String> {
    let channel_names = |layer: &Layer| match &layer.channels[..] {
        [_] if layer.name != COLOUR => vec![layer.name.clone()],
        channels => channels.iter().map(|channel| full_name(layer, channel)).collect(),
    };
    layers.iter().filter(|layer| !layer.name.starts_with("sums.")).flat_map(channel_names).collect()
}

/// Summarizes the map in one line.
fn summary(path: &Path, name: &str, values: &[f32], scale: &ColourScale) -> String {
    let finite = || values.iter().copied().filter(|x| x.is_finite());
    let n = finite().count();
    let statistics = match n {
        0 => "no pixel is finite".into(),
        _ => {
            let (min, max) = (
                finite().fold(f32::INFINITY, f32::min),
                finite().fold(f32::NEG_INFINITY, f32::max),
            );
            let mean = finite().map(f64::from).sum::<f64>() / n as f64;
            format!(
                "from {} to {}, mean {}",
                six_digits(min.into()),
                six_digits(max.into()),
                six_digits(mean)
            )
        }
    };
    let nan = values.iter().filter(|x| x.is_nan()).count();
    let invalid = [("not a number", nan), ("infinite", values.len() - n - nan)];
    let invalid = invalid
        .iter()
        .filter(|(_, n)| *n > 0)
        .map(|(label, n)| format!("{n} {label}"))
        .collect::<Vec<_>>()
        .join(", ");
    let invalid =
        if invalid.is_empty() { invalid } else { format!("; pixels in green: {invalid}") };
    let [lo, hi] = scale.range().map(|x| six_digits(x.into()));
    format!("{}: {name}, {statistics}; colours from {lo} to {hi}{invalid}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_image::layers::PixelRect;

    #[test]
    fn ranges_are_parsed() {
        assert_eq!(
            (parse_range("0..20"), parse_range("-1 .. 1e3"), parse_range("0...5")),
            (Ok([0.0, 20.0]), Ok([-1.0, 1e3]), Ok([0.0, 0.5]))
        );
        for wrong in ["", "..", "1", "1..1", "2..1", "0..inf", "nan..1", "a..b", "-3e38..3e38"] {
            assert!(parse_range(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn channels_are_found_by_their_names_in_the_file() {
        let layer = |name: &str, channels: &[&str], x: f32| {
            let channel = |name: &&str| Channel {
                name: name.to_string(),
                samples: ChannelSamples::F32(vec![x]),
            };
            let channels = channels.iter().map(channel).collect();
            Layer { name: name.into(), data_window: PixelRect::from_size(0, 0, 1, 1), channels }
        };
        let mut layers = vec![
            layer(COLOUR, &["R", "G", "B"], 1.0),
            layer("depth", &["Z"], 2.0),
            layer("normal", &["X", "Y", "Z"], 3.0),
            layer("cut_size", &["cut_size"], 4.0),
            layer("A", &["A"], 5.0),
            layer("glow.A", &["A"], 6.0),
        ];
        let id = Channel { name: "id".into(), samples: ChannelSamples::U32(vec![7]) };
        layers.push(Layer { channels: vec![id], ..layer("object.id", &[], 0.0) });
        layers.push(layer("sums.R0", &["R0"], 0.0));
        let listed = [
            "R",
            "G",
            "B",
            "depth",
            "normal.X",
            "normal.Y",
            "normal.Z",
            "cut_size",
            "A",
            "glow.A",
            "object.id",
        ];
        assert_eq!(names(&layers), listed);
        let value = |name: &str| find(&layers, name).map(|(_, _, values)| values[0]);
        for (name, x) in listed.iter().zip([1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 4.0, 5.0, 6.0, 7.0])
        {
            assert_eq!(value(name), Some(x), "{name}");
        }
        assert_eq!(
            (value("depth.Z"), value("normal"), value(COLOUR), value("cut")),
            (Some(2.0), None, None, None)
        );
    }
}
