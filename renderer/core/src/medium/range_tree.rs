//! Minima and maxima of a grid of values over ranges of voxels.
//!
//! A tree with 4 × 4 × 4 children per node holds the range of each block of 4 × 4 × 4 voxels, of
//! 16 × 16 × 16, and so on: 3 % of the memory of the values. A query descends only to blocks at the
//! border of its box whose range can still widen the result.

use rayon::prelude::*;

/// Children of a node along each axis, as a power of two.
const SHIFT: u32 = 2;

/// The tree. The values themselves stay where they are.
#[derive(Clone, Debug)]
pub(super) struct RangeTree {
    resolution: [usize; 3],
    /// Ranges of the blocks, finest first. The coarsest has at most four along each axis.
    levels: Vec<Level>,
}

/// The blocks of one size.
#[derive(Clone, Debug)]
struct Level {
    resolution: [usize; 3],
    ranges: Vec<[f32; 2]>,
}

/// The range of no values.
pub(super) const EMPTY: [f32; 2] = [f32::INFINITY, f32::NEG_INFINITY];

/// Returns the smallest range that contains both.
pub(super) fn union(a: [f32; 2], b: [f32; 2]) -> [f32; 2] {
    [a[0].min(b[0]), a[1].max(b[1])]
}

fn contains(a: [f32; 2], b: [f32; 2]) -> bool {
    a[0] <= b[0] && a[1] >= b[1]
}

/// A query: the first and the last voxel, and the values.
struct Query<'a, F> {
    first: [usize; 3],
    last: [usize; 3],
    voxel: &'a F,
}

impl RangeTree {
    /// Builds the tree of a grid. `voxel` returns the range of the value with an index: x varies
    /// fastest, z slowest.
    pub fn new(resolution: [usize; 3], voxel: impl Fn(usize) -> [f32; 2] + Sync) -> RangeTree {
        let mut levels: Vec<Level> = Vec::new();
        let mut finer = resolution;
        while finer.iter().any(|&n| n > 1 << SHIFT) {
            let level = match levels.last() {
                None => Level::new(finer, &voxel),
                Some(Level { ranges, .. }) => Level::new(finer, &|i| ranges[i]),
            };
            finer = level.resolution;
            levels.push(level);
        }
        RangeTree { resolution, levels }
    }

    /// Returns the range of the values of all voxels from `first` to `last`, inclusive.
    pub fn range(
        &self,
        first: [usize; 3],
        last: [usize; 3],
        voxel: impl Fn(usize) -> [f32; 2],
    ) -> [f32; 2] {
        let mut out = EMPTY;
        let query = Query { first, last, voxel: &voxel };
        self.visit(self.levels.len() + 1, [0; 3], &query, &mut out);
        out
    }

    /// Adds the children of a node. Level 0 is the voxels.
    fn visit<F: Fn(usize) -> [f32; 2]>(
        &self,
        level: usize,
        node: [usize; 3],
        query: &Query<'_, F>,
        out: &mut [f32; 2],
    ) {
        let child_level = level - 1;
        let shift = SHIFT * child_level as u32;
        let resolution = match child_level {
            0 => self.resolution,
            _ => self.levels[child_level - 1].resolution,
        };
        let [x, y, z] = std::array::from_fn(|axis| {
            let start = (node[axis] << SHIFT).max(query.first[axis] >> shift);
            let end = ((node[axis] + 1) << SHIFT).min(resolution[axis]);
            start..end.min((query.last[axis] >> shift) + 1)
        });
        for k in z {
            for j in y.clone() {
                let row = (k * resolution[1] + j) * resolution[0];
                for i in x.clone() {
                    if child_level == 0 {
                        *out = union(*out, (query.voxel)(row + i));
                        continue;
                    }
                    let range = self.levels[child_level - 1].ranges[row + i];
                    if contains(*out, range) {
                        continue;
                    }
                    let is_inside = (0..3).all(|axis| {
                        let start = [i, j, k][axis] << shift;
                        let end = (start + (1 << shift)).min(self.resolution[axis]);
                        query.first[axis] <= start && end <= query.last[axis] + 1
                    });
                    if is_inside {
                        *out = union(*out, range);
                    } else {
                        self.visit(child_level, [i, j, k], query, out);
                    }
                }
            }
        }
    }
}

impl Level {
    /// Computes the ranges of blocks of 4 × 4 × 4 finer ones.
    fn new(finer: [usize; 3], range: &(impl Fn(usize) -> [f32; 2] + Sync)) -> Level {
        let resolution = finer.map(|n| n.div_ceil(1 << SHIFT));
        let children = |i: usize, axis: usize| (i << SHIFT)..((i + 1) << SHIFT).min(finer[axis]);
        let block = |index: usize| {
            let (i, rest) = (index % resolution[0], index / resolution[0]);
            let (j, k) = (rest % resolution[1], rest / resolution[1]);
            let mut out = EMPTY;
            for z in children(k, 2) {
                for y in children(j, 1) {
                    let row = (z * finer[1] + y) * finer[0];
                    for x in children(i, 0) {
                        out = union(out, range(row + x));
                    }
                }
            }
            out
        };
        let count = resolution.iter().product();
        Level { resolution, ranges: (0..count).into_par_iter().map(block).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_are_those_of_the_voxels(
            resolution in prop::array::uniform3(1usize..40),
            corners in prop::array::uniform3((0.0..1.0f64, 0.0..1.0f64)),
            seed in 0u32..1000,
        ) {
            let value = |i: usize| (i as u32).wrapping_add(seed).wrapping_mul(0x9e37_79b9) as f32;
            let voxel = |i: usize| [value(i); 2];
            let tree = RangeTree::new(resolution, voxel);
            let index = |axis: usize, x: f64| (x * resolution[axis] as f64) as usize;
            let first = std::array::from_fn(|k| index(k, corners[k].0.min(corners[k].1)));
            let last = std::array::from_fn(|k| index(k, corners[k].0.max(corners[k].1)));
            let mut expected = EMPTY;
            for z in first[2]..=last[2] {
                for y in first[1]..=last[1] {
                    for x in first[0]..=last[0] {
                        expected = union(expected, voxel((z * resolution[1] + y) * resolution[0] + x));
                    }
                }
            }
            prop_assert_eq!(tree.range(first, last, voxel), expected);
        }
    }
}
