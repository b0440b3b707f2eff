//! Cells of equal probability on the sphere of directions.

use crate::{Vec2, Vec3, vec3};
use std::f64::consts::TAU;
use std::fmt;

/// The directions that a sampler may return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Directions with z > 0.
    UpperHemisphere,
    /// All directions.
    Sphere,
}

/// A rectangle in the coordinates (1 − cos θ, φ), where area equals solid angle. The first
/// coordinate keeps full precision near the normal, where lobes are narrow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DirectionCell {
    /// Lower corner.
    pub lo: [f64; 2],
    /// Upper corner.
    pub hi: [f64; 2],
}

impl fmt::Display for DirectionCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let degrees = |v: f64| libm::acos((1.0 - v).clamp(-1.0, 1.0)).to_degrees();
        write!(f, "where θ is {:.1}° to {:.1}°", degrees(self.lo[0]), degrees(self.hi[0]))?;
        if self.hi[1] - self.lo[1] < TAU {
            write!(
                f,
                " and φ is {:.0}° to {:.0}°",
                self.lo[1].to_degrees(),
                self.hi[1].to_degrees()
            )?;
        }
        Ok(())
    }
}

impl DirectionCell {
    /// Creates the cell that covers `domain`.
    pub fn new(domain: Domain) -> DirectionCell {
        let height = match domain {
            Domain::UpperHemisphere => 1.0,
            Domain::Sphere => 2.0,
        };
        DirectionCell { lo: [0.0; 2], hi: [height, TAU] }
    }

    /// Returns the solid angle, steradians.
    pub fn solid_angle(&self) -> f64 {
        (self.hi[0] - self.lo[0]) * (self.hi[1] - self.lo[1])
    }

    /// Splits the cell along an axis at `at`, or in the middle if one half would be empty. Returns
    /// the position of the split and both halves.
    fn split(self, axis: usize, at: f64) -> (f64, [DirectionCell; 2]) {
        let (lo, hi) = (self.lo[axis], self.hi[axis]);
        let thin = 1e-9 * (hi - lo);
        let at = if at > lo + thin && at < hi - thin { at } else { 0.5 * (lo + hi) };
        let (mut low, mut high) = (self, self);
        low.hi[axis] = at;
        high.lo[axis] = at;
        (at, [low, high])
    }

    /// Returns the direction at a point of the unit square, mapped uniformly over the cell.
    pub fn direction(&self, s: Vec2) -> Vec3 {
        direction(
            [0, 1].map(|axis| self.lo[axis] + f64::from(s[axis]) * (self.hi[axis] - self.lo[axis])),
        )
    }
}

/// Returns (1 − cos θ, φ) of a unit direction.
pub(super) fn coordinates(w: Vec3) -> [f64; 2] {
    let [x, y, z] = w.to_array().map(f64::from);
    let from_pole = (x * x + y * y) / (1.0 + z.abs());
    let phi = libm::atan2(y, x);
    [if z < 0.0 { 2.0 - from_pole } else { from_pole }, if phi < 0.0 { phi + TAU } else { phi }]
}

fn direction([v, phi]: [f64; 2]) -> Vec3 {
    let s = (v * (2.0 - v)).max(0.0).sqrt();
    vec3((s * libm::cos(phi)) as f32, (s * libm::sin(phi)) as f32, (1.0 - v) as f32)
}

/// A complete k-d tree over the domain. Its levels alternate between the two axes.
pub(super) struct CellTree {
    /// Depth of the leaves.
    depth: u32,
    /// Split positions of the inner nodes; the children of node k are 2k + 1 and 2k + 2.
    splits: Vec<f64>,
    /// The cells of all nodes.
    cells: Vec<DirectionCell>,
}

impl CellTree {
    /// Builds the tree, splitting at the medians of `points`.
    pub fn new(domain: Domain, depth: u32, points: &mut [[f64; 2]]) -> CellTree {
        let leaves = 1 << depth;
        let mut tree = CellTree {
            depth,
            splits: vec![0.0; leaves - 1],
            cells: vec![DirectionCell::new(domain); 2 * leaves - 1],
        };
        tree.build(0, 0, points);
        tree
    }

    fn build(&mut self, node: usize, depth: u32, points: &mut [[f64; 2]]) {
        if depth == self.depth {
            return;
        }
        let axis = (depth % 2) as usize;
        let by_axis = |a: &[f64; 2], b: &[f64; 2]| a[axis].total_cmp(&b[axis]);
        let cell = self.cells[node];
        let mut middle = points.len() / 2;
        let median = match points.is_empty() {
            true => cell.lo[axis],
            false => points.select_nth_unstable_by(middle, by_axis).1[axis],
        };
        let (at, cells) = cell.split(axis, median);
        if at != median {
            points.sort_unstable_by(by_axis);
            middle = points.partition_point(|point| point[axis] < at);
        }
        self.splits[node] = at;
        let (low, high) = points.split_at_mut(middle);
        for (child, (cell, points)) in (2 * node + 1..).zip(cells.into_iter().zip([low, high])) {
            self.cells[child] = cell;
            self.build(child, depth + 1, points);
        }
    }

    /// Returns the index of the leaf that contains a point.
    pub fn leaf(&self, point: [f64; 2]) -> usize {
        let step = |node: usize, depth: u32| {
            let high = point[(depth % 2) as usize] >= self.splits[node];
            2 * node + 1 + usize::from(high)
        };
        (0..self.depth).fold(0, step) - self.splits.len()
    }

    /// Returns the cells of the leaves, from low to high.
    pub fn leaves(&self) -> &[DirectionCell] {
        &self.cells[self.splits.len()..]
    }

    /// Returns the cell of node `k` at a depth.
    pub fn node(&self, depth: u32, k: usize) -> DirectionCell {
        self.cells[(1 << depth) - 1 + k]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::{hash, unit_float};

    #[test]
    fn coordinates_invert_direction() {
        for k in 0..1000 {
            let s = |axis| f64::from(unit_float(hash(k, axis)));
            let point = [2.0 * s(0).powi(8), TAU * s(1)];
            let back = coordinates(direction(point));
            assert!(
                (point[0] - back[0]).abs() < 1e-6 * point[0] && (point[1] - back[1]).abs() < 1e-5,
                "{point:?} maps back to {back:?}"
            );
        }
    }
}
