//! Sampling of a piecewise-constant function on the unit square within any rectangle, by a
//! summed-area table: pbrt-v4's `WindowedPiecewiseConstant2D`.
//!
//! Within a rectangle, the marginal along x is piecewise linear in its cumulative form, and so is
//! the conditional along y within a column. Both are inverted exactly, after a binary search.

use super::{ONE_MINUS_EPSILON, sanitize_weight};
use crate::{Vec2, vec2};

/// A nonnegative function on a grid of cells, with integrals over rectangles.
#[derive(Clone, Debug)]
pub struct WindowedPiecewiseConstant2d {
    /// Sums over all cells above and to the left, `width + 1` in a row.
    sums: Vec<f64>,
    width: usize,
    height: usize,
}

/// A rectangle within the unit square.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SquareWindow {
    /// Minimum of both coordinates.
    pub min: Vec2,
    /// Maximum of both coordinates.
    pub max: Vec2,
}

impl SquareWindow {
    /// Returns whether a point lies in the rectangle or on its border.
    pub fn contains(&self, p: Vec2) -> bool {
        p.cmpge(self.min).all() && p.cmple(self.max).all()
    }
}

impl WindowedPiecewiseConstant2d {
    /// Creates the function from the weights of cells, row by row, with `width` in a row. Negative,
    /// infinite and NaN weights count as 0.
    ///
    /// # Panics
    /// If there are no weights, or their number is not a multiple of `width`.
    pub fn new(weights: &[f32], width: usize) -> WindowedPiecewiseConstant2d {
        assert!(width > 0 && !weights.is_empty() && weights.len().is_multiple_of(width));
        let height = weights.len() / width;
        let mut sums = vec![0.0; (width + 1) * (height + 1)];
        for (row, weights) in weights.chunks(width).enumerate() {
            let mut sum = 0.0;
            for (column, &weight) in weights.iter().enumerate() {
                sum += sanitize_weight(f64::from(weight));
                let above = sums[row * (width + 1) + column + 1];
                sums[(row + 1) * (width + 1) + column + 1] = above + sum;
            }
        }
        WindowedPiecewiseConstant2d { sums, width, height }
    }

    /// Returns the sum of weights up to a position in units of cells.
    fn cumulative(&self, x: f64, y: f64) -> f64 {
        let cell = |x: f64, n: usize| (x as usize).min(n - 1);
        let (i, j) = (cell(x, self.width), cell(y, self.height));
        let (dx, dy) = (x - i as f64, y - j as f64);
        let at = |i: usize, j: usize| self.sums[j * (self.width + 1) + i];
        let row = |j| at(i, j) * (1.0 - dx) + at(i + 1, j) * dx;
        row(j) * (1.0 - dy) + row(j + 1) * dy
    }

    /// Returns the sum of weights in a rectangle in units of cells.
    fn integral(&self, [x0, x1]: [f64; 2], [y0, y1]: [f64; 2]) -> f64 {
        let sum = self.cumulative(x1, y1) - self.cumulative(x0, y1) - self.cumulative(x1, y0)
            + self.cumulative(x0, y0);
        sum.max(0.0)
    }

    /// Returns the sum of weights in a window, and the ranges of the window in units of cells.
    fn window_sum(&self, window: &SquareWindow) -> (f64, [f64; 2], [f64; 2]) {
        let range = |min: f32, max: f32, n: usize| [min, max].map(|x| f64::from(x) * n as f64);
        let x = range(window.min.x, window.max.x, self.width);
        let y = range(window.min.y, window.max.y, self.height);
        (self.integral(x, y), x, y)
    }

    /// Samples a point in a window in proportion to the function. Also returns the density per
    /// area of the square; `None` if the function is 0 in the window. `u` is uniform in [0, 1)².
    pub fn sample(&self, window: &SquareWindow, u: Vec2) -> Option<(Vec2, f32)> {
        let (sum, x_range, y_range) = self.window_sum(window);
        if sum <= 0.0 {
            return None;
        }
        let x = invert(x_range, f64::from(u.x) * sum, |x| self.integral([x_range[0], x], y_range));
        let column = (x as usize).min(self.width - 1) as f64;
        let columns = [column, column + 1.0];
        let column_sum = self.integral(columns, y_range);
        let y = invert(y_range, f64::from(u.y) * column_sum, |y| {
            self.integral(columns, [y_range[0], y])
        });
        let p = vec2((x / self.width as f64) as f32, (y / self.height as f64) as f32);
        let p = p.clamp(window.min, window.max);
        let pdf = self.pdf(window, p);
        (pdf > 0.0).then_some((p, pdf))
    }

    /// Returns the density of [`Self::sample`] at a point; 0 outside the window.
    pub fn pdf(&self, window: &SquareWindow, p: Vec2) -> f32 {
        let (sum, ..) = self.window_sum(window);
        if sum <= 0.0 || !window.contains(p) {
            return 0.0;
        }
        let p = p.clamp(Vec2::ZERO, Vec2::splat(ONE_MINUS_EPSILON));
        let cell = |x: f32, n: usize| ((x * n as f32) as usize).min(n - 1) as f64;
        let (i, j) = (cell(p.x, self.width), cell(p.y, self.height));
        let weight = self.integral([i, i + 1.0], [j, j + 1.0]);
        (weight / sum * (self.width * self.height) as f64) as f32
    }
}

/// Returns the x in a range at which a function of x reaches a value. The function starts at 0,
/// does not decrease, and is linear between integers.
fn invert([lo, hi]: [f64; 2], value: f64, f: impl Fn(f64) -> f64) -> f64 {
    // The last integer at which the function does not exceed the value.
    let (mut below, mut above) = (lo.floor(), hi.ceil());
    while above - below > 1.0 {
        let middle = (0.5 * (below + above)).floor();
        if f(middle) <= value { below = middle } else { above = middle }
    }
    let (x0, x1) = (below.max(lo), above.min(hi));
    let (f0, f1) = (f(x0), f(x1));
    let t = if f1 > f0 { ((value - f0) / (f1 - f0)).clamp(0.0, 1.0) } else { 0.0 };
    x0 + t * (x1 - x0)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_chi_square, points};
    use super::*;

    /// Returns a function with cells of 0.
    fn function() -> WindowedPiecewiseConstant2d {
        let weights = [0.0, 1.0, 4.0, 2.0, 0.0, 0.0, 3.0, 1.0, 5.0, 0.5, 0.0, 2.0];
        WindowedPiecewiseConstant2d::new(&weights, 4)
    }

    const WINDOWS: [[f32; 4]; 5] = [
        [0.0, 0.0, 1.0, 1.0],
        [0.1, 0.2, 0.7, 0.9],
        [0.3, 0.1, 0.45, 0.2],
        [0.25, 0.0, 0.5, 1.0],
        [0.9, 0.4, 1.0, 1.0],
    ];

    #[test]
    fn samples_have_the_frequencies_of_their_density() {
        const N: u32 = 20_000;
        const CELLS: usize = 12;
        for [x0, y0, x1, y1] in WINDOWS {
            let (f, window) = (function(), SquareWindow { min: vec2(x0, y0), max: vec2(x1, y1) });
            let mut counts = vec![0u32; CELLS * CELLS];
            for u in points(N, 3) {
                let (p, pdf) = f.sample(&window, u).unwrap();
                assert!(window.contains(p) && pdf == f.pdf(&window, p) && pdf > 0.0, "{p} {pdf}");
                let cell = |x: f32| ((x * CELLS as f32) as usize).min(CELLS - 1);
                counts[cell(p.y) * CELLS + cell(p.x)] += 1;
            }
            // The cells subdivide those of the function, so the density is constant within them.
            let expected = (0..CELLS * CELLS).map(|i| {
                let lo = vec2((i % CELLS) as f32, (i / CELLS) as f32) / CELLS as f32;
                let hi = lo + 1.0 / CELLS as f32;
                let (a, b) = (lo.max(window.min), hi.min(window.max));
                let area = (b - a).max(Vec2::ZERO).element_product();
                f64::from(f.pdf(&window, 0.5 * (a + b)) * area) * f64::from(N)
            });
            let expected: Vec<f64> = expected.collect();
            assert_chi_square(&counts, &expected, &format!("{window:?}"));
        }
    }

    #[test]
    fn densities_integrate_to_one_and_empty_windows_have_no_samples() {
        let f = function();
        for [x0, y0, x1, y1] in WINDOWS {
            let window = SquareWindow { min: vec2(x0, y0), max: vec2(x1, y1) };
            let n = 1200;
            let sum: f64 = (0..n * n)
                .map(|i| vec2((i % n) as f32 + 0.5, (i / n) as f32 + 0.5) / n as f32)
                .map(|p| f64::from(f.pdf(&window, p)) / f64::from(n * n))
                .sum();
            assert!((sum - 1.0).abs() < 0.01, "{window:?}: {sum}");
        }
        // A window on cells of 0, and one without an area.
        for [x0, y0, x1, y1] in [[0.01, 0.4, 0.49, 0.6], [0.3, 0.3, 0.3, 0.8]] {
            let window = SquareWindow { min: vec2(x0, y0), max: vec2(x1, y1) };
            assert!(f.sample(&window, Vec2::splat(0.5)).is_none(), "{window:?}");
            assert_eq!(f.pdf(&window, 0.5 * (window.min + window.max)), 0.0);
        }
        let black = WindowedPiecewiseConstant2d::new(&[0.0, -1.0, f32::NAN], 3);
        let all = SquareWindow { min: Vec2::ZERO, max: Vec2::ONE };
        assert!(black.sample(&all, Vec2::splat(0.5)).is_none());
    }
}
