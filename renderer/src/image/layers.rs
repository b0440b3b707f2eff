//! All layers of a picture file.
//!
//! A layer is what stands before the last point of EXR's channel names: `normal` has `normal.X`,
//! `normal.Y` and `normal.Z`. The colour, `R`, `G`, `B` or `Y` without a point, is the layer
//! [`COLOUR`]. Opacity and unsigned integers, which no colour can be reckoned with, are layers of
//! their own, by their full names. In files of several parts, channels of parts but the one with
//! the colour begin with the part's name. Formats other than EXR have a colour, and PNG an opacity
//! beside red, green and blue.

use super::read::{decode_whole, exr_file};
use super::read_exr::channels;
use super::write::{Channel, ChannelSamples};
use super::{Channels, Encoding, Image, ImageError, Problem};
use std::path::Path;

/// Name of the layer that is looked at first.
pub const COLOUR: &str = "colour";

/// A rectangle of pixels; x1 and y1 are outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Leftmost column.
    pub x0: i64,
    /// Topmost row.
    pub y0: i64,
    /// Behind the rightmost column.
    pub x1: i64,
    /// Below the lowest row.
    pub y1: i64,
}

impl Area {
    /// From the upper left corner and a size.
    pub fn of_size(x0: i64, y0: i64, width: u64, height: u64) -> Area {
        Area { x0, y0, x1: x0 + width as i64, y1: y0 + height as i64 }
    }

    /// Pixels along x.
    pub fn width(&self) -> usize {
        (self.x1 - self.x0).max(0) as usize
    }

    /// Pixels along y.
    pub fn height(&self) -> usize {
        (self.y1 - self.y0).max(0) as usize
    }

    /// Whether all of `other` lies in it.
    pub fn contains(&self, other: Area) -> bool {
        self.intersection(other) == other
    }

    /// What both have; without pixels where they have nothing.
    pub fn intersection(&self, other: Area) -> Area {
        Area {
            x0: self.x0.max(other.x0),
            y0: self.y0.max(other.y0),
            x1: self.x1.min(other.x1),
            y1: self.y1.min(other.y1),
        }
    }

    /// The column and row of a sample, counted row by row.
    pub fn position(&self, index: usize) -> (i64, i64) {
        (self.x0 + (index % self.width()) as i64, self.y0 + (index / self.width()) as i64)
    }
}

/// Channels that belong together.
#[derive(Clone, Debug)]
pub struct Layer {
    /// [`COLOUR`], `normal`, `object.id`, …
    pub name: String,
    /// Where its pixels are (the data window).
    pub area: Area,
    /// Channels by the last part of their names: R, G, B or X, Y, Z, then others by the alphabet.
    pub channels: Vec<Channel>,
}

/// A picture file.
#[derive(Clone, Debug)]
pub struct Layers {
    /// The whole picture (the display window).
    pub full: Area,
    /// Whether the format tells where in the whole picture its pixels are, as EXR does.
    pub has_position: bool,
    /// Whether values are of a display, from 0 to 1: they were encoded as sRGB, and are linear
    /// here.
    pub is_display_referred: bool,
    /// The layers, the colour first.
    pub layers: Vec<Layer>,
}

impl Layer {
    /// Whether the channels are what eyes see.
    pub fn is_colour(&self) -> bool {
        matches!(
            self.channels.iter().map(|c| c.name.as_str()).collect::<Vec<_>>()[..],
            ["R", "G", "B"] | ["Y"]
        )
    }

    /// The part of it in `area`, which lies in its own.
    ///
    /// # Panics
    /// If it does not.
    pub fn crop(mut self, area: Area) -> Layer {
        assert!(self.area.contains(area), "{area:?} of {:?}", self.area);
        if self.area != area {
            for channel in &mut self.channels {
                match &mut channel.samples {
                    ChannelSamples::F32(samples) => *samples = cut(samples, self.area, area),
                    ChannelSamples::U32(samples) => *samples = cut(samples, self.area, area),
                }
            }
            self.area = area;
        }
        self
    }
}

fn cut<T: Copy>(samples: &[T], from: Area, area: Area) -> Vec<T> {
    let rows = (area.y0 - from.y0) as usize..(area.y1 - from.y0) as usize;
    let columns = (area.x0 - from.x0) as usize..(area.x1 - from.x0) as usize;
    rows.flat_map(|y| &samples[y * from.width()..][columns.clone()]).copied().collect()
}

impl Layers {
    /// The layer of a name.
    pub fn get(&self, name: &str) -> Option<&Layer> {
        self.layers.iter().find(|layer| layer.name == name)
    }

    /// Places a picture whose format cannot tell where it is.
    pub fn move_to(&mut self, area: Area, full: Area) {
        self.full = full;
        for layer in &mut self.layers {
            layer.area = area;
        }
    }
}

/// Reads all layers of a picture.
pub fn read_layers(path: &Path) -> Result<Layers, ImageError> {
    let data = std::fs::read(path).map_err(|e| Problem::Read(e).of(path))?;
    let is_exr = data.starts_with(&[0x76, 0x2f, 0x31, 0x01]);
    if is_exr {
        of_exr(&data)
    } else {
        decode_whole(&data, is_tga(path), Encoding::Srgb).map(|image| of_image(&image, &data))
    }
    .map_err(|p| p.of(path))
}

pub(super) fn is_tga(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("tga"))
}

fn of_image(image: &Image, data: &[u8]) -> Layers {
    let area = Area::of_size(0, 0, image.width().into(), image.height().into());
    let channel =
        |name: &str, samples| Channel { name: name.into(), samples: ChannelSamples::F32(samples) };
    let colour = |c: usize| image.pixels().map(|p| p[c]).collect();
    let channels = match image.channels() {
        Channels::Grey => vec![channel("Y", colour(0))],
        Channels::Rgb | Channels::Rgba => {
            ["R", "G", "B"].iter().enumerate().map(|(c, name)| channel(name, colour(c))).collect()
        }
    };
    let mut layers = vec![Layer { name: COLOUR.into(), area, channels }];
    if image.channels() == Channels::Rgba {
        let opacity = (0..image.height())
            .flat_map(|y| (0..image.width()).map(move |x| image.float(x, y)))
            .collect();
        layers.push(Layer { name: "A".into(), area, channels: vec![channel("A", opacity)] });
    }
    // PFM and Radiance HDR hold radiance.
    let is_display_referred =
        !data.starts_with(b"PF") && !data.starts_with(b"Pf") && !data.starts_with(b"#?");
    Layers { full: area, has_position: false, is_display_referred, layers }
}

fn of_exr(data: &[u8]) -> Result<Layers, Problem> {
    let damaged = |message: String| Problem::Damaged { format: "EXR", message };
    let file = exr_file(data)?;
    let has = |names: &[&str]| {
        let parts = file.layer_data.iter();
        parts
            .enumerate()
            .find(|(_, part)| {
                names.iter().all(|n| part.channel_data.list.iter().any(|c| c.name.eq(n)))
            })
            .map(|(i, _)| i)
    };
    let rgb = has(&["R", "G", "B"]);
    let colour = rgb.or_else(|| has(&["Y"]));
    let mut layers: Vec<Layer> = Vec::new();
    for (i, part) in file.layer_data.into_iter().enumerate() {
        let corner = part.attributes.layer_position;
        let area = Area::of_size(
            corner.x().into(),
            corner.y().into(),
            part.size.x() as u64,
            part.size.y() as u64,
        );
        let prefix = match &part.attributes.layer_name {
            _ if Some(i) == colour || colour.is_none() && i == 0 => String::new(),
            Some(name) => format!("{name}."),
            None => format!("part{}.", i + 1),
        };
        for Channel { name, samples } in channels(part.channel_data)? {
            // Unless it begins with its part's name already.
            let full = if name.starts_with(&prefix) { name } else { format!("{prefix}{name}") };
            let (layer, name) = split(&full, &samples, rgb.is_some());
            match layers.iter_mut().find(|l| l.name == layer) {
                Some(known) if known.area != area => {
                    return Err(damaged(format!(
                        "the layer {layer} is in several parts of different sizes"
                    )));
                }
                Some(known) if known.channels.iter().any(|c| c.name == name) => {
                    return Err(damaged(format!("there are two channels {full}")));
                }
                Some(known) => known.channels.push(Channel { name, samples }),
                None => layers.push(Layer {
                    name: layer,
                    area,
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
    let full = Area::of_size(window.position.x().into(), window.position.y().into(), width, height);
    Ok(Layers { full, has_position: true, is_display_referred: false, layers })
}

/// The names of layer and channel in a channel's full name; a luminance beside a colour is none.
fn split(full: &str, samples: &ChannelSamples, has_rgb: bool) -> (String, String) {
    let (layer, name) = full.rsplit_once('.').unwrap_or(("", full));
    match (layer, name) {
        _ if name == "A" || matches!(samples, ChannelSamples::U32(_)) => (full.into(), name.into()),
        ("", "R" | "G" | "B") => (COLOUR.into(), name.into()),
        ("", "Y") if !has_rgb => (COLOUR.into(), name.into()),
        ("", _) => (full.into(), name.into()),
        _ => (layer.into(), name.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::write::{ExrPicture, write_exr, write_pfm, write_png};
    use super::*;
    use exr::prelude::{
        AnyChannel, AnyChannels, FlatSamples, ImageAttributes, LayerAttributes, Vec2,
        WritableImage, f16,
    };

    fn names(layers: &Layers) -> Vec<String> {
        let of = |l: &Layer| {
            format!("{} {}", l.name, l.channels.iter().map(|c| c.name.as_str()).collect::<String>())
        };
        layers.layers.iter().map(of).collect()
    }

    fn floats(layer: &Layer, channel: usize) -> &[f32] {
        let ChannelSamples::F32(samples) = &layer.channels[channel].samples else {
            panic!("{layer:?}")
        };
        samples
    }

    #[test]
    fn our_own_files() {
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
        let picture = ExrPicture {
            size: [2, 1],
            offset: [3, 4],
            full_size: [8, 6],
            channels,
            ..Default::default()
        };
        write_exr(&path, &picture).unwrap();
        let layers = read_layers(&path).unwrap();
        assert_eq!(
            names(&layers),
            ["colour RGB", "A A", "Y Y", "depth Z", "normal XYZ", "object.id id"]
        );
        assert_eq!((layers.full, layers.has_position), (Area::of_size(0, 0, 8, 6), true));
        let colour = layers.get(COLOUR).unwrap();
        assert!(colour.is_colour() && !layers.get("normal").unwrap().is_colour());
        assert_eq!((colour.area, floats(colour, 0)), (Area::of_size(3, 4, 2, 1), &[3.0, 3.5][..]));
        assert_eq!(colour.area.position(1), (4, 4));
        let ChannelSamples::U32(ids) = &layers.get("object.id").unwrap().channels[0].samples else {
            panic!()
        };
        assert_eq!(ids[..], [1, u32::MAX]);
        let cut = colour.clone().crop(Area::of_size(4, 4, 1, 1));
        assert_eq!(floats(&cut, 2), [1.5]);
    }

    #[test]
    fn several_parts() {
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
        let layers = of_exr(&data).unwrap();
        assert_eq!(names(&layers), ["colour RGB", "depth Z", "A A", "mask Y", "mask.id id"]);
        assert_eq!(floats(&layers.layers[0], 2), [1.5; 2]);
        assert_eq!(layers.get("depth").unwrap().area, Area::of_size(-1, -1, 1, 2));
        // Damage is an error or other values, never a panic.
        for length in 0..data.len() - 1 {
            assert!(of_exr(&data[..length]).is_err(), "{length}");
        }
        for (at, byte) in (0..data.len()).flat_map(|at| [0, 0x7f, 0xff].map(|byte| (at, byte))) {
            let mut data = data.clone();
            data[at] = byte;
            let _ = of_exr(&data);
        }
    }

    #[test]
    fn other_formats() {
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
        let clear = Image::from_f32(1, 1, Channels::Rgba, vec![0.1, 0.2, 0.3, 0.4]);
        assert_eq!(names(&of_image(&clear, b"")), ["colour RGB", "A A"]);
        let grey = Image::from_f32(1, 1, Channels::Grey, vec![0.1]);
        assert_eq!(names(&of_image(&grey, b"Pf")), ["colour Y"]);
        assert!(
            read_layers(&dir.path().join("none.exr"))
                .unwrap_err()
                .to_string()
                .contains("none.exr: cannot be read")
        );
    }

    #[test]
    fn areas() {
        let area = Area::of_size(-2, 3, 5, 4);
        assert_eq!((area.width(), area.height(), area.position(6)), (5, 4, (-1, 4)));
        assert!(
            area.contains(Area::of_size(0, 3, 3, 4)) && !area.contains(Area::of_size(0, 3, 4, 4))
        );
        assert_eq!(area.intersection(Area::of_size(9, 9, 2, 2)).width(), 0);
    }
}
