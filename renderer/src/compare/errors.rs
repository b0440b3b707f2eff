//! Errors of single samples: how far each is from its reference, in several measures, and where it
//! is furthest.
//!
//! With A under test and the reference B:
//!
//! | measure | mean over pixels of |
//! |---|---|
//! | mean error (bias) | A − B |
//! | MAE | \|A − B\| |
//! | MSE, and RMSE its root | (A − B)² |
//! | relMSE | (A − B)² / (B² + 0.01) |
//! | MAPE | \|A − B\| / (\|B\| + 0.01) |
//!
//! The 0.01 keeps black pixels from deciding everything; it is what papers on denoising and the
//! viewer tev take.

/// What keeps relative errors finite where the reference is black.
pub const EPSILON: f64 = 0.01;

/// Errors of one channel, or the mean of several ([`Errors::mean_of`]).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Errors {
    /// Samples that count: all that are finite in both pictures.
    pub count: u64,
    /// Mean error; above 0 where A is brighter.
    pub mean: f64,
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
    /// Which pixel has it; the first one of several.
    pub max_at: usize,
}

impl Errors {
    /// Errors of samples of A beside those of B. A pair with a value that is not finite does not
    /// count.
    pub fn of(pairs: impl IntoIterator<Item = (f32, f32)>) -> Errors {
        let mut sums = Errors::default();
        for (i, (a, b)) in
            pairs.into_iter().enumerate().filter(|(_, (a, b))| a.is_finite() && b.is_finite())
        {
            let (b, error) = (f64::from(b), f64::from(a) - f64::from(b));
            sums.count += 1;
            sums.mean += error;
            sums.mae += error.abs();
            sums.mse += error * error;
            sums.rel_mse += relative_squared(error, b);
            sums.mape += relative(error, b);
            if error.abs() > sums.max {
                (sums.max, sums.max_at) = (error.abs(), i);
            }
        }
        let n = sums.count.max(1) as f64;
        sums.means(|x| x / n)
    }

    /// The mean of channels of equal count; the maximum is that of all.
    pub fn mean_of(channels: &[Errors]) -> Errors {
        let mut sums = Errors::default();
        for channel in channels {
            sums.count = channel.count;
            sums.mean += channel.mean;
            sums.mae += channel.mae;
            sums.mse += channel.mse;
            sums.rel_mse += channel.rel_mse;
            sums.mape += channel.mape;
            if channel.max > sums.max {
                (sums.max, sums.max_at) = (channel.max, channel.max_at);
            }
        }
        sums.means(|x| x / channels.len().max(1) as f64)
    }

    fn means(self, mean: impl Fn(f64) -> f64) -> Errors {
        let [mean_error, mae, mse, rel_mse, mape] =
            [self.mean, self.mae, self.mse, self.rel_mse, self.mape].map(mean);
        Errors { mean: mean_error, mae, mse, rel_mse, mape, ..self }
    }

    /// Root of the mean squared error.
    pub fn rmse(&self) -> f64 {
        self.mse.sqrt()
    }

    /// Peak signal-to-noise ratio in decibels, of values whose peak is 1; infinite where all are
    /// equal.
    pub fn psnr(&self) -> f64 {
        // + 0.0 for a zero without sign.
        -10.0 * libm::log10(self.mse) + 0.0
    }
}

/// What relMSE is the mean of.
pub fn relative_squared(error: f64, reference: f64) -> f64 {
    error * error / (reference * reference + EPSILON)
}

/// What MAPE is the mean of.
pub fn relative(error: f64, reference: f64) -> f64 {
    error.abs() / (reference.abs() + EPSILON)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(x: f64, expected: f64) {
        assert!((x - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{x} for {expected}");
    }

    #[test]
    fn closed_forms() {
        // Errors 1, −3, 0, 0.5 on references 0, 3, −2, 0.25: all exact in binary.
        let errors = Errors::of([(1.0, 0.0), (0.0, 3.0), (-2.0, -2.0), (0.75, 0.25)]);
        assert_eq!((errors.count, errors.max, errors.max_at), (4, 3.0, 1));
        close(errors.mean, -1.5 / 4.0);
        close(errors.mae, 4.5 / 4.0);
        close(errors.mse, 10.25 / 4.0);
        close(errors.rmse(), (10.25f64 / 4.0).sqrt());
        close(errors.rel_mse, (1.0 / 0.01 + 9.0 / 9.01 + 0.25 / 0.0725) / 4.0);
        close(errors.mape, (1.0 / 0.01 + 3.0 / 3.01 + 0.5 / 0.26) / 4.0);
    }

    #[test]
    fn psnr_of_known_errors() {
        close(Errors::of([(0.1f32, 0.0); 3]).psnr(), -20.0 * f64::from(0.1f32).log10());
        close(Errors::of([(1.0, 0.0)]).psnr(), 0.0);
        assert_eq!(Errors::of([(0.3, 0.3)]).psnr(), f64::INFINITY);
    }

    #[test]
    fn what_is_not_finite_does_not_count() {
        let errors =
            Errors::of([(f32::NAN, 1.0), (1.0, f32::INFINITY), (2.0, 1.0), (f32::NAN, f32::NAN)]);
        assert_eq!((errors.count, errors.mean, errors.max_at), (1, 1.0, 2));
        assert_eq!(Errors::of([]), Errors::default());
    }

    #[test]
    fn sums_keep_small_errors_beside_many() {
        // In 32 bits a sum of 2²⁴ ones would not move any more.
        let n = (1 << 24) + 5;
        let errors = Errors::of((0..n).map(|_| (1.0, 0.0)));
        assert_eq!(errors.mean, 1.0);
    }

    #[test]
    fn the_mean_of_channels() {
        let (r, g) = (Errors::of([(1.0, 0.0), (0.0, 0.0)]), Errors::of([(0.0, 0.0), (-3.0, 0.0)]));
        let both = Errors::mean_of(&[r, g]);
        assert_eq!(
            (both.mean, both.mae, both.mse, both.max, both.max_at),
            (-0.5, 1.0, 2.5, 3.0, 1)
        );
    }
}
