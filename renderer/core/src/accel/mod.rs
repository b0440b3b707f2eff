//! Acceleration structures for nearest-hit and occlusion queries.
//!
//! Both implementations trace single rays and batches; a batch gives the same results as
//! single rays. Hits that fail the alpha test ([`Geometry::accepts`]) are ignored.
//!
//! Both accept `t` in [tmin, tmax), as shapes do. Rays that are not finite or have no direction
//! miss. Elements that are not finite or exceed [`MAX_COORDINATE`] are never hit.
//! [`crate::geometry::Mesh::new`] discards triangles without area.

mod builtin;
#[cfg(feature = "embree")]
mod embree;
mod packet;
mod tree;
mod triangles;

use crate::choice::choice;
use crate::geometry::{Geometry, Hit, ShapeHit};
use glam::Vec4;
use lightbound_math::{Aabb, Ray, Transform};
use std::sync::Arc;

/// Ray queries over an immutable [`Geometry`].
pub trait Accel: Send + Sync {
    /// Nearest hit on the segment, or [`Hit::MISS`].
    fn intersect(&self, ray: &Ray) -> Hit;

    /// Whether a surface intersects the segment.
    fn occluded(&self, ray: &Ray) -> bool;

    /// [`Accel::intersect`] of each ray; `hits` is cleared first. It is fastest if
    /// consecutive rays are coherent.
    fn intersect_batch(&self, rays: &[Ray], hits: &mut Vec<Hit>) {
        hits.clear();
        hits.extend(rays.iter().map(|r| self.intersect(r)));
    }

    /// [`Accel::occluded`] of each ray; `blocked` is cleared first.
    fn occluded_batch(&self, rays: &[Ray], blocked: &mut Vec<bool>) {
        blocked.clear();
        blocked.extend(rays.iter().map(|r| self.occluded(r)));
    }

    /// Bounding box of all surfaces, in world space.
    fn bounds(&self) -> Aabb;

    /// Memory of the structure, without the geometry that it refers to.
    fn memory_bytes(&self) -> usize;

    /// `builtin` or `embree`.
    fn name(&self) -> &'static str;
}

choice! {
    /// Implementations of acceleration structures.
    AccelKind: Auto {
        Auto = "auto": "Embree if it is compiled in, else the built-in one",
        Builtin = "builtin": "The built-in one, without dependencies",
        Embree = "embree": "Intel Embree 4; needs a build with `--features embree`",
    }
}

/// Why an acceleration structure could not be built.
#[derive(Debug, thiserror::Error)]
pub enum AccelError {
    /// Embree was requested, but the program was built without it.
    #[error(
        "this program was built without Embree; use `--accel builtin`, or build with `--features embree`"
    )]
    NoEmbree,
    /// Embree returned an error.
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

/// Maximum absolute coordinate of elements that rays can hit: Embree's limit, whose square does not
/// overflow.
pub const MAX_COORDINATE: f32 = 1.844e18;

/// Whether rays can hit elements with this bounding box.
fn is_usable(bounds: &Aabb) -> bool {
    !bounds.is_empty() && bounds.magnitude() < MAX_COORDINATE
}

/// Whether a ray is finite and has a direction and a segment.
#[inline(always)]
fn is_traceable(ray: &Ray) -> bool {
    let (o, d) = (ray.o.extend(0.0), ray.d.extend(0.0));
    // Infinity or NaN times zero is NaN, which compares unequal.
    let is_finite = (o * 0.0 + d * 0.0) == Vec4::ZERO;
    is_finite & (d != Vec4::ZERO) & (ray.tmin < ray.tmax)
}

/// The ray in the local space of `transform`, with the same ray parameters.
fn to_local(ray: &Ray, transform: &Transform) -> Ray {
    let inverse = transform.inverse();
    Ray { o: inverse.point(ray.o), d: inverse.vector(ray.d), ..*ray }
}

/// The nearest hit of an element other than a triangle that passes the alpha test, on the segment
/// including its end.
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
        // Continue behind it, for example with the far side of a sphere.
        rest.tmin = hit.t.next_up();
    }
}
