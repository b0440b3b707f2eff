//! The data of a page that compares pictures of one scene with a reference: errors in a table and in
//! plots over time and samples, and the pictures side by side.

use super::data::{call, floats, number, thumbnail};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Pictures and their reference, of equal sizes.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Name of the reference.
    pub reference: String,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// The reference, linear sRGB, row by row from the top.
    pub reference_pixels: Vec<[f32; 3]>,
    /// The pictures.
    pub pictures: Vec<Picture>,
}

/// A picture.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Name.
    pub name: String,
    /// What has been compared: pictures of a series are joined by a line in plots.
    pub series: String,
    /// Time or samples that pictures of different series share, as in `4s`; empty if unknown.
    pub group: String,
    /// Rendering time in seconds.
    pub seconds: Option<f64>,
    /// Samples per pixel.
    pub samples: Option<f64>,
    /// Metrics, each with how its values are ranked.
    pub metrics: Vec<PictureMetric>,
    /// Linear sRGB, row by row from the top.
    pub pixels: Vec<[f32; 3]>,
    /// The ꟻLIP error, 0 to 1; empty if it was not computed.
    pub flip: Vec<f32>,
}

/// A metric of a picture.
#[derive(Clone, Copy, Debug)]
pub struct PictureMetric {
    /// Name.
    pub name: &'static str,
    /// Value, over all channels.
    pub value: f64,
    /// How values are ranked.
    pub rank: Rank,
}

/// How the values of a metric are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Rank {
    /// The lowest is best.
    Lowest,
    /// The highest is best.
    Highest,
    /// The closest to zero is best.
    Smallest,
}

/// The script that shows everything but the pictures.
pub fn list_script(comparison: &Comparison) -> String {
    let pictures = comparison.pictures.iter().enumerate().map(|(i, picture)| {
        let metrics: Map<String, Value> =
            picture.metrics.iter().map(|m| (m.name.into(), number(m.value))).collect();
        json!({
            "name": picture.name,
            "series": picture.series,
            "group": picture.group,
            "seconds": picture.seconds,
            "samples": picture.samples,
            "metrics": metrics,
            "hasFlip": !picture.flip.is_empty(),
            "imagesFile": images_file(i + 1),
            "thumbnail": thumbnail([comparison.width, comparison.height], &picture.pixels),
        })
    });
    let mut metrics: Vec<PictureMetric> = Vec::new();
    for metric in comparison.pictures.iter().flat_map(|picture| &picture.metrics) {
        if metrics.iter().all(|other| other.name != metric.name) {
            metrics.push(*metric);
        }
    }
    let metrics = metrics.iter().map(|m| json!({ "name": m.name, "rank": m.rank }));
    let data = json!({
        "reference": comparison.reference,
        "referenceFile": images_file(0),
        "size": [comparison.width, comparison.height],
        "version": env!("CARGO_PKG_VERSION"),
        "metrics": metrics.collect::<Vec<_>>(),
        "pictures": pictures.collect::<Vec<_>>(),
    });
    call("showComparison", &[], &data)
}

/// Names and contents of the scripts with pixels: of the reference, and of each picture.
pub fn image_scripts(comparison: &Comparison) -> impl Iterator<Item = (String, String)> {
    let reference = std::iter::once((&comparison.reference_pixels, &[][..]));
    let pictures = comparison.pictures.iter().map(|p| (&p.pixels, &p.flip[..]));
    let size = [comparison.width, comparison.height];
    reference.chain(pictures).enumerate().map(move |(i, (pixels, flip))| {
        let expected = size[0] as usize * size[1] as usize;
        assert_eq!(pixels.len(), expected, "each picture must have {expected} pixels");
        assert!(
            [0, expected].contains(&flip.len()),
            "the ꟻLIP map must be empty or have {expected} pixels"
        );
        let data = json!({ "pixels": floats(pixels.as_flattened()), "flip": floats(flip) });
        (images_file(i), call("receivePicture", &[i], &data))
    })
}

/// Name of the file with the pixels of the reference, 0, or of a picture, from 1.
fn images_file(index: usize) -> String {
    format!("case-{index}.js")
}
