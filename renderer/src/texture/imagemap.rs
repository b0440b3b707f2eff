//! Images as textures.
//!
//! Texels are those of a shared [`Image`]; nothing is filtered beyond bilinear interpolation at
//! full resolution, since many samples per pixel do the rest. Order of operations and the flip of t
//! follow pbrt-v4 (`textures.cpp`). Invariant: a filtered value never leaves the hull of its four
//! texels, component by component, so that bounds over texels bound every look-up.

use super::{Lookup, Mapping};
use crate::image::Image;
use crate::math::{Vec2, Vec3};
use std::str::FromStr;
use std::sync::Arc;

/// What lies beyond the edge of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Wrap {
    /// The image again.
    #[default]
    Repeat,
    /// Zero.
    Black,
    /// The texel at the edge.
    Clamp,
    /// What the octahedral map of a sphere has there: edges are mirrored at their midpoints.
    /// (pbrt-v4 takes the second texel instead of the first beyond the edges at 0; here both edges
    /// behave alike.)
    OctahedralSphere,
}

impl FromStr for Wrap {
    type Err = String;

    /// By pbrt's names.
    fn from_str(name: &str) -> Result<Wrap, String> {
        match name {
            "repeat" => Ok(Wrap::Repeat),
            "black" => Ok(Wrap::Black),
            "clamp" => Ok(Wrap::Clamp),
            "octahedralsphere" => Ok(Wrap::OctahedralSphere),
            _ => Err(format!(
                "unknown wrap mode `{name}`; use repeat, black, clamp or octahedralsphere"
            )),
        }
    }
}

/// How values between texel centres come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Filter {
    /// The nearest texel.
    Point,
    /// Linear between the four nearest texels.
    #[default]
    Bilinear,
}

/// Which value an image has as a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// [`Image::rgb`].
    Rgb,
    /// [`Image::float`] in all three channels.
    Float,
}

/// An image over a surface.
#[derive(Clone, Debug)]
pub struct ImageMap {
    /// The texels; textures of the same file share them.
    pub image: Arc<Image>,
    /// Where they are looked up.
    pub mapping: Mapping,
    /// Colour or float.
    pub value: Value,
    /// Beyond the edges.
    pub wrap: Wrap,
    /// Between texel centres.
    pub filter: Filter,
    /// Factor of every value.
    pub scale: f32,
    /// Whether the result is 1 − value (after `scale`), and 0 where that is negative.
    pub invert: bool,
}

impl ImageMap {
    /// Value at a point: linear RGB, or a float three times. Colours are not negative; NaN texels
    /// count as 0.
    pub fn eval(&self, at: &Lookup) -> Vec3 {
        let st = self.mapping.st(at);
        // Rows count from the top, t from the bottom.
        self.adjusted(self.filtered(Vec2::new(st.x, 1.0 - st.y)))
    }

    /// A value of the image, scaled and inverted.
    pub(crate) fn adjusted(&self, value: Vec3) -> Vec3 {
        let v = self.scale * value;
        match (self.invert, self.value) {
            (true, _) => (1.0 - v).max(Vec3::ZERO),
            (false, Value::Rgb) => v.max(Vec3::ZERO),
            (false, Value::Float) => v,
        }
    }

    /// Value at image coordinates, which are (0, 0) at the upper left corner and (1, 1) at the
    /// lower right one.
    fn filtered(&self, st: Vec2) -> Vec3 {
        let (width, height) = (self.image.width() as f32, self.image.height() as f32);
        let (x, y) = (st.x * width - 0.5, st.y * height - 0.5);
        if self.filter == Filter::Point {
            return self.texel(index(x.round()), index(y.round()));
        }
        let (x0, y0) = (x.floor(), y.floor());
        let (i, j) = (index(x0), index(y0));
        let (dx, dy) = (x - x0, y - y0);
        let [a, b, c, d] =
            [(i, j), (i + 1, j), (i, j + 1), (i + 1, j + 1)].map(|(i, j)| self.texel(i, j));
        let v = (a * (1.0 - dx) + b * dx) * (1.0 - dy) + (c * (1.0 - dx) + d * dx) * dy;
        // Also where v is NaN because a coordinate is infinite: `max` then takes the other side.
        v.max(a.min(b).min(c).min(d)).min(a.max(b).max(c).max(d))
    }

    /// Any texel, beyond the edges as `wrap` says.
    fn texel(&self, x: i64, y: i64) -> Vec3 {
        let (width, height) = (self.image.width() as i64, self.image.height() as i64);
        let inside = (0..width).contains(&x) && (0..height).contains(&y);
        let (x, y) = match self.wrap {
            _ if inside => (x, y),
            Wrap::Repeat => (x.rem_euclid(width), y.rem_euclid(height)),
            Wrap::Clamp => (x.clamp(0, width - 1), y.clamp(0, height - 1)),
            Wrap::Black => return Vec3::ZERO,
            Wrap::OctahedralSphere => octahedral(x, y, width, height),
        };
        let (x, y) = (x as u32, y as u32);
        let v = match self.value {
            Value::Rgb => self.image.rgb(x, y),
            Value::Float => Vec3::splat(self.image.float(x, y)),
        };
        Vec3::select(v.is_nan_mask(), Vec3::ZERO, v)
    }
}

/// A whole number as texel index. The cast saturates and takes NaN to 0; 32 bits leave room for
/// neighbours in the 64.
fn index(x: f32) -> i64 {
    x as i32 as i64
}

/// Passing an edge comes back through the same edge at the point mirrored at its middle.
fn octahedral(x: i64, y: i64, width: i64, height: i64) -> (i64, i64) {
    let (mut x, mut y) = (x.clamp(-width, 2 * width - 1), y.clamp(-height, 2 * height - 1));
    if x < 0 || x >= width {
        x = if x < 0 { -1 - x } else { 2 * width - 1 - x };
        y = height - 1 - y;
    }
    if y < 0 || y >= height {
        y = if y < 0 { -1 - y } else { 2 * height - 1 - y };
        x = width - 1 - x;
    }
    (x, y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::{Channels, Encoding};

    fn map(image: Image) -> ImageMap {
        ImageMap {
            image: Arc::new(image),
            mapping: Mapping::UV,
            value: Value::Rgb,
            wrap: Wrap::Repeat,
            filter: Filter::Bilinear,
            scale: 1.0,
            invert: false,
        }
    }

    fn grey(width: u32, values: &[f32]) -> ImageMap {
        map(Image::from_f32(width, values.len() as u32 / width, Channels::Grey, values.to_vec()))
    }

    fn at(u: f32, v: f32) -> Lookup {
        Lookup { p: Vec3::ZERO, uv: Vec2::new(u, v) }
    }

    #[test]
    fn rows_count_from_the_top_and_t_from_the_bottom() {
        for filter in [Filter::Point, Filter::Bilinear] {
            let m = ImageMap { filter, ..grey(2, &[1.0, 2.0, 3.0, 4.0]) };
            let corners = [(0.25, 0.75), (0.75, 0.75), (0.25, 0.25), (0.75, 0.25)];
            assert_eq!(corners.map(|(u, v)| m.eval(&at(u, v)).x), [1.0, 2.0, 3.0, 4.0]);
        }
    }

    #[test]
    fn bilinear_reproduces_linear_ramps() {
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
    fn edges_as_the_wrap_mode_says() {
        let edge = |wrap| {
            let m = ImageMap { wrap, ..grey(2, &[1.0, 2.0, 3.0, 4.0]) };
            // On the left edge half way down row 0, and two units to the right of it.
            [m.eval(&at(0.0, 0.75)).x, m.eval(&at(2.0, 0.75)).x]
        };
        assert_eq!(edge(Wrap::Repeat), [1.5, 1.5]);
        assert_eq!(edge(Wrap::Clamp), [1.0, 2.0]);
        assert_eq!(edge(Wrap::Black), [0.5, 0.0]);
        // Across the left edge of row 0 lies the left end of row 1.
        assert_eq!(edge(Wrap::OctahedralSphere)[0], 2.0);
        assert_eq!([octahedral(-1, 0, 4, 4), octahedral(4, 1, 4, 4)], [(0, 3), (3, 2)]);
        assert_eq!([octahedral(1, -1, 4, 4), octahedral(0, 4, 4, 4)], [(2, 0), (3, 3)]);
    }

    #[test]
    fn scale_comes_before_invert_and_nothing_is_negative() {
        let m = grey(1, &[0.75]);
        let with = |scale, invert, value| {
            ImageMap { scale, invert, value, ..m.clone() }.eval(&at(0.5, 0.5)).x
        };
        assert_eq!(with(2.0, false, Value::Rgb), 1.5);
        assert_eq!(with(1.0, true, Value::Rgb), 0.25);
        assert_eq!(with(2.0, true, Value::Float), 0.0);
        assert_eq!(with(-1.0, false, Value::Rgb), 0.0);
        assert_eq!(with(-1.0, false, Value::Float), -0.75);
    }

    #[test]
    fn floats_are_the_mean_or_the_opacity() {
        let rgb = map(Image::from_u8(1, 1, Channels::Rgb, vec![0, 51, 102], Encoding::Linear));
        let float = |m: &ImageMap| {
            ImageMap { value: Value::Float, ..m.clone() }.eval(&at(0.1, 0.1)).to_array()
        };
        assert!(float(&rgb).iter().all(|x| (x - 0.2).abs() < 1e-7));
        let rgba =
            map(Image::from_u8(1, 1, Channels::Rgba, vec![0, 51, 102, 255], Encoding::Linear));
        assert_eq!(float(&rgba), [1.0; 3]);
    }

    #[test]
    fn values_stay_in_the_hull_of_the_texels_everywhere() {
        let texels = [0.1, 0.3, 1e-30, 0.7, 0.7, 1e30, 0.7, 0.7, 0.1];
        for wrap in [Wrap::Repeat, Wrap::Black, Wrap::Clamp, Wrap::OctahedralSphere] {
            for filter in [Filter::Point, Filter::Bilinear] {
                let m = ImageMap { wrap, filter, ..grey(3, &texels) };
                let odd = [
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
                let pairs = odd.iter().flat_map(|&u| odd.map(|v| (u, v)));
                let plain = (0..2000).map(|i| {
                    ((i as f32 * 0.618).fract() * 4.0 - 1.5, (i as f32 * 0.414).fract() * 4.0 - 1.5)
                });
                for (u, v) in pairs.chain(plain) {
                    let x = m.eval(&at(u, v)).x;
                    assert!((0.0..=1e30).contains(&x), "{wrap:?} {filter:?} {u} {v}: {x}");
                }
            }
        }
        let constant = grey(2, &[0.3; 4]);
        assert!(
            (0..1000).all(|i| constant.eval(&at(i as f32 * 0.0137, i as f32 * 0.0071)).x == 0.3)
        );
        assert_eq!(grey(1, &[f32::NAN]).eval(&at(0.0, 0.0)), Vec3::ZERO);
    }
}
