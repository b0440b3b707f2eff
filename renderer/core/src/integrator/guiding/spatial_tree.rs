//! A k-d tree over positions and normals.

use super::TrainingSample;
use fearless_simd::{Simd, dispatch};
use lightbound_math::{COLUMN_LEN, Columns, simd_level};
use std::ops::Range;

/// Number of axes: three of the position and three of the normal.
pub(in super::super) const GUIDE_AXES: usize = 6;

/// Length along the axes of normals that corresponds to 1, in units of the largest extent of the
/// positions.
const NORMAL_SCALE: f32 = 0.3;

/// A node divides its cell at `split` along `axis`.
#[derive(Clone, Copy, Debug)]
struct Node {
    split: f32,
    axis: u32,
}

/// A complete binary tree whose leaves, the cells, have about the same number of samples.
#[derive(Debug)]
pub(in super::super) struct SpatialTree {
    depth: u32,
    /// Inner nodes in breadth-first order: the children of node `i` are `2i + 1` and `2i + 2`.
    nodes: Vec<Node>,
}

impl SpatialTree {
    /// Creates a tree whose cells have at least `cell_samples` samples on average, but less than
    /// twice as many. Sorts the samples by cell and returns the range of each cell.
    pub fn new(
        samples: &mut [TrainingSample],
        cell_samples: usize,
    ) -> (SpatialTree, Vec<Range<usize>>) {
        let depth = (samples.len() / cell_samples).max(1).ilog2();
        let extents = extents(samples);
        let size = extents[0].max(extents[1]).max(extents[2]);
        let mut scales = [NORMAL_SCALE * size; GUIDE_AXES];
        scales[..3].fill(1.0);
        let mut nodes = Vec::with_capacity((1 << depth) - 1);
        let all = 0..samples.len();
        let mut cells = vec![all];
        let (mut values, mut upper) = (Vec::new(), Vec::new());
        for _ in 0..depth {
            let mut halves = Vec::with_capacity(2 * cells.len());
            for Range { start, end } in cells {
                let cell = &mut samples[start..end];
                let node = Node::new(cell, &scales, &mut values);
                let middle = start + node.partition(cell, &mut upper);
                nodes.push(node);
                halves.extend([start..middle, middle..end]);
            }
            cells = halves;
        }
        (SpatialTree { depth, nodes }, cells)
    }

    /// Returns the number of cells.
    pub fn cell_count(&self) -> usize {
        self.nodes.len() + 1
    }

    /// Returns the cells of points.
    pub fn find_cells(&self, points: &Columns<GUIDE_AXES>) -> [u32; COLUMN_LEN] {
        dispatch!(simd_level(), simd => self.find_cell_columns(simd, points))
    }

    #[inline(always)]
    fn find_cell_columns<S: Simd>(&self, _: S, points: &Columns<GUIDE_AXES>) -> [u32; COLUMN_LEN] {
        // Padded to a power of two, so that `%` is a mask, and the index needs no bounds check.
        let mut coordinates = [0.0; (GUIDE_AXES * COLUMN_LEN).next_power_of_two()];
        coordinates[..GUIDE_AXES * COLUMN_LEN].copy_from_slice(points.0.as_flattened());
        let mut nodes = [0; COLUMN_LEN];
        // Level by level for all lanes, so that their loads overlap.
        for _ in 0..self.depth {
            for (lane, at) in nodes.iter_mut().enumerate() {
                let node = self.nodes[*at as usize];
                let coordinate = (node.axis as usize * COLUMN_LEN + lane) % coordinates.len();
                *at = 2 * *at + 1 + u32::from(coordinates[coordinate] >= node.split);
            }
        }
        nodes.map(|node| node - self.nodes.len() as u32)
    }
}

impl Node {
    /// Splits a cell at the median of its longest axis, with axes scaled by `scales`. `values` is a
    /// scratch buffer.
    fn new(cell: &[TrainingSample], scales: &[f32; GUIDE_AXES], values: &mut Vec<f32>) -> Node {
        let extents = extents(cell);
        let length = |axis: usize| extents[axis] * scales[axis];
        let axis = (1..GUIDE_AXES)
            .fold(0, |longest, axis| if length(axis) > length(longest) { axis } else { longest });
        values.clear();
        values.extend(cell.iter().map(|sample| sample.point[axis]));
        let middle = values.len() / 2;
        let split = if values.is_empty() {
            0.0
        } else {
            let (lower, &mut median, _) = values.select_nth_unstable_by(middle, f32::total_cmp);
            if lower.iter().any(|&value| value < median) {
                median
            } else {
                // At least half of the values are the least: split off the others.
                let least_above = values.iter().copied().filter(|&value| value > median);
                least_above.min_by(f32::total_cmp).unwrap_or(median)
            }
        };
        Node { split, axis: axis as u32 }
    }

    /// Moves the samples below the split to the front, and keeps the order on both sides. Returns
    /// their number. `upper` is a scratch buffer.
    fn partition(self, cell: &mut [TrainingSample], upper: &mut Vec<TrainingSample>) -> usize {
        upper.clear();
        let mut lower = 0;
        for i in 0..cell.len() {
            let sample = cell[i];
            if sample.point[self.axis as usize] < self.split {
                cell[lower] = sample;
                lower += 1;
            } else {
                upper.push(sample);
            }
        }
        cell[lower..].copy_from_slice(upper);
        lower
    }
}

/// Returns the extents of samples along each axis.
fn extents(samples: &[TrainingSample]) -> [f32; GUIDE_AXES] {
    let (mut min, mut max) = ([f32::INFINITY; GUIDE_AXES], [f32::NEG_INFINITY; GUIDE_AXES]);
    for sample in samples {
        for (axis, &x) in sample.point.iter().enumerate() {
            min[axis] = min[axis].min(x);
            max[axis] = max[axis].max(x);
        }
    }
    std::array::from_fn(|axis| max[axis] - min[axis])
}

#[cfg(test)]
mod tests {
    use super::*;
    use fearless_simd::Level;
    use lightbound_math::sampling::{hash, unit_float};

    /// Returns samples with the axes that `point` computes from six random numbers.
    fn samples(count: u32, point: fn([f32; 6]) -> [f32; 6]) -> Vec<TrainingSample> {
        let random = |i, axis| unit_float(hash(hash(axis, i), 3));
        let sample = |i| TrainingSample {
            point: point([0, 1, 2, 3, 4, 5].map(|axis| random(i, axis))),
            weight: i as f32,
            ..TrainingSample::default()
        };
        (0..count).map(sample).collect()
    }

    #[test]
    fn points_lie_in_the_cells_of_their_samples() {
        let cases: [fn([f32; 6]) -> [f32; 6]; 4] = [
            |p| p,
            |[x, y, z, a, ..]| [x, y, 0.01 * z, if a < 0.2 { 1.0 } else { -1.0 }, 0.0, 0.0],
            // Most samples have the same point.
            |[x, y, z, a, ..]| if a < 0.7 { [0.5; 6] } else { [x, y, z, 0.0, 0.0, 1.0] },
            |_| [1.0; 6],
        ];
        for point in cases {
            let mut samples = samples(5_000, point);
            let (tree, cells) = SpatialTree::new(&mut samples, 100);
            assert_eq!((cells.len(), tree.cell_count()), (32, 32));
            assert_eq!(cells.iter().map(Range::len).sum::<usize>(), samples.len());
            for (index, cell) in cells.into_iter().enumerate() {
                for sample in &samples[cell] {
                    let points = Columns::splat(sample.point);
                    assert_eq!(tree.find_cells(&points), [index as u32; COLUMN_LEN]);
                }
            }
        }
    }

    #[test]
    fn cells_of_spread_samples_have_equal_shares_in_the_original_order() {
        let mut samples = samples(6_400, |p| p);
        let (_, cells) = SpatialTree::new(&mut samples, 100);
        assert_eq!(cells.len(), 64);
        for cell in cells {
            assert_eq!(cell.len(), 100);
            assert!(samples[cell].is_sorted_by(|a, b| a.weight < b.weight));
        }
    }

    #[test]
    fn cells_do_not_depend_on_the_simd_level() {
        let (tree, _) = SpatialTree::new(&mut samples(5_000, |p| p), 50);
        for group in samples(800, |p| p).chunks(COLUMN_LEN) {
            let mut points = Columns::ZERO;
            group.iter().enumerate().for_each(|(lane, sample)| points.set(lane, sample.point));
            let baseline =
                dispatch!(Level::baseline(), simd => tree.find_cell_columns(simd, &points));
            assert_eq!(baseline, tree.find_cells(&points));
        }
    }

    #[test]
    fn small_cells_have_normals_of_one_side() {
        let mut samples = samples(1_000, |[x, y, z, a, ..]| {
            [x, y, z, 0.0, 0.0, if a < 0.4 { -1.0 } else { 1.0 }]
        });
        let (tree, cells) = SpatialTree::new(&mut samples, 50);
        // The cube is divided along each axis first.
        assert!(tree.nodes[..7].iter().all(|node| node.axis < 3));
        assert_eq!(cells.len(), 16);
        for cell in cells {
            assert!(
                samples[cell.clone()].iter().all(|s| s.point[5] == samples[cell.start].point[5])
            );
        }
    }
}
