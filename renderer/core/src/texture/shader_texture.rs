//! Converts images to textures for shaders.
//!
//! The shader's code computes the texture coordinates, and implements wrap mode and filter. So the
//! texture of an `imagemap` holds only its texels, scaled and inverted as the scene specifies.

use super::{ImageMap, ImageMapValue, Mapping, TextureFilter, WrapMode};
use lightbound_image::read::read as read_image;
use lightbound_image::{Channels, Encoding, Image, ImageError};
use lightbound_math::Vec3;
use lightbound_shader::texture::{MAX_SIDE, Texture};
use std::path::Path;
use std::sync::Arc;

/// Maximum number of texels of a shader texture. Such a texture takes 7 GiB with its pyramid.
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
/// channel is the image's opacity, or 1.
pub fn convert(map: &ImageMap) -> Texture {
    let image = &map.image;
    let pixels = (0..image.height()).flat_map(|y| (0..image.width()).map(move |x| (x, y)));
    let texels: Vec<_> = pixels
        .map(|(x, y)| {
            let v = match map.value {
                ImageMapValue::Rgb => image.rgb(x, y),
                ImageMapValue::Float => Vec3::splat(image.float(x, y)),
            };
            let v = map.scale_and_invert(Vec3::select(v.is_nan_mask(), Vec3::ZERO, v));
            let alpha = if image.channels() == Channels::Rgba { image.float(x, y) } else { 1.0 };
            [v.x, v.y, v.z, alpha]
        })
        .collect();
    Texture::new(image.width(), &texels)
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
    use lightbound_math::Vec2;

    #[test]
    fn texels_match_the_image_map() {
        let texels = vec![0.25, 0.5, f32::NAN, 0.5, 2.0, -1.0, 0.1, 0.75];
        let image = Arc::new(Image::from_f32(2, 1, Channels::Rgba, texels));
        let map = ImageMap {
            wrap: WrapMode::Clamp,
            filter: TextureFilter::Point,
            ..default_image_map(image)
        };
        for value in [ImageMapValue::Rgb, ImageMapValue::Float] {
            for (scale, invert) in [(1.0, false), (2.0, false), (-1.0, false), (0.5, true)] {
                let map = ImageMap { value, scale, invert, ..map.clone() };
                let value_at =
                    |x: f32| map.eval(&Lookup { uv: Vec2::new(x, 0.5), ..Lookup::ORIGIN });
                let expected = [0.25, 0.75].map(|x| value_at(x).to_array());
                let expected = [[expected[0], [0.5; 3]], [expected[1], [0.75; 3]]]
                    .map(|[v, a]| [v[0], v[1], v[2], a[0]]);
                let bits = |texture: &Texture| format!("{texture:?}");
                assert_eq!(
                    bits(&convert(&map)),
                    bits(&Texture::new(2, &expected)),
                    "{value:?} {scale} {invert}"
                );
            }
        }
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
