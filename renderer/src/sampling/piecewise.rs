//! A density over the unit square that is constant on the cells of a grid; for environment maps.
//!
//! Rows are drawn from the marginal, columns from the conditional distribution, both by inversion,
//! which is monotone and so keeps stratified points stratified. The cumulative tables count in
//! steps of 2⁻²³, the lattice of the sample points, and the density is computed from these counts:
//! what is drawn and what [`PiecewiseConstant2d::pdf`] says agree exactly. Each cell of positive
//! weight gets at least one step, so no light is lost; cells of weight 0 get none.

use super::ONE_MINUS_EPSILON;
use crate::math::{Vec2, vec2};
use rayon::prelude::*;
use std::ops::Range;

/// Steps of a cumulative table; a table can tell at most so many cells apart.
const STEPS: u32 = 1 << 23;

/// A piecewise constant density over [0, 1)².
#[derive(Clone, Debug)]
pub struct PiecewiseConstant2d {
    width: usize,
    height: usize,
    /// `height + 1` cumulative probabilities of rows, from 0 to 1.
    rows: Vec<f32>,
    row_guide: Vec<u32>,
    /// For each row, `width + 1` cumulative probabilities of its columns, from 0 to 1.
    columns: Vec<f32>,
    /// For each row, `guide_len(width)` numbers of [`guide`].
    column_guides: Vec<u32>,
}

impl PiecewiseConstant2d {
    /// The density proportional to `weights`, row by row, `width` to a row; x runs along a row.
    ///
    /// Weights that are negative, infinite or NaN count as 0. `None` where no weight is positive.
    ///
    /// # Panics
    /// Where the weights do not fill whole rows, or a side has more than 2²⁰ cells.
    pub fn new(weights: &[f32], width: usize) -> Option<PiecewiseConstant2d> {
        if weights.is_empty() {
            return None;
        }
        assert!(
            width > 0 && weights.len().is_multiple_of(width),
            "{} weights in rows of {width}",
            weights.len()
        );
        let height = weights.len() / width;
        assert!(width.max(height) <= 1 << 20, "{width} × {height} cells");
        let mut columns = vec![0.0; height * (width + 1)];
        let sums: Vec<f64> = columns
            .par_chunks_mut(width + 1)
            .zip(weights.par_chunks(width))
            .map(|(cdf, row)| cumulate(row.iter().map(|&w| f64::from(w)), cdf))
            .collect();
        let mut rows = vec![0.0; height + 1];
        let total = cumulate(sums.into_iter(), &mut rows);
        let row_guide = guide(&rows);
        let column_guides = columns.par_chunks(width + 1).flat_map_iter(guide).collect();
        (total > 0.0).then_some(PiecewiseConstant2d {
            width,
            height,
            rows,
            row_guide,
            columns,
            column_guides,
        })
    }

    /// Draws a point of [0, 1)²; returns it with its density per unit area, which is positive.
    #[inline]
    pub fn sample(&self, u: Vec2) -> (Vec2, f32) {
        let (row, y, p_row) = draw(&self.rows, &self.row_guide, u.y);
        let length = guide_len(self.width);
        let (_, x, p_column) =
            draw(self.row(row), &self.column_guides[row * length..][..length], u.x);
        (vec2(x, y), self.density(p_row, p_column))
    }

    /// Density per unit area of [`Self::sample`]; points outside the unit square count as on its
    /// border.
    #[inline]
    pub fn pdf(&self, p: Vec2) -> f32 {
        let row = cell(p.y, self.height);
        let column = cell(p.x, self.width);
        let columns = self.row(row);
        self.density(self.rows[row + 1] - self.rows[row], columns[column + 1] - columns[column])
    }

    /// The part of the density in a rectangle of cells, as a density of its own; `None` where there
    /// is none.
    ///
    /// # Panics
    /// Where the rectangle is empty, or not within the grid.
    pub fn part(&self, columns: Range<usize>, rows: Range<usize>) -> Option<Part> {
        assert!(
            !columns.is_empty()
                && !rows.is_empty()
                && columns.end <= self.width
                && rows.end <= self.height
        );
        let mass = |row: usize| {
            let cdf = self.row(row);
            f64::from(self.rows[row + 1] - self.rows[row])
                * f64::from(cdf[columns.end] - cdf[columns.start])
        };
        let mut cdf = vec![0.0; rows.len() + 1];
        let total = cumulate(rows.clone().map(mass), &mut cdf);
        (total > 0.0).then_some(Part { columns, first_row: rows.start, rows: cdf })
    }

    /// Draws a point of a [part](Self::part); returns it with its density per unit area of the
    /// whole square, which is positive.
    #[inline]
    pub fn sample_part(&self, part: &Part, u: Vec2) -> (Vec2, f32) {
        let i = cell_of(&part.rows[1..part.rows.len() - 1], u.y);
        let p_row = part.rows[i + 1] - part.rows[i];
        let y = within(part.first_row + i, (u.y - part.rows[i]) / p_row, self.height);
        let cdf = self.row(part.first_row + i);
        let (low, high) = (cdf[part.columns.start], cdf[part.columns.end]);
        let u = low + u.x * (high - low);
        // A step of the table is the least that a draw can tell apart; the last cell is never
        // beyond one that has a share.
        let k = part.columns.start
            + cell_of(&cdf[part.columns.start + 1..part.columns.end], u.min(high.next_down()));
        let p_column = cdf[k + 1] - cdf[k];
        let x = within(k, (u - cdf[k]) / p_column, self.width);
        (vec2(x, y), self.density(p_row, p_column / (high - low)))
    }

    /// Density per unit area of the whole square of [`Self::sample_part`] at a point of the part.
    #[inline]
    pub fn part_pdf(&self, part: &Part, p: Vec2) -> f32 {
        let row = cell(p.y, self.height);
        let Some(i) = row.checked_sub(part.first_row).filter(|&i| i + 1 < part.rows.len()) else {
            return 0.0;
        };
        let (column, cdf) = (cell(p.x, self.width), self.row(row));
        let p_row = part.rows[i + 1] - part.rows[i];
        if !part.columns.contains(&column) || p_row == 0.0 {
            return 0.0;
        }
        let share = cdf[part.columns.end] - cdf[part.columns.start];
        self.density(p_row, (cdf[column + 1] - cdf[column]) / share)
    }

    fn row(&self, row: usize) -> &[f32] {
        &self.columns[row * (self.width + 1)..][..self.width + 1]
    }

    fn density(&self, p_row: f32, p_column: f32) -> f32 {
        p_row * p_column * (self.width * self.height) as f32
    }
}

/// A rectangle of the cells of a [`PiecewiseConstant2d`], to be drawn from alone.
#[derive(Clone, Debug)]
pub struct Part {
    columns: Range<usize>,
    first_row: usize,
    /// Cumulative probabilities of its rows.
    rows: Vec<f32>,
}

impl Part {
    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        self.rows.capacity() * size_of::<f32>()
    }
}

/// The cell of [0, 1) cut into `n` that holds x.
fn cell(x: f32, n: usize) -> usize {
    ((x * n as f32) as usize).min(n - 1)
}

/// Fills `cdf`, one longer than the weights, with cumulative probabilities; returns the sum of
/// weights. All zero where that is 0.
fn cumulate(weights: impl Iterator<Item = f64> + Clone, cdf: &mut [f32]) -> f64 {
    let usable = |w: f64| if w.is_finite() { w.max(0.0) } else { 0.0 };
    let sum: f64 = weights.clone().map(usable).sum();
    if sum <= 0.0 {
        return 0.0;
    }
    let positive = weights.clone().filter(|&w| usable(w) > 0.0).count() as u32;
    // One step for each positive cell, the rest in proportion.
    let scale = f64::from(STEPS - positive) / sum;
    let (mut running, mut seen) = (0.0, 0);
    for (w, c) in weights.map(usable).zip(&mut cdf[1..]) {
        running += w;
        seen += u32::from(w > 0.0);
        *c = (f64::from(seen) + (running * scale).round()) as f32 * (1.0 / STEPS as f32);
    }
    sum
}

/// Entries of the guide of a table of `n` cells: a power of two of equal pieces of [0, 1), about
/// one for four cells, and one more.
fn guide_len(n: usize) -> usize {
    n.div_ceil(4).next_power_of_two() + 1
}

/// Where to look in a cumulative table (Chen & Asau 1974): for the start of each piece, the cell
/// that it falls into.
fn guide(cdf: &[f32]) -> Vec<u32> {
    let n = cdf.len() - 1;
    let pieces = guide_len(n) - 1;
    (0..=pieces).map(|i| cell_of(&cdf[1..n], i as f32 / pieces as f32) as u32).collect()
}

/// Number of inner borders at or before u: the cell that holds u. One of no width is followed by
/// another that starts there too.
fn cell_of(borders: &[f32], u: f32) -> usize {
    borders.partition_point(|&c| c <= u)
}

/// Inverts a cumulative table: the cell, a coordinate inside it, in [0, 1) over all cells, and the
/// cell's probability.
#[inline]
fn draw(cdf: &[f32], guide: &[u32], u: f32) -> (usize, f32, f32) {
    let n = cdf.len() - 1;
    // Exact, since the number of pieces is a power of two.
    let piece = (u * (guide.len() - 1) as f32) as usize;
    let (first, last) = (guide[piece] as usize, guide[piece + 1] as usize);
    let i = first + cell_of(&cdf[1 + first..1 + last], u);
    let p = cdf[i + 1] - cdf[i];
    (i, within(i, (u - cdf[i]) / p, n), p)
}

/// The coordinate at `t`, from 0 on and up to 1, of cell `i` of [0, 1) cut into `n`.
#[inline]
fn within(i: usize, t: f32, n: usize) -> f32 {
    let mut x = ((i as f32 + t.min(ONE_MINUS_EPSILON)) / n as f32).min(ONE_MINUS_EPSILON);
    // Rounding may have carried x over the cell's border.
    while cell(x, n) > i {
        x = x.next_down();
    }
    while cell(x, n) < i {
        x = x.next_up();
    }
    x
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_chi_square, points};
    use super::*;

    #[test]
    fn parts_are_drawn_as_the_whole_is() {
        let (width, height) = (37, 23);
        let whole = PiecewiseConstant2d::new(&bumps(width, height), width).unwrap();
        let mut dark = 0;
        for (columns, rows) in
            [(0..37, 0..23), (5..9, 3..20), (36..37, 22..23), (0..1, 0..23), (11..30, 7..8)]
        {
            let area = |p: Vec2| (cell(p.x, width), cell(p.y, height));
            let middle = |x: usize, y: usize| {
                vec2((x as f32 + 0.5) / width as f32, (y as f32 + 0.5) / height as f32)
            };
            let pdf = |x: usize, y: usize| f64::from(whole.pdf(middle(x, y)));
            let mass: f64 =
                rows.clone().flat_map(|y| columns.clone().map(move |x| pdf(x, y))).sum();
            let Some(part) = whole.part(columns.clone(), rows.clone()) else {
                dark += 1;
                assert_eq!(mass, 0.0);
                continue;
            };
            let mut counts = vec![0u32; width * height];
            let n = 20_000;
            for u in points(n, 5) {
                let (p, density) = whole.sample_part(&part, u);
                let (x, y) = area(p);
                assert!(columns.contains(&x) && rows.contains(&y) && density > 0.0, "{p}");
                assert_eq!(density, whole.part_pdf(&part, p));
                counts[y * width + x] += 1;
            }
            let cells = (width * height) as f64;
            let expected: Vec<f64> = (0..width * height)
                .map(|i| {
                    let (x, y) = (i % width, i / width);
                    let density = f64::from(whole.part_pdf(&part, middle(x, y)));
                    let inside = columns.contains(&x) && rows.contains(&y);
                    let share = if inside { pdf(x, y) / mass } else { 0.0 };
                    assert!(
                        (density / cells - share).abs() <= 1e-4 * share + 1e-6,
                        "{x}, {y}: {density}, {share}"
                    );
                    density / cells * f64::from(n)
                })
                .collect();
            assert_chi_square(&counts, &expected, "a part");
        }
        assert!(dark < 4);
    }

    fn bumps(width: usize, height: usize) -> Vec<f32> {
        let value = |i: usize| {
            let (x, y) = ((i % width) as f32, (i / width) as f32);
            if i % 7 == 3 || i / width == 2 {
                0.0
            } else {
                (0.2 * x + 0.1 * y).sin().abs() * (1.0 + y)
            }
        };
        (0..width * height).map(value).collect()
    }

    #[test]
    fn follows_the_weights() {
        let (w, h, n) = (24, 12, 200_000);
        let weights = bumps(w, h);
        let d = PiecewiseConstant2d::new(&weights, w).unwrap();
        let sum: f32 = weights.iter().sum();
        let mut counts = vec![0; w * h];
        for u in points(n, 1) {
            let (p, pdf) = d.sample(u);
            assert!(p.cmpge(Vec2::ZERO).all() && p.cmplt(Vec2::ONE).all() && pdf > 0.0);
            assert_eq!(pdf, d.pdf(p));
            counts[cell(p.x, w) + w * cell(p.y, h)] += 1;
        }
        let expected: Vec<f64> =
            weights.iter().map(|&v| f64::from(v / sum) * f64::from(n)).collect();
        assert_chi_square(&counts, &expected, "cells");
        for (i, &v) in weights.iter().enumerate() {
            let p = vec2(((i % w) as f32 + 0.5) / w as f32, ((i / w) as f32 + 0.5) / h as f32);
            let exact = v / sum * (w * h) as f32;
            assert!(
                (d.pdf(p) - exact).abs() < 1e-4 * exact.max(0.01),
                "cell {i}: {} for {exact}",
                d.pdf(p)
            );
        }
    }

    #[test]
    fn sample_and_pdf_agree_at_every_border() {
        // Widths that are no power of two round at borders; a sun of 10⁶ among ones leaves cells of
        // a single step.
        for (w, h) in [(1, 1), (3, 1), (1, 5), (33, 17), (1000, 3)] {
            let mut weights = bumps(w, h);
            weights[0] = 1e6;
            let d = PiecewiseConstant2d::new(&weights, w).unwrap();
            let edges = |cdf: &[f32]| -> Vec<f32> {
                let around = |&c: &f32| [c - 1.0 / STEPS as f32, c, c + 1.0 / STEPS as f32];
                let inside = |u: &f32| (0.0..1.0).contains(u);
                cdf.iter().flat_map(around).chain([ONE_MINUS_EPSILON]).filter(inside).collect()
            };
            for v in edges(&d.rows) {
                let row = draw(&d.rows, &d.row_guide, v).0;
                for u in edges(d.row(row)) {
                    let (p, pdf) = d.sample(vec2(u, v));
                    assert!(
                        pdf > 0.0 && pdf == d.pdf(p) && p.max_element() < 1.0,
                        "{w} × {h} at {u} {v}: {p} {pdf}"
                    );
                }
            }
        }
    }

    #[test]
    fn integrates_to_one_and_keeps_support() {
        let (w, h) = (512, 16);
        let mut weights = bumps(w, h);
        weights[700] = 1e9;
        let d = PiecewiseConstant2d::new(&weights, w).unwrap();
        let mut sum = 0.0;
        for (i, &v) in weights.iter().enumerate() {
            let pdf =
                d.pdf(vec2(((i % w) as f32 + 0.5) / w as f32, ((i / w) as f32 + 0.5) / h as f32));
            assert_eq!(v > 0.0, pdf > 0.0, "cell {i}");
            sum += f64::from(pdf);
        }
        assert!((sum / (w * h) as f64 - 1.0).abs() < 1e-6, "{sum}");
    }

    #[test]
    fn inversion_is_monotone() {
        let d = PiecewiseConstant2d::new(&bumps(40, 10), 40).unwrap();
        let x: Vec<f32> = (0..1000).map(|i| d.sample(vec2(i as f32 / 1000.0, 0.6)).0.x).collect();
        assert!(x.is_sorted());
    }

    #[test]
    fn nothing_to_draw() {
        assert!(PiecewiseConstant2d::new(&[], 4).is_none());
        assert!(PiecewiseConstant2d::new(&[0.0, f32::NAN, -1.0, 0.0], 2).is_none());
    }
}
