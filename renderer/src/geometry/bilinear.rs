//! Bilinear patches.

use super::{ShapeHit, ShapePoint};
use crate::math::{Aabb, Ray};

/// Indexed bilinear patches.
#[derive(Clone, Debug)]
pub struct BilinearMesh {}

impl BilinearMesh {
    pub(super) fn len(&self) -> u32 {
        todo!()
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
