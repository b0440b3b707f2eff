//! MIP pyramids: images at ever smaller sizes (Williams 1983, *Pyramidal Parametrics*).
//!
//! Each level has half the columns and rows of the one before, rounded down, until one texel is
//! left. A texel is the mean over its area, so that all levels have the same mean. Invariant: each
//! component of a texel is between the minimum and maximum of the image, so that bounds on texels
//! bound every level.
//!
//! Levels are floats, whatever the format of the image. A mean of four codes is between codes: rounded
//! to one, it would change pictures, and the rounding errors of all levels would add up.

use lightbound_image::{Channels, Image};
use lightbound_math::Vec3;

/// The smaller levels of an image.
#[derive(Debug)]
pub struct Pyramid {
    /// From half the size of the image down to one texel; empty for an image of one texel.
    levels: Vec<Image>,
}

impl Pyramid {
    /// Creates the levels of an image of `size` columns and rows, whose texels are a function of
    /// column and row. `channels` are those to store: the first, or red, green and blue. NaN
    /// components count as 0.
    pub fn new(size: (u32, u32), channels: Channels, texel: impl Fn(u32, u32) -> Vec3) -> Pyramid {
        let mut levels = Vec::new();
        let mut finest = Some(downsampled(size, channels, |x, y| {
            let v = texel(x, y);
            Vec3::select(v.is_nan_mask(), Vec3::ZERO, v)
        }));
        while let Some(level) = finest.flatten() {
            let size = (level.width(), level.height());
            finest = Some(downsampled(size, channels, |x, y| level.rgb(x, y)));
            levels.push(level);
        }
        Pyramid { levels }
    }

    /// Returns the levels, from half the size of the image to one texel.
    pub fn levels(&self) -> &[Image] {
        &self.levels
    }
}

/// Returns an image with half the columns and rows; `None` for one texel.
fn downsampled(
    (width, height): (u32, u32),
    channels: Channels,
    texel: impl Fn(u32, u32) -> Vec3,
) -> Option<Image> {
    if (width, height) == (1, 1) {
        return None;
    }
    let (columns, rows) = (Shares::new(width), Shares::new(height));
    let mut texels = Vec::new();
    for y in 0..rows.count {
        for x in 0..columns.count {
            let (mut sum, mut min, mut max) = (glam::DVec3::ZERO, Vec3::INFINITY, -Vec3::INFINITY);
            for (y, y_share) in rows.of(y) {
                for (x, x_share) in columns.of(x) {
                    let value = texel(x, y);
                    (min, max) = (min.min(value), max.max(value));
                    sum += x_share * y_share * value.as_dvec3();
                }
            }
            let mean = sum.as_vec3().max(min).min(max);
            texels.extend(&mean.to_array()[..channels as usize]);
        }
    }
    Some(Image::from_f32(columns.count, rows.count, channels, texels))
}

/// The texels of a row that each texel of a row of half the length covers.
struct Shares {
    /// Length of the shorter row.
    count: u32,
    /// Length of the longer row over that of the shorter.
    ratio: f64,
}

impl Shares {
    fn new(len: u32) -> Shares {
        let count = (len / 2).max(1);
        Shares { count, ratio: f64::from(len) / f64::from(count) }
    }

    /// Iterates over the texels below a texel of the shorter row, with their shares of it.
    fn of(&self, index: u32) -> impl Iterator<Item = (u32, f64)> {
        let Shares { ratio, .. } = *self;
        let (start, end) = (f64::from(index) * ratio, f64::from(index + 1) * ratio);
        let covered = move |i: u32| f64::from(i + 1).min(end) - f64::from(i).max(start);
        (start as u32..end.ceil() as u32)
            .map(move |i| (i, covered(i) / ratio))
            .filter(|(_, share)| *share > 1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::sampling::{hash, unit_float};
    use lightbound_math::vec3;

    fn random(x: u32, y: u32) -> Vec3 {
        let number = |k| unit_float(hash(hash(x, y), k));
        vec3(number(0), 4.0 * number(1), 1e-3 * number(2))
    }

    /// Returns the mean of an image, in double precision.
    fn mean((width, height): (u32, u32), texel: impl Fn(u32, u32) -> Vec3) -> glam::DVec3 {
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        let sum: glam::DVec3 = pixels.map(|(x, y)| texel(x, y).as_dvec3()).sum();
        sum / f64::from(width * height)
    }

    #[test]
    fn all_levels_have_the_mean_of_the_image() {
        for size in [(16, 16), (1, 37), (13, 8), (100, 3), (31, 33), (2, 1)] {
            let pyramid = Pyramid::new(size, Channels::Rgb, random);
            let expected = mean(size, random);
            let longest: u32 = size.0.max(size.1);
            assert_eq!(pyramid.levels().len() as u32, longest.ilog2());
            let mut size = size;
            for level in pyramid.levels() {
                size = ((size.0 / 2).max(1), (size.1 / 2).max(1));
                assert_eq!((level.width(), level.height()), size);
                let found = mean(size, |x, y| level.rgb(x, y));
                assert!((found / expected - 1.0).abs().max_element() < 1e-6, "{found} {expected}");
            }
        }
    }

    #[test]
    fn texels_stay_between_those_of_the_image() {
        // Means of equal texels must not be rounded.
        let texel = |x, y| if x < 7 { Vec3::splat(0.1) } else { random(x, y) };
        let size = (23, 19);
        let pyramid = Pyramid::new(size, Channels::Rgb, texel);
        let all = (0..size.1).flat_map(|y| (0..size.0).map(move |x| texel(x, y)));
        let (min, max) =
            all.fold((Vec3::INFINITY, -Vec3::INFINITY), |(min, max), v| (min.min(v), max.max(v)));
        for level in pyramid.levels() {
            for (x, y) in (0..level.height()).flat_map(|y| (0..level.width()).map(move |x| (x, y)))
            {
                let v = level.rgb(x, y);
                assert!(v.cmpge(min).all() && v.cmple(max).all());
            }
        }
        assert_eq!(pyramid.levels()[0].rgb(0, 0), Vec3::splat(0.1));
    }

    #[test]
    fn floats_have_one_channel_and_nan_counts_as_zero() {
        let texel = |x, _| if x == 0 { Vec3::NAN } else { Vec3::splat(3.0) };
        let pyramid = Pyramid::new((2, 2), Channels::Grey, texel);
        assert_eq!(pyramid.levels()[0].channels(), Channels::Grey);
        assert_eq!(pyramid.levels()[0].float(0, 0), 1.5);
        assert!(Pyramid::new((1, 1), Channels::Grey, texel).levels().is_empty());
    }
}
