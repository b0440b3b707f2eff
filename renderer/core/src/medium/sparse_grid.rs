//! Values at the integer points of a sparse grid, interpolated trilinearly: grids of OpenVDB and
//! NanoVDB (Museth 2013, *VDB: High-Resolution Sparse Volumes with Dynamic Topology*).
//!
//! As there, leaves hold the values of 8 × 8 × 8 points, blocks consist of 16 × 16 × 16 leaves, and
//! whatever is constant is one value: cells of the size of a leaf, blocks, and regions of
//! 32 × 32 × 32 blocks. The rest is the background. Blocks are in a hash table instead of a node of
//! the tree, and know the range of their values.
//!
//! An interpolated value is clamped to the range of its eight samples, so that ranges bound it.
//! Small boxes are bounded more tightly, see [`grid`](super::grid).

use super::grid::{bounds_in_cells, trilinear};
use super::range_tree::{self, union};
use glam::{DAffine3, DVec3};
use lightbound_math::{Aabb, Vec3};
use rustc_hash::FxHashMap;

/// Points of a leaf, and of a cell.
pub const LEAF_POINTS: usize = 512;

/// Cells of a block.
const BLOCK_CELLS: usize = 4096;

/// Coordinates are clamped to ± this, so that their neighbours do not overflow.
const MAX_COORDINATE: f64 = (1 << 30) as f64;

/// A sparse grid.
#[derive(Clone, Debug)]
pub struct SparseGrid {
    /// From the space in which points are given to that of indices.
    index_from_point: DAffine3,
    background: f32,
    /// Values of regions, by coordinates divided by 4096.
    regions: FxHashMap<[i32; 3], f32>,
    /// Blocks, by coordinates divided by 128.
    blocks: FxHashMap<[i32; 3], Block>,
    /// Values of the leaves: z varies fastest, x slowest.
    leaves: Vec<[f32; LEAF_POINTS]>,
    leaf_ranges: Vec<[f32; 2]>,
}

#[derive(Clone, Debug)]
enum Block {
    Constant(f32),
    Cells(Box<Cells>),
}

#[derive(Clone, Debug)]
struct Cells {
    range: [f32; 2],
    /// z varies fastest, x slowest.
    cells: Vec<Cell>,
}

#[derive(Clone, Copy, Debug)]
enum Cell {
    Constant(f32),
    /// Index of a leaf.
    Leaf(u32),
}

/// Divides coordinates by a power of two, rounding down.
fn shift(p: [i32; 3], bits: u32) -> [i32; 3] {
    p.map(|x| x >> bits)
}

/// Returns the index of coordinates modulo `1 << bits`: z varies fastest.
fn offset(p: [i32; 3], bits: u32) -> usize {
    let [x, y, z] = p.map(|x| x as usize & ((1 << bits) - 1));
    (x << (2 * bits)) | (y << bits) | z
}

/// Iterates over the coordinates from `first` to `last`.
fn coordinates([first, last]: [[i32; 3]; 2]) -> impl Iterator<Item = [i32; 3]> {
    let [xs, ys, zs] = std::array::from_fn(|axis| first[axis]..=last[axis]);
    xs.flat_map(move |x| {
        let zs = zs.clone();
        ys.clone().flat_map(move |y| zs.clone().map(move |z| [x, y, z]))
    })
}

/// Intersects a box of points with the cube of `1 << bits` points per axis with the coordinates
/// `key`; `None` if they are disjoint. The flag tells whether the box contains the cube.
fn intersect(
    [first, last]: [[i32; 3]; 2],
    key: [i32; 3],
    bits: u32,
) -> Option<([[i32; 3]; 2], bool)> {
    let start = key.map(|x| x << bits);
    let end = start.map(|x| x + ((1 << bits) - 1));
    let low: [i32; 3] = std::array::from_fn(|axis| first[axis].max(start[axis]));
    let high: [i32; 3] = std::array::from_fn(|axis| last[axis].min(end[axis]));
    let is_empty = (0..3).any(|axis| low[axis] > high[axis]);
    (!is_empty).then_some(([low, high], low == start && high == end))
}

/// Returns the first and last point of the grid on which values in a box depend.
fn points(corners: [DVec3; 2]) -> [[i32; 3]; 2] {
    let limit = DVec3::splat(MAX_COORDINATE);
    let [first, last] = corners.map(|x| x.floor().clamp(-limit, limit));
    [first, last + 1.0].map(|p| p.to_array().map(|x| x as i32))
}

/// Returns the i-th of the eight points around a cell between points.
fn neighbour(cell: [i32; 3], i: usize) -> [i32; 3] {
    std::array::from_fn(|axis| cell[axis] + (i >> axis & 1) as i32)
}

impl SparseGrid {
    /// Creates a grid in which all values are the background.
    pub fn new(index_from_point: DAffine3, background: f32) -> SparseGrid {
        SparseGrid {
            index_from_point,
            background,
            regions: FxHashMap::default(),
            blocks: FxHashMap::default(),
            leaves: Vec::new(),
            leaf_ranges: Vec::new(),
        }
    }

    /// Sets a region of 4096 × 4096 × 4096 points around `p`, except for its blocks.
    pub fn set_region(&mut self, p: [i32; 3], value: f32) {
        self.regions.insert(shift(p, 12), value);
    }

    /// Sets the block of 128 × 128 × 128 points around `p`.
    pub fn set_block(&mut self, p: [i32; 3], value: f32) {
        self.blocks.insert(shift(p, 7), Block::Constant(value));
    }

    /// Sets the cell of 8 × 8 × 8 points around `p`.
    pub fn set_cell(&mut self, p: [i32; 3], value: f32) {
        *self.cell(p) = Cell::Constant(value);
    }

    /// Sets the points of the cell around `p`: z varies fastest, x slowest.
    pub fn set_leaf(&mut self, p: [i32; 3], values: [f32; LEAF_POINTS]) {
        let index = self.leaves.len() as u32;
        let range = values.iter().fold(range_tree::EMPTY, |range, &x| union(range, [x; 2]));
        self.leaves.push(values);
        self.leaf_ranges.push(range);
        *self.cell(p) = Cell::Leaf(index);
    }

    /// Returns a cell, to be changed.
    fn cell(&mut self, p: [i32; 3]) -> &mut Cell {
        let outside = self.outside_blocks(shift(p, 7));
        let block = self.blocks.entry(shift(p, 7)).or_insert(Block::Constant(outside));
        if let Block::Constant(value) = *block {
            let cells = vec![Cell::Constant(value); BLOCK_CELLS];
            *block = Block::Cells(Box::new(Cells { range: range_tree::EMPTY, cells }));
        }
        match block {
            Block::Cells(block) => &mut block.cells[offset(shift(p, 3), 4)],
            Block::Constant(_) => unreachable!("the block has cells now"),
        }
    }

    /// Computes the ranges of blocks, after all values are set.
    #[must_use]
    pub fn finish(mut self) -> SparseGrid {
        for block in self.blocks.values_mut() {
            if let Block::Cells(block) = block {
                block.range = block.cells.iter().fold(range_tree::EMPTY, |range, cell| {
                    union(
                        range,
                        match *cell {
                            Cell::Constant(value) => [value; 2],
                            Cell::Leaf(leaf) => self.leaf_ranges[leaf as usize],
                        },
                    )
                });
            }
        }
        self
    }

    /// Applies a function to all values.
    #[must_use]
    pub fn map(mut self, f: impl Fn(f32) -> f32) -> SparseGrid {
        self.background = f(self.background);
        self.regions.values_mut().for_each(|value| *value = f(*value));
        self.leaves.iter_mut().flatten().for_each(|value| *value = f(*value));
        for (range, values) in self.leaf_ranges.iter_mut().zip(&self.leaves) {
            *range = values.iter().fold(range_tree::EMPTY, |range, &x| union(range, [x; 2]));
        }
        for block in self.blocks.values_mut() {
            match block {
                Block::Constant(value) => *value = f(*value),
                Block::Cells(block) => block.cells.iter_mut().for_each(|cell| {
                    if let Cell::Constant(value) = cell {
                        *value = f(*value);
                    }
                }),
            }
        }
        self.finish()
    }

    /// Returns the value where there is no block.
    fn outside_blocks(&self, key: [i32; 3]) -> f32 {
        if self.regions.is_empty() {
            return self.background;
        }
        self.regions.get(&shift(key, 5)).copied().unwrap_or(self.background)
    }

    /// Returns the cell around a point.
    fn find(&self, p: [i32; 3]) -> Cell {
        let key = shift(p, 7);
        match self.blocks.get(&key) {
            None => Cell::Constant(self.outside_blocks(key)),
            Some(&Block::Constant(value)) => Cell::Constant(value),
            Some(Block::Cells(block)) => block.cells[offset(shift(p, 3), 4)],
        }
    }

    /// Returns a value of the grid.
    fn sample(&self, p: [i32; 3]) -> f32 {
        match self.find(p) {
            Cell::Constant(value) => value,
            Cell::Leaf(leaf) => self.leaves[leaf as usize][offset(p, 3)],
        }
    }

    /// Returns the value at a point.
    pub fn value(&self, p: Vec3) -> f32 {
        let index = self.index_from_point.transform_point3(p.as_dvec3());
        let base = index.floor();
        let t = (index - base).as_vec3();
        let corner = base.clamp(-DVec3::splat(MAX_COORDINATE), DVec3::splat(MAX_COORDINATE));
        let corner = corner.to_array().map(|x| x as i32);
        if corner.iter().all(|x| x & 7 != 7) {
            // All samples are in one cell.
            return match self.find(corner) {
                Cell::Constant(value) => value,
                Cell::Leaf(leaf) => {
                    let leaf = &self.leaves[leaf as usize];
                    trilinear(t, std::array::from_fn(|i| leaf[offset(neighbour(corner, i), 3)]))
                }
            };
        }
        trilinear(t, std::array::from_fn(|i| self.sample(neighbour(corner, i))))
    }

    /// Returns the range of values in a box.
    pub fn range(&self, b: Aabb) -> [f32; 2] {
        let corners = self.corners(b);
        if corners.iter().all(|corner| corner.abs().max_element() <= MAX_COORDINATE)
            && let Some(range) = bounds_in_cells(corners, |cell, i| self.sample(neighbour(cell, i)))
        {
            return range;
        }
        let points = points(corners);
        let keys = points.map(|p| shift(p, 7));
        let count = (0..3).map(|axis| i64::from(keys[1][axis]) - i64::from(keys[0][axis]) + 1);
        let count = count.fold(1i64, i64::saturating_mul);
        let mut out = range_tree::EMPTY;
        if count <= self.blocks.len() as i64 + 1 {
            for key in coordinates(keys) {
                match self.blocks.get(&key) {
                    None => out = union(out, [self.outside_blocks(key); 2]),
                    Some(block) => self.add_block(points, key, block, &mut out),
                }
            }
        } else {
            // There are more places than blocks, so some are empty.
            out = [self.background; 2];
            for (&key, &value) in &self.regions {
                if intersect(points, key, 12).is_some() {
                    out = union(out, [value; 2]);
                }
            }
            for (&key, block) in &self.blocks {
                self.add_block(points, key, block, &mut out);
            }
        }
        out
    }

    /// Returns the corners of a box around another, in the space of indices.
    fn corners(&self, b: Aabb) -> [DVec3; 2] {
        let (min, max) = (b.min.as_dvec3(), b.max.as_dvec3());
        let centre = self.index_from_point.transform_point3(0.5 * (min + max));
        let half = 0.5 * (max - min);
        let m = self.index_from_point.matrix3;
        let extent = m.x_axis.abs() * half.x + m.y_axis.abs() * half.y + m.z_axis.abs() * half.z;
        // Far more than the rounding errors of double precision.
        let magnitude = self.index_from_point.translation.abs() + centre.abs() + extent + 1.0;
        let extent = extent + 1e-9 * magnitude;
        [centre - extent, centre + extent]
    }

    /// Adds the range of the points of a block in a box.
    fn add_block(&self, points: [[i32; 3]; 2], key: [i32; 3], block: &Block, out: &mut [f32; 2]) {
        let is_known = |out: &[f32; 2], range: [f32; 2]| out[0] <= range[0] && range[1] <= out[1];
        let Some((points, is_whole)) = intersect(points, key, 7) else { return };
        let block = match block {
            Block::Constant(value) => return *out = union(*out, [*value; 2]),
            Block::Cells(block) => block,
        };
        if is_known(out, block.range) {
            return;
        }
        if is_whole {
            return *out = union(*out, block.range);
        }
        for cell in coordinates(points.map(|p| shift(p, 3))) {
            let leaf = match block.cells[offset(cell, 4)] {
                Cell::Constant(value) => {
                    *out = union(*out, [value; 2]);
                    continue;
                }
                Cell::Leaf(leaf) => leaf as usize,
            };
            let range = self.leaf_ranges[leaf];
            if is_known(out, range) {
                continue;
            }
            match intersect(points, cell, 3) {
                Some((_, true)) => *out = union(*out, range),
                Some((points, false)) => {
                    for p in coordinates(points) {
                        *out = union(*out, [self.leaves[leaf][offset(p, 3)]; 2]);
                    }
                }
                None => unreachable!("the cell is in the box"),
            }
        }
    }

    /// Returns the memory that the values need, bytes.
    pub fn memory_bytes(&self) -> usize {
        self.leaves.len() * size_of::<[f32; LEAF_POINTS]>()
            + self.blocks.len() * BLOCK_CELLS * size_of::<Cell>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::{DMat3, DQuat};
    use lightbound_math::vec3;
    use proptest::prelude::*;

    /// A hash of coordinates.
    fn hash(p: [i32; 3]) -> f32 {
        let [x, y, z] = p.map(|x| x as u32);
        let n =
            x.wrapping_mul(73_856_093) ^ y.wrapping_mul(19_349_663) ^ z.wrapping_mul(83_492_791);
        (n.wrapping_mul(0x9e37_79b9) >> 16) as f32
    }

    /// A grid with leaves, constant cells, blocks and regions around the origin.
    fn grid(index_from_point: DAffine3) -> SparseGrid {
        let mut grid = SparseGrid::new(index_from_point, 0.5);
        grid.set_region([5000, 0, 0], 7.0);
        grid.set_block([-1, -1, -1], 3.0);
        grid.set_cell([129, 3, 9], 2.0);
        for cell in coordinates([[-3, -2, -1], [1, 2, 3]]) {
            if hash(cell) < 30000.0 {
                let origin = cell.map(|x| 8 * x);
                let values = coordinates([origin, origin.map(|x| x + 7)]).map(hash);
                let values: Vec<f32> = values.collect();
                grid.set_leaf(origin, values.try_into().unwrap());
            }
        }
        grid.finish()
    }

    #[test]
    fn values_are_found_at_all_levels() {
        let grid = grid(DAffine3::IDENTITY);
        assert_eq!(grid.sample([5000, 4095, 1]), 7.0);
        assert_eq!(grid.sample([4095, 0, 0]), 0.5);
        assert_eq!(grid.sample([-100, -100, -100]), 3.0);
        assert_eq!([grid.sample([128, 0, 8]), grid.sample([135, 7, 15])], [2.0; 2]);
        assert_eq!(grid.sample([136, 0, 8]), 0.5);
        let leaf = coordinates([[-3, -2, -1], [1, 2, 3]]).find(|&cell| hash(cell) < 30000.0);
        let origin = leaf.unwrap().map(|x| 8 * x);
        for p in coordinates([origin, origin.map(|x| x + 7)]) {
            assert_eq!(grid.sample(p), hash(p));
            assert_eq!(grid.value(Vec3::from_array(p.map(|x| x as f32))), hash(p));
        }
        let doubled = grid.map(|x| 2.0 * x);
        assert_eq!(doubled.sample([5000, 4095, 1]), 14.0);
        assert_eq!(doubled.sample(origin), 2.0 * hash(origin));
        let everything = Aabb { min: Vec3::splat(-1e30), max: Vec3::splat(1e30) };
        let [low, high] = doubled.range(everything);
        assert!(low <= 1.0, "{low}");
        assert!(high > 100_000.0, "{high}");
    }

    #[test]
    fn values_between_points_are_interpolated() {
        let mut grid = SparseGrid::new(DAffine3::from_scale(DVec3::splat(2.0)), 0.0);
        let mut values = [0.0; LEAF_POINTS];
        // The last point of the leaf along x.
        values[7 << 6] = 1.0;
        grid.set_leaf([0; 3], values);
        let grid = grid.finish();
        for (x, expected) in [(3.0, 0.0), (3.25, 0.5), (3.5, 1.0), (3.75, 0.5), (4.0, 0.0)] {
            assert_eq!(grid.value(vec3(x, 0.0, 0.0)), expected, "{x}");
        }
        assert_eq!(grid.value(vec3(3.5, -0.25, 0.125)), 0.375);
    }

    #[test]
    fn ranges_tighten_between_points() {
        let grid = grid(DAffine3::IDENTITY);
        let leaf = coordinates([[-3, -2, -1], [1, 2, 3]]).find(|&cell| hash(cell) < 30000.0);
        let min = Vec3::from_array(leaf.unwrap().map(|x| 8.0 * x as f32 + 0.75));
        let [low, high] = grid.range(Aabb { min, max: min + 1e-3 });
        assert!(high - low < 300.0, "{low}..{high}");
    }

    proptest! {
        #[test]
        fn ranges_contain_all_values(
            centre in prop::array::uniform3(-40.0f32..40.0),
            size in prop::array::uniform3((0.0f32..30.0, -20i32..=0)),
            angle in 0.0..6.0f64,
            points in prop::collection::vec(prop::array::uniform3(0.0f32..=1.0), 50),
        ) {
            let rotation = DMat3::from_quat(DQuat::from_rotation_z(angle) * DQuat::from_rotation_x(0.4));
            let grid = grid(DAffine3 { matrix3: 1.7 * rotation, translation: DVec3::new(3.0, -2.0, 0.1) });
            let min = Vec3::from_array(centre);
            let size = Vec3::from_array(size.map(|(size, exponent)| size * 2f32.powi(exponent)));
            let b = Aabb { min, max: min + size };
            let [low, high] = grid.range(b);
            for unit in points {
                let p = (b.min + size * Vec3::from_array(unit)).min(b.max);
                let value = grid.value(p);
                prop_assert!(low <= value && value <= high, "{value} is not in {low}..{high}");
            }
        }

        #[test]
        fn ranges_of_aligned_boxes_are_tight(
            first in prop::array::uniform3(-60i32..60),
            size in prop::array::uniform3(3i32..90),
        ) {
            let grid = grid(DAffine3::IDENTITY);
            let last: [i32; 3] = std::array::from_fn(|axis| first[axis] + size[axis]);
            let corner = |p: [i32; 3], offset: f32| {
                Vec3::from_array(p.map(|x| x as f32)) + offset
            };
            let b = Aabb { min: corner(first, 0.25), max: corner(last, -0.25) };
            let mut expected = range_tree::EMPTY;
            for p in coordinates([first, last]) {
                expected = union(expected, [grid.sample(p); 2]);
            }
            prop_assert_eq!(grid.range(b), expected);
        }
    }
}
