//! Disks.

use super::{ShapeHit, ShapePoint};
use crate::math::{Aabb, Ray};

/// A disk.
#[derive(Clone, Debug)]
pub struct Disk {}

impl Disk {
    pub(super) fn aabb(&self) -> Aabb {
        todo!()
    }
    pub(super) fn intersect(&self, _ray: &Ray) -> Option<ShapeHit> {
        todo!()
    }
    pub(super) fn point(&self, _u: f32, _v: f32) -> ShapePoint {
        todo!()
    }
    pub(super) fn area(&self) -> f32 {
        todo!()
    }
}
