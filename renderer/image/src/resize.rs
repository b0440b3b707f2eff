//! Resampling of images to another size.
//!
//! Each axis is filtered on its own. With s old pixels per new pixel, the weight of an old pixel is
//! the convolution of three boxes, of widths s, 1 and |s − 1|, at the distance of the pixels'
//! centres. The first two make the weights those of exact area averages: a constant image stays
//! constant, and every old pixel contributes the same in total, so the mean stays as it is. The
//! third suppresses aliases. Its width vanishes at s = 1, where the filter is the identity; large
//! reductions use a triangle of 2 s pixels, and large magnifications interpolate linearly. No
//! weight is negative, so bright pixels cause no ringing. The image is mirrored at its borders.

use crate::layers::{Layer, PixelRect};
use crate::write::ChannelSamples;
use rayon::prelude::*;

/// Weights of old pixels for each new pixel of an axis.
struct Axis {
    /// Index of the first old pixel of each new pixel, and its range in `weights`.
    rows: Vec<(usize, std::ops::Range<usize>)>,
    weights: Vec<f64>,
}

/// Width of the third box below which it is left out.
const MIN_WIDTH: f64 = 1e-9;

impl Axis {
    fn new(old: usize, new: usize) -> Axis {
        let scale = old as f64 / new as f64;
        let third = (scale - 1.0).abs();
        let radius = 0.5 * (scale + 1.0 + third);
        let (mut rows, mut weights) = (Vec::with_capacity(new), Vec::new());
        for j in 0..new {
            let centre = (j as f64 + 0.5) * scale;
            let [first, last] = [centre - radius, centre + radius].map(|x| x.floor() as i64);
            // Mirrored pixels stay within this range of old ones.
            let clamp = |i: i64| mirrored(i, old);
            let (mut lo, mut hi) = (old, 0);
            for i in first..=last {
                (lo, hi) = (lo.min(clamp(i)), hi.max(clamp(i)));
            }
            let start = weights.len();
            weights.resize(start + hi + 1 - lo, 0.0);
            for i in first..=last {
                weights[start + clamp(i) - lo] += weight(i as f64 + 0.5 - centre, scale, third);
            }
            rows.push((lo, start..weights.len()));
        }
        Axis { rows, weights }
    }

    /// The weighted sum for new pixel `j` of the samples that `at` returns.
    fn filter(&self, j: usize, at: impl Fn(usize) -> f32) -> f32 {
        let (first, range) = &self.rows[j];
        let weights = self.weights[range.clone()].iter().enumerate();
        // A weight of 0 must not spread a NaN or an infinity.
        let used = weights.filter(|(_, weight)| **weight != 0.0);
        used.map(|(k, weight)| weight * f64::from(at(first + k))).sum::<f64>() as f32
    }
}

/// The index of a pixel after mirroring at both borders of a row of `n` pixels.
fn mirrored(i: i64, n: usize) -> usize {
    let n = n as i64;
    let i = i.rem_euclid(2 * n);
    (if i < n { i } else { 2 * n - 1 - i }) as usize
}

/// The convolution of boxes of integral 1 and widths `scale`, 1 and `third`, times 1 / max(scale,
/// 1) relative to the shorter of the first two; sums to 1 over old pixels.
fn weight(distance: f64, scale: f64, third: f64) -> f64 {
    let (wide, narrow) = (0.5 * (scale + 1.0), third);
    // The convolution of the first two boxes is a trapezoid: constant up to `flat`, 0 from `wide`.
    let flat = 0.5 * (scale - 1.0).abs();
    let height = 1.0 / scale.max(1.0);
    // Its integral from 0, an odd function.
    let integral = |x: f64| {
        let d = x.abs().min(wide);
        let ramp = (d - flat).max(0.0);
        (height * (d - 0.5 * ramp * ramp / (wide - flat))).copysign(x)
    };
    if narrow < MIN_WIDTH {
        let ramp = (distance.abs() - flat).max(0.0);
        return (height * (1.0 - ramp / (wide - flat))).max(0.0);
    }
    ((integral(distance + 0.5 * narrow) - integral(distance - 0.5 * narrow)) / narrow).max(0.0)
}

impl Layer {
    /// Resamples the layer to `width` × `height` pixels, with its upper left corner at `corner`.
    ///
    /// Floats are filtered. Depths, and unsigned integers, which are ids, are taken from the
    /// nearest pixel.
    ///
    /// # Panics
    /// If the layer has no pixels, or either size is 0.
    pub fn resize(mut self, corner: [i64; 2], width: usize, height: usize) -> Layer {
        let from = [self.data_window.width(), self.data_window.height()];
        let to = [width, height];
        assert!(from.into_iter().chain(to).all(|n| n > 0), "an image has pixels");
        if from != to {
            let depth = self.depth_channel();
            for (i, channel) in self.channels.iter_mut().enumerate() {
                match &mut channel.samples {
                    ChannelSamples::F32(samples) if Some(i) == depth => {
                        *samples = nearest(samples, from, to);
                    }
                    ChannelSamples::F32(samples) => *samples = filter(samples, from, to),
                    ChannelSamples::U32(samples) => *samples = nearest(samples, from, to),
                }
            }
        }
        self.data_window = PixelRect::from_size(corner[0], corner[1], width as u64, height as u64);
        self
    }
}

/// Resamples rows of `from[0]` samples.
fn filter(samples: &[f32], from: [usize; 2], to: [usize; 2]) -> Vec<f32> {
    let [columns, rows] = [Axis::new(from[0], to[0]), Axis::new(from[1], to[1])];
    let mut wide = vec![0.0; to[0] * from[1]];
    wide.par_chunks_mut(to[0]).zip(samples.par_chunks(from[0])).for_each(|(out, row)| {
        out.iter_mut().enumerate().for_each(|(x, out)| *out = columns.filter(x, |i| row[i]));
    });
    let mut all = vec![0.0; to[0] * to[1]];
    all.par_chunks_mut(to[0]).enumerate().for_each(|(y, out)| {
        out.iter_mut()
            .enumerate()
            .for_each(|(x, out)| *out = rows.filter(y, |i| wide[i * to[0] + x]));
    });
    all
}

fn nearest<T: Copy>(samples: &[T], from: [usize; 2], to: [usize; 2]) -> Vec<T> {
    // The old pixel that contains the centre of a new one.
    let old = |axis: usize, i: usize| (2 * i + 1) * from[axis] / (2 * to[axis]);
    let pixel = |y: usize, x: usize| samples[old(1, y) * from[0] + old(0, x)];
    (0..to[1]).flat_map(|y| (0..to[0]).map(move |x| pixel(y, x))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::Channel;

    fn layer(width: usize, height: usize, samples: ChannelSamples) -> Layer {
        let data_window = PixelRect::from_size(3, -2, width as u64, height as u64);
        Layer {
            name: "normal".into(),
            data_window,
            channels: vec![Channel { name: "Z".into(), samples }],
        }
    }

    fn floats(layer: Layer) -> Vec<f32> {
        match layer.channels.into_iter().next().unwrap().samples {
            ChannelSamples::F32(samples) => samples,
            ChannelSamples::U32(_) => panic!("floats stay floats"),
        }
    }

    fn resize(width: usize, samples: &[f32], to: [usize; 2]) -> Vec<f32> {
        let layer = layer(width, samples.len() / width, ChannelSamples::F32(samples.to_vec()));
        floats(layer.resize([0, 0], to[0], to[1]))
    }

    fn mean(samples: &[f32]) -> f64 {
        samples.iter().map(|&x| f64::from(x)).sum::<f64>() / samples.len() as f64
    }

    const SIZES: [[usize; 2]; 9] =
        [[1, 1], [7, 5], [13, 9], [26, 1], [25, 18], [27, 18], [26, 18], [40, 31], [500, 3]];

    /// One bright pixel anywhere, also in a corner, adds the same to the mean as before.
    #[test]
    fn mean_is_preserved_for_every_pixel_and_size() {
        for to in SIZES {
            for lit in [0, 1, 25, 26, 200, 26 * 18 - 1] {
                let mut samples = vec![0.0; 26 * 18];
                samples[lit] = 1000.0;
                let resized = resize(26, &samples, to);
                let ratio = mean(&resized) / mean(&samples);
                assert!((ratio - 1.0).abs() < 1e-5, "{to:?}, pixel {lit}: {ratio}");
                assert!(resized.iter().all(|x| *x >= 0.0), "{to:?}");
            }
        }
    }

    #[test]
    fn constants_stay_constant() {
        for to in SIZES {
            let resized = resize(26, &[0.3; 26 * 18], to);
            assert!(resized.iter().all(|x| (x - 0.3).abs() < 1e-6), "{to:?}");
        }
    }

    #[test]
    fn same_size_keeps_all_bits_and_almost_the_same_size_hardly_blurs() {
        let samples: Vec<f32> = (0..40).map(|i| (i * 37 % 11) as f32).collect();
        assert_eq!(resize(8, &samples, [8, 5]), samples);
        let mut line = vec![0.0; 1000];
        line[500] = 1.0;
        let peak = resize(1000, &line, [999, 1]).into_iter().fold(0.0, f32::max);
        assert!(peak > 0.49, "{peak}");
    }

    #[test]
    fn halving_weights_four_pixels() {
        // Boxes of 2, 1 and 1 pixels: the weights of the four nearest pixels are 1, 7, 7, 1.
        let line = [0.0, 0.0, 0.0, 16.0, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(resize(8, &line, [4, 1]), [0.0, 7.0, 1.0, 0.0]);
    }

    #[test]
    fn doubling_interpolates() {
        let line = resize(2, &[0.0, 1.0], [8, 1]);
        assert!(
            line.windows(2).all(|w| w[0] <= w[1]) && line[3] < 0.5 && line[4] > 0.5,
            "{line:?}"
        );
        assert!((line[3] + line[4] - 1.0).abs() < 1e-6, "{line:?}");
    }

    #[test]
    fn not_finite_pixels_stay_in_their_neighbourhood() {
        let mut samples = vec![1.0; 64];
        samples[0] = f32::NAN;
        let resized = resize(64, &samples, [16, 1]);
        assert!(resized[0].is_nan() && resized[3..].iter().all(|x| (x - 1.0).abs() < 1e-6));
    }

    #[test]
    fn ids_come_from_the_nearest_pixel() {
        let ids = layer(4, 1, ChannelSamples::U32(vec![7, 8, 9, 10]));
        let resized = ids.resize([5, 6], 2, 2);
        assert_eq!(resized.channels[0].samples, ChannelSamples::U32(vec![8, 10, 8, 10]));
        assert_eq!(resized.data_window, PixelRect::from_size(5, 6, 2, 2));
    }

    #[test]
    fn depths_come_from_the_nearest_pixel() {
        let depths = layer(4, 1, ChannelSamples::F32(vec![1.0, 2.0, 1e10, 1e10]));
        let depths = Layer { name: "depth".into(), ..depths };
        assert_eq!(floats(depths.resize([0, 0], 2, 1)), [2.0, 1e10]);
    }
}
