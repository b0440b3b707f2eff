//! ꟻLIP: the difference that an eye sees when it alternates between two pictures, from 0 to 1 at each pixel.
//!
//! [`ldr`] compares what a display shows (Andersson et al. 2020), by NVIDIA's own code in the crate `nv-flip`, which takes 8 bits per
//! sample. [`hdr`] compares pictures of any range (Andersson et al. 2021): over a row of exposures chosen from the reference, both
//! are tone mapped by a fit to ACES, and each pixel takes its largest difference. The observer sees 67 pixels per degree, as
//! at 0.7 m from a display of 0.7 m with 3840 columns, which is what both papers assume.

use super::Planes;
use crate::image::srgb;
use nv_flip::{DEFAULT_PIXELS_PER_DEGREE, FlipImageRgb8, flip};
use rayon::prelude::*;

/// Exposures beyond which a reference would have to span more than any float picture of light does.
const MAX_EXPOSURES: usize = 64;

/// Differences at all pixels.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// From 0 to 1, row by row from the top; NaN where a picture has a value that is not finite.
    pub values: Vec<f32>,
    /// Exposures in stops that were looked at; empty for [`ldr`].
    pub exposures: Vec<f64>,
}

impl Map {
    /// The mean, which is what its authors recommend as the one figure; NaN where no pixel counts.
    pub fn mean(&self) -> f64 {
        let counted = self.values.iter().filter(|x| x.is_finite());
        let (sum, n) = counted.fold((0.0, 0u64), |(sum, n), &x| (sum + f64::from(x), n + 1));
        sum / n as f64
    }
}

/// LDR-ꟻLIP of linear pictures as a display shows them, `exposure` stops brighter: what is above 1 is white.
///
/// # Panics
/// If the pictures differ in size.
pub fn ldr(test: &Planes, reference: &Planes, exposure: f32) -> Map {
    let gain = libm::exp2(f64::from(exposure));
    let counts = counted(test, reference);
    let values = differences(test, reference, &counts, |x| x * gain);
    Map { values: leave_out(values, &counts), exposures: Vec::new() }
}

/// HDR-ꟻLIP of linear pictures.
///
/// # Panics
/// If the pictures differ in size.
pub fn hdr(test: &Planes, reference: &Planes) -> Map {
    let counts = counted(test, reference);
    let exposures = exposures(reference, &counts);
    let at = |exposure: &f64| {
        let gain = libm::exp2(*exposure);
        differences(test, reference, &counts, |x| tone_map(x * gain))
    };
    let larger = |a: Vec<f32>, b: Vec<f32>| a.iter().zip(&b).map(|(a, b)| a.max(*b)).collect();
    let values = exposures.par_iter().map(at).reduce_with(larger).expect("there are exposures");
    Map { values: leave_out(values, &counts), exposures }
}

/// Which pixels are finite in both pictures.
fn counted(test: &Planes, reference: &Planes) -> Vec<bool> {
    assert_eq!((test.width(), test.height()), (reference.width(), reference.height()));
    let finite = |i| test.rgb(i).iter().chain(&reference.rgb(i)).all(|x| x.is_finite());
    (0..test.len()).map(finite).collect()
}

fn leave_out(mut values: Vec<f32>, counts: &[bool]) -> Vec<f32> {
    for (value, _) in values.iter_mut().zip(counts).filter(|(_, counts)| !**counts) {
        *value = f32::NAN;
    }
    values
}

/// LDR-ꟻLIP at each pixel of what `map` makes of both pictures; pixels that do not count are black in both.
fn differences(test: &Planes, reference: &Planes, counts: &[bool], map: impl Fn(f64) -> f64) -> Vec<f32> {
    let code = |x: f32| (srgb(map(f64::from(x)).clamp(0.0, 1.0) as f32) * 255.0).round() as u8;
    let picture = |planes: &Planes| {
        let pixel = |(i, &counts): (usize, &bool)| if counts { planes.rgb(i).map(code) } else { [0; 3] };
        let codes: Vec<[u8; 3]> = counts.iter().enumerate().map(pixel).collect();
        FlipImageRgb8::with_data(planes.width() as u32, planes.height() as u32, codes.as_flattened())
    };
    flip(picture(reference), picture(test), DEFAULT_PIXELS_PER_DEGREE).to_vec()
}

/// Numerator and denominator, from the square down, of the fit to ACES' tone curve; 0.6 undoes the exposure built into it.
const ACES: [[f64; 3]; 2] = [[0.6 * 0.6 * 2.51, 0.6 * 0.03, 0.0], [0.6 * 0.6 * 2.43, 0.6 * 0.59, 0.14]];

fn tone_map(x: f64) -> f64 {
    let x = x.max(0.0);
    let [p, q] = ACES.map(|[a, b, c]| (a * x + b) * x + c);
    p / q
}

/// The exposures to look at: from the one that shows the reference's brightest pixel at 0.85 of white to the one that shows
/// its median so, at most a stop apart.
///
/// Where half of the picture is black, the median is that of the rest.
fn exposures(reference: &Planes, counts: &[bool]) -> Vec<f64> {
    let luminance = |i: usize| {
        let [r, g, b] = reference.rgb(i).map(|x| f64::from(x.max(0.0)));
        0.212_655_815 * r + 0.715_158_301 * g + 0.072_185_883 * b
    };
    let counted = counts.iter().enumerate().filter(|(_, counts)| **counts);
    let mut luminances: Vec<f64> = counted.map(|(i, _)| luminance(i)).filter(|y| *y > 0.0).collect();
    luminances.sort_by(f64::total_cmp);
    let Some(&brightest) = luminances.last() else { return vec![0.0] };
    let dark = counts.iter().filter(|counts| **counts).count() - luminances.len();
    let median = if dark < luminances.len() { median(&luminances, dark) } else { luminances[luminances.len() / 2] };
    let shown = bright_input();
    let [start, stop] = [brightest, median].map(|y| libm::log2(shown / y));
    let n = ((stop - start).ceil() as usize).clamp(2, MAX_EXPOSURES);
    (0..n).map(|i| start + (stop - start) * i as f64 / (n - 1) as f64).collect()
}

/// The median of sorted values with `zeros` zeros before them, fewer than there are values.
fn median(values: &[f64], zeros: usize) -> f64 {
    let n = values.len() + zeros;
    let at = |i: usize| i.checked_sub(zeros).map_or(0.0, |i| values[i]);
    if n % 2 == 1 { at(n / 2) } else { 0.5 * (at(n / 2 - 1) + at(n / 2)) }
}

/// What is tone mapped to 0.85.
fn bright_input() -> f64 {
    let [p, q] = ACES;
    let [a, b, c] = [0, 1, 2].map(|i| p[i] - 0.85 * q[i]);
    (-b + (b * b - 4.0 * a * c).sqrt()) / (2.0 * a)
}
