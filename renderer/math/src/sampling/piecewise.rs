//! Piecewise constant densities over the unit square, for environment maps.
//!
//! Rows are sampled from the marginal distribution, columns from the conditional distribution, by
//! inversion of the CDF. Inversion is monotone, so stratified points stay stratified. The CDFs are
//! multiples of 2⁻²³, the spacing of Sobol' points (independent points have half of it), and the
//! density is computed from them. So samples and [`PiecewiseConstant2d::pdf`] agree exactly. Each
//! cell of positive weight gets at least one step, so no light is lost. Cells of weight 0 get none.

use super::{ONE_MINUS_EPSILON, sanitize_weight};
use crate::{COLUMN_LEN, Column, Columns, Vec2, prefetch, vec2};
use rayon::prelude::*;
use std::ops::Range;

/// Number of steps of a CDF; a CDF has at most this many cells.
const CDF_STEPS: u32 = 1 << 23;

/// A piecewise constant density over [0, 1)².
#[derive(Clone, Debug)]
pub struct PiecewiseConstant2d {
    width: usize,
    height: usize,
    /// The marginal CDF of the rows: `height + 1` values from 0 to 1.
    rows: Vec<f32>,
    /// The [guide table](fill_guide) of `rows`.
    row_guide: Vec<u32>,
    /// For each row, the conditional CDF of its columns: `width + 1` values from 0 to 1.
    columns: Vec<f32>,
    /// For each row, the [guide table](fill_guide) of its CDF: `guide_len(width)` indices.
    column_guides: Vec<u32>,
}

impl PiecewiseConstant2d {
    /// Creates the density proportional to `weights`, in rows of `width`; x runs along a row.
    ///
    /// Weights that are negative, infinite or NaN count as 0. `None` if no weight is positive.
    ///
    /// # Panics
    /// If the last row is incomplete, or the grid has more than 2²⁰ rows or columns.
    pub fn new(weights: &[f32], width: usize) -> Option<PiecewiseConstant2d> {
        if weights.is_empty() {
            return None;
        }
        assert!(
            width > 0 && weights.len().is_multiple_of(width),
            "{} weights do not fill rows of {width}",
            weights.len()
        );
        let height = weights.len() / width;
        assert!(width.max(height) <= 1 << 20, "{width} × {height} cells are too many");
        let mut columns = vec![0.0; height * (width + 1)];
        let sums: Vec<f64> = columns
            .par_chunks_mut(width + 1)
            .zip(weights.par_chunks(width))
            .map(|(cdf, row)| fill_cdf(row.iter().map(|&w| f64::from(w)), cdf))
            .collect();
        let mut rows = vec![0.0; height + 1];
        let total = fill_cdf(sums.into_iter(), &mut rows);
        let mut row_guide = vec![0; guide_len(height)];
        fill_guide(&rows, &mut row_guide);
        let mut column_guides = vec![0; height * guide_len(width)];
        column_guides
            .par_chunks_mut(guide_len(width))
            .zip(columns.par_chunks(width + 1))
            .for_each(|(guide, cdf)| fill_guide(cdf, guide));
        (total > 0.0).then_some(PiecewiseConstant2d {
            width,
            height,
            rows,
            row_guide,
            columns,
            column_guides,
        })
    }

    /// Samples a point of [0, 1)²; returns it with its density per unit area, which is positive.
    #[inline]
    pub fn sample(&self, u: Vec2) -> (Vec2, f32) {
        let first = self.row_guide[interval(u.y, self.row_guide.len())] as usize;
        let (row, y, p_row) = invert(&self.rows, first, u.y);
        let length = guide_len(self.width);
        let first = self.column_guides[row * length + interval(u.x, length)] as usize;
        let (_, x, p_column) = invert(self.row(row), first, u.x);
        (vec2(x, y), self.density(p_row, p_column))
    }

    /// Samples a point for each pair of random numbers, like [`Self::sample`]. Tables of large
    /// grids exceed the caches: the lookups of all lanes overlap.
    pub fn sample_columns(&self, u: &Columns<2>) -> (Columns<2>, Column) {
        let (mut points, mut densities) = (Columns::ZERO, [0.0; COLUMN_LEN]);
        let mut p_rows = [0.0; COLUMN_LEN];
        let (mut rows, mut firsts) = ([0; COLUMN_LEN], [0; COLUMN_LEN]);
        let length = guide_len(self.width);
        for lane in 0..COLUMN_LEN {
            let u: Vec2 = u.get(lane);
            let (row, y, p_row) = invert(
                &self.rows,
                self.row_guide[interval(u.y, self.row_guide.len())] as usize,
                u.y,
            );
            points.set(lane, [0.0, y]);
            (rows[lane], p_rows[lane]) = (row, p_row);
        }
        for lane in 0..COLUMN_LEN {
            let [u, _]: [f32; 2] = u.get(lane);
            firsts[lane] = self.column_guides[rows[lane] * length + interval(u, length)];
        }
        for lane in 0..COLUMN_LEN {
            prefetch(&self.columns, rows[lane] * (self.width + 1) + firsts[lane] as usize);
        }
        for lane in 0..COLUMN_LEN {
            let ([u, _], [_, y]): ([f32; 2], [f32; 2]) = (u.get(lane), points.get(lane));
            let (_, x, p_column) = invert(self.row(rows[lane]), firsts[lane] as usize, u);
            points.set(lane, [x, y]);
            densities[lane] = self.density(p_rows[lane], p_column);
        }
        (points, densities)
    }

    /// Returns the density of [`Self::sample`] per unit area; points outside the unit square are
    /// clamped to it.
    #[inline]
    pub fn pdf(&self, p: Vec2) -> f32 {
        let row = cell(p.y, self.height);
        let column = cell(p.x, self.width);
        let columns = self.row(row);
        self.density(self.rows[row + 1] - self.rows[row], columns[column + 1] - columns[column])
    }

    /// Returns the density restricted to a rectangle of cells and normalised; `None` if it is zero
    /// there.
    ///
    /// # Panics
    /// If the rectangle is empty or reaches outside the grid.
    pub fn part(&self, columns: Range<usize>, rows: Range<usize>) -> Option<PiecewisePart> {
        assert!(
            !columns.is_empty()
                && !rows.is_empty()
                && columns.end <= self.width
                && rows.end <= self.height,
            "columns {columns:?} and rows {rows:?} are not a rectangle of {} × {} cells",
            self.width,
            self.height
        );
        let mass = |row: usize| {
            let cdf = self.row(row);
            f64::from(self.rows[row + 1] - self.rows[row])
                * f64::from(cdf[columns.end] - cdf[columns.start])
        };
        let mut cdf = vec![0.0; rows.len() + 1];
        let total = fill_cdf(rows.clone().map(mass), &mut cdf);
        (total > 0.0).then_some(PiecewisePart { columns, first_row: rows.start, rows: cdf })
    }

    /// Samples a point of a [part](Self::part); returns it with its density per unit area of the
    /// unit square, which is positive.
    #[inline]
    pub fn sample_part(&self, part: &PiecewisePart, u: Vec2) -> (Vec2, f32) {
        let i = cell_of(&part.rows[1..part.rows.len() - 1], u.y);
        let p_row = part.rows[i + 1] - part.rows[i];
        let y = point_in_cell(part.first_row + i, (u.y - part.rows[i]) / p_row, self.height);
        let cdf = self.row(part.first_row + i);
        let (low, high) = (cdf[part.columns.start], cdf[part.columns.end]);
        let u = low + u.x * (high - low);
        // Floats resolve single steps of the CDF. The clamp keeps `u` below `high`, so that cells
        // of probability 0 at the end are never selected.
        let k = part.columns.start
            + cell_of(&cdf[part.columns.start + 1..part.columns.end], u.min(high.next_down()));
        let p_column = cdf[k + 1] - cdf[k];
        let x = point_in_cell(k, (u - cdf[k]) / p_column, self.width);
        (vec2(x, y), self.density(p_row, p_column / (high - low)))
    }

    /// Returns the density of [`Self::sample_part`] per unit area of the unit square; 0 outside the
    /// part.
    #[inline]
    pub fn part_pdf(&self, part: &PiecewisePart, p: Vec2) -> f32 {
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

/// A [`PiecewiseConstant2d`] restricted to a rectangle of cells.
#[derive(Clone, Debug)]
pub struct PiecewisePart {
    columns: Range<usize>,
    first_row: usize,
    /// The marginal CDF of its rows.
    rows: Vec<f32>,
}

impl PiecewisePart {
    /// Returns the number of bytes allocated on the heap.
    pub fn bytes(&self) -> usize {
        self.rows.capacity() * size_of::<f32>()
    }
}

/// Returns the index of the cell that contains x, with [0, 1) divided into `n` cells.
fn cell(x: f32, n: usize) -> usize {
    ((x * n as f32) as usize).min(n - 1)
}

/// Fills `cdf`, which has one more entry than there are weights, and returns the sum of the
/// weights. Leaves `cdf` unchanged if the sum is 0.
fn fill_cdf(weights: impl Iterator<Item = f64> + Clone, cdf: &mut [f32]) -> f64 {
    let sum: f64 = weights.clone().map(sanitize_weight).sum();
    if sum <= 0.0 {
        return 0.0;
    }
    let positive = weights.clone().filter(|&w| sanitize_weight(w) > 0.0).count() as u32;
    // One step for each positive cell, the rest in proportion.
    let scale = f64::from(CDF_STEPS - positive) / sum;
    let (mut running, mut seen) = (0.0, 0);
    for (w, c) in weights.map(sanitize_weight).zip(&mut cdf[1..]) {
        running += w;
        seen += u32::from(w > 0.0);
        *c = (f64::from(seen) + (running * scale).round()) as f32 * (1.0 / CDF_STEPS as f32);
    }
    sum
}

/// Returns the length of the guide table of a CDF of `n` cells: a power of two between n / 2
/// and n.
fn guide_len(n: usize) -> usize {
    n.div_ceil(2).next_power_of_two()
}

/// Fills the guide table of a CDF (Chen & Asau 1974). It divides [0, 1) into equal intervals and
/// stores the cell that contains the start of each.
fn fill_guide(cdf: &[f32], guide: &mut [u32]) {
    let borders = &cdf[1..cdf.len() - 1];
    let (mut cell, intervals) = (0, guide.len());
    for (i, entry) in guide.iter_mut().enumerate() {
        let start = i as f32 / intervals as f32;
        cell += borders[cell..].iter().take_while(|&&border| border <= start).count();
        *entry = cell as u32;
    }
}

/// Returns the index of the interval that contains u, with [0, 1) divided into a power of two.
#[inline]
fn interval(u: f32, intervals: usize) -> usize {
    (u * intervals as f32) as usize
}

/// Returns the index of the cell that contains u: the number of inner borders at or before u. Skips
/// cells of zero width.
fn cell_of(borders: &[f32], u: f32) -> usize {
    borders.partition_point(|&c| c <= u)
}

/// Inverts a CDF. `first` is a cell at or before that of `u`. Returns the cell, a coordinate in
/// [0, 1) inside it, and the probability of the cell.
#[inline]
fn invert(cdf: &[f32], first: usize, u: f32) -> (usize, f32, f32) {
    let n = cdf.len() - 1;
    let mut i = first;
    // An interval of the guide has at most two borders on average, so four comparisons without branches
    // mostly suffice. The last border, 1, is greater than u.
    loop {
        let passed: usize = (1..=4).map(|k| usize::from(cdf[(i + k).min(n)] <= u)).sum();
        i += passed;
        if passed < 4 {
            break;
        }
    }
    let p = cdf[i + 1] - cdf[i];
    (i, point_in_cell(i, (u - cdf[i]) / p, n), p)
}

/// Returns the coordinate at relative position `t` in [0, 1] of cell `i`, with [0, 1) divided into
/// `n` cells. The result is in [0, 1) and lies in the cell.
#[inline]
fn point_in_cell(i: usize, t: f32, n: usize) -> f32 {
    let mut x = ((i as f32 + t.min(ONE_MINUS_EPSILON)) / n as f32).min(ONE_MINUS_EPSILON);
    // Rounding may have moved x out of the cell.
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
    fn parts_have_the_restricted_density() {
        let (width, height) = (37, 23);
        let full = PiecewiseConstant2d::new(&bumps(width, height), width).unwrap();
        let mut zero_parts = 0;
        for (columns, rows) in
            [(0..37, 0..23), (5..9, 3..20), (36..37, 22..23), (0..1, 0..23), (11..30, 7..8)]
        {
            let cell_at = |p: Vec2| (cell(p.x, width), cell(p.y, height));
            let middle = |x: usize, y: usize| {
                vec2((x as f32 + 0.5) / width as f32, (y as f32 + 0.5) / height as f32)
            };
            let pdf = |x: usize, y: usize| f64::from(full.pdf(middle(x, y)));
            let mass: f64 =
                rows.clone().flat_map(|y| columns.clone().map(move |x| pdf(x, y))).sum();
            let Some(part) = full.part(columns.clone(), rows.clone()) else {
                zero_parts += 1;
                assert_eq!(mass, 0.0);
                continue;
            };
            let mut counts = vec![0u32; width * height];
            let n = 20_000;
            for u in points(n, 5) {
                let (p, density) = full.sample_part(&part, u);
                let (x, y) = cell_at(p);
                assert!(columns.contains(&x) && rows.contains(&y) && density > 0.0, "{p}");
                assert_eq!(density, full.part_pdf(&part, p));
                counts[y * width + x] += 1;
            }
            let cells = (width * height) as f64;
            let expected: Vec<f64> = (0..width * height)
                .map(|i| {
                    let (x, y) = (i % width, i / width);
                    let density = f64::from(full.part_pdf(&part, middle(x, y)));
                    let inside = columns.contains(&x) && rows.contains(&y);
                    let share = if inside { pdf(x, y) / mass } else { 0.0 };
                    assert!(
                        (density / cells - share).abs() <= 1e-4 * share + 1e-6,
                        "cell ({x}, {y}) has density {density}, expected {}",
                        share * cells
                    );
                    density / cells * f64::from(n)
                })
                .collect();
            assert_chi_square(&counts, &expected, "a part");
        }
        assert!(zero_parts < 4, "too few parts have a positive density");
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
    fn samples_follow_the_weights() {
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
                "cell {i} has density {}, expected {exact}",
                d.pdf(p)
            );
        }
    }

    #[test]
    fn samples_in_columns_are_those_of_single_points() {
        let d = PiecewiseConstant2d::new(&bumps(37, 23), 37).unwrap();
        let all: Vec<Vec2> = points(50 * COLUMN_LEN as u32, 9).collect();
        for group in all.chunks(COLUMN_LEN) {
            let mut u = Columns::ZERO;
            group.iter().enumerate().for_each(|(lane, &point)| u.set(lane, point));
            let (p, density) = d.sample_columns(&u);
            for (lane, &point) in group.iter().enumerate() {
                assert_eq!((p.get(lane), density[lane]), d.sample(point));
            }
        }
    }

    #[test]
    fn sample_and_pdf_agree_at_every_border() {
        // Widths that are not powers of two round at borders. A weight of 10⁶ among ones leaves
        // cells of a single step.
        for (w, h) in [(1, 1), (3, 1), (1, 5), (33, 17), (1000, 3)] {
            let mut weights = bumps(w, h);
            weights[0] = 1e6;
            let d = PiecewiseConstant2d::new(&weights, w).unwrap();
            let edges = |cdf: &[f32]| -> Vec<f32> {
                let around = |&c: &f32| [c - 1.0 / CDF_STEPS as f32, c, c + 1.0 / CDF_STEPS as f32];
                let inside = |u: &f32| (0.0..1.0).contains(u);
                cdf.iter().flat_map(around).chain([ONE_MINUS_EPSILON]).filter(inside).collect()
            };
            for v in edges(&d.rows) {
                let first = d.row_guide[interval(v, d.row_guide.len())] as usize;
                let row = invert(&d.rows, first, v).0;
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
    fn no_density_without_a_positive_weight() {
        assert!(PiecewiseConstant2d::new(&[], 4).is_none());
        assert!(PiecewiseConstant2d::new(&[0.0, f32::NAN, -1.0, 0.0], 2).is_none());
    }
}
