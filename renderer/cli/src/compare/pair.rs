//! Pairs of corresponding layers of two images.
//!
//! A layer is a mismatch if only one image has it, or if its channels or sizes differ. A mismatch
//! is reported and fails the comparison.

use super::{Error, input};
use lightbound::film::is_exact_sum;
use lightbound_image::Crop;
use lightbound_image::compare::Planes;
use lightbound_image::layers::{COLOUR, Layer, Layers, PixelRect};
use lightbound_image::write::ChannelSamples;
use std::path::Path;

/// The name that selects all layers.
const ALL_LAYERS: &str = "all";

/// A layer that both images have.
#[derive(Debug)]
pub struct Pair {
    /// Name of the layer.
    pub name: String,
    /// Names of its channels.
    pub channels: Vec<String>,
    /// The compared area within the full image.
    pub area: PixelRect,
    /// The samples to compare.
    pub samples: Samples,
}

/// Samples of A and B.
#[derive(Debug)]
pub enum Samples {
    /// Float values.
    Values {
        /// The image under test.
        a: Planes,
        /// The reference.
        b: Planes,
        /// Whether they are colours.
        is_colour: bool,
    },
    /// IDs.
    Ids {
        /// The image under test.
        a: Vec<u32>,
        /// The reference.
        b: Vec<u32>,
    },
}

/// Pairs of layers, and mismatches.
#[derive(Debug, Default)]
pub struct Pairs {
    /// Layers that can be compared.
    pub pairs: Vec<Pair>,
    /// Descriptions of mismatches, each with its layer.
    pub mismatches: Vec<String>,
}

/// Pairs the layers `names` of the images in `files`; without names, the colour.
pub fn pair(
    mut a: Layers,
    mut b: Layers,
    files: [&Path; 2],
    names: &[String],
    crop: Option<Crop>,
) -> Result<Pairs, Error> {
    align(&mut a, &mut b);
    let names = select_layers(&a, &b, names)?;
    let crop = crop
        .map(|crop| crop_area(crop, files, [a.display_window, b.display_window]))
        .transpose()?;
    let (names_a, names_b) = (layer_names(&a), layer_names(&b));
    let mut pairs = Pairs::default();
    for name in names {
        match (remove_layer(&mut a, &name), remove_layer(&mut b, &name)) {
            (Some(a), Some(b)) => match pair_layers(a, b, files, crop)? {
                Ok(pair) => pairs.pairs.push(pair),
                Err(mismatch) => pairs.mismatches.push(format!("layer `{name}`: {mismatch}")),
            },
            (Some(_), None) => {
                pairs.mismatches.push(missing_layer(&name, files[1], &names_b, &names_a))
            }
            _ => pairs.mismatches.push(missing_layer(&name, files[0], &names_a, &names_b)),
        }
    }
    Ok(pairs)
}

fn layer_names(image: &Layers) -> Vec<String> {
    image.layers.iter().map(|layer| layer.name.clone()).collect()
}

/// Reports that `file` lacks a layer, and suggests the layers that can be compared.
fn missing_layer(name: &str, file: &Path, has: &[String], other_has: &[String]) -> String {
    let both: Vec<&str> =
        has.iter().filter(|name| other_has.contains(name)).map(String::as_str).collect();
    let remedy = match both.is_empty() {
        true => "the files have no layer in common".into(),
        false => format!("--layers {} compares the common layers", both.join(",")),
    };
    format!("layer `{name}`: {} lacks it and has {}; {remedy}", file.display(), quoted_layers(has))
}

/// Quotes names for a sentence.
pub fn quoted<S: AsRef<str>>(names: &[S]) -> String {
    names.iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}

/// Quotes layer names for a sentence; the layers with exact sums are listed as one.
fn quoted_layers(names: &[String]) -> String {
    let mut names: Vec<&str> =
        names.iter().map(|name| if is_exact_sum(name) { "sums.*" } else { name }).collect();
    names.dedup();
    quoted(&names)
}

fn remove_layer(layers: &mut Layers, name: &str) -> Option<Layer> {
    let at = layers.layers.iter().position(|layer| layer.name == name)?;
    Some(layers.layers.remove(at))
}

/// If only one image's format stores a position, moves the other image there, provided that its
/// size equals that of the data window or of the full image.
fn align(a: &mut Layers, b: &mut Layers) {
    let (movable, fixed) = match (a.has_position, b.has_position) {
        (false, true) => (a, b),
        (true, false) => (b, a),
        _ => return,
    };
    let Some(layer) = fixed.get(COLOUR).or(fixed.layers.first()) else { return };
    let size = |window: PixelRect| (window.width(), window.height());
    if let Some(area) = [layer.data_window, fixed.display_window]
        .into_iter()
        .find(|area| size(*area) == size(movable.display_window))
    {
        movable.set_windows(area, fixed.display_window);
    }
}

/// Whether `names` select a layer; without names, only the colour is selected.
pub fn is_selected(layer: &str, names: &[String]) -> bool {
    match names {
        [] => layer == COLOUR,
        names => names.iter().any(|name| name == layer || name == ALL_LAYERS),
    }
}

/// Names of the layers to compare; those of A come first.
fn select_layers(a: &Layers, b: &Layers, names: &[String]) -> Result<Vec<String>, Error> {
    let mut all = layer_names(a);
    all.extend(layer_names(b).into_iter().filter(|name| a.get(name).is_none()));
    if names.iter().any(|name| name == ALL_LAYERS) {
        // Exact sums are not values of pixels; only checkpoints have nothing else.
        if !all.iter().all(|name| is_exact_sum(name)) {
            all.retain(|name| !is_exact_sum(name));
        }
        return Ok(all);
    }
    let colour = [COLOUR.to_string()];
    let names = if names.is_empty() { &colour } else { names };
    if let Some(name) = names.iter().find(|name| !all.contains(name)) {
        return Err(Error::Option {
            message: format!(
                "neither image has the layer `{name}`; the layers are {}",
                quoted_layers(&all)
            ),
            help: format!(
                "{}name some of these with --layers NAME,NAME, or all with --layers {ALL_LAYERS}",
                input::layer_suggestion(name)
            ),
        });
    }
    let is_first = |i: &usize| !names[..*i].contains(&names[*i]);
    Ok((0..names.len()).filter(is_first).map(|i| names[i].clone()).collect())
}

/// Converts a crop to pixels.
fn crop_area(crop: Crop, files: [&Path; 2], [a, b]: [PixelRect; 2]) -> Result<PixelRect, Error> {
    if matches!(crop, Crop::Fractions(_)) && a != b {
        return Err(Error::Option {
            message: format!(
                "--crop in fractions is ambiguous: {} has {} × {} pixels in full, {} {} × {}",
                files[0].display(),
                a.width(),
                a.height(),
                files[1].display(),
                b.width(),
                b.height()
            ),
            help: "give the crop in pixels".into(),
        });
    }
    let area = crop.area(a);
    if area.width() == 0 || area.height() == 0 {
        return Err(Error::Option {
            message: "the crop contains no pixel".into(),
            help: format!(
                "the image has {} × {} pixels; choose a larger crop",
                a.width(),
                a.height()
            ),
        });
    }
    Ok(area)
}

/// Pairs two layers; the inner error describes their mismatch.
fn pair_layers(
    a: Layer,
    b: Layer,
    files: [&Path; 2],
    crop: Option<PixelRect>,
) -> Result<Result<Pair, String>, Error> {
    let name = a.name.clone();
    let channels =
        |layer: &Layer| layer.channels.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
    if channels(&a) != channels(&b) {
        let [a, b] = [(files[0], a), (files[1], b)].map(|(file, layer)| {
            format!("{} has the channels {}", file.display(), quoted(&channels(&layer)))
        });
        return Ok(Err(format!("{a}, {b}; convert one of them to the same channels")));
    }
    let area = match crop {
        Some(area) => area,
        None if a.data_window == b.data_window => a.data_window,
        None => return Ok(Err(differing_areas(files, a.data_window, b.data_window))),
    };
    for (file, layer) in files.into_iter().zip([&a, &b]) {
        if !layer.data_window.contains(area) {
            let (file, area) = (file.display(), describe_area(layer.data_window));
            return Err(Error::Option {
                message: format!(
                    "--crop is not within the layer `{name}` of {file}, which has {area}"
                ),
                help: "columns and rows count from 0 at the upper left corner of the full image"
                    .into(),
            });
        }
    }
    let (channels, is_colour) = (channels(&a), a.is_colour());
    let [a, b] = [a, b].map(|layer| {
        let mut layer = layer.crop(area);
        input::set_missing_depths_to_infinity(&mut layer);
        layer
    });
    let samples = samples(a, b, is_colour);
    Ok(Ok(Pair { name, channels, area, samples }))
}

fn samples(mut a: Layer, mut b: Layer, is_colour: bool) -> Samples {
    if let ([one], [other]) = (&mut a.channels[..], &mut b.channels[..])
        && let (ChannelSamples::U32(one), ChannelSamples::U32(other)) =
            (&mut one.samples, &mut other.samples)
    {
        return Samples::Ids { a: std::mem::take(one), b: std::mem::take(other) };
    }
    Samples::Values { a: planes(a), b: planes(b), is_colour }
}

/// Converts all samples to floats, including integers that are compared with floats.
fn planes(layer: Layer) -> Planes {
    let plane = |samples| match samples {
        ChannelSamples::F32(samples) => samples,
        ChannelSamples::U32(samples) => samples.into_iter().map(|id| id as f32).collect(),
    };
    let planes = layer.channels.into_iter().map(|c| plane(c.samples)).collect();
    Planes::new(layer.data_window.width(), layer.data_window.height(), planes)
}

fn describe_area(area: PixelRect) -> String {
    format!("{} × {} pixels at ({}, {})", area.width(), area.height(), area.x0, area.y0)
}

fn differing_areas(files: [&Path; 2], a: PixelRect, b: PixelRect) -> String {
    let common = a.intersection(b);
    let sizes = format!(
        "{} has {}, {} has {}",
        files[0].display(),
        describe_area(a),
        files[1].display(),
        describe_area(b)
    );
    match common.width() * common.height() {
        0 => format!("{sizes}; they have no pixel in common"),
        _ => format!(
            "{sizes}; --crop {},{},{},{} compares the common pixels",
            common.x0, common.x1, common.y0, common.y1
        ),
    }
}
