//! Converts images to textures for shaders.
//!
//! The shader's code computes the texture coordinates, and implements wrap mode and filter. So the
//! texture of an `imagemap` holds only its texels, scaled and inverted as the scene specifies.

use super::{ImageMap, ImageMapValue, Mapping, TextureFilter, WrapMode};
use lightbound_image::read::read as read_image;
use lightbound_image::{Channels, Codes, Encoding, Image, ImageError, Samples};
use lightbound_math::Vec3;
use lightbound_shader::texture::{self, Code, MAX_SIDE, Texture};
use std::path::Path;
use std::sync::Arc;

/// Maximum number of texels of a shader texture. As RGBA floats, it takes 7 GiB with its pyramid.
const MAX_TEXELS: u64 = 1 << 28;

/// An image is too large for a shader texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("has {0} × {1} texels, too many for a shader")]
pub struct TextureSizeError(u32, u32);

impl TextureSizeError {
    /// Advice for the user.
    pub fn remedy(&self) -> String {
        format!("scale the image down to {MAX_TEXELS} texels or less")
    }
}

/// Why a file cannot be used as a shader texture.
#[derive(Debug, thiserror::Error)]
pub enum ShaderTextureError {
    /// The image cannot be read.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The image is too large.
    #[error(transparent)]
    TooLarge(#[from] TextureSizeError),
}

/// Checks that an image is small enough for a shader texture.
pub fn check_size(image: &Image) -> Result<(), TextureSizeError> {
    let (width, height) = (image.width(), image.height());
    let fits = u64::from(width) * u64::from(height) <= MAX_TEXELS && width.max(height) <= MAX_SIDE;
    if fits { Ok(()) } else { Err(TextureSizeError(width, height)) }
}

/// Returns the image map of a colour image with default settings: repeated, with bilinear
/// interpolation.
pub fn default_image_map(image: Arc<Image>) -> ImageMap {
    let (mapping, wrap, filter) = (Mapping::UV, WrapMode::default(), TextureFilter::default());
    ImageMap { image, mapping, value: ImageMapValue::Rgb, wrap, filter, scale: 1.0, invert: false }
}

/// Converts an image map. Texels have the values that [`ImageMap::eval`] interpolates; the fourth
/// channel is the image's opacity, or 1. They are stored as the image has them: codes stay codes, and
/// floats are halves if they all can be.
pub fn convert(map: &ImageMap) -> Texture {
    pack(&map.image, map.value, true, |value| map.scale_and_invert(value))
}

/// Stores an image of a function of its values, which acts on each channel alone, with or without
/// its opacity. NaN counts as 0.
pub(super) fn pack(
    image: &Image,
    value: ImageMapValue,
    with_opacity: bool,
    function: impl Fn(Vec3) -> Vec3,
) -> Texture {
    let width = image.width();
    let function = |v: Vec3| function(Vec3::select(v.is_nan_mask(), Vec3::ZERO, v));
    // The stored channels, and the image's channels that they are.
    let (stored, sources): (_, &[usize]) = match (value, image.channels(), with_opacity) {
        (_, Channels::Grey, _) => (texture::Channels::Grey, &[0]),
        (ImageMapValue::Rgb, Channels::Rgba, true) => (texture::Channels::Rgba, &[0, 1, 2, 3]),
        (ImageMapValue::Rgb, ..) => (texture::Channels::Rgb, &[0, 1, 2]),
        (ImageMapValue::Float, Channels::Rgba, true) => (texture::Channels::GreyAlpha, &[3, 3]),
        (ImageMapValue::Float, Channels::Rgba, false) => (texture::Channels::Grey, &[3]),
        // The mean is no sample.
        (ImageMapValue::Float, Channels::Rgb, _) => (texture::Channels::Grey, &[]),
    };
    let packed = match image.samples() {
        Samples::U8(samples) => pack_codes(image, samples, stored, sources, function),
        Samples::U16(samples) => pack_codes(image, samples, stored, sources, function),
        Samples::F16(_) | Samples::F32(_) => None,
    };
    if let Some(texture) = packed {
        return texture;
    }
    let mut values = Vec::new();
    for (x, y) in (0..image.height()).flat_map(|y| (0..width).map(move |x| (x, y))) {
        let colour = function(value.texel(image, x, y)).to_array();
        match stored {
            texture::Channels::Rgba | texture::Channels::Rgb => values.extend(colour),
            texture::Channels::GreyAlpha | texture::Channels::Grey => values.push(colour[0]),
        }
        if matches!(stored, texture::Channels::Rgba | texture::Channels::GreyAlpha) {
            values.push(image.float(x, y));
        }
    }
    Texture::from_floats(width, stored, &values)
}

/// Stores the codes of some channels of an image; `None` without channels.
fn pack_codes<C: Code>(
    image: &Image,
    Codes { codes, decode }: &Codes<C>,
    stored: texture::Channels,
    sources: &[usize],
    function: impl Fn(Vec3) -> Vec3,
) -> Option<Texture> {
    // Opacities are linear.
    let is_opacity = *sources.first()? == 3;
    let value = |code: C| {
        let number: u32 = code.into();
        let stored = number as f32 / C::MAX as f32;
        function(Vec3::splat(if is_opacity { stored } else { decode[number as usize] })).x
    };
    let texels = codes.chunks_exact(image.channels() as usize);
    let codes = texels.flat_map(|texel| sources.iter().map(|&channel| texel[channel]));
    Some(Texture::from_codes(image.width(), stored, codes.collect(), value))
}

/// Reads an image file and converts its [`default_image_map`].
pub fn read(path: &Path) -> Result<Texture, ShaderTextureError> {
    let image = read_image(path, Encoding::Srgb)?;
    check_size(&image)?;
    Ok(convert(&default_image_map(Arc::new(image))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texture::Lookup;
    use lightbound_image::f16;
    use lightbound_math::Vec2;

    /// The values of an image map at the centres of its texels, and the opacities.
    fn texels(map: &ImageMap) -> Vec<[f32; 4]> {
        let image = &map.image;
        let (width, height) = (image.width(), image.height());
        let map = ImageMap { wrap: WrapMode::Clamp, filter: TextureFilter::Point, ..map.clone() };
        let texel = |(x, y)| {
            let centre = |k: u32, count| (k as f32 + 0.5) / count as f32;
            let uv = Vec2::new(centre(x, width), 1.0 - centre(y, height));
            let Vec3 { x: r, y: g, z: b } = map.eval(&Lookup { uv, ..Lookup::ORIGIN });
            let has_opacity = image.channels() == Channels::Rgba;
            [r, g, b, if has_opacity { image.float(x, y) } else { 1.0 }]
        };
        (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).map(texel).collect()
    }

    /// Settings of image maps: values, scales, and whether they are inverted.
    fn settings() -> impl Iterator<Item = (ImageMapValue, f32, bool)> {
        let settings = [(1.0, false), (2.0, false), (-1.0, false), (0.5, true), (3.0, true)];
        let values = [ImageMapValue::Rgb, ImageMapValue::Float];
        values.into_iter().flat_map(move |value| {
            settings.into_iter().map(move |(scale, invert)| (value, scale, invert))
        })
    }

    fn check(image: Image) {
        let map = default_image_map(Arc::new(image));
        for (value, scale, invert) in settings() {
            let map = ImageMap { value, scale, invert, ..map.clone() };
            let found = convert(&map).texels();
            let bits = |texels: &[[f32; 4]]| -> Vec<u32> {
                texels.as_flattened().iter().map(|x| x.to_bits()).collect()
            };
            assert_eq!(bits(&found), bits(&texels(&map)), "{value:?} {scale} {invert}");
        }
    }

    #[test]
    fn texels_match_the_image_map() {
        let texels = vec![0.25, 0.5, f32::NAN, 0.5, 2.0, -1.0, 0.1, 0.75];
        check(Image::from_f32(2, 1, Channels::Rgba, texels));
        let halves = [0.25, 0.5, -0.75, 1.5, 2.0, 0.0625];
        check(Image::from_f32(2, 1, Channels::Rgb, halves.to_vec()));
        check(Image::from_f32(3, 2, Channels::Grey, halves.to_vec()));
        for channels in [Channels::Grey, Channels::Rgb, Channels::Rgba] {
            for encoding in [Encoding::Srgb, Encoding::Linear, Encoding::Gamma(1.8)] {
                for [width, height] in [[2, 3], [31, 20]] {
                    let count = width * height * channels as u32;
                    let codes = (0..count).map(|k| (k * 47 % 256) as u8).collect();
                    check(Image::from_u8(width, height, channels, codes, encoding));
                    let codes = (0..count).map(|k| (k * 12_347 % 65_536) as u16).collect();
                    check(Image::from_u16(width, height, channels, codes, encoding));
                }
            }
        }
    }

    #[test]
    fn textures_have_the_format_of_the_image() {
        let format = |image: Image, value| {
            let map = ImageMap { value, ..default_image_map(Arc::new(image)) };
            let texture::Format { component, channels } = convert(&map).format();
            (component, channels)
        };
        let image = |channels: Channels, encoding| {
            let codes = (0..40 * 40 * channels as u32).map(|k| (k % 251) as u8).collect();
            Image::from_u8(40, 40, channels, codes, encoding)
        };
        use texture::{Channels as Stored, Component};
        let (rgb, float) = (ImageMapValue::Rgb, ImageMapValue::Float);
        let (srgb, linear) = (Encoding::Srgb, Encoding::Linear);
        let of = |channels, encoding, value| format(image(channels, encoding), value);
        assert_eq!(of(Channels::Rgb, srgb, rgb), (Component::Palette8, Stored::Rgb));
        assert_eq!(of(Channels::Rgb, linear, rgb), (Component::Unorm8, Stored::Rgb));
        assert_eq!(of(Channels::Rgba, srgb, rgb), (Component::Palette8, Stored::Rgba));
        assert_eq!(of(Channels::Rgba, srgb, float), (Component::Unorm8, Stored::GreyAlpha));
        assert_eq!(of(Channels::Grey, srgb, float), (Component::Palette8, Stored::Grey));
        // The mean of three samples.
        assert_eq!(of(Channels::Rgb, linear, float), (Component::Float, Stored::Grey));
        let deep = |encoding| {
            let codes = (0..220 * 200 * 3).map(|k| (k % 65_521) as u16).collect();
            format(Image::from_u16(220, 200, Channels::Rgb, codes, encoding), rgb)
        };
        assert_eq!(deep(srgb), (Component::Palette16, Stored::Rgb));
        assert_eq!(deep(linear), (Component::Unorm16, Stored::Rgb));
        let halves = [0.1, -0.25, 3.0].map(f16::from_f32).to_vec();
        let halves = Image::from_f16(1, 1, Channels::Rgb, halves);
        assert_eq!(format(halves, rgb), (Component::Half, Stored::Rgb));
        let floats = |x| Image::from_f32(1, 1, Channels::Rgb, vec![0.5, 0.25, x]);
        assert_eq!(format(floats(0.1), rgb), (Component::Float, Stored::Rgb));
        assert_eq!(format(floats(0.75), rgb), (Component::Half, Stored::Rgb));
    }

    #[test]
    fn oversized_images_are_rejected() {
        let image = |width| Image::from_f32(width, 1, Channels::Grey, vec![0.5; width as usize]);
        assert_eq!(check_size(&image(64)), Ok(()));
        let large = check_size(&image(MAX_SIDE + 1)).unwrap_err();
        assert!(
            large.to_string().contains(&format!("{} × 1", MAX_SIDE + 1))
                && large.remedy().contains("scale")
        );
    }
}
