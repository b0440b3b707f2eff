//! Meshes displaced by a shader, `fn displace(uv: vec2f, p: vec3f, n: vec3f, m: Params) -> f32`.
//!
//! The surface consists of micro-triangles, whose edges have a chosen length before the
//! displacement, but only the base mesh is stored. Elements are parts of its triangles, in boxes
//! from the bounding shader ([`program`]), which contain the displaced surface wherever the
//! function moves it. The ray test ([`search`]) divides an element by boxes of its parts, again
//! from the bounding shader, and dices those that the ray enters ([`dice`]). Each thread keeps the
//! parts that it used last ([`grid`]). No cracks open between triangles ([`base`]).

mod base;
mod dice;
mod grid;
mod node;
mod program;
mod search;
#[cfg(test)]
mod tests;

use super::displacement::DisplacedMesh;
use super::mesh::{NO_NORMALS, TriangleVertices};
use super::quadric::ObjectTransform;
use super::scratch::ScratchId;
use super::{Mesh, MeshError, ShapePoint, SurfaceDerivatives};
use crate::stopped_loops::StoppedLoops;
use base::Base;
use dice::{DiceScratch, hull};
use grid::DICED_LEVEL;
use lightbound_math::{Aabb, Transform, Vec2, Vec3, vec2};
use lightbound_shader::{Settings, Shader, Texture};
use node::Node;
use program::Program;
use rayon::prelude::*;
use std::sync::Arc;

pub use program::{NotFinite, ShaderDisplacementError};

/// A triangle mesh displaced by a shader. It never emits.
///
/// Surface coordinates are the barycentric weights of vertices 1 and 2 of a micro-triangle, and its
/// index in the element.
#[derive(Debug)]
pub struct DisplacedSurface {
    /// The mesh, in object space.
    base: Base,
    program: Program,
    object_transform: ObjectTransform,
    /// 1 if triangles are counter-clockwise from the front in the parent space, else −1.
    winding: f32,
    /// Displaced positions of the vertices of the mesh, in the parent space.
    corners: Vec<Vec3>,
    /// Greatest level of an element.
    element_level: u32,
    /// Index of the first element of each triangle, and the number of all elements.
    first_elements: Vec<u32>,
    /// Boxes of the elements, in the parent space.
    boxes: Vec<Aabb>,
    scratch: ScratchId,
}

/// A micro-triangle, in the parent space.
struct MicroTriangle {
    vertices: TriangleVertices,
    /// Index of the base triangle.
    triangle: u32,
    /// Barycentric weights of vertices 1 and 2 of the base triangle, for each vertex.
    weights: [Vec2; 3],
}

/// Levels of elements: the least one that suffices for the number of elements.
const ELEMENT_LEVELS: std::ops::RangeInclusive<u32> = 5..=12;

/// Number of elements beyond which they become larger.
const MAX_ELEMENTS: u64 = 1 << 20;

impl DisplacedSurface {
    /// Displaces a mesh in object space by a shader, for the words of its parameters. Edges are
    /// divided until they are not longer than `edge_length` in the parent space. Vertices without
    /// texture coordinates have (0, 0), and if there are no normals, they are means of the normals
    /// of the triangles.
    ///
    /// # Errors
    /// If the shader has another signature or cannot be compiled, the mesh is invalid, there would
    /// be too many micro-triangles, or displaced positions are not finite.
    ///
    /// # Panics
    /// Unless there is one word for each component of the parameters, and one texture for each of
    /// the shader.
    pub fn new(
        mesh: DisplacedMesh,
        (shader, settings): (&Shader, &Settings),
        (parameters, textures): (&[u32], Vec<Arc<Texture>>),
        edge_length: f32,
        transform: &Transform,
    ) -> Result<DisplacedSurface, ShaderDisplacementError> {
        let object_transform = ObjectTransform::new(transform);
        let length = |a: Vec3, b: Vec3| {
            let [a, b] = [a, b].map(|p| object_transform.point(p.as_dvec3()).as_dvec3());
            a.distance(b)
        };
        let too_fine = ShaderDisplacementError::TooFine { edge_length };
        let Some(base) = Base::new(mesh, edge_length, length)? else { return Err(too_fine) };
        let program = Program::new(shader, settings, parameters, textures, base.attribute_box())?;
        let mut surface = DisplacedSurface {
            winding: if transform.swaps_handedness() { -1.0 } else { 1.0 },
            corners: vec![Vec3::ZERO; base.positions.len()],
            element_level: 0,
            first_elements: vec![],
            boxes: vec![],
            scratch: ScratchId::new(),
            base,
            program,
            object_transform,
        };
        surface.displace_corners()?;
        surface.element_level = ELEMENT_LEVELS
            .into_iter()
            .find(|&level| surface.elements_of(level).sum::<u64>() <= MAX_ELEMENTS)
            .ok_or(too_fine)?;
        let mut count = 0;
        surface.first_elements = surface
            .elements_of(surface.element_level)
            .chain([0])
            .map(|elements| {
                count += elements as u32;
                count - elements as u32
            })
            .collect();
        surface.boxes =
            (0..count).into_par_iter().map(|element| surface.element_box(element)).collect();
        surface.check_boxes()?;
        Ok(surface)
    }

    /// The number of elements of each triangle, if elements have at most this level.
    fn elements_of(&self, level: u32) -> impl Iterator<Item = u64> {
        (0..self.base.triangles.len() as u32)
            .map(move |t| 1u64 << (2 * self.base.level(t).saturating_sub(level)))
    }

    /// Displaces the vertices of the mesh: those at the same position by their mean.
    fn displace_corners(&mut self) -> Result<(), ShaderDisplacementError> {
        let (vertices, position) = self.base.positions_of_vertices();
        let rows: Vec<_> = vertices.iter().flatten().map(|&v| self.base.vertex(v)).collect();
        let mut displaced = vec![];
        self.program.positions(&rows, &mut self.program.scratch(), &mut displaced);
        if let Some(k) = displaced.iter().position(|p| !p.is_finite()) {
            let base::Attributes { uv, p, .. } = rows[k];
            return Err(ShaderDisplacementError::NotFinite { p, uv: uv.into() });
        }
        let mut next = 0;
        let means = vertices.iter().map(|vertices| {
            next += vertices.len();
            self.mean_position(&displaced[next - vertices.len()..next])
        });
        let means: Vec<_> = means.collect();
        for (corner, &position) in self.corners.iter_mut().zip(&position) {
            *corner = means.get(position as usize).copied().unwrap_or(Vec3::ZERO);
        }
        Ok(())
    }

    /// Returns the box of an element: that of its parts, which is smaller than its own.
    fn element_box(&self, element: u32) -> Aabb {
        let (triangle, node) = self.locate(element);
        if node.level() <= DICED_LEVEL {
            return self.with_vertices(triangle, node, hull);
        }
        let levels = (node.level() - DICED_LEVEL).min(2);
        let parts = (0..1 << (2 * levels)).map(|index| node.descendant(index, levels));
        let boxes = self.node_boxes(triangle, &parts.collect::<Vec<_>>());
        boxes.into_iter().fold(Aabb::EMPTY, Aabb::union)
    }

    /// Finds a vertex that is not finite, if a box is not.
    fn check_boxes(&self) -> Result<(), ShaderDisplacementError> {
        let is_finite = |b: &Aabb| b.min.is_finite() && b.max.is_finite();
        let Some(element) = self.boxes.iter().position(|b| !is_finite(b)) else { return Ok(()) };
        let (triangle, node) = self.locate(element as u32);
        let levels = node.level().saturating_sub(DICED_LEVEL);
        for index in 0..1 << (2 * levels) {
            let part = node.descendant(index, levels);
            let not_finite = self.with_vertices(triangle, part, |vertices| {
                let mut vertices = std::iter::zip(part.vertices(), vertices);
                vertices.find(|(_, p)| !p.is_finite()).map(|(vertex, _)| vertex)
            });
            if let Some(vertex) = not_finite {
                let (_, vertex) = self.base.place(triangle, vertex);
                let base::Attributes { uv, p, .. } = self.base.inside_at(triangle, vertex);
                return Err(ShaderDisplacementError::NotFinite { p, uv: uv.into() });
            }
        }
        unreachable!("boxes are not finite only where vertices are not")
    }

    /// Returns the base triangle and the node of an element.
    fn locate(&self, element: u32) -> (u32, Node) {
        let triangle = self.first_elements.partition_point(|&first| first <= element) as u32 - 1;
        let index = element - self.first_elements[triangle as usize];
        let level = self.base.level(triangle);
        let root = Node::root(level);
        (triangle, root.descendant(index, level.saturating_sub(self.element_level)))
    }

    /// Returns the number of elements.
    pub(super) fn len(&self) -> u32 {
        self.boxes.len() as u32
    }

    pub(super) fn aabb(&self, element: u32) -> Aabb {
        self.boxes[element as usize]
    }

    /// Loops of the shader that were stopped so far.
    pub fn stopped_loops(&self) -> Option<StoppedLoops> {
        self.program.stopped_loops()
    }

    /// A place at which a displacement was not finite so far. Its triangles are missing.
    pub fn not_finite(&self) -> Option<&NotFinite> {
        self.program.not_finite()
    }

    /// Returns the number of micro-triangles.
    pub fn micro_triangles(&self) -> u64 {
        self.base.micro_triangles()
    }

    /// Returns the memory use in bytes, without that of [threads](Self::THREAD_MEMORY_BYTES).
    pub fn memory_bytes(&self) -> usize {
        self.base.memory_bytes()
            + self.program.memory_bytes()
            + size_of_val(&*self.corners)
            + size_of_val(&*self.first_elements)
            + size_of_val(&*self.boxes)
    }

    /// Memory that each thread uses for all displaced surfaces, in bytes.
    pub const THREAD_MEMORY_BYTES: usize = grid::MEMORY_BYTES;

    /// Returns all micro-triangles as a mesh, in the order of elements and indices.
    ///
    /// # Errors
    /// If there are too many.
    pub fn tessellate(&self) -> Result<Mesh, MeshError> {
        let (mut positions, mut triangles) = (vec![], vec![]);
        for element in 0..self.len() {
            let (triangle, node) = self.locate(element);
            let levels = node.level().saturating_sub(DICED_LEVEL);
            for index in 0..1 << (2 * levels) {
                let part = node.descendant(index, levels);
                let first = positions.len() as u32;
                self.with_vertices(triangle, part, |vertices| positions.extend(vertices));
                for k in 0..1 << (2 * part.level()) {
                    let corners = part.descendant(k, part.level()).corners();
                    triangles.push(corners.map(|v| first + part.vertex_index(v) as u32));
                }
            }
        }
        Mesh::new(positions, triangles, vec![], vec![])
    }

    /// Returns a micro-triangle of an element.
    fn micro_triangle(&self, element: u32, index: u32) -> MicroTriangle {
        let (triangle, node) = self.locate(element);
        let below = node.level().min(DICED_LEVEL);
        let part = node.descendant(index >> (2 * below), node.level() - below);
        let corners = node.descendant(index, node.level()).corners();
        let p = self.cached(triangle, part, |cached| {
            corners.map(|v| cached.vertices[part.vertex_index(v)])
        });
        let scale = 1.0 / (1u32 << self.base.level(triangle)) as f32;
        let weights = corners.map(|vertex| {
            let (_, [i, j]) = self.base.place(triangle, vertex);
            scale * vec2(i as f32, j as f32)
        });
        let uv = weights.map(|w| match self.base.uvs.is_empty() {
            // Default texture coordinates are those of other meshes.
            true => vec2(w.x + w.y, w.y),
            false => self.base.inside(triangle, w.into()).uv,
        });
        let vertices = TriangleVertices { p, n: NO_NORMALS, uv, winding: self.winding };
        MicroTriangle { vertices, triangle, weights }
    }

    pub(super) fn point(&self, element: u32, [u, v, index]: [f32; 3]) -> ShapePoint {
        let MicroTriangle { vertices, triangle, weights: [a, b, c] } =
            self.micro_triangle(element, index as u32);
        let at = (1.0 - u - v) * a + u * b + v * c;
        let flat = vertices.point(u, v, vertices.normal());
        let (smooth, side) = self.smooth_normal(triangle, at);
        // Where the surface is rougher than its micro-triangles, the normal is that of the
        // triangle.
        let is_in_front = smooth.dot(flat.ng) > 0.0;
        let ns = side * if is_in_front { smooth } else { flat.ng };
        ShapePoint { ns, ..flat }
    }

    /// Returns the unit normal of the displaced surface at barycentric weights of a base triangle,
    /// by differences over a micro-edge, and on which side of it the front is: that of the normals
    /// of the mesh, if it has normals.
    fn smooth_normal(&self, triangle: u32, at: Vec2) -> (Vec3, f32) {
        let step = 0.5 / (1u32 << self.base.level(triangle)) as f32;
        let shifts = [vec2(step, 0.0), vec2(-step, 0.0), vec2(0.0, step), vec2(0.0, -step)];
        let rows = shifts.map(|shift| self.base.inside(triangle, (at + shift).into()));
        let create = || DiceScratch::new(&self.program);
        let d = self.scratch.with(create, |s| self.program.offsets(&rows, &mut s.program));
        let p = self.base.triangles[triangle as usize].map(|v| self.base.vertex(v).p.as_dvec3());
        let along = |k: usize| {
            let difference = (d[2 * k] - d[2 * k + 1]).as_dvec3();
            p[k + 1] - p[0] + difference / (2.0 * f64::from(step))
        };
        let face = (p[1] - p[0]).cross(p[2] - p[0]);
        let n = self.base.inside(triangle, at.into()).n.as_dvec3();
        let is_behind = self.base.has_normals && n.dot(face) < 0.0;
        let smooth = self.object_transform.normal(along(0).cross(along(1)));
        (smooth, if is_behind { -1.0 } else { 1.0 })
    }

    pub(super) fn derivatives(&self, element: u32, index: f32) -> SurfaceDerivatives {
        let TriangleVertices { p, uv, .. } = self.micro_triangle(element, index as u32).vertices;
        let by_weights = SurfaceDerivatives {
            dpdu: p[1] - p[0],
            dpdv: p[2] - p[0],
            ..SurfaceDerivatives::default()
        };
        by_weights.chain(uv[1] - uv[0], uv[2] - uv[0])
    }
}
