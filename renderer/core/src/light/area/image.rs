//! Emission images of area lights.
//!
//! As in pbrt-v4, lookups interpolate bilinearly, edges are clamped, and negative values are
//! replaced by zero. Invariant: every value is between 0 and [`EmissionImage::max`].

use crate::texture::{ImageMap, ImageMapValue, Lookup, Mapping, TextureFilter, WrapMode};
use lightbound_image::Image;
use lightbound_math::{Vec2, Vec3};
use std::sync::Arc;

/// An image of radiance over texture coordinates, in linear RGB.
#[derive(Clone, Debug)]
pub struct EmissionImage {
    map: ImageMap,
    mean: Vec3,
    max: Vec3,
}

impl EmissionImage {
    /// Creates the emission of an image with finite texels.
    pub fn new(image: Arc<Image>) -> EmissionImage {
        let texels = || image.pixels().map(|texel| texel.max(Vec3::ZERO));
        let sum: glam::DVec3 = texels().map(|texel| texel.as_dvec3()).sum();
        let count = f64::from(image.width()) * f64::from(image.height());
        let (mean, max) = ((sum / count).as_vec3(), texels().fold(Vec3::ZERO, Vec3::max));
        let map = ImageMap {
            image,
            mapping: Mapping::UV,
            value: ImageMapValue::Rgb,
            wrap: WrapMode::Clamp,
            filter: TextureFilter::Bilinear,
            scale: 1.0,
            invert: false,
        };
        EmissionImage { map, mean, max }
    }

    /// Returns the value at texture coordinates; v points upwards.
    pub fn at(&self, uv: Vec2) -> Vec3 {
        self.map.eval(&Lookup::at_point(Vec3::ZERO, Vec3::Z, uv))
    }

    /// Returns the mean of the texels.
    pub fn mean(&self) -> Vec3 {
        self.mean
    }

    /// Returns the maximum of each channel.
    pub fn max(&self) -> Vec3 {
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_image::Channels;

    #[test]
    fn values_are_clamped_at_the_edges_and_below_the_maximum() {
        let texels = vec![1.0, 2.0, -8.0, 4.0];
        let image = EmissionImage::new(Arc::new(Image::from_f32(2, 2, Channels::Grey, texels)));
        assert_eq!((image.mean(), image.max()), (Vec3::splat(1.75), Vec3::splat(4.0)));
        let at = |u, v| image.at(Vec2::new(u, v)).x;
        // The upper row is first.
        assert_eq!([at(0.0, 1.0), at(1.0, 1.0), at(1.0, 0.0)], [1.0, 2.0, 4.0]);
        assert_eq!([at(0.5, 1.0), at(1.0, 0.5), at(0.0, 0.0)], [1.5, 3.0, 0.0]);
        assert_eq!([at(9.0, 9.0), at(-9.0, 9.0)], [2.0, 1.0]);
    }
}
