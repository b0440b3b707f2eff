//! Reads the channels, windows and attributes of EXR files written by
//! [`write_exr`](super::write::write_exr).

use super::exr_blocks::{damaged, read_meta};
use super::write::{Attribute, CHROMATICITIES, Channel, ChannelSamples, ExrImage};
use super::{ImageError, Problem, read::exr_file};
use exr::meta::attribute::Chromaticities;
use exr::meta::header::Header;
use exr::prelude::{
    AnyChannel, AnyChannels, AttributeValue, FlatSamples, ImageAttributes, LayerAttributes, Vec2,
};
use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;

/// Reads an EXR file with one layer. Ignores attributes of types that [`Attribute`] lacks, and
/// converts half floats to floats.
pub fn read_exr(path: &Path) -> Result<ExrImage, ImageError> {
    let data = std::fs::read(path).map_err(|e| Problem::Read(e).in_file(path))?;
    decode(&data).map_err(|p| p.in_file(path))
}

/// Like [`read_exr`], but skips the channels, which can take long to decode.
pub fn read_exr_header(path: &Path) -> Result<ExrImage, ImageError> {
    read_header(path)
        .and_then(|header| {
            without_channels(header.layer_size, &header.own_attributes, &header.shared_attributes)
        })
        .map_err(|p| p.in_file(path))
}

/// Reads the names of the channels of an EXR file with one layer.
pub fn read_exr_channel_names(path: &Path) -> Result<Vec<String>, ImageError> {
    let header = read_header(path).map_err(|p| p.in_file(path))?;
    Ok(header.channels.list.iter().map(|channel| channel.name.to_string()).collect())
}

fn read_header(path: &Path) -> Result<Header, Problem> {
    let mut magic = Vec::new();
    let mut file = BufReader::new(File::open(path).map_err(Problem::Read)?);
    file.by_ref().take(4).read_to_end(&mut magic).map_err(Problem::Read)?;
    if magic.is_empty() {
        return Err(Problem::Empty);
    }
    if magic != exr::meta::magic_number::BYTES {
        return Err(Problem::UnknownFormat);
    }
    let mut meta = read_meta(Cursor::new(magic).chain(file))?;
    let count = meta.headers.len();
    match (meta.headers.pop(), count) {
        (Some(header), 1) => Ok(header),
        _ => Err(damaged(format!("expected one layer, found {count}"))),
    }
}

/// Creates an image with everything except the channels.
fn without_channels(
    size: Vec2<usize>,
    layer: &LayerAttributes,
    image: &ImageAttributes,
) -> Result<ExrImage, Problem> {
    let attributes = layer.other.iter().filter_map(|(name, value)| {
        let value = match value {
            AttributeValue::Text(text) => Attribute::Text(text.to_string()),
            AttributeValue::F32(x) => Attribute::Float(*x),
            AttributeValue::I32(i) => Attribute::Int(*i),
            _ => return None,
        };
        Some((name.to_string(), value))
    });
    let chromaticities = image
        .chromaticities
        .map(|c| (CHROMATICITIES.to_owned(), Attribute::Chromaticities(chromaticities(c))));
    let mut attributes: Vec<_> = attributes.chain(chromaticities).collect();
    attributes.sort_by(|a, b| a.0.cmp(&b.0));
    let offset = |x: i32| {
        u32::try_from(x).map_err(|_| {
            damaged("the data window starts at negative coordinates, which is not supported")
        })
    };
    let size_u32 = |size: Vec2<usize>| [size.x() as u32, size.y() as u32];
    Ok(ExrImage {
        size: size_u32(size),
        offset: [offset(layer.layer_position.x())?, offset(layer.layer_position.y())?],
        full_size: size_u32(image.display_window.size),
        channels: Vec::new(),
        attributes,
    })
}

/// Returns the chromaticities of red, green, blue and white.
pub(super) fn chromaticities(c: Chromaticities) -> [[f32; 2]; 4] {
    [c.red, c.green, c.blue, c.white].map(|Vec2(x, y)| [x, y])
}

fn decode(data: &[u8]) -> Result<ExrImage, Problem> {
    let mut file = exr_file(data)?;
    let count = file.layer_data.len();
    let (Some(layer), 1) = (file.layer_data.pop(), count) else {
        return Err(damaged(format!("expected one layer, found {count}")));
    };
    let image = without_channels(layer.size, &layer.attributes, &file.attributes)?;
    Ok(ExrImage { channels: channels(layer.channel_data)?, ..image })
}

/// Returns the channels of a layer or part under their names in the file, with one sample per
/// pixel.
pub(super) fn channels(exr_channels: AnyChannels<FlatSamples>) -> Result<Vec<Channel>, Problem> {
    let channel = |channel: AnyChannel<FlatSamples>| {
        let name = channel.name.to_string();
        if channel.sampling != Vec2(1, 1) {
            return Err(damaged(format!("the channel {name} is subsampled")));
        }
        let samples = match channel.sample_data {
            FlatSamples::F16(samples) => {
                ChannelSamples::F32(samples.into_iter().map(f32::from).collect())
            }
            FlatSamples::F32(samples) => ChannelSamples::F32(samples),
            FlatSamples::U32(samples) => ChannelSamples::U32(samples),
        };
        Ok(Channel { name, samples })
    };
    exr_channels.list.into_iter().map(channel).collect()
}

#[cfg(test)]
mod tests {
    use super::super::write::write_exr;
    use super::*;

    #[test]
    fn written_files_round_trip() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.exr");
        let channel = |name: &str, samples| Channel { name: name.into(), samples };
        let image = ExrImage {
            size: [2, 1],
            offset: [3, 4],
            full_size: [9, 8],
            channels: vec![
                channel("R", ChannelSamples::F32(vec![0.1, f32::INFINITY])),
                channel("sums.R.0", ChannelSamples::U32(vec![u32::MAX, 7])),
            ],
            attributes: vec![
                ("a".into(), Attribute::Float(0.5)),
                ("b".into(), Attribute::Int(-3)),
                ("c".into(), Attribute::Text("text \u{e9}".into())),
                (
                    CHROMATICITIES.into(),
                    Attribute::Chromaticities([[0.7, 0.3], [0.2, 0.8], [0.1, 0.05], [0.3, 0.33]]),
                ),
            ],
        };
        write_exr(&path, &image).unwrap();
        assert_eq!(read_exr(&path).unwrap(), image);
        let header = ExrImage { channels: Vec::new(), ..image };
        assert_eq!(read_exr_header(&path).unwrap(), header);
        assert_eq!(read_exr_channel_names(&path).unwrap(), ["R", "sums.R.0"]);
        std::fs::write(&path, &std::fs::read(&path).unwrap()[..200]).unwrap();
        assert!(read_exr(&path).unwrap_err().to_string().contains("a.exr: damaged"));
        assert!(read_exr(dir.path()).unwrap_err().to_string().contains("cannot be read"));
    }

    #[test]
    fn header_errors_tell_io_errors_from_damage() {
        let dir = tempfile::tempdir().unwrap();
        let problem = |path: &Path| read_exr_header(path).unwrap_err().problem;
        assert!(matches!(problem(dir.path()), Problem::Read(_)));
        let path = dir.path().join("a.exr");
        let of_bytes = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            problem(&path)
        };
        let magic = exr::meta::magic_number::BYTES;
        assert!(matches!(of_bytes(&[]), Problem::Empty));
        assert!(matches!(of_bytes(&magic[..3]), Problem::UnknownFormat));
        assert!(matches!(of_bytes(&magic), Problem::Damaged { .. }));
    }

    #[test]
    fn io_errors_within_headers_are_not_damage() {
        /// A storage device that does not answer.
        struct Failing;
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(std::io::ErrorKind::TimedOut.into())
            }
        }
        let file = BufReader::new(exr::meta::magic_number::BYTES.chain(Failing));
        assert!(matches!(read_meta(file), Err(Problem::Read(_))));
    }
}
