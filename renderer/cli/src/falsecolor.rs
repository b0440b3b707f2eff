//! `lightbound falsecolor`: draws a layer of an image in false colours, with a scale.

use super::console;
use super::input;
use super::interrupt::Interrupt;
use super::output::{ImageFormat, OutputFile};
use super::{Error, Exit};
use lightbound::film::is_exact_sum;
use lightbound_image::heatmap::{Canvas, ColourScale, VectorScale, draw, draw_ids, draw_vectors};
use lightbound_image::inspect::{ChannelStatistics, FiniteStatistics};
use lightbound_image::layers::{COLOUR, Layer, is_depth};
use lightbound_image::six_digits;
use lightbound_image::write::{ChannelSamples, write_png_codes};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  lightbound falsecolor picture.exr --layer cut_size -o cuts.png
  lightbound falsecolor picture.exr --layer error_bound --log -o bound.png
  lightbound falsecolor picture.exr --layer depth --range 0..20 -o depth.png
  lightbound falsecolor picture.exr --layer normal.Z --range -1..1 -o z.png
  lightbound falsecolor picture.exr --layer normal -o normal.png
  lightbound falsecolor picture.exr --layer object.id -o objects.png

Layers of .exr files are named by their channels: R, variance.G, depth.Z (or
just depth, which has no other channel), cut_size; an unknown layer lists the
existing ones. Other formats have R, G and B, or Y.

A layer with three channels, such as normal or albedo, is drawn with their values
as red, green and blue, on one linear scale. Ids have a colour each.

Without --range the scale omits the lowest and the highest 1 % of the pixels,
and ends at round numbers. Values beyond the scale have the colours of its ends,
which are then labelled >= and <=. Infinite values, NaNs, and the depth of pixels
without a surface are green, and are counted.";

/// Options of `falsecolor`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Input image: EXR, PFM, HDR, PNG, JPEG or TGA; - reads stdin
    pub file: PathBuf,

    /// Layer with one or three channels, or a channel
    #[arg(short, long, value_name = "NAME")]
    pub layer: String,

    /// Output image, a .png; - writes to stdout
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
    // Signals end the command, without a message, and leave no temporary files.
    Interrupt::install(true);
    let output = output(args)?;
    let file = input::name(&args.file);
    let mut layers = input::layers(&args.file)?.layers;
    // They affect neither the scale nor the statistics.
    layers.iter_mut().for_each(input::set_missing_depths_to_infinity);
    let drawn = match (find(&layers, &args.layer), find_layer(&layers, &args.layer)) {
        (Some((name, width, ChannelSamples::F32(values))), _) => {
            draw_values(args, &name, width, values)
        }
        (Some((name, width, ChannelSamples::U32(ids))), _) => draw_id_map(args, &name, width, ids)?,
        (None, Some(layer)) => draw_layer(args, layer, file)?,
        (None, None) => {
            return Err(Error::Option {
                message: format!("{}: there is no layer `{}`", file.display(), args.layer),
                help: format!(
                    "{}the layers are {}",
                    input::layer_suggestion(&args.layer),
                    names(&layers).join(", ")
                ),
            });
        }
    };
    let canvas = &drawn.canvas;
    output.write(|path| {
        write_png_codes(path, canvas.width as u32, canvas.height as u32, &canvas.codes)
    })?;
    if !args.quiet {
        console::print(&format!("{}: {}", output.name().display(), drawn.summary));
    }
    if let Some(warning) = drawn.warning {
        console::warn(&warning);
    }
    Ok(Exit::Success)
}

/// A map, and what to say about it.
struct Drawn {
    canvas: Canvas,
    summary: String,
    warning: Option<String>,
}

/// Draws a channel of floats.
fn draw_values(args: &Args, name: &str, width: usize, values: &[f32]) -> Drawn {
    let scale = ColourScale::for_values(values, args.log, args.range);
    let title = if args.log { format!("{name}, logarithmic") } else { name.to_owned() };
    Drawn {
        canvas: draw(values, width, &scale, &title),
        summary: summary(name, values, scale.range()),
        warning: clipped(values, scale.count_within(values), scale.range()),
    }
}

/// Draws ids, each in a colour of its own.
fn draw_id_map(args: &Args, name: &str, width: usize, ids: &[u32]) -> Result<Drawn, Error> {
    if args.log || args.range.is_some() {
        return Err(Error::option(
            format!("`{name}` has ids, which have colours of their own but no scale"),
            "omit --range and --log",
        ));
    }
    let distinct: BTreeSet<u32> = ids.iter().copied().filter(|id| *id > 0).collect();
    let count = console::count(distinct.len() as u64, "id");
    let none = if ids.contains(&0) { "; dark grey: none" } else { "" };
    Ok(Drawn {
        canvas: draw_ids(ids, width, &format!("{name}: {count}{none}")),
        summary: format!("{name}, {count}, each in a colour of its own{none}"),
        warning: None,
    })
}

/// Draws the three channels of a layer as red, green and blue.
fn draw_layer(args: &Args, layer: &Layer, file: &Path) -> Result<Drawn, Error> {
    let floats = layer.channels.iter().filter_map(|channel| match &channel.samples {
        ChannelSamples::F32(samples) => Some(samples.as_slice()),
        ChannelSamples::U32(_) => None,
    });
    let channels: Vec<&str> = layer.channels.iter().map(|c| c.name.as_str()).collect();
    let Ok(components) = <[&[f32]; 3]>::try_from(floats.collect::<Vec<_>>()) else {
        return Err(Error::Option {
            message: format!(
                "{}: the layer `{}` has {} channels, but a map has one or three",
                file.display(),
                layer.name,
                channels.len()
            ),
            help: format!(
                "select one: {}",
                layer.channels.iter().map(|c| layer.full_name(c)).collect::<Vec<_>>().join(", ")
            ),
        });
    };
    if args.log {
        return Err(Error::option(
            format!("--log draws one channel, but `{}` has {}", layer.name, channels.join(", ")),
            format!("select one, as in --layer {}", layer.full_name(&layer.channels[0])),
        ));
    }
    let scale = VectorScale::new(components, args.range);
    let legend =
        format!("{}: red {}, green {}, blue {}", layer.name, channels[0], channels[1], channels[2]);
    let all = components.concat();
    Ok(Drawn {
        canvas: draw_vectors(components, layer.data_window.width(), &scale, &legend),
        summary: summary(&legend, &all, scale.range()),
        warning: clipped(&all, scale.count_within(components), scale.range()),
    })
}

/// A warning if no value is within the range.
fn clipped(values: &[f32], within: usize, [lo, hi]: [f32; 2]) -> Option<String> {
    let finite = values.iter().filter(|x| x.is_finite()).count();
    (within == 0 && finite > 0).then(|| {
        let [lo, hi] = [lo, hi].map(|x| six_digits(x.into()));
        format!(
            "no value is between {lo} and {hi}, so the map shows nothing; choose another --range, \
             or omit it"
        )
    })
}

/// Checks the options and the output file, which must be a PNG and not the input image.
fn output(args: &Args) -> Result<OutputFile, Error> {
    if let (true, Some([lo, _])) = (args.log, args.range.filter(|[lo, _]| *lo <= 0.0)) {
        return Err(Error::option(
            format!("--log needs positive values, but --range begins at {lo}"),
            "begin above 0, or omit --log",
        ));
    }
    if !ImageFormat::is_png(&args.output) {
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

/// Finds a channel by its name, or by the name of a layer with a single channel. Returns its full
/// name, width and samples.
fn find<'a>(layers: &'a [Layer], name: &str) -> Option<(String, usize, &'a ChannelSamples)> {
    let channels =
        layers.iter().flat_map(|layer| layer.channels.iter().map(move |channel| (layer, channel)));
    let found = channels.into_iter().find(|(layer, channel)| {
        let alone = layer.channels.len() == 1 && layer.name != COLOUR;
        layer.full_name(channel) == name || alone && layer.name == name
    });
    found.map(|(layer, channel)| {
        (layer.full_name(channel), layer.data_window.width(), &channel.samples)
    })
}

/// Finds a layer with several channels.
fn find_layer<'a>(layers: &'a [Layer], name: &str) -> Option<&'a Layer> {
    layers.iter().find(|layer| layer.name == name && layer.channels.len() > 1)
}

/// Names of all layers in their shortest form, and of their channels, except for the exact sums of
/// parts (`sums.*`).
fn names(layers: &[Layer]) -> Vec<String> {
    let channel_names = |layer: &Layer| match &layer.channels[..] {
        [_] if layer.name != COLOUR => vec![layer.name.clone()],
        channels => {
            let whole = Some(layer.name.clone()).filter(|_| channels.len() == 3);
            whole.into_iter().chain(channels.iter().map(|c| layer.full_name(c))).collect()
        }
    };
    layers.iter().filter(|layer| !is_exact_sum(&layer.name)).flat_map(channel_names).collect()
}

/// Summarizes the map in one line.
fn summary(name: &str, values: &[f32], range: [f32; 2]) -> String {
    let statistics = ChannelStatistics::of_floats(values);
    let text = match statistics.finite {
        None => "no pixel is finite".into(),
        Some(FiniteStatistics { min, max, mean }) => {
            let [min, max, mean] = [min, max, mean].map(six_digits);
            format!("from {min} to {max}, mean {mean}")
        }
    };
    let infinite = if is_depth(name) { "without a surface" } else { "infinite" };
    let invalid = [("not a number", statistics.nan), (infinite, statistics.infinite)];
    let invalid = invalid
        .iter()
        .filter(|(_, n)| *n > 0)
        .map(|(label, n)| format!("{n} {label}"))
        .collect::<Vec<_>>()
        .join(", ");
    let invalid =
        if invalid.is_empty() { invalid } else { format!("; pixels in green: {invalid}") };
    let [lo, hi] = range.map(|x| six_digits(x.into()));
    format!("{name}, {text}; colours from {lo} to {hi}{invalid}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_image::layers::PixelRect;
    use lightbound_image::write::Channel;

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
            "colour",
            "R",
            "G",
            "B",
            "depth",
            "normal",
            "normal.X",
            "normal.Y",
            "normal.Z",
            "cut_size",
            "A",
            "glow.A",
            "object.id",
        ];
        assert_eq!(names(&layers), listed);
        let value = |name: &str| match find(&layers, name) {
            Some((_, _, ChannelSamples::F32(samples))) => Some(samples[0]),
            Some((_, _, ChannelSamples::U32(ids))) => Some(ids[0] as f32),
            None => None,
        };
        let single = listed.iter().filter(|name| !["colour", "normal"].contains(name));
        for (name, x) in single.zip([1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 4.0, 5.0, 6.0, 7.0]) {
            assert_eq!(value(name), Some(x), "{name}");
        }
        assert_eq!(
            (value("depth.Z"), value("normal"), value(COLOUR), value("cut")),
            (Some(2.0), None, None, None)
        );
        let layer = |name: &str| find_layer(&layers, name).map(|layer| layer.channels.len());
        assert_eq!((layer("normal"), layer(COLOUR), layer("depth")), (Some(3), Some(3), None));
    }
}
