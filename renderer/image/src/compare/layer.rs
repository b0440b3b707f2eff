//! Computes all metrics of a layer.

use super::errors::Errors;
use super::{Metric, Planes, flip, ssim};

/// The differences between two images of equal size and channels.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Number of pixels.
    pub pixels: usize,
    /// Number of pixels with a non-finite value in either image. They are excluded from all metrics
    /// except the fraction of differing pixels.
    pub excluded_pixels: usize,
    /// Number of pixels that differ; NaN counts as equal to NaN.
    pub differing_pixels: usize,
    /// Errors of each channel.
    pub errors: Vec<Errors>,
    /// Errors of each channel of the display-encoded images, if requested.
    displayed_errors: Option<Vec<Errors>>,
    /// SSIM of each channel, if requested and if the images are large enough.
    ssim: Option<Vec<f64>>,
    /// LDR-ꟻLIP, if requested.
    pub ldr_flip: Option<flip::ErrorMap>,
    /// HDR-ꟻLIP, if requested.
    pub hdr_flip: Option<flip::ErrorMap>,
}

/// The value of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricValue {
    /// Value for all channels together.
    pub overall: f64,
    /// Value of each channel; empty for metrics that are not computed per channel.
    pub channels: Vec<f64>,
}

/// Compares A, the image under test, with B, the reference. `exposure` in stops applies to the
/// metrics of displayed values.
///
/// # Panics
/// If the images differ in size or number of channels.
pub fn compare(a: &Planes, b: &Planes, metrics: &[Metric], exposure: f32) -> Comparison {
    assert_eq!(
        (a.width(), a.height(), a.channels().len()),
        (b.width(), b.height(), b.channels().len())
    );
    let equal =
        |i: usize| channel_pairs(a, b).all(|(a, b)| a[i] == b[i] || a[i].is_nan() && b[i].is_nan());
    let differing_pixels = (0..a.len()).filter(|&i| !equal(i)).count();
    let finite = |i: usize| channel_pairs(a, b).all(|(a, b)| a[i].is_finite() && b[i].is_finite());
    let excluded: Vec<bool> = (0..a.len()).map(|i| !finite(i)).collect();
    let excluded_pixels = excluded.iter().filter(|excluded| **excluded).count();
    if excluded_pixels == 0 {
        return compare_masked(a, b, metrics, exposure, differing_pixels);
    }
    let (mut a, mut b) = (a.clone(), b.clone());
    a.set_nan(&excluded);
    b.set_nan(&excluded);
    Comparison { excluded_pixels, ..compare_masked(&a, &b, metrics, exposure, differing_pixels) }
}

fn channel_pairs<'a>(
    a: &'a Planes,
    b: &'a Planes,
) -> impl Iterator<Item = (&'a Vec<f32>, &'a Vec<f32>)> {
    a.channels().iter().zip(b.channels())
}

fn errors(a: &Planes, b: &Planes) -> Vec<Errors> {
    channel_pairs(a, b)
        .map(|(a, b)| Errors::from_pairs(a.iter().copied().zip(b.iter().copied())))
        .collect()
}

/// Compares images whose excluded pixels are already NaN in all channels.
fn compare_masked(
    a: &Planes,
    b: &Planes,
    metrics: &[Metric],
    exposure: f32,
    differing_pixels: usize,
) -> Comparison {
    let requested = |metric| metrics.contains(&metric);
    let displayed = (requested(Metric::Psnr) || requested(Metric::Ssim))
        .then(|| (a.displayed(exposure), b.displayed(exposure)));
    let ssim = |(a, b): &(Planes, Planes)| {
        channel_pairs(a, b).map(|(x, y)| ssim::mean(x, y, a.width())).collect()
    };
    Comparison {
        pixels: a.len(),
        excluded_pixels: 0,
        differing_pixels,
        errors: errors(a, b),
        displayed_errors: displayed.as_ref().map(|(a, b)| errors(a, b)),
        ssim: displayed.as_ref().filter(|_| requested(Metric::Ssim)).and_then(ssim),
        ldr_flip: requested(Metric::LdrFlip).then(|| flip::ldr(a, b, exposure)),
        hdr_flip: requested(Metric::HdrFlip).then(|| flip::hdr(a, b)),
    }
}

impl Comparison {
    /// Returns the value of a metric; `None` if it was not requested, if the images are too small
    /// for it, or if no pixel is finite in both.
    ///
    /// The overall value is the mean over the channels, except that RMSE and PSNR are computed from
    /// the mean MSE, and the maximum is over all channels.
    pub fn value(&self, metric: Metric) -> Option<MetricValue> {
        if metric == Metric::Differing {
            let overall = self.differing_pixels as f64 / self.pixels as f64;
            return Some(MetricValue { overall, channels: Vec::new() });
        }
        if self.excluded_pixels == self.pixels {
            return None;
        }
        let per_channel = |errors: &[Errors], value: fn(&Errors) -> f64| MetricValue {
            overall: value(&Errors::mean_of(errors)),
            channels: errors.iter().map(value).collect(),
        };
        let map_mean =
            |map: &flip::ErrorMap| MetricValue { overall: map.mean(), channels: Vec::new() };
        match metric {
            Metric::MeanError => Some(per_channel(&self.errors, |e| e.mean_error)),
            Metric::Mae => Some(per_channel(&self.errors, |e| e.mae)),
            Metric::Rmse => Some(per_channel(&self.errors, Errors::rmse)),
            Metric::RelMse => Some(per_channel(&self.errors, |e| e.rel_mse)),
            Metric::Mape => Some(per_channel(&self.errors, |e| e.mape)),
            Metric::Max => Some(per_channel(&self.errors, |e| e.max)),
            Metric::Differing => unreachable!("handled above"),
            Metric::Psnr => {
                self.displayed_errors.as_deref().map(|errors| per_channel(errors, Errors::psnr))
            }
            Metric::Ssim => self.ssim.as_ref().map(|channels| MetricValue {
                overall: channels.iter().sum::<f64>() / channels.len() as f64,
                channels: channels.clone(),
            }),
            Metric::LdrFlip => self.ldr_flip.as_ref().map(map_mean),
            Metric::HdrFlip => self.hdr_flip.as_ref().map(map_mean),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_of_one_pixel_match_closed_forms() {
        let (a, b) = (
            Planes::new(1, 1, vec![vec![1.0], vec![0.25]]),
            Planes::new(1, 1, vec![vec![0.5], vec![0.75]]),
        );
        let comparison = compare(&a, &b, &Metric::ALL[..8], 0.0);
        let value = |metric| comparison.value(metric).unwrap();
        assert_eq!(
            value(Metric::MeanError),
            MetricValue { overall: 0.0, channels: vec![0.5, -0.5] }
        );
        assert_eq!(value(Metric::Rmse), MetricValue { overall: 0.5, channels: vec![0.5, 0.5] });
        assert_eq!((value(Metric::Max).overall, value(Metric::Differing).overall), (0.5, 1.0));
        // The sRGB values of 1, 0.5, 0.25 and 0.75.
        let mse = ((1.0 - 0.735_357f64).powi(2) + (0.537_099f64 - 0.880_825).powi(2)) / 2.0;
        assert!((value(Metric::Psnr).overall + 10.0 * mse.log10()).abs() < 1e-4);
        assert_eq!(
            (comparison.value(Metric::Ssim), comparison.value(Metric::LdrFlip)),
            (None, None)
        );
    }

    #[test]
    fn non_finite_pixels_are_excluded_from_all_channels() {
        let a = Planes::new(
            4,
            1,
            vec![vec![f32::NAN, 1.0, f32::INFINITY, 2.0], vec![5.0, 1.0, 1.0, 2.0]],
        );
        let b = Planes::new(
            4,
            1,
            vec![vec![f32::NAN, 1.0, f32::INFINITY, 1.0], vec![5.0, 1.0, 9.0, 2.0]],
        );
        let comparison = compare(&a, &b, &Metric::ALL, 0.0);
        assert_eq!((comparison.excluded_pixels, comparison.differing_pixels), (2, 2));
        assert_eq!(
            comparison.errors.iter().map(|e| (e.count, e.mae)).collect::<Vec<_>>(),
            [(2, 0.5), (2, 0.0)]
        );
        let flip = &comparison.hdr_flip.as_ref().unwrap().values;
        assert!(flip[0].is_nan() && flip[2].is_nan() && flip[3] > 0.0);
        let all_nan =
            compare(&b, &Planes::new(4, 1, vec![vec![f32::NAN; 4]; 2]), &Metric::ALL, 0.0);
        assert_eq!(
            (all_nan.excluded_pixels, all_nan.value(Metric::HdrFlip), all_nan.value(Metric::Mae)),
            (4, None, None)
        );
    }
}
