//! Serializes the data of a report as scripts: `showReport({…})` with the list of cases, and
//! `receiveImages(3, {…})` with the images of one case.
//!
//! JSON is valid JavaScript, and serde_json escapes strings. The scripts are separate files, never
//! embedded in HTML, so a name may contain `</script>` or anything else. The page inserts strings
//! as text, never as markup. Images are little-endian 32-bit floats in base64, so that the page
//! computes exposure and differences from exact values.

use super::super::outcome::{CaseImages, MetricLimit, MetricValue, Outcome, Status};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use lightbound_image::write::{encode_png, srgb_codes};
use serde::Serialize;
use serde_json::Value;

/// Maximum width and height of thumbnails in pixels: twice the displayed size, for high-resolution
/// screens.
const MAX_THUMBNAIL_SIZE: u32 = 96;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    suite: &'a str,
    version: &'a str,
    cases: Vec<Case<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Case<'a> {
    name: &'a str,
    description: &'a str,
    status: &'static str,
    messages: Vec<&'a str>,
    help: &'a str,
    metrics: Vec<MetricRow<'a>>,
    seconds: Option<f64>,
    last_seconds: Option<f64>,
    /// Name of the file with the images.
    images_file: Option<String>,
    /// Width and height in pixels.
    size: Option<[u32; 2]>,
    /// Data URL of a thumbnail of the result.
    thumbnail: Option<String>,
}

#[derive(Serialize)]
struct MetricRow<'a> {
    name: &'a str,
    value: Value,
    limit: Option<RowLimit>,
    passes: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum RowLimit {
    AtLeast(Value),
    AtMost(Value),
}

/// The script that shows the list of cases, in the given order.
pub fn list_script(suite: &str, outcomes: &[&Outcome]) -> String {
    let cases = outcomes.iter().enumerate().map(|(i, outcome)| case(i, outcome)).collect();
    call("showReport", &[], &Page { suite, version: env!("CARGO_PKG_VERSION"), cases })
}

/// Name of the file that contains [`images_script`].
pub fn images_file(case: usize) -> String {
    format!("case-{case}.js")
}

/// The script with the images of the case with index `case` in the list.
pub fn images_script(case: usize, images: &CaseImages) -> String {
    let pixels = images.width as usize * images.height as usize;
    assert!(
        images.reference.len() == pixels && images.result.len() == pixels,
        "each image must have {pixels} pixels"
    );
    assert!(
        [0, pixels].contains(&images.flip.len()),
        "the ꟻLIP map must be empty or have {pixels} pixels"
    );
    let data = serde_json::json!({
        "width": images.width,
        "height": images.height,
        "reference": floats(images.reference.as_flattened()),
        "result": floats(images.result.as_flattened()),
        "flip": floats(&images.flip),
    });
    call("receiveImages", &[case], &data)
}

pub fn call(function: &str, numbers: &[usize], data: &impl Serialize) -> String {
    let numbers: String = numbers.iter().map(|n| format!("{n}, ")).collect();
    let data = serde_json::to_string(data).expect("keys are strings");
    format!("{function}({numbers}{data});\n")
}

fn case<'a>(index: usize, outcome: &'a Outcome) -> Case<'a> {
    let (status, messages, help) = match &outcome.status {
        Status::Passed => ("passed", vec![], ""),
        Status::Failed(failures) => ("failed", failures.iter().map(String::as_str).collect(), ""),
        Status::Error { message, help } => ("error", vec![message.as_str()], help.as_str()),
    };
    Case {
        name: &outcome.name,
        description: &outcome.description,
        status,
        messages,
        help,
        metrics: outcome.metrics.iter().map(row).collect(),
        seconds: outcome.time.map(|t| t.as_secs_f64()),
        last_seconds: outcome.last_time.map(|t| t.as_secs_f64()),
        images_file: outcome.images.as_ref().map(|_| images_file(index)),
        size: outcome.images.as_ref().map(|p| [p.width, p.height]),
        thumbnail: outcome.images.as_ref().and_then(|p| thumbnail([p.width, p.height], &p.result)),
    }
}

fn row(metric: &MetricValue) -> MetricRow<'_> {
    let limit = metric.limit.map(|limit| match limit {
        MetricLimit::AtLeast(x) => RowLimit::AtLeast(number(x)),
        MetricLimit::AtMost(x) => RowLimit::AtMost(number(x)),
    });
    MetricRow { name: &metric.name, value: number(metric.value), limit, passes: metric.passes() }
}

/// A JSON number, or for non-finite values a string that JavaScript's `Number` parses.
pub fn number(x: f64) -> Value {
    match serde_json::Number::from_f64(x) {
        Some(number) => Value::Number(number),
        None if x.is_nan() => "NaN".into(),
        None => if x > 0.0 { "Infinity" } else { "-Infinity" }.into(),
    }
}

pub fn floats(values: &[f32]) -> String {
    BASE64.encode(values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
}

/// Data URL of a small PNG of an image with a width and a height, downsampled with a box filter;
/// `None` if the image is empty.
pub fn thumbnail(size: [u32; 2], pixels: &[[f32; 3]]) -> Option<String> {
    let side = size[0].max(size[1]).div_ceil(MAX_THUMBNAIL_SIZE).max(1);
    let [width, height] = size.map(|n| n.div_ceil(side));
    let mean = |i: u32| {
        let [x, y] = [i % width * side, i / width * side];
        let [right, bottom] = [(x + side).min(size[0]), (y + side).min(size[1])];
        let square = (y..bottom).flat_map(|y| (x..right).map(move |x| (y as usize, x as usize)));
        let mut sum = [0.0; 3];
        for (y, x) in square {
            let pixel = pixels[y * size[0] as usize + x];
            sum = [0, 1, 2].map(|c| sum[c] + pixel[c]);
        }
        sum.map(|s| s / ((right - x) * (bottom - y)) as f32)
    };
    let rgb: Vec<[f32; 3]> = (0..width * height).map(mean).collect();
    let png = encode_png(width, height, &srgb_codes(&rgb, 0.0)).ok()?;
    Some(format!("data:image/png;base64,{}", BASE64.encode(png)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn gradient(width: u32, height: u32) -> CaseImages {
        let pixel = |i: u32| [(i % width) as f32, (i / width) as f32, 0.0];
        let result: Vec<[f32; 3]> = (0..width * height).map(pixel).collect();
        CaseImages { width, height, reference: result.clone(), result, flip: vec![] }
    }

    fn json(script: &str, prefix: &str) -> Value {
        serde_json::from_str(script.strip_prefix(prefix).unwrap().strip_suffix(");\n").unwrap())
            .unwrap()
    }

    #[test]
    fn all_fields_of_a_case_are_serialized() {
        let metric = |value, limit| MetricValue { name: "relMSE".into(), value, limit };
        let outcome = Outcome {
            name: "</script><b>\u{2028}\"".into(),
            description: "about".into(),
            status: Status::Failed(vec!["a".into(), "b".into()]),
            metrics: vec![
                metric(0.1, Some(MetricLimit::AtMost(0.25))),
                metric(f64::NAN, Some(MetricLimit::AtLeast(1.0))),
                metric(f64::NEG_INFINITY, None),
            ],
            time: Some(Duration::from_millis(1500)),
            last_time: None,
            images: Some(gradient(3, 2)),
        };
        let page = json(&list_script("suite.toml", &[&outcome]), "showReport(");
        let case = &page["cases"][0];
        assert_eq!(
            (&page["suite"], &case["name"]),
            (&"suite.toml".into(), &"</script><b>\u{2028}\"".into())
        );
        assert_eq!(case["messages"], serde_json::json!(["a", "b"]));
        assert_eq!(
            case["metrics"][0],
            serde_json::json!({"name": "relMSE", "value": 0.1, "limit": {"atMost": 0.25}, "passes": true})
        );
        assert_eq!(case["metrics"][1]["value"], "NaN");
        assert_eq!(
            case["metrics"][2],
            serde_json::json!({"name": "relMSE", "value": "-Infinity", "limit": null, "passes": true})
        );
        assert_eq!((&case["seconds"], &case["lastSeconds"]), (&1.5.into(), &Value::Null));
        assert_eq!(
            (&case["imagesFile"], &case["size"]),
            (&"case-0.js".into(), &serde_json::json!([3, 2]))
        );
    }

    #[test]
    fn image_data_is_lossless() {
        let mut images = gradient(3, 2);
        images.result[4] = [f32::NAN, f32::from_bits(1), -0.0];
        let data = json(&images_script(7, &images), "receiveImages(7, ");
        let bits = |key: &str| -> Vec<u32> {
            let bytes = BASE64.decode(data[key].as_str().unwrap()).unwrap();
            bytes.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect()
        };
        let expected = |pixels: &[[f32; 3]]| {
            pixels.as_flattened().iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        };
        assert_eq!(
            (bits("reference"), bits("result")),
            (expected(&images.reference), expected(&images.result))
        );
        assert!(bits("flip").is_empty());
        assert_eq!((&data["width"], &data["height"]), (&3.into(), &2.into()));
    }

    #[test]
    fn thumbnails_are_box_filtered() {
        // Boxes of 3 × 3 pixels, clipped in the last column and row.
        let mut images = gradient(200, 100);
        images.result.fill([1.0; 3]);
        images.result[0] = [1.0, -8.0, 1.0];
        let address = thumbnail([200, 100], &images.result).unwrap();
        let png = BASE64.decode(address.strip_prefix("data:image/png;base64,").unwrap()).unwrap();
        let image = image::load_from_memory(&png).unwrap().into_rgb8();
        assert_eq!(image.dimensions(), (67, 34));
        assert_eq!(image.get_pixel(0, 0).0, [255, 0, 255]);
        assert!(image.pixels().skip(1).all(|p| p.0 == [255; 3]));
        assert!(thumbnail([0, 0], &[]).is_none());
    }
}
