//! Text and JSON output of comparisons.

use super::result::{CompareResult, LayerComparison, LayerResult};
use lightbound_image::compare::{Metric, MetricValue};
use lightbound_image::six_digits;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::path::Path;

/// Width of a column in characters.
pub const COLUMN_WIDTH: usize = 13;

/// Formats the tables as text.
pub fn text(a: &Path, b: &Path, result: &CompareResult) -> String {
    let mut text = format!("A: {}\nB: {} (the reference)\n", a.display(), b.display());
    for layer in &result.layers {
        table(&mut text, layer);
    }
    if !result.remarks.is_empty() {
        text.push('\n');
    }
    for remark in &result.remarks {
        writeln!(text, "note: {remark}").expect("writing to a string succeeds");
    }
    text
}

fn table(text: &mut String, layer: &LayerResult) {
    let (pair, area) = (&layer.pair, layer.pair.area);
    let position = if (area.x0, area.y0) == (0, 0) {
        String::new()
    } else {
        format!(" at ({}, {})", area.x0, area.y0)
    };
    let mut line =
        |line: String| writeln!(text, "{}", line.trim_end()).expect("writing to a string succeeds");
    line(format!("\n{}, {} × {} pixels{position}", pair.name, area.width(), area.height()));
    // With a single channel, its value equals the overall value and is not repeated.
    let single = pair.channels.len() == 1;
    let per_channel =
        layer.values.iter().any(|(_, metric_value)| !metric_value.channels.is_empty());
    let names = if single || !per_channel { &[][..] } else { &pair.channels[..] };
    if !names.is_empty() {
        let columns: String = names.iter().map(|name| format!("{name:>COLUMN_WIDTH$}")).collect();
        line(format!("{:<12}{:>COLUMN_WIDTH$}{columns}", "", "overall"));
    }
    for (metric, metric_value) in &layer.values {
        let channels: String = metric_value
            .channels
            .iter()
            .filter(|_| !single)
            .map(|x| format!("{:>COLUMN_WIDTH$}", six_digits(*x)))
            .collect();
        let note = layer.note(*metric).map(|note| format!("  {note}")).unwrap_or_default();
        line(format!(
            "{:<12}{:>COLUMN_WIDTH$}{channels}{note}",
            metric.name(),
            six_digits(metric_value.overall)
        ));
    }
}

/// Formats one JSON object.
pub fn json(a: &Path, b: &Path, result: &CompareResult) -> String {
    format!("{:#}\n", json_value(a, b, result))
}

/// The result as a JSON object; values that are not finite are `null`.
pub fn json_value(a: &Path, b: &Path, result: &CompareResult) -> Value {
    json!({
        "a": a.display().to_string(),
        "b": b.display().to_string(),
        "passed": result.failures.is_empty(),
        "failures": result.failures,
        "remarks": result.remarks,
        "layers": result.layers.iter().map(layer_json).collect::<Vec<_>>(),
    })
}

fn layer_json(layer: &LayerResult) -> Value {
    let (pair, area) = (&layer.pair, layer.pair.area);
    let metrics: Map<String, Value> = layer
        .values
        .iter()
        .map(|(metric, metric_value)| {
            (metric.name().into(), metric_json(layer, *metric, metric_value))
        })
        .collect();
    let mut value = json!({
        "name": pair.name,
        "channels": pair.channels,
        "x": area.x0,
        "y": area.y0,
        "width": area.width(),
        "height": area.height(),
        "metrics": metrics,
    });
    if let LayerComparison::Values(comparison, validity) = &layer.comparison {
        value["nan_pixels"] = validity.nan.pixels.into();
        value["infinite_pixels"] = validity.infinite.pixels.into();
        value["pixels_left_out"] = comparison.excluded_pixels.into();
    }
    value
}

fn metric_json(layer: &LayerResult, metric: Metric, metric_value: &MetricValue) -> Value {
    let mut value = json!({ "overall": metric_value.overall });
    if !metric_value.channels.is_empty() {
        let channels = layer
            .pair
            .channels
            .iter()
            .cloned()
            .zip(metric_value.channels.iter().map(|&x| json!(x)));
        value["channels"] = Value::Object(channels.collect());
    }
    match (metric, layer.largest_error(), &layer.comparison) {
        (Metric::Max, Some((channel, (x, y))), _) => {
            value["channel"] = layer.pair.channels[channel].clone().into();
            value["pixel"] = json!([x, y]);
        }
        (Metric::Differing, _, LayerComparison::Ids(_, Some(first))) => {
            let (x, y) = layer.pair.area.position(*first);
            value["pixel"] = json!([x, y]);
        }
        (Metric::HdrFlip, _, LayerComparison::Values(comparison, _)) => {
            value["exposures"] = json!(comparison.hdr_flip.as_ref().map(|map| &map.exposures));
        }
        _ => {}
    }
    value
}
