//! What an image contains: layers with statistics, attributes, and the samples of a part or of a
//! checkpoint.

use super::lines;
use crate::console::count;
use crate::merge::describe_samples;
use lightbound::film::{NO_DEPTH, is_exact_sum};
use lightbound::material::parameters::format_table;
use lightbound::part::{HEADER, PartHeader};
use lightbound_image::inspect::{ChannelStatistics, FileDescription, describe_file};
use lightbound_image::layers::{Layer, Layers, PixelRect, decode_layers};
use lightbound_image::write::Attribute;
use lightbound_image::{ImageError, six_digits};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Maximum number of characters of an attribute in text.
const MAX_ATTRIBUTE: usize = 100;

/// The content of an image.
pub struct ImageInfo {
    path: PathBuf,
    file: FileDescription,
    display_window: PixelRect,
    /// The pixels of the first layer.
    data_window: PixelRect,
    /// Layers, except for the exact sums, which are not for people.
    layers: Vec<LayerInfo>,
    /// Number of channels with exact sums.
    sums: usize,
    /// Number of pixels with the depth [`NO_DEPTH`].
    without_surface: usize,
}

struct LayerInfo {
    name: String,
    data_window: PixelRect,
    channels: Vec<(String, ChannelStatistics)>,
}

impl ImageInfo {
    /// Describes the content of a file.
    pub fn new(path: &Path, data: &[u8]) -> Result<ImageInfo, ImageError> {
        let Layers { display_window, mut layers, .. } = decode_layers(path, data)?;
        let data_window = layers[0].data_window;
        let sums = layers.extract_if(.., |layer| is_exact_sum(&layer.name)).count();
        let is_missing = |z: &mut f32| *z == NO_DEPTH;
        let depths = layers.iter_mut().filter_map(Layer::depths_mut);
        let without_surface = depths.map(|z| z.extract_if(.., is_missing).count()).sum();
        let layers = layers.into_iter().map(|layer| LayerInfo {
            channels: layer
                .channels
                .iter()
                .map(|c| (c.name.clone(), ChannelStatistics::new(&c.samples)))
                .collect(),
            name: layer.name,
            data_window: layer.data_window,
        });
        Ok(ImageInfo {
            path: path.into(),
            file: describe_file(path, data)?,
            display_window,
            data_window,
            layers: layers.collect(),
            sums,
            without_surface,
        })
    }

    /// `image`, or `checkpoint` for a file with exact sums only.
    fn kind(&self) -> &'static str {
        if self.layers.is_empty() { "checkpoint" } else { "image" }
    }

    /// The samples of a part or of a checkpoint.
    fn samples(&self) -> Option<String> {
        let Some(Attribute::Text(text)) = self.file.attributes.get(HEADER) else { return None };
        let header = PartHeader::parse(&self.path, text).ok()?;
        Some(describe_samples(&header.coverage))
    }

    /// Formats the description as text.
    pub fn text(&self) -> String {
        let file = &self.file;
        let compression = file.compression.as_ref().map(|c| format!("; {c}")).unwrap_or_default();
        let window = self.data_window;
        let mut size = format!("{} × {} pixels", window.width(), window.height());
        if window != self.display_window {
            let full = self.display_window;
            size += &format!(
                " at ({}, {}), of {} × {}",
                window.x0 - full.x0,
                window.y0 - full.y0,
                full.width(),
                full.height()
            );
        }
        let mut rows = vec![
            ("format", format!("{}, {}{compression}", file.format, file.samples)),
            ("size", size),
        ];
        let samples = self.samples();
        rows.extend(samples.iter().map(|samples| ("contains", samples.clone())));
        let mut text = format!("{}: {}\n{}", self.path.display(), self.kind(), lines(&rows));
        let head = ["layer", "channel", "minimum", "maximum", "mean", "NaN", "infinite"];
        let mut table = vec![head.map(str::to_owned).to_vec()];
        for layer in &self.layers {
            for (i, (channel, statistics)) in layer.channels.iter().enumerate() {
                let number = |x: Option<f64>| x.map_or("-".into(), six_digits);
                let finite = statistics.finite;
                table.push(vec![
                    if i == 0 { layer.name.clone() } else { String::new() },
                    channel.clone(),
                    number(finite.map(|f| f.min)),
                    number(finite.map(|f| f.max)),
                    number(finite.map(|f| f.mean)),
                    statistics.nan.to_string(),
                    statistics.infinite.to_string(),
                ]);
            }
        }
        if !self.layers.is_empty() {
            let table = format_table(&table);
            table.lines().for_each(|line| text += &format!("  {line}\n"));
        }
        if self.without_surface > 0 {
            let pixels = count(self.without_surface as u64, "pixel");
            text += &format!("  excluded from depth: {pixels} without a surface, {NO_DEPTH:e}\n");
        }
        if self.sums > 0 {
            let channels = count(self.sums as u64, "channel");
            text += &format!(
                "  sums.*  the exact sums of a {}, {channels}\n",
                match self.kind() {
                    "image" => "part",
                    kind => kind,
                }
            );
        }
        if !file.attributes.is_empty() {
            text += "  attributes\n";
            let rows: Vec<(&str, String)> = file
                .attributes
                .iter()
                // Described above.
                .filter(|(name, _)| samples.is_none() || *name != HEADER)
                .map(|(name, value)| (name.as_str(), shorten(&value.to_string())))
                .collect();
            lines(&rows).lines().for_each(|line| text += &format!("  {line}\n"));
        }
        text
    }

    /// The description as JSON.
    pub fn json(&self) -> Value {
        let attributes: Map<String, Value> = self
            .file
            .attributes
            .iter()
            .map(|(name, value)| (name.clone(), attribute_json(value)))
            .collect();
        json!({
            "file": self.path.display().to_string(),
            "kind": self.kind(),
            "format": self.file.format,
            "samples": self.file.samples,
            "compression": self.file.compression,
            "display_window": window_json(self.display_window),
            "data_window": window_json(self.data_window),
            "contains": self.samples(),
            "without_surface": self.without_surface,
            "layers": self.layers.iter().map(LayerInfo::json).collect::<Vec<_>>(),
            "attributes": attributes,
        })
    }
}

impl LayerInfo {
    fn json(&self) -> Value {
        let channel = |(name, statistics): &(String, ChannelStatistics)| {
            let finite = statistics.finite;
            json!({
                "name": name,
                "min": finite.map(|f| f.min),
                "max": finite.map(|f| f.max),
                "mean": finite.map(|f| f.mean),
                "nan": statistics.nan,
                "infinite": statistics.infinite,
            })
        };
        json!({
            "name": self.name,
            "data_window": window_json(self.data_window),
            "channels": self.channels.iter().map(channel).collect::<Vec<_>>(),
        })
    }
}

fn window_json(window: PixelRect) -> Value {
    json!({
        "x": window.x0, "y": window.y0, "width": window.width(), "height": window.height(),
    })
}

fn attribute_json(value: &Attribute) -> Value {
    match value {
        Attribute::Float(x) => json!(x),
        Attribute::Int(i) => json!(i),
        Attribute::Text(_) | Attribute::Chromaticities(_) => json!(value.to_string()),
    }
}

/// Shortens a long text to one line.
fn shorten(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.char_indices().nth(MAX_ATTRIBUTE) {
        Some((end, _)) => format!("{} … ({} characters)", &line[..end], line.chars().count()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_attributes_are_shortened_to_a_line() {
        assert_eq!(shorten("two\nlines"), "two lines");
        let long = shorten(&"é".repeat(150));
        assert!(long.ends_with("é … (150 characters)"), "{long}");
        assert_eq!(long.matches('é').count(), MAX_ATTRIBUTE);
    }
}
