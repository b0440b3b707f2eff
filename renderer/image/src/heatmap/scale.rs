//! Colour scales for false-colour maps.
//!
//! Values use the perceptually uniform colour map magma. Signed errors use a diverging map from
//! blue (A is darker) to red (A is brighter). The ends of a scale are round numbers by default.

use super::NON_FINITE;
use crate::six_digits;

/// A mapping from values to colours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColourScale {
    /// Values of the first and the last colour; values outside are clamped.
    range: [f32; 2],
    mapping: Mapping,
    /// Whether any value is below the range, and whether any is above it.
    clipped: [bool; 2],
}

/// The mapping from values to positions on the scale.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mapping {
    Linear,
    /// Linear and symmetric around 0, with a diverging colour map.
    Diverging,
    /// Logarithmic; the range is positive.
    Logarithmic,
}

/// Minimum spacing of labels, as a fraction of the length of the scale.
const MIN_LABEL_DISTANCE: f64 = 0.11;

/// Tolerance for rounding errors of values close to round numbers, as a fraction of a step.
const ROUNDING_TOLERANCE: f64 = 1e-6;

/// Round numbers are these multiples of powers of 10.
const ROUND_NUMBERS: [f64; 4] = [1.0, 2.0, 5.0, 10.0];

impl ColourScale {
    /// Creates a scale for errors, from 0 to `end`. The default `end` is the 99th percentile of the
    /// absolute values, rounded up to 1, 2 or 5 times a power of 10. A signed scale starts at
    /// −`end`.
    pub fn for_errors(values: &[f32], signed: bool, end: Option<f32>) -> ColourScale {
        let magnitudes = sorted_finite(values.iter().map(|x| x.abs()));
        let percentile = magnitudes.get(magnitudes.len() * 99 / 100).copied().unwrap_or(0.0);
        let largest = magnitudes.last().copied().unwrap_or(0.0);
        let end =
            end.unwrap_or_else(|| round_up(if percentile > 0.0 { percentile } else { largest }));
        match signed {
            true => ColourScale {
                range: [-end, end],
                mapping: Mapping::Diverging,
                clipped: [largest > end; 2],
            },
            false => ColourScale {
                range: [0.0, end],
                mapping: Mapping::Linear,
                clipped: [false, largest > end],
            },
        }
    }

    /// Creates a scale for any values, over `range`. The default range is from the 1st to the 99th
    /// percentile, rounded outwards, and extended to 0 if 0 is close. A logarithmic scale ignores
    /// values that are not positive.
    pub fn for_values(values: &[f32], logarithmic: bool, range: Option<[f32; 2]>) -> ColourScale {
        let all = sorted_finite(values.iter().copied());
        let usable = &all[if logarithmic { all.partition_point(|x| *x <= 0.0) } else { 0 }..];
        let percentiles = usable
            .first()
            .map(|_| [usable[usable.len() / 100], usable[usable.len() - 1 - usable.len() / 100]]);
        let range = range.unwrap_or_else(|| match (percentiles, logarithmic) {
            (None, false) => [0.0, 1.0],
            (None, true) => [1.0, 10.0],
            (Some(range), false) => round_range(range),
            (Some([lo, hi]), true) => round_to_decades(lo, hi),
        });
        let clipped =
            [all.first().is_some_and(|x| *x < range[0]), all.last().is_some_and(|x| *x > range[1])];
        ColourScale {
            range,
            mapping: if logarithmic { Mapping::Logarithmic } else { Mapping::Linear },
            clipped,
        }
    }

    /// Returns the number of finite values within the range.
    pub fn count_within(&self, values: &[f32]) -> usize {
        let [lo, hi] = self.range;
        values.iter().filter(|x| (lo..=hi).contains(*x)).count()
    }

    /// Returns the values of the first and the last colour.
    pub fn range(&self) -> [f32; 2] {
        self.range
    }

    /// Returns the colour of a value.
    pub fn colour(&self, value: f32) -> [u8; 3] {
        if value.is_finite() { self.colour_at(self.position(value.into())) } else { NON_FINITE }
    }

    /// Returns the colour at a position on the scale, from 0 to 1.
    pub(super) fn colour_at(&self, position: f64) -> [u8; 3] {
        let colour = match self.mapping {
            Mapping::Diverging => colorous::RED_BLUE.eval_continuous(1.0 - position),
            Mapping::Linear | Mapping::Logarithmic => colorous::MAGMA.eval_continuous(position),
        };
        [colour.r, colour.g, colour.b]
    }

    /// Returns the position of a value on the scale, from 0 to 1.
    fn position(&self, value: f64) -> f64 {
        let [lo, hi] = self.range.map(f64::from);
        let position = match self.mapping {
            Mapping::Logarithmic if value <= 0.0 => 0.0,
            Mapping::Logarithmic => (value / lo).log10() / (hi / lo).log10(),
            Mapping::Linear | Mapping::Diverging => (value - lo) / (hi - lo),
        };
        position.clamp(0.0, 1.0)
    }

    /// Returns the positions and labels of the ticks: both ends, and round numbers between them if
    /// there is room.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let [lo, hi] = self.range.map(f64::from);
        let inner_ticks = match self.mapping {
            Mapping::Logarithmic => {
                let decades = (hi / lo).log10();
                let (first, last) =
                    ((lo.log10() - ROUNDING_TOLERANCE).ceil() as i32, hi.log10() as i32);
                // Up to two decades have room for 2 and 5 times powers of 10. More than six decades
                // need a stride.
                let (factors, first, stride) = match decades {
                    ..=2.0 => (&ROUND_NUMBERS[..3], first - 1, 1),
                    _ => (
                        &ROUND_NUMBERS[..1],
                        first,
                        (decades / 6.0 - ROUNDING_TOLERANCE).ceil() as usize,
                    ),
                };
                let powers = (first..=last).step_by(stride);
                powers
                    .flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)))
                    .collect()
            }
            Mapping::Linear | Mapping::Diverging => {
                let step = step(lo, hi);
                let first = (lo / step).ceil();
                (0..=5).map(|i| (first + f64::from(i)) * step).collect::<Vec<_>>()
            }
        };
        let room = MIN_LABEL_DISTANCE..1.0 - MIN_LABEL_DISTANCE;
        let inner_ticks = inner_ticks
            .into_iter()
            .map(|x| (self.position(x), x))
            .filter(|(position, _)| room.contains(position));
        let label = |(position, x): (f64, f64)| (position, six_digits(x));
        let end = |i: usize, position: f64, sign: &str| {
            let text = six_digits(self.range[i].into());
            (position, if self.clipped[i] { format!("{sign} {text}") } else { text })
        };
        [end(0, 0.0, "<=")]
            .into_iter()
            .chain(inner_ticks.map(label))
            .chain([end(1, 1.0, ">=")])
            .collect()
    }
}

/// Returns the finite values in increasing order.
fn sorted_finite(values: impl Iterator<Item = f32>) -> Vec<f32> {
    let mut finite: Vec<f32> = values.filter(|x| x.is_finite()).collect();
    finite.sort_unstable_by(f32::total_cmp);
    finite
}

/// Rounds up to 1, 2 or 5 times a power of 10; 0 becomes 1.
fn round_up(x: f32) -> f32 {
    if x <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(f64::from(x).log10().floor());
    let rounded = ROUND_NUMBERS.map(|m| (m * power) as f32).into_iter().find(|r| *r >= x);
    rounded.unwrap_or(x).min(f32::MAX)
}

/// Returns a round tick spacing that divides a range into at most five steps.
fn step(lo: f64, hi: f64) -> f64 {
    let rough = (hi - lo) / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    ROUND_NUMBERS
        .map(|m| m * power)
        .into_iter()
        .find(|step| *step >= rough * (1.0 - ROUNDING_TOLERANCE))
        .unwrap_or(rough)
}

/// Rounds a range outwards to round numbers; extends it to 0 if 0 is close.
fn round_range([lo, hi]: [f32; 2]) -> [f32; 2] {
    let [mut lo, mut hi] = [lo, hi].map(f64::from);
    if lo > 0.0 && (lo <= 0.5 * hi || lo == hi) {
        lo = 0.0;
    } else if hi < 0.0 && (hi >= 0.5 * lo || lo == hi) {
        hi = 0.0;
    }
    if lo == hi {
        return [0.0, 1.0];
    }
    let step = step(lo, hi);
    let limit = f64::from(f32::MAX);
    [
        (lo / step + ROUNDING_TOLERANCE).floor() * step,
        (hi / step - ROUNDING_TOLERANCE).ceil() * step,
    ]
    .map(|x| x.clamp(-limit, limit) as f32)
}

/// Rounds a positive range outwards to powers of 10.
fn round_to_decades(lo: f32, hi: f32) -> [f32; 2] {
    let power = |exponent: f64| (10f64.powf(exponent) as f32).min(f32::MAX);
    let [first, last] = [
        (f64::from(lo).log10() + ROUNDING_TOLERANCE).floor(),
        (f64::from(hi).log10() - ROUNDING_TOLERANCE).ceil(),
    ];
    // Smaller powers of 10 are subnormal.
    let first = first.max(-37.0);
    [power(first), power(last.max(first + 1.0))]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &ColourScale) -> Vec<String> {
        scale.ticks().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn scales_for_errors_end_at_round_numbers() {
        for (x, end) in [
            (0.0, 1.0),
            (0.3, 0.5),
            (0.5, 0.5),
            (1.01, 2.0),
            (99.0, 100.0),
            (1e-7, 1e-7),
            (6e-20, 1e-19),
        ] {
            assert_eq!(round_up(x), end, "{x}");
        }
        assert!(round_up(f32::MAX).is_finite() && round_up(1e-45) > 0.0);
        // One outlier in a thousand is ignored.
        let mut values = vec![0.3; 999];
        values.push(-50.0);
        let scale = ColourScale::for_errors(&values, false, None);
        assert_eq!((scale.range, scale.clipped), ([0.0, 0.5], [false, true]));
        assert_eq!(labels(&scale), ["0", "0.1", "0.2", "0.3", "0.4", ">= 0.5"]);
        let signed = ColourScale::for_errors(&values, true, Some(64.0));
        assert_eq!((signed.range, signed.clipped), ([-64.0, 64.0], [false; 2]));
        assert_eq!(labels(&signed), ["-64", "0", "64"]);
        assert_eq!(ColourScale::for_errors(&[f32::NAN], false, None).range, [0.0, 1.0]);
    }

    #[test]
    fn scales_for_values_cover_the_percentiles() {
        let range =
            |values: &[f32], logarithmic| ColourScale::for_values(values, logarithmic, None).range;
        for (values, expected) in [
            (&[3.0, 97.0][..], [0.0, 100.0]),
            (&[101.0, 109.0], [100.0, 110.0]),
            (&[-0.2, 0.7], [-0.2, 0.8]),
            (&[-9.0, -1.0], [-10.0, 0.0]),
            (&[7.0], [0.0, 8.0]),
            (&[-7.0], [-8.0, 0.0]),
            (&[0.0, f32::NAN], [0.0, 1.0]),
            (&[], [0.0, 1.0]),
        ] {
            assert_eq!(range(values, false), expected, "{values:?}");
        }
        assert_eq!(range(&[0.0, -1.0, 3.0, 470.0], true), [1.0, 1000.0]);
        assert_eq!((range(&[100.0], true), range(&[0.0], true)), ([100.0, 1000.0], [1.0, 10.0]));
        for [lo, hi] in
            [[-f32::MAX, f32::MAX], [1e-45, f32::MAX], [1.0, 1.0 + f32::EPSILON], [1e-45, 1e-45]]
        {
            for logarithmic in [false, true] {
                let scale = ColourScale::for_values(&[lo, hi], logarithmic, None);
                assert!(
                    scale.range[0] < scale.range[1] && scale.range.iter().all(|x| x.is_finite()),
                    "{scale:?}"
                );
                assert!(scale.ticks().len() <= 12, "{scale:?}");
            }
        }
        let mut values = vec![5.0; 999];
        values.push(1e10);
        let scale = ColourScale::for_values(&values, false, None);
        assert_eq!((scale.range, scale.clipped), ([0.0, 5.0], [false, true]));
    }

    #[test]
    fn ticks_are_round_numbers() {
        let ticks = |logarithmic, lo, hi| {
            labels(&ColourScale::for_values(&[lo - 1.0, hi], logarithmic, Some([lo, hi])))
        };
        assert_eq!(ticks(false, 0.0, 350.0), ["<= 0", "100", "200", "300", "350"]);
        assert_eq!(ticks(true, 1.0, 1000.0), ["<= 1", "10", "100", "1000"]);
        assert_eq!(ticks(true, 2.0, 50.0), ["<= 2", "5", "10", "20", "50"]);
        assert_eq!(
            ticks(true, 1e-6, 1e6),
            ["<= 1e-6", "0.0001", "0.01", "1", "100", "10000", "1e6"]
        );
        let are_apart = |ticks: &[(f64, String)]| {
            ticks.windows(2).all(|pair| pair[1].0 - pair[0].0 >= MIN_LABEL_DISTANCE)
        };
        for (lo, hi) in [(0.3, 0.31), (-17.0, 900.0), (1.5, 1.6), (0.02, 9e7)] {
            assert!(
                are_apart(&ColourScale::for_values(&[], lo > 0.0, Some([lo, hi])).ticks()),
                "{lo} {hi}"
            );
            assert!(
                are_apart(&ColourScale::for_values(&[], false, Some([lo, hi])).ticks()),
                "{lo} {hi}"
            );
        }
    }

    #[test]
    fn colours_follow_values() {
        let scale = ColourScale::for_errors(&[], false, Some(2.0));
        let brightness = |value| scale.colour(value).iter().map(|c| u32::from(*c)).sum::<u32>();
        assert!((0..20).all(|i| brightness(i as f32 / 10.0) <= brightness((i + 1) as f32 / 10.0)));
        assert_eq!((scale.colour(f32::NAN), scale.colour(9.0)), (NON_FINITE, scale.colour(2.0)));
        let signed = ColourScale::for_errors(&[], true, Some(2.0));
        let ([r, _, b], [r_low, _, b_low]) = (signed.colour(1.5), signed.colour(-1.5));
        assert!(r > b && r_low < b_low);
        let logarithmic = ColourScale::for_values(&[], true, Some([1.0, 100.0]));
        assert_eq!(logarithmic.colour(10.0), scale.colour(1.0));
        assert_eq!(
            (logarithmic.colour(-5.0), logarithmic.colour(0.0)),
            (scale.colour(0.0), scale.colour(0.0))
        );
    }
}
