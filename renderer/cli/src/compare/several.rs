//! Several images compared with one reference: a table, and the data of the HTML report.

use super::pair::Samples;
use super::result::{CompareResult, LayerComparison, LayerResult};
use super::{Error, report};
use crate::input;
use lightbound_image::compare::{Better, Metric, MetricValue, Planes, error_map};
use lightbound_image::inspect::describe_file;
use lightbound_image::layers::COLOUR;
use lightbound_image::six_digits;
use lightbound_image::write::Attribute;
use lightbound_regress::report::comparison::{Comparison, Picture, PictureMetric, Rank};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// An image that was compared with the reference.
pub struct Compared {
    /// Its file.
    pub path: PathBuf,
    /// What its rendering took.
    pub cost: RenderCost,
    /// The comparison.
    pub result: CompareResult,
}

/// Rendering time, samples per pixel and seed of an image, where its file states them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RenderCost {
    /// Rendering time in seconds.
    pub seconds: Option<f64>,
    /// Samples per pixel, midway between the fewest and the most.
    pub samples: Option<f64>,
    /// Seed of the random numbers.
    pub seed: Option<u32>,
    /// Hash of the scene.
    scene: Option<String>,
}

impl RenderCost {
    /// Returns whether two images were rendered with the same random numbers.
    pub fn has_seed_of(&self, other: &RenderCost) -> bool {
        let key = |cost: &RenderCost| cost.seed.zip(cost.scene.clone());
        key(self).is_some_and(|seed| Some(seed) == key(other))
    }

    /// Reads the attributes of an image that `lightbound render` wrote.
    pub fn read(path: &Path, data: &[u8]) -> RenderCost {
        let attributes =
            describe_file(input::name(path), data).map(|file| file.attributes).unwrap_or_default();
        let number = |name: &str| match attributes.get(&format!("lightbound/{name}")) {
            Some(Attribute::Float(x)) => Some(f64::from(*x)),
            Some(Attribute::Int(n)) => Some(f64::from(*n)),
            _ => None,
        };
        let text = |name: &str| match attributes.get(&format!("lightbound/{name}")) {
            Some(Attribute::Text(text)) => Some(text.as_str()),
            _ => None,
        };
        let counts = number("minSamples").zip(number("maxSamples"));
        RenderCost {
            seconds: number("renderSeconds"),
            samples: counts.map(|(min, max)| 0.5 * (min + max)),
            seed: text("seed").and_then(|seed| seed.parse().ok()),
            scene: text("sceneHash").map(str::to_owned),
        }
    }
}

/// Splits the name of an image, without its extension, into a series and the time or samples that it
/// shares with images of other series: `path-4s` and `path-16spp` belong to the series `path`.
fn split_name(stem: &str) -> (&str, &str) {
    let split = stem.rsplit_once('-').filter(|(series, group)| {
        let number = group.strip_suffix("spp").or(group.strip_suffix('s'));
        !series.is_empty() && number.is_some_and(|n| n.parse().is_ok_and(|x: f64| x > 0.0))
    });
    split.unwrap_or((stem, ""))
}

/// Formats a table for each layer: a row for each image.
pub fn text(reference: &Path, images: &[Compared]) -> String {
    let names: Vec<String> = images.iter().map(|image| image.path.display().to_string()).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let mut text = format!("reference: {}\n", reference.display());
    let mut line =
        |line: String| writeln!(text, "{}", line.trim_end()).expect("writing to a string succeeds");
    let mut layers: Vec<&str> = Vec::new();
    for layer in images.iter().flat_map(|image| &image.result.layers) {
        if !layers.contains(&layer.pair.name.as_str()) {
            layers.push(&layer.pair.name);
        }
    }
    for layer in layers {
        let rows: Vec<(usize, &LayerResult)> = images
            .iter()
            .enumerate()
            .filter_map(|(i, image)| Some((i, image.result.layer(layer)?)))
            .collect();
        let metrics = metrics_of(rows.iter().map(|(_, layer)| *layer));
        let area = rows[0].1.pair.area;
        line(format!("\n{layer}, {} × {} pixels", area.width(), area.height()));
        let column = report::COLUMN_WIDTH;
        let heads: String = metrics.iter().map(|m| format!("{:>column$}", m.name())).collect();
        line(format!("{:width$}{:>10}{:>10}{heads}", "", "seconds", "samples"));
        for (i, layer) in rows {
            let RenderCost { seconds, samples, .. } = images[i].cost;
            let [seconds, samples] =
                [seconds, samples].map(|x| x.map_or("-".into(), |x| format!("{x:.4}")));
            let values: String = metrics
                .iter()
                .map(|metric| {
                    let value = layer.values.iter().find(|(m, _)| m == metric);
                    let value = value.map_or("-".into(), |(_, value)| six_digits(value.overall));
                    format!("{value:>column$}")
                })
                .collect();
            line(format!(
                "{:width$}{:>10}{:>10}{values}",
                names[i],
                short(&seconds),
                short(&samples)
            ));
        }
    }
    for (image, name) in images.iter().zip(&names) {
        for remark in &image.result.remarks {
            line(format!("note: {name}: {remark}"));
        }
    }
    text
}

/// Removes zeros at the end of a decimal fraction.
fn short(number: &str) -> &str {
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    }
}

/// The metrics that any of the layers has, in order.
fn metrics_of<'a>(layers: impl Iterator<Item = &'a LayerResult>) -> Vec<Metric> {
    let mut metrics: Vec<Metric> =
        layers.flat_map(|layer| layer.values.iter().map(|(metric, _)| *metric)).collect();
    metrics.sort();
    metrics.dedup();
    metrics
}

/// Formats one JSON object with an object for each image.
pub fn json(reference: &Path, images: &[Compared]) -> String {
    let pictures: Vec<Value> = images
        .iter()
        .map(|image| {
            let mut value = report::json_value(&image.path, reference, &image.result);
            value["seconds"] = json!(image.cost.seconds);
            value["samples"] = json!(image.cost.samples);
            value
        })
        .collect();
    let value = json!({
        "reference": reference.display().to_string(),
        "passed": images.iter().all(|image| image.result.failures.is_empty()),
        "images": pictures,
    });
    format!("{value:#}\n")
}

/// The data of the HTML report: the colours of all images that can be compared.
///
/// # Errors
/// If there is none, or if they differ in size.
pub fn comparison(reference: &Path, images: &[Compared]) -> Result<Comparison, Error> {
    let compared: Vec<(&Compared, &LayerResult)> =
        images.iter().filter_map(|image| Some((image, image.result.layer(COLOUR)?))).collect();
    let Some((_, first)) = compared.first() else {
        return Err(Error::option(
            "--report needs colours, which were not compared",
            "select the layer `colour`, and images with the size of the reference",
        ));
    };
    let area = first.pair.area;
    if let Some((other, _)) = compared.iter().find(|(_, layer)| layer.pair.area != area) {
        return Err(Error::option(
            format!("--report needs images of one size, which {} lacks", other.path.display()),
            "select a part that all images have with --crop",
        ));
    }
    let Samples::Values { b, .. } = &first.pair.samples else {
        return Err(Error::option("the colours are ids", "compare images with float colours"));
    };
    Ok(Comparison {
        reference: reference.display().to_string(),
        width: area.width() as u32,
        height: area.height() as u32,
        reference_pixels: rgb(b),
        pictures: compared.iter().filter_map(|(image, layer)| picture(image, layer)).collect(),
    })
}

/// An image of the report.
fn picture(image: &Compared, layer: &LayerResult) -> Option<Picture> {
    let (Samples::Values { a, b, .. }, LayerComparison::Values(comparison, _)) =
        (&layer.pair.samples, &layer.comparison)
    else {
        return None;
    };
    let stem = image.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let (series, group) = split_name(&stem);
    let metric = |(metric, value): &(Metric, MetricValue)| PictureMetric {
        name: metric.name(),
        value: value.overall,
        rank: match metric.better() {
            Better::Higher => Rank::Highest,
            Better::Lower if *metric == Metric::MeanError => Rank::Smallest,
            Better::Lower => Rank::Lowest,
        },
    };
    let flip = [Metric::HdrFlip, Metric::LdrFlip];
    Some(Picture {
        name: image.path.display().to_string(),
        series: series.into(),
        group: group.into(),
        seconds: image.cost.seconds,
        samples: image.cost.samples,
        metrics: layer.values.iter().map(metric).collect(),
        pixels: rgb(a),
        flip: flip
            .into_iter()
            .find_map(|metric| error_map(a, b, metric, comparison))
            .unwrap_or_default(),
    })
}

/// The colours of planes R, G and B, or of a single plane.
fn rgb(planes: &Planes) -> Vec<[f32; 3]> {
    let channels = planes.channels();
    let channel = |c: usize| channels.get(c).unwrap_or(&channels[0]);
    (0..planes.len()).map(|i| [0, 1, 2].map(|c| channel(c)[i])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_in_times_or_samples() {
        for (stem, split) in [
            ("path-4s", ("path", "4s")),
            ("lightcuts-0.02-0.5s", ("lightcuts-0.02", "0.5s")),
            ("path-16spp", ("path", "16spp")),
            ("path", ("path", "")),
            ("path-4", ("path-4", "")),
            ("two-words", ("two-words", "")),
            ("-4s", ("-4s", "")),
            ("a-0s", ("a-0s", "")),
        ] {
            assert_eq!(split_name(stem), split, "{stem}");
        }
    }
}
