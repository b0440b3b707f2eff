//! Unit vectors among the inputs of a point shader, what a box has of them, and whether related
//! bounds hold for it.
//!
//! The vectors v of a box that count are those with ||v|²−1| ≤ 2⁻²¹. For given boxes of the other
//! components, the square of one is within 1 ± 2⁻²¹ less the sum of theirs, which takes all values
//! between its least and its greatest one. So the hull of the vectors that count is known component
//! by component, without iterating, and the box holds such a vector if that hull is not empty.

use crate::lift::Lifted;
use crate::relations::{Axis, SLACK, UNIT};

/// A box of a vector: ends of its components.
pub(super) type Ends = [[f32; 2]; 3];

/// A unit vector among the inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    /// Its name: `wi` of the inputs `wi.x`, `wi.y` and `wi.z`.
    pub name: String,
    /// The inputs that are its components.
    pub inputs: [usize; 3],
    /// Whether it is one of three that are perpendicular to each other, of which the normal is the
    /// first.
    pub frame: bool,
    /// Whether it is on the normal's side of the surface.
    pub above: bool,
}

/// What a box has to meet for bounds of related code to hold for it: the precondition of
/// [`Axis`](crate::relations::Axis), as far as it can be told of a box.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Precondition {
    directions: Vec<Direction>,
}

/// What a box is that does not meet the precondition of related bounds.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unmet {
    /// A component reaches beyond those of unit vectors, or is NaN.
    #[error("{name} is {}, and components of unit vectors are from -1 to 1", span(.ends))]
    Component {
        /// Which input.
        input: usize,
        /// Its name.
        name: String,
        /// Its ends.
        ends: [f64; 2],
    },
    /// There is no unit vector in the box.
    #[error("{name} {} unit vector: the square of its length is {}", is_no(.squares), span(.squares))]
    Length {
        /// The first of its components' inputs.
        input: usize,
        /// Its name.
        name: String,
        /// The least and the greatest square of a length.
        squares: [f64; 2],
    },
    /// Two vectors of the frame are not perpendicular.
    #[error("{} and {} are not perpendicular: their dot product is {}", names[0], names[1], span(.dots))]
    Angle {
        /// The first of the first one's inputs.
        input: usize,
        /// Their names.
        names: [String; 2],
        /// The least and the greatest dot product.
        dots: [f64; 2],
    },
    /// A vector that is to be on the normal's side of the surface is not.
    #[error("{name} is below the surface: its dot product with the normal is {}", span(.dots))]
    Below {
        /// The first of its components' inputs.
        input: usize,
        /// Its name.
        name: String,
        /// The least and the greatest dot product.
        dots: [f64; 2],
    },
}

/// A number or an interval, for readers: with the digits of floats.
fn span(ends: &[f64; 2]) -> String {
    let [low, high] = ends.map(|end| end as f32);
    if low == high { low.to_string() } else { format!("{low}..{high}") }
}

/// A vector is not a unit vector, a box contains none.
fn is_no([low, high]: &[f64; 2]) -> &'static str {
    if low == high { "is not a" } else { "contains no" }
}

impl Unmet {
    /// The input at fault, or the first one of several.
    pub fn input(&self) -> usize {
        match self {
            Unmet::Component { input, .. }
            | Unmet::Length { input, .. }
            | Unmet::Angle { input, .. }
            | Unmet::Below { input, .. } => *input,
        }
    }
}

/// The unit vectors among the inputs of a point shader.
pub(super) fn directions(lifted: &Lifted) -> Vec<Direction> {
    let axes: Vec<Option<Axis>> = lifted.inputs.iter().map(|input| input.axis).collect();
    let vectors = axes.iter().flatten().map(|axis| axis.vector + 1).max().unwrap_or(0);
    let direction = |vector: usize| {
        let part = |component: usize| {
            axes.iter()
                .position(|a| a.is_some_and(|a| a.vector == vector && a.component == component))
        };
        let inputs = [part(0)?, part(1)?, part(2)?];
        let name = lifted.point.inputs[inputs[0]].name.trim_end_matches(".x").to_owned();
        let axis = axes[inputs[0]]?;
        Some(Direction { name, inputs, frame: axis.frame, above: axis.above })
    };
    (0..vectors).filter_map(direction).collect()
}

impl Precondition {
    pub(super) fn new(directions: Vec<Direction>) -> Precondition {
        Precondition { directions }
    }

    /// The unit vectors.
    pub fn directions(&self) -> &[Direction] {
        &self.directions
    }

    /// Checks a box of which `of` gives the ends of an input: components are within ±(1 + 2⁻²²),
    /// there is a vector v with ||v|²−1| ≤ 2⁻²¹, dot products of two vectors of the frame come to
    /// within ±2⁻²¹, and those with the normal of what is above it may not be negative. For
    /// numbers, that is the whole precondition.
    pub fn check(&self, of: impl Fn(usize) -> [f32; 2]) -> Result<(), Unmet> {
        let ends = |direction: &Direction| direction.inputs.map(&of);
        for direction in &self.directions {
            direction.check(ends(direction))?;
        }
        let frame: Vec<_> = self.directions.iter().filter(|direction| direction.frame).collect();
        for (k, a) in frame.iter().enumerate() {
            for b in &frame[k + 1..] {
                let dots = dots(ends(a), ends(b));
                if dots[0] > SLACK || dots[1] < -SLACK {
                    return Err(Unmet::Angle {
                        input: a.inputs[0],
                        names: [a.name.clone(), b.name.clone()],
                        dots,
                    });
                }
            }
        }
        for above in self.directions.iter().filter(|direction| direction.above) {
            let normal = frame.first().map_or(UP, |normal| ends(normal));
            let dots = dots(ends(above), normal);
            if is_below(ends(above), normal, dots[1]) {
                return Err(Unmet::Below {
                    input: above.inputs[0],
                    name: above.name.clone(),
                    dots,
                });
            }
        }
        Ok(())
    }
}

/// The normal in the shading frame.
const UP: Ends = [[0.0; 2], [0.0; 2], [1.0; 2]];

/// Whether dot products in floats of a vector with the normal are negative: for numbers as they are
/// computed, for boxes if they are in any case, where 2⁻²² is more than they can be off by.
fn is_below(v: Ends, normal: Ends, most: f64) -> bool {
    if v.iter().chain(&normal).all(|[low, high]| low == high) {
        let [x, y, z] = [0, 1, 2].map(|k| v[k][0] * normal[k][0]);
        return x + y + z < 0.0;
    }
    most < -0.5 * SLACK
}

impl Direction {
    fn check(&self, ends: Ends) -> Result<(), Unmet> {
        for (k, [low, high]) in ends.into_iter().enumerate() {
            // Written so that NaN is not within.
            if !(-UNIT <= low && low <= high && high <= UNIT) {
                let name = format!("{}.{}", self.name, ["x", "y", "z"][k]);
                return Err(Unmet::Component {
                    input: self.inputs[k],
                    name,
                    ends: [low, high].map(f64::from),
                });
            }
        }
        let squares = ends.map(squares);
        let [least, most] = [0, 1].map(|side| squares.iter().map(|ends| ends[side]).sum::<f64>());
        if least > 1.0 + SLACK || most < 1.0 - SLACK {
            return Err(Unmet::Length {
                input: self.inputs[0],
                name: self.name.clone(),
                squares: [least, most],
            });
        }
        Ok(())
    }
}

/// The least and the greatest square in an interval; exact.
fn squares([low, high]: [f32; 2]) -> [f64; 2] {
    let [low, high] = [low, high].map(f64::from);
    let [a, b] = [low * low, high * high];
    [if low <= 0.0 && high >= 0.0 { 0.0 } else { a.min(b) }, a.max(b)]
}

/// The least and the greatest dot product of two vectors in boxes.
fn dots(a: Ends, b: Ends) -> [f64; 2] {
    let products = std::iter::zip(a, b).map(|(a, b)| {
        let all = a.map(|x| b.map(|y| f64::from(x) * f64::from(y)));
        let all = all.as_flattened();
        [f64::min, f64::max].map(|f| all.iter().copied().reduce(f).expect("there are four"))
    });
    products.fold([0.0; 2], |sum, ends| [sum[0] + ends[0], sum[1] + ends[1]])
}

/// The hull of the unit vectors in a box, rounded outwards within it; nothing if there are none.
///
/// Sums of squares in double precision are off by less than 2⁻⁵⁰ where they are at most 4, which is
/// added; greater ones say the same as 4 does.
pub(super) fn shrunk(ends: Ends) -> Option<Ends> {
    const ROUNDING: f64 = 1.0 / (1u64 << 50) as f64;
    if ends.as_flattened().iter().any(|x| x.is_nan()) {
        return None;
    }
    let all = ends.map(squares);
    let mut hull = ends;
    for (k, [low, high]) in hull.iter_mut().enumerate() {
        let others = |side: usize| all[(k + 1) % 3][side] + all[(k + 2) % 3][side];
        let most = 1.0 + SLACK + ROUNDING - others(0);
        let least = 1.0 - SLACK - ROUNDING - others(1);
        if most < 0.0 {
            return None;
        }
        // A square root in double precision is off by less than half a float, which the next one is
        // beyond.
        let most = (most.sqrt() as f32).next_up();
        let least = (least.max(0.0).sqrt() as f32).next_down().max(0.0);
        *low = if -least < *low && *low < least { least } else { low.max(-most) };
        *high = if -least < *high && *high < least { -least } else { high.min(most) };
        if *low > *high {
            return None;
        }
    }
    Some(hull)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::random::Random;

    fn uniform(random: &mut Random, low: f32, high: f32) -> f32 {
        low + (high - low) * (random.bits() >> 40) as f32 / (1u64 << 24) as f32
    }

    /// A vector of about length 1, near an axis now and then.
    fn vector(random: &mut Random) -> [f32; 3] {
        let axis = random.below(12);
        let mut v = [(); 3].map(|()| uniform(random, -1.0, 1.0));
        if axis < 3 {
            let narrow = 0.5f32.powi(random.below(24) as i32);
            (0..3).filter(|&k| k != axis).for_each(|k| v[k] *= narrow);
        }
        let length = v.iter().map(|x| x * x).sum::<f32>().sqrt();
        v.map(|x| x / length)
    }

    /// A unit vector as far from length 1 as the precondition has it.
    fn unit(random: &mut Random) -> [f32; 3] {
        loop {
            let scale = uniform(random, 1.0 - 2.5e-7, 1.0 + 2.5e-7);
            let v = vector(random).map(|x| x * scale);
            let square: f64 = v.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
            if (square - 1.0).abs() <= SLACK && v.iter().all(|x| x.abs() <= UNIT) {
                return v;
            }
        }
    }

    fn contains(ends: Ends, v: [f32; 3]) -> bool {
        std::iter::zip(ends, v).all(|([low, high], x)| low <= x && x <= high)
    }

    #[test]
    fn hulls_hold_all_unit_vectors_and_lie_in_the_box() {
        let random = &mut Random::new(1);
        let mut held = 0;
        for _ in 0..3000 {
            let (width, around) = (2.5 * 0.5f32.powi(random.below(24) as i32), unit(random));
            let ends = around.map(|x| {
                let [a, b] = [(); 2].map(|()| uniform(random, 0.0, width));
                [(x - a).max(-UNIT), (x + b).min(UNIT)]
            });
            let hull = shrunk(ends).expect("one is in it");
            assert!(contains(hull, around), "{around:?}, {ends:?}: {hull:?}");
            assert!(std::iter::zip(hull, ends).all(|(a, b)| b[0] <= a[0] && a[1] <= b[1]));
            // Others that are in the box: near the one it is around, and anywhere.
            for _ in 0..50 {
                let near = around.map(|x| x + uniform(random, -width, width));
                let length = near.iter().map(|x| x * x).sum::<f32>().sqrt();
                let other = if random.once_in(3) { unit(random) } else { near.map(|x| x / length) };
                if contains(ends, other) {
                    held += 1;
                    assert!(contains(hull, other), "{other:?}, {ends:?}: {hull:?}");
                }
            }
        }
        assert!(held > 20_000, "{held}");
    }

    #[test]
    fn hulls_are_tight() {
        let random = &mut Random::new(2);
        for _ in 0..2000 {
            let (around, width) = (unit(random), uniform(random, 0.001, 0.8));
            let ends = around.map(|x| [(x - width).max(-1.0), (x + width).min(1.0)]);
            let hull = shrunk(ends).expect("one is in it");
            for (k, side) in [0, 1, 2].into_iter().flat_map(|k| [(k, 0), (k, 1)]) {
                // The other components' squares take all sums between the ends' ones: also that
                // which is left to 1.
                let square = |x: f32| f64::from(x) * f64::from(x);
                let least = |[low, high]: [f32; 2]| {
                    if low * high <= 0.0 { 0.0 } else { square(low).min(square(high)) }
                };
                let most = |[low, high]: [f32; 2]| square(low).max(square(high));
                let others = [ends[(k + 1) % 3], ends[(k + 2) % 3]];
                let [low, high] = [others.map(least), others.map(most)].map(|of| of[0] + of[1]);
                let left = 1.0 - square(hull[k][side]);
                assert!(low - 1e-6 <= left && left <= high + 1e-6, "{ends:?}: {hull:?}, {k}");
            }
        }
        // In closed form: a cap, and a box with the pole that has its back cut off.
        let [x, y, z] = shrunk([[-0.6, 0.6], [0.0, 0.0], [-0.5, 1.0]]).expect("it holds (0, 0, 1)");
        assert_eq!((x, y), ([-0.6, 0.6], [0.0, 0.0]));
        assert!((z[0] - 0.8).abs() < 1e-6 && z[1] == 1.0, "{z:?}");
        let [x, ..] =
            shrunk([[-1.0, 1.0], [0.0, 0.0], [0.8, 0.9]]).expect("it holds (0.6, 0, 0.8)");
        assert!((x[1] - 0.6).abs() < 1e-6 && x[0] == -x[1], "{x:?}");
    }

    #[test]
    fn boxes_without_a_unit_vector_have_no_hull() {
        let nan = f32::NAN;
        for ends in [
            [[0.0, 0.5], [0.0, 0.5], [0.0, 0.5]],
            [[0.6, 0.7], [0.6, 0.7], [0.6, 0.7]],
            [[0.0, 0.0], [0.0, 0.0], [0.0, 0.999]],
            [[0.0, 1.0], [nan, nan], [0.0, 1.0]],
            [[0.0, 0.0], [1.1, f32::INFINITY], [0.0, 0.0]],
        ] {
            assert_eq!(shrunk(ends), None, "{ends:?}");
        }
        let whole = [[f32::NEG_INFINITY, f32::INFINITY]; 3];
        assert!(
            shrunk(whole)
                .expect("it holds all")
                .iter()
                .flatten()
                .all(|x| x.abs() <= UNIT + f32::EPSILON)
        );
    }

    fn precondition() -> Precondition {
        let named = |name: &str, first: usize, frame| Direction {
            name: name.into(),
            inputs: [first, first + 1, first + 2],
            frame,
            above: !frame,
        };
        Precondition::new(vec![named("wi", 0, false), named("n", 3, true), named("t", 6, true)])
    }

    #[test]
    fn unmet_preconditions_are_told() {
        let told = |row: [[f32; 2]; 9]| {
            precondition()
                .check(|input| row[input])
                .map_err(|unmet| (unmet.input(), unmet.to_string()))
        };
        let [zero, one] = [[0.0; 2], [1.0; 2]];
        let row = [[-0.1, 0.1], zero, [0.9, 1.0], zero, zero, one, one, zero, zero];
        let with = |input: usize, ends: [f32; 2]| {
            let mut row = row;
            row[input] = ends;
            row
        };
        let expected = |input: usize, text: &str| Err((input, text.to_owned()));
        assert_eq!(told(row), Ok(()));
        assert_eq!(told(with(2, [0.9, UNIT])), Ok(()));
        let text = "wi.z is 0.9..1.1, and components of unit vectors are from -1 to 1";
        assert_eq!(told(with(2, [0.9, 1.1])), expected(2, text));
        assert_eq!(told(with(1, [f32::NAN; 2])).map_err(|(input, _)| input), Err(1));
        assert_eq!(
            told(with(5, [0.5; 2])),
            expected(3, "n is not a unit vector: the square of its length is 0.25")
        );
        assert_eq!(told(with(2, [0.5, 0.75])).map_err(|(input, _)| input), Err(0));
        let tilted = [zero, zero, one, [0.8; 2], zero, [0.6; 2]];
        let mut frame = row;
        frame[3..].copy_from_slice(&tilted);
        let Err((3, text)) = told(frame) else { panic!("they are not perpendicular") };
        assert!(
            text.starts_with("n and t are not perpendicular: their dot product is 0.6"),
            "{text}"
        );
        // Where they are boxes, some of their vectors are.
        frame[8] = [-0.1, 0.7];
        assert_eq!(told(frame), Ok(()));
        let text = "wi is below the surface: its dot product with the normal is -1..-0.9";
        assert_eq!(told(with(2, [-1.0, -0.9])), expected(0, text));
        assert_eq!(told(with(2, [-1.0, 1.0])), Ok(()));
        let mut across = row;
        across[..3].copy_from_slice(&[one, zero, [-1e-9; 2]]);
        assert_eq!(told(across).map_err(|(input, _)| input), Err(0));
        across[2] = [-0.0; 2];
        assert_eq!(told(across), Ok(()));
    }

    #[test]
    fn lengths_are_those_of_the_precondition_exactly() {
        let single =
            |z: f32| precondition().directions[0].check([[0.0; 2], [0.0; 2], [z; 2]]).is_ok();
        // (1 + k 2⁻²³)² is 1 + k 2⁻²² and a bit more; (1 − k 2⁻²⁴)² is 1 − k 2⁻²³ and a bit more.
        let ulp = f32::EPSILON;
        assert!(single(1.0 + ulp) && !single(1.0 + 2.0 * ulp) && !single(1.0 + 3.0 * ulp));
        assert!(single(1.0 - 2.0 * ulp) && !single(1.0 - 2.5 * ulp));
    }
}
