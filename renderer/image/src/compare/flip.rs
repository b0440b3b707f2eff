//! ꟻLIP: the difference perceived when alternating between two images, from 0 to 1 at each pixel.
//!
//! [`ldr`] compares images as displayed (Andersson et al. 2020). It calls NVIDIA's implementation
//! through the `nv-flip` crate, which takes 8-bit samples. [`hdr`] compares images of any dynamic
//! range (Andersson et al. 2021). It tone maps both with a fit to the ACES curve, at several
//! exposures chosen from the reference, and keeps the largest error of each pixel. The authors'
//! tool uses floats for HDR. Here, 8-bit quantization overestimates small differences, by about
//! 0.005 on average. The viewing conditions are those of both papers.

use super::Planes;
use crate::linear_to_srgb;
use nv_flip::{FlipImageRgb8, flip, pixels_per_degree};
use rayon::prelude::*;

/// Distance from the observer to the display, m.
const VIEWING_DISTANCE_M: f32 = 0.7;
/// Width of the display, m.
const DISPLAY_WIDTH_M: f32 = 0.7;
/// Horizontal resolution of the display, pixels.
const DISPLAY_COLUMNS: f32 = 3840.0;

/// Target number of pixels in flight, about 100 bytes each. At least one exposure is always
/// processed.
const MAX_PIXELS_IN_FLIGHT: usize = 1 << 24;

/// Maximum number of exposures; only references with an unrealistic dynamic range need more.
const MAX_EXPOSURES: usize = 64;

/// A ꟻLIP error map.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorMap {
    /// Errors from 0 to 1, row by row from the top; NaN if a value is not finite in either image.
    pub values: Vec<f32>,
    /// The exposures in stops; empty for [`ldr`].
    pub exposures: Vec<f64>,
}

impl ErrorMap {
    /// Returns the mean error, the summary that the authors recommend; NaN if no pixel is finite.
    pub fn mean(&self) -> f64 {
        let valid_values = self.values.iter().filter(|x| x.is_finite());
        let (sum, n) = valid_values.fold((0.0, 0u64), |(sum, n), &x| (sum + f64::from(x), n + 1));
        sum / n as f64
    }
}

/// Computes LDR-ꟻLIP of linear images as displayed at `exposure` stops, clamped to [0, 1].
///
/// # Panics
/// If the images differ in size.
pub fn ldr(test: &Planes, reference: &Planes, exposure: f32) -> ErrorMap {
    let gain = libm::exp2(f64::from(exposure));
    let valid = finite_pixels(test, reference);
    let values = ldr_errors(test, reference, &valid, |x| x * gain);
    ErrorMap { values: mask_out(values, &valid), exposures: Vec::new() }
}

/// Computes HDR-ꟻLIP of linear images.
///
/// # Panics
/// If the images differ in size.
pub fn hdr(test: &Planes, reference: &Planes) -> ErrorMap {
    let valid = finite_pixels(test, reference);
    let exposures = exposures(reference, &valid);
    let errors_at = |exposure: &f64| {
        let gain = libm::exp2(*exposure);
        ldr_errors(test, reference, &valid, |x| tone_map(x * gain))
    };
    let pixelwise_max =
        |a: Vec<f32>, b: Vec<f32>| a.iter().zip(&b).map(|(a, b)| a.max(*b)).collect();
    let batch = (MAX_PIXELS_IN_FLIGHT / test.len().max(1)).max(1);
    let maps = exposures
        .chunks(batch)
        .filter_map(|batch| batch.par_iter().map(errors_at).reduce_with(pixelwise_max));
    let values = maps.reduce(pixelwise_max).expect("there is at least one exposure");
    ErrorMap { values: mask_out(values, &valid), exposures }
}

/// Returns, for each pixel, whether it is finite in both images.
fn finite_pixels(test: &Planes, reference: &Planes) -> Vec<bool> {
    assert_eq!((test.width(), test.height()), (reference.width(), reference.height()));
    let finite = |i| test.rgb(i).iter().chain(&reference.rgb(i)).all(|x| x.is_finite());
    (0..test.len()).map(finite).collect()
}

/// Sets the values of invalid pixels to NaN.
fn mask_out(mut values: Vec<f32>, valid: &[bool]) -> Vec<f32> {
    for (value, _) in values.iter_mut().zip(valid).filter(|(_, valid)| !**valid) {
        *value = f32::NAN;
    }
    values
}

/// Computes LDR-ꟻLIP at each pixel after applying `map` to both images. Replaces invalid pixels by
/// black in both.
fn ldr_errors(
    test: &Planes,
    reference: &Planes,
    valid: &[bool],
    map: impl Fn(f64) -> f64,
) -> Vec<f32> {
    let code =
        |x: f32| (linear_to_srgb(map(f64::from(x)).clamp(0.0, 1.0) as f32) * 255.0).round() as u8;
    let flip_image = |planes: &Planes| {
        let pixel =
            |(i, &valid): (usize, &bool)| if valid { planes.rgb(i).map(code) } else { [0; 3] };
        let codes: Vec<[u8; 3]> = valid.iter().enumerate().map(pixel).collect();
        FlipImageRgb8::with_data(
            planes.width() as u32,
            planes.height() as u32,
            codes.as_flattened(),
        )
    };
    let pixels_per_degree = pixels_per_degree(VIEWING_DISTANCE_M, DISPLAY_COLUMNS, DISPLAY_WIDTH_M);
    flip(flip_image(reference), flip_image(test), pixels_per_degree).to_vec()
}

/// Coefficients (x², x, 1) of the numerator and denominator of the fit to the ACES tone curve; the
/// factor 0.6 compensates for its built-in exposure.
const ACES: [[f64; 3]; 2] =
    [[0.6 * 0.6 * 2.51, 0.6 * 0.03, 0.0], [0.6 * 0.6 * 2.43, 0.6 * 0.59, 0.14]];

/// Applies the fit to the ACES tone curve.
fn tone_map(x: f64) -> f64 {
    let x = x.max(0.0);
    let [p, q] = ACES.map(|[a, b, c]| (a * x + b) * x + c);
    p / q
}

/// Returns the exposures of HDR-ꟻLIP, about a stop apart. At the first exposure, the brightest
/// pixel of the reference is tone mapped to 0.85, at the last one the median pixel.
///
/// If more than half of the image is black, the median would need an infinite exposure. In that
/// case, uses the median of the other pixels.
fn exposures(reference: &Planes, valid: &[bool]) -> Vec<f64> {
    let luminance = |i: usize| {
        let [r, g, b] = reference.rgb(i).map(|x| f64::from(x.max(0.0)));
        0.212_655_815 * r + 0.715_158_301 * g + 0.072_185_883 * b
    };
    let valid_pixels = valid.iter().enumerate().filter(|(_, valid)| **valid);
    let mut luminances: Vec<f64> =
        valid_pixels.map(|(i, _)| luminance(i)).filter(|y| *y > 0.0).collect();
    luminances.sort_by(f64::total_cmp);
    let Some(&brightest) = luminances.last() else { return vec![0.0] };
    let black = valid.iter().filter(|valid| **valid).count() - luminances.len();
    let median = match (black + luminances.len()) / 2 {
        middle if middle >= black => luminances[middle - black],
        _ => luminances[luminances.len() / 2],
    };
    let bright = bright_input();
    let [start, stop] = [brightest, median].map(|y| libm::log2(bright / y));
    let n = ((stop - start).ceil() as usize).clamp(2, MAX_EXPOSURES);
    (0..n).map(|i| start + (stop - start) * i as f64 / (n - 1) as f64).collect()
}

/// Returns the value that is tone mapped to 0.85.
fn bright_input() -> f64 {
    let [p, q] = ACES;
    let [a, b, c] = [0, 1, 2].map(|i| p[i] - 0.85 * q[i]);
    (-b + (b * b - 4.0 * a * c).sqrt()) / (2.0 * a)
}

#[cfg(test)]
mod tests {
    use super::super::pattern;
    use super::*;

    /// Returns the gain of a column of [`hdr_pattern`].
    fn gain(x: usize) -> f32 {
        libm::exp2f((x % 9) as f32 - 3.0)
    }

    fn hdr_pattern() -> [Planes; 2] {
        pattern::codes()
            .map(|codes| pattern::planes(&codes, |x, code| f32::from(code) / 64.0 * gain(x)))
    }

    /// Returns the mean, the values at the first pixel and at (20, 13), and the maximum.
    fn summary(map: &ErrorMap) -> [f64; 4] {
        let at = |i: usize| f64::from(map.values[i]);
        [
            map.mean(),
            at(0),
            at(13 * pattern::WIDTH + 20),
            f64::from(map.values.iter().copied().fold(0.0, f32::max)),
        ]
    }

    fn assert_close(found: [f64; 4], expected: [f64; 4], tolerance: f64) {
        let is_close = found.iter().zip(expected).all(|(x, e)| (x - e).abs() < tolerance);
        assert!(is_close, "found {found:?}, expected {expected:?}");
    }

    /// The expected values are from `flip_evaluator.evaluate(b, a, "LDR")` in flip-evaluator 1.7,
    /// applied to the codes divided by 255.
    #[test]
    fn ldr_agrees_with_the_authors_tool() {
        let [a, b] = pattern::codes().map(|codes| {
            pattern::planes(&codes, |_, code| crate::Encoding::Srgb.decode(f32::from(code) / 255.0))
        });
        let map = ldr(&a, &b, 0.0);
        assert_close(
            summary(&map),
            [0.113_202_490, 0.003_939_45, 0.083_513_25, 0.294_088_36],
            1e-5,
        );
        // The exposure scales both images.
        let darker = |planes: &Planes| {
            let halves =
                planes.channels().iter().map(|plane| plane.iter().map(|x| x / 2.0).collect());
            Planes::new(pattern::WIDTH, pattern::HEIGHT, halves.collect())
        };
        assert_eq!(ldr(&darker(&a), &darker(&b), 1.0).values, map.values);
    }

    /// The expected values are from `flip_evaluator.evaluate(b, a, "HDR")` in flip-evaluator 1.7,
    /// which uses floats instead of 8 bits.
    #[test]
    fn hdr_agrees_with_the_authors_tool() {
        let [a, b] = hdr_pattern();
        let map = hdr(&a, &b);
        assert_close(
            summary(&map),
            [0.106_797_233, 0.122_759_01, 0.059_362_37, 0.476_029_07],
            4e-3,
        );
        let (first, last) = (map.exposures[0], map.exposures[5]);
        assert_eq!(map.exposures.len(), 6);
        assert!(
            (first + 5.700_397_97).abs() < 1e-4 && (last + 0.318_903_27).abs() < 1e-4,
            "{first} {last}"
        );
    }

    #[test]
    fn identical_images_have_zero_error() {
        let [a, _] = hdr_pattern();
        assert_eq!((hdr(&a, &a).mean(), ldr(&a, &a, 0.0).mean()), (0.0, 0.0));
    }

    #[test]
    fn exposures_handle_black_and_constant_references() {
        let exposures_of = |values: &[f32]| {
            exposures(
                &Planes::new(values.len(), 1, vec![values.to_vec()]),
                &vec![true; values.len()],
            )
        };
        // An all-black image, and a single value.
        assert_eq!(exposures_of(&[0.0, -1.0]), [0.0]);
        let bright = bright_input();
        assert!((tone_map(bright) - 0.85).abs() < 1e-12);
        assert!(
            exposures_of(&[1.0]).iter().all(|stops| (stops - bright.log2()).abs() < 1e-6)
                && exposures_of(&[1.0]).len() == 2
        );
        let median = |values: &[f32]| {
            exposures_of(values).last().map(|stops| (bright / stops.exp2()).round())
        };
        assert_eq!(median(&[0.0, 2.0, 4.0, 8.0, 16.0]), Some(4.0));
        assert_eq!(median(&[0.0, 0.0, 2.0, 4.0]), Some(2.0));
        // More than half is black: the median of the rest is used.
        assert_eq!(median(&[0.0, 0.0, 0.0, 0.0, 2.0, 4.0, 8.0]), Some(4.0));
    }

    #[test]
    fn non_finite_pixels_are_excluded() {
        let [mut a, b] = hdr_pattern();
        let mut mask = vec![false; a.len()];
        mask[77] = true;
        a.set_nan(&mask);
        let map = hdr(&a, &b);
        assert!(
            map.values.iter().enumerate().all(|(i, x)| x.is_nan() == (i == 77))
                && map.mean().is_finite()
        );
    }

    #[test]
    fn images_of_one_pixel_are_supported() {
        let pixel = |x| Planes::new(1, 1, vec![vec![x]]);
        assert!(ldr(&pixel(1.0), &pixel(0.0), 0.0).mean() > 0.5);
        assert!(hdr(&pixel(1e30), &pixel(1e-30)).mean() > 0.05);
    }
}
