//! MIP pyramids: images at ever smaller sizes (Williams 1983, *Pyramidal Parametrics*).
//!
//! Each level has half the columns and rows of the one before, rounded down, until one texel is
//! left. A texel is the mean over its area, so that all levels have the same mean. Invariant: each
//! component of a texel is between the minimum and maximum of the image, so that bounds on texels
//! bound every level.
//!
//! A mean of 8-bit codes is between codes: rounded to one, it would change pictures. Levels of such
//! images have eight more bits for the fraction. Levels of other images are floats.

use lightbound_image::Channels;
use lightbound_math::Vec3;
use rayon::prelude::*;
use std::sync::Arc;

/// The smaller levels of an image.
#[derive(Debug)]
pub struct Pyramid {
    /// From half the size of the image down to one texel; empty for an image of one texel.
    levels: Vec<Level>,
}

impl Pyramid {
    /// Creates the levels of an image of `size` columns and rows, whose texels are a function of
    /// column and row. `channels` are those to store: the first, or red, green and blue. If all
    /// texels are in the table `decode` of the values of 8-bit codes, levels take two bytes a
    /// sample. NaN components count as 0.
    pub fn new(
        size: (u32, u32),
        channels: Channels,
        decode: Option<&[f32]>,
        texel: impl Fn(u32, u32) -> Vec3 + Sync,
    ) -> Pyramid {
        let codes = decode.and_then(CodeValues::new).map(Arc::new);
        let mut levels = Vec::new();
        let mut finest = Level::downsampled(size, channels, codes.as_ref(), |x, y| {
            let v = texel(x, y);
            Vec3::select(v.is_nan_mask(), Vec3::ZERO, v)
        });
        while let Some(level) = finest {
            finest =
                Level::downsampled(level.size, channels, codes.as_ref(), |x, y| level.texel(x, y));
            levels.push(level);
        }
        Pyramid { levels }
    }

    /// Returns the levels, from half the size of the image to one texel.
    pub(super) fn levels(&self) -> &[Level] {
        &self.levels
    }
}

/// A level of a pyramid.
#[derive(Debug)]
pub(super) struct Level {
    /// Columns and rows.
    pub size: (u32, u32),
    channels: Channels,
    /// Interleaved, row by row from the top.
    samples: Samples,
}

#[derive(Debug)]
enum Samples {
    Floats(Vec<f32>),
    Codes(Vec<u16>, Arc<CodeValues>),
}

impl Level {
    /// Creates the level below an image of a size; `None` for one texel.
    fn downsampled(
        (width, height): (u32, u32),
        channels: Channels,
        values: Option<&Arc<CodeValues>>,
        texel: impl Fn(u32, u32) -> Vec3 + Sync,
    ) -> Option<Level> {
        if (width, height) == (1, 1) {
            return None;
        }
        let (columns, rows) = (Shares::new(width), Shares::new(height));
        let mean = |column: u32, row: u32| {
            let (mut sum, mut min, mut max) = (glam::DVec3::ZERO, Vec3::INFINITY, -Vec3::INFINITY);
            for (y, y_share) in rows.of(row) {
                for (x, x_share) in columns.of(column) {
                    let value = texel(x, y);
                    (min, max) = (min.min(value), max.max(value));
                    sum += x_share * y_share * value.as_dvec3();
                }
            }
            sum.as_vec3().max(min).min(max)
        };
        let size = (columns.count, rows.count);
        let samples = match values {
            None => Samples::Floats(samples(size, channels, mean, |value| value)),
            Some(values) => {
                let codes = samples(size, channels, mean, |value| values.encode(value));
                Samples::Codes(codes, values.clone())
            }
        };
        Some(Level { size, channels, samples })
    }

    /// Returns a texel; one channel is repeated in all three.
    ///
    /// # Panics
    /// If the texel is outside the level.
    pub fn texel(&self, x: u32, y: u32) -> Vec3 {
        let (width, height) = self.size;
        assert!(x < width && y < height, "texel ({x}, {y}) of {width} × {height}");
        let index = (y as usize * width as usize + x as usize) * self.channels as usize;
        match &self.samples {
            Samples::Floats(samples) => self.colour(|i| samples[index + i]),
            Samples::Codes(codes, values) => self.colour(|i| values.decode(codes[index + i])),
        }
    }

    /// Returns the colour of a texel with the given samples.
    fn colour(&self, sample: impl Fn(usize) -> f32) -> Vec3 {
        match self.channels {
            Channels::Grey => Vec3::splat(sample(0)),
            Channels::Rgb | Channels::Rgba => Vec3::new(sample(0), sample(1), sample(2)),
        }
    }
}

/// Returns the samples of a level, converted from the floats of its texels.
fn samples<T: Copy + Default + Send>(
    (width, height): (u32, u32),
    channels: Channels,
    texel: impl Fn(u32, u32) -> Vec3 + Sync,
    sample: impl Fn(f32) -> T + Sync,
) -> Vec<T> {
    let channels = channels as usize;
    let mut samples = vec![T::default(); width as usize * height as usize * channels];
    let rows = samples.par_chunks_exact_mut(width as usize * channels);
    rows.zip(0..height).for_each(|(samples, row)| {
        for (samples, column) in samples.chunks_exact_mut(channels).zip(0..width) {
            let texel = texel(column, row).to_array();
            std::iter::zip(samples, texel).for_each(|(to, value)| *to = sample(value));
        }
    });
    samples
}

/// The values of 8-bit codes with eight more bits for a fraction. Between codes, values are linear;
/// those of codes are exact, and rounding to the nearest is monotone. So a mean of texels stays
/// between their minimum and maximum.
#[derive(Debug)]
struct CodeValues {
    /// Those of codes, and the last again.
    values: [f32; 257],
}

impl CodeValues {
    /// Returns `None` if values of neighbouring codes are too close for floats to represent all
    /// fractions between them.
    fn new(decode: &[f32]) -> Option<CodeValues> {
        let is_distinct = decode.windows(2).all(|pair| pair[1] - pair[0] >= pair[1] / 4096.0);
        let values = std::array::from_fn(|code| decode[code.min(255)]);
        is_distinct.then_some(CodeValues { values })
    }

    fn decode(&self, code: u16) -> f32 {
        let [whole, fraction] = code.to_be_bytes();
        let (a, b) = (self.values[usize::from(whole)], self.values[usize::from(whole) + 1]);
        a + (b - a) * (f32::from(fraction) / 256.0)
    }

    /// Returns the code of the nearest value to one between those of codes.
    fn encode(&self, value: f32) -> u16 {
        let whole = self.values[..256].partition_point(|&v| v <= value) - 1;
        let (a, b) = (self.values[whole], self.values[whole + 1]);
        // For the last code, this is NaN, which becomes 0.
        let fraction = ((value - a) / (b - a) * 256.0 + 0.5) as u16;
        256 * whole as u16 + fraction
    }
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
impl Pyramid {
    /// Returns the memory of the samples in bytes.
    pub fn memory_bytes(&self) -> usize {
        let samples = |level: &Level| match &level.samples {
            Samples::Floats(samples) => 4 * samples.capacity(),
            Samples::Codes(codes, _) => 2 * codes.capacity(),
        };
        self.levels.iter().map(samples).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_image::Encoding;
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
            let pyramid = Pyramid::new(size, Channels::Rgb, None, random);
            let expected = mean(size, random);
            let longest: u32 = size.0.max(size.1);
            assert_eq!(pyramid.levels().len() as u32, longest.ilog2());
            let mut size = size;
            for level in pyramid.levels() {
                size = ((size.0 / 2).max(1), (size.1 / 2).max(1));
                assert_eq!(level.size, size);
                let found = mean(size, |x, y| level.texel(x, y));
                assert!((found / expected - 1.0).abs().max_element() < 1e-6, "{found} {expected}");
            }
        }
    }

    #[test]
    fn texels_stay_between_those_of_the_image() {
        // Means of equal texels must not be rounded.
        let texel = |x, y| if x < 7 { Vec3::splat(0.1) } else { random(x, y) };
        let size = (23, 19);
        let pyramid = Pyramid::new(size, Channels::Rgb, None, texel);
        let all = (0..size.1).flat_map(|y| (0..size.0).map(move |x| texel(x, y)));
        let (min, max) =
            all.fold((Vec3::INFINITY, -Vec3::INFINITY), |(min, max), v| (min.min(v), max.max(v)));
        for level in pyramid.levels() {
            for (x, y) in (0..level.size.1).flat_map(|y| (0..level.size.0).map(move |x| (x, y))) {
                let v = level.texel(x, y);
                assert!(v.cmpge(min).all() && v.cmple(max).all());
            }
        }
        assert_eq!(pyramid.levels()[0].texel(0, 0), Vec3::splat(0.1));
    }

    #[test]
    fn floats_have_one_channel_and_nan_counts_as_zero() {
        let texel = |x, _| if x == 0 { Vec3::NAN } else { Vec3::splat(3.0) };
        let pyramid = Pyramid::new((2, 2), Channels::Grey, None, texel);
        assert_eq!(pyramid.levels()[0].channels, Channels::Grey);
        assert_eq!(pyramid.levels()[0].texel(0, 0), Vec3::splat(1.5));
        assert!(Pyramid::new((1, 1), Channels::Grey, None, texel).levels().is_empty());
    }

    const ENCODINGS: [Encoding; 5] = [
        Encoding::Srgb,
        Encoding::Linear,
        Encoding::Gamma(0.2),
        Encoding::Gamma(2.2),
        Encoding::Gamma(30.0),
    ];

    fn decode(encoding: Encoding) -> Vec<f32> {
        (0..=255u8).map(|code| encoding.decode(f32::from(code) / 255.0)).collect()
    }

    #[test]
    fn fractional_codes_are_monotone_and_exact_for_all_their_values() {
        for encoding in ENCODINGS {
            let decode = decode(encoding);
            let codes = CodeValues::new(&decode).unwrap();
            assert!(
                (0..=255u8).all(|k| codes.decode(256 * u16::from(k)) == decode[usize::from(k)])
            );
            let mut last = 0.0;
            for code in 0..=255 * 256 {
                let value = codes.decode(code);
                assert_eq!(codes.decode(codes.encode(value)), value, "{encoding:?} {code}");
                assert!(value >= last, "{encoding:?} {code}");
                last = value;
            }
        }
        // All codes but the first are close to 1.
        assert!(CodeValues::new(&decode(Encoding::Gamma(1e-3))).is_none());
    }

    #[test]
    fn levels_of_codes_are_close_to_the_means_and_between_the_texels() {
        for encoding in ENCODINGS {
            let decode = decode(encoding);
            let steps = decode.windows(2).map(|pair| pair[1] - pair[0]);
            let max_step = steps.fold(0.0, f32::max);
            // A dark image with bright texels.
            let texel = |x, y| {
                let code = |k| 40 + (hash(hash(x, y), k) >> if x % 5 == 0 { 25 } else { 28 });
                vec3(decode[code(0) as usize], decode[code(1) as usize], decode[48])
            };
            let new = |table| Pyramid::new((61, 38), Channels::Rgb, table, texel);
            let (coded, floats) = (new(Some(decode.as_slice())), new(None));
            for (k, (coded, floats)) in (1..).zip(std::iter::zip(coded.levels(), floats.levels())) {
                assert!(matches!(coded.samples, Samples::Codes(..)));
                for (x, y) in (0..coded.size.1).flat_map(|y| (0..coded.size.0).map(move |x| (x, y)))
                {
                    let (value, mean) = (coded.texel(x, y), floats.texel(x, y));
                    // Each level rounds by up to half of a step between fractions.
                    let error = k as f32 * (max_step / 512.0 + 1e-7);
                    assert!((value - mean).abs().max_element() <= error, "{value} {mean}");
                    assert!(
                        value.min_element() >= decode[40] && value.max_element() <= decode[168]
                    );
                    assert_eq!(value.z, decode[48]);
                }
            }
        }
    }
}
