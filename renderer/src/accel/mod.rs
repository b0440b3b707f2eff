//! Acceleration structures: which surface does a ray meet first, and is a segment blocked.
//!
//! Both implementations answer for one ray and for batches; a batch gives the same answers as its
//! rays one by one. Surfaces whose opacity texture lets a ray through ([`Geometry::accepts`]) do
//! not count as met.
//!
//! Both count `t` in [tmin, tmax), as shapes do: a hit at the start of the segment is one, at its
//! end it is none. Rays that are not finite or have no direction miss. Elements that are not finite
//! and those beyond [`FARTHEST`] are never met; triangles without area do not get here, see
//! [`crate::geometry::Mesh::new`].

mod builtin;
#[cfg(feature = "embree")]
mod embree;
mod packet;
mod tree;
mod triangles;

use crate::geometry::{Geometry, Hit, ShapeHit};
use crate::math::{Aabb, Ray, Transform};
use glam::Vec4;
use std::sync::Arc;

/// Ray queries over an immutable [`Geometry`].
pub trait Accel: Send + Sync {
    /// Nearest hit on the segment, or [`Hit::MISS`].
    fn intersect(&self, ray: &Ray) -> Hit;

    /// Whether anything lies on the segment.
    fn occluded(&self, ray: &Ray) -> bool;

    /// [`Accel::intersect`] of each ray; `hits` is cleared first. Neighbouring rays are best
    /// similar, but need not be.
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
    /// The built-in one, which needs nothing else.
    Builtin,
    /// Intel Embree 4; needs a build with `--features embree`.
    Embree,
}

/// Why no structure could be built.
#[derive(Debug, thiserror::Error)]
pub enum AccelError {
    /// Asked for Embree in a program built without it.
    #[error(
        "this program was built without Embree; use `--accel builtin`, or build with `--features embree`"
    )]
    NoEmbree,
    /// The library refused.
    #[error("Embree failed: {0}")]
    Embree(String),
}

/// Builds the acceleration structure over `geometry`.
pub fn build(kind: AccelKind, geometry: Arc<Geometry>) -> Result<Box<dyn Accel>, AccelError> {
    match kind {
        AccelKind::Builtin => Ok(Box::new(builtin::Builtin::new(geometry))),
        #[cfg(feature = "embree")]
        AccelKind::Auto | AccelKind::Embree => Ok(Box::new(embree::Embree::new(geometry)?)),
        #[cfg(not(feature = "embree"))]
        AccelKind::Auto => build(AccelKind::Builtin, geometry),
        #[cfg(not(feature = "embree"))]
        AccelKind::Embree => Err(AccelError::NoEmbree),
    }
}

/// Largest absolute coordinate of what rays can meet; Embree's limit, whose square still fits a
/// float.
pub const FARTHEST: f32 = 1.844e18;

/// Whether a box holds something that can be met.
fn is_usable(bounds: &Aabb) -> bool {
    !bounds.is_empty() && bounds.magnitude() < FARTHEST
}

/// Whether a ray is finite and goes anywhere.
#[inline(always)]
fn is_traceable(ray: &Ray) -> bool {
    let (o, d) = (ray.o.extend(0.0), ray.d.extend(0.0));
    // Infinities and NaNs times zero are NaN, which equals nothing.
    let is_finite = (o * 0.0 + d * 0.0) == Vec4::ZERO;
    is_finite & (d != Vec4::ZERO) & (ray.tmin < ray.tmax)
}

/// The ray in the space that `transform` leaves; its parameters stay.
fn to_local(ray: &Ray, transform: &Transform) -> Ray {
    let inverse = transform.inverse();
    Ray { o: inverse.point(ray.o), d: inverse.vector(ray.d), ..*ray }
}

/// The nearest point on the segment, whose end belongs to it here, where an element other than a
/// triangle is met and does not let the ray through.
fn nearest_accepted(
    geometry: &Geometry,
    primitive: u32,
    element: u32,
    ray: &Ray,
) -> Option<ShapeHit> {
    let shape = &geometry.primitives[primitive as usize].shape;
    let mut rest = Ray { tmax: ray.tmax.next_up(), ..*ray };
    loop {
        let hit = shape.intersect(element, &rest)?;
        if geometry.accepts(ray, primitive, element, hit.u, hit.v) {
            return Some(hit);
        }
        // Behind it there may be another: the far side of a sphere.
        rest.tmin = hit.t.next_up();
    }
}
