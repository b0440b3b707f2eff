//! The mesh that is displaced: attributes of its vertices, and those of the micro-vertices between.
//!
//! No cracks open, since triangles on both sides of an edge compute the same vertices on it. They
//! have the same number of vertices there, which depends on the length of the edge alone; a
//! triangle with more vertices inside moves those on the edge back to the previous common one.
//! Their attributes are interpolated from the same end of the edge. Where several vertices with
//! different attributes are at the same position, as along seams of texture coordinates, a
//! micro-vertex is the mean of the displaced positions for all of them.

use super::node::Node;
use crate::geometry::MeshError;
use crate::geometry::displacement::DisplacedMesh;
use crate::geometry::mesh::{double_area, validate};
use lightbound_math::{Vec2, Vec3};
use rustc_hash::FxHashMap;

/// Inputs of a displacement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Attributes {
    pub uv: Vec2,
    pub p: Vec3,
    /// The normal, not of unit length.
    pub n: Vec3,
}

/// Lower and upper endpoints of attributes.
pub(super) type AttributeBox = [Attributes; 2];

/// An edge of a base triangle. Its *start* is the end whose position comes first in an order that
/// does not depend on the triangle.
#[derive(Clone, Copy, Debug)]
struct Edge {
    /// Binary logarithm of the number of micro-edges.
    level: u8,
    /// Whether the start is the second end in the order of the triangle.
    is_reversed: bool,
    /// Index into [`Base::seams`], or [`NO_SEAM`].
    seam: u32,
}

const NO_SEAM: u32 = u32::MAX;

/// Greatest binary logarithm of the number of micro-edges on an edge.
pub(super) const MAX_LEVEL: u32 = 14;

/// Where a micro-vertex is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    /// A vertex of the base mesh.
    Corner(u32),
    /// On an edge of the triangle, at a fraction of the distance from its start.
    Edge(usize, f32),
    Inside,
}

/// A mesh to displace, in object space.
#[derive(Clone, Debug)]
pub(super) struct Base {
    pub positions: Vec<Vec3>,
    pub normals: Vec<Vec3>,
    pub uvs: Vec<Vec2>,
    pub triangles: Vec<[u32; 3]>,
    /// Whether the vertices had normals, which determine the front.
    pub has_normals: bool,
    edges: Vec<[Edge; 3]>,
    /// For each edge with several pairs of attributes, those of its start and its end.
    seams: Vec<Vec<[Attributes; 2]>>,
}

impl Attributes {
    fn bits(&self) -> [u32; 8] {
        let Attributes { uv, p, n } = self;
        [uv.x, uv.y, p.x, p.y, p.z, n.x, n.y, n.z].map(|x| (x + 0.0).to_bits())
    }

    fn map2(a: Self, b: Self, f: impl Fn(Vec3, Vec3) -> Vec3) -> Attributes {
        let uv = f(a.uv.extend(0.0), b.uv.extend(0.0)).truncate();
        Attributes { uv, p: f(a.p, b.p), n: f(a.n, b.n) }
    }

    fn scaled(self, factor: f32) -> Attributes {
        Attributes { uv: factor * self.uv, p: factor * self.p, n: factor * self.n }
    }

    fn plus(self, other: Attributes) -> Attributes {
        Attributes::map2(self, other, |a, b| a + b)
    }

    fn between([a, b]: [Attributes; 2], fraction: f32) -> Attributes {
        a.scaled(1.0 - fraction).plus(b.scaled(fraction))
    }

    /// A box of all floats that interpolation between some of the given attributes may return.
    /// `magnitude` has the greatest magnitudes of the attributes that are interpolated.
    fn hull(all: &[Attributes], magnitude: Attributes) -> AttributeBox {
        // Two products and two sums are wrong by at most 3 · 2⁻²⁴, here and there.
        let pad = magnitude.scaled(4.0 * f32::EPSILON);
        let first = all[0];
        let (low, high) = all[1..].iter().fold((first, first), |(low, high), &a| {
            (Attributes::map2(low, a, Vec3::min), Attributes::map2(high, a, Vec3::max))
        });
        [low.plus(pad.scaled(-1.0)), high.plus(pad)]
    }
}

/// The greatest magnitudes of attributes.
fn magnitude(all: &[Attributes]) -> Attributes {
    let zero = Attributes { uv: Vec2::ZERO, p: Vec3::ZERO, n: Vec3::ZERO };
    all.iter().fold(zero, |max, &a| Attributes::map2(max, a, |max, a| max.max(a.abs())))
}

impl Base {
    /// Creates the mesh. `length` measures its edges, which are divided until they are not longer
    /// than `edge_length`; `None` if they would be divided too often.
    pub fn new(
        mut mesh: DisplacedMesh,
        edge_length: f32,
        length: impl Fn(Vec3, Vec3) -> f64,
    ) -> Result<Option<Base>, MeshError> {
        validate(&mesh.positions, &mesh.triangles, &mut mesh.normals, &mut mesh.uvs)?;
        let DisplacedMesh { positions, triangles, .. } = &mut mesh;
        triangles.retain(|t| double_area(t.map(|v| positions[v as usize])) > 0.0);
        let has_normals = !mesh.normals.is_empty();
        if !has_normals {
            mesh.add_mean_normals();
        }
        let DisplacedMesh { positions, normals, uvs, triangles } = mesh;
        let (edges, seams) = (vec![], vec![]);
        let base = Base { positions, normals, uvs, triangles, has_normals, edges, seams };
        Ok(base.with_edges(edge_length, length))
    }

    /// Finds the edges, and what triangles on both sides of them have in common.
    fn with_edges(mut self, edge_length: f32, length: impl Fn(Vec3, Vec3) -> f64) -> Option<Base> {
        let mut seams: FxHashMap<[[u32; 3]; 2], ([Attributes; 2], u32)> = FxHashMap::default();
        for triangle in 0..self.triangles.len() as u32 {
            for k in 0..3 {
                let (ends, _) = self.ends(triangle, k);
                let key = ends.map(|end| position_key(end.p));
                let (first, seam) = seams.entry(key).or_insert((ends, NO_SEAM));
                let bits = |pair: &[Attributes; 2]| pair.map(|end| end.bits());
                if bits(first) == bits(&ends) {
                    continue;
                }
                if *seam == NO_SEAM {
                    *seam = self.seams.len() as u32;
                    self.seams.push(vec![*first]);
                }
                let pairs = &mut self.seams[*seam as usize];
                if pairs.iter().all(|pair| bits(pair) != bits(&ends)) {
                    pairs.push(ends);
                }
            }
        }
        for triangle in 0..self.triangles.len() as u32 {
            let mut edges = [Edge { level: 0, is_reversed: false, seam: NO_SEAM }; 3];
            for (k, edge) in edges.iter_mut().enumerate() {
                let (ends, is_reversed) = self.ends(triangle, k);
                let count = length(ends[0].p, ends[1].p) / f64::from(edge_length);
                let level = (0..=MAX_LEVEL).find(|&level| f64::from(1u32 << level) >= count)?;
                let seam = seams[&ends.map(|end| position_key(end.p))].1;
                *edge = Edge { level: level as u8, is_reversed, seam };
            }
            self.edges.push(edges);
        }
        Some(self)
    }

    /// Returns the attributes of a vertex.
    pub fn vertex(&self, v: u32) -> Attributes {
        let v = v as usize;
        let uv = if self.uvs.is_empty() { Vec2::ZERO } else { self.uvs[v] };
        Attributes { uv, p: self.positions[v], n: self.normals[v] }
    }

    /// Returns the attributes of the start and the end of an edge, and whether they are reversed.
    fn ends(&self, triangle: u32, edge: usize) -> ([Attributes; 2], bool) {
        let corners = self.triangles[triangle as usize];
        let [a, b] = [0, 1].map(|k| self.vertex(corners[(edge + k) % 3]));
        let is_reversed = position_key(b.p) < position_key(a.p);
        (if is_reversed { [b, a] } else { [a, b] }, is_reversed)
    }

    /// Binary logarithm of the number of micro-triangles along each side of a triangle.
    pub fn level(&self, triangle: u32) -> u32 {
        let edges = &self.edges[triangle as usize];
        edges.iter().map(|edge| edge.level.into()).max().unwrap_or(0)
    }

    /// Number of micro-triangles.
    pub fn micro_triangles(&self) -> u64 {
        (0..self.triangles.len() as u32).map(|t| 1 << (2 * self.level(t))).sum()
    }

    /// Returns the edge on which a vertex lies, and its position there, from the start.
    fn on_edge(&self, triangle: u32, edge: usize, [i, j]: [i32; 2]) -> Option<i32> {
        let n = 1 << self.level(triangle);
        let (distance, k) = [(j, i), (n - i - j, j), (i, n - j)][edge];
        let is_reversed = self.edges[triangle as usize][edge].is_reversed;
        (distance == 0).then_some(if is_reversed { n - k } else { k })
    }

    /// Moves a position on an edge back to the previous vertex that both sides have.
    fn common(&self, triangle: u32, edge: usize, k: i32) -> i32 {
        let step = self.level(triangle) - u32::from(self.edges[triangle as usize][edge].level);
        k >> step << step
    }

    /// Returns where a vertex of a triangle is, and its coordinates there.
    pub fn place(&self, triangle: u32, vertex: [i32; 2]) -> (Place, [i32; 2]) {
        let n = 1 << self.level(triangle);
        let on_edge = (0..3).find_map(|e| Some((e, self.on_edge(triangle, e, vertex)?)));
        let Some((edge, k)) = on_edge else { return (Place::Inside, vertex) };
        let k = self.common(triangle, edge, k);
        let is_reversed = self.edges[triangle as usize][edge].is_reversed;
        let along = if is_reversed { n - k } else { k };
        let moved = [[along, 0], [n - along, along], [0, n - along]][edge];
        let corners = self.triangles[triangle as usize];
        let place = match along {
            0 => Place::Corner(corners[edge]),
            _ if along == n => Place::Corner(corners[(edge + 1) % 3]),
            _ => Place::Edge(edge, k as f32 / n as f32),
        };
        (place, moved)
    }

    /// Returns the attributes at barycentric weights of vertices 1 and 2.
    pub fn inside(&self, triangle: u32, [u, v]: [f32; 2]) -> Attributes {
        let [a, b, c] = self.triangles[triangle as usize].map(|v| self.vertex(v));
        a.scaled(1.0 - u - v).plus(b.scaled(u)).plus(c.scaled(v))
    }

    /// Returns the attributes of a vertex by those of this triangle alone.
    pub fn inside_at(&self, triangle: u32, [i, j]: [i32; 2]) -> Attributes {
        let scale = 1.0 / (1u32 << self.level(triangle)) as f32;
        self.inside(triangle, [i as f32 * scale, j as f32 * scale])
    }

    /// Calls `f` with the attributes at a fraction of an edge, once for each side with different
    /// ones.
    pub fn on_edge_at(
        &self,
        triangle: u32,
        edge: usize,
        fraction: f32,
        mut f: impl FnMut(Attributes),
    ) {
        match self.edges[triangle as usize][edge].seam {
            NO_SEAM => f(Attributes::between(self.ends(triangle, edge).0, fraction)),
            seam => {
                let pairs = &self.seams[seam as usize];
                pairs.iter().for_each(|&pair| f(Attributes::between(pair, fraction)));
            }
        }
    }

    /// Calls `f` with boxes that contain the attributes of all micro-vertices of a node but the
    /// corners of its triangle.
    pub fn boxes(&self, triangle: u32, node: Node, mut f: impl FnMut(AttributeBox)) {
        let of_corners = self.triangles[triangle as usize].map(|v| self.vertex(v));
        let corners = node.corners();
        let inside = corners.map(|corner| self.inside_at(triangle, corner));
        f(Attributes::hull(&inside, magnitude(&of_corners)));
        let level = self.level(triangle);
        for (k, edge) in self.edges[triangle as usize].iter().enumerate() {
            if edge.seam == NO_SEAM && u32::from(edge.level) == level {
                continue;
            }
            let on_edge = corners.iter().filter_map(|&corner| self.on_edge(triangle, k, corner));
            let Some((first, last)) = on_edge.fold(None, |range, k| match range {
                None => Some((k, k)),
                Some((first, last)) => Some((k.min(first), k.max(last))),
            }) else {
                continue;
            };
            let scale = 1.0 / (1u32 << level) as f32;
            let ends = [first, last].map(|at| self.common(triangle, k, at) as f32 * scale);
            let mut bound = |pair: [Attributes; 2]| {
                let ends = ends.map(|fraction| Attributes::between(pair, fraction));
                f(Attributes::hull(&ends, magnitude(&pair)));
            };
            match edge.seam {
                NO_SEAM => bound(self.ends(triangle, k).0),
                seam => self.seams[seam as usize].iter().for_each(|&pair| bound(pair)),
            }
        }
    }

    /// A box of all attributes of the mesh, with those that interpolation may return.
    pub fn attribute_box(&self) -> AttributeBox {
        let used = self.triangles.iter().flatten().map(|&v| self.vertex(v));
        let all: Vec<_> = used.collect();
        match all.is_empty() {
            true => [magnitude(&[]); 2],
            false => Attributes::hull(&all, magnitude(&all).scaled(4.0)),
        }
    }

    /// Groups vertices of triangles by their position. Returns one vertex for each of the distinct
    /// attributes at each position, and the index of the position of each vertex.
    pub fn positions_of_vertices(&self) -> (Vec<Vec<u32>>, Vec<u32>) {
        let mut of_key = FxHashMap::default();
        let mut vertices: Vec<Vec<u32>> = vec![];
        let mut position = vec![u32::MAX; self.positions.len()];
        for &v in self.triangles.iter().flatten() {
            if position[v as usize] != u32::MAX {
                continue;
            }
            let key = position_key(self.positions[v as usize]);
            let index = *of_key.entry(key).or_insert_with(|| {
                vertices.push(vec![]);
                vertices.len() - 1
            });
            position[v as usize] = index as u32;
            let bits = self.vertex(v).bits();
            if vertices[index].iter().all(|&other| self.vertex(other).bits() != bits) {
                vertices[index].push(v);
            }
        }
        (vertices, position)
    }

    /// Returns the memory use in bytes.
    pub fn memory_bytes(&self) -> usize {
        let seams = self.seams.iter().map(|pairs| size_of_val(&**pairs) + size_of_val(pairs));
        size_of_val(&*self.positions)
            + size_of_val(&*self.normals)
            + size_of_val(&*self.uvs)
            + size_of_val(&*self.triangles)
            + size_of_val(&*self.edges)
            + seams.sum::<usize>()
    }
}

/// An order of positions, in which −0 and 0 are the same.
fn position_key(p: Vec3) -> [u32; 3] {
    (p + Vec3::ZERO).to_array().map(f32::to_bits)
}
