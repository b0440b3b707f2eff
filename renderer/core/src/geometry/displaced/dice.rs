//! Vertices and boxes of nodes.

use super::DisplacedSurface;
use super::base::{Attributes, MAX_LEVEL, Place};
use super::grid::{CachedNode, DICED_LEVEL, MAX_BOXES, NodeKey, with_node};
use super::node::Node;
use super::program::{Program, ProgramScratch};
use lightbound_math::{Aabb, Vec3};

/// Buffers for dicing.
pub(super) struct DiceScratch {
    pub program: ProgramScratch,
    rows: Vec<Attributes>,
    positions: Vec<Vec3>,
    vertices: Vec<Vec3>,
    /// For each vertex, the number of its rows; 0 for those of the base mesh.
    counts: Vec<u8>,
}

impl DiceScratch {
    pub fn new(program: &Program) -> DiceScratch {
        DiceScratch {
            program: program.scratch(),
            rows: vec![],
            positions: vec![],
            vertices: vec![],
            counts: vec![],
        }
    }
}

impl DisplacedSurface {
    /// Calls `f` with a node of the thread's cache.
    pub(super) fn cached<R>(
        &self,
        triangle: u32,
        node: Node,
        f: impl FnOnce(&CachedNode) -> R,
    ) -> R {
        let key = NodeKey { shape: self.scratch, triangle, node };
        with_node(key, |cached| self.fill(triangle, node, cached), f)
    }

    fn fill(&self, triangle: u32, node: Node, cached: &mut CachedNode) {
        let level = node.level();
        if level > DICED_LEVEL {
            cached.levels = if level == DICED_LEVEL + 1 { 1 } else { 2 };
            let descendants =
                (0..1 << (2 * cached.levels)).map(|index| node.descendant(index, cached.levels));
            let descendants: Vec<_> = descendants.collect();
            for (k, b) in self.node_boxes(triangle, &descendants).iter().enumerate() {
                cached.boxes.set(k, b);
            }
            return;
        }
        // Each box has the micro-triangles of a node of level 1.
        cached.levels = level.saturating_sub(1);
        self.with_vertices(triangle, node, |vertices| {
            cached.vertices[..vertices.len()].copy_from_slice(vertices);
        });
        for index in 0..1 << (2 * cached.levels) {
            let part = node.descendant(index, cached.levels);
            let vertices = part.vertices().map(|v| cached.vertices[node.vertex_index(v)]);
            cached.boxes.set(index as usize, &Aabb::around(vertices));
        }
        const { assert!(1 << (2 * (DICED_LEVEL - 1)) <= MAX_BOXES) };
    }

    /// Calls `f` with the vertices of a node in the order of [`Node::vertex_index`].
    pub(super) fn with_vertices<R>(
        &self,
        triangle: u32,
        node: Node,
        f: impl FnOnce(&[Vec3]) -> R,
    ) -> R {
        self.scratch.with(
            || DiceScratch::new(&self.program),
            |scratch| {
                let DiceScratch { program, rows, positions, vertices, counts } = scratch;
                rows.clear();
                counts.clear();
                vertices.clear();
                for vertex in node.vertices() {
                    let (place, vertex) = self.base.place(triangle, vertex);
                    let before = rows.len();
                    let mut corner = Vec3::ZERO;
                    match place {
                        Place::Corner(v) => corner = self.corners[v as usize],
                        Place::Inside => rows.push(self.base.inside_at(triangle, vertex)),
                        Place::Edge(edge, fraction) => {
                            self.base.on_edge_at(triangle, edge, fraction, |row| rows.push(row));
                        }
                    }
                    vertices.push(corner);
                    counts.push((rows.len() - before) as u8);
                }
                self.program.positions(rows, program, positions);
                let mut next = 0;
                for (vertex, &count) in
                    vertices.iter_mut().zip(&*counts).filter(|(_, count)| **count > 0)
                {
                    let count = usize::from(count);
                    *vertex = self.mean_position(&positions[next..next + count]);
                    next += count;
                }
                f(vertices)
            },
        )
    }

    /// The mean of positions in object space, in the parent space.
    pub(super) fn mean_position(&self, positions: &[Vec3]) -> Vec3 {
        let mean = match positions {
            [one] => one.as_dvec3(),
            all => all.iter().map(|p| p.as_dvec3()).sum::<glam::DVec3>() / all.len() as f64,
        };
        self.object_transform.point(mean)
    }

    /// Returns boxes of the vertices of nodes of a triangle, in the parent space.
    pub(super) fn node_boxes(&self, triangle: u32, nodes: &[Node]) -> Vec<Aabb> {
        let mut rows = Vec::with_capacity(nodes.len());
        let mut counts = Vec::with_capacity(nodes.len());
        for &node in nodes {
            let before = rows.len();
            self.base.boxes(triangle, node, |row| rows.push(row));
            counts.push(rows.len() - before);
        }
        let bounds = self.program.bounds(&rows);
        let mut next = 0;
        let boxes = std::iter::zip(nodes, counts).map(|(&node, count)| {
            let bounds = &bounds[next..next + count];
            next += count;
            self.node_box(triangle, node, bounds)
        });
        boxes.collect()
    }

    /// Returns a box of the vertices of a node, given bounds on their positions in object space.
    fn node_box(&self, triangle: u32, node: Node, bounds: &[Aabb]) -> Aabb {
        let is_finite = |b: &Aabb| b.min.is_finite() && b.max.is_finite();
        if !bounds.iter().all(is_finite) {
            return self.box_of_parts(triangle, node);
        }
        let all = bounds.iter().fold(Aabb::EMPTY, |all, b| all.union(*b));
        let of_rows = self.object_transform.aabb(all.min.as_dvec3(), all.max.as_dvec3(), None);
        node.corners().into_iter().fold(of_rows, |all, corner| {
            match self.base.place(triangle, corner).0 {
                Place::Corner(v) => all.union(Aabb::around([self.corners[v as usize]])),
                _ => all,
            }
        })
    }

    /// Returns a box of the vertices of a node that has no bounds: that of its children, or of its
    /// vertices.
    fn box_of_parts(&self, triangle: u32, node: Node) -> Aabb {
        if node.level() <= DICED_LEVEL {
            return self.with_vertices(triangle, node, hull);
        }
        let children: [_; 4] = std::array::from_fn(|k| node.descendant(k as u32, 1));
        let boxes = self.node_boxes(triangle, &children);
        boxes.into_iter().fold(Aabb::EMPTY, Aabb::union)
    }
}

/// A box of vertices, infinite if one of them is not finite.
pub(super) fn hull(vertices: &[Vec3]) -> Aabb {
    match vertices.iter().all(|p| p.is_finite()) {
        true => Aabb::around(vertices.iter().copied()),
        false => Aabb { min: Vec3::NEG_INFINITY, max: Vec3::INFINITY },
    }
}

const _: () = assert!(MAX_LEVEL < 16, "coordinates are exact in single precision");
