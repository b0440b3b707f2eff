//! Scales: which colour a value has.
//!
//! Values are drawn in magma, whose steps look equally large to the eye, or, where they are errors
//! with a sign, in blue (A is darker) and red (A is brighter). Scales end at round numbers unless
//! their ends are given.

use super::HOLE;
use crate::cli::numbers::number;

/// What the colours mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Values of the first and the last colour; what is beyond has these, too.
    ends: [f32; 2],
    shape: Shape,
    /// Whether some value is below the first end, and above the last.
    clipped: [bool; 2],
}

/// How colours follow values.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Linear,
    /// Linearly, as far below 0 as above, in two colours.
    Signed,
    /// Equal factors have equal steps. Ends are above 0.
    Logarithmic,
}

/// Least distance between labels, as a share of the scale, at which they can be told apart.
const DISTANCE: f64 = 0.11;

/// What is so near to a round number, as a share of the step to the next one, differs from it by
/// the rounding of floats.
const CLOSE: f64 = 1e-6;

/// Round numbers between two powers of 10.
const ROUND: [f64; 4] = [1.0, 2.0, 5.0, 10.0];

impl Scale {
    /// Of errors: from 0 to `end`, or else to where 99 % of the values are, rounded up to 1, 2 or 5
    /// times a power of 10.
    pub fn of_errors(values: &[f32], signed: bool, end: Option<f32>) -> Scale {
        let sizes = sorted(values.iter().map(|x| x.abs()));
        let most = sizes.get(sizes.len() * 99 / 100).copied().unwrap_or(0.0);
        let largest = sizes.last().copied().unwrap_or(0.0);
        let end = end.unwrap_or_else(|| round_up(if most > 0.0 { most } else { largest }));
        match signed {
            true => Scale { ends: [-end, end], shape: Shape::Signed, clipped: [largest > end; 2] },
            false => {
                Scale { ends: [0.0, end], shape: Shape::Linear, clipped: [false, largest > end] }
            }
        }
    }

    /// Of any values: from `range`, or else from where all but the lowest 1 % are to where all but
    /// the highest 1 % are, rounded outwards, and from 0 where that is not far; of positive values
    /// if it is logarithmic.
    pub fn of_values(values: &[f32], logarithmic: bool, range: Option<[f32; 2]>) -> Scale {
        let all = sorted(values.iter().copied());
        let shown = &all[if logarithmic { all.partition_point(|x| *x <= 0.0) } else { 0 }..];
        let found = shown
            .first()
            .map(|_| [shown[shown.len() / 100], shown[shown.len() - 1 - shown.len() / 100]]);
        let ends = range.unwrap_or_else(|| match (found, logarithmic) {
            (None, false) => [0.0, 1.0],
            (None, true) => [1.0, 10.0],
            (Some(found), false) => rounded(found),
            (Some([lo, hi]), true) => round_powers(lo, hi),
        });
        let beyond =
            |is: fn(&f32, &f32) -> bool, x: Option<&f32>, end| x.is_some_and(|x| is(x, end));
        let clipped =
            [beyond(f32::lt, all.first(), &ends[0]), beyond(f32::gt, all.last(), &ends[1])];
        Scale { ends, shape: if logarithmic { Shape::Logarithmic } else { Shape::Linear }, clipped }
    }

    /// Values of the first and the last colour.
    pub fn ends(&self) -> [f32; 2] {
        self.ends
    }

    /// The colour of a value.
    pub fn colour(&self, value: f32) -> [u8; 3] {
        if value.is_finite() { self.colour_at(self.position(value.into())) } else { HOLE }
    }

    /// The colour at a place of the scale, from 0 to 1.
    pub fn colour_at(&self, at: f64) -> [u8; 3] {
        let colour = match self.shape {
            Shape::Signed => colorous::RED_BLUE.eval_continuous(1.0 - at),
            Shape::Linear | Shape::Logarithmic => colorous::MAGMA.eval_continuous(at),
        };
        [colour.r, colour.g, colour.b]
    }

    /// Where a value is on the scale, from 0 to 1.
    fn position(&self, value: f64) -> f64 {
        let [lo, hi] = self.ends.map(f64::from);
        let at = match self.shape {
            Shape::Logarithmic if value <= 0.0 => 0.0,
            Shape::Logarithmic => (value / lo).log10() / (hi / lo).log10(),
            Shape::Linear | Shape::Signed => (value - lo) / (hi - lo),
        };
        at.clamp(0.0, 1.0)
    }

    /// Places with the numbers that belong there: the ends, and round numbers between them, as far
    /// as there is room.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        let [lo, hi] = self.ends.map(f64::from);
        let between = match self.shape {
            Shape::Logarithmic => {
                let decades = (hi / lo).log10();
                let (first, last) = ((lo.log10() - CLOSE).ceil() as i32, hi.log10() as i32);
                // Few powers of 10 leave room between them; many are too many.
                let (factors, first, stride) = match decades {
                    ..=2.0 => (&ROUND[..3], first - 1, 1),
                    _ => (&ROUND[..1], first, (decades / 6.0 - CLOSE).ceil() as usize),
                };
                let powers = (first..=last).step_by(stride);
                powers
                    .flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)))
                    .collect()
            }
            Shape::Linear | Shape::Signed => {
                let step = step(lo, hi);
                let first = (lo / step).ceil();
                (0..=5).map(|i| (first + f64::from(i)) * step).collect::<Vec<_>>()
            }
        };
        let room = DISTANCE..1.0 - DISTANCE;
        let between =
            between.into_iter().map(|x| (self.position(x), x)).filter(|(at, _)| room.contains(at));
        let label = |(at, x): (f64, f64)| (at, number(x));
        let end = |i: usize, at: f64, sign: &str| {
            let text = number(self.ends[i].into());
            (at, if self.clipped[i] { format!("{sign} {text}") } else { text })
        };
        [end(0, 0.0, "<=")]
            .into_iter()
            .chain(between.map(label))
            .chain([end(1, 1.0, ">=")])
            .collect()
    }
}

/// Values that are finite, in order.
fn sorted(values: impl Iterator<Item = f32>) -> Vec<f32> {
    let mut finite: Vec<f32> = values.filter(|x| x.is_finite()).collect();
    finite.sort_unstable_by(f32::total_cmp);
    finite
}

/// The next of 1, 2 and 5 times a power of 10; 1 for 0.
fn round_up(x: f32) -> f32 {
    if x <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(f64::from(x).log10().floor());
    let rounded = ROUND.map(|m| (m * power) as f32).into_iter().find(|r| *r >= x);
    rounded.unwrap_or(x).min(f32::MAX)
}

/// A round step of which a range has five at most.
fn step(lo: f64, hi: f64) -> f64 {
    let rough = (hi - lo) / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    ROUND
        .map(|m| m * power)
        .into_iter()
        .find(|step| *step >= rough * (1.0 - CLOSE))
        .unwrap_or(rough)
}

/// A range that holds another, with round ends.
fn rounded([lo, hi]: [f32; 2]) -> [f32; 2] {
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
    [(lo / step + CLOSE).floor() * step, (hi / step - CLOSE).ceil() * step]
        .map(|x| x.clamp(-limit, limit) as f32)
}

/// The same of a range above 0, with powers of 10 for ends.
fn round_powers(lo: f32, hi: f32) -> [f32; 2] {
    let power = |exponent: f64| (10f64.powf(exponent) as f32).min(f32::MAX);
    let [first, last] =
        [(f64::from(lo).log10() + CLOSE).floor(), (f64::from(hi).log10() - CLOSE).ceil()];
    // Below that there are no normal floats.
    let first = first.max(-37.0);
    [power(first), power(last.max(first + 1.0))]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale) -> Vec<String> {
        scale.ticks().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn scales_of_errors_end_at_round_numbers() {
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
        // One outlier of a thousand does not decide.
        let mut values = vec![0.3; 999];
        values.push(-50.0);
        let scale = Scale::of_errors(&values, false, None);
        assert_eq!((scale.ends, scale.clipped), ([0.0, 0.5], [false, true]));
        assert_eq!(labels(&scale), ["0", "0.1", "0.2", "0.3", "0.4", ">= 0.5"]);
        let signed = Scale::of_errors(&values, true, Some(64.0));
        assert_eq!((signed.ends, signed.clipped), ([-64.0, 64.0], [false; 2]));
        assert_eq!(labels(&signed), ["-64", "0", "64"]);
        assert_eq!(Scale::of_errors(&[f32::NAN], false, None).ends, [0.0, 1.0]);
    }

    #[test]
    fn scales_of_values_hold_most_of_them() {
        let ends = |values: &[f32], logarithmic| Scale::of_values(values, logarithmic, None).ends;
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
            assert_eq!(ends(values, false), expected, "{values:?}");
        }
        assert_eq!(ends(&[0.0, -1.0, 3.0, 470.0], true), [1.0, 1000.0]);
        assert_eq!((ends(&[100.0], true), ends(&[0.0], true)), ([100.0, 1000.0], [1.0, 10.0]));
        for [lo, hi] in
            [[-f32::MAX, f32::MAX], [1e-45, f32::MAX], [1.0, 1.0 + f32::EPSILON], [1e-45, 1e-45]]
        {
            for logarithmic in [false, true] {
                let scale = Scale::of_values(&[lo, hi], logarithmic, None);
                assert!(
                    scale.ends[0] < scale.ends[1] && scale.ends.iter().all(|x| x.is_finite()),
                    "{scale:?}"
                );
                assert!(scale.ticks().len() <= 12, "{scale:?}");
            }
        }
        let mut values = vec![5.0; 999];
        values.push(1e10);
        let scale = Scale::of_values(&values, false, None);
        assert_eq!((scale.ends, scale.clipped), ([0.0, 5.0], [false, true]));
    }

    #[test]
    fn ticks_are_round_numbers() {
        let given = |logarithmic, lo, hi| {
            labels(&Scale::of_values(&[lo - 1.0, hi], logarithmic, Some([lo, hi])))
        };
        assert_eq!(given(false, 0.0, 350.0), ["<= 0", "100", "200", "300", "350"]);
        assert_eq!(given(true, 1.0, 1000.0), ["<= 1", "10", "100", "1000"]);
        assert_eq!(given(true, 2.0, 50.0), ["<= 2", "5", "10", "20", "50"]);
        assert_eq!(
            given(true, 1e-6, 1e6),
            ["<= 1e-6", "0.0001", "0.01", "1", "100", "10000", "1e6"]
        );
        let room = |ticks: &[(f64, String)]| {
            ticks.windows(2).all(|pair| pair[1].0 - pair[0].0 >= DISTANCE)
        };
        for (lo, hi) in [(0.3, 0.31), (-17.0, 900.0), (1.5, 1.6), (0.02, 9e7)] {
            assert!(room(&Scale::of_values(&[], lo > 0.0, Some([lo, hi])).ticks()), "{lo} {hi}");
            assert!(room(&Scale::of_values(&[], false, Some([lo, hi])).ticks()), "{lo} {hi}");
        }
    }

    #[test]
    fn colours_of_values() {
        let scale = Scale::of_errors(&[], false, Some(2.0));
        let brightness = |value| scale.colour(value).iter().map(|c| u32::from(*c)).sum::<u32>();
        assert!((0..20).all(|i| brightness(i as f32 / 10.0) <= brightness((i + 1) as f32 / 10.0)));
        assert_eq!((scale.colour(f32::NAN), scale.colour(9.0)), (HOLE, scale.colour(2.0)));
        let signed = Scale::of_errors(&[], true, Some(2.0));
        let ([r, _, b], [r_low, _, b_low]) = (signed.colour(1.5), signed.colour(-1.5));
        assert!(r > b && r_low < b_low);
        let logarithmic = Scale::of_values(&[], true, Some([1.0, 100.0]));
        assert_eq!(logarithmic.colour(10.0), scale.colour(1.0));
        assert_eq!(
            (logarithmic.colour(-5.0), logarithmic.colour(0.0)),
            (scale.colour(0.0), scale.colour(0.0))
        );
    }
}
