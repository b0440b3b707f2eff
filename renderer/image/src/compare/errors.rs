//! Per-sample error metrics against a reference, and the position of the largest error.
//!
//! A is the image under test, B the reference.
//!
//! | metric | mean over pixels of |
//! |---|---|
//! | mean error (bias) | A − B |
//! | MAE | \|A − B\| |
//! | MSE; RMSE is its square root | (A − B)² |
//! | relMSE | (A − B)² / (B² + 0.01) |
//! | MAPE | \|A − B\| / (\|B\| + 0.01) |
//!
//! The 0.01 keeps black pixels from dominating the mean. Denoising papers and the image viewer tev
//! use the same value.

/// Added to the denominator of relative errors, so that they are finite where the reference is
/// black.
pub const EPSILON: f64 = 0.01;

/// Errors of one channel, or the mean of several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Errors {
    /// Number of samples that are finite in both images.
    pub count: u64,
    /// Mean error; positive if A is brighter.
    pub mean_error: f64,
    /// Mean absolute error.
    pub mae: f64,
    /// Mean squared error.
    pub mse: f64,
    /// Relative mean squared error.
    pub rel_mse: f64,
    /// Mean absolute relative error, as a fraction.
    pub mape: f64,
    /// The largest absolute error.
    pub max: f64,
    /// Index of the first pixel with the largest absolute error.
    pub max_pixel: usize,
}

impl Errors {
    /// Computes the errors over pairs (a, b) of corresponding samples. Skips pairs with a
    /// non-finite value.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (f32, f32)>) -> Errors {
        let mut sums = Errors::default();
        for (i, (a, b)) in
            pairs.into_iter().enumerate().filter(|(_, (a, b))| a.is_finite() && b.is_finite())
        {
            let (b, error) = (f64::from(b), f64::from(a) - f64::from(b));
            sums.count += 1;
            sums.mean_error += error;
            sums.mae += error.abs();
            sums.mse += error * error;
            sums.rel_mse += relative_squared_error(error, b);
            sums.mape += relative_error(error, b);
            if error.abs() > sums.max {
                (sums.max, sums.max_pixel) = (error.abs(), i);
            }
        }
        let n = sums.count.max(1) as f64;
        sums.map_sums(|x| x / n)
    }

    /// Averages the errors of channels with equal counts. The maximum is over all channels.
    pub(crate) fn mean_of(channels: &[Errors]) -> Errors {
        let mut sums = Errors::default();
        for channel in channels {
            sums.count = channel.count;
            sums.mean_error += channel.mean_error;
            sums.mae += channel.mae;
            sums.mse += channel.mse;
            sums.rel_mse += channel.rel_mse;
            sums.mape += channel.mape;
            if channel.max > sums.max {
                (sums.max, sums.max_pixel) = (channel.max, channel.max_pixel);
            }
        }
        sums.map_sums(|x| x / channels.len().max(1) as f64)
    }

    /// Applies `f` to all fields that are sums.
    fn map_sums(self, f: impl Fn(f64) -> f64) -> Errors {
        let [mean_error, mae, mse, rel_mse, mape] =
            [self.mean_error, self.mae, self.mse, self.rel_mse, self.mape].map(f);
        Errors { mean_error, mae, mse, rel_mse, mape, ..self }
    }

    /// Returns the root mean squared error.
    pub fn rmse(&self) -> f64 {
        self.mse.sqrt()
    }

    /// Returns the peak signal-to-noise ratio in decibels for a peak value of 1; infinite if all
    /// pairs are equal.
    pub fn psnr(&self) -> f64 {
        // + 0.0 turns −0 into 0.
        -10.0 * libm::log10(self.mse) + 0.0
    }
}

/// Returns the relative squared error, which relMSE averages.
pub(crate) fn relative_squared_error(error: f64, reference: f64) -> f64 {
    error * error / (reference * reference + EPSILON)
}

/// Returns the relative absolute error, which MAPE averages.
pub(crate) fn relative_error(error: f64, reference: f64) -> f64 {
    error.abs() / (reference.abs() + EPSILON)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(x: f64, expected: f64) {
        assert!(
            (x - expected).abs() <= 1e-12 * expected.abs().max(1.0),
            "found {x}, expected {expected}"
        );
    }

    #[test]
    fn errors_match_closed_forms() {
        // Errors 1, −3, 0, 0.5 on references 0, 3, −2, 0.25: all exact in binary.
        let errors = Errors::from_pairs([(1.0, 0.0), (0.0, 3.0), (-2.0, -2.0), (0.75, 0.25)]);
        assert_eq!((errors.count, errors.max, errors.max_pixel), (4, 3.0, 1));
        assert_close(errors.mean_error, -1.5 / 4.0);
        assert_close(errors.mae, 4.5 / 4.0);
        assert_close(errors.mse, 10.25 / 4.0);
        assert_close(errors.rmse(), (10.25f64 / 4.0).sqrt());
        assert_close(errors.rel_mse, (1.0 / 0.01 + 9.0 / 9.01 + 0.25 / 0.0725) / 4.0);
        assert_close(errors.mape, (1.0 / 0.01 + 3.0 / 3.01 + 0.5 / 0.26) / 4.0);
    }

    #[test]
    fn psnr_matches_closed_form() {
        assert_close(
            Errors::from_pairs([(0.1f32, 0.0); 3]).psnr(),
            -20.0 * f64::from(0.1f32).log10(),
        );
        assert_close(Errors::from_pairs([(1.0, 0.0)]).psnr(), 0.0);
        assert_eq!(Errors::from_pairs([(0.3, 0.3)]).psnr(), f64::INFINITY);
    }

    #[test]
    fn non_finite_samples_are_skipped() {
        let errors = Errors::from_pairs([
            (f32::NAN, 1.0),
            (1.0, f32::INFINITY),
            (2.0, 1.0),
            (f32::NAN, f32::NAN),
        ]);
        assert_eq!((errors.count, errors.mean_error, errors.max_pixel), (1, 1.0, 2));
        assert_eq!(Errors::from_pairs([]), Errors::default());
    }

    #[test]
    fn sums_of_many_samples_are_exact() {
        // A sum of ones in `f32` would stop growing at 2²⁴.
        let n = (1 << 24) + 5;
        let errors = Errors::from_pairs((0..n).map(|_| (1.0, 0.0)));
        assert_eq!(errors.mean_error, 1.0);
    }

    #[test]
    fn channels_are_averaged_and_the_maximum_is_kept() {
        let (r, g) = (
            Errors::from_pairs([(1.0, 0.0), (0.0, 0.0)]),
            Errors::from_pairs([(0.0, 0.0), (-3.0, 0.0)]),
        );
        let mean = Errors::mean_of(&[r, g]);
        assert_eq!(
            (mean.mean_error, mean.mae, mean.mse, mean.max, mean.max_pixel),
            (-0.5, 1.0, 2.5, 3.0, 1)
        );
    }
}
