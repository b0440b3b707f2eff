//! The layers of image files.
//!
//! The name of a layer is the part of EXR channel names before the last dot: the layer `normal` has
//! the channels `normal.X`, `normal.Y` and `normal.Z`. The channels `R`, `G`, `B` or `Y` without a
//! dot form the layer [`COLOUR`]. Opacity and unsigned integer channels are separate layers under
//! their full names, since colour metrics do not apply to them. In multi-part files, channels of
//! all parts except the one with the colour are prefixed with the name of their part. Files in
//! other formats have a colour layer and, if they are RGBA, an opacity layer.

use super::read::{decode_with_opacity, exr_file};
use super::read_exr::channels;
use super::write::{Channel, ChannelSamples};
use super::{Channels, Encoding, Image, ImageError, Problem};
use std::path::Path;

/// Name of the colour layer, the first of [`Layers::layers`].
pub const COLOUR: &str = "colour";

/// A rectangle of pixels with signed coordinates, like an EXR data window. x1 and y1 are exclusive.
///
/// For the unsigned rectangle of a rendered image, see [`Window`](crate::Window).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PixelRect {
    /// Leftmost column.
    pub x0: i64,
    /// Topmost row.
    pub y0: i64,
    /// One past the rightmost column.
    pub x1: i64,
    /// One past the bottom row.
    pub y1: i64,
}

impl PixelRect {
    /// Creates a rectangle from its upper left corner and its size.
    pub fn from_size(x0: i64, y0: i64, width: u64, height: u64) -> PixelRect {
        PixelRect { x0, y0, x1: x0 + width as i64, y1: y0 + height as i64 }
    }

    /// Returns the width in pixels.
    pub fn width(&self) -> usize {
        (self.x1 - self.x0).max(0) as usize
    }

    /// Returns the height in pixels.
    pub fn height(&self) -> usize {
        (self.y1 - self.y0).max(0) as usize
    }

    /// Returns whether the rectangle contains all of `other`.
    pub fn contains(&self, other: PixelRect) -> bool {
        self.intersection(other) == other
    }

    /// Returns the intersection of both rectangles, which has no pixels if they do not overlap.
    pub fn intersection(&self, other: PixelRect) -> PixelRect {
        PixelRect {
            x0: self.x0.max(other.x0),
            y0: self.y0.max(other.y0),
            x1: self.x1.min(other.x1),
            y1: self.y1.min(other.y1),
        }
    }

    /// Returns the column and row of a pixel, given its row-major index.
    pub fn position(&self, index: usize) -> (i64, i64) {
        (self.x0 + (index % self.width()) as i64, self.y0 + (index / self.width()) as i64)
    }
}

/// A named group of channels.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The name: [`COLOUR`], `normal`, `object.id`, …
    pub name: String,
    /// The pixels of the layer.
    pub data_window: PixelRect,
    /// Channels, without the name of the layer: R, G, B first, then in alphabetical order.
    pub channels: Vec<Channel>,
}

/// The layers of an image file.
#[derive(Clone, Debug)]
pub struct Layers {
    /// The full image.
    pub display_window: PixelRect,
    /// Whether the format stores the position of the pixels in the full image, like EXR.
    pub has_position: bool,
    /// Whether values are display-referred, from 0 to 1: sRGB in the file, linear here.
    pub is_display_referred: bool,
    /// The layers; the colour layer comes first.
    pub layers: Vec<Layer>,
}

impl Layer {
    /// Returns whether the layer has hashes of names, as the numbered layers of Cryptomatte do.
    pub fn is_matte(&self) -> bool {
        let name = self.name.strip_suffix(".A").unwrap_or(&self.name).to_lowercase();
        name.contains("crypto") && name.ends_with(|c: char| c.is_ascii_digit())
    }

    /// Returns whether the channels form a visible colour; integers and mattes do not.
    pub fn is_colour(&self) -> bool {
        if self.is_matte() {
            return false;
        }
        let names = self.channels.iter().map(|c| c.name.as_str()).collect::<Vec<_>>();
        matches!(names[..], ["R", "G", "B"] | ["Y"])
            && self.channels.iter().all(|c| matches!(c.samples, ChannelSamples::F32(_)))
    }

    /// Returns the name of one of the layer's channels in an EXR file, such as `normal.X`.
    pub fn full_name(&self, channel: &Channel) -> String {
        match self.name.as_str() {
            COLOUR => channel.name.clone(),
            // A channel that is a layer of its own already has its full name.
            name if matches!(channel.samples, ChannelSamples::U32(_))
                || name == channel.name
                || name.ends_with(".A") =>
            {
                name.into()
            }
            name => format!("{name}.{}", channel.name),
        }
    }

    /// Returns the index of the channel with depths, if the layer has one.
    pub(super) fn depth_channel(&self) -> Option<usize> {
        let is_depth = |c: &Channel| {
            is_depth(&self.full_name(c)) && matches!(c.samples, ChannelSamples::F32(_))
        };
        self.channels.iter().position(is_depth)
    }

    /// Returns the depths, if the layer has them.
    pub fn depths(&self) -> Option<&[f32]> {
        match &self.channels[self.depth_channel()?].samples {
            ChannelSamples::F32(samples) => Some(samples),
            ChannelSamples::U32(_) => None,
        }
    }

    /// Returns the depths for modification, if the layer has them.
    pub fn depths_mut(&mut self) -> Option<&mut Vec<f32>> {
        let channel = self.depth_channel()?;
        match &mut self.channels[channel].samples {
            ChannelSamples::F32(samples) => Some(samples),
            ChannelSamples::U32(_) => None,
        }
    }

    /// Crops the layer to `window`.
    ///
    /// # Panics
    /// If `window` is not within the layer.
    pub fn crop(mut self, window: PixelRect) -> Layer {
        let from = self.data_window;
        assert!(from.contains(window), "{window:?} is not within {from:?}");
        if from != window {
            for channel in &mut self.channels {
                match &mut channel.samples {
                    ChannelSamples::F32(samples) => *samples = crop_samples(samples, from, window),
                    ChannelSamples::U32(samples) => *samples = crop_samples(samples, from, window),
                }
            }
            self.data_window = window;
        }
        self
    }
}

/// Returns whether a channel has depths, given its name in an EXR file. They are not filtered:
/// between two surfaces there is none, and pixels without a surface have a placeholder.
pub fn is_depth(full_name: &str) -> bool {
    matches!(full_name, "depth.Z" | "Z")
}

fn crop_samples<T: Copy>(samples: &[T], from: PixelRect, to: PixelRect) -> Vec<T> {
    let rows = (to.y0 - from.y0) as usize..(to.y1 - from.y0) as usize;
    let columns = (to.x0 - from.x0) as usize..(to.x1 - from.x0) as usize;
    rows.flat_map(|y| &samples[y * from.width()..][columns.clone()]).copied().collect()
}

impl Layers {
    /// Returns the layer named `name`.
    pub fn get(&self, name: &str) -> Option<&Layer> {
        self.layers.iter().find(|layer| layer.name == name)
    }

    /// Sets the windows of an image in a format that does not store them.
    pub fn set_windows(&mut self, data_window: PixelRect, display_window: PixelRect) {
        self.display_window = display_window;
        for layer in &mut self.layers {
            layer.data_window = data_window;
        }
    }
}

/// Reads all layers of an image file.
pub fn read_layers(path: &Path) -> Result<Layers, ImageError> {
    let data = std::fs::read(path).map_err(|e| Problem::Read(e).in_file(path))?;
    decode_layers(path, &data)
}

/// Decodes all layers of an image file; messages call it `path`. Colours are multiplied by the
/// opacity, whatever the format.
pub fn decode_layers(path: &Path, data: &[u8]) -> Result<Layers, ImageError> {
    if is_exr(data) {
        exr_layers(data)
    } else {
        decode_with_opacity(data, is_tga(path), Encoding::Srgb)
            .map(|image| image_layers(&image, data))
    }
    .map_err(|p| p.in_file(path))
}

/// Whether the content of a file begins like an EXR file's.
pub fn is_exr(data: &[u8]) -> bool {
    data.starts_with(&exr::meta::magic_number::BYTES)
}

pub(super) fn is_tga(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("tga"))
}

fn image_layers(image: &Image, data: &[u8]) -> Layers {
    let window = PixelRect::from_size(0, 0, image.width().into(), image.height().into());
    let channel =
        |name: &str, samples| Channel { name: name.into(), samples: ChannelSamples::F32(samples) };
    let has_opacity = image.channels() == Channels::Rgba;
    let opacity: Vec<f32> = (0..image.height())
        .filter(|_| has_opacity)
        .flat_map(|y| (0..image.width()).map(move |x| image.float(x, y)))
        .collect();
    // Colours are multiplied by the opacity in EXR files, but not in the others.
    let colour = |c: usize| -> Vec<f32> {
        let mut samples: Vec<f32> = image.pixels().map(|p| p[c]).collect();
        samples.iter_mut().zip(&opacity).for_each(|(x, opacity)| *x *= opacity);
        samples
    };
    let channels = match image.channels() {
        Channels::Grey => vec![channel("Y", colour(0))],
        Channels::Rgb | Channels::Rgba => {
            ["R", "G", "B"].iter().enumerate().map(|(c, name)| channel(name, colour(c))).collect()
        }
    };
    let mut layers = vec![Layer { name: COLOUR.into(), data_window: window, channels }];
    if has_opacity {
        layers.push(Layer {
            name: "A".into(),
            data_window: window,
            channels: vec![channel("A", opacity)],
        });
    }
    // PFM and Radiance HDR are scene-referred.
    let is_display_referred =
        !data.starts_with(b"PF") && !data.starts_with(b"Pf") && !data.starts_with(b"#?");
    Layers { display_window: window, has_position: false, is_display_referred, layers }
}

fn exr_layers(data: &[u8]) -> Result<Layers, Problem> {
    let damaged = |message: String| Problem::Damaged { format: "EXR", message };
    let file = exr_file(data)?;
    let part_with = |names: &[&str]| {
        let parts = file.layer_data.iter();
        parts
            .enumerate()
            .find(|(_, part)| {
                names.iter().all(|n| part.channel_data.list.iter().any(|c| c.name.eq(n)))
            })
            .map(|(i, _)| i)
    };
    let rgb_part = part_with(&["R", "G", "B"]);
    let colour_part = rgb_part.or_else(|| part_with(&["Y"]));
    let mut layers: Vec<Layer> = Vec::new();
    for (i, part) in file.layer_data.into_iter().enumerate() {
        let corner = part.attributes.layer_position;
        let data_window = PixelRect::from_size(
            corner.x().into(),
            corner.y().into(),
            part.size.x() as u64,
            part.size.y() as u64,
        );
        let prefix = match &part.attributes.layer_name {
            _ if Some(i) == colour_part || colour_part.is_none() && i == 0 => String::new(),
            Some(name) => format!("{name}."),
            None => format!("part{}.", i + 1),
        };
        for Channel { name, samples } in channels(part.channel_data)? {
            // The channel's name may already begin with the name of its part.
            let full_name =
                if name.starts_with(&prefix) { name } else { format!("{prefix}{name}") };
            let (layer, name) = split_name(&full_name, &samples, rgb_part.is_some());
            match layers.iter_mut().find(|l| l.name == layer) {
                Some(known) if known.data_window != data_window => {
                    return Err(damaged(format!(
                        "the parts with the layer {layer} have different data windows"
                    )));
                }
                Some(known) if known.channels.iter().any(|c| c.name == name) => {
                    return Err(damaged(format!("the channel {full_name} occurs twice")));
                }
                Some(known) => known.channels.push(Channel { name, samples }),
                None => layers.push(Layer {
                    name: layer,
                    data_window,
                    channels: vec![Channel { name, samples }],
                }),
            }
        }
    }
    for layer in &mut layers {
        layer.channels.sort_by_key(|c| ("RGB".find(&c.name).unwrap_or(3), c.name.clone()));
    }
    layers.sort_by_key(|layer| layer.name != COLOUR);
    let window = file.attributes.display_window;
    let [width, height] = [window.size.x(), window.size.y()].map(|n| n as u64);
    let display_window =
        PixelRect::from_size(window.position.x().into(), window.position.y().into(), width, height);
    Ok(Layers { display_window, has_position: true, is_display_referred: false, layers })
}

/// Splits a channel's full name into the names of its layer and channel. `Y` beside RGB is a
/// separate layer.
fn split_name(full_name: &str, samples: &ChannelSamples, has_rgb: bool) -> (String, String) {
    let (layer, name) = full_name.rsplit_once('.').unwrap_or(("", full_name));
    match (layer, name) {
        _ if name == "A" || matches!(samples, ChannelSamples::U32(_)) => {
            (full_name.into(), name.into())
        }
        ("", "R" | "G" | "B") => (COLOUR.into(), name.into()),
        ("", "Y") if !has_rgb => (COLOUR.into(), name.into()),
        ("", _) => (full_name.into(), name.into()),
        _ => (layer.into(), name.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::write::{ExrImage, write_exr, write_pfm, write_png};
    use super::*;
    use exr::prelude::{
        AnyChannel, AnyChannels, FlatSamples, ImageAttributes, LayerAttributes, Vec2,
        WritableImage, f16,
    };

    fn names(layers: &Layers) -> Vec<String> {
        let describe = |l: &Layer| {
            format!("{} {}", l.name, l.channels.iter().map(|c| c.name.as_str()).collect::<String>())
        };
        layers.layers.iter().map(describe).collect()
    }

    fn floats(layer: &Layer, channel: usize) -> &[f32] {
        let ChannelSamples::F32(samples) = &layer.channels[channel].samples else {
            panic!("{layer:?}")
        };
        samples
    }

    #[test]
    fn channels_are_grouped_into_layers() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.exr");
        let f32s = |name: &str, x: f32| Channel {
            name: name.into(),
            samples: ChannelSamples::F32(vec![x, x + 0.5]),
        };
        let id =
            Channel { name: "object.id".into(), samples: ChannelSamples::U32(vec![1, u32::MAX]) };
        let channels = ["normal.Z", "B", "normal.X", "R", "A", "G", "Y", "depth.Z", "normal.Y"];
        let channels =
            channels.iter().enumerate().map(|(i, name)| f32s(name, i as f32)).chain([id]).collect();
        let image = ExrImage {
            size: [2, 1],
            offset: [3, 4],
            full_size: [8, 6],
            channels,
            ..Default::default()
        };
        write_exr(&path, &image).unwrap();
        let layers = read_layers(&path).unwrap();
        assert_eq!(
            names(&layers),
            ["colour RGB", "A A", "Y Y", "depth Z", "normal XYZ", "object.id id"]
        );
        assert_eq!(
            (layers.display_window, layers.has_position),
            (PixelRect::from_size(0, 0, 8, 6), true)
        );
        let colour = layers.get(COLOUR).unwrap();
        assert!(colour.is_colour() && !layers.get("normal").unwrap().is_colour());
        let with_depth: Vec<_> = layers.layers.iter().filter(|l| l.depths().is_some()).collect();
        assert!(with_depth.len() == 1 && with_depth[0].name == "depth");
        assert_eq!(with_depth[0].depths(), Some(&[7.0, 7.5][..]));
        assert_eq!(
            (colour.data_window, floats(colour, 0)),
            (PixelRect::from_size(3, 4, 2, 1), &[3.0, 3.5][..])
        );
        assert_eq!(colour.data_window.position(1), (4, 4));
        let ChannelSamples::U32(ids) = &layers.get("object.id").unwrap().channels[0].samples else {
            panic!()
        };
        assert_eq!(ids[..], [1, u32::MAX]);
        let [id] = &layers.get("object.id").unwrap().channels[..] else { panic!() };
        let channels = vec![Channel { name: "Y".into(), ..id.clone() }];
        assert!(!Layer { channels, ..colour.clone() }.is_colour());
        let cropped = colour.clone().crop(PixelRect::from_size(4, 4, 1, 1));
        assert_eq!(floats(&cropped, 2), [1.5]);
    }

    #[test]
    fn parts_become_layers() {
        let part = |name: &str, corner: i32, channels: Vec<(&str, FlatSamples)>| {
            let mut attributes = LayerAttributes::named(name);
            attributes.layer_position = Vec2(corner, corner);
            let channels = channels
                .into_iter()
                .map(|(name, samples)| AnyChannel::new(name, samples))
                .collect();
            exr::prelude::Layer::new(
                (1, 2),
                attributes,
                exr::prelude::Encoding::UNCOMPRESSED,
                AnyChannels::sort(channels),
            )
        };
        let half = |x: f32| FlatSamples::F16(vec![f16::from_f32(x); 2]);
        let single = |x: f32| FlatSamples::F32(vec![x; 2]);
        let parts = vec![
            part("depth", -1, vec![("depth.Z", single(3.0))]),
            part(
                "beauty",
                0,
                vec![("R", half(0.5)), ("G", half(1.0)), ("B", half(1.5)), ("A", half(1.0))],
            ),
            part("mask", 1, vec![("Y", single(4.0)), ("id", FlatSamples::U32(vec![7, 8]))]),
        ];
        let mut data = Vec::new();
        let image = exr::prelude::Image::from_layers(ImageAttributes::with_size((4, 4)), parts);
        image.write().to_buffered(std::io::Cursor::new(&mut data)).unwrap();
        let layers = exr_layers(&data).unwrap();
        assert_eq!(names(&layers), ["colour RGB", "depth Z", "A A", "mask Y", "mask.id id"]);
        assert_eq!(floats(&layers.layers[0], 2), [1.5; 2]);
        assert_eq!(layers.get("depth").unwrap().data_window, PixelRect::from_size(-1, -1, 1, 2));
        // Damaged files cause errors or wrong values, but no panics.
        for length in 0..data.len() - 1 {
            assert!(exr_layers(&data[..length]).is_err(), "{length}");
        }
        for (at, byte) in (0..data.len()).flat_map(|at| [0, 0x7f, 0xff].map(|byte| (at, byte))) {
            let mut data = data.clone();
            data[at] = byte;
            let _ = exr_layers(&data);
        }
    }

    #[test]
    fn other_formats_have_colour_and_opacity_layers() {
        let dir = tempfile::tempdir().unwrap();
        let (png, pfm) = (dir.path().join("a.png"), dir.path().join("a.pfm"));
        write_png(&png, 1, 2, &[[0.0, 0.0, 1.0], [1.0; 3]], 0.0).unwrap();
        write_pfm(&pfm, 1, 2, &[[0.0, 0.0, 9.0], [1.0; 3]]).unwrap();
        let (png, pfm) = (read_layers(&png).unwrap(), read_layers(&pfm).unwrap());
        assert_eq!(
            (names(&png), floats(&png.layers[0], 2)),
            (vec!["colour RGB".to_string()], &[1.0, 1.0][..])
        );
        assert_eq!((png.is_display_referred, png.has_position), (true, false));
        assert_eq!((pfm.is_display_referred, floats(&pfm.layers[0], 2)), (false, &[9.0, 1.0][..]));
        let translucent = Image::from_f32(1, 1, Channels::Rgba, vec![0.1, 0.2, 0.3, 0.4]);
        assert_eq!(names(&image_layers(&translucent, b"")), ["colour RGB", "A A"]);
        let grey = Image::from_f32(1, 1, Channels::Grey, vec![0.1]);
        assert_eq!(names(&image_layers(&grey, b"Pf")), ["colour Y"]);
        assert!(
            read_layers(&dir.path().join("none.exr"))
                .unwrap_err()
                .to_string()
                .contains("none.exr: cannot be read")
        );
    }

    #[test]
    fn rectangles_are_contained_and_intersected() {
        let rect = PixelRect::from_size(-2, 3, 5, 4);
        assert_eq!((rect.width(), rect.height(), rect.position(6)), (5, 4, (-1, 4)));
        assert!(
            rect.contains(PixelRect::from_size(0, 3, 3, 4))
                && !rect.contains(PixelRect::from_size(0, 3, 4, 4))
        );
        assert_eq!(rect.intersection(PixelRect::from_size(9, 9, 2, 2)).width(), 0);
    }
}
