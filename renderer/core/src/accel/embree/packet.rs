//! Ray packets in Embree's layout.

use super::device::SceneHandle;
use super::library::{QueryArguments, RTC_INVALID_GEOMETRY_ID};
use crate::accel::is_traceable;
use crate::geometry::{Geometry, Hit, Shape};
use lightbound_math::Ray;
use std::ffi::c_int;
use std::ptr::from_mut;

/// `RTCRayHitN` of `N` lanes, including `instPrimID`, which older libraries lack.
#[repr(C, align(64))]
pub(super) struct RayPacket<const N: usize> {
    o: [[f32; N]; 3],
    tnear: [f32; N],
    d: [[f32; N]; 3],
    time: [f32; N],
    pub(super) tfar: [f32; N],
    mask: [u32; N],
    id: [u32; N],
    flags: [u32; N],
    ng: [[f32; N]; 3],
    u: [f32; N],
    v: [f32; N],
    prim_id: [u32; N],
    geom_id: [u32; N],
    inst_id: [u32; N],
    inst_prim_id: [u32; N],
}

/// Embree's mask of valid lanes: −1 for lanes with a traceable ray, else 0.
#[repr(C, align(64))]
pub(super) struct ValidMask<const N: usize>(pub(super) [c_int; N]);

impl<const N: usize> RayPacket<N> {
    #[inline(always)]
    pub(super) fn new() -> RayPacket<N> {
        RayPacket {
            o: [[0.0; N]; 3],
            tnear: [0.0; N],
            d: [[0.0; N]; 3],
            time: [0.0; N],
            tfar: [0.0; N],
            mask: [u32::MAX; N],
            id: [0; N],
            flags: [0; N],
            ng: [[0.0; N]; 3],
            u: [0.0; N],
            v: [0.0; N],
            prim_id: [0; N],
            geom_id: [RTC_INVALID_GEOMETRY_ID; N],
            inst_id: [RTC_INVALID_GEOMETRY_ID; N],
            inst_prim_id: [RTC_INVALID_GEOMETRY_ID; N],
        }
    }

    /// Loads up to `N` rays; ray IDs are their indices. Lanes of untraceable rays are invalid.
    #[inline(always)]
    pub(super) fn load(&mut self, rays: &[Ray], indices: &[u32]) -> ValidMask<N> {
        let mut valid = ValidMask([0; N]);
        for (lane, &index) in indices.iter().enumerate().take(N) {
            let ray = &rays[index as usize];
            for axis in 0..3 {
                self.o[axis][lane] = ray.o[axis];
                self.d[axis][lane] = ray.d[axis];
            }
            self.tnear[lane] = ray.tmin;
            // Embree's `tfar` is inclusive.
            self.tfar[lane] = ray.tmax.next_down();
            self.id[lane] = index;
            valid.0[lane] = -c_int::from(is_traceable(ray));
        }
        self.geom_id = [RTC_INVALID_GEOMETRY_ID; N];
        valid
    }

    #[inline(always)]
    pub(super) fn intersect(
        &mut self,
        scene: &SceneHandle,
        valid: &ValidMask<N>,
        args: &mut QueryArguments,
    ) {
        let (library, scene) = (scene.library, scene.handle);
        let (valid, packet) = (valid.0.as_ptr(), from_mut(self).cast());
        // SAFETY: the packet has Embree's layout and alignment for this width, with room for
        // `instPrimID`; the scene is committed; `args` comes with its `QueryContext`.
        unsafe {
            match N {
                1 => (library.intersect1)(scene, packet, args),
                4 => (library.intersect4)(valid, scene, packet, args),
                8 => (library.intersect8)(valid, scene, packet, args),
                16 => (library.intersect16)(valid, scene, packet, args),
                _ => unreachable!("Embree has packets of 1, 4, 8 and 16 rays"),
            }
        }
    }

    #[inline(always)]
    pub(super) fn occluded(
        &mut self,
        scene: &SceneHandle,
        valid: &ValidMask<N>,
        args: &mut QueryArguments,
    ) {
        let (library, scene) = (scene.library, scene.handle);
        let (valid, packet) = (valid.0.as_ptr(), from_mut(self).cast());
        // SAFETY: as in `intersect`; `RTCRayN` is a prefix of this struct.
        unsafe {
            match N {
                1 => (library.occluded1)(scene, packet, args),
                4 => (library.occluded4)(valid, scene, packet, args),
                8 => (library.occluded8)(valid, scene, packet, args),
                16 => (library.occluded16)(valid, scene, packet, args),
                _ => unreachable!("Embree has packets of 1, 4, 8 and 16 rays"),
            }
        }
    }

    #[inline(always)]
    pub(super) fn hit(&self, lane: usize, geometry: &Geometry, time: f32) -> Hit {
        if self.geom_id[lane] == RTC_INVALID_GEOMETRY_ID {
            return Hit::MISS;
        }
        let (primitive, instance) = indices(geometry, self.geom_id[lane], self.inst_id[lane]);
        let w = match geometry.primitives[primitive as usize].shape {
            Shape::Implicit(_) | Shape::Displaced(_) => self.ng[0][lane],
            _ => 0.0,
        };
        Hit {
            t: self.tfar[lane],
            u: self.u[lane],
            v: self.v[lane],
            w,
            primitive,
            element: self.prim_id[lane],
            instance,
            time,
        }
    }
}

/// Converts Embree's IDs to the indices of a primitive and an instance.
#[inline(always)]
pub(super) fn indices(geometry: &Geometry, geometry_id: u32, instance_id: u32) -> (u32, u32) {
    if instance_id == RTC_INVALID_GEOMETRY_ID {
        return (geometry.world.start + geometry_id, Hit::NONE);
    }
    let instance = instance_id - geometry.world.len() as u32;
    let group = geometry.instances[instance as usize].group;
    (geometry.groups[group as usize].start + geometry_id, instance)
}
