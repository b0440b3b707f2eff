//! Writes layers to EXR files, with the header of the file that they come from.

use super::exr_rows::ENCODING;
use super::layers::{Layer, Layers};
use super::read::primaries;
use super::write::ChannelSamples;
use super::{Problem, exr_blocks::read_meta};
use exr::image::Image;
use exr::prelude::{
    AnyChannel, AnyChannels, AttributeValue, FlatSamples, ImageAttributes, IntegerBounds,
    LayerAttributes, Text, Vec2, WritableImage, f16,
};
use lightbound_math::Vec3;
use lightbound_math::spectrum::Primaries;
use std::io::Cursor;

/// Type of the samples of an EXR file. Unsigned integers keep theirs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExrDepth {
    /// Half floats: 11 significant bits, up to 65504.
    Half,
    /// 32-bit floats.
    #[default]
    Float,
}

/// The attributes of an EXR file and of its part with the colour, or of its first part.
#[derive(Clone, Debug)]
pub struct ExrHeader {
    image: ImageAttributes,
    layer: LayerAttributes,
}

impl Default for ExrHeader {
    fn default() -> ExrHeader {
        let empty = IntegerBounds::from_dimensions((0, 0));
        ExrHeader { image: ImageAttributes::new(empty), layer: LayerAttributes::default() }
    }
}

impl ExrHeader {
    /// Reads the header of an EXR file.
    pub fn read(data: &[u8]) -> Result<ExrHeader, Problem> {
        let headers = read_meta(data)?.headers;
        let has = |i: usize, name: &str| headers[i].channels.list.iter().any(|c| c.name.eq(name));
        let colour = (0..headers.len())
            .find(|&i| ["R", "G", "B"].iter().all(|name| has(i, name)))
            .or_else(|| (0..headers.len()).find(|&i| has(i, "Y")));
        let header = &headers[colour.unwrap_or(0)];
        let (image, layer) = (&header.shared_attributes, &header.own_attributes);
        Ok(ExrHeader { image: image.clone(), layer: layer.clone() })
    }

    /// Returns whether colours are in linear sRGB.
    pub fn is_srgb(&self) -> bool {
        primaries(&self.image) == Primaries::SRGB
    }

    /// Converts a layer with the channels R, G and B to linear sRGB, which the header states from
    /// then on. White reflectances stay white; light keeps its chromaticity.
    ///
    /// # Panics
    /// If the layer has other channels.
    pub fn convert_to_srgb(&mut self, layer: &mut Layer, is_reflectance: bool) {
        let from = primaries(&self.image);
        let matrix = match is_reflectance {
            true => from.reflectance_to(&Primaries::SRGB),
            false => from.light_to(&Primaries::SRGB),
        };
        let matrix = matrix.expect("images have valid primaries").as_mat3();
        let mut planes = layer.channels.iter_mut().map(|c| &mut c.samples).collect::<Vec<_>>();
        let [ChannelSamples::F32(r), ChannelSamples::F32(g), ChannelSamples::F32(b)] =
            &mut planes[..]
        else {
            panic!("the layer {} is not RGB", layer.name)
        };
        for ((r, g), b) in r.iter_mut().zip(g.iter_mut()).zip(b.iter_mut()) {
            [*r, *g, *b] = (matrix * Vec3::new(*r, *g, *b)).to_array();
        }
        self.image.chromaticities = None;
    }

    /// Sets a custom attribute; a text that is not ASCII is left out.
    pub fn set_text(&mut self, name: &str, value: &str) {
        if let (Some(name), Some(value)) = (Text::new_or_none(name), Text::new_or_none(value)) {
            self.layer.other.insert(name, AttributeValue::Text(value));
        }
    }

    /// Removes all custom attributes with names that start with `prefix`.
    pub fn remove_all(&mut self, prefix: &str) {
        self.layer.other.retain(|name, _| !name.to_string().starts_with(prefix));
    }

    /// Removes a custom attribute.
    pub fn remove(&mut self, name: &str) {
        if let Some(name) = Text::new_or_none(name) {
            self.layer.other.remove(&name);
        }
    }
}

/// Number of finite samples that become infinite as half floats.
pub fn half_overflows(layers: &Layers) -> usize {
    let channels = layers.layers.iter().flat_map(|layer| &layer.channels);
    let overflows = |samples: &ChannelSamples| match samples {
        ChannelSamples::F32(samples) => {
            samples.iter().filter(|x| x.is_finite() && f16::from_f32(**x).is_infinite()).count()
        }
        ChannelSamples::U32(_) => 0,
    };
    channels.map(|channel| overflows(&channel.samples)).sum()
}

/// Encodes an EXR file: scan lines from the top, with lossless ZIP compression.
///
/// # Errors
/// Returns a message if a name cannot be stored, or the encoder's.
///
/// # Panics
/// If there is no layer, or the layers differ in their data windows.
pub fn encode_exr_layers(
    layers: &Layers,
    header: ExrHeader,
    depth: ExrDepth,
) -> Result<Vec<u8>, String> {
    let window = layers.layers.first().expect("an image has layers").data_window;
    assert!(layers.layers.iter().all(|layer| layer.data_window == window), "data windows differ");
    let position = |[x, y]: [i64; 2]| -> Result<Vec2<i32>, String> {
        let axis = |x: i64| i32::try_from(x).map_err(|_| format!("position {x} is out of range"));
        Ok(Vec2(axis(x)?, axis(y)?))
    };
    let channels = layers.layers.iter().flat_map(|layer| channels(layer, depth));
    let channels = AnyChannels::sort(channels.collect::<Result<_, String>>()?);
    let ExrHeader { mut image, layer: mut attributes } = header;
    attributes.layer_position = position([window.x0, window.y0])?;
    // A file with one part has no name for it.
    attributes.layer_name = None;
    let full = layers.display_window;
    image.display_window =
        IntegerBounds::new(position([full.x0, full.y0])?, Vec2(full.width(), full.height()));
    let size = (window.width(), window.height());
    let mut file = Image::from_layer(exr::image::Layer::new(size, attributes, ENCODING, channels));
    file.attributes = image;
    let mut bytes = Vec::new();
    file.write().to_buffered(Cursor::new(&mut bytes)).map_err(|e| e.to_string())?;
    Ok(bytes)
}

fn channels(
    layer: &Layer,
    depth: ExrDepth,
) -> impl Iterator<Item = Result<AnyChannel<FlatSamples>, String>> {
    layer.channels.iter().map(move |channel| {
        let name = layer.full_name(channel);
        let text = Text::new_or_none(&name)
            .ok_or_else(|| format!("the name `{name}` has characters outside Latin-1"))?;
        let samples = match (&channel.samples, depth) {
            (ChannelSamples::U32(samples), _) => FlatSamples::U32(samples.clone()),
            (ChannelSamples::F32(samples), ExrDepth::Float) => FlatSamples::F32(samples.clone()),
            (ChannelSamples::F32(samples), ExrDepth::Half) => {
                FlatSamples::F16(samples.iter().map(|&x| f16::from_f32(x)).collect())
            }
        };
        Ok(AnyChannel::new(text, samples))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::{PixelRect, decode_layers};
    use crate::read_exr;
    use crate::write::{Attribute, CHROMATICITIES, Channel, ExrImage, write_exr};
    use std::path::Path;

    fn image() -> ExrImage {
        let channel = |name: &str, samples| Channel { name: name.into(), samples };
        let names = ["R", "G", "B", "A", "normal.X", "normal.Y", "normal.Z", "cut_size", "a.b.A"];
        let floats = names.iter().enumerate().map(|(i, name)| {
            channel(name, ChannelSamples::F32(vec![0.1 * i as f32, 70_000.0, f32::NAN]))
        });
        let ids = channel("object.id", ChannelSamples::U32(vec![1, 2, u32::MAX]));
        ExrImage {
            size: [3, 1],
            offset: [4, 5],
            full_size: [30, 20],
            channels: floats.chain([ids]).collect(),
            attributes: vec![
                ("lightbound/scene".into(), Attribute::text("a.pbrt")),
                ("lightbound/part".into(), Attribute::text("{}")),
            ],
        }
    }

    fn written() -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.exr");
        write_exr(&path, &image()).unwrap();
        std::fs::read(&path).unwrap()
    }

    fn decode(data: &[u8]) -> Layers {
        decode_layers(Path::new("a.exr"), data).unwrap()
    }

    #[test]
    fn floats_keep_bits_names_windows_and_attributes() {
        let data = written();
        let layers = decode(&data);
        let copy =
            encode_exr_layers(&layers, ExrHeader::read(&data).unwrap(), ExrDepth::Float).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("copy.exr");
        std::fs::write(&path, copy).unwrap();
        let bits = |image: &ExrImage| format!("{image:?}");
        let mut original = image();
        original.channels.sort_by(|a, b| a.name.cmp(&b.name));
        original.attributes.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(bits(&read_exr(&path).unwrap()), bits(&original));
    }

    #[test]
    fn half_floats_are_rounded_and_overflows_counted() {
        let data = written();
        let layers = decode(&data);
        assert_eq!(half_overflows(&layers), 9);
        let mut header = ExrHeader::read(&data).unwrap();
        header.remove("lightbound/part");
        let half = encode_exr_layers(&layers, header, ExrDepth::Half).unwrap();
        assert_eq!(read_meta(&half[..]).unwrap().headers[0].own_attributes.other.len(), 1);
        let copy = decode(&half);
        let ids = |layers: &Layers| layers.get("object.id").unwrap().channels[0].samples.clone();
        assert_eq!(ids(&copy), ids(&layers));
        let ChannelSamples::F32(green) = &copy.layers[0].channels[1].samples else { panic!() };
        assert!((green[0] - 0.1).abs() < 1e-4 && green[0] != 0.1, "{green:?}");
        assert!(green[1].is_infinite() && green[2].is_nan(), "{green:?}");
    }

    #[test]
    fn colours_in_other_spaces_are_converted_to_srgb() {
        let p = Primaries::ACES_CG;
        let xy = [p.red, p.green, p.blue, p.white].map(|c| c.map(|x| x as f32));
        let channel = |name: &str| Channel {
            name: name.into(),
            samples: ChannelSamples::F32(vec![1.0, 0.5]),
        };
        let aces = ExrImage {
            size: [2, 1],
            full_size: [2, 1],
            channels: ["R", "G", "B"].map(channel).into(),
            attributes: vec![(CHROMATICITIES.into(), Attribute::Chromaticities(xy))],
            ..ExrImage::default()
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.exr");
        write_exr(&path, &aces).unwrap();
        let data = std::fs::read(&path).unwrap();
        let converted = |is_reflectance| {
            let mut layer = decode(&data).layers.swap_remove(0);
            let mut header = ExrHeader::read(&data).unwrap();
            assert!(!header.is_srgb());
            header.convert_to_srgb(&mut layer, is_reflectance);
            assert!(header.is_srgb());
            let at = |c: &Channel| match &c.samples {
                ChannelSamples::F32(samples) => samples[0],
                ChannelSamples::U32(_) => panic!(),
            };
            Vec3::from_slice(&layer.channels.iter().map(at).collect::<Vec<_>>())
        };
        let light = Primaries::ACES_CG.light_to(&Primaries::SRGB).unwrap().as_mat3() * Vec3::ONE;
        assert!((converted(false) - light).abs().max_element() < 1e-5);
        assert!((converted(true) - 1.0).abs().max_element() < 1e-5);
        assert!((light - 1.0).abs().max_element() > 0.01);
    }

    #[test]
    fn negative_positions_are_kept() {
        let mut layers = decode(&written());
        let window = PixelRect::from_size(-7, -8, 3, 1);
        layers.set_windows(window, PixelRect::from_size(-10, -9, 20, 10));
        let data = encode_exr_layers(&layers, ExrHeader::default(), ExrDepth::Float).unwrap();
        let copy = decode(&data);
        assert_eq!(copy.layers[0].data_window, window);
        assert_eq!(copy.display_window, layers.display_window);
    }
}
