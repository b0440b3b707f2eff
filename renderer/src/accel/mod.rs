//! Acceleration structures: which surface does a ray meet first, and is a segment blocked.
//!
//! Both implementations answer for one ray and for batches; a batch gives the same answers as its rays one by one. Surfaces
//! whose opacity texture lets a ray through ([`Geometry::accepts`]) do not count as met.

use crate::geometry::{Geometry, Hit};
use crate::math::{Aabb, Ray};
use std::sync::Arc;

/// Ray queries over an immutable [`Geometry`].
pub trait Accel: Send + Sync {
    /// Nearest hit on the segment, or [`Hit::MISS`].
    fn intersect(&self, ray: &Ray) -> Hit;

    /// Whether anything lies on the segment.
    fn occluded(&self, ray: &Ray) -> bool;

    /// [`Accel::intersect`] of each ray; `hits` is cleared first. Neighbouring rays are best similar, but need not be.
    fn intersect_batch(&self, rays: &[Ray], hits: &mut Vec<Hit>) {
        hits.clear();
        hits.extend(rays.iter().map(|r| self.intersect(r)));
    }

    /// [`Accel::occluded`] of each ray; `blocked` is cleared first.
    fn occluded_batch(&self, rays: &[Ray], blocked: &mut Vec<bool>) {
        blocked.clear();
        blocked.extend(rays.iter().map(|r| self.occluded(r)));
    }

    /// Box around everything, in world space.
    fn bounds(&self) -> Aabb;

    /// Memory of the structure itself, without the geometry it refers to.
    fn memory_bytes(&self) -> usize;

    /// `builtin` or `embree`.
    fn name(&self) -> &'static str;
}

/// Which implementation to build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum AccelKind {
    /// Embree where it is built in, else the built-in one.
    Auto,
    /// Our own traversal over trees built by `obvhs`.
    Builtin,
    /// Intel Embree 4; needs the cargo feature `embree`.
    Embree,
}

/// Why no structure could be built.
#[derive(Debug, thiserror::Error)]
pub enum AccelError {
    /// Asked for Embree in a program built without it.
    #[error("this program was built without Embree; use `--accel builtin`, or build with `--features embree`")]
    NoEmbree,
    /// The library refused.
    #[error("Embree failed: {0}")]
    Embree(String),
}

/// Builds the acceleration structure over `geometry`.
pub fn build(kind: AccelKind, geometry: Arc<Geometry>) -> Result<Box<dyn Accel>, AccelError> {
    let _ = (kind, geometry);
    todo!("accelerators")
}
