//! EXR files as [`write_exr`](super::write::write_exr) makes them, read back whole: all channels, windows and attributes.

use super::write::{Attribute, Channel, ChannelSamples, ExrPicture};
use super::{ImageError, Problem, read::exr_file};
use exr::prelude::{AttributeValue, FlatSamples};
use std::path::Path;

/// Reads an EXR file of one layer. Attributes of kinds that are never written are left out, half floats come as floats.
pub fn read_exr(path: &Path) -> Result<ExrPicture, ImageError> {
    let data = std::fs::read(path).map_err(|e| Problem::Read(e).of(path))?;
    decode(&data).map_err(|p| p.of(path))
}

fn decode(data: &[u8]) -> Result<ExrPicture, Problem> {
    let damaged = |message: String| Problem::Damaged { format: "EXR", message };
    let file = exr_file(data)?;
    let [layer] = &file.layer_data[..] else {
        return Err(damaged(format!("{} layers in place of one", file.layer_data.len())));
    };
    let channels = layer.channel_data.list.iter().map(|channel| {
        let samples = match &channel.sample_data {
            FlatSamples::F16(s) => ChannelSamples::F32(s.iter().map(|x| x.to_f32()).collect()),
            FlatSamples::F32(s) => ChannelSamples::F32(s.clone()),
            FlatSamples::U32(s) => ChannelSamples::U32(s.clone()),
        };
        Channel { name: channel.name.to_string(), samples }
    });
    let attributes = layer.attributes.other.iter().filter_map(|(name, value)| {
        let value = match value {
            AttributeValue::Text(text) => Attribute::Text(text.to_string()),
            AttributeValue::F32(x) => Attribute::Float(*x),
            AttributeValue::I32(i) => Attribute::Int(*i),
            _ => return None,
        };
        Some((name.to_string(), value))
    });
    let mut attributes: Vec<_> = attributes.collect();
    attributes.sort_by(|a, b| a.0.cmp(&b.0));
    let outside = || damaged("the data window begins left of or above the picture".into());
    let place = |x: i32| u32::try_from(x).map_err(|_| outside());
    let offset = [place(layer.attributes.layer_position.x())?, place(layer.attributes.layer_position.y())?];
    let size = |size: exr::math::Vec2<usize>| [size.x() as u32, size.y() as u32];
    Ok(ExrPicture {
        size: size(layer.size),
        offset,
        full_size: size(file.attributes.display_window.size),
        channels: channels.collect(),
        attributes,
    })
}

#[cfg(test)]
mod tests {
    use super::super::write::write_exr;
    use super::*;

    #[test]
    fn what_is_written_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.exr");
        let channel = |name: &str, samples| Channel { name: name.into(), samples };
        let picture = ExrPicture {
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
            ],
        };
        write_exr(&path, &picture).unwrap();
        assert_eq!(read_exr(&path).unwrap(), picture);
        std::fs::write(&path, &std::fs::read(&path).unwrap()[..200]).unwrap();
        assert!(read_exr(&path).unwrap_err().to_string().contains("a.exr: damaged"));
        assert!(read_exr(dir.path()).unwrap_err().to_string().contains("cannot be read"));
    }
}
