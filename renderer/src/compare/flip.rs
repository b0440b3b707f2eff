//! ꟻLIP: the difference that an eye sees when it alternates between two pictures, from 0 to 1 at
//! each pixel.
//!
//! [`ldr`] compares what a display shows (Andersson et al. 2020), by NVIDIA's own code in the crate
//! `nv-flip`, which takes 8 bits per sample. [`hdr`] compares pictures of any range (Andersson et
//! al. 2021): over a row of exposures chosen from the reference, both are tone mapped by a fit to
//! ACES, and each pixel takes its largest difference. Differences below the steps of 8 bits come
//! out too large there, by some 0.005 in the mean against the authors' tool, which keeps floats for
//! HDR. The observer sits as both papers assume it.

use super::Planes;
use crate::image::srgb;
use nv_flip::{FlipImageRgb8, flip, pixels_per_degree};
use rayon::prelude::*;

/// From the observer to the display, m.
const DISTANCE: f32 = 0.7;
/// Of the display, m.
const WIDTH: f32 = 0.7;
/// Of the display.
const COLUMNS: f32 = 3840.0;

/// Pixels that are worked on at once, with some 100 bytes for each.
const PIXELS_AT_ONCE: usize = 1 << 24;

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

/// LDR-ꟻLIP of linear pictures as a display shows them, `exposure` stops brighter: what is above 1
/// is white.
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
    let at_once = (PIXELS_AT_ONCE / test.len().max(1)).max(1);
    let parts =
        exposures.chunks(at_once).filter_map(|part| part.par_iter().map(at).reduce_with(larger));
    let values = parts.reduce(larger).expect("there are exposures");
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

/// LDR-ꟻLIP at each pixel of what `map` makes of both pictures; pixels that do not count are black
/// in both.
fn differences(
    test: &Planes,
    reference: &Planes,
    counts: &[bool],
    map: impl Fn(f64) -> f64,
) -> Vec<f32> {
    let code = |x: f32| (srgb(map(f64::from(x)).clamp(0.0, 1.0) as f32) * 255.0).round() as u8;
    let picture = |planes: &Planes| {
        let pixel =
            |(i, &counts): (usize, &bool)| if counts { planes.rgb(i).map(code) } else { [0; 3] };
        let codes: Vec<[u8; 3]> = counts.iter().enumerate().map(pixel).collect();
        FlipImageRgb8::with_data(
            planes.width() as u32,
            planes.height() as u32,
            codes.as_flattened(),
        )
    };
    flip(picture(reference), picture(test), pixels_per_degree(DISTANCE, COLUMNS, WIDTH)).to_vec()
}

/// Numerator and denominator, from the square down, of the fit to ACES' tone curve; 0.6 undoes the
/// exposure built into it.
const ACES: [[f64; 3]; 2] =
    [[0.6 * 0.6 * 2.51, 0.6 * 0.03, 0.0], [0.6 * 0.6 * 2.43, 0.6 * 0.59, 0.14]];

fn tone_map(x: f64) -> f64 {
    let x = x.max(0.0);
    let [p, q] = ACES.map(|[a, b, c]| (a * x + b) * x + c);
    p / q
}

/// The exposures to look at: from the one that shows the reference's brightest pixel at 0.85 of
/// white to the one that shows its median so, about a stop apart.
///
/// Where more than half of the picture is black, which would ask for infinite exposures, the median
/// is that of the rest.
fn exposures(reference: &Planes, counts: &[bool]) -> Vec<f64> {
    let luminance = |i: usize| {
        let [r, g, b] = reference.rgb(i).map(|x| f64::from(x.max(0.0)));
        0.212_655_815 * r + 0.715_158_301 * g + 0.072_185_883 * b
    };
    let counted = counts.iter().enumerate().filter(|(_, counts)| **counts);
    let mut luminances: Vec<f64> =
        counted.map(|(i, _)| luminance(i)).filter(|y| *y > 0.0).collect();
    luminances.sort_by(f64::total_cmp);
    let Some(&brightest) = luminances.last() else { return vec![0.0] };
    let dark = counts.iter().filter(|counts| **counts).count() - luminances.len();
    let median = match (dark + luminances.len()) / 2 {
        middle if middle >= dark => luminances[middle - dark],
        _ => luminances[luminances.len() / 2],
    };
    let shown = bright_input();
    let [start, stop] = [brightest, median].map(|y| libm::log2(shown / y));
    let n = ((stop - start).ceil() as usize).clamp(2, MAX_EXPOSURES);
    (0..n).map(|i| start + (stop - start) * i as f64 / (n - 1) as f64).collect()
}

/// What is tone mapped to 0.85.
fn bright_input() -> f64 {
    let [p, q] = ACES;
    let [a, b, c] = [0, 1, 2].map(|i| p[i] - 0.85 * q[i]);
    (-b + (b * b - 4.0 * a * c).sqrt()) / (2.0 * a)
}

#[cfg(test)]
mod tests {
    use super::super::pattern;
    use super::*;

    /// Of [`hdr_pattern`], a column's gain.
    fn gain(x: usize) -> f32 {
        libm::exp2f((x % 9) as f32 - 3.0)
    }

    fn hdr_pattern() -> [Planes; 2] {
        pattern::codes()
            .map(|codes| pattern::planes(&codes, |x, code| f32::from(code) / 64.0 * gain(x)))
    }

    /// Mean, and values at the first pixel and at (20, 13), and the largest one.
    fn figures(map: &Map) -> [f64; 4] {
        let at = |i: usize| f64::from(map.values[i]);
        [
            map.mean(),
            at(0),
            at(13 * pattern::WIDTH + 20),
            f64::from(map.values.iter().copied().fold(0.0, f32::max)),
        ]
    }

    fn assert_close(found: [f64; 4], expected: [f64; 4], tolerance: f64) {
        let near = found.iter().zip(expected).all(|(x, e)| (x - e).abs() < tolerance);
        assert!(near, "{found:?} for {expected:?}");
    }

    /// Expected: `flip_evaluator.evaluate(b, a, "LDR")` of flip-evaluator 1.7, for the codes
    /// over 255.
    #[test]
    fn ldr_agrees_with_the_authors() {
        let [a, b] = pattern::codes().map(|codes| {
            pattern::planes(&codes, |_, code| {
                crate::image::Encoding::Srgb.decode(f32::from(code) / 255.0)
            })
        });
        let map = ldr(&a, &b, 0.0);
        assert_close(
            figures(&map),
            [0.113_202_490, 0.003_939_45, 0.083_513_25, 0.294_088_36],
            1e-5,
        );
        // The exposure is the display's.
        let darker = |planes: &Planes| {
            let halves =
                planes.channels().iter().map(|plane| plane.iter().map(|x| x / 2.0).collect());
            Planes::new(pattern::WIDTH, pattern::HEIGHT, halves.collect())
        };
        assert_eq!(ldr(&darker(&a), &darker(&b), 1.0).values, map.values);
    }

    /// Expected: `flip_evaluator.evaluate(b, a, "HDR")` of flip-evaluator 1.7, which keeps floats
    /// where 8 bits are taken here.
    #[test]
    fn hdr_agrees_with_the_authors() {
        let [a, b] = hdr_pattern();
        let map = hdr(&a, &b);
        assert_close(
            figures(&map),
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
    fn equal_pictures_do_not_differ() {
        let [a, _] = hdr_pattern();
        assert_eq!((hdr(&a, &a).mean(), ldr(&a, &a, 0.0).mean()), (0.0, 0.0));
    }

    #[test]
    fn exposures_of_odd_references() {
        let of = |values: &[f32]| {
            exposures(
                &Planes::new(values.len(), 1, vec![values.to_vec()]),
                &vec![true; values.len()],
            )
        };
        // Nothing to see, and one value only.
        assert_eq!(of(&[0.0, -1.0]), [0.0]);
        let shown = bright_input();
        assert!((tone_map(shown) - 0.85).abs() < 1e-12);
        assert!(
            of(&[1.0]).iter().all(|stops| (stops - shown.log2()).abs() < 1e-6)
                && of(&[1.0]).len() == 2
        );
        let last = |values: &[f32]| of(values).last().map(|stops| (shown / stops.exp2()).round());
        assert_eq!(last(&[0.0, 2.0, 4.0, 8.0, 16.0]), Some(4.0));
        assert_eq!(last(&[0.0, 0.0, 2.0, 4.0]), Some(2.0));
        // More than half of it black: the median of the rest.
        assert_eq!(last(&[0.0, 0.0, 0.0, 0.0, 2.0, 4.0, 8.0]), Some(4.0));
    }

    #[test]
    fn values_that_are_not_finite_are_left_out() {
        let [mut a, b] = hdr_pattern();
        let mut out = vec![false; a.len()];
        out[77] = true;
        a.leave_out(&out);
        let map = hdr(&a, &b);
        assert!(
            map.values.iter().enumerate().all(|(i, x)| x.is_nan() == (i == 77))
                && map.mean().is_finite()
        );
    }

    #[test]
    fn any_size_will_do() {
        let one = |x| Planes::new(1, 1, vec![vec![x]]);
        assert!(ldr(&one(1.0), &one(0.0), 0.0).mean() > 0.5);
        assert!(hdr(&one(1e30), &one(1e-30)).mean() > 0.05);
    }
}
