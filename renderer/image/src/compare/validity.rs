//! Detects non-finite values in a pair of images.

use super::Planes;

/// Pixels with non-finite values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Validity {
    /// Pixels with a NaN in either image.
    pub nan: InvalidPixels,
    /// Pixels without a NaN where an infinity in one image differs from the value in the other.
    pub infinite: InvalidPixels,
}

/// The number and the first occurrence of pixels that are invalid for the same reason.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InvalidPixels {
    /// Number of pixels.
    pub pixels: usize,
    /// The first invalid sample.
    pub first: Option<InvalidSample>,
}

/// A sample that is invalid in one of the images.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InvalidSample {
    /// Row-major index of the pixel.
    pub index: usize,
    /// The channel.
    pub channel: usize,
    /// The value in A.
    pub a: f32,
    /// The value in B.
    pub b: f32,
}

impl Validity {
    /// Checks all pixels of two images.
    ///
    /// # Panics
    /// If the images differ in size or number of channels.
    pub fn check(a: &Planes, b: &Planes) -> Validity {
        assert_eq!(
            (a.width(), a.height(), a.channels().len()),
            (b.width(), b.height(), b.channels().len())
        );
        let find = |index: usize, is_invalid: fn(f32, f32) -> bool| {
            let values = a.channels().iter().zip(b.channels()).map(|(a, b)| (a[index], b[index]));
            let invalid = values.enumerate().find(|(_, (a, b))| is_invalid(*a, *b));
            invalid.map(|(channel, (a, b))| InvalidSample { index, channel, a, b })
        };
        let mut validity = Validity::default();
        for index in 0..a.len() {
            if let Some(nan) = find(index, |a, b| a.is_nan() || b.is_nan()) {
                validity.nan.add(nan);
            } else if let Some(infinite) =
                find(index, |a, b| (a.is_infinite() || b.is_infinite()) && a != b)
            {
                validity.infinite.add(infinite);
            }
        }
        validity
    }
}

impl InvalidPixels {
    fn add(&mut self, sample: InvalidSample) {
        self.pixels += 1;
        self.first.get_or_insert(sample);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_pixels_are_counted_and_the_first_is_kept() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        let a = Planes::new(
            6,
            1,
            vec![vec![0.0, inf, nan, inf, -inf, 2.0], vec![0.0, 1.0, nan, 1.0, 1.0, inf]],
        );
        let b = Planes::new(
            6,
            1,
            vec![vec![0.0, inf, nan, 3.0, inf, 2.0], vec![0.0, 1.0, 1.0, 1.0, 1.0, nan]],
        );
        let Validity { nan, infinite } = Validity::check(&a, &b);
        assert_eq!((nan.pixels, infinite.pixels), (2, 2));
        assert_eq!(infinite.first, Some(InvalidSample { index: 3, channel: 0, a: inf, b: 3.0 }));
        assert_eq!(nan.first.map(|sample| (sample.index, sample.channel)), Some((2, 0)));
        assert_eq!(
            Validity::check(&Planes::new(0, 0, vec![vec![]]), &Planes::new(0, 0, vec![vec![]])),
            Validity::default()
        );
    }
}
