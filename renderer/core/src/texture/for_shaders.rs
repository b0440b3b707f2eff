//! Conversion of images to shader textures.
//!
//! Shaders compute coordinates themselves and implement wrap mode and filter in their code. The
//! texture of an `imagemap` has its texels, scaled and inverted as requested.

use super::{Filter, ImageMap, Mapping, Value, Wrap};
use lightbound_image::read::read as read_image;
use lightbound_image::{Channels, Encoding, Image, ImageError};
use lightbound_math::Vec3;
use lightbound_shader::texture::{MAX_SIDE, Texture};
use std::path::Path;
use std::sync::Arc;

/// Maximum number of texels of a shader texture, which takes 7 GiB with its pyramid.
const MAX_TEXELS: u64 = 1 << 28;

/// An image is too large for shaders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("has {0} × {1} texels, too many for a shader")]
pub struct TooLarge(u32, u32);

impl TooLarge {
    /// Advice for the user.
    pub fn remedy(&self) -> String {
        format!("scale the image down to {MAX_TEXELS} texels or less")
    }
}

/// Why a file cannot be used as a shader texture.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The image cannot be read.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The image is too large.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

/// Checks that an image is small enough for shaders.
pub fn check_size(image: &Image) -> Result<(), TooLarge> {
    let (width, height) = (image.width(), image.height());
    let fits = u64::from(width) * u64::from(height) <= MAX_TEXELS && width.max(height) <= MAX_SIDE;
    if fits { Ok(()) } else { Err(TooLarge(width, height)) }
}

/// A colour image with the default settings: repeated, with bilinear interpolation.
pub fn plain(image: Arc<Image>) -> ImageMap {
    let (mapping, wrap, filter) = (Mapping::UV, Wrap::default(), Filter::default());
    ImageMap { image, mapping, value: Value::Rgb, wrap, filter, scale: 1.0, invert: false }
}

/// Converts an image map. Texels are those of [`ImageMap::eval`]; the fourth channel is the image's
/// opacity, or 1.
pub fn convert(map: &ImageMap) -> Texture {
    let image = &map.image;
    let pixels = (0..image.height()).flat_map(|y| (0..image.width()).map(move |x| (x, y)));
    let texels: Vec<_> = pixels
        .map(|(x, y)| {
            let v = match map.value {
                Value::Rgb => image.rgb(x, y),
                Value::Float => Vec3::splat(image.float(x, y)),
            };
            let v = map.adjusted(Vec3::select(v.is_nan_mask(), Vec3::ZERO, v));
            let alpha = if image.channels() == Channels::Rgba { image.float(x, y) } else { 1.0 };
            [v.x, v.y, v.z, alpha]
        })
        .collect();
    Texture::new(image.width(), &texels)
}

/// Reads an image file and converts it as a [`plain`] image map.
pub fn read(path: &Path) -> Result<Texture, ReadError> {
    let image = read_image(path, Encoding::Srgb)?;
    check_size(&image)?;
    Ok(convert(&plain(Arc::new(image))))
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
        let map = ImageMap { wrap: Wrap::Clamp, filter: Filter::Point, ..plain(image) };
        for value in [Value::Rgb, Value::Float] {
            for (scale, invert) in [(1.0, false), (2.0, false), (-1.0, false), (0.5, true)] {
                let map = ImageMap { value, scale, invert, ..map.clone() };
                let value_at = |x: f32| map.eval(&Lookup { p: Vec3::ZERO, uv: Vec2::new(x, 0.5) });
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
    fn too_wide_images_are_rejected() {
        let image = |width| Image::from_f32(width, 1, Channels::Grey, vec![0.5; width as usize]);
        assert_eq!(check_size(&image(64)), Ok(()));
        let large = check_size(&image(MAX_SIDE + 1)).unwrap_err();
        assert!(
            large.to_string().contains(&format!("{} × 1", MAX_SIDE + 1))
                && large.remedy().contains("scale")
        );
    }
}
