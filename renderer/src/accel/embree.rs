//! Intel Embree 4 behind a safe wrapper.
//!
//! One Embree scene per group, and one for the world, which holds the instances too; all in robust
//! mode. Meshes are Embree's triangles (indices shared, 12 bytes copied per vertex), other shapes
//! are user geometries that call [`Shape::intersect`] back. Opacity is asked in filter callbacks,
//! which only primitives with opacity have. Geometry ids are indices of primitives counted from the
//! group's first; in the world's scene the instances' ids follow.
//!
//! Batches go through packets of the widest kind that the CPU runs natively where that pays. With
//! AVX-512, packets of 16 marked coherent trace camera rays 2 to 4 times as fast as single rays,
//! but half as fast where directions part, unless the scene is small: then rays sorted by octant
//! are again twice as fast. Any-hit queries gain, by 1.1 to 3.5, in packets of 16 that are not
//! marked. A packet gives each ray the bits that it gets alone; a test holds that.
//!
//! The bindings are those of Embree 4.2. From 4.3 on the library writes one more word
//! (`instPrimID`) after each hit and in each query context, which the bindings' structs have no
//! room for; [`Packet`] and [`Context`] are ours, and have it.
//!
//! Robust mode is watertight across edges, not quite at vertices: of rays aimed exactly at one,
//! about one in a thousand slips through.
//!
//! This is the renderer's only file with unsafe code. Nothing unsafe leaves it: handles are
//! released by their owners, callbacks see only data that outlives the calls they run in, and a
//! panic in a callback aborts instead of unwinding into C++.

#![allow(unsafe_code)]

use super::{Accel, AccelError, is_traceable, is_usable, nearest_accepted, to_local};
use crate::geometry::{Geometry, Hit, Mesh, Primitive, Shape};
use crate::math::{Aabb, Ray, Vec3, vec3};
use embree4_sys::*;
use std::ffi::{CString, c_int, c_void};
use std::ops::Range;
use std::ptr::{from_mut, from_ref, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};

/// Embree scenes over a [`Geometry`].
pub(super) struct Embree {
    // Dropped in this order: scenes before the device and the geometry whose buffers they share.
    world: Scene,
    _groups: Vec<Scene>,
    device: Device,
    geometry: Arc<Geometry>,
    /// Rays per packet in batches: 4, 8 or 16.
    width: usize,
    /// See [`SMALL`].
    small: bool,
}

// SAFETY: committed scenes may be queried from any number of threads, and are not changed any more;
// the other parts are Sync.
unsafe impl Sync for Embree {}
// SAFETY: Embree binds no object to a thread.
unsafe impl Send for Embree {}

impl Embree {
    /// Builds all scenes with as many threads as the current rayon pool has.
    pub(super) fn new(geometry: Arc<Geometry>) -> Result<Embree, AccelError> {
        let device = Device::new(rayon::current_num_threads())?;
        let groups = geometry
            .groups
            .iter()
            .map(|range| device.scene(&geometry, range.clone(), &[]))
            .collect::<Result<Vec<_>, _>>()?;
        let world = device.scene(&geometry, geometry.world.clone(), &groups)?;
        let small = geometry.triangles() + geometry.instances.len() as u64 <= SMALL;
        let width = device.width();
        Ok(Embree { world, _groups: groups, device, geometry, width, small })
    }

    /// Nearest hits; `hits` has room for one per ray.
    fn intersect_packets<const N: usize>(&self, rays: &[Ray], hits: &mut [Hit]) {
        let mut packet = Packet::<N>::new();
        let mut context = Context::new(&self.geometry, rays);
        let mut trace = |lanes: &[u32], hits: &mut [Hit]| {
            let valid = packet.load(rays, lanes);
            packet.intersect(
                &self.world,
                &valid,
                &mut context.intersect_arguments(RTCRayQueryFlags::COHERENT),
            );
            for (lane, &index) in lanes.iter().enumerate() {
                hits[index as usize] = packet.hit(lane, &self.geometry);
            }
        };
        let mut scattered = Vec::new();
        let order: Vec<u32> = (0..rays.len() as u32).collect();
        for lanes in order.chunks(N) {
            if are_coherent(rays, lanes) {
                trace(lanes, hits);
            } else {
                scattered.extend_from_slice(lanes);
            }
        }
        if self.small {
            for lanes in by_octant(rays, &scattered).chunks(N) {
                trace(lanes, hits);
            }
        } else {
            for index in scattered {
                hits[index as usize] = self.intersect(&rays[index as usize]);
            }
        }
    }

    /// Whether rays are blocked; `blocked` has room for one per ray.
    fn occluded_packets<const N: usize>(&self, rays: &[Ray], blocked: &mut [bool]) {
        let mut packet = Packet::<N>::new();
        let mut context = Context::new(&self.geometry, rays);
        let order: Vec<u32> = (0..rays.len() as u32).collect();
        for (lanes, blocked) in order.chunks(N).zip(blocked.chunks_mut(N)) {
            let valid = packet.load(rays, lanes);
            packet.occluded(&self.world, &valid, &mut context.occluded_arguments());
            for (lane, blocked) in blocked.iter_mut().enumerate() {
                *blocked = valid.0[lane] != 0 && packet.tfar[lane] == f32::NEG_INFINITY;
            }
        }
    }
}

/// Triangles and instances up to which a scene counts as small: there packets are fast even where
/// their rays part.
const SMALL: u64 = 1000;

/// `indices`, sorted by the signs of their rays' directions.
fn by_octant(rays: &[Ray], indices: &[u32]) -> Vec<u32> {
    let octant = |index: u32| {
        let bit = |x: f32| (x.to_bits() >> 31) as usize;
        let d = rays[index as usize].d;
        bit(d.x) | bit(d.y) << 1 | bit(d.z) << 2
    };
    let mut places = [0; 9];
    for &index in indices {
        places[octant(index) + 1] += 1;
    }
    for i in 1..9 {
        places[i] += places[i - 1];
    }
    let mut order = vec![0; indices.len()];
    for &index in indices {
        let place = &mut places[octant(index)];
        order[*place] = index;
        *place += 1;
    }
    order
}

/// Whether the directions of some rays lie within 25° of the first one's.
fn are_coherent(rays: &[Ray], lanes: &[u32]) -> bool {
    let first = rays[lanes[0] as usize].d;
    let least = 0.82 * first.length_squared();
    lanes.iter().all(|&index| {
        let d = rays[index as usize].d;
        let cos = d.dot(first);
        cos > 0.0 && cos * cos >= least * d.length_squared()
    })
}

impl Accel for Embree {
    fn intersect(&self, ray: &Ray) -> Hit {
        if !is_traceable(ray) {
            return Hit::MISS;
        }
        let rays = std::slice::from_ref(ray);
        let mut packet = Packet::<1>::new();
        let valid = packet.load(rays, &[0]);
        let mut context = Context::new(&self.geometry, rays);
        packet.intersect(
            &self.world,
            &valid,
            &mut context.intersect_arguments(RTCRayQueryFlags::INCOHERENT),
        );
        packet.hit(0, &self.geometry)
    }

    fn occluded(&self, ray: &Ray) -> bool {
        if !is_traceable(ray) {
            return false;
        }
        let rays = std::slice::from_ref(ray);
        let mut packet = Packet::<1>::new();
        let valid = packet.load(rays, &[0]);
        let mut context = Context::new(&self.geometry, rays);
        packet.occluded(&self.world, &valid, &mut context.occluded_arguments());
        packet.tfar[0] == f32::NEG_INFINITY
    }

    fn intersect_batch(&self, rays: &[Ray], hits: &mut Vec<Hit>) {
        hits.clear();
        hits.resize(rays.len(), Hit::MISS);
        match self.width {
            16 => self.intersect_packets::<16>(rays, hits),
            8 => self.intersect_packets::<8>(rays, hits),
            _ => self.intersect_packets::<4>(rays, hits),
        }
    }

    fn occluded_batch(&self, rays: &[Ray], blocked: &mut Vec<bool>) {
        blocked.clear();
        blocked.resize(rays.len(), false);
        match self.width {
            16 => self.occluded_packets::<16>(rays, blocked),
            8 => self.occluded_packets::<8>(rays, blocked),
            _ => self.occluded_packets::<4>(rays, blocked),
        }
    }

    fn bounds(&self) -> Aabb {
        let mut b = RTCBounds::default();
        // SAFETY: the scene is committed, and `b` is a valid place for its bounds.
        unsafe { rtcGetSceneBounds(self.world.0, &mut b) };
        let bounds = Aabb {
            min: vec3(b.lower_x, b.lower_y, b.lower_z),
            max: vec3(b.upper_x, b.upper_y, b.upper_z),
        };
        if bounds.is_empty() { Aabb::EMPTY } else { bounds }
    }

    fn memory_bytes(&self) -> usize {
        self.device.memory.load(Ordering::Relaxed).max(0) as usize
    }

    fn name(&self) -> &'static str {
        "embree"
    }
}

/// An Embree device; counts the memory it takes.
struct Device {
    handle: RTCDevice,
    memory: Box<AtomicIsize>,
}

impl Device {
    fn new(threads: usize) -> Result<Device, AccelError> {
        let config = CString::new(format!("threads={threads}")).expect("no zero inside");
        // SAFETY: the string ends in a zero and lives until the call returns.
        let handle = unsafe { rtcNewDevice(config.as_ptr()) };
        let device = Device { handle, memory: Box::default() };
        // Without a device the thread's own error tells why.
        device.check("creating a device")?;
        let counter = from_ref::<AtomicIsize>(&device.memory).cast_mut().cast();
        // SAFETY: the counter is boxed and outlives the handle, see `drop`; the callback only adds
        // to it.
        unsafe { rtcSetDeviceMemoryMonitorFunction(handle, Some(count_memory), counter) };
        device.check("watching memory")?;
        Ok(device)
    }

    /// The error of the last calls, if there was one.
    fn check(&self, what: &str) -> Result<(), AccelError> {
        // SAFETY: a null handle is allowed here.
        let error = unsafe { rtcGetDeviceError(self.handle) };
        let fine = error == RTCError::NONE && !self.handle.is_null();
        if fine { Ok(()) } else { Err(AccelError::Embree(format!("{what}: {error:?}"))) }
    }

    /// The widest packets that the CPU runs natively; those of four are Embree's narrowest.
    fn width(&self) -> usize {
        // SAFETY: the handle is valid.
        let has = |property| unsafe { rtcGetDeviceProperty(self.handle, property) } != 0;
        if has(RTCDeviceProperty::NATIVE_RAY16_SUPPORTED) {
            16
        } else if has(RTCDeviceProperty::NATIVE_RAY8_SUPPORTED) {
            8
        } else {
            4
        }
    }

    /// A committed scene of the primitives in `range`; the one with `groups` also gets the
    /// instances.
    fn scene(
        &self,
        geometry: &Geometry,
        range: Range<u32>,
        groups: &[Scene],
    ) -> Result<Scene, AccelError> {
        // SAFETY: the handle is valid.
        let scene = Scene(unsafe { rtcNewScene(self.handle) });
        self.check("creating a scene")?;
        // SAFETY: the scene is valid and not committed yet.
        unsafe { rtcSetSceneFlags(scene.0, RTCSceneFlags::ROBUST) };
        for primitive in &geometry.primitives[range.start as usize..range.end as usize] {
            let handle = self.primitive(primitive)?;
            scene.attach(&handle);
        }
        if !groups.is_empty() {
            for instance in &geometry.instances {
                let handle = self.handle(RTCGeometryType::INSTANCE)?;
                let columns: [f32; 12] = instance.transform.affine().to_cols_array();
                // SAFETY: both handles are valid; the instance keeps its scene alive by itself;
                // twelve numbers are read.
                unsafe {
                    rtcSetGeometryInstancedScene(handle.0, groups[instance.group as usize].0);
                    rtcSetGeometryTransform(
                        handle.0,
                        0,
                        RTCFormat::FLOAT3X4_COLUMN_MAJOR,
                        columns.as_ptr().cast(),
                    );
                    rtcCommitGeometry(handle.0);
                }
                scene.attach(&handle);
            }
        }
        // SAFETY: all geometries attached are committed, and what they share outlives the scene.
        unsafe { rtcCommitScene(scene.0) };
        self.check("building a scene")?;
        Ok(scene)
    }

    fn handle(&self, kind: RTCGeometryType) -> Result<Handle, AccelError> {
        // SAFETY: the device is valid.
        let handle = Handle(unsafe { rtcNewGeometry(self.handle, kind) });
        self.check("creating a geometry")?;
        Ok(handle)
    }

    /// A committed geometry of a primitive. The primitive must outlive it and stay in its place.
    fn primitive(&self, primitive: &Primitive) -> Result<Handle, AccelError> {
        let handle = match &primitive.shape {
            Shape::Mesh(mesh) => {
                let handle = self.mesh(mesh)?;
                if primitive.alpha.is_some() {
                    // SAFETY: the handle is valid; every query passes a `Context`, as the callback
                    // wants.
                    unsafe {
                        rtcSetGeometryIntersectFilterFunction(handle.0, Some(filter));
                        rtcSetGeometryOccludedFilterFunction(handle.0, Some(filter));
                    }
                }
                handle
            }
            shape => {
                let handle = self.handle(RTCGeometryType::USER)?;
                // SAFETY: the handle is valid; the bounds callback gets the shape, which outlives
                // the geometry; every query passes a `Context`, as the other callbacks want.
                unsafe {
                    rtcSetGeometryUserPrimitiveCount(handle.0, shape.len());
                    rtcSetGeometryUserData(handle.0, from_ref(shape).cast_mut().cast());
                    rtcSetGeometryBoundsFunction(handle.0, Some(shape_bounds), null_mut());
                    rtcSetGeometryIntersectFunction(handle.0, Some(shape_intersect));
                    rtcSetGeometryOccludedFunction(handle.0, Some(shape_occluded));
                }
                handle
            }
        };
        // SAFETY: the handle is valid and its buffers and callbacks are set.
        unsafe { rtcCommitGeometry(handle.0) };
        self.check("committing a geometry")?;
        Ok(handle)
    }

    fn mesh(&self, mesh: &Mesh) -> Result<Handle, AccelError> {
        let (positions, triangles) = (mesh.positions(), mesh.triangles());
        let handle = self.handle(RTCGeometryType::TRIANGLE)?;
        if triangles.is_empty() {
            return Ok(handle);
        }
        let (vertex, index) = (RTCBufferType::VERTEX, RTCBufferType::INDEX);
        let (vertex_size, index_size) = (size_of::<Vec3>(), size_of::<[u32; 3]>());
        // Embree reads 16 bytes at each vertex, so the last of a shared buffer would be read beyond
        // its end: copy. SAFETY: the handle is valid, and the new buffer has room for as many
        // vertices as are copied.
        unsafe {
            let buffer = rtcSetNewGeometryBuffer(
                handle.0,
                vertex,
                0,
                RTCFormat::FLOAT3,
                vertex_size,
                positions.len(),
            );
            self.check("allocating vertices")?;
            positions.as_ptr().copy_to_nonoverlapping(buffer.cast(), positions.len());
        }
        let indices = triangles.as_ptr().cast();
        // SAFETY: the indices live as long as the geometry, are not written, and a `Mesh` vouches
        // for their range.
        unsafe {
            rtcSetSharedGeometryBuffer(
                handle.0,
                index,
                0,
                RTCFormat::UINT3,
                indices,
                0,
                index_size,
                triangles.len(),
            )
        };
        self.check("sharing indices")?;
        Ok(handle)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the handle is ours. The device itself goes with the last of its scenes, all
            // of which are dropped before, and no callback may come later.
            unsafe {
                rtcSetDeviceMemoryMonitorFunction(self.handle, None, null_mut());
                rtcReleaseDevice(self.handle);
            }
        }
    }
}

/// An Embree scene.
struct Scene(RTCScene);

impl Scene {
    /// Adds a committed geometry under the next id.
    fn attach(&self, handle: &Handle) {
        // SAFETY: both are valid; the scene keeps the geometry alive by itself.
        unsafe { rtcAttachGeometry(self.0, handle.0) };
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // SAFETY: the reference is ours; null is allowed.
        unsafe { rtcReleaseScene(self.0) };
    }
}

/// A reference to an Embree geometry.
struct Handle(RTCGeometry);

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the reference is ours; null is allowed.
        unsafe { rtcReleaseGeometry(self.0) };
    }
}

/// `RTCRayHitN`: rays and hits of `N` lanes, field by field, with `instPrimID` whether the library
/// has it or not.
#[repr(C, align(64))]
struct Packet<const N: usize> {
    o: [[f32; N]; 3],
    tnear: [f32; N],
    d: [[f32; N]; 3],
    time: [f32; N],
    tfar: [f32; N],
    mask: [u32; N],
    id: [u32; N],
    flags: [u32; N],
    ng: [[f32; N]; 3],
    u: [f32; N],
    v: [f32; N],
    element: [u32; N],
    geometry: [u32; N],
    instance: [u32; N],
    instance_primitive: [u32; N],
}

/// −1 for lanes that hold a ray, else 0.
#[repr(C, align(64))]
struct Valid<const N: usize>([c_int; N]);

impl<const N: usize> Packet<N> {
    #[inline(always)]
    fn new() -> Packet<N> {
        Packet {
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
            element: [0; N],
            geometry: [RTC_INVALID_GEOMETRY_ID; N],
            instance: [RTC_INVALID_GEOMETRY_ID; N],
            instance_primitive: [RTC_INVALID_GEOMETRY_ID; N],
        }
    }

    /// Puts up to `N` rays into the lanes; their ids are their indices.
    #[inline(always)]
    fn load(&mut self, rays: &[Ray], indices: &[u32]) -> Valid<N> {
        let mut valid = Valid([0; N]);
        for (lane, &index) in indices.iter().enumerate().take(N) {
            let ray = &rays[index as usize];
            for axis in 0..3 {
                self.o[axis][lane] = ray.o[axis];
                self.d[axis][lane] = ray.d[axis];
            }
            self.tnear[lane] = ray.tmin;
            // For Embree, the end belongs to the segment.
            self.tfar[lane] = ray.tmax.next_down();
            self.id[lane] = index;
            valid.0[lane] = -c_int::from(is_traceable(ray));
        }
        self.geometry = [RTC_INVALID_GEOMETRY_ID; N];
        valid
    }

    #[inline(always)]
    fn intersect(&mut self, scene: &Scene, valid: &Valid<N>, args: &mut RTCIntersectArguments) {
        let (valid, packet) = (valid.0.as_ptr(), from_mut(self));
        // SAFETY: the packet has the layout and the alignment of Embree's for this width, with room
        // for `instPrimID`; the scene is committed; `args` comes with its `Context`.
        unsafe {
            match N {
                1 => rtcIntersect1(scene.0, packet.cast(), args),
                4 => rtcIntersect4(valid, scene.0, packet.cast(), args),
                8 => rtcIntersect8(valid, scene.0, packet.cast(), args),
                16 => rtcIntersect16(valid, scene.0, packet.cast(), args),
                _ => unreachable!("Embree has packets of 1, 4, 8 and 16 rays"),
            }
        }
    }

    #[inline(always)]
    fn occluded(&mut self, scene: &Scene, valid: &Valid<N>, args: &mut RTCOccludedArguments) {
        let (valid, packet) = (valid.0.as_ptr(), from_mut(self));
        // SAFETY: as in `intersect`; a ray packet is the first part of ours.
        unsafe {
            match N {
                1 => rtcOccluded1(scene.0, packet.cast(), args),
                4 => rtcOccluded4(valid, scene.0, packet.cast(), args),
                8 => rtcOccluded8(valid, scene.0, packet.cast(), args),
                16 => rtcOccluded16(valid, scene.0, packet.cast(), args),
                _ => unreachable!("Embree has packets of 1, 4, 8 and 16 rays"),
            }
        }
    }

    #[inline(always)]
    fn hit(&self, lane: usize, geometry: &Geometry) -> Hit {
        if self.geometry[lane] == RTC_INVALID_GEOMETRY_ID {
            return Hit::MISS;
        }
        let (primitive, instance) = indices(geometry, self.geometry[lane], self.instance[lane]);
        Hit {
            t: self.tfar[lane],
            u: self.u[lane],
            v: self.v[lane],
            primitive,
            element: self.element[lane],
            instance,
        }
    }
}

/// Our indices of a primitive and an instance from Embree's ids.
#[inline(always)]
fn indices(geometry: &Geometry, geometry_id: u32, instance_id: u32) -> (u32, u32) {
    if instance_id == RTC_INVALID_GEOMETRY_ID {
        return (geometry.world.start + geometry_id, Hit::NONE);
    }
    let instance = instance_id - geometry.world.len() as u32;
    let group = geometry.instances[instance as usize].group;
    (geometry.groups[group as usize].start + geometry_id, instance)
}

/// What callbacks know of the query that they run in. Begins as `RTCRayQueryContext` does.
#[repr(C)]
struct Context {
    instance: u32,
    instance_primitive: u32,
    geometry: *const Geometry,
    /// The rays of the batch, by ray id.
    rays: *const Ray,
}

impl Context {
    #[inline(always)]
    fn new(geometry: &Geometry, rays: &[Ray]) -> Context {
        Context {
            instance: RTC_INVALID_GEOMETRY_ID,
            instance_primitive: RTC_INVALID_GEOMETRY_ID,
            geometry,
            rays: rays.as_ptr(),
        }
    }

    /// Arguments that point to this context, which must not move while they are used.
    #[inline(always)]
    fn intersect_arguments(&mut self, flags: RTCRayQueryFlags) -> RTCIntersectArguments {
        let feature_mask = RTCFeatureFlags::RTC_FEATURE_FLAG_ALL;
        RTCIntersectArguments {
            flags,
            feature_mask,
            context: from_mut(self).cast(),
            filter: None,
            intersect: None,
        }
    }

    /// As [`Context::intersect_arguments`].
    #[inline(always)]
    fn occluded_arguments(&mut self) -> RTCOccludedArguments {
        let (flags, feature_mask) =
            (RTCRayQueryFlags::INCOHERENT, RTCFeatureFlags::RTC_FEATURE_FLAG_ALL);
        RTCOccludedArguments {
            flags,
            feature_mask,
            context: from_mut(self).cast(),
            filter: None,
            occluded: None,
        }
    }

    /// The ray with an id, whole, in the space of an instance: computed as the built-in structure
    /// does, so that opacity decides alike.
    ///
    /// # Safety
    /// The context is that of a running query, and the id that of one of its rays.
    unsafe fn local_ray(&self, id: u32, instance: u32) -> Ray {
        // SAFETY: the query borrows geometry and rays, and the caller vouches for the id.
        let (geometry, ray) = unsafe { (&*self.geometry, &*self.rays.add(id as usize)) };
        match geometry.instances.get(instance as usize) {
            Some(instance) => to_local(ray, &instance.transform),
            None => *ray,
        }
    }
}

/// Position of a field among the arrays of `RTCRayHitN`, in the order of [`Packet`].
#[derive(Clone, Copy)]
enum Field {
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
struct Lane {
    /// Where the fields of a whole `RTCRayHitN` would begin.
    base: *mut f32,
    width: usize,
    lane: usize,
}

impl Lane {
    /// # Safety
    /// The structure has the field.
    unsafe fn get(&self, field: Field) -> f32 {
        // SAFETY: fields are arrays of `width` words, one after the other.
        unsafe { self.base.wrapping_add(field as usize * self.width + self.lane).read() }
    }

    /// # Safety
    /// The structure has the field, and may be written.
    unsafe fn set(&self, field: Field, value: f32) {
        // SAFETY: as in `get`.
        unsafe { self.base.wrapping_add(field as usize * self.width + self.lane).write(value) }
    }
}

/// Adds to the device's count; see `rtcSetDeviceMemoryMonitorFunction`.
unsafe extern "C" fn count_memory(counter: *mut c_void, bytes: isize, _post: bool) -> bool {
    // SAFETY: the counter outlives the device, and is only ever used as an atomic.
    unsafe { &*counter.cast::<AtomicIsize>() }.fetch_add(bytes, Ordering::Relaxed);
    true
}

/// Opacity of triangles; see `RTCFilterFunctionN`.
unsafe extern "C" fn filter(args: *const RTCFilterFunctionNArguments) {
    // SAFETY: Embree passes valid arguments, arrays of `N` lanes, and the context of our query.
    unsafe {
        let args = &*args;
        let context = &*args.context.cast::<Context>();
        let geometry = &*context.geometry;
        let width = args.N as usize;
        let hits = args.hit.cast::<f32>().wrapping_sub(Field::NgX as usize * width);
        for lane in 0..width {
            let valid = args.valid.add(lane);
            if *valid != 0 {
                let ray = Lane { base: args.ray.cast(), width, lane };
                let hit = Lane { base: hits, width, lane };
                let (geometry_id, instance_id) =
                    (hit.get(Field::Geometry).to_bits(), hit.get(Field::Instance).to_bits());
                let (primitive, instance) = indices(geometry, geometry_id, instance_id);
                let local = context.local_ray(ray.get(Field::Id).to_bits(), instance);
                let element = hit.get(Field::Element).to_bits();
                if !geometry.accepts(
                    &local,
                    primitive,
                    element,
                    hit.get(Field::U),
                    hit.get(Field::V),
                ) {
                    *valid = 0;
                }
            }
        }
    }
}

/// Boxes of shapes; see `RTCBoundsFunction`. Those that cannot be met get one that Embree drops.
unsafe extern "C" fn shape_bounds(args: *const RTCBoundsFunctionArguments) {
    // SAFETY: Embree passes valid arguments, and the user data that we gave it, which is a shape.
    let (bounds, out) = unsafe {
        let args = &*args;
        ((*args.geometryUserPtr.cast::<Shape>()).aabb(args.primID), &mut *args.bounds_o)
    };
    let (min, max) =
        if is_usable(&bounds) { (bounds.min, bounds.max) } else { (Vec3::NAN, Vec3::NAN) };
    (out.lower_x, out.lower_y, out.lower_z) = min.into();
    (out.upper_x, out.upper_y, out.upper_z) = max.into();
}

/// Nearest hits of shapes; see `RTCIntersectFunctionN`.
unsafe extern "C" fn shape_intersect(args: *const RTCIntersectFunctionNArguments) {
    // SAFETY: Embree passes valid arguments, arrays of `N` lanes, and the context of our query.
    unsafe {
        let args = &*args;
        let context = &*args.context.cast::<Context>();
        let (primitive, instance) = indices(&*context.geometry, args.geomID, context.instance);
        for lane in (0..args.N as usize).filter(|&lane| *args.valid.add(lane) != 0) {
            let rayhit = Lane { base: args.rayhit.cast(), width: args.N as usize, lane };
            let local = context.local_ray(rayhit.get(Field::Id).to_bits(), instance);
            let rest =
                Ray { tmin: rayhit.get(Field::Tnear), tmax: rayhit.get(Field::Tfar), ..local };
            if let Some(hit) = nearest_accepted(&*context.geometry, primitive, args.primID, &rest) {
                rayhit.set(Field::Tfar, hit.t);
                rayhit.set(Field::U, hit.u);
                rayhit.set(Field::V, hit.v);
                for field in [Field::NgX, Field::NgY, Field::NgZ] {
                    rayhit.set(field, 0.0);
                }
                rayhit.set(Field::Element, f32::from_bits(args.primID));
                rayhit.set(Field::Geometry, f32::from_bits(args.geomID));
                rayhit.set(Field::Instance, f32::from_bits(context.instance));
            }
        }
    }
}

/// Any hits of shapes; see `RTCOccludedFunctionN`.
unsafe extern "C" fn shape_occluded(args: *const RTCOccludedFunctionNArguments) {
    // SAFETY: Embree passes valid arguments, arrays of `N` lanes, and the context of our query.
    unsafe {
        let args = &*args;
        let context = &*args.context.cast::<Context>();
        let (primitive, instance) = indices(&*context.geometry, args.geomID, context.instance);
        for lane in (0..args.N as usize).filter(|&lane| *args.valid.add(lane) != 0) {
            let ray = Lane { base: args.ray.cast(), width: args.N as usize, lane };
            let local = context.local_ray(ray.get(Field::Id).to_bits(), instance);
            let rest = Ray { tmin: ray.get(Field::Tnear), tmax: ray.get(Field::Tfar), ..local };
            if nearest_accepted(&*context.geometry, primitive, args.primID, &rest).is_some() {
                ray.set(Field::Tfar, f32::NEG_INFINITY);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::{hash, unit_float};
    use std::cell::Cell;

    fn cube(seed: u32) -> Vec3 {
        2.0 * Vec3::from_array([0, 1, 2].map(|axis| unit_float(hash(hash(3, seed), axis)))) - 1.0
    }

    fn soup(n: u32) -> Vec<[Vec3; 3]> {
        (0..n)
            .map(|i| {
                [
                    cube(3 * i),
                    cube(3 * i) + 0.3 * cube(3 * i + 1),
                    cube(3 * i) + 0.3 * cube(3 * i + 2),
                ]
            })
            .collect()
    }

    fn structure(triangles: &[[Vec3; 3]]) -> Embree {
        let indices = (0..triangles.len() as u32).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
        let mesh = Mesh::new(triangles.concat(), indices, Vec::new(), Vec::new()).unwrap();
        let shape = Shape::Mesh(mesh);
        let primitive =
            Primitive { shape, material: 0, first_light: None, alpha: None, flip: false };
        Embree::new(Arc::new(Geometry {
            primitives: vec![primitive],
            world: 0..1,
            ..Geometry::default()
        }))
        .unwrap()
    }

    fn rays(n: u32) -> Vec<Ray> {
        (0..n).map(|i| Ray::new(1.5 * cube(90_000 + 2 * i), cube(90_001 + 2 * i))).collect()
    }

    thread_local! {
        /// Parameter and element of the nearest candidate of the running query.
        static NEAREST: Cell<(f32, u32)> = const { Cell::new((f32::INFINITY, 0)) };
    }

    /// Notes a candidate and refuses it. So no hit is ever written, for which `embree4-rs` has too
    /// little room where the library is 4.3 or later.
    unsafe extern "C" fn note(args: *const RTCFilterFunctionNArguments) {
        // SAFETY: Embree passes valid arguments, here of a single ray.
        unsafe {
            let args = &*args;
            let ray = Lane { base: args.ray.cast(), width: 1, lane: 0 };
            let hit = Lane {
                base: args.hit.cast::<f32>().wrapping_sub(Field::NgX as usize),
                width: 1,
                lane: 0,
            };
            let t = ray.get(Field::Tfar);
            if t < NEAREST.get().0 {
                NEAREST.set((t, hit.get(Field::Element).to_bits()));
            }
            *args.valid = 0;
        }
    }

    #[test]
    fn agrees_with_another_wrapper() {
        let triangles = soup(400);
        let ours = structure(&triangles);
        let device = embree4_rs::Device::try_new(None).unwrap();
        let options =
            embree4_rs::SceneOptions { flags: RTCSceneFlags::ROBUST, ..Default::default() };
        let scene = embree4_rs::Scene::try_new(device, options).unwrap();
        let vertices: Vec<_> = triangles.as_flattened().iter().map(|p| (p.x, p.y, p.z)).collect();
        let indices: Vec<_> =
            (0..triangles.len() as u32).map(|i| (3 * i, 3 * i + 1, 3 * i + 2)).collect();
        let mesh =
            embree4_rs::geometry::TriangleMeshGeometry::try_new(&scene.device, &vertices, &indices)
                .unwrap();
        scene.attach_geometry(&mesh).unwrap();
        let scene = scene.commit().unwrap();
        let args = RTCIntersectArguments {
            flags: RTCRayQueryFlags::INVOKE_ARGUMENT_FILTER,
            feature_mask: RTCFeatureFlags::RTC_FEATURE_FLAG_ALL,
            context: null_mut(),
            filter: Some(note),
            intersect: None,
        };
        let mut met = 0;
        for ray in rays(2000) {
            NEAREST.set((f32::INFINITY, 0));
            let theirs = RTCRay {
                org_x: ray.o.x,
                org_y: ray.o.y,
                org_z: ray.o.z,
                dir_x: ray.d.x,
                dir_y: ray.d.y,
                dir_z: ray.d.z,
                ..Default::default()
            };
            assert!(scene.intersect_1(theirs, Some(&args)).unwrap().is_none());
            let (t, element) = NEAREST.get();
            let hit = ours.intersect(&ray);
            assert_eq!(hit.is_miss(), t == f32::INFINITY);
            if !hit.is_miss() {
                met += 1;
                assert_eq!((hit.t, hit.element), (t, element));
            }
        }
        assert!(met > 200);
    }

    #[test]
    fn neighbours_change_nothing() {
        for n in [40, 5000] {
            let accel = structure(&soup(n));
            let mut rays = rays(3000);
            rays.sort_by(|a, b| a.d.x.total_cmp(&b.d.x));
            let (mut forward, mut backward) = (Vec::new(), Vec::new());
            accel.intersect_batch(&rays, &mut forward);
            let reversed: Vec<Ray> = rays.iter().rev().skip(5).copied().collect();
            accel.intersect_batch(&reversed, &mut backward);
            let single: Vec<Hit> = rays.iter().map(|r| accel.intersect(r)).collect();
            assert!(single.iter().filter(|hit| !hit.is_miss()).count() > 30);
            assert_eq!(forward, single);
            backward.reverse();
            assert_eq!(backward, single[..backward.len()]);
        }
    }
}
