//! Unit vectors among the inputs of a point shader: the hull of the unit vectors in a box, and a
//! check that related bounds hold for a box.
//!
//! A vector v counts as a unit vector if ||v|²−1| ≤ 2⁻²¹. The square of a component is then 1 ±
//! 2⁻²¹ minus the sum of the squares of the other components, and in a box this sum takes all
//! values between its minimum and its maximum. So the hull of the unit vectors is computed
//! component by component, without iterating, and the box contains a unit vector if and only if the
//! hull is not empty.

use crate::lift::Lifted;
use crate::relations::{self, Axis, MAX_UNIT_COMPONENT, UNIT_LENGTH_SLACK};

/// A box of vectors: endpoints of each component.
pub(super) type VectorBox = [[f32; 2]; 3];

/// A unit vector among the inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    /// Its name, for example `wi` for the inputs `wi.x`, `wi.y` and `wi.z`.
    pub name: String,
    /// Indices of the inputs that are its components.
    pub inputs: [usize; 3],
    /// Whether it belongs to the shading frame: three mutually perpendicular vectors, the first of
    /// them the normal.
    pub frame: bool,
    /// Whether it is on the normal's side of the surface.
    pub above: bool,
}

/// The precondition of related bounds, as stated by [`Axis`](crate::relations::Axis), as
/// far as it can be decided for a box.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Precondition {
    directions: Vec<Direction>,
    /// Names and indices of the inputs of each sorted vector.
    sorted: Vec<(String, Vec<usize>)>,
}

/// A violation of the precondition of related bounds by a box.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PreconditionError {
    /// A component is outside of the range of unit vectors, or NaN.
    #[error(
        "{name} is {}, and components of unit vectors are from -1 to 1",
        format_interval(.endpoints)
    )]
    Component {
        /// Index of the input.
        input: usize,
        /// Its name.
        name: String,
        /// Its endpoints.
        endpoints: [f64; 2],
    },
    /// The box contains no unit vector.
    #[error(
        "{name} {} unit vector: the square of its length is {}",
        verb(.squares), format_interval(.squares)
    )]
    Length {
        /// The input of its first component.
        input: usize,
        /// Its name.
        name: String,
        /// The minimum and the maximum of the squared length.
        squares: [f64; 2],
    },
    /// The box contains no sorted vector.
    #[error(
        "{name} is not sorted: a component is {}, and the next one {}",
        format_interval(&.components[0]), format_interval(&.components[1])
    )]
    Order {
        /// The input of the first of the two components.
        input: usize,
        /// Name of the vector.
        name: String,
        /// The endpoints of the first of them, with the components before it, and of the second.
        components: [[f64; 2]; 2],
    },
    /// Two vectors of the shading frame are not perpendicular.
    #[error(
        "{} and {} are not perpendicular: their dot product is {}",
        names[0], names[1], format_interval(.dots)
    )]
    Angle {
        /// The input of the first component of the first vector.
        input: usize,
        /// Their names.
        names: [String; 2],
        /// The minimum and the maximum of the dot product.
        dots: [f64; 2],
    },
    /// A vector that should be on the normal's side of the surface is not.
    #[error(
        "{name} is below the surface: its dot product with the normal is {}",
        format_interval(.dots)
    )]
    Below {
        /// The input of its first component.
        input: usize,
        /// Its name.
        name: String,
        /// The minimum and the maximum of the dot product.
        dots: [f64; 2],
    },
}

/// Formats a scalar or an interval for messages, with the precision of floats.
fn format_interval(endpoints: &[f64; 2]) -> String {
    let [low, high] = endpoints.map(|end| end as f32);
    if low == high || low.is_nan() { low.to_string() } else { format!("{low}..{high}") }
}

/// The verb of a message: a vector "is not a" unit vector, a box "contains no" unit vector.
fn verb([low, high]: &[f64; 2]) -> &'static str {
    if low == high { "is not a" } else { "contains no" }
}

impl PreconditionError {
    /// The input that violates the precondition, or the first one of several.
    pub fn input(&self) -> usize {
        match self {
            PreconditionError::Component { input, .. }
            | PreconditionError::Length { input, .. }
            | PreconditionError::Order { input, .. }
            | PreconditionError::Angle { input, .. }
            | PreconditionError::Below { input, .. } => *input,
        }
    }
}

/// The unit vectors among the inputs of a point shader.
fn directions(lifted: &Lifted) -> Vec<Direction> {
    let axes: Vec<Option<Axis>> = lifted.inputs.iter().map(|input| input.axis).collect();
    let vectors = axes.iter().flatten().map(|axis| axis.vector + 1).max().unwrap_or(0);
    let direction = |vector: usize| {
        let component_input = |component: usize| {
            axes.iter()
                .position(|a| a.is_some_and(|a| a.vector == vector && a.component == component))
        };
        let inputs = [component_input(0)?, component_input(1)?, component_input(2)?];
        let name = lifted.point.inputs[inputs[0]].name.trim_end_matches(".x").to_owned();
        let axis = axes[inputs[0]]?;
        Some(Direction { name, inputs, frame: axis.frame, above: axis.above })
    };
    (0..vectors).filter_map(direction).collect()
}

impl Precondition {
    #[cfg(test)]
    fn new(directions: Vec<Direction>) -> Precondition {
        Precondition { directions, sorted: vec![] }
    }

    /// The precondition of a bounding shader.
    pub(super) fn of(lifted: &Lifted) -> Precondition {
        let name = |vector: &Vec<usize>| {
            let port = &lifted.point.inputs[vector[0]].name;
            port.trim_end_matches(".x").to_owned()
        };
        let sorted = relations::sorted_vectors(&lifted.inputs).into_iter();
        let sorted = sorted.map(|vector| (name(&vector), vector)).collect();
        Precondition { directions: directions(lifted), sorted }
    }

    /// The unit vectors.
    pub fn directions(&self) -> &[Direction] {
        &self.directions
    }

    /// Checks a box. `endpoints_of` returns the endpoints of an input.
    ///
    /// For each sorted vector, the box must contain one whose components ascend and are not NaN.
    /// Components of directions must be within ±(1 + 2⁻²²). For each direction, the box must contain
    /// a vector v with ||v|²−1| ≤ 2⁻²¹. Dot products of two vectors of the shading frame must be able to lie within
    /// ±2⁻²¹, and dot products of the normal with vectors above the surface must be able to be
    /// nonnegative. For scalars, that is the entire precondition.
    ///
    /// # Errors
    ///
    /// Returns the first violation.
    pub fn check(&self, endpoints_of: impl Fn(usize) -> [f32; 2]) -> Result<(), PreconditionError> {
        let endpoints = |direction: &Direction| direction.inputs.map(&endpoints_of);
        for direction in &self.directions {
            direction.check(endpoints(direction))?;
        }
        for (name, inputs) in &self.sorted {
            check_order(name, inputs, &endpoints_of)?;
        }
        let frame: Vec<_> = self.directions.iter().filter(|direction| direction.frame).collect();
        for (k, a) in frame.iter().enumerate() {
            for b in &frame[k + 1..] {
                let dots = dots(endpoints(a), endpoints(b));
                if dots[0] > UNIT_LENGTH_SLACK || dots[1] < -UNIT_LENGTH_SLACK {
                    return Err(PreconditionError::Angle {
                        input: a.inputs[0],
                        names: [a.name.clone(), b.name.clone()],
                        dots,
                    });
                }
            }
        }
        for above in self.directions.iter().filter(|direction| direction.above) {
            let normal = frame.first().map_or(LOCAL_NORMAL, |normal| endpoints(normal));
            let dots = dots(endpoints(above), normal);
            if is_below(endpoints(above), normal, dots[1]) {
                return Err(PreconditionError::Below {
                    input: above.inputs[0],
                    name: above.name.clone(),
                    dots,
                });
            }
        }
        Ok(())
    }
}

/// Checks that a box contains a sorted vector: the greatest lower endpoint up to each component is
/// not above its upper endpoint.
fn check_order(
    name: &str,
    inputs: &[usize],
    endpoints_of: impl Fn(usize) -> [f32; 2],
) -> Result<(), PreconditionError> {
    let mut previous = endpoints_of(inputs[0]);
    for (k, &input) in inputs.iter().enumerate() {
        let [low, high] = endpoints_of(input);
        let lower = low.max(previous[0]);
        // Written so that NaN fails.
        if !(low <= high && lower <= high) {
            return Err(PreconditionError::Order {
                input: inputs[k.saturating_sub(1)],
                name: name.to_owned(),
                components: [previous, [low, high]].map(|ends| ends.map(f64::from)),
            });
        }
        previous = [lower, high];
    }
    Ok(())
}

/// The normal in the shading frame.
const LOCAL_NORMAL: VectorBox = [[0.0; 2], [0.0; 2], [1.0; 2]];

/// Whether float dot products of a vector with the normal are negative. Scalars are decided by the
/// computed dot product. Boxes are below if all dot products certainly are negative: 2⁻²² exceeds
/// the rounding error.
fn is_below(v: VectorBox, normal: VectorBox, max_dot: f64) -> bool {
    if v.iter().chain(&normal).all(|[low, high]| low == high) {
        let [x, y, z] = [0, 1, 2].map(|k| v[k][0] * normal[k][0]);
        return x + y + z < 0.0;
    }
    max_dot < -0.5 * UNIT_LENGTH_SLACK
}

impl Direction {
    fn check(&self, endpoints: VectorBox) -> Result<(), PreconditionError> {
        for (k, [low, high]) in endpoints.into_iter().enumerate() {
            // Written so that NaN fails.
            if !(-MAX_UNIT_COMPONENT <= low && low <= high && high <= MAX_UNIT_COMPONENT) {
                let name = format!("{}.{}", self.name, ["x", "y", "z"][k]);
                return Err(PreconditionError::Component {
                    input: self.inputs[k],
                    name,
                    endpoints: [low, high].map(f64::from),
                });
            }
        }
        let squares = endpoints.map(squares);
        let [min, max] =
            [0, 1].map(|side| squares.iter().map(|endpoints| endpoints[side]).sum::<f64>());
        if min > 1.0 + UNIT_LENGTH_SLACK || max < 1.0 - UNIT_LENGTH_SLACK {
            return Err(PreconditionError::Length {
                input: self.inputs[0],
                name: self.name.clone(),
                squares: [min, max],
            });
        }
        Ok(())
    }
}

/// The exact minimum and maximum of squares over an interval.
fn squares([low, high]: [f32; 2]) -> [f64; 2] {
    let [low, high] = [low, high].map(f64::from);
    let [a, b] = [low * low, high * high];
    [if low <= 0.0 && high >= 0.0 { 0.0 } else { a.min(b) }, a.max(b)]
}

/// The minimum and the maximum of dot products of vectors in two boxes.
fn dots(a: VectorBox, b: VectorBox) -> [f64; 2] {
    let products = std::iter::zip(a, b).map(|(a, b)| {
        let all = a.map(|x| b.map(|y| f64::from(x) * f64::from(y)));
        let all = all.as_flattened();
        [f64::min, f64::max].map(|f| all.iter().copied().reduce(f).expect("there are four"))
    });
    products.fold([0.0; 2], |sum, endpoints| [sum[0] + endpoints[0], sum[1] + endpoints[1]])
}

/// The hull of the unit vectors in a box, rounded outwards but clamped to the box; `None` if the
/// box contains no unit vector.
///
/// Sums of squares up to 4 in double precision have an error below 2⁻⁵⁰, which is added. Greater
/// sums have the same effect as 4.
pub(super) fn unit_hull(endpoints: VectorBox) -> Option<VectorBox> {
    const ROUNDING: f64 = 1.0 / (1u64 << 50) as f64;
    if endpoints.as_flattened().iter().any(|x| x.is_nan()) {
        return None;
    }
    let all = endpoints.map(squares);
    let mut hull = endpoints;
    for (k, [low, high]) in hull.iter_mut().enumerate() {
        let others = |side: usize| all[(k + 1) % 3][side] + all[(k + 2) % 3][side];
        let max_square = 1.0 + UNIT_LENGTH_SLACK + ROUNDING - others(0);
        let min_square = 1.0 - UNIT_LENGTH_SLACK - ROUNDING - others(1);
        if max_square < 0.0 {
            return None;
        }
        // A square root in double precision, rounded to a float, has an error below one ulp, so the
        // next float is beyond the exact root.
        let max = (max_square.sqrt() as f32).next_up();
        let min = (min_square.max(0.0).sqrt() as f32).next_down().max(0.0);
        *low = if -min < *low && *low < min { min } else { low.max(-max) };
        *high = if -min < *high && *high < min { -min } else { high.min(max) };
        if *low > *high {
            return None;
        }
    }
    Some(hull)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn uniform(random: &mut Random, low: f32, high: f32) -> f32 {
        low + (high - low) * (random.bits() >> 40) as f32 / (1u64 << 24) as f32
    }

    /// A vector of approximately unit length, sometimes near an axis.
    fn nearly_unit(random: &mut Random) -> [f32; 3] {
        let axis = random.below(12);
        let mut v = [(); 3].map(|()| uniform(random, -1.0, 1.0));
        if axis < 3 {
            let narrow = 0.5f32.powi(random.below(24) as i32);
            (0..3).filter(|&k| k != axis).for_each(|k| v[k] *= narrow);
        }
        let length = v.iter().map(|x| x * x).sum::<f32>().sqrt();
        v.map(|x| x / length)
    }

    /// A vector that satisfies the precondition; its length often differs from 1 as far as allowed.
    fn unit(random: &mut Random) -> [f32; 3] {
        loop {
            let scale = uniform(random, 1.0 - 2.5e-7, 1.0 + 2.5e-7);
            let v = nearly_unit(random).map(|x| x * scale);
            let square: f64 = v.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
            if (square - 1.0).abs() <= UNIT_LENGTH_SLACK
                && v.iter().all(|x| x.abs() <= MAX_UNIT_COMPONENT)
            {
                return v;
            }
        }
    }

    fn contains(endpoints: VectorBox, v: [f32; 3]) -> bool {
        std::iter::zip(endpoints, v).all(|([low, high], x)| low <= x && x <= high)
    }

    #[test]
    fn hulls_contain_all_unit_vectors_and_lie_in_the_box() {
        let random = &mut Random::new(1);
        let mut tested = 0;
        for _ in 0..3000 {
            let (width, center) = (2.5 * 0.5f32.powi(random.below(24) as i32), unit(random));
            let endpoints = center.map(|x| {
                let [a, b] = [(); 2].map(|()| uniform(random, 0.0, width));
                [(x - a).max(-MAX_UNIT_COMPONENT), (x + b).min(MAX_UNIT_COMPONENT)]
            });
            let hull = unit_hull(endpoints).expect("the box contains `center`");
            assert!(contains(hull, center), "{center:?}, {endpoints:?}: {hull:?}");
            assert!(std::iter::zip(hull, endpoints).all(|(a, b)| b[0] <= a[0] && a[1] <= b[1]));
            // Other vectors in the box, both close to the center and anywhere.
            for _ in 0..50 {
                let near = center.map(|x| x + uniform(random, -width, width));
                let length = near.iter().map(|x| x * x).sum::<f32>().sqrt();
                let other = if random.once_in(3) { unit(random) } else { near.map(|x| x / length) };
                if contains(endpoints, other) {
                    tested += 1;
                    assert!(contains(hull, other), "{other:?}, {endpoints:?}: {hull:?}");
                }
            }
        }
        assert!(tested > 20_000, "only {tested} vectors are in a box");
    }

    #[test]
    fn hulls_are_tight() {
        let random = &mut Random::new(2);
        for _ in 0..2000 {
            let (center, width) = (unit(random), uniform(random, 0.001, 0.8));
            let endpoints = center.map(|x| [(x - width).max(-1.0), (x + width).min(1.0)]);
            let hull = unit_hull(endpoints).expect("the box contains `center`");
            for (k, side) in [0, 1, 2].into_iter().flat_map(|k| [(k, 0), (k, 1)]) {
                // The sum of the squares of the other components takes all values between its
                // minimum and its maximum, including 1 minus the square of the endpoint.
                let square = |x: f32| f64::from(x) * f64::from(x);
                let min_square = |[low, high]: [f32; 2]| {
                    if low * high <= 0.0 { 0.0 } else { square(low).min(square(high)) }
                };
                let max_square = |[low, high]: [f32; 2]| square(low).max(square(high));
                let others = [endpoints[(k + 1) % 3], endpoints[(k + 2) % 3]];
                let [low, high] =
                    [others.map(min_square), others.map(max_square)].map(|s| s[0] + s[1]);
                let remaining = 1.0 - square(hull[k][side]);
                assert!(
                    low - 1e-6 <= remaining && remaining <= high + 1e-6,
                    "{endpoints:?}: {hull:?}, {k}"
                );
            }
        }
        // Cases with a closed form: a cap, and a box at mid-latitudes.
        let [x, y, z] =
            unit_hull([[-0.6, 0.6], [0.0, 0.0], [-0.5, 1.0]]).expect("the box contains (0, 0, 1)");
        assert_eq!((x, y), ([-0.6, 0.6], [0.0, 0.0]));
        assert!((z[0] - 0.8).abs() < 1e-6 && z[1] == 1.0, "{z:?}");
        let [x, ..] = unit_hull([[-1.0, 1.0], [0.0, 0.0], [0.8, 0.9]])
            .expect("the box contains (0.6, 0, 0.8)");
        assert!((x[1] - 0.6).abs() < 1e-6 && x[0] == -x[1], "{x:?}");
    }

    #[test]
    fn boxes_without_a_unit_vector_have_no_hull() {
        let nan = f32::NAN;
        for endpoints in [
            [[0.0, 0.5], [0.0, 0.5], [0.0, 0.5]],
            [[0.6, 0.7], [0.6, 0.7], [0.6, 0.7]],
            [[0.0, 0.0], [0.0, 0.0], [0.0, 0.999]],
            [[0.0, 1.0], [nan, nan], [0.0, 1.0]],
            [[0.0, 0.0], [1.1, f32::INFINITY], [0.0, 0.0]],
        ] {
            assert_eq!(unit_hull(endpoints), None, "{endpoints:?}");
        }
        let unbounded = [[f32::NEG_INFINITY, f32::INFINITY]; 3];
        assert!(
            unit_hull(unbounded)
                .expect("the box contains all vectors")
                .iter()
                .flatten()
                .all(|x| x.abs() <= MAX_UNIT_COMPONENT + f32::EPSILON)
        );
    }

    fn precondition() -> Precondition {
        let direction = |name: &str, first: usize, frame| Direction {
            name: name.into(),
            inputs: [first, first + 1, first + 2],
            frame,
            above: !frame,
        };
        Precondition::new(vec![
            direction("wi", 0, false),
            direction("n", 3, true),
            direction("t", 6, true),
        ])
    }

    #[test]
    fn violations_name_the_input_and_its_range() {
        let check = |row: [[f32; 2]; 9]| {
            precondition()
                .check(|input| row[input])
                .map_err(|error| (error.input(), error.to_string()))
        };
        let [zero, one] = [[0.0; 2], [1.0; 2]];
        let row = [[-0.1, 0.1], zero, [0.9, 1.0], zero, zero, one, one, zero, zero];
        let with = |input: usize, endpoints: [f32; 2]| {
            let mut row = row;
            row[input] = endpoints;
            row
        };
        let expected = |input: usize, text: &str| Err((input, text.to_owned()));
        assert_eq!(check(row), Ok(()));
        assert_eq!(check(with(2, [0.9, MAX_UNIT_COMPONENT])), Ok(()));
        let text = "wi.z is 0.9..1.1, and components of unit vectors are from -1 to 1";
        assert_eq!(check(with(2, [0.9, 1.1])), expected(2, text));
        assert_eq!(check(with(1, [f32::NAN; 2])).map_err(|(input, _)| input), Err(1));
        assert_eq!(
            check(with(5, [0.5; 2])),
            expected(3, "n is not a unit vector: the square of its length is 0.25")
        );
        assert_eq!(check(with(2, [0.5, 0.75])).map_err(|(input, _)| input), Err(0));
        let tilted = [zero, zero, one, [0.8; 2], zero, [0.6; 2]];
        let mut frame = row;
        frame[3..].copy_from_slice(&tilted);
        let Err((3, text)) = check(frame) else {
            panic!("the normal and the tangent are not perpendicular")
        };
        assert!(
            text.starts_with("n and t are not perpendicular: their dot product is 0.6"),
            "{text}"
        );
        // As boxes, they contain perpendicular vectors.
        frame[8] = [-0.1, 0.7];
        assert_eq!(check(frame), Ok(()));
        let text = "wi is below the surface: its dot product with the normal is -1..-0.9";
        assert_eq!(check(with(2, [-1.0, -0.9])), expected(0, text));
        assert_eq!(check(with(2, [-1.0, 1.0])), Ok(()));
        let mut across = row;
        across[..3].copy_from_slice(&[one, zero, [-1e-9; 2]]);
        assert_eq!(check(across).map_err(|(input, _)| input), Err(0));
        across[2] = [-0.0; 2];
        assert_eq!(check(across), Ok(()));
    }

    #[test]
    fn length_check_of_scalars_is_exact() {
        let is_unit =
            |z: f32| precondition().directions[0].check([[0.0; 2], [0.0; 2], [z; 2]]).is_ok();
        // (1 + k 2⁻²³)² slightly exceeds 1 + k 2⁻²², and (1 − k 2⁻²⁴)² slightly exceeds 1 − k 2⁻²³.
        let ulp = f32::EPSILON;
        assert!(is_unit(1.0 + ulp) && !is_unit(1.0 + 2.0 * ulp) && !is_unit(1.0 + 3.0 * ulp));
        assert!(is_unit(1.0 - 2.0 * ulp) && !is_unit(1.0 - 2.5 * ulp));
    }
}
