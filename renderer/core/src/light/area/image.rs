//! Emission images of area lights.
//!
//! As in pbrt-v4, lookups interpolate bilinearly, edges are clamped, and negative values are
//! replaced by zero. Invariants: every value is between 0 and [`EmissionImage::max`], and the
//! density is positive where a value is.

use crate::texture::{ImageMap, ImageMapValue, Lookup, Mapping, TextureFilter, WrapMode};
use lightbound_image::Image;
use lightbound_math::sampling::{PiecewiseConstant2d, luminance};
use lightbound_math::{Vec2, Vec3};
use std::sync::Arc;

/// An image of radiance over texture coordinates, in linear RGB.
#[derive(Clone, Debug)]
pub struct EmissionImage {
    map: ImageMap,
    mean: Vec3,
    max: Vec3,
    /// Density in proportion to the luminance over each texel; `None` if the image is black.
    density: Option<PiecewiseConstant2d>,
}

/// Maximum number of texels along a side of an image with a density.
const MAX_SIDE: u32 = 1 << 20;

impl EmissionImage {
    /// Creates the emission of an image with finite texels.
    pub fn new(image: Arc<Image>) -> EmissionImage {
        let texels = || image.pixels().map(|texel| texel.max(Vec3::ZERO));
        let sum: glam::DVec3 = texels().map(|texel| texel.as_dvec3()).sum();
        let count = f64::from(image.width()) * f64::from(image.height());
        let (mean, max) = ((sum / count).as_vec3(), texels().fold(Vec3::ZERO, Vec3::max));
        let density = density(&image);
        let map = ImageMap {
            image,
            mapping: Mapping::UV,
            value: ImageMapValue::Rgb,
            wrap: WrapMode::Clamp,
            filter: TextureFilter::Bilinear,
            scale: 1.0,
            invert: false,
        };
        EmissionImage { map, mean, max, density }
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

    /// Samples texture coordinates in proportion to the luminance; returns them with their density.
    /// Black images are sampled uniformly.
    pub fn sample(&self, u: Vec2) -> (Vec2, f32) {
        self.density.as_ref().map_or((u, 1.0), |density| density.sample(u))
    }

    /// Returns the density of [`EmissionImage::sample`].
    pub fn pdf(&self, uv: Vec2) -> f32 {
        self.density.as_ref().map_or(1.0, |density| density.pdf(uv))
    }
}

/// Returns the density in proportion to the mean luminance over each texel, with the first row at
/// v = 0. The mean of a bilinear interpolation over a texel has weights of 1/8, 3/4 and 1/8 along
/// each axis.
fn density(image: &Image) -> Option<PiecewiseConstant2d> {
    let (width, height) = (image.width(), image.height());
    if width.max(height) > MAX_SIDE {
        return None;
    }
    let texels: Vec<f32> = image.pixels().map(|p| luminance(p.max(Vec3::ZERO))).collect();
    let weighted = |k: u32, size: u32| {
        [(k.saturating_sub(1), 0.125), (k, 0.75), ((k + 1).min(size - 1), 0.125)]
    };
    let mean = |x: u32, y: u32| -> f32 {
        let rows = weighted(y, height).into_iter();
        let along = |row: u32| -> f32 {
            let texel = |column: u32| texels[row as usize * width as usize + column as usize];
            weighted(x, width).into_iter().map(|(column, w)| w * texel(column)).sum()
        };
        rows.map(|(row, w)| w * along(row)).sum()
    };
    let weights: Vec<f32> = (0..height)
        .rev()
        .flat_map(|y| (0..width).map(move |x| [x, y]))
        .map(|[x, y]| mean(x, y))
        .collect();
    PiecewiseConstant2d::new(&weights, width as usize)
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

    #[test]
    fn density_is_the_luminance_of_each_texel() {
        let (width, height) = (5, 3);
        let texels: Vec<f32> = (0..15).map(|i| if i == 6 { 9.0 } else { 0.0 }).collect();
        let image = Image::from_f32(width, height, Channels::Grey, texels);
        let image = EmissionImage::new(Arc::new(image));
        let steps = 40;
        for (row, column) in (0..height).flat_map(|row| (0..width).map(move |c| (row, c))) {
            let place = |i: u32, k: u32, size: u32| {
                (i as f32 + (k as f32 + 0.5) / steps as f32) / size as f32
            };
            let points = (0..steps * steps)
                .map(|k| Vec2::new(place(column, k % steps, width), place(row, k / steps, height)));
            let mean = points.map(|uv| image.at(uv).x).sum::<f32>() / (steps * steps) as f32;
            let pdf = image.pdf(Vec2::new(place(column, 20, width), place(row, 20, height)));
            // Nine texels of 15 share the light of one.
            assert!((mean - 0.6 * pdf).abs() < 2e-3 * 9.0, "{row} {column}: {mean} {pdf}");
        }
        let black = Image::from_f32(2, 1, Channels::Grey, vec![0.0; 2]);
        assert_eq!(EmissionImage::new(Arc::new(black)).pdf(Vec2::ZERO), 1.0);
    }
}
