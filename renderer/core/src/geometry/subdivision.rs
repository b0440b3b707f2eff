//! Loop subdivision surfaces (Loop 1987, *Smooth Subdivision Surfaces Based on Triangles*) with the
//! weights of Warren, as in pbrt-v4.
//!
//! Vertices and normals are those of the limit surface, except for vertices on the boundary, which
//! have pbrt's weights of 1/5 instead of 1/6. A half-edge `3 f + k` runs from corner `k` of triangle
//! `f` to the next one.

use super::mesh::validate;
use super::{Mesh, MeshError};
use lightbound_math::Vec3;
use rayon::prelude::*;
use std::collections::HashMap;
use std::f32::consts::{PI, TAU};

/// Maximum number of triangles of a subdivided mesh.
const MAX_TRIANGLES: usize = 1 << 25;

/// No half-edge: the twin of one on the boundary, or the first of a vertex without triangles.
const NONE: u32 = u32::MAX;

/// Why a control mesh cannot be subdivided.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SubdivisionError {
    /// The arrays are invalid.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// A triangle has a vertex twice.
    #[error("triangle {triangle} has vertex {vertex} twice")]
    RepeatedVertex {
        /// The triangle.
        triangle: usize,
        /// The vertex.
        vertex: u32,
    },
    /// An edge of more than two triangles, or of two with opposite windings.
    #[error(
        "triangles {} and {} both run from vertex {} to vertex {}; at an edge, two triangles of the \
         same winding may meet",
        .triangles[0], .triangles[1], .vertices[0], .vertices[1]
    )]
    Edge {
        /// Two of the triangles.
        triangles: [usize; 2],
        /// The ends of the edge.
        vertices: [u32; 2],
    },
    /// The result would be too large.
    #[error(
        "{levels} levels of subdivision of {triangles} triangles give more than {MAX_TRIANGLES} triangles"
    )]
    TooMany {
        /// Number of triangles of the control mesh.
        triangles: usize,
        /// Number of levels.
        levels: u32,
    },
}

/// A triangle mesh with half-edges.
struct HalfEdgeMesh {
    positions: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    /// The opposite half-edge of each half-edge, or [`NONE`].
    twins: Vec<u32>,
    /// A half-edge that leaves each vertex, or [`NONE`]. On the boundary, the first one in
    /// counter-clockwise order.
    first: Vec<u32>,
}

/// Subdivides a control mesh, and returns the triangles of its limit surface with normals. As in
/// pbrt-v4, normals point to the side from which triangles are clockwise.
///
/// # Errors
/// If an edge has more than two triangles or two of opposite windings, a triangle has a vertex
/// twice, the arrays are invalid, or there would be more than 2²⁵ triangles. Where several fans of
/// triangles meet at a vertex, only one of them determines its position, as in pbrt-v4.
pub fn subdivide_loop(
    positions: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    levels: u32,
) -> Result<Mesh, SubdivisionError> {
    validate(&positions, &triangles, &mut [], &mut [])?;
    let count = 4usize.checked_pow(levels).and_then(|n| n.checked_mul(triangles.len()));
    if count.is_none_or(|count| count > MAX_TRIANGLES) {
        return Err(SubdivisionError::TooMany { triangles: triangles.len(), levels });
    }
    let mut mesh = HalfEdgeMesh::new(positions, triangles)?;
    for _ in 0..levels {
        mesh = mesh.subdivided();
    }
    let limit = mesh.each_vertex(|vertex| match mesh.is_boundary(vertex) {
        true => mesh.boundary_mean(vertex, 1.0 / 5.0),
        false => {
            let n = mesh.ring(vertex).count() as f32;
            mesh.ring_mean(vertex, 1.0 / (n + 3.0 / (8.0 * beta(n))))
        }
    });
    let normals = mesh.each_vertex(|vertex| mesh.normal(vertex));
    Ok(Mesh::new(limit, mesh.triangles, normals, Vec::new())?)
}

/// Returns the weight of each neighbour of a vertex with n of them.
fn beta(n: f32) -> f32 {
    if n == 3.0 { 3.0 / 16.0 } else { 3.0 / (8.0 * n) }
}

/// Returns the next half-edge of the triangle.
fn next(h: u32) -> u32 {
    if h % 3 == 2 { h - 2 } else { h + 1 }
}

/// Returns the previous half-edge of the triangle.
fn previous(h: u32) -> u32 {
    if h.is_multiple_of(3) { h + 2 } else { h - 1 }
}

impl HalfEdgeMesh {
    fn new(
        positions: Vec<Vec3>,
        triangles: Vec<[u32; 3]>,
    ) -> Result<HalfEdgeMesh, SubdivisionError> {
        for (triangle, &[a, b, c]) in triangles.iter().enumerate() {
            if a == b || b == c || c == a {
                let vertex = if a == b { a } else { c };
                return Err(SubdivisionError::RepeatedVertex { triangle, vertex });
            }
        }
        let mut half_edges = HashMap::with_capacity(3 * triangles.len());
        for (f, t) in triangles.iter().enumerate() {
            for k in 0..3 {
                let vertices = [t[k], t[(k + 1) % 3]];
                if let Some(other) = half_edges.insert(vertices, (3 * f + k) as u32) {
                    let triangles = [other as usize / 3, f];
                    return Err(SubdivisionError::Edge { triangles, vertices });
                }
            }
        }
        let twin = |h: usize| {
            let (t, k) = (triangles[h / 3], h % 3);
            half_edges.get(&[t[(k + 1) % 3], t[k]]).copied().unwrap_or(NONE)
        };
        let twins = (0..3 * triangles.len()).map(twin).collect();
        let first = vec![NONE; positions.len()];
        Ok(HalfEdgeMesh { positions, triangles, twins, first }.with_first())
    }

    /// Sets the first half-edge of each vertex.
    fn with_first(mut self) -> HalfEdgeMesh {
        for h in 0..self.twins.len() as u32 {
            let origin = self.origin(h) as usize;
            if self.first[origin] == NONE || self.twins[h as usize] == NONE {
                self.first[origin] = h;
            }
        }
        self
    }

    fn origin(&self, h: u32) -> u32 {
        self.triangles[h as usize / 3][h as usize % 3]
    }

    fn twin(&self, h: u32) -> Option<u32> {
        Some(self.twins[h as usize]).filter(|&h| h != NONE)
    }

    fn is_boundary(&self, vertex: u32) -> bool {
        let first = self.first[vertex as usize];
        first != NONE && self.twin(first).is_none()
    }

    /// Iterates over the neighbours of a vertex in counter-clockwise order; those on the boundary
    /// are first and last.
    fn ring(&self, vertex: u32) -> impl Iterator<Item = Vec3> {
        let first = self.first[vertex as usize];
        let position = |vertex: u32| self.positions[vertex as usize];
        let start = self.is_boundary(vertex).then(|| position(self.origin(next(first))));
        let mut current = Some(first).filter(|&h| h != NONE);
        let rest = std::iter::from_fn(move || {
            let h = previous(current?);
            current = self.twin(h).filter(|&h| h != first);
            Some(position(self.origin(h)))
        });
        start.into_iter().chain(rest)
    }

    /// Returns the mean of a vertex and its neighbours, each of the given weight.
    fn ring_mean(&self, vertex: u32, weight: f32) -> Vec3 {
        let (p, n) = (self.positions[vertex as usize], self.ring(vertex).count() as f32);
        if n == 0.0 {
            return p;
        }
        self.ring(vertex).fold((1.0 - n * weight) * p, |sum, q| sum + weight * q)
    }

    /// Returns the mean of a vertex and its two neighbours on the boundary, each of the given
    /// weight.
    fn boundary_mean(&self, vertex: u32, weight: f32) -> Vec3 {
        let mut ring = self.ring(vertex);
        let (Some(a), Some(b)) = (ring.next(), ring.last()) else { unreachable!("two neighbours") };
        (1.0 - 2.0 * weight) * self.positions[vertex as usize] + weight * (a + b)
    }

    /// Computes a vector for each vertex.
    fn each_vertex(&self, f: impl Fn(u32) -> Vec3 + Send + Sync) -> Vec<Vec3> {
        (0..self.positions.len() as u32).into_par_iter().map(f).collect()
    }

    /// Divides each triangle into four: first one at each corner, then the one in the middle, between
    /// the new vertices on the edges.
    fn subdivided(&self) -> HalfEdgeMesh {
        let mut positions = self.each_vertex(|vertex| match self.is_boundary(vertex) {
            true => self.boundary_mean(vertex, 1.0 / 8.0),
            false => self.ring_mean(vertex, beta(self.ring(vertex).count() as f32)),
        });
        // The new vertex on each half-edge.
        let mut middle = vec![NONE; self.twins.len()];
        let owners: Vec<u32> = (0..self.twins.len() as u32)
            .filter(|&h| self.twin(h).is_none_or(|twin| h < twin))
            .collect();
        for (vertex, &h) in (positions.len() as u32..).zip(&owners) {
            middle[h as usize] = vertex;
            if let Some(twin) = self.twin(h) {
                middle[twin as usize] = vertex;
            }
        }
        positions.par_extend(owners.par_iter().map(|&h| self.edge_point(h)));
        let triangles = self.triangles.iter().zip(middle.as_chunks().0);
        let triangles = triangles.flat_map(|(&[a, b, c], &[ab, bc, ca])| {
            [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
        });
        // The halves of half-edge 3 f + k belong to children k and (k + 1) mod 3, in this order.
        let start = |h: u32| 12 * (h / 3) + 4 * (h % 3);
        let end = |h: u32| 12 * (h / 3) + 3 * ((h + 1) % 3) + h % 3;
        let mut twins = vec![NONE; 4 * self.twins.len()];
        for h in 0..self.twins.len() as u32 {
            if let Some(twin) = self.twin(h) {
                twins[start(h) as usize] = end(twin);
                twins[end(h) as usize] = start(twin);
            }
        }
        for f in (0..twins.len() as u32).step_by(12) {
            for (outer, inner) in [(1, 11), (5, 9), (6, 10)] {
                twins[(f + outer) as usize] = f + inner;
                twins[(f + inner) as usize] = f + outer;
            }
        }
        let first = vec![NONE; positions.len()];
        HalfEdgeMesh { triangles: triangles.collect(), twins, first, positions }.with_first()
    }

    /// Returns the position of the new vertex on a half-edge.
    fn edge_point(&self, h: u32) -> Vec3 {
        let position = |h: u32| self.positions[self.origin(h) as usize];
        let ends = position(h) + position(next(h));
        match self.twin(h) {
            Some(twin) => {
                3.0 / 8.0 * ends + 1.0 / 8.0 * (position(previous(h)) + position(previous(twin)))
            }
            None => 0.5 * ends,
        }
    }

    /// Returns a normal of the limit surface, of any length.
    fn normal(&self, vertex: u32) -> Vec3 {
        let ring: Vec<Vec3> = self.ring(vertex).collect();
        let (n, p) = (ring.len(), self.positions[vertex as usize]);
        if !self.is_boundary(vertex) {
            // Clockwise.
            let angles = ring.iter().zip(0..).map(|(&q, k)| (q, -TAU * k as f32 / n as f32));
            let [s, t] = angles.fold([Vec3::ZERO; 2], |[s, t], (q, angle)| {
                [s + libm::cosf(angle) * q, t + libm::sinf(angle) * q]
            });
            return s.cross(t);
        }
        let along = ring[n - 1] - ring[0];
        let across = match n {
            2 => ring[0] + ring[1] - 2.0 * p,
            3 => ring[1] - p,
            4 => 2.0 * (ring[1] + ring[2] - p) - ring[0] - ring[3],
            _ => {
                let angle = PI / (n - 1) as f32;
                let inner = ring[1..n - 1].iter().zip(1..);
                inner.fold(-libm::sinf(angle) * (ring[0] + ring[n - 1]), |sum, (&q, k)| {
                    sum + (2.0 - 2.0 * libm::cosf(angle)) * libm::sinf(k as f32 * angle) * q
                })
            }
        };
        along.cross(across)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::vec3;

    /// A closed surface with vertices of three to six neighbours: a cube with a pyramid on top.
    fn house() -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let corner = |i: u32| vec3((i & 1) as f32, (i >> 1 & 1) as f32, (i >> 2) as f32);
        let positions = (0..8).map(corner).chain([vec3(0.5, 0.4, 1.8)]).collect();
        let sides = [[0, 2, 3, 1], [0, 1, 5, 4], [1, 3, 7, 5], [3, 2, 6, 7], [2, 0, 4, 6]];
        let sides = sides.into_iter().flat_map(|[a, b, c, d]| [[a, b, c], [a, c, d]]);
        let roof = [[4, 5, 8], [5, 7, 8], [7, 6, 8], [6, 4, 8]];
        (positions, sides.chain(roof).collect())
    }

    fn subdivide(
        (positions, triangles): (Vec<Vec3>, Vec<[u32; 3]>),
        levels: u32,
    ) -> Result<Mesh, SubdivisionError> {
        subdivide_loop(positions, triangles, levels)
    }

    #[test]
    fn limit_does_not_depend_on_the_number_of_levels() {
        let control = house().0.len();
        let [coarse, fine] = [0, 3].map(|levels| subdivide(house(), levels).unwrap());
        assert_eq!(fine.triangles().len(), 64 * coarse.triangles().len());
        for vertex in 0..control {
            let (a, b) = (coarse.positions()[vertex], fine.positions()[vertex]);
            assert!(a.distance(b) < 1e-6, "{a} {b}");
            assert!(a.distance(house().0[vertex]) > 0.05, "{a}");
            let (a, b) = (coarse.normals()[vertex], fine.normals()[vertex]);
            assert!(a.dot(b) > 0.99999, "{a} {b}");
        }
    }

    #[test]
    fn normals_are_perpendicular_and_point_to_the_clockwise_side() {
        let mesh = subdivide(house(), 5).unwrap();
        for (t, &vertices) in mesh.triangles().iter().enumerate() {
            let [a, b, c] = mesh.vertices(t as u32);
            let face = (b - a).cross(c - a).normalize();
            for n in vertices.map(|vertex| mesh.normals()[vertex as usize]) {
                assert!(n.dot(face) < -0.97, "{n} {face}");
            }
        }
    }

    #[test]
    fn flat_meshes_stay_flat_up_to_their_boundary() {
        let n = 5;
        let lattice = |i: u32| vec3((i % n) as f32 + 0.5 * (i / n) as f32, (i / n) as f32, 2.0);
        let cells = (0..(n - 1) * (n - 1)).map(|i| i / (n - 1) * n + i % (n - 1));
        let triangles = cells.flat_map(|a| [[a, a + 1, a + n], [a + 1, a + n + 1, a + n]]);
        let positions: Vec<Vec3> = (0..n * n).map(lattice).collect();
        let mesh = subdivide_loop(positions.clone(), triangles.collect(), 2).unwrap();
        assert!(mesh.positions().iter().all(|p| (p.z - 2.0).abs() < 1e-6));
        for &normal in mesh.normals() {
            assert!(normal.distance(-Vec3::Z) < 1e-3, "{normal}");
        }
        let inner = (1..n - 1).flat_map(|y| (1..n - 1).map(move |x| y * n + x));
        for vertex in inner {
            let p = mesh.positions()[vertex as usize];
            assert!(p.distance(positions[vertex as usize]) < 1e-5, "{p}");
        }
    }

    #[test]
    fn boundaries_depend_on_their_own_vertices_only() {
        let corners = [vec3(0.0, 0.0, 0.0), vec3(1.0, 0.0, 0.0), vec3(0.0, 1.0, 0.0)];
        let mesh = subdivide_loop(corners.to_vec(), vec![[0, 1, 2]], 0).unwrap();
        assert!(mesh.positions()[0].distance(vec3(0.2, 0.2, 0.0)) < 1e-6);
        let mesh = subdivide_loop(corners.to_vec(), vec![[0, 1, 2]], 1).unwrap();
        // The corner is (1/8, 1/8, 0) and the new vertices are (1/2, 0, 0) and (0, 1/2, 0).
        assert!(mesh.positions()[0].distance(vec3(0.175, 0.175, 0.0)) < 1e-6);
    }

    #[test]
    fn vertices_without_triangles_stay() {
        let (mut positions, triangles) = house();
        positions.push(vec3(9.0, 8.0, 7.0));
        let mesh = subdivide_loop(positions, triangles, 2).unwrap();
        assert_eq!(mesh.positions()[9], vec3(9.0, 8.0, 7.0));
    }

    #[test]
    fn invalid_control_meshes_are_errors() {
        let error = |triangles: &[[u32; 3]], levels| {
            let positions = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z, Vec3::ONE];
            subdivide_loop(positions, triangles.to_vec(), levels).unwrap_err()
        };
        assert_eq!(
            error(&[[0, 1, 2], [0, 1, 3]], 1),
            SubdivisionError::Edge { triangles: [0, 1], vertices: [0, 1] }
        );
        assert_eq!(
            error(&[[0, 1, 2], [3, 3, 4]], 1),
            SubdivisionError::RepeatedVertex { triangle: 1, vertex: 3 }
        );
        assert_eq!(error(&[[0, 1, 2]], 13), SubdivisionError::TooMany { triangles: 1, levels: 13 });
        assert_eq!(error(&[[0, 1, 2]], 99), SubdivisionError::TooMany { triangles: 1, levels: 99 });
        assert!(matches!(error(&[[0, 1, 5]], 1), SubdivisionError::Mesh(_)));
    }
}
