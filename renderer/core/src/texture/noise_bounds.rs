//! Bounds of gradient noise and of its derivatives over boxes.
//!
//! Within a cell of the lattice, noise is a polynomial of degree 6 along each axis: linear functions,
//! the dot products with the gradients at the eight corners, times quintic weights. In the Bernstein
//! basis of a box, the coefficients of a polynomial bound its values (Cargo, Shisha 1966). For boxes
//! up to a quarter of a cell, the excess is a small fraction of the range. Boxes that reach into more
//! than two cells along an axis have the range of noise everywhere.
//!
//! Bounds on [`noise`](super::noise::noise) contain its floats, see [`ROUNDING`].

use super::noise::gradient;
use lightbound_math::Aabb;

/// Upper bound on |noise| without rounding errors.
pub(crate) const MAX_NOISE: f32 = 1.04;

/// Upper bound on the magnitude of each derivative of noise, without rounding errors.
pub(crate) const MAX_DERIVATIVE: f32 = 3.8;

/// Upper bound on the sum of the rounding errors of noise and of its bounds.
///
/// With the unit roundoff ε = 2⁻²⁴, a weight has an error of at most 130 ε: its powers have up to
/// four roundings and coefficients of 6, 15 and 10. The two values that it blends are within ±2, so
/// each of the three steps of interpolation adds at most 4 · 130 ε + 6 ε; dot products have errors
/// of 4 ε. The sum is below 1600 ε, that of the bounds below 100 ε, and the total below 2⁻¹³.
pub(crate) const ROUNDING: f32 = 1.0 / 8192.0;

/// Coordinates of greater magnitude have the range of noise everywhere.
const MAX_COORDINATE: f32 = (1 << 22) as f32;

/// Degree of polynomials along an axis.
const DEGREE: usize = 6;

/// Coefficients of a polynomial along an axis.
type Polynomial = [f64; DEGREE + 1];

/// The same, as two SIMD registers: the last coefficient is repeated.
type Lanes = [f32; DEGREE + 2];

/// Weights of the two sides of a cell, 1 − w and w, with w = 6t⁵ − 15t⁴ + 10t³. Coefficients of
/// powers of the coordinate t in the cell.
const WEIGHTS: [Polynomial; 2] =
    [[1.0, 0.0, 0.0, -10.0, 15.0, -6.0, 0.0], [0.0, 0.0, 0.0, 10.0, -15.0, 6.0, 0.0]];

/// These weights times the distance to the side: (1 − w) t and w (t − 1).
const MOMENTS: [Polynomial; 2] =
    [[0.0, 1.0, 0.0, 0.0, -10.0, 15.0, -6.0], [0.0, 0.0, 0.0, -10.0, 25.0, -21.0, 6.0]];

/// The polynomials of an axis in the Bernstein basis of an interval.
struct Axis {
    weights: [Lanes; 2],
    moments: [Lanes; 2],
}

/// Returns the least and greatest value of [`noise`](super::noise::noise) in a box, which may be too
/// small and too large. Coordinates are finite.
pub(crate) fn noise_range(b: Aabb) -> [f32; 2] {
    let [lo, hi] = range(b, MAX_NOISE, |_, polynomial| polynomial);
    [lo - ROUNDING, hi + ROUNDING]
}

/// Returns the least and greatest derivative along an axis in a box, which may be too small and too
/// large, by rounding errors of up to [`ROUNDING`]. It is the derivative of noise without rounding
/// errors.
pub(crate) fn derivative_range(b: Aabb, axis: usize) -> [f32; 2] {
    range(b, MAX_DERIVATIVE, |k, polynomial| match k == axis {
        true => derivative(polynomial),
        false => polynomial,
    })
}

/// Returns the range of noise, or of a derivative, in a box: at most ±`max`. `along` transforms the
/// polynomials of an axis.
fn range(b: Aabb, max: f32, along: impl Fn(usize, Polynomial) -> Polynomial) -> [f32; 2] {
    let (first, last) = (b.min.floor(), b.max.floor());
    let is_small = (last - first).max_element() <= 1.0;
    if !is_small || b.min.abs().max(b.max.abs()).max_element() > MAX_COORDINATE {
        return [-max, max];
    }
    // The parts of the box in the cells along each axis.
    let parts = [0, 1, 2].map(|axis| {
        let cells = first[axis] as i32..=last[axis] as i32;
        let part = |cell: i32| {
            let corner = f64::from(cell);
            let lo = (f64::from(b.min[axis]) - corner).max(0.0);
            let hi = (f64::from(b.max[axis]) - corner).min(1.0);
            let convert = |polynomial| lanes(bernstein(along(axis, polynomial), lo, hi));
            (cell, Axis { weights: WEIGHTS.map(convert), moments: MOMENTS.map(convert) })
        };
        cells.map(part).collect::<Vec<_>>()
    });
    let [mut lo, mut hi] = [f32::INFINITY, f32::NEG_INFINITY];
    for (k, z) in &parts[2] {
        for (j, y) in &parts[1] {
            for (i, x) in &parts[0] {
                let range = cell_range([*i, *j, *k], [x, y, z]);
                (lo, hi) = (lo.min(range[0]), hi.max(range[1]));
            }
        }
    }
    [lo.max(-max), hi.min(max)]
}

/// Returns the least and greatest coefficient of noise in the Bernstein basis of a part of a cell.
fn cell_range(cell: [i32; 3], [x, y, z]: [&Axis; 3]) -> [f32; 2] {
    // Noise is Σ weight · g · (p − corner) over the corners. For each side along x: the sum without
    // the x components of gradients, and the sum of these components, in y and z.
    let mut sides = [[[[0.0; DEGREE + 2]; DEGREE + 1]; 2]; 2];
    for (side, [rest, gx]) in sides.iter_mut().enumerate() {
        for j in 0..2 {
            let g =
                [0, 1].map(|k| gradient([cell[0] + side as i32, cell[1] + j as i32, cell[2] + k]));
            let sum = |axis: usize, [near, far]: [Lanes; 2]| -> Lanes {
                std::array::from_fn(|n| g[0][axis] * near[n] + g[1][axis] * far[n])
            };
            let sums = [sum(0, z.weights), sum(1, z.weights), sum(2, z.moments)];
            for m in 0..=DEGREE {
                let (weight, moment) = (y.weights[j][m], y.moments[j][m]);
                for n in 0..DEGREE + 2 {
                    gx[m][n] += weight * sums[0][n];
                    rest[m][n] += moment * sums[1][n] + weight * sums[2][n];
                }
            }
        }
    }
    // Comparisons compile to SIMD instructions, unlike `f32::min`.
    let min = |a: f32, b: f32| if a < b { a } else { b };
    let max = |a: f32, b: f32| if a > b { a } else { b };
    let [[rest0, gx0], [rest1, gx1]] = &sides;
    let (mut lo, mut hi) = ([f32::INFINITY; DEGREE + 2], [f32::NEG_INFINITY; DEGREE + 2]);
    for l in 0..=DEGREE {
        let ([w0, w1], [m0, m1]) = (x.weights.map(|w| w[l]), x.moments.map(|m| m[l]));
        for m in 0..=DEGREE {
            for n in 0..DEGREE + 2 {
                let first = w0 * rest0[m][n] + m0 * gx0[m][n];
                let coefficient = first + (w1 * rest1[m][n] + m1 * gx1[m][n]);
                lo[n] = min(lo[n], coefficient);
                hi[n] = max(hi[n], coefficient);
            }
        }
    }
    [lo.into_iter().fold(f32::INFINITY, min), hi.into_iter().fold(f32::NEG_INFINITY, max)]
}

/// Rounds coefficients to floats.
fn lanes(polynomial: Polynomial) -> Lanes {
    std::array::from_fn(|n| polynomial[n.min(DEGREE)] as f32)
}

/// Returns the derivative of a polynomial.
fn derivative(polynomial: Polynomial) -> Polynomial {
    std::array::from_fn(|n| match polynomial.get(n + 1) {
        Some(coefficient) => (n + 1) as f64 * coefficient,
        None => 0.0,
    })
}

/// Converts the coefficients of powers to those of the Bernstein basis of an interval.
fn bernstein(mut polynomial: Polynomial, lo: f64, hi: f64) -> Polynomial {
    // Taylor coefficients at `lo`, by repeated synthetic division.
    for first in 0..DEGREE {
        for n in (first..DEGREE).rev() {
            polynomial[n] += lo * polynomial[n + 1];
        }
    }
    // Powers of (t − lo) / (hi − lo), divided by their binomial coefficients.
    const BINOMIALS: Polynomial = [1.0, 6.0, 15.0, 20.0, 15.0, 6.0, 1.0];
    let mut power = 1.0;
    for (coefficient, binomial) in polynomial.iter_mut().zip(BINOMIALS) {
        *coefficient *= power / binomial;
        power *= hi - lo;
    }
    // Row n of Pascal's triangle times the coefficients: n rounds of sums of neighbours.
    for first in 0..DEGREE {
        for n in (first..DEGREE).rev() {
            polynomial[n + 1] += polynomial[n];
        }
    }
    polynomial
}

#[cfg(test)]
mod tests {
    use super::super::noise::noise;
    use super::*;
    use lightbound_math::{Vec3, vec3};
    use proptest::prelude::*;

    fn value(polynomial: Polynomial, t: f64) -> f64 {
        polynomial.iter().rev().fold(0.0, |sum, coefficient| sum * t + coefficient)
    }

    /// Returns the coordinates of a corner in its cell.
    fn corner(index: usize) -> [f64; 3] {
        [index & 1, index >> 1 & 1, index >> 2].map(|x| x as f64)
    }

    /// Returns the weights of the corners of a cell at a point, and their derivatives along x.
    fn weights(d: [f64; 3]) -> [[f64; 2]; 8] {
        let weights = d.map(|t| value(WEIGHTS[1], t));
        let slope = value(derivative(WEIGHTS[1]), d[0]);
        std::array::from_fn(|c| {
            let factor = |axis: usize| match c >> axis & 1 {
                0 => 1.0 - weights[axis],
                _ => weights[axis],
            };
            let rest = factor(1) * factor(2);
            [factor(0) * rest, if c & 1 == 0 { -slope } else { slope } * rest]
        })
    }

    /// Returns the maximum of g · v over all gradients g: two components of 1 or −1.
    fn max_dot(v: [f64; 3]) -> f64 {
        let [a, b, c] = v.map(f64::abs);
        a + b + c - a.min(b).min(c)
    }

    /// The greatest value at a point, over all choices of gradients.
    fn max_value(d: [f64; 3]) -> f64 {
        let offset = |c: usize| std::array::from_fn(|axis| d[axis] - corner(c)[axis]);
        (0..8).map(|c| weights(d)[c][0] * max_dot(offset(c))).sum()
    }

    /// The greatest derivative along x at a point, over all choices of gradients.
    fn max_derivative(d: [f64; 3]) -> f64 {
        let at = |c: usize| {
            let [weight, slope] = weights(d)[c];
            let mut v: [f64; 3] = std::array::from_fn(|k| slope * (d[k] - corner(c)[k]));
            v[0] += weight;
            max_dot(v)
        };
        (0..8).map(at).sum()
    }

    /// Asserts that a function with a Lipschitz constant along each axis is below a bound in a cube.
    fn assert_below(
        f: &impl Fn([f64; 3]) -> f64,
        slope: f64,
        bound: f64,
        min: [f64; 3],
        size: f64,
    ) {
        let half = 0.5 * size;
        let value = f(min.map(|x| x + half));
        assert!(value < bound, "{value} at {min:?}");
        if value + 3.0 * slope * half >= bound {
            for c in 0..8 {
                let min = std::array::from_fn(|axis| min[axis] + half * corner(c)[axis]);
                assert_below(f, slope, bound, min, half);
            }
        }
    }

    #[test]
    fn noise_and_its_derivatives_have_maxima() {
        // By symmetry, an eighth of a cell is enough. Second derivatives are below 2 · 5.8 · 2 + 8
        // along the axes, and 4 · 1.9² · 2 + 8 else.
        let [noise, derivative] = [MAX_NOISE, MAX_DERIVATIVE].map(f64::from);
        assert_below(&max_value, derivative, noise, [0.0; 3], 0.5);
        assert_below(&max_derivative, 37.0, derivative, [0.0; 3], 0.5);
    }

    #[test]
    fn polynomials_are_within_their_bernstein_coefficients() {
        for polynomial in WEIGHTS.into_iter().chain(MOMENTS) {
            let coefficients = bernstein(polynomial, 0.25, 0.75);
            assert!((coefficients[0] - value(polynomial, 0.25)).abs() < 1e-14);
            assert!((coefficients[DEGREE] - value(polynomial, 0.75)).abs() < 1e-14);
            // The sum of the basis at the middle.
            let weights = [1.0, 6.0, 15.0, 20.0, 15.0, 6.0, 1.0].map(|n: f64| n / 64.0);
            let middle: f64 = coefficients.iter().zip(weights).map(|(c, w)| c * w).sum();
            assert!((middle - value(polynomial, 0.5)).abs() < 1e-14);
        }
    }

    #[test]
    fn bounds_are_tight_in_small_boxes() {
        let p = vec3(3.3, -7.6, 0.45);
        for (size, error) in [(0.5f32, 0.1), (0.25, 0.02), (0.05, 2e-3), (0.01, 4e-4)] {
            let b = Aabb { min: p, max: p + Vec3::splat(size) };
            let mut range = [f32::INFINITY, f32::NEG_INFINITY];
            for i in 0..1000 {
                let unit = vec3((i % 10) as f32, (i / 10 % 10) as f32, (i / 100) as f32) / 9.0;
                let value = noise(b.min + (b.max - b.min) * unit);
                range = [range[0].min(value), range[1].max(value)];
            }
            let [lo, hi] = noise_range(b);
            assert!(range[0] - lo < error && hi - range[1] < error, "{size}: {lo} {hi} {range:?}");
        }
    }

    proptest! {
        #[test]
        fn bounds_contain_values_and_differences(
            min in prop::array::uniform3(-20f32..20.0),
            far in prop_oneof![Just(1.0f32), 1.0..1e9f32],
            exponents in prop::array::uniform3(-8f32..0.5),
            units in prop::collection::vec(prop::array::uniform3(0f32..=1.0), 20),
        ) {
            let min = far * Vec3::from_array(min);
            let max = min + Vec3::from_array(exponents.map(|e| 10f32.powf(e)));
            let [lo, hi] = noise_range(Aabb { min, max });
            let error = 2.0 * f64::from(ROUNDING);
            let derivatives = [0, 1, 2].map(|axis| derivative_range(Aabb { min, max }, axis));
            for unit in units {
                let p = (min + (max - min) * Vec3::from_array(unit)).clamp(min, max);
                let value = noise(p);
                prop_assert!(value >= lo && value <= hi, "{value} {lo} {hi}");
                for (axis, derivative) in derivatives.into_iter().enumerate() {
                    let mut beside = p;
                    beside[axis] = max[axis];
                    let step = f64::from(beside[axis]) - f64::from(p[axis]);
                    let change = f64::from(noise(beside)) - f64::from(value);
                    let [lo, hi] = derivative.map(|slope| f64::from(slope) * step);
                    prop_assert!(change >= lo - error, "{change} {lo}");
                    prop_assert!(change <= hi + error, "{change} {hi}");
                }
            }
        }
    }
}
