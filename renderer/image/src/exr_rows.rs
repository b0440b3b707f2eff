//! Streams EXR files: computes pixels while a file is written, and uses them while it is read.
//!
//! Neither side holds the whole image: a file consists of blocks of 16 rows, each compressed by
//! itself. A 4K image with all layers and sums of a film has 2.5 GB of samples; a block has 18 MB.
//! A few blocks for each thread are in memory at a time.

use super::exr_blocks::{self, PEDANTIC, damaged, problem};
use super::isolation::isolate;
use super::write::{Attribute, ChannelSamples, ExrImage, save_with};
use super::{ImageError, Problem, Window};
use exr::block::{BlockIndex, UncompressedBlock};
use exr::image::write::channels::{ChannelsWriter, WritableChannels};
use exr::image::{Blocks, Encoding, Image, Layer};
use exr::meta::BlockDescription;
use exr::meta::attribute::{ChannelList, Chromaticities, LevelMode};
use exr::meta::header::{Header, LayerAttributes};
use exr::prelude::{
    AttributeValue, ChannelDescription, IntegerBounds, LineOrder, SampleType, Text, Vec2,
    WritableImage,
};
use std::collections::HashSet;
use std::fs::File;
use std::io::{BufReader, Seek, Write};
use std::ops::Range;
use std::path::Path;

/// Scan lines from the top, with lossless ZIP compression.
pub(super) const ENCODING: Encoding = Encoding {
    compression: exr::compression::Compression::ZIP16,
    blocks: Blocks::ScanLines,
    line_order: LineOrder::Increasing,
};

/// The type of a channel's samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelType {
    /// Floats.
    F32,
    /// Unsigned integers, such as object ids.
    U32,
}

/// The pixels of an EXR file, computed while it is written.
pub trait ExrRows: Sync {
    /// Returns the names of the channels, which are distinct, and their types.
    fn channels(&self) -> Vec<(String, ChannelType)>;

    /// Returns the samples of the given rows, counted from the first stored row, for each channel
    /// in the order of [`ExrRows::channels`].
    fn rows(&self, rows: Range<u32>) -> Vec<ChannelSamples>;
}

/// Writes an EXR file: scan lines from the top, with lossless ZIP compression. `header` has the
/// windows and the attributes; its channels are ignored in favour of `rows`.
///
/// # Panics
/// If `rows` returns a wrong number of samples.
pub fn write_exr_rows(
    path: &Path,
    header: &ExrImage,
    rows: &dyn ExrRows,
) -> Result<(), ImageError> {
    save_with(path, |file| encode(file, header, rows))
}

/// The channels of an image in the order of the file, which is alphabetical.
struct SortedRows<'a> {
    rows: &'a dyn ExrRows,
    channels: Vec<(Text, ChannelType)>,
    /// For each channel of the file, its index in `rows`.
    sources: Vec<usize>,
}

impl<'s> WritableChannels<'s> for SortedRows<'_> {
    type Writer = SortedRowsWriter<'s>;

    fn infer_channel_list(&self) -> ChannelList {
        let description = |(name, ty): &(Text, ChannelType)| {
            let ty = match ty {
                ChannelType::F32 => SampleType::F32,
                ChannelType::U32 => SampleType::U32,
            };
            ChannelDescription::named(name.clone(), ty)
        };
        ChannelList::new(self.channels.iter().map(description).collect())
    }

    fn infer_level_modes(&self) -> (LevelMode, exr::math::RoundingMode) {
        (LevelMode::Singular, exr::math::RoundingMode::Down)
    }

    fn create_writer(&'s self, _: &Header) -> SortedRowsWriter<'s> {
        SortedRowsWriter { rows: self.rows, sources: &self.sources }
    }
}

/// Extracts blocks of [`SortedRows`].
struct SortedRowsWriter<'s> {
    rows: &'s dyn ExrRows,
    sources: &'s [usize],
}

impl ChannelsWriter for SortedRowsWriter<'_> {
    fn extract_uncompressed_block(&self, header: &Header, block: BlockIndex) -> Vec<u8> {
        let (y, width, height) =
            (block.pixel_position.y(), block.pixel_size.x(), block.pixel_size.y());
        let channels = self.rows.rows(y as u32..(y + height) as u32);
        UncompressedBlock::collect_block_data_from_lines(&header.channels, block, |line| {
            let samples = &channels[self.sources[line.location.channel]];
            let start = (line.location.position.y() - y) * width;
            assert_eq!(samples.len(), width * height, "wrong number of samples in a channel");
            let written = match samples {
                ChannelSamples::F32(s) => line.write_samples_from_slice(&s[start..start + width]),
                ChannelSamples::U32(s) => line.write_samples_from_slice(&s[start..start + width]),
            };
            written.expect("the line has space for one sample per pixel");
        })
    }
}

fn encode(file: impl Write + Seek, header: &ExrImage, rows: &dyn ExrRows) -> Result<(), Problem> {
    let unwritable = |message: String| Problem::Unwritable { format: "EXR", message };
    let text = |text: &str, what: &str| {
        Text::new_or_none(text)
            .ok_or_else(|| unwritable(format!("{what}`{text}` has characters outside Latin-1")))
    };
    let mut channels = Vec::new();
    for (i, (channel, ty)) in rows.channels().into_iter().enumerate() {
        channels.push((text(&channel, "the name ")?, ty, i));
    }
    channels.sort_by(|a, b| a.0.cmp(&b.0));
    let sources = channels.iter().map(|channel| channel.2).collect();
    let channels = channels.into_iter().map(|(name, ty, _)| (name, ty)).collect();

    let position = |[x, y]: [u32; 2]| Vec2(x as i32, y as i32);
    let mut attributes =
        LayerAttributes { layer_position: position(header.offset), ..Default::default() };
    let mut chromaticities = None;
    for (key, value) in &header.attributes {
        let value = match value {
            Attribute::Text(value) => AttributeValue::Text(text(value, "")?),
            Attribute::Float(x) => AttributeValue::F32(*x),
            Attribute::Int(i) => AttributeValue::I32(*i),
            Attribute::Chromaticities(all) => {
                let [red, green, blue, white] = all.map(|[x, y]| Vec2(x, y));
                chromaticities = Some(Chromaticities { red, green, blue, white });
                continue;
            }
        };
        attributes.other.insert(text(key, "the name ")?, value);
    }
    let [width, height] = header.size.map(|n| n as usize);
    let channels = SortedRows { rows, channels, sources };
    let layer = Layer::new((width, height), attributes, ENCODING, channels);
    let mut image = Image::from_layer(layer);
    let [full_width, full_height] = header.full_size.map(|n| n as usize);
    image.attributes.display_window = IntegerBounds::from_dimensions((full_width, full_height));
    image.attributes.chromaticities = chromaticities;
    image.write().to_buffered(file).map_err(|error| match error {
        exr::error::Error::Io(cause) => Problem::Write(cause),
        other => unwritable(other.to_string()),
    })
}

/// Reads integer channels of an EXR file, written by [`write_exr_rows`], block by block and in any
/// order. Calls `visit` with the pixels of a block, within the full image, and the samples of each
/// of the channels in `names`. Each pixel is in one block.
///
/// # Errors
/// If the file cannot be read, is damaged, or lacks a channel. `visit` may have been called by
/// then.
pub fn read_exr_blocks(
    path: &Path,
    names: &[String],
    mut visit: impl FnMut(Window, &[Vec<u32>]) + Send,
) -> Result<(), ImageError> {
    read_blocks(path, names, &mut visit).map_err(|problem| problem.in_file(path))
}

fn read_blocks(
    path: &Path,
    names: &[String],
    visit: &mut (dyn FnMut(Window, &[Vec<u32>]) + Send),
) -> Result<(), Problem> {
    let file = File::open(path).map_err(Problem::Read)?;
    let bytes = file.metadata().map_err(Problem::Read)?.len();
    let reader = exr_blocks::open(BufReader::new(file), bytes)?;
    let [header] = reader.headers() else {
        return Err(damaged(format!("expected one layer, found {}", reader.headers().len())));
    };
    let (size, corner) = (header.layer_size, header.own_attributes.layer_position);
    if header.deep || header.blocks != BlockDescription::ScanLines {
        return Err(damaged("it does not consist of scan lines"));
    }
    let mut sources = vec![None; header.channels.list.len()];
    for (i, name) in names.iter().enumerate() {
        let is_wanted = |channel: &ChannelDescription| {
            channel.name.eq(name.as_str())
                && (channel.sample_type, channel.sampling) == (SampleType::U32, Vec2(1, 1))
        };
        let Some(channel) = header.channels.list.iter().position(is_wanted) else {
            return Err(damaged(format!("it has no integer channel {name}")));
        };
        sources[channel] = Some(i);
    }
    if let Some(c) = header.channels.list.iter().find(|c| c.sampling != Vec2(1, 1)) {
        return Err(damaged(format!("the channel {} is subsampled", c.name)));
    }
    let start =
        |x: i32| u32::try_from(x).map_err(|_| damaged("its pixels start at negative coordinates"));
    let (x0, y0) = (start(corner.x())?, start(corner.y())?);
    let (mut seen, mut rest) = (HashSet::new(), size.area());
    let chunks = isolate("EXR", || reader.all_chunks(PEDANTIC).map_err(problem))?;
    exr_blocks::for_each_block(chunks, |meta, block| {
        let (position, size) = (block.index.pixel_position, block.index.pixel_size);
        if !seen.insert((position.x(), position.y())) {
            return Err(damaged("a block of pixels is stored twice"));
        }
        rest = rest.saturating_sub(size.area());
        let (x, y) = (x0 + position.x() as u32, y0 + position.y() as u32);
        let window = Window { x0: x, y0: y, x1: x + size.x() as u32, y1: y + size.y() as u32 };
        let mut samples = vec![vec![0; size.area()]; names.len()];
        isolate("EXR", || {
            block.lines(&meta.headers[0].channels).try_for_each(|line| {
                let Some(i) = sources[line.location.channel] else { return Ok(()) };
                let first = (line.location.position.y() - position.y()) * size.x();
                let samples = &mut samples[i][first..first + size.x()];
                line.read_samples_into_slice(samples).map_err(problem)
            })
        })?;
        visit(window, &samples);
        Ok(())
    })?;
    match rest {
        0 => Ok(()),
        n => Err(damaged(format!("{n} pixels are missing"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::{Channel, write_exr};

    /// An image with samples that are functions of the pixel.
    struct Computed {
        width: u32,
    }

    impl ExrRows for Computed {
        fn channels(&self) -> Vec<(String, ChannelType)> {
            let names =
                [("id", ChannelType::U32), ("R", ChannelType::F32), ("B", ChannelType::F32)];
            names.map(|(name, ty)| (name.to_string(), ty)).into()
        }

        fn rows(&self, rows: Range<u32>) -> Vec<ChannelSamples> {
            let pixels = || rows.clone().flat_map(|y| (0..self.width).map(move |x| (x, y)));
            vec![
                ChannelSamples::U32(pixels().map(|(x, y)| x * 1000 + y).collect()),
                ChannelSamples::F32(pixels().map(|(x, y)| x as f32 / (y + 1) as f32).collect()),
                ChannelSamples::F32(pixels().map(|(x, y)| y as f32 - x as f32).collect()),
            ]
        }
    }

    fn header() -> ExrImage {
        ExrImage { size: [23, 37], offset: [4, 5], full_size: [60, 50], ..Default::default() }
    }

    #[test]
    fn computed_rows_give_the_same_file_as_stored_channels() {
        let dir = tempfile::tempdir().unwrap();
        let [a, b] = ["a.exr", "b.exr"].map(|name| dir.path().join(name));
        let rows = Computed { width: 23 };
        write_exr_rows(&a, &header(), &rows).unwrap();
        let channels = rows.channels().into_iter().zip(rows.rows(0..37));
        let channels =
            channels.map(|((name, _), samples)| Channel { name, samples }).collect::<Vec<_>>();
        write_exr(&b, &ExrImage { channels, ..header() }).unwrap();
        assert!(std::fs::read(a).unwrap() == std::fs::read(b).unwrap());
    }

    #[test]
    fn blocks_cover_each_pixel_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.exr");
        write_exr_rows(&path, &header(), &Computed { width: 23 }).unwrap();
        let mut found = vec![0; 23 * 37];
        let window = header().window().unwrap();
        read_exr_blocks(&path, &["id".into()], |block, samples| {
            for ((x, y), &id) in block.pixels().zip(&samples[0]) {
                assert_eq!(id, (x - 4) * 1000 + (y - 5));
                found[window.index(x, y)] += 1;
            }
        })
        .unwrap();
        assert!(found.iter().all(|&n| n == 1));
        let error =
            |name: &str| read_exr_blocks(&path, &[name.into()], |_, _| ()).unwrap_err().to_string();
        // A channel of floats does not count.
        assert!(error("R").contains("no integer channel R"), "{}", error("R"));
    }

    #[test]
    fn damaged_files_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.exr");
        write_exr_rows(&path, &header(), &Computed { width: 23 }).unwrap();
        let data = std::fs::read(&path).unwrap();
        let read = |data: &[u8]| {
            std::fs::write(&path, data).unwrap();
            let mut pixels = 0;
            read_exr_blocks(&path, &["id".into()], |block, _| pixels += block.pixels().count())
                .map(|()| pixels)
        };
        for length in (0..data.len()).step_by(7) {
            assert!(read(&data[..length]).is_err(), "{length}");
        }
        // Other damage may go unnoticed in the samples, but each pixel is visited once.
        for (at, byte) in (0..data.len()).step_by(5).flat_map(|at| [0, 0x7f].map(|byte| (at, byte)))
        {
            let mut damaged = data.clone();
            damaged[at] = byte;
            if let Ok(pixels) = read(&damaged) {
                let size = super::super::read_exr_header(&path).unwrap().size;
                assert_eq!(pixels, (size[0] * size[1]) as usize, "{at}");
            }
        }
    }

    #[test]
    fn headers_of_tiny_files_cannot_ask_for_large_blocks() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.exr");
        write_exr_rows(&path, &header(), &Computed { width: 23 }).unwrap();
        let mut data = std::fs::read(&path).unwrap();
        // The header states x_max as the third of the four numbers of the data window.
        let name = b"dataWindow\0box2i\0\x10\0\0\0";
        let at = data.windows(name.len()).position(|bytes| bytes == name).unwrap() + name.len();
        data[at + 8..at + 12].copy_from_slice(&5_000_000u32.to_le_bytes());
        std::fs::write(&path, data).unwrap();
        let error = read_exr_blocks(&path, &["id".into()], |_, _| ()).unwrap_err().to_string();
        assert!(error.contains("truncated"), "{error}");
    }
}
