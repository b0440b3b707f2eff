//! Texture filters that average an image over the footprint of a pixel: trilinear interpolation in
//! a MIP pyramid (Williams 1983), and the elliptical weighted average (Heckbert 1989, *Fundamentals
//! of Texture Mapping and Image Warping*).
//!
//! Levels, weights and the limit of anisotropy follow pbrt-v4 (`MIPMap::Filter`), except that
//! trilinear interpolation also blends the image with the first smaller level. Invariant: each
//! component of a result is between the minimum and maximum of the texels that it averages.

use super::imagemap::ImageMapValue;
use super::pyramid::Pyramid;
use super::texels::{Texels, WrapMode};
use lightbound_image::Image;
use lightbound_math::{Vec2, Vec3};
use std::sync::LazyLock;

/// An image with its pyramid. Coordinates are those of [`Texels`].
pub(super) struct Levels<'a> {
    pub image: &'a Image,
    pub pyramid: &'a Pyramid,
    pub value: ImageMapValue,
    pub wrap: WrapMode,
}

/// Number of entries of [`WEIGHTS`].
const WEIGHT_COUNT: usize = 128;

/// The Gaussian weights of the elliptical average, by squared radius from 0 to 1.
static WEIGHTS: LazyLock<[f32; WEIGHT_COUNT]> = LazyLock::new(|| {
    const ALPHA: f32 = 2.0;
    std::array::from_fn(|i| {
        let r2 = i as f32 / (WEIGHT_COUNT - 1) as f32;
        libm::expf(-ALPHA * r2) - libm::expf(-ALPHA)
    })
});

impl Levels<'_> {
    /// Interpolates between the two levels whose texels are about as large as the footprint.
    /// `steps` are its displacements.
    pub fn trilinear(&self, st: Vec2, steps: [Vec2; 2]) -> Vec3 {
        let width = 2.0 * steps[0].abs().max(steps[1].abs()).max_element();
        self.between(self.position(width), |level| self.texels(level).bilinear(st))
    }

    /// Averages over an ellipse with the axes `steps`. The shorter axis selects the level; it is
    /// lengthened to at least the fraction 1 / `max_anisotropy` of the longer one.
    pub fn elliptical(&self, st: Vec2, steps: [Vec2; 2], max_anisotropy: f32) -> Vec3 {
        let [mut long, mut short] = steps;
        if long.length_squared() < short.length_squared() {
            (long, short) = (short, long);
        }
        let min_length = long.length() / max_anisotropy;
        let length = short.length();
        if length > 0.0 && length < min_length {
            short *= min_length / length;
        }
        let length = short.length();
        // In an image of one texel, an ellipse could cover any number of repetitions.
        if !(length > 0.0 && length.is_finite()) || self.last() == 0 {
            return self.texels(0).bilinear(st);
        }
        self.between(self.position(length), |level| {
            let texels = self.texels(level);
            ellipse_average(&texels, st, long, short).unwrap_or_else(|| texels.bilinear(st))
        })
    }

    /// Index of the last level, of one texel.
    fn last(&self) -> usize {
        self.pyramid.levels().len()
    }

    /// Returns the texels of a level.
    fn texels(&self, level: usize) -> Texels<impl Fn(u32, u32) -> Vec3> {
        let (image, value) = (self.image, self.value);
        let smaller = level.checked_sub(1).map(|index| &self.pyramid.levels()[index]);
        let size = smaller.map_or((image.width(), image.height()), |level| level.size);
        Texels::new(size, self.wrap, move |x, y| match smaller {
            None => value.texel(image, x, y),
            Some(level) => level.texel(x, y),
        })
    }

    /// Returns the position among the levels of the one where a length is about that of a texel;
    /// from 0 to the last.
    fn position(&self, length: f32) -> f32 {
        let last = self.last() as f32;
        (last + libm::log2f(length.max(1e-8))).max(0.0).min(last)
    }

    /// Interpolates between the values of two levels. At the last level, the only texel has all
    /// coordinates.
    fn between(&self, position: f32, value: impl Fn(usize) -> Vec3) -> Vec3 {
        let level = position as usize;
        let at = |level: usize| {
            if level == self.last() && level > 0 {
                self.texels(level).get(0, 0)
            } else {
                value(level)
            }
        };
        let (a, t) = (at(level), position - level as f32);
        if t == 0.0 {
            return a;
        }
        let b = at(level + 1);
        (a + (b - a) * t).max(a.min(b)).min(a.max(b))
    }
}

/// Averages texels over an ellipse with Gaussian weights (Heckbert 1989 §3.5.9). Returns `None` if it
/// has no finite size.
fn ellipse_average<F: Fn(u32, u32) -> Vec3>(
    texels: &Texels<F>,
    st: Vec2,
    long: Vec2,
    short: Vec2,
) -> Option<Vec3> {
    let centre = texels.position(st);
    let [p, q] = [long, short].map(|step| step * texels.size());
    // The ellipse is A x² + B x y + C y² < 1. Adding 1 to the squared axes makes it as large as a
    // texel at least.
    let (a, b, c) =
        (p.y * p.y + q.y * q.y + 1.0, -2.0 * (p.x * p.y + q.x * q.y), p.x * p.x + q.x * q.x + 1.0);
    let f = a * c - 0.25 * b * b;
    let extent = Vec2::new(c.sqrt(), a.sqrt());
    let (a, b, c) = (a / f, b / f, c / f);
    let is_valid = f > 0.0 && (centre.abs() + extent).max_element() < MAX_COORDINATE;
    if !is_valid {
        return None;
    }
    let [lo, hi] = [(centre - extent).ceil(), (centre + extent).floor()];
    let (mut sum, mut total) = (Vec3::ZERO, 0.0);
    let (mut min, mut max) = (Vec3::INFINITY, -Vec3::INFINITY);
    for y in lo.y as i64..=hi.y as i64 {
        let dy = y as f32 - centre.y;
        for x in lo.x as i64..=hi.x as i64 {
            let dx = x as f32 - centre.x;
            let r2 = a * dx * dx + b * dx * dy + c * dy * dy;
            if r2 < 1.0 {
                let index = (r2 * WEIGHT_COUNT as f32) as usize;
                let weight = WEIGHTS[index.min(WEIGHT_COUNT - 1)];
                let value = texels.get(x, y);
                (min, max) = (min.min(value), max.max(value));
                sum += weight * value;
                total += weight;
            }
        }
    }
    (total > 0.0).then(|| (sum / total).max(min).min(max))
}

/// Coordinates up to this are whole numbers plus fractions in single precision.
const MAX_COORDINATE: f32 = 1e6;

#[cfg(test)]
mod tests {
    use super::super::{ImageMap, Pyramid};
    use super::*;
    use lightbound_image::Channels;
    use lightbound_math::sampling::{hash, unit_float};
    use lightbound_math::vec2;

    fn random(seed: u32, k: u32) -> f32 {
        unit_float(hash(hash(seed, k), 17))
    }

    /// Returns an image of one channel with its pyramid.
    fn image(width: u32, height: u32, texel: impl Fn(u32, u32) -> f32) -> (Image, Pyramid) {
        let texels = (0..width * height).map(|i| texel(i % width, i / width)).collect();
        let image = Image::from_f32(width, height, Channels::Grey, texels);
        let pyramid = ImageMap::pyramid(&image, ImageMapValue::Float);
        (image, pyramid)
    }

    fn levels((image, pyramid): &(Image, Pyramid), wrap: WrapMode) -> Levels<'_> {
        Levels { image, pyramid, value: ImageMapValue::Float, wrap }
    }

    #[test]
    fn results_are_between_the_texels_for_random_footprints() {
        let sizes = [(16, 16), (13, 5), (1, 9), (40, 3), (1, 1)];
        for (k, (width, height)) in (0..).zip(sizes) {
            let image = image(width, height, |x, y| 0.25 + random(x + 100 * y, k));
            let extremes = [0.0, 1e-30, 1e-8, 0.3, 1.0, 1e4, 1e8, f32::INFINITY, f32::NAN];
            for i in 0..4_000 {
                let number = |j: u32| random(i, 10 + j);
                let magnitude = |j| libm::exp2f(-14.0 + 20.0 * number(j));
                let step = |j| vec2(number(j) - 0.5, number(j + 1) - 0.5) * magnitude(j + 2);
                let mut steps = [step(0), step(3)];
                if i % 4 == 0 {
                    steps[1].x = extremes[i as usize / 4 % extremes.len()];
                }
                let st = (vec2(number(6), number(7)) - 0.25) * magnitude(8).max(2.0);
                let (wrap, anisotropy) =
                    (WrapMode::ALL[i as usize % WrapMode::ALL.len()], 1.0 + 20.0 * number(9));
                let levels = levels(&image, wrap);
                let low = if wrap == WrapMode::Black { 0.0 } else { 0.25 };
                for value in [levels.trilinear(st, steps), levels.elliptical(st, steps, anisotropy)]
                {
                    assert!((low..=1.25).contains(&value.x), "{wrap:?} {st} {steps:?}: {value}");
                }
            }
        }
    }

    #[test]
    fn constant_images_are_reproduced() {
        let image = image(12, 9, |_, _| 0.1);
        for i in 0..500 {
            let number = |j: u32| random(i, j);
            let (st, scale) = (vec2(number(0), number(1)), libm::exp2f(-8.0 * number(2)));
            let steps = [vec2(number(3), number(4)) * scale, vec2(number(5), -number(6)) * scale];
            let levels = levels(&image, WrapMode::Repeat);
            assert_eq!(levels.trilinear(st, steps).x, 0.1);
            assert_eq!(levels.elliptical(st, steps, 8.0).x, 0.1);
        }
    }

    #[test]
    fn small_footprints_interpolate_and_large_ones_return_the_mean() {
        let image = image(8, 8, random);
        let levels = levels(&image, WrapMode::Repeat);
        let mean = (0..64).map(|i| random(i % 8, i / 8)).sum::<f32>() / 64.0;
        for st in [vec2(0.3, 0.9), vec2(0.05, 0.5)] {
            let tiny = [vec2(1e-4, 0.0), vec2(0.0, 1e-4)];
            assert_eq!(levels.trilinear(st, tiny), levels.texels(0).bilinear(st));
            let huge = [vec2(1.5, 0.0), vec2(0.0, 1.5)];
            assert!((levels.trilinear(st, huge).x - mean).abs() < 1e-6);
            assert!((levels.elliptical(st, huge, 8.0).x - mean).abs() < 1e-6);
            // Without a footprint.
            let point = [Vec2::ZERO; 2];
            assert_eq!(levels.elliptical(st, point, 8.0), levels.texels(0).bilinear(st));
        }
    }

    #[test]
    fn filters_are_continuous_in_the_size_of_the_footprint() {
        let image = image(32, 32, random);
        let levels = levels(&image, WrapMode::Repeat);
        let st = vec2(0.37, 0.61);
        let values = |size: f32| {
            let steps = [vec2(2.0 * size, 0.5 * size), vec2(0.0, size)];
            [levels.trilinear(st, steps).x, levels.elliptical(st, steps, 8.0).x]
        };
        let mut last = values(1e-3);
        for i in 1..2_000 {
            let next = values(1e-3 * libm::exp2f(i as f32 * 0.005));
            for (a, b) in last.into_iter().zip(next) {
                assert!((a - b).abs() < 0.02, "{a} {b} at {i}");
            }
            last = next;
        }
    }

    #[test]
    fn ellipses_average_along_their_long_axis() {
        // Stripes along y: a long axis across them blurs them, one along them does not.
        let image = image(64, 64, |x, _| (x % 2) as f32);
        let levels = levels(&image, WrapMode::Repeat);
        let at_stripe = vec2(20.5 / 64.0, 0.4);
        let (long, short) = (8.0 / 64.0, 1.0 / 64.0 / 16.0);
        let across = levels.elliptical(at_stripe, [vec2(long, 0.0), vec2(0.0, short)], 256.0).x;
        let along = levels.elliptical(at_stripe, [vec2(0.0, long), vec2(short, 0.0)], 256.0).x;
        assert!((across - 0.5).abs() < 0.05 && along < 0.25, "{across} {along}");
        // A limit of 1 turns the ellipse into a circle.
        let limited = levels.elliptical(at_stripe, [vec2(0.0, long), vec2(short, 0.0)], 1.0).x;
        assert!((limited - 0.5).abs() < 0.05, "{limited}");
    }
}
