//! Triangle meshes.
//!
//! [`Mesh::new`] validates the arrays once, so that ray queries and shading need no further checks:
//! indices are in range, positions are finite, and every triangle has a positive area. Ray tests
//! are [`watertight`](super::watertight): a ray through a shared edge hits at least one of the two
//! triangles.

use super::attributes::VertexData;
use super::derivatives::unit_derivative;
use super::watertight::RayTest;
use super::{ShapeHit, ShapePoint, SurfaceDerivatives, VertexMotion};
use glam::BVec3;
use lightbound_math::{Aabb, Cone, Ray, Transform, Vec2, Vec3};

/// Indexed triangles, counter-clockwise from the front.
#[derive(Clone, Debug)]
pub struct Mesh {
    positions: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    normals: Vec<Vec3>,
    uvs: Vec<Vec2>,
    degenerate_triangles: usize,
    /// Whether triangles are clockwise from the front.
    mirrored: bool,
    motion: Option<Box<VertexMotion>>,
    /// Tangents and attributes of vertices; `None` if there are none.
    pub(super) data: Option<Box<VertexData>>,
}

/// Why the arrays of a mesh are invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MeshError {
    /// An index is out of range.
    #[error(
        "element {element} refers to vertex {index}, but the mesh has {vertices} vertices (numbered from 0)"
    )]
    Index {
        /// The triangle or patch.
        element: usize,
        /// The index.
        index: u32,
        /// Number of vertices.
        vertices: usize,
    },
    /// A per-vertex array is neither empty nor as long as the positions.
    #[error("{count} {attribute} for {vertices} vertices; give one per vertex or none")]
    Length {
        /// `normals`, `texture coordinates`, or another.
        attribute: &'static str,
        /// Length of the array.
        count: usize,
        /// Number of vertices.
        vertices: usize,
    },
    /// A position is infinite or NaN.
    #[error("the position of vertex {vertex} is not finite: ({}, {}, {})", .position.x, .position.y, .position.z)]
    NotFinite {
        /// The vertex.
        vertex: usize,
        /// Its position.
        position: Vec3,
    },
    /// A position at the end of a motion, or the distance to it, is infinite or NaN.
    #[error("the end position of vertex {vertex} is not finite or too far away: ({}, {}, {})", .position.x, .position.y, .position.z)]
    EndNotFinite {
        /// The vertex.
        vertex: usize,
        /// Its position at the end.
        position: Vec3,
    },
    /// Vertices have normals at the end of a motion only.
    #[error("end normals, but no normals at the start")]
    EndNormals,
    /// Too many vertices or elements for 32-bit indices.
    #[error("a mesh may have at most 2^32 - 2 {items}, found {count}; split it")]
    TooMany {
        /// `vertices` or `elements`.
        items: &'static str,
        /// Their number.
        count: usize,
    },
}

impl MeshError {
    /// Returns whether the arrays at the end of a motion are invalid.
    pub fn is_at_end(&self) -> bool {
        match self {
            MeshError::EndNotFinite { .. } | MeshError::EndNormals => true,
            MeshError::Length { attribute, .. } => attribute.starts_with("end"),
            _ => false,
        }
    }
}

/// Validates the arrays of a mesh with `N` vertices per element, and repairs its normals and
/// texture coordinates: normals are normalised, and non-finite values become zero. A zero normal
/// means that the vertex has no normal.
pub(super) fn validate<const N: usize>(
    positions: &[Vec3],
    elements: &[[u32; N]],
    normals: &mut [Vec3],
    uvs: &mut [Vec2],
) -> Result<(), MeshError> {
    let vertices = positions.len();
    for (items, count) in [("vertices", vertices), ("elements", elements.len())] {
        if count >= u32::MAX as usize {
            return Err(MeshError::TooMany { items, count });
        }
    }
    for (attribute, count) in [("normals", normals.len()), ("texture coordinates", uvs.len())] {
        if count != 0 && count != vertices {
            return Err(MeshError::Length { attribute, count, vertices });
        }
    }
    if let Some(vertex) = positions.iter().position(|p| !p.is_finite()) {
        return Err(MeshError::NotFinite { vertex, position: positions[vertex] });
    }
    for (element, indices) in elements.iter().enumerate() {
        if let Some(&index) = indices.iter().find(|&&i| i as usize >= vertices) {
            return Err(MeshError::Index { element, index, vertices });
        }
    }
    for n in normals {
        *n = normalize(*n);
    }
    for uv in uvs {
        if !uv.is_finite() {
            *uv = Vec2::ZERO;
        }
    }
    Ok(())
}

/// Normalises in double precision, so that short and long normals keep their direction; zero for
/// vectors without a direction.
pub(super) fn normalize(n: Vec3) -> Vec3 {
    if n.is_normalized() { n } else { n.as_dvec3().normalize_or_zero().as_vec3() }
}

impl Mesh {
    /// Creates a mesh; `normals` and `uvs` must be empty or as long as `positions`.
    ///
    /// Zero-area triangles are discarded; [`Mesh::degenerate_triangles`] returns their number.
    /// Normals need not be unit. A zero or non-finite normal counts as absent at its vertex, and
    /// non-finite texture coordinates count as (0, 0).
    ///
    /// # Errors
    /// If an array has the wrong length, an index is out of range, a position is not finite, or
    /// there are more than 2³² − 2 vertices or triangles.
    pub fn new(
        positions: Vec<Vec3>,
        triangles: Vec<[u32; 3]>,
        normals: Vec<Vec3>,
        uvs: Vec<Vec2>,
    ) -> Result<Mesh, MeshError> {
        Mesh::with_motion(positions, triangles, normals, uvs, None)
    }

    /// Creates a mesh like [`Mesh::new`], with vertices that may move. `positions` and `normals` are
    /// those at the start of the motion. Triangles with zero area at all times are discarded.
    ///
    /// # Errors
    /// Also if the arrays of the motion do not fit, or the path of a vertex is not finite.
    pub fn with_motion(
        positions: Vec<Vec3>,
        mut triangles: Vec<[u32; 3]>,
        mut normals: Vec<Vec3>,
        mut uvs: Vec<Vec2>,
        mut motion: Option<Box<VertexMotion>>,
    ) -> Result<Mesh, MeshError> {
        validate(&positions, &triangles, &mut normals, &mut uvs)?;
        let before = triangles.len();
        match &mut motion {
            None => triangles.retain(|t| double_area(t.map(|i| positions[i as usize])) > 0.0),
            Some(motion) => {
                motion.validate(&positions, &normals)?;
                triangles.retain(|&t| motion.any_area(&positions, t, double_area));
            }
        }
        let degenerate_triangles = before - triangles.len();
        let mirrored = false;
        let data = None;
        Ok(Mesh {
            positions,
            triangles,
            normals,
            uvs,
            degenerate_triangles,
            mirrored,
            motion,
            data,
        })
    }

    /// Transforms the mesh. The front is preserved even if the transform swaps handedness. Vertices
    /// keep their order, since default texture coordinates depend on it.
    ///
    /// # Errors
    /// If a transformed position overflows.
    pub fn transformed(mut self, transform: &Transform) -> Result<Mesh, MeshError> {
        for p in &mut self.positions {
            *p = transform.point(*p);
        }
        for n in &mut self.normals {
            *n = transform.normal(*n);
        }
        if let Some(motion) = &mut self.motion {
            motion.transform(transform);
        }
        if let Some(data) = &mut self.data {
            data.transform(transform);
        }
        let mirrored = self.mirrored != transform.swaps_handedness();
        let before = self.degenerate_triangles;
        let Mesh { positions, triangles, normals, uvs, motion, data, .. } = self;
        let mesh = Mesh::with_motion(positions, triangles, normals, uvs, motion)?;
        let degenerate_triangles = before + mesh.degenerate_triangles;
        Ok(Mesh { degenerate_triangles, mirrored, data, ..mesh })
    }

    /// Returns the vertex positions, at the start of a motion.
    pub fn positions(&self) -> &[Vec3] {
        &self.positions
    }

    /// Returns the unit normal of each vertex at the start of a motion, zero where there is none;
    /// empty if there are none at all.
    pub fn normals(&self) -> &[Vec3] {
        &self.normals
    }

    /// Returns the vertex indices of each triangle.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// Returns the number of zero-area triangles that were discarded.
    pub fn degenerate_triangles(&self) -> usize {
        self.degenerate_triangles
    }

    /// Returns whether vertices move.
    #[inline(always)]
    pub fn moves(&self) -> bool {
        self.motion.is_some()
    }

    /// Returns the positions of the three vertices of a triangle, at the start of a motion.
    #[inline(always)]
    pub fn vertices(&self, element: u32) -> [Vec3; 3] {
        corners(&self.positions, self.triangles[element as usize])
    }

    /// Returns the positions of the three vertices of a triangle at `time`, seconds.
    #[inline(always)]
    pub fn vertices_at(&self, element: u32, time: f32) -> [Vec3; 3] {
        match &self.motion {
            None => self.vertices(element),
            Some(motion) => {
                motion.positions(&self.positions, self.triangles[element as usize], time)
            }
        }
    }

    /// Extracts one triangle as a mesh of its own.
    pub(super) fn extract(&self, element: u32) -> Mesh {
        let indices = self.triangles[element as usize];
        Mesh {
            positions: gather(&self.positions, indices),
            triangles: vec![[0, 1, 2]],
            normals: gather(&self.normals, indices),
            uvs: gather(&self.uvs, indices),
            degenerate_triangles: 0,
            mirrored: self.mirrored,
            motion: self.motion.as_ref().map(|motion| Box::new(motion.extract(indices))),
            data: self.data.as_ref().map(|data| Box::new(data.extract(indices))),
        }
    }

    /// Extracts one triangle as it is at `time`, seconds, as a mesh of its own.
    pub(super) fn extract_at(&self, element: u32, time: f32) -> Mesh {
        let still = Mesh { motion: None, ..self.extract(element) };
        let normals = self.vertex_normals_at(element, time).map(|n| n.map(normalize).to_vec());
        let positions = self.vertices_at(element, time).to_vec();
        Mesh { positions, normals: normals.unwrap_or_default(), ..still }
    }

    /// Returns the unit normal of the front of a triangle, at the start of a motion.
    pub(crate) fn face_normal(&self, element: u32) -> Vec3 {
        let (n, uv) = (NO_NORMALS, DEFAULT_UVS);
        let (p, winding) = (self.vertices(element), self.winding());
        TriangleVertices { p, n, uv, winding }.normal()
    }

    /// Returns the unit vertex normals of a triangle at the start of a motion, zero at vertices
    /// without a normal; `None` for a mesh without normals.
    #[inline(always)]
    pub(crate) fn vertex_normals(&self, element: u32) -> Option<[Vec3; 3]> {
        (!self.normals.is_empty()).then(|| corners(&self.normals, self.triangles[element as usize]))
    }

    /// Returns the vertex normals of a triangle at `time`, seconds, like
    /// [`vertex_normals`](Self::vertex_normals). They are not unit vectors during a motion.
    #[inline(always)]
    pub(super) fn vertex_normals_at(&self, element: u32, time: f32) -> Option<[Vec3; 3]> {
        match &self.motion {
            Some(motion) if !self.normals.is_empty() => {
                Some(motion.normals(&self.normals, self.triangles[element as usize], time))
            }
            _ => self.vertex_normals(element),
        }
    }

    /// Returns a cone that contains the normals of a triangle, on the side of the vertex normals, at
    /// all times between two, between which vertices move linearly.
    ///
    /// The cross product of two edges is quadratic in time: a convex combination of three products
    /// of the edges at both ends.
    pub(crate) fn swept_normals(&self, element: u32, times: [f32; 2]) -> Cone {
        let ends = times.map(|time| self.vertices_at(element, time));
        let edges = ends.map(|p| [1, 2].map(|i| (p[i] - p[0]).as_dvec3()));
        let cross = |a: usize, b: usize| edges[a][0].cross(edges[b][1]);
        let side = f64::from(self.winding());
        let normals =
            [cross(0, 0), 0.5 * (cross(0, 1) + cross(1, 0)), cross(1, 1)].map(|n| side * n);
        let shading = times.map(|time| self.vertex_normals_at(element, time));
        let is_on_side = |sign: f64| {
            shading.iter().flatten().flatten().map(|n| n.as_dvec3()).all(|s| {
                normals.iter().all(|n| sign * s.dot(*n) > FACING_SLACK * s.length() * n.length())
            })
        };
        let normals = match (is_on_side(1.0), is_on_side(-1.0)) {
            (true, _) => normals,
            (_, true) => normals.map(|n| -n),
            _ => return Cone::SPHERE,
        };
        let cone = Cone::around_hull(normals.into_iter());
        // Rounding moves vertices by an ulp or two: an angle, relative to the height of the triangle.
        let axis = cone.axis.as_dvec3();
        let min_area = normals.iter().map(|n| n.dot(axis)).fold(f64::INFINITY, f64::min);
        let max_edge = edges.iter().flatten().map(|edge| edge.length()).fold(0.0, f64::max);
        let magnitude = f64::from(Aabb::around(ends.into_iter().flatten()).magnitude());
        let error = 8.0 * f64::from(f32::EPSILON) * magnitude * max_edge / min_area;
        if min_area > 0.0 && error < 0.1 && cone.cos > -1.0 {
            Cone::from_angle(cone.axis, libm::acos(cone.cos.into()) + error)
        } else {
            Cone::SPHERE
        }
    }

    /// Returns the texture coordinates of the vertices of a triangle; `None` for a mesh without
    /// texture coordinates.
    #[inline(always)]
    pub(super) fn vertex_uvs(&self, element: u32) -> Option<[Vec2; 3]> {
        (!self.uvs.is_empty()).then(|| corners(&self.uvs, self.triangles[element as usize]))
    }

    /// Returns the texture coordinates of the vertices of a triangle, or default ones.
    #[inline(always)]
    pub(super) fn uvs_or_default(&self, element: u32) -> [Vec2; 3] {
        self.vertex_uvs(element).unwrap_or(DEFAULT_UVS)
    }

    pub(super) fn aabb(&self, element: u32) -> Aabb {
        match &self.motion {
            None => Aabb::around(self.vertices(element)),
            Some(motion) => motion.aabb(&self.positions, self.triangles[element as usize]),
        }
    }

    /// Returns the area of a triangle, at the start of a motion.
    pub(crate) fn area(&self, element: u32) -> f32 {
        (0.5 * double_area(self.vertices(element))) as f32
    }

    pub(super) fn intersect(&self, element: u32, ray: &Ray) -> Option<ShapeHit> {
        intersect(self.vertices_at(element, ray.time), ray)
    }

    pub(super) fn point(&self, element: u32, u: f32, v: f32, time: f32) -> ShapePoint {
        let triangle = self.triangle(element, time);
        let point = triangle.point(u, v, triangle.normal());
        match self.tangent(element, u, v).map(|tangent| tangent.truncate()) {
            None | Some(Vec3::ZERO) => point,
            Some(tangent) => ShapePoint { dpdu: tangent, ..point },
        }
    }

    pub(super) fn derivatives(
        &self,
        element: u32,
        u: f32,
        v: f32,
        time: f32,
    ) -> SurfaceDerivatives {
        let TriangleVertices { p, n, uv, .. } = self.triangle(element, time);
        let ns = (1.0 - u - v) * n[0] + u * n[1] + v * n[2];
        let by_barycentric = SurfaceDerivatives {
            dpdu: p[1] - p[0],
            dpdv: p[2] - p[0],
            dndu: unit_derivative(ns, n[1] - n[0]),
            dndv: unit_derivative(ns, n[2] - n[0]),
        };
        by_barycentric.chain(uv[1] - uv[0], uv[2] - uv[0])
    }

    /// Returns a triangle with its vertex attributes at `time`, seconds.
    fn triangle(&self, element: u32, time: f32) -> TriangleVertices {
        TriangleVertices {
            p: self.vertices_at(element, time),
            n: self.vertex_normals_at(element, time).unwrap_or(NO_NORMALS),
            uv: self.uvs_or_default(element),
            winding: self.winding(),
        }
    }

    /// Computes the unit normal of the front of a triangle at `time`, seconds; `None` if vertex
    /// normals determine the front.
    pub(super) fn winding_normal(&self, element: u32, time: f32) -> Option<Vec3> {
        let (p, winding) = (self.vertices_at(element, time), self.winding());
        let triangle = TriangleVertices { p, n: NO_NORMALS, uv: DEFAULT_UVS, winding };
        self.normals.is_empty().then(|| triangle.normal())
    }

    /// Returns 1 if triangles are counter-clockwise from the front, else −1.
    pub(super) fn winding(&self) -> f32 {
        if self.mirrored { -1.0 } else { 1.0 }
    }
}

/// Cosines up to this magnitude do not determine the side of a normal, because of rounding.
const FACING_SLACK: f64 = 1e-5;

/// Normals of triangles without vertex normals.
pub(super) const NO_NORMALS: [Vec3; 3] = [Vec3::ZERO; 3];

/// Default texture coordinates of triangles, as in pbrt.
pub(super) const DEFAULT_UVS: [Vec2; 3] = [Vec2::ZERO, Vec2::X, Vec2::ONE];

/// Vertex attributes of a triangle.
#[derive(Clone, Copy, Debug)]
pub(super) struct TriangleVertices {
    /// Positions.
    pub p: [Vec3; 3],
    /// Unit normals, zero at vertices without a normal.
    pub n: [Vec3; 3],
    /// Texture coordinates.
    pub uv: [Vec2; 3],
    /// 1 if the triangle is counter-clockwise from the front, else −1.
    pub winding: f32,
}

impl TriangleVertices {
    /// Computes the unit normal of the front in single precision; NaN on underflow or overflow.
    #[inline(always)]
    pub fn fast_normal(&self) -> Vec3 {
        let n = (self.p[1] - self.p[0]).cross(self.p[2] - self.p[0]);
        let length_squared = n.length_squared();
        let is_in_range = length_squared > 1e-30 && length_squared < 1e30;
        n * if is_in_range { self.winding / length_squared.sqrt() } else { f32::NAN }
    }

    /// Computes the unit normal of the front.
    #[inline]
    pub fn normal(&self) -> Vec3 {
        let n = self.fast_normal();
        if !n.is_nan() {
            return n;
        }
        let [e1, e2] = [1, 2].map(|i| (self.p[i] - self.p[0]).as_dvec3());
        self.winding * e1.cross(e2).normalize_or(glam::DVec3::Z).as_vec3()
    }

    /// Computes [`super::Shape::point`], given the normal of the front.
    #[inline(always)]
    pub fn point(&self, u: f32, v: f32, ng: Vec3) -> ShapePoint {
        let ([p0, p1, p2], [n0, n1, n2], [t0, t1, t2]) = (self.p, self.n, self.uv);
        let w = 1.0 - u - v;
        let (e1, e2) = (p1 - p0, p2 - p0);
        let ns = w * n0 + u * n1 + v * n2;
        let inverse_length = 1.0 / ns.length_squared().sqrt();
        let ns = Vec3::select(BVec3::splat(inverse_length.is_finite()), ns * inverse_length, ng);
        let (d1, d2) = (t1 - t0, t2 - t0);
        let det = d1.perp_dot(d2);
        let dpdu = (d2.y * e1 - d1.y * e2) / det;
        let dpdu = Vec3::select(BVec3::splat(det != 0.0), dpdu, Vec3::ZERO);
        ShapePoint {
            p: w * p0 + u * p1 + v * p2,
            ng,
            ns,
            uv: w * t0 + u * t1 + v * t2,
            dpdu,
            magnitude: p0.abs().max(p1.abs()).max(p2.abs()).max_element(),
            extent: e1.abs().max(e2.abs()).max((e2 - e1).abs()).max_element(),
            clearance: 0.0,
        }
    }
}

/// Gathers the values at an element's vertices; empty if `values` is empty.
pub(super) fn gather<T: Copy, const N: usize>(values: &[T], indices: [u32; N]) -> Vec<T> {
    if values.is_empty() { vec![] } else { indices.map(|i| values[i as usize]).to_vec() }
}

/// Returns the values at a triangle's vertices. `map` would copy them through the stack: a wide load
/// after narrow stores waits for them.
#[inline(always)]
fn corners<T: Copy>(values: &[T], [a, b, c]: [u32; 3]) -> [T; 3] {
    [values[a as usize], values[b as usize], values[c as usize]]
}

/// Computes twice the area of a triangle, in double precision.
pub(super) fn double_area([p0, p1, p2]: [Vec3; 3]) -> f64 {
    (p1 - p0).as_dvec3().cross((p2 - p0).as_dvec3()).length()
}

/// Returns the hit on the segment; `u` and `v` are the barycentric weights of vertices 1 and 2.
fn intersect(vertices: [Vec3; 3], ray: &Ray) -> Option<ShapeHit> {
    let test = RayTest::new(ray);
    let [t, u, v] = test.intersect(&vertices.map(|p| test.vertex(p)))?;
    // NaN and infinite parameters are rejected.
    (t >= ray.tmin && t < ray.tmax).then(|| ShapeHit::new(t, u, v))
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::{DAffine3, dvec3};
    use lightbound_math::sampling::{hash, unit_float};

    fn quad() -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let p = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)].map(|(x, y)| Vec3::new(x, y, 0.0));
        (p.to_vec(), vec![[0, 1, 2], [0, 2, 3]])
    }

    #[test]
    fn errors_name_the_invalid_array() {
        let (p, t) = quad();
        let index = Mesh::new(p.clone(), vec![[0, 1, 9]], vec![], vec![]).unwrap_err();
        assert_eq!(index, MeshError::Index { element: 0, index: 9, vertices: 4 });
        let length = Mesh::new(p.clone(), t.clone(), vec![Vec3::Z], vec![]).unwrap_err();
        assert!(length.to_string().starts_with("1 normals for 4 vertices"), "{length}");
        let mut bad = p.clone();
        bad[2].y = f32::NAN;
        let not_finite = Mesh::new(bad, t, vec![], vec![]).unwrap_err();
        assert_eq!(not_finite.to_string(), "the position of vertex 2 is not finite: (1, NaN, 0)");
        assert!(Mesh::new(vec![], vec![], vec![], vec![]).unwrap().triangles().is_empty());
    }

    #[test]
    fn degenerate_triangles_are_discarded() {
        let (mut p, mut t) = quad();
        p.push(Vec3::new(0.5, 0.0, 0.0));
        t.extend([[0, 0, 1], [0, 1, 4]]);
        let m = Mesh::new(p, t, vec![], vec![]).unwrap();
        assert_eq!((m.triangles().len(), m.degenerate_triangles()), (2, 2));
    }

    #[test]
    fn tiny_triangles_keep_their_normal() {
        let p = vec![Vec3::ZERO, Vec3::X * 1e-18, Vec3::Y * 1e-18];
        let m = Mesh::new(p, vec![[0, 1, 2]], vec![], vec![]).unwrap();
        assert_eq!(m.point(0, 0.2, 0.2, 0.0).ng, Vec3::Z);
    }

    #[test]
    fn normals_are_repaired_and_interpolated() {
        let (p, t) = quad();
        let n = vec![
            Vec3::new(0.0, 0.0, 5.0),
            Vec3::new(1.0, 0.0, 1.0),
            Vec3::ZERO,
            Vec3::splat(f32::NAN),
        ];
        let m = Mesh::new(p, t, n, vec![]).unwrap();
        assert_eq!(m.point(0, 0.0, 0.0, 0.0).ns, Vec3::Z);
        assert!(
            (m.point(0, 1.0, 0.0, 0.0).ns - Vec3::new(0.5f32.sqrt(), 0.0, 0.5f32.sqrt())).length()
                < 1e-6
        );
        assert_eq!(m.point(0, 0.0, 1.0, 0.0).ns, Vec3::Z, "the fallback is not the face normal");
    }

    #[test]
    fn texture_coordinates_are_interpolated_and_determine_the_derivative() {
        let (p, t) = quad();
        let default =
            Mesh::new(p.clone(), t.clone(), vec![], vec![]).unwrap().point(0, 0.25, 0.5, 0.0);
        assert_eq!(
            (default.p, default.uv, default.dpdu),
            (Vec3::new(0.75, 0.5, 0.0), Vec2::new(0.75, 0.5), Vec3::X)
        );
        let uvs = p.iter().map(|p| Vec2::new(3.0 * p.y, 2.0 * p.x)).collect();
        let mapped = Mesh::new(p.clone(), t.clone(), vec![], uvs).unwrap().point(0, 0.25, 0.5, 0.0);
        assert_eq!(mapped.uv, Vec2::new(1.5, 1.5));
        assert!((mapped.dpdu - Vec3::Y / 3.0).length() < 1e-6);
        let flat = Mesh::new(p, t, vec![], vec![Vec2::ONE; 4]).unwrap();
        assert_eq!(flat.point(0, 0.1, 0.1, 0.0).dpdu, Vec3::ZERO);
    }

    #[test]
    fn mirroring_preserves_the_front() {
        let (p, t) = quad();
        let mirror = Transform::new(DAffine3::from_scale(dvec3(-2.0, 1.0, 1.0))).unwrap();
        let m = Mesh::new(p, t, vec![], vec![]).unwrap().transformed(&mirror).unwrap();
        let at = m.point(0, 0.3, 0.2, 0.0);
        assert_eq!(
            (at.ng, at.uv, at.dpdu),
            (Vec3::Z, Vec2::new(0.5, 0.2), -2.0 * Vec3::X),
            "normal, texture coordinates or derivative changed"
        );
        assert_eq!(
            (m.area(0), m.extract(0).point(0, 0.3, 0.2, 0.0).ng, m.face_normal(0)),
            (1.0, Vec3::Z, Vec3::Z)
        );
        let huge = Transform::new(DAffine3::from_scale(dvec3(1e30, 1e30, 1e30))).unwrap();
        assert!(m.transformed(&huge).unwrap().transformed(&huge).is_err());
    }

    #[test]
    fn hits_lie_on_the_ray() {
        let random = |i: u32, k: u32| 2.0 * unit_float(hash(hash(7, i), k)) - 1.0;
        let mut hits = 0;
        for i in 0..2000 {
            let v = |k| Vec3::new(random(i, k), random(i, k + 1), random(i, k + 2));
            let m = Mesh::new(vec![v(0), v(3), v(6)], vec![[0, 1, 2]], vec![], vec![]).unwrap();
            let ray = Ray::new(3.0 * v(9), v(12) - 3.0 * v(9));
            if let Some(h) = m.intersect(0, &ray) {
                hits += 1;
                assert!(
                    (m.point(0, h.u, h.v, 0.0).p - ray.at(h.t)).length() < 1e-5 * (1.0 + h.t),
                    "{i}"
                );
                assert_eq!(m.intersect(0, &Ray { tmax: h.t, ..ray }), None);
                assert_eq!(m.intersect(0, &Ray { tmin: h.t, ..ray }), Some(h));
            }
        }
        assert!(hits > 100, "{hits}");
    }

    #[test]
    fn rays_through_a_shared_edge_hit_a_triangle() {
        let (p, t) = quad();
        let m = Mesh::new(p, t, vec![], vec![]).unwrap();
        for i in 0..1000 {
            let s = unit_float(hash(3, i));
            let ray = Ray::new(
                Vec3::new(0.3, -4.0, 5.0),
                Vec3::new(s, s, 0.0) - Vec3::new(0.3, -4.0, 5.0),
            );
            assert!(m.intersect(0, &ray).or(m.intersect(1, &ray)).is_some(), "{i}");
        }
    }

    #[test]
    fn invalid_rays_miss() {
        let (p, t) = quad();
        let m = Mesh::new(p, t, vec![], vec![]).unwrap();
        let o = Vec3::new(0.5, 0.25, 1.0);
        for d in [Vec3::ZERO, Vec3::splat(f32::NAN), Vec3::INFINITY, Vec3::X] {
            assert_eq!(m.intersect(0, &Ray::new(o, d)), None, "{d}");
        }
        assert_eq!(m.intersect(0, &Ray::new(Vec3::splat(f32::NAN), Vec3::Z)), None);
    }
}
