//! Triangle meshes.

use super::{ShapeHit, ShapePoint};
use crate::math::{Aabb, Ray, Vec2, Vec3};

/// Indexed triangles, counter-clockwise from the front.
#[derive(Clone, Debug)]
pub struct Mesh {
    positions: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    normals: Vec<Vec3>,
    uvs: Vec<Vec2>,
}

/// Why arrays are no mesh.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MeshError {}

impl Mesh {
    /// Checks and keeps the arrays; `normals` and `uvs` are empty or as long as `positions`.
    pub fn new(positions: Vec<Vec3>, triangles: Vec<[u32; 3]>, normals: Vec<Vec3>, uvs: Vec<Vec2>) -> Result<Mesh, MeshError> {
        Ok(Mesh { positions, triangles, normals, uvs })
    }
    /// Vertex positions.
    pub fn positions(&self) -> &[Vec3] {
        &self.positions
    }
    /// Vertex indices of each triangle.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }
    pub(super) fn aabb(&self, _element: u32) -> Aabb {
        todo!()
    }
    pub(super) fn intersect(&self, _element: u32, _ray: &Ray) -> Option<ShapeHit> {
        todo!()
    }
    pub(super) fn point(&self, _element: u32, _u: f32, _v: f32) -> ShapePoint {
        todo!()
    }
    pub(super) fn area(&self, _element: u32) -> f32 {
        todo!()
    }
}
