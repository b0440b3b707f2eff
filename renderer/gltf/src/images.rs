//! Images of textures: original files, or images made of a channel or with a factor.
//!
//! pbrt has textures of one number or one colour. An image that holds several parameters becomes an
//! image for each of them.

use crate::document::{Document, label};
use crate::files::{Files, file_name};
use crate::schema::TextureInfo;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder};
use lightbound_image::read::read_with;
use lightbound_image::write::srgb_codes;
use lightbound_image::{Channels, Encoding, Image};
use lightbound_pbrt::SceneError;
use std::collections::HashMap;
use std::path::Path;

/// What is made of an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Content {
    /// The file as it is.
    Original,
    /// Colours times a factor.
    Tinted([f32; 3]),
    /// A channel: 0 to 2 for red, green and blue, 3 for opacity.
    Channel(usize),
    /// 1 where the opacity times the factor is at least the cutoff, and 0 elsewhere.
    Mask { factor: f32, cutoff: f32 },
    /// Normals whose x and y are scaled.
    Normals(f32),
    /// Directions in red and green, turned by an angle, as normals in the tangent plane.
    Directions(f32),
}

impl Content {
    /// Returns the content of a normal map.
    pub fn of_normals(info: &TextureInfo) -> Content {
        match info.scale {
            None | Some(1.0) => Content::Original,
            Some(scale) => Content::Normals(scale),
        }
    }

    /// The end of the file's name.
    fn suffix(self) -> String {
        match self {
            Content::Original => String::new(),
            Content::Tinted(factor) => format!("-tinted-{}", join(&factor)),
            Content::Channel(channel) => {
                format!("-{}", ["red", "green", "blue", "opacity"][channel])
            }
            Content::Mask { factor, cutoff } => format!("-mask-{}", join(&[factor, cutoff])),
            Content::Normals(scale) => format!("-scaled-{scale}"),
            Content::Directions(angle) => format!("-direction-{angle}"),
        }
    }
}

fn join(values: &[f32]) -> String {
    values.iter().map(f32::to_string).collect::<Vec<_>>().join("-")
}

/// A decoded image.
struct Decoded {
    bytes: Vec<u8>,
    extension: &'static str,
    /// With codes from 0 to 1, without a conversion from sRGB.
    codes: Image,
}

/// Images by their index in the document.
#[derive(Default)]
pub(crate) struct Images {
    decoded: HashMap<usize, Decoded>,
    /// Name of the file without extension, unique.
    stems: HashMap<usize, String>,
    written: HashMap<(usize, String), String>,
}

impl Images {
    /// Returns whether an image has an opacity that is not 1 everywhere.
    pub fn has_opacity(
        &mut self,
        document: &mut Document,
        files: &mut Files,
        index: usize,
        user: &str,
    ) -> Result<bool, SceneError> {
        let image = self.decode(document, files, index, user)?;
        Ok(image.codes.channels() == Channels::Rgba)
    }

    /// Adds a file, and returns its name. With `mirror`, the image is followed by its mirror image
    /// along that axis.
    pub fn file(
        &mut self,
        document: &mut Document,
        files: &mut Files,
        index: usize,
        user: &str,
        content: Content,
        mirror: [bool; 2],
    ) -> Result<String, SceneError> {
        let mut suffix = content.suffix();
        for (axis, is_mirrored) in std::iter::zip(["u", "v"], mirror) {
            if is_mirrored {
                suffix += &format!("-mirrored-{axis}");
            }
        }
        if let Some(name) = self.written.get(&(index, suffix.clone())) {
            return Ok(name.clone());
        }
        self.decode(document, files, index, user)?;
        let image = &self.decoded[&index];
        let (extension, bytes) = match content {
            Content::Original if mirror == [false; 2] => (image.extension, image.bytes.clone()),
            _ => ("png", encode(image, content, mirror)),
        };
        let name = files.add(&format!("{}{suffix}.{extension}", self.stems[&index]), bytes);
        self.written.insert((index, suffix), name.clone());
        Ok(name)
    }

    fn decode(
        &mut self,
        document: &mut Document,
        files: &mut Files,
        index: usize,
        user: &str,
    ) -> Result<&Decoded, SceneError> {
        if !self.decoded.contains_key(&index) {
            let bytes = document.image(index, user)?;
            let image = &document.root.images[index];
            let file = image.uri.as_deref().filter(|uri| !uri.starts_with("data:"));
            let element = match file {
                Some(uri) => format!("{} ({uri})", label("image", index, image.name.as_deref())),
                None => label("image", index, image.name.as_deref()),
            };
            let extension = match bytes.as_slice() {
                [0x89, b'P', b'N', b'G', ..] => "png",
                [0xff, 0xd8, 0xff, ..] => "jpg",
                _ => {
                    let error = document.error(&element, "is neither a PNG nor a JPEG");
                    return Err(error.help("convert it to PNG; KTX2 and WebP are not supported"));
                }
            };
            let codes = read_with(Path::new(""), Encoding::Linear, |_| Ok(bytes.clone()));
            let codes = codes.map_err(|error| {
                let error =
                    document.error(&element, format!("cannot be decoded: {}", error.problem));
                error.help("export the image again")
            })?;
            let stem = file.and_then(|uri| Path::new(uri).file_stem()?.to_str());
            let stem = stem.or(image.name.as_deref()).map(file_name).unwrap_or_default();
            let stem = if stem.is_empty() { format!("image{index}") } else { stem };
            self.stems.insert(index, files.stems.unique(&stem));
            self.decoded.insert(index, Decoded { bytes, extension, codes });
        }
        Ok(&self.decoded[&index])
    }
}

/// Encodes an image as PNG.
fn encode(image: &Decoded, content: Content, mirror: [bool; 2]) -> Vec<u8> {
    let codes = &image.codes;
    let (width, height) = (codes.width(), codes.height());
    let opacity = |x: u32, y: u32| match codes.channels() {
        Channels::Rgba => codes.float(x, y),
        _ => 1.0,
    };
    let code = |x: f32| (255.0 * x).round() as u8;
    let linear;
    let tinted: Box<dyn Fn(u32, u32) -> [u8; 3]> = match content {
        Content::Tinted(factor) => {
            linear = read_with(Path::new(""), Encoding::Srgb, |_| Ok(image.bytes.clone()))
                .expect("it was decoded before");
            let linear = &linear;
            Box::new(move |x, y| {
                let rgb = linear.rgb(x, y).to_array();
                srgb_codes(&[std::array::from_fn(|k| rgb[k] * factor[k])], 0.0)[0]
            })
        }
        Content::Normals(scale) => Box::new(move |x, y| {
            let n = 2.0 * codes.rgb(x, y) - 1.0;
            let scaled = glam::Vec3::new(n.x * scale, n.y * scale, n.z).normalize_or(glam::Vec3::Z);
            (0.5 * scaled + 0.5).to_array().map(code)
        }),
        Content::Directions(angle) => {
            let turn = glam::Vec2::new(libm::cosf(angle), libm::sinf(angle));
            Box::new(move |x, y| {
                let direction = turn.rotate(2.0 * codes.rgb(x, y).truncate() - 1.0);
                (0.5 * direction.extend(0.0) + 0.5).to_array().map(code)
            })
        }
        _ => Box::new(move |x, y| codes.rgb(x, y).to_array().map(code)),
    };
    let is_grey = matches!(content, Content::Channel(_) | Content::Mask { .. });
    let grey = |x: u32, y: u32| match content {
        Content::Channel(3) => code(opacity(x, y)),
        Content::Mask { factor, cutoff } => 255 * u8::from(factor * opacity(x, y) >= cutoff),
        Content::Channel(channel) => code(codes.rgb(x, y)[channel]),
        _ => 0,
    };
    let size = [width, height];
    let [out_width, out_height] =
        [0, 1].map(|axis| if mirror[axis] { 2 * size[axis] } else { size[axis] });
    let mut pixels = Vec::new();
    for y in 0..out_height {
        for x in 0..out_width {
            let x = if x < width { x } else { 2 * width - 1 - x };
            let y = if y < height { y } else { 2 * height - 1 - y };
            match is_grey {
                true => pixels.push(grey(x, y)),
                false => pixels.extend(tinted(x, y)),
            }
        }
    }
    let mut file = Vec::new();
    let encoder =
        PngEncoder::new_with_quality(&mut file, CompressionType::Fast, FilterType::Adaptive);
    let kind = if is_grey { ExtendedColorType::L8 } else { ExtendedColorType::Rgb8 };
    let written = encoder.write_image(&pixels, out_width, out_height, kind);
    written.expect("writing to memory does not fail, and decoded images have pixels");
    file
}
