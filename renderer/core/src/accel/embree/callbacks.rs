//! Callbacks for Embree queries: the alpha test and non-triangle shapes.

use super::library::*;
use super::packet::indices;
use crate::accel::{is_usable, nearest_accepted, to_local};
use crate::geometry::{Geometry, Shape};
use lightbound_math::{Ray, Vec3};
use std::ffi::c_int;
use std::ptr::{from_mut, null};

/// Query data for callbacks; extends `RTCRayQueryContext`.
#[repr(C)]
pub(super) struct QueryContext {
    instance: u32,
    instance_primitive: u32,
    geometry: *const Geometry,
    /// The rays of the batch, by ray id.
    rays: *const Ray,
}

impl QueryContext {
    #[inline(always)]
    pub(super) fn new(geometry: &Geometry, rays: &[Ray]) -> QueryContext {
        QueryContext {
            instance: RTC_INVALID_GEOMETRY_ID,
            instance_primitive: RTC_INVALID_GEOMETRY_ID,
            geometry,
            rays: rays.as_ptr(),
        }
    }

    /// Arguments that point to this context; it must not move while they are in use.
    #[inline(always)]
    pub(super) fn arguments(&mut self, flags: c_int) -> QueryArguments {
        QueryArguments {
            flags,
            feature_mask: RTC_FEATURE_FLAG_ALL,
            context: from_mut(self).cast(),
            filter: None,
            shape: null(),
            min_width_distance_factor: 0.0,
        }
    }

    /// Returns the ray with an id, with its full segment, in the space of an instance. The
    /// computation is that of the built-in structure, so alpha tests agree.
    ///
    /// # Safety
    /// The context must belong to a running query, and the id to one of its rays.
    unsafe fn local_ray(&self, id: u32, instance: u32) -> Ray {
        // SAFETY: the query borrows geometry and rays, and the caller guarantees the id.
        let (geometry, ray) = unsafe { (&*self.geometry, &*self.rays.add(id as usize)) };
        match geometry.instances.get(instance as usize) {
            Some(instance) => to_local(ray, &instance.transform),
            None => *ray,
        }
    }
}

/// Position of a field among the arrays of `RTCRayHitN`; the order is that of [`RayPacket`].
#[derive(Clone, Copy)]
pub(super) enum Field {
    Tnear = 3,
    Tfar = 8,
    Id = 10,
    NgX = 12,
    NgY = 13,
    NgZ = 14,
    U = 15,
    V = 16,
    Element = 17,
    Geometry = 18,
    Instance = 19,
}

/// One lane of an `RTCRayHitN`, `RTCRayN` or `RTCHitN` of a width known at run time.
pub(super) struct LaneFields {
    /// Address that the first field of an `RTCRayHitN` would have if the structure were part of
    /// one; it may lie outside the allocation.
    pub(super) base: *mut f32,
    pub(super) width: usize,
    pub(super) lane: usize,
}

impl LaneFields {
    /// Reads a field.
    ///
    /// # Safety
    /// The structure must have the field.
    pub(super) unsafe fn get(&self, field: Field) -> f32 {
        // SAFETY: fields are consecutive arrays of `width` words.
        unsafe { self.base.wrapping_add(field as usize * self.width + self.lane).read() }
    }

    /// Writes a field.
    ///
    /// # Safety
    /// The structure must have the field and be writable.
    pub(super) unsafe fn set(&self, field: Field, value: f32) {
        // SAFETY: as in `get`.
        unsafe { self.base.wrapping_add(field as usize * self.width + self.lane).write(value) }
    }
}

/// Applies the alpha test to triangles; see `RTCFilterFunctionN`.
pub(super) unsafe extern "C" fn opacity_filter(args: *const RTCFilterFunctionNArguments) {
    // SAFETY: Embree passes valid arguments, arrays of `n` lanes, and the context of our query.
    unsafe {
        let args = &*args;
        let context = &*args.context.cast::<QueryContext>();
        let geometry = &*context.geometry;
        let width = args.n as usize;
        let hits = args.hit.cast::<f32>().wrapping_sub(Field::NgX as usize * width);
        for lane in 0..width {
            let valid = args.valid.add(lane);
            if *valid != 0 {
                let ray = LaneFields { base: args.ray.cast(), width, lane };
                let hit = LaneFields { base: hits, width, lane };
                let (geometry_id, instance_id) =
                    (hit.get(Field::Geometry).to_bits(), hit.get(Field::Instance).to_bits());
                let (primitive, instance) = indices(geometry, geometry_id, instance_id);
                let local = context.local_ray(ray.get(Field::Id).to_bits(), instance);
                let element = hit.get(Field::Element).to_bits();
                if !geometry.passes_alpha_test(
                    &local,
                    primitive,
                    element,
                    [hit.get(Field::U), hit.get(Field::V), 0.0],
                ) {
                    *valid = 0;
                }
            }
        }
    }
}

/// Computes the bounding box of an element; see `RTCBoundsFunction`. Elements that rays cannot hit
/// get a NaN box, which Embree ignores.
pub(super) unsafe extern "C" fn shape_bounds(args: *const RTCBoundsFunctionArguments) {
    // SAFETY: Embree passes valid arguments with our user data, which is a shape.
    let (bounds, out) = unsafe {
        let args = &*args;
        ((*args.geometry_user_ptr.cast::<Shape>()).aabb(args.prim_id), &mut *args.bounds_o)
    };
    let (min, max) =
        if is_usable(&bounds) { (bounds.min, bounds.max) } else { (Vec3::NAN, Vec3::NAN) };
    *out = RTCBounds { lower: min.extend(0.0).to_array(), upper: max.extend(0.0).to_array() };
}

/// Finds the nearest hits with an element; see `RTCIntersectFunctionN`.
pub(super) unsafe extern "C" fn shape_intersect(args: *const ShapeArguments) {
    // SAFETY: Embree passes valid arguments, arrays of `n` lanes, and the context of our query.
    unsafe {
        let args = &*args;
        let context = &*args.context.cast::<QueryContext>();
        let (primitive, instance) = indices(&*context.geometry, args.geom_id, context.instance);
        for lane in (0..args.n as usize).filter(|&lane| *args.valid.add(lane) != 0) {
            let rayhit = LaneFields { base: args.ray.cast(), width: args.n as usize, lane };
            let local = context.local_ray(rayhit.get(Field::Id).to_bits(), instance);
            let segment =
                Ray { tmin: rayhit.get(Field::Tnear), tmax: rayhit.get(Field::Tfar), ..local };
            if let Some(hit) =
                nearest_accepted(&*context.geometry, primitive, args.prim_id, &segment)
            {
                let current = (rayhit.get(Field::Geometry), rayhit.get(Field::Instance));
                let (geometry_id, instance_id) = (current.0.to_bits(), current.1.to_bits());
                if hit.t == segment.tmax && geometry_id != RTC_INVALID_GEOMETRY_ID {
                    // As in the built-in structure, the hit with the lowest indices wins.
                    let current = indices(&*context.geometry, geometry_id, instance_id);
                    let element = rayhit.get(Field::Element).to_bits();
                    if (current.1, current.0, element) < (instance, primitive, args.prim_id) {
                        continue;
                    }
                }
                rayhit.set(Field::Tfar, hit.t);
                rayhit.set(Field::U, hit.u);
                rayhit.set(Field::V, hit.v);
                // The normal is not used; its place holds the third surface coordinate.
                rayhit.set(Field::NgX, hit.w);
                rayhit.set(Field::NgY, 0.0);
                rayhit.set(Field::NgZ, 0.0);
                rayhit.set(Field::Element, f32::from_bits(args.prim_id));
                rayhit.set(Field::Geometry, f32::from_bits(args.geom_id));
                rayhit.set(Field::Instance, f32::from_bits(context.instance));
            }
        }
    }
}

/// Tests occlusion by an element; see `RTCOccludedFunctionN`.
pub(super) unsafe extern "C" fn shape_occluded(args: *const ShapeArguments) {
    // SAFETY: Embree passes valid arguments, arrays of `n` lanes, and the context of our query.
    unsafe {
        let args = &*args;
        let context = &*args.context.cast::<QueryContext>();
        let (primitive, instance) = indices(&*context.geometry, args.geom_id, context.instance);
        for lane in (0..args.n as usize).filter(|&lane| *args.valid.add(lane) != 0) {
            let ray = LaneFields { base: args.ray.cast(), width: args.n as usize, lane };
            let local = context.local_ray(ray.get(Field::Id).to_bits(), instance);
            let segment = Ray { tmin: ray.get(Field::Tnear), tmax: ray.get(Field::Tfar), ..local };
            if nearest_accepted(&*context.geometry, primitive, args.prim_id, &segment).is_some() {
                ray.set(Field::Tfar, f32::NEG_INFINITY);
            }
        }
    }
}
