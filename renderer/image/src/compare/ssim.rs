//! Structural similarity (SSIM), Wang et al. 2004.
//!
//! In a window of 11 × 11 pixels, weighted by a normalised Gaussian of standard deviation 1.5, let
//! μ be the means, σ² the variances and σ_AB the covariance of the images. For values from 0 to 1,
//!
//! > SSIM = (2 μ_A μ_B + C₁)(2 σ_AB + C₂) / ((μ_A² + μ_B² + C₁)(σ_A² + σ_B² + C₂)),
//! > C₁ = 0.01², C₂ = 0.03².
//!
//! The result is the mean over all windows that lie in the image and contain only finite values.

use rayon::prelude::*;

/// Radius of the window.
const RADIUS: usize = 5;

/// Width and height of the window; smaller images have no SSIM.
pub const WINDOW: usize = 2 * RADIUS + 1;

const C1: f64 = 0.01 * 0.01;
const C2: f64 = 0.03 * 0.03;

/// Returns the mean SSIM of two planes with values in [0, 1] and rows of `width` pixels; `None` if
/// no window fits.
///
/// # Panics
/// If the planes differ in size.
pub fn mean(a: &[f32], b: &[f32], width: usize) -> Option<f64> {
    assert_eq!(a.len(), b.len());
    let height = a.len().checked_div(width)?;
    if width < WINDOW || height < WINDOW {
        return None;
    }
    let weights = weights();
    // Sums each row separately, so that the total does not depend on thread scheduling.
    let rows: Vec<(f64, u64)> = (0..=height - WINDOW)
        .into_par_iter()
        .map(|top| {
            let rows = top * width..(top + WINDOW) * width;
            windows(&a[rows.clone()], &b[rows], width, &weights)
                .filter(|ssim| ssim.is_finite())
                .fold((0.0, 0), |(sum, n), ssim| (sum + ssim, n + 1))
        })
        .collect();
    let (sum, n) = rows.iter().fold((0.0, 0), |(sum, n), row| (sum + row.0, n + row.1));
    (n > 0).then(|| sum / n as f64)
}

/// Returns the SSIM of all windows in a strip of [`WINDOW`] rows.
fn windows(
    a: &[f32],
    b: &[f32],
    width: usize,
    weights: &[f64; WINDOW],
) -> impl Iterator<Item = f64> {
    // Weighted sums of A, B, A², B² and AB in each column.
    let column = |x: usize| {
        let mut moments = [0.0; 5];
        for (y, weight) in weights.iter().enumerate() {
            let (a, b) = (f64::from(a[y * width + x]), f64::from(b[y * width + x]));
            for (moment, value) in moments.iter_mut().zip([a, b, a * a, b * b, a * b]) {
                *moment += weight * value;
            }
        }
        moments
    };
    let columns: Vec<[f64; 5]> = (0..width).map(column).collect();
    (0..=width - WINDOW).map(move |left| {
        let mut moments = [0.0; 5];
        for (column, weight) in columns[left..].iter().zip(weights) {
            for (moment, value) in moments.iter_mut().zip(column) {
                *moment += weight * value;
            }
        }
        ssim(moments)
    })
}

/// Computes the SSIM of a window from the means of A, B, A², B² and AB.
fn ssim([a, b, aa, bb, ab]: [f64; 5]) -> f64 {
    let (variance_a, variance_b, covariance) = (aa - a * a, bb - b * b, ab - a * b);
    (2.0 * a * b + C1) * (2.0 * covariance + C2)
        / ((a * a + b * b + C1) * (variance_a + variance_b + C2))
}

/// Returns the weights of the Gaussian along one axis.
fn weights() -> [f64; WINDOW] {
    let gaussian = |i: usize| {
        let x = (i as f64 - RADIUS as f64) / 1.5;
        libm::exp(-0.5 * x * x)
    };
    let weights: [f64; WINDOW] = std::array::from_fn(gaussian);
    let sum: f64 = weights.iter().sum();
    weights.map(|w| w / sum)
}

#[cfg(test)]
mod tests {
    use super::super::pattern::{self, WIDTH};
    use super::*;

    /// `skimage.metrics.structural_similarity(a, b, gaussian_weights=True, sigma=1.5,
    /// use_sample_covariance=False, data_range=1)` in scikit-image 0.26.0, for the codes divided by
    /// 255.
    const SCIKIT_IMAGE: [f64; 3] =
        [0.962_018_694_283_489, 0.974_245_446_468_634_3, 0.975_028_959_588_911_2];

    #[test]
    fn agrees_with_scikit_image() {
        let [a, b] = pattern::codes()
            .map(|codes| pattern::planes(&codes, |_, code| f32::from(code) / 255.0));
        for (c, expected) in SCIKIT_IMAGE.into_iter().enumerate() {
            let found = mean(&a.channels()[c], &b.channels()[c], WIDTH).unwrap();
            // The inputs are rounded to `f32` here.
            assert!((found - expected).abs() < 1e-7, "found {found}, expected {expected}");
        }
    }

    #[test]
    fn constant_images_match_closed_form() {
        let (a, b) = (vec![0.5; 13 * 11], vec![0.25; 13 * 11]);
        let expected = (2.0 * 0.125 + C1) / (0.25 + 0.0625 + C1);
        assert!((mean(&a, &b, 13).unwrap() - expected).abs() < 1e-12);
        assert!((mean(&a, &a, 13).unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn windows_with_nan_are_skipped() {
        let ramp: Vec<f32> = (0..40 * 11).map(|i| (i % 40) as f32 / 40.0).collect();
        let mut hole = ramp.clone();
        hole[3] = f32::NAN;
        assert_eq!(mean(&hole, &hole, 40).map(|x| (x * 1e9).round()), Some(1e9));
        hole[20] = f32::NAN;
        hole[31] = f32::NAN;
        assert_eq!(mean(&hole, &ramp, 40).map(|x| (x * 1e9).round()), Some(1e9));
        hole[11] = f32::NAN;
        hole[29] = f32::NAN;
        assert_eq!(mean(&hole, &ramp, 40), None);
    }

    #[test]
    fn small_images_have_no_ssim() {
        assert_eq!((mean(&[0.0; 110], &[0.0; 110], 11), mean(&[], &[], 0)), (None, None));
        assert!(mean(&[0.0; 121], &[0.0; 121], 11).is_some());
    }
}
