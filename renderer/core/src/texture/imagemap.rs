//! Images as textures.
//!
//! Texels belong to a shared [`Image`]. Point and bilinear lookups are at full resolution: pixels
//! are supersampled instead of further filtering. Trilinear and elliptical lookups average over the
//! footprint of a pixel. The order of operations and the flip of t follow pbrt-v4 (`textures.cpp`).
//! Invariant: each component of a filtered value is between the minimum and maximum of the image's
//! texels (and 0 beyond black edges), so that bounds on texels bound every lookup.

use super::filtered::Levels;
use super::texels::{Texels, WrapMode};
use super::{Lookup, Mapping, Pyramid};
use lightbound_image::{Channels, Image, Samples};
use lightbound_math::{Vec2, Vec3};
use std::sync::Arc;

/// Interpolation between texel centres, and average over the footprint of a pixel.
#[derive(Clone, Debug, Default)]
pub enum TextureFilter {
    /// The nearest texel.
    Point,
    /// Linear between the four nearest texels.
    #[default]
    Bilinear,
    /// Linear in each of two levels of a pyramid, and between them.
    Trilinear(Arc<Pyramid>),
    /// Average over an ellipse, in two levels of a pyramid.
    Elliptical {
        /// The image's [`ImageMap::pyramid`].
        pyramid: Arc<Pyramid>,
        /// Longest axis of an ellipse over the shortest, at least 1.
        max_anisotropy: f32,
    },
}

impl TextureFilter {
    /// Returns whether lookups depend on the footprint.
    pub fn needs_footprint(&self) -> bool {
        match self {
            TextureFilter::Point | TextureFilter::Bilinear => false,
            TextureFilter::Trilinear(_) | TextureFilter::Elliptical { .. } => true,
        }
    }
}

/// The value that a texture takes from an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageMapValue {
    /// [`Image::rgb`].
    Rgb,
    /// [`Image::float`] in all three channels.
    Float,
}

impl ImageMapValue {
    /// Returns the value of a texel.
    pub(super) fn texel(self, image: &Image, x: u32, y: u32) -> Vec3 {
        match self {
            ImageMapValue::Rgb => image.rgb(x, y),
            ImageMapValue::Float => Vec3::splat(image.float(x, y)),
        }
    }
}

/// An image over a surface.
#[derive(Clone, Debug)]
pub struct ImageMap {
    /// The texels; textures of the same file share them.
    pub image: Arc<Image>,
    /// Texture coordinates.
    pub mapping: Mapping,
    /// Colour or float value.
    pub value: ImageMapValue,
    /// Texels beyond the edges.
    pub wrap: WrapMode,
    /// Interpolation between texel centres.
    pub filter: TextureFilter,
    /// Factor on all values.
    pub scale: f32,
    /// Whether the result is max(1 − value, 0), after `scale`.
    pub invert: bool,
}

impl ImageMap {
    /// Evaluates the image as linear RGB, or as a float in all channels. Negative colours are
    /// clamped to 0; NaN texels count as 0.
    pub fn eval(&self, lookup: &Lookup) -> Vec3 {
        let st = self.mapping.st(lookup);
        // Rows start at the top, t at the bottom.
        self.scale_and_invert(self.interpolate(Vec2::new(st.x, 1.0 - st.y), lookup))
    }

    /// Creates the pyramid of an image, as trilinear and elliptical filters need it.
    pub fn pyramid(image: &Image, value: ImageMapValue) -> Pyramid {
        let is_grey = image.channels() == Channels::Grey;
        let channels = match value {
            ImageMapValue::Rgb if !is_grey => Channels::Rgb,
            ImageMapValue::Rgb | ImageMapValue::Float => Channels::Grey,
        };
        let decode = match image.samples() {
            // The float value of a colour is a mean of codes.
            Samples::U8(codes) if is_grey || value == ImageMapValue::Rgb => Some(&*codes.decode),
            _ => None,
        };
        let size = (image.width(), image.height());
        Pyramid::new(size, channels, decode, |x, y| value.texel(image, x, y))
    }

    /// Returns the value of a texel, scaled and inverted, before negative values are clamped.
    ///
    /// # Panics
    /// If the texel is outside the image.
    pub fn unclamped(&self, x: u32, y: u32) -> Vec3 {
        let value = self.scale * self.value.texel(&self.image, x, y);
        if self.invert { 1.0 - value } else { value }
    }

    /// Returns whether negative values become 0. Only floats that are not inverted keep them.
    pub fn clamps_negative(&self) -> bool {
        self.invert || self.value == ImageMapValue::Rgb
    }

    /// Scales and inverts a value of the image.
    pub(crate) fn scale_and_invert(&self, value: Vec3) -> Vec3 {
        let v = self.scale * value;
        let v = if self.invert { 1.0 - v } else { v };
        if self.clamps_negative() { v.max(Vec3::ZERO) } else { v }
    }

    /// Interpolates the image at coordinates from (0, 0) at the upper left corner to (1, 1) at the
    /// lower right corner.
    fn interpolate(&self, st: Vec2, lookup: &Lookup) -> Vec3 {
        let ImageMap { image, value, wrap, .. } = self;
        let size = (image.width(), image.height());
        let texels = || Texels::new(size, *wrap, |x, y| value.texel(image, x, y));
        let levels = |pyramid| Levels { image, pyramid, value: *value, wrap: *wrap };
        // As rows, t is reversed.
        let steps = || self.mapping.steps(lookup).map(|step| Vec2::new(step.x, -step.y));
        match &self.filter {
            TextureFilter::Point => texels().nearest(st),
            TextureFilter::Bilinear => texels().bilinear(st),
            TextureFilter::Trilinear(pyramid) => levels(pyramid).trilinear(st, steps()),
            TextureFilter::Elliptical { pyramid, max_anisotropy } => {
                levels(pyramid).elliptical(st, steps(), *max_anisotropy)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_image::{Channels, Encoding, f16};

    fn map(image: Image) -> ImageMap {
        ImageMap {
            image: Arc::new(image),
            mapping: Mapping::UV,
            value: ImageMapValue::Rgb,
            wrap: WrapMode::Repeat,
            filter: TextureFilter::Bilinear,
            scale: 1.0,
            invert: false,
        }
    }

    fn grey(width: u32, values: &[f32]) -> ImageMap {
        map(Image::from_f32(width, values.len() as u32 / width, Channels::Grey, values.to_vec()))
    }

    fn at(u: f32, v: f32) -> Lookup<'static> {
        Lookup { uv: Vec2::new(u, v), ..Lookup::ORIGIN }
    }

    #[test]
    fn rows_start_at_the_top_and_t_at_the_bottom() {
        for filter in [TextureFilter::Point, TextureFilter::Bilinear] {
            let m = ImageMap { filter, ..grey(2, &[1.0, 2.0, 3.0, 4.0]) };
            let corners = [(0.25, 0.75), (0.75, 0.75), (0.25, 0.25), (0.75, 0.25)];
            assert_eq!(corners.map(|(u, v)| m.eval(&at(u, v)).x), [1.0, 2.0, 3.0, 4.0]);
        }
    }

    #[test]
    fn bilinear_interpolation_reproduces_linear_ramps() {
        let (width, height) = (8, 4);
        let centre = |i: u32, n: u32| (i as f32 + 0.5) / n as f32;
        let ramp = |u: f32, v: f32| 2.0 + 3.0 * u - v;
        let texels: Vec<f32> = (0..width * height)
            .map(|i| ramp(centre(i % width, width), 1.0 - centre(i / width, height)))
            .collect();
        let m = grey(width, &texels);
        for i in 0..1000 {
            let (u, v) = (
                (i as f32 * 0.618).fract() * 0.875 + 0.0625,
                (i as f32 * 0.414).fract() * 0.75 + 0.125,
            );
            assert!((m.eval(&at(u, v)).x - ramp(u, v)).abs() < 1e-5, "{u} {v}");
        }
    }

    #[test]
    fn wrap_modes_define_texels_beyond_the_edges() {
        let edge = |wrap| {
            let m = ImageMap { wrap, ..grey(2, &[1.0, 2.0, 3.0, 4.0]) };
            // The left edge at the centre of row 0, and two units to the right of it.
            [m.eval(&at(0.0, 0.75)).x, m.eval(&at(2.0, 0.75)).x]
        };
        assert_eq!(edge(WrapMode::Repeat), [1.5, 1.5]);
        assert_eq!(edge(WrapMode::Clamp), [1.0, 2.0]);
        assert_eq!(edge(WrapMode::Black), [0.5, 0.0]);
        // Beyond the left edge of row 0 is the first texel of row 1.
        assert_eq!(edge(WrapMode::OctahedralSphere)[0], 2.0);
    }

    #[test]
    fn scale_is_applied_before_invert_and_colours_are_not_negative() {
        let m = grey(1, &[0.75]);
        let with = |scale, invert, value| {
            ImageMap { scale, invert, value, ..m.clone() }.eval(&at(0.5, 0.5)).x
        };
        assert_eq!(with(2.0, false, ImageMapValue::Rgb), 1.5);
        assert_eq!(with(1.0, true, ImageMapValue::Rgb), 0.25);
        assert_eq!(with(2.0, true, ImageMapValue::Float), 0.0);
        assert_eq!(with(-1.0, false, ImageMapValue::Rgb), 0.0);
        assert_eq!(with(-1.0, false, ImageMapValue::Float), -0.75);
    }

    #[test]
    fn float_value_is_the_channel_mean_or_the_opacity() {
        let rgb = map(Image::from_u8(1, 1, Channels::Rgb, vec![0, 51, 102], Encoding::Linear));
        let float = |m: &ImageMap| {
            ImageMap { value: ImageMapValue::Float, ..m.clone() }.eval(&at(0.1, 0.1)).to_array()
        };
        assert!(float(&rgb).iter().all(|x| (x - 0.2).abs() < 1e-7));
        let rgba =
            map(Image::from_u8(1, 1, Channels::Rgba, vec![0, 51, 102, 255], Encoding::Linear));
        assert_eq!(float(&rgba), [1.0; 3]);
    }

    #[test]
    fn interpolated_values_are_between_the_texels() {
        let texels = [0.1, 0.3, 1e-30, 0.7, 0.7, 1e30, 0.7, 0.7, 0.1];
        for wrap in [WrapMode::Repeat, WrapMode::Black, WrapMode::Clamp, WrapMode::OctahedralSphere]
        {
            for filter in [TextureFilter::Point, TextureFilter::Bilinear] {
                let label = format!("{filter:?}");
                let m = ImageMap { wrap, filter, ..grey(3, &texels) };
                let extremes = [
                    f32::NAN,
                    f32::INFINITY,
                    f32::NEG_INFINITY,
                    f32::MAX,
                    -f32::MAX,
                    1e9,
                    -1e9,
                    0.0,
                    1.0,
                    -1e-30,
                ];
                let pairs = extremes.iter().flat_map(|&u| extremes.map(|v| (u, v)));
                let plain = (0..2000).map(|i| {
                    ((i as f32 * 0.618).fract() * 4.0 - 1.5, (i as f32 * 0.414).fract() * 4.0 - 1.5)
                });
                for (u, v) in pairs.chain(plain) {
                    let x = m.eval(&at(u, v)).x;
                    assert!((0.0..=1e30).contains(&x), "{wrap:?} {label} {u} {v}: {x}");
                }
            }
        }
        let constant = grey(2, &[0.3; 4]);
        assert!(
            (0..1000).all(|i| constant.eval(&at(i as f32 * 0.0137, i as f32 * 0.0071)).x == 0.3)
        );
        assert_eq!(grey(1, &[f32::NAN]).eval(&at(0.0, 0.0)), Vec3::ZERO);
    }

    #[test]
    fn levels_take_two_thirds_of_the_file() {
        let len = 64 * 64;
        for channels in [Channels::Grey, Channels::Rgb, Channels::Rgba] {
            let samples = len * channels as usize;
            let images = [
                (8, Image::from_u8(64, 64, channels, vec![99; samples], Encoding::Srgb)),
                (16, Image::from_u16(64, 64, channels, vec![9; samples], Encoding::Srgb)),
                (16, Image::from_f16(64, 64, channels, vec![f16::ONE; samples])),
                (32, Image::from_f32(64, 64, channels, vec![0.5; samples])),
            ];
            for (bits, image) in images {
                for value in [ImageMapValue::Rgb, ImageMapValue::Float] {
                    let levels = ImageMap::pyramid(&image, value).memory_bytes();
                    let ratio = levels as f64 / (samples * bits / 8) as f64;
                    assert!(ratio < 0.667, "{channels:?} of {bits} bits, {value:?}: {ratio}");
                }
            }
        }
    }
}
