//! What an image file says about itself: format, types of samples, attributes; and statistics of
//! channels.

use super::exr_blocks::read_meta;
use super::layers::{is_exr, is_tga};
use super::read_exr::chromaticities;
use super::write::{Attribute, ChannelSamples};
use super::{ImageError, Problem};
use exr::meta::attribute::SampleType;
use exr::prelude::AttributeValue;
use std::collections::BTreeMap;
use std::path::Path;

/// Format, types and attributes of an image file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileDescription {
    /// The format: `EXR`, `PNG`, …
    pub format: &'static str,
    /// Types of the stored samples: `half`, `float`, `8 bits, sRGB`; several are joined by commas.
    pub samples: String,
    /// Compression method of an EXR file.
    pub compression: Option<String>,
    /// Attributes of an EXR file by name, without those that describe pixels and layout. Those of
    /// types that [`Attribute`] lacks are text.
    pub attributes: BTreeMap<String, Attribute>,
}

/// Attributes that describe channels, windows and layout.
const LAYOUT: [&str; 10] = [
    "channels",
    "chunkCount",
    "compression",
    "dataWindow",
    "displayWindow",
    "lineOrder",
    "maxSamplesPerPixel",
    "tiles",
    "type",
    "version",
];

/// Describes the content of an image file; messages call it `path`.
pub fn describe_file(path: &Path, data: &[u8]) -> Result<FileDescription, ImageError> {
    let described = match data {
        [] => Err(Problem::Empty),
        _ if is_exr(data) => describe_exr(data),
        [b'P', b'F' | b'f', ..] => Ok(FileDescription::new("PFM", "float")),
        _ => describe_other(data, is_tga(path)),
    };
    described.map_err(|problem| problem.in_file(path))
}

impl FileDescription {
    fn new(format: &'static str, samples: impl Into<String>) -> FileDescription {
        let (compression, attributes) = (None, BTreeMap::new());
        FileDescription { format, samples: samples.into(), compression, attributes }
    }
}

fn describe_exr(data: &[u8]) -> Result<FileDescription, Problem> {
    let headers = read_meta(data)?.headers;
    let mut types: Vec<&str> = Vec::new();
    let mut attributes = BTreeMap::new();
    let mut compressions: Vec<String> = Vec::new();
    for (i, header) in headers.iter().enumerate() {
        for channel in &header.channels.list {
            let name = match channel.sample_type {
                SampleType::F16 => "half",
                SampleType::F32 => "float",
                SampleType::U32 => "unsigned integer",
            };
            if !types.contains(&name) {
                types.push(name);
            }
        }
        let compression = header.compression.to_string();
        if !compressions.contains(&compression) {
            compressions.push(compression);
        }
        for (name, value) in header.all_named_attributes() {
            let name = name.iter().map(|&byte| char::from(byte)).collect::<String>();
            if LAYOUT.contains(&name.as_str()) {
                continue;
            }
            // The first part is the one that readers without support for parts see.
            let key = match attributes.get(&name) {
                Some(known) if i > 0 && *known != attribute(&value) => {
                    format!("{name} (part {})", i + 1)
                }
                _ => name,
            };
            attributes.insert(key, attribute(&value));
        }
    }
    Ok(FileDescription {
        compression: Some(compressions.join(", ")),
        attributes,
        ..FileDescription::new("EXR", types.join(", "))
    })
}

/// Converts an attribute; types that [`Attribute`] lacks become text.
fn attribute(value: &AttributeValue) -> Attribute {
    let list = |numbers: &[f32]| {
        Attribute::Text(numbers.iter().map(f32::to_string).collect::<Vec<_>>().join(", "))
    };
    match value {
        AttributeValue::Text(text) => Attribute::Text(text.to_string()),
        AttributeValue::F32(x) => Attribute::Float(*x),
        AttributeValue::F64(x) => Attribute::Text(x.to_string()),
        AttributeValue::I32(i) => Attribute::Int(*i),
        AttributeValue::Matrix3x3(m) => list(m),
        AttributeValue::Matrix4x4(m) => list(m),
        AttributeValue::FloatVec2(v) => list(&[v.x(), v.y()]),
        AttributeValue::FloatVec3((x, y, z)) => list(&[*x, *y, *z]),
        AttributeValue::IntVec2(v) => Attribute::Text(format!("{}, {}", v.x(), v.y())),
        AttributeValue::IntVec3((x, y, z)) => Attribute::Text(format!("{x}, {y}, {z}")),
        AttributeValue::Rational((n, d)) => Attribute::Text(format!("{n}/{d}")),
        AttributeValue::TextVector(texts) => {
            Attribute::Text(texts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        }
        AttributeValue::Chromaticities(c) => Attribute::Chromaticities(chromaticities(*c)),
        AttributeValue::Preview(preview) => Attribute::Text(format!(
            "a picture of {} × {} pixels",
            preview.size.x(),
            preview.size.y()
        )),
        AttributeValue::Bytes { bytes, .. } | AttributeValue::Custom { bytes, .. } => {
            Attribute::Text(format!("{} bytes", bytes.len()))
        }
        other => Attribute::Text(format!("{other:?}")),
    }
}

/// Position of the number of bits per sample in a PNG file, in the header chunk.
const PNG_DEPTH: usize = 24;

fn describe_other(data: &[u8], tga: bool) -> Result<FileDescription, Problem> {
    let (format, samples) = match data {
        [0x89, b'P', b'N', b'G', ..] => match data.get(PNG_DEPTH) {
            Some(1) => ("PNG", "1 bit, sRGB".into()),
            Some(bits) => ("PNG", format!("{bits} bits, sRGB")),
            None => {
                let message = "the file is truncated".into();
                return Err(Problem::Damaged { format: "PNG", message });
            }
        },
        [0xff, 0xd8, 0xff, ..] => ("JPEG", "8 bits, sRGB".into()),
        [b'#', b'?', ..] => ("HDR", "8 bits with a common exponent".into()),
        _ if tga => ("TGA", "8 bits, sRGB".into()),
        _ => return Err(Problem::UnknownFormat),
    };
    Ok(FileDescription::new(format, samples))
}

/// Statistics of a channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChannelStatistics {
    /// Minimum, maximum and mean of the finite samples; `None` if there are none.
    pub finite: Option<FiniteStatistics>,
    /// Number of NaNs.
    pub nan: usize,
    /// Number of infinities.
    pub infinite: usize,
}

/// Statistics of finite samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FiniteStatistics {
    /// Minimum.
    pub min: f64,
    /// Maximum.
    pub max: f64,
    /// Mean.
    pub mean: f64,
}

impl ChannelStatistics {
    /// Computes the statistics of samples.
    pub fn new(samples: &ChannelSamples) -> ChannelStatistics {
        match samples {
            ChannelSamples::F32(samples) => ChannelStatistics::of_floats(samples),
            ChannelSamples::U32(samples) => {
                ChannelStatistics::of(samples.iter().map(|&x| f64::from(x)))
            }
        }
    }

    /// Computes the statistics of floats.
    pub fn of_floats(samples: &[f32]) -> ChannelStatistics {
        ChannelStatistics::of(samples.iter().map(|&x| f64::from(x)))
    }

    fn of(samples: impl Iterator<Item = f64>) -> ChannelStatistics {
        let (mut nan, mut infinite, mut count, mut sum) = (0, 0, 0u64, 0.0);
        let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
        for x in samples {
            if x.is_finite() {
                (count, sum) = (count + 1, sum + x);
                (min, max) = (min.min(x), max.max(x));
            } else if x.is_nan() {
                nan += 1;
            } else {
                infinite += 1;
            }
        }
        let finite = FiniteStatistics { min, max, mean: sum / count as f64 };
        ChannelStatistics { finite: (count > 0).then_some(finite), nan, infinite }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::{CHROMATICITIES, Channel, ExrImage, write_exr, write_pfm};
    use crate::write_png::{PngDepth, encode_png_planes};

    #[test]
    fn statistics_separate_what_is_not_finite() {
        let samples = [2.0, f32::NAN, -4.0, f32::INFINITY, 5.0, f32::NEG_INFINITY];
        let statistics = ChannelStatistics::new(&ChannelSamples::F32(samples.to_vec()));
        let finite = FiniteStatistics { min: -4.0, max: 5.0, mean: 1.0 };
        let expected = ChannelStatistics { finite: Some(finite), nan: 1, infinite: 2 };
        assert_eq!(statistics, expected);
        let none = ChannelStatistics::new(&ChannelSamples::F32(vec![f32::NAN]));
        assert_eq!((none.finite, none.nan), (None, 1));
        let ids = ChannelStatistics::new(&ChannelSamples::U32(vec![u32::MAX, 1]));
        assert_eq!(ids.finite.unwrap().max, 4_294_967_295.0);
    }

    #[test]
    fn exr_files_have_types_compression_and_attributes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.exr");
        let channel = |name: &str, samples| Channel { name: name.into(), samples };
        let image = ExrImage {
            size: [1, 1],
            full_size: [1, 1],
            channels: vec![
                channel("R", ChannelSamples::F32(vec![1.0])),
                channel("id", ChannelSamples::U32(vec![1])),
            ],
            attributes: vec![
                ("lightbound/seed".into(), Attribute::text("7")),
                (
                    CHROMATICITIES.into(),
                    Attribute::Chromaticities([[0.7, 0.3], [0.2, 0.8], [0.1, 0.05], [0.3, 0.33]]),
                ),
            ],
            ..ExrImage::default()
        };
        write_exr(&path, &image).unwrap();
        let file = describe_file(&path, &std::fs::read(&path).unwrap()).unwrap();
        assert_eq!((file.format, file.samples.as_str()), ("EXR", "float, unsigned integer"));
        assert!(file.compression.unwrap().contains("zip"));
        assert_eq!(file.attributes["lightbound/seed"], Attribute::text("7"));
        assert_eq!(file.attributes["pixelAspectRatio"], Attribute::Float(1.0));
        assert!(!file.attributes.contains_key("dataWindow"));
        assert_eq!(
            file.attributes[CHROMATICITIES].to_string(),
            "red 0.7, 0.3; green 0.2, 0.8; blue 0.1, 0.05; white 0.3, 0.33"
        );
    }

    #[test]
    fn other_formats_have_a_depth() {
        let describe = |data: &[u8]| describe_file(Path::new("a"), data);
        for (depth, text) in
            [(PngDepth::Eight, "8 bits, sRGB"), (PngDepth::Sixteen, "16 bits, sRGB")]
        {
            let png = encode_png_planes([1, 1], &[&[0.5][..]; 3], None, depth).unwrap();
            assert_eq!(describe(&png).unwrap().samples, text);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pfm");
        write_pfm(&path, 1, 1, &[[1.0; 3]]).unwrap();
        assert_eq!(describe(&std::fs::read(&path).unwrap()).unwrap().format, "PFM");
        let error = |data: &[u8]| describe(data).unwrap_err().to_string();
        assert!(error(b"GIF89a").contains("unknown image format"));
        assert!(error(b"").contains("empty"));
        assert!(error(b"\x89PNG").contains("damaged"));
    }
}
