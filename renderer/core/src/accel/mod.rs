//! Acceleration structures for nearest-hit and occlusion queries.
//!
//! Both implementations trace single rays and batches, with the same results. Hits that fail the
//! alpha test ([`Geometry::passes_alpha_test`]) are ignored.
//!
//! Both accept `t` in [tmin, tmax), as shapes do. Rays with non-finite values or a zero direction
//! miss. Elements with non-finite coordinates or coordinates beyond [`MAX_COORDINATE`] are never
//! hit. [`crate::geometry::Mesh::new`] discards zero-area triangles.

mod builder;
mod builtin;
mod embree;
mod heap;
mod packet;
mod query;
mod tree;
mod triangles;

use crate::choice::choice;
use crate::geometry::{Geometry, Hit, ShapeHit};
use glam::Vec4;
use lightbound_math::{Aabb, Ray, Transform};
use std::ffi::OsString;
use std::sync::Arc;

pub(crate) use tree::FAR_ROUNDING_SCALE;

/// Ray queries over an immutable [`Geometry`].
pub trait Accel: Send + Sync {
    /// Returns the nearest hit on the segment, or [`Hit::MISS`].
    fn intersect(&self, ray: &Ray) -> Hit;

    /// Returns whether any surface intersects the segment.
    fn occluded(&self, ray: &Ray) -> bool;

    /// Calls [`Accel::intersect`] for each ray; `hits` is cleared first. Fastest if consecutive
    /// rays are coherent.
    fn intersect_batch(&self, rays: &[Ray], hits: &mut Vec<Hit>) {
        hits.clear();
        hits.extend(rays.iter().map(|r| self.intersect(r)));
    }

    /// Calls [`Accel::occluded`] for each ray; `blocked` is cleared first.
    fn occluded_batch(&self, rays: &[Ray], blocked: &mut Vec<bool>) {
        blocked.clear();
        blocked.extend(rays.iter().map(|r| self.occluded(r)));
    }

    /// Returns the bounding box of all surfaces, in render space.
    fn bounds(&self) -> Aabb;

    /// Returns the memory use of the structure in bytes, excluding the geometry.
    fn memory_bytes(&self) -> usize;

    /// Returns the name, `builtin` or `embree`.
    fn name(&self) -> &'static str;

    /// Returns what hits depend on besides the geometry, such as a version and an instruction set;
    /// `None` if they are equal, bit by bit, on all machines.
    fn variant(&self) -> Option<String> {
        None
    }
}

choice! {
    /// Implementations of acceleration structures.
    AccelKind: Auto {
        Auto = "auto": "Embree if LIGHTBOUND_EMBREE names its library, otherwise the built-in BVH",
        Builtin = "builtin": "The built-in BVH, without dependencies",
        Embree = "embree": "Intel Embree 4, if its library is found",
    }
}

/// Environment variable with the path of Embree's library. Without it, the system's is used.
pub const EMBREE_VARIABLE: &str = "LIGHTBOUND_EMBREE";

/// Returns the value of [`EMBREE_VARIABLE`], unless it is empty.
fn embree_path() -> Option<OsString> {
    std::env::var_os(EMBREE_VARIABLE).filter(|path| !path.is_empty())
}

impl AccelKind {
    /// Returns the implementation that this selects: `Builtin` or `Embree`.
    fn selected(self) -> AccelKind {
        match self {
            AccelKind::Auto if embree_path().is_some() => AccelKind::Embree,
            AccelKind::Auto => AccelKind::Builtin,
            kind => kind,
        }
    }

    /// Returns whether this machine has the implementation.
    pub fn is_available(self) -> bool {
        self.selected() == AccelKind::Builtin || embree::is_available()
    }
}

/// Why an acceleration structure could not be built.
#[derive(Debug, thiserror::Error)]
pub enum AccelError {
    /// Embree was requested, but its library was not loaded, for this reason.
    #[error(
        "no library of Embree 4 was found; use `--accel builtin`, or set {EMBREE_VARIABLE} to the path \
         of the library: {0}"
    )]
    NoEmbree(String),
    /// Embree returned an error.
    #[error("Embree failed: {0}")]
    Embree(String),
}

/// Builds the acceleration structure over `geometry`.
pub fn build(kind: AccelKind, geometry: Arc<Geometry>) -> Result<Box<dyn Accel>, AccelError> {
    match kind.selected() {
        AccelKind::Embree => Ok(Box::new(embree::Embree::new(geometry)?)),
        _ => Ok(Box::new(builtin::Builtin::new(geometry))),
    }
}

/// Maximum absolute coordinate of elements that rays can hit. This is Embree's limit; its square
/// does not overflow.
pub const MAX_COORDINATE: f32 = 1.844e18;

/// Returns whether rays can hit elements with this bounding box.
fn is_usable(bounds: &Aabb) -> bool {
    !bounds.is_empty() && bounds.magnitude() < MAX_COORDINATE
}

/// Returns whether a ray is finite, with a nonzero direction and a nonempty segment.
#[inline(always)]
fn is_traceable(ray: &Ray) -> bool {
    let (o, d) = (ray.o.extend(0.0), ray.d.extend(0.0));
    // Infinity or NaN times zero is NaN, which compares unequal.
    let is_finite = (o * 0.0 + d * 0.0) == Vec4::ZERO;
    is_finite & (d != Vec4::ZERO) & (ray.tmin < ray.tmax)
}

/// Transforms a ray to the local space of `transform`; `t` values are unchanged.
fn to_local(ray: &Ray, transform: &Transform) -> Ray {
    let inverse = transform.inverse();
    Ray { o: inverse.point(ray.o), d: inverse.vector(ray.d), ..*ray }
}

/// Returns the nearest hit, with an element that is tested alone, that passes the alpha test.
/// `ray.tmax` is inclusive.
fn nearest_accepted(
    geometry: &Geometry,
    primitive: u32,
    element: u32,
    ray: &Ray,
) -> Option<ShapeHit> {
    let shape = &geometry.primitives[primitive as usize].shape;
    let mut segment = Ray { tmax: ray.tmax.next_up(), ..*ray };
    loop {
        let hit = shape.intersect(element, &segment)?;
        if geometry.passes_alpha_test(ray, primitive, element, hit.coordinates()) {
            return Some(hit);
        }
        // Continue beyond the hit, for example with the far side of a sphere.
        segment.tmin = hit.t.next_up();
    }
}
