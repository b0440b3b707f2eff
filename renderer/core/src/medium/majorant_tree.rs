//! Majorants and minorants of a medium's density: an octree of boxes.
//!
//! Cells in which rays may have null collisions are split, the most wasteful first, until a budget
//! of nodes is spent. Then cells are merged again unless the expected cost of rays is lower with
//! them, as bounds that do not improve are not worth a cell. Work is counted and not timed, so the
//! tree, and with it each pixel, is the same on all machines.

use super::Field;
use super::range_tree::union;
use lightbound_math::{Aabb, Transform, Vec3};
use rayon::prelude::*;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Bounds on the density of a medium.
#[derive(Clone, Debug)]
pub struct MajorantTree {
    /// The box of the medium; `None` if it is everywhere.
    bounds: Option<Aabb>,
    /// The root comes first, and the children of a node are consecutive: bit k of their position is
    /// set in the upper half of axis k.
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    /// Minimum and maximum of the density.
    density: [f32; 2],
    /// Index of the first child; 0 in leaves.
    children: u32,
}

/// A part of a ray within one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Ray parameters of its ends.
    pub t: [f32; 2],
    /// The cell; see [`MajorantTree::cell`].
    pub cell: Cell,
    /// Minimum and maximum of the density in the cell.
    pub density: [f32; 2],
}

/// A cell of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Depth below the root.
    level: u16,
    /// Position among the cells of the level.
    position: [u16; 3],
}

/// The segments of a ray, from its start to its end. Cells without a medium are left out.
#[derive(Clone, Debug)]
pub struct Segments<'a> {
    tree: &'a MajorantTree,
    o: Vec3,
    d: Vec3,
    inverse_d: Vec3,
    t: [f32; 2],
    /// The inner nodes around the current point, from the root on.
    path: [Inner; MAX_LEVEL as usize],
    /// Position of the last one among the cells of its level.
    position: [u16; 3],
    /// Number of nodes in `path`.
    depth: usize,
}

/// An inner node that the ray crosses.
#[derive(Clone, Copy, Debug, Default)]
struct Inner {
    /// Index of the first child.
    children: u32,
    /// Ray parameter where the ray leaves it.
    exit: f32,
}

/// How a tree is built.
#[derive(Clone, Copy, Debug)]
pub struct TreeOptions {
    /// Greatest number of nodes while it is built.
    pub max_nodes: usize,
    /// Greatest depth, at most 12.
    pub max_level: u32,
    /// Cost of crossing a cell, relative to that of a tentative collision. With 0, cells are split
    /// while the bounds differ.
    pub cell_cost: f32,
}

/// A leaf that may be split. The greatest is the most wasteful.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Candidate {
    /// Volume relative to the root × difference of maximum and minimum.
    priority: f32,
    node: u32,
    /// Depth below the root.
    level: u32,
    /// Position among the cells of the level.
    position: [u32; 3],
}

/// Greatest depth of all trees.
const MAX_LEVEL: u32 = 12;

/// The box of a medium without bounds.
const EVERYWHERE: Aabb = Aabb { min: Vec3::splat(f32::MIN), max: Vec3::splat(f32::MAX) };

/// Cells are split if eight children could be worth their cost divided by this: those below them
/// tighten the bounds further, and `merge` removes what does not pay.
const LOOKAHEAD: f32 = 4.0;

/// Number of boxes that are bounded together.
const CHUNK: usize = 256;

impl Segment {
    /// No part of a ray.
    pub const EMPTY: Segment =
        Segment { t: [0.0; 2], cell: Cell { level: 0, position: [0; 3] }, density: [0.0; 2] };
}

impl Default for TreeOptions {
    /// Trees of at most 6 MB. Costs were measured with the `media` benchmark.
    fn default() -> TreeOptions {
        TreeOptions { max_nodes: 1 << 19, max_level: MAX_LEVEL, cell_cost: 2.0 }
    }
}

impl MajorantTree {
    /// Builds the tree of a field. `transform` is that from the medium's own space to render space.
    pub fn build(field: &dyn Field, transform: &Transform, options: TreeOptions) -> MajorantTree {
        let TreeOptions { max_nodes, max_level, cell_cost } = options;
        let bounds = field.bounds();
        let root = density_bounds(field, &[bounds.unwrap_or(EVERYWHERE)])[0];
        let root = Node { density: root, children: 0 };
        let mut tree = MajorantTree { bounds, nodes: vec![root] };
        let Some(bounds) = bounds else { return tree };
        // Mean number of tentative collisions in the root, per unit of density.
        let depth = mean_chord(&bounds, transform) * field.extinction().max_element();
        let candidate = |nodes: &[Node], node: u32, level: u32, position: [u32; 3]| {
            let [min, max] = nodes[node as usize].density;
            let cells = (1u32 << level) as f32;
            let priority = (max - min) / (cells * cells * cells);
            let splits = level < max_level && (max - min) * depth * LOOKAHEAD > cell_cost * cells;
            splits.then_some(Candidate { priority, node, level, position })
        };
        let mut candidates = BinaryHeap::from_iter(candidate(&tree.nodes, 0, 0, [0; 3]));
        let mut split = Vec::new();
        while let Some(first) = candidates.peek() {
            // The children of the first have at most this priority.
            let min_priority = first.priority / 8.0;
            split.clear();
            let budget = (max_nodes - tree.nodes.len().min(max_nodes)) / 8;
            while let Some(next) = candidates.peek()
                && next.priority >= min_priority
                && split.len() < budget
            {
                split.extend(candidates.pop());
            }
            if split.is_empty() {
                break;
            }
            let boxes: Vec<Aabb> = split
                .iter()
                .flat_map(|parent| (0..8).map(|child| cell(&bounds, parent.child(child))))
                .collect();
            let densities = density_bounds(field, &boxes);
            for (parent, densities) in split.iter().zip(densities.chunks_exact(8)) {
                let children = tree.nodes.len() as u32;
                let [min, max] = tree.nodes[parent.node as usize].density;
                tree.nodes[parent.node as usize].children = children;
                tree.nodes.extend(densities.iter().map(|density| Node {
                    density: [density[0].max(min), density[1].min(max)],
                    children: 0,
                }));
                candidates.extend((0..8).filter_map(|child| {
                    let (level, position) = parent.child(child);
                    candidate(&tree.nodes, children + child, level, position)
                }));
            }
        }
        tree.merge(depth, cell_cost);
        tree
    }

    /// Merges cells unless rays are cheaper with them: the surface area heuristic of ray tracing.
    /// `depth` is the mean number of tentative collisions of a ray across the root, per unit of
    /// density.
    fn merge(&mut self, depth: f32, cell_cost: f32) {
        // Children come after their parents. A ray that crosses a node crosses each child with a
        // probability of 1/4, the ratio of their surface areas.
        let mut levels = vec![0u32; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.children != 0) {
            let children = node.children as usize;
            let level = levels[index] + 1;
            levels[children..children + 8].fill(level);
        }
        let mut costs = vec![0.0f32; self.nodes.len()];
        for index in (0..self.nodes.len()).rev() {
            let Node { density, children } = self.nodes[index];
            if children != 0 {
                // Bounds on the children are tighter together than those on their parent.
                let children = &self.nodes[children as usize..][..8];
                let ranges = children.iter().map(|child| child.density);
                self.nodes[index].density = ranges.reduce(union).unwrap_or(density);
            }
            let [_, max] = self.nodes[index].density;
            let as_leaf = cell_cost + max * depth / (1u32 << levels[index]) as f32;
            costs[index] = as_leaf;
            if children != 0 {
                let split = costs[children as usize..][..8].iter().sum::<f32>() / 4.0;
                costs[index] = split.min(as_leaf);
                if as_leaf <= split {
                    self.nodes[index].children = 0;
                }
            }
        }
        // Leave out nodes that nothing refers to. The order stays the same.
        let mut nodes = vec![self.nodes[0]];
        let mut next = 0;
        while next < nodes.len() {
            if nodes[next].children != 0 {
                let children = nodes[next].children as usize;
                nodes[next].children = nodes.len() as u32;
                nodes.extend_from_slice(&self.nodes[children..children + 8]);
            }
            next += 1;
        }
        self.nodes = nodes;
    }

    /// Returns the minimum and maximum of the density within the medium.
    pub fn density_range(&self) -> [f32; 2] {
        self.nodes[0].density
    }

    /// Returns the number of cells: leaves of the tree.
    pub fn cells(&self) -> usize {
        self.nodes.iter().filter(|node| node.children == 0).count()
    }

    /// Returns the mean of the minima and of the maxima over the volume of the medium.
    pub fn mean_density_range(&self) -> [f64; 2] {
        self.mean_of(0)
    }

    fn mean_of(&self, node: u32) -> [f64; 2] {
        let Node { density, children } = self.nodes[node as usize];
        if children == 0 {
            return density.map(f64::from);
        }
        (children..children + 8)
            .map(|child| self.mean_of(child))
            .fold([0.0; 2], |sum, mean| [sum[0] + mean[0] / 8.0, sum[1] + mean[1] / 8.0])
    }

    /// Returns the box of a cell, in the medium's own space.
    pub fn cell(&self, Cell { level, position }: Cell) -> Aabb {
        let bounds = self.bounds.unwrap_or(EVERYWHERE);
        match level {
            0 => bounds,
            _ => cell(&bounds, (u32::from(level), position.map(u32::from))),
        }
    }

    /// Returns the segments between the parameters `t` of a ray in the medium's own space. `d` need
    /// not be a unit vector.
    pub fn segments(&self, o: Vec3, d: Vec3, t: [f32; 2]) -> Segments<'_> {
        let t = match self.bounds {
            None => t,
            Some(bounds) => {
                let (a, b) = ((bounds.min - o) / d, (bounds.max - o) / d);
                let (near, far) = (a.min(b).max_element(), a.max(b).min_element());
                [near.max(t[0]), far.min(t[1])]
            }
        };
        let mut path = [Inner::default(); MAX_LEVEL as usize];
        let children = self.nodes[0].children;
        path[0] = Inner { children, exit: t[1] };
        let depth = usize::from(children != 0);
        Segments { tree: self, o, d, inverse_d: 1.0 / d, t, path, position: [0; 3], depth }
    }
}

/// Returns the mean length of rays across a transformed box: four times its volume over its surface
/// area.
fn mean_chord(bounds: &Aabb, transform: &Transform) -> f32 {
    let size = bounds.max - bounds.min;
    let [x, y, z] =
        [size.x * Vec3::X, size.y * Vec3::Y, size.z * Vec3::Z].map(|edge| transform.vector(edge));
    let faces = [x.cross(y), y.cross(z), z.cross(x)];
    let area = 2.0 * faces.map(Vec3::length).iter().sum::<f32>();
    let chord = 4.0 * faces[0].dot(z).abs() / area;
    if chord.is_finite() { chord } else { f32::MAX }
}

/// Bounds the density in boxes. An unknown density has no bounds.
fn density_bounds(field: &dyn Field, boxes: &[Aabb]) -> Vec<[f32; 2]> {
    let chunk = |boxes: &[Aabb]| {
        let mut out = Vec::with_capacity(boxes.len());
        field.density_bounds(boxes, &mut out);
        out
    };
    let mut all: Vec<[f32; 2]> = boxes.par_chunks(CHUNK).flat_map_iter(chunk).collect();
    for [min, max] in &mut all {
        *min = min.max(0.0);
        *max = if max.is_nan() { f32::INFINITY } else { max.max(0.0) };
    }
    all
}

/// Returns the cell at a position of a level.
fn cell(bounds: &Aabb, (level, position): (u32, [u32; 3])) -> Aabb {
    let corner = |offset: u32| {
        Vec3::from_array(std::array::from_fn(|axis| {
            plane(bounds, axis, position[axis] + offset, level)
        }))
    };
    Aabb { min: corner(0), max: corner(1) }
}

/// Returns the coordinate of the lower face of a cell at a position of a level. Cells of different
/// levels share their faces exactly.
#[inline]
fn plane(bounds: &Aabb, axis: usize, position: u32, level: u32) -> f32 {
    let (min, max) = (bounds.min[axis], bounds.max[axis]);
    let cells = 1u32 << level;
    if position == cells { max } else { inner_plane([min, max], position, level) }
}

/// [`plane`] between two cells.
#[inline]
fn inner_plane([min, max]: [f32; 2], position: u32, level: u32) -> f32 {
    // 2⁻ˡ, as a product with it is exact.
    let size = f32::from_bits((127 - level) << 23);
    (min + (max - min) * (position as f32 * size)).min(max)
}

impl Candidate {
    /// Returns level and position of a child.
    fn child(&self, child: u32) -> (u32, [u32; 3]) {
        let position = std::array::from_fn(|axis| 2 * self.position[axis] + ((child >> axis) & 1));
        (self.level + 1, position)
    }
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Candidate) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Candidate) -> Ordering {
        // Of equal cells, the older one is first.
        self.priority.total_cmp(&other.priority).then(other.node.cmp(&self.node))
    }
}

impl Segments<'_> {
    /// Finds the leaf at the current point of the ray, up to where the ray leaves it.
    #[inline]
    fn locate(&mut self) -> Segment {
        let t = self.t[0];
        let nodes = &self.tree.nodes;
        let bounds = self.tree.bounds.unwrap_or(EVERYWHERE);
        // Up to the smallest node that contains the point, then down.
        while self.depth > 1 && self.path[self.depth - 1].exit <= t {
            self.depth -= 1;
            self.position = self.position.map(|position| position / 2);
        }
        if self.depth == 0 {
            return Segment { t: self.t, cell: Cell::default(), density: nodes[0].density };
        }
        loop {
            let Inner { children, mut exit } = self.path[self.depth - 1];
            let position = self.position;
            let level = self.depth as u32;
            let mut child = 0;
            let position: [u16; 3] = std::array::from_fn(|axis| {
                let ends = [bounds.min[axis], bounds.max[axis]];
                let middle = inner_plane(ends, 2 * u32::from(position[axis]) + 1, level);
                let crossing = (middle - self.o[axis]) * self.inverse_d[axis];
                let is_upper = match self.d[axis] {
                    d if d > 0.0 => crossing <= t,
                    d if d < 0.0 => crossing > t,
                    _ => self.o[axis] >= middle,
                };
                // Without progress along the axis, the crossing is infinite or NaN.
                if crossing > t {
                    exit = exit.min(crossing);
                }
                child |= u32::from(is_upper) << axis;
                2 * position[axis] + u16::from(is_upper)
            });
            let node = nodes[(children + child) as usize];
            if node.children == 0 {
                let cell = Cell { level: level as u16, position };
                return Segment { t: [t, exit], cell, density: node.density };
            }
            self.path[self.depth] = Inner { children: node.children, exit };
            self.position = position;
            self.depth += 1;
        }
    }
}

impl Iterator for Segments<'_> {
    type Item = Segment;

    fn next(&mut self) -> Option<Segment> {
        while self.t[0] < self.t[1] {
            let segment = self.locate();
            self.t[0] = segment.t[1];
            if segment.density[1] > 0.0 {
                return Some(segment);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medium::MediumPoint;
    use glam::{DAffine3, DVec3};
    use lightbound_math::vec3;
    use proptest::prelude::*;

    const BOX: Aabb = Aabb { min: vec3(-1.0, 0.0, 2.0), max: vec3(3.0, 1.0, 2.5) };

    /// A ball of density 1 in a thin haze, with bounds that are exact.
    #[derive(Debug)]
    struct Ball {
        center: Vec3,
        radius: f32,
        haze: f32,
    }

    impl Ball {
        fn density(&self, p: Vec3) -> f32 {
            if (p - self.center).length_squared() <= self.radius * self.radius {
                1.0
            } else {
                self.haze
            }
        }
    }

    impl Field for Ball {
        fn bounds(&self) -> Option<Aabb> {
            Some(BOX)
        }

        fn emits(&self) -> bool {
            false
        }

        fn extinction(&self) -> Vec3 {
            vec3(100.0, 10.0, 1.0)
        }

        fn density_bounds(&self, boxes: &[Aabb], out: &mut Vec<[f32; 2]>) {
            out.clear();
            out.extend(boxes.iter().map(|b| {
                let farthest = (b.min - self.center).abs().max((b.max - self.center).abs());
                let nearest = self.center.max(b.min).min(b.max);
                [self.density(self.center + farthest), self.density(nearest)]
            }));
        }

        fn evaluate(&self, points: &[Vec3], out: &mut Vec<MediumPoint>) {
            out.clear();
            out.extend(points.iter().map(|&p| MediumPoint {
                extinction: self.extinction() * self.density(p),
                ..MediumPoint::default()
            }));
        }
    }

    fn tree(ball: &Ball, max_nodes: usize, cell_cost: f32) -> MajorantTree {
        let options = TreeOptions { max_nodes, cell_cost, ..TreeOptions::default() };
        MajorantTree::build(ball, &Transform::IDENTITY, options)
    }

    #[test]
    fn cells_follow_the_density() {
        let ball = Ball { center: vec3(1.0, 0.5, 2.25), radius: 0.2, haze: 0.0 };
        let volume = 4.0 / 3.0 * std::f64::consts::PI * 0.008 / 2.0;
        let mut last = f64::INFINITY;
        for max_nodes in [1, 100, 1000, 10_000, 100_000] {
            let tree = tree(&ball, max_nodes, 0.0);
            assert!(tree.nodes.len() <= max_nodes);
            assert_eq!(tree.density_range(), [0.0, 1.0]);
            let [min, max] = tree.mean_density_range();
            assert!(min <= volume && volume <= max && max <= last);
            last = max;
        }
        assert!(last < 1.15 * volume, "{last} {volume}");
    }

    #[test]
    fn thin_media_have_one_cell() {
        let ball = Ball { center: vec3(1.0, 0.5, 2.25), radius: 0.2, haze: 0.0 };
        let scaled = |scale: f64| {
            let map = DAffine3::from_scale(DVec3::splat(scale));
            let transform = Transform::new(map).expect("the map is invertible");
            MajorantTree::build(&ball, &transform, TreeOptions::default())
        };
        // The mean chord has an optical depth of 61.
        assert_eq!(scaled(1.0 / 31.0).cells(), 1);
        assert!(scaled(10.0).cells() > 100);
    }

    proptest! {
        #[test]
        fn segments_cover_the_ray_and_bound_the_density(
            center in prop::array::uniform3(0.0f32..=1.0),
            ends in prop::array::uniform2(prop::array::uniform3(-0.5f32..=1.5)),
            axis in 0usize..4,
            steps in prop::collection::vec(0.0f32..=1.0, 8),
            haze in prop::sample::select(vec![0.0, 0.25]),
        ) {
            let at = |unit: [f32; 3]| BOX.min + (BOX.max - BOX.min) * Vec3::from_array(unit);
            let ball = Ball { center: at(center), radius: 0.3, haze };
            let tree = tree(&ball, 2000, 0.0);
            let [o, mut end] = ends.map(at);
            if axis < 3 {
                let moved = end[axis];
                end = o;
                end[axis] = moved;
            }
            let d = end - o;
            prop_assume!(d != Vec3::ZERO);
            let mut covered = 0.0;
            let mut last = 0.0;
            for segment in tree.segments(o, d, [0.0, 1.0]) {
                let [start, end] = segment.t;
                prop_assert!(last <= start && start < end && end <= 1.0);
                if haze > 0.0 {
                    prop_assert!(covered == 0.0 || last == start);
                }
                (covered, last) = (covered + end - start, end);
                for step in &steps {
                    let p = o + (start + step * (end - start)) * d;
                    let cell = tree.cell(segment.cell);
                    let inside = p.max(cell.min).min(cell.max);
                    prop_assert!((p - inside).length() < 1e-5);
                    let density = ball.density(inside);
                    prop_assert!(segment.density[0] <= density && density <= segment.density[1]);
                }
            }
            // Points outside of all segments have no density.
            let inside = |p: Vec3| p.cmpge(BOX.min).all() && p.cmple(BOX.max).all();
            let expected = (0..1000).filter(|i| inside(o + (*i as f32 + 0.5) / 1000.0 * d)).count();
            if haze > 0.0 {
                prop_assert!((covered - expected as f32 / 1000.0).abs() < 2.1e-3);
            } else {
                prop_assert!(covered <= expected as f32 / 1000.0 + 2.1e-3);
            }
        }
    }
}
