//! Error maps.

use super::errors::{relative_error, relative_squared_error};
use super::{Comparison, Metric, Planes};

impl Metric {
    /// Returns whether the metric has a value at each pixel, as [`error_map`] requires.
    pub fn has_map(self) -> bool {
        !matches!(self, Metric::Differing | Metric::Psnr | Metric::Ssim)
    }
}

/// Returns the value of `metric` at each pixel: the mean over the channels, or their maximum for
/// [`Metric::Max`]. NaN if a sample is not finite.
///
/// Returns `None` if the metric has no map, or if it is a variant of ꟻLIP that `comparison` does
/// not contain.
///
/// # Panics
/// If the images differ in size or number of channels.
pub fn error_map(
    a: &Planes,
    b: &Planes,
    metric: Metric,
    comparison: &Comparison,
) -> Option<Vec<f32>> {
    assert_eq!((a.len(), a.channels().len()), (b.len(), b.channels().len()));
    let n = a.channels().len() as f64;
    let pixel = |i: usize, error: &dyn Fn(f64, f64) -> f64, fold: fn(f64, f64) -> f64| {
        let samples = || {
            a.channels()
                .iter()
                .zip(b.channels())
                .map(move |(a, b)| (f64::from(a[i]), f64::from(b[i])))
        };
        let finite = samples().all(|(a, b)| a.is_finite() && b.is_finite());
        if finite { samples().map(|(a, b)| error(a - b, b)).fold(0.0, fold) } else { f64::NAN }
    };
    let mean = |error: &dyn Fn(f64, f64) -> f64| {
        Some(
            (0..a.len())
                .map(|i| (pixel(i, error, |sum, x| sum + x) / n) as f32)
                .collect::<Vec<f32>>(),
        )
    };
    match metric {
        Metric::MeanError => mean(&|error, _| error),
        Metric::Mae => mean(&|error, _| error.abs()),
        Metric::Rmse => {
            mean(&|error, _| error * error).map(|map| map.into_iter().map(f32::sqrt).collect())
        }
        Metric::RelMse => mean(&relative_squared_error),
        Metric::Mape => mean(&relative_error),
        Metric::Max => {
            Some((0..a.len()).map(|i| pixel(i, &|error, _| error.abs(), f64::max) as f32).collect())
        }
        Metric::LdrFlip => comparison.ldr_flip.as_ref().map(|map| map.values.clone()),
        Metric::HdrFlip => comparison.hdr_flip.as_ref().map(|map| map.values.clone()),
        Metric::Differing | Metric::Psnr | Metric::Ssim => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::compare;
    use super::*;

    #[test]
    fn maps_aggregate_to_the_overall_value() {
        let a = Planes::new(2, 1, vec![vec![1.0, -2.0], vec![0.5, 4.0]]);
        let b = Planes::new(2, 1, vec![vec![0.5, 1.0], vec![0.75, 1.0]]);
        let comparison = compare(&a, &b, &Metric::ALL, 0.0);
        for metric in Metric::ALL.into_iter().filter(|metric| metric.has_map()) {
            let map = error_map(&a, &b, metric, &comparison).unwrap();
            let overall = comparison.value(metric).unwrap().overall;
            let expected = match metric {
                Metric::Max => f64::from(map.iter().copied().fold(0.0, f32::max)),
                Metric::Rmse => (map.iter().map(|x| f64::from(x * x)).sum::<f64>() / 2.0).sqrt(),
                _ => map.iter().map(|x| f64::from(*x)).sum::<f64>() / 2.0,
            };
            assert!(
                (overall - expected).abs() < 1e-6 * expected.abs().max(1.0),
                "{metric:?}: {overall} overall, {expected} from the map"
            );
        }
        assert_eq!(error_map(&a, &b, Metric::Ssim, &comparison), None);
        let infinite = Planes::new(2, 1, vec![vec![1.0, f32::INFINITY], vec![0.5, 4.0]]);
        let map = error_map(&infinite, &b, Metric::MeanError, &comparison).unwrap();
        assert!(map[0] == 0.125 && map[1].is_nan());
    }
}
