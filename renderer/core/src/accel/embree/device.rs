//! RAII handles of Embree objects: device, scenes and geometries.

use super::callbacks::{opacity_filter, shape_bounds, shape_intersect, shape_occluded};
use crate::accel::AccelError;
use crate::geometry::{Geometry, Mesh, Primitive, Shape};
use embree4_sys::*;
use lightbound_math::Vec3;
use std::ffi::{CString, c_void};
use std::ops::Range;
use std::ptr::{from_ref, null_mut};
use std::sync::atomic::{AtomicIsize, Ordering};

/// An Embree device that tracks its memory use.
pub(super) struct Device {
    handle: RTCDevice,
    memory: Box<AtomicIsize>,
}

impl Device {
    pub(super) fn new(threads: usize) -> Result<Device, AccelError> {
        let config = CString::new(format!("threads={threads}")).expect("a number has no NUL");
        // SAFETY: the string is NUL-terminated and lives until the call returns.
        let handle = unsafe { rtcNewDevice(config.as_ptr()) };
        let device = Device { handle, memory: Box::default() };
        // Without a device, Embree returns the error of the current thread.
        device.check("creating a device")?;
        let counter = from_ref::<AtomicIsize>(&device.memory).cast_mut().cast();
        // SAFETY: the counter is boxed and outlives the handle, see `drop`; the callback only adds
        // to it.
        unsafe { rtcSetDeviceMemoryMonitorFunction(handle, Some(count_memory), counter) };
        device.check("monitoring memory")?;
        Ok(device)
    }

    /// Returns the number of bytes that Embree has allocated.
    pub(super) fn memory_bytes(&self) -> usize {
        self.memory.load(Ordering::Relaxed).max(0) as usize
    }

    /// Returns the first error since the last check, if any.
    fn check(&self, action: &str) -> Result<(), AccelError> {
        // SAFETY: a null handle is allowed here.
        let error = unsafe { rtcGetDeviceError(self.handle) };
        let is_ok = error == RTCError::NONE && !self.handle.is_null();
        if is_ok { Ok(()) } else { Err(AccelError::Embree(format!("{action}: {error:?}"))) }
    }

    /// Returns the largest packet width that the CPU supports natively, at least 4.
    pub(super) fn width(&self) -> usize {
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

    /// Creates a committed scene with the primitives in `range`, and with all instances that do not
    /// move unless `groups` is empty.
    pub(super) fn scene(
        &self,
        geometry: &Geometry,
        range: Range<u32>,
        groups: &[SceneHandle],
    ) -> Result<SceneHandle, AccelError> {
        // SAFETY: the handle is valid.
        let scene = SceneHandle(unsafe { rtcNewScene(self.handle) });
        self.check("creating a scene")?;
        // SAFETY: the scene is valid and not committed yet.
        unsafe { rtcSetSceneFlags(scene.0, RTCSceneFlags::ROBUST) };
        for primitive in &geometry.primitives[range.start as usize..range.end as usize] {
            let handle = self.primitive(primitive)?;
            scene.attach(&handle);
        }
        if !groups.is_empty() {
            for instance in &geometry.instances[..geometry.moving_instances().start] {
                let handle = self.geometry(RTCGeometryType::INSTANCE)?;
                let columns: [f32; 12] = instance.transform.affine().to_cols_array();
                // SAFETY: both handles are valid; the instance holds a reference to its scene;
                // twelve floats are read.
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
        // SAFETY: all attached geometries are committed, and their shared buffers outlive the
        // scene.
        unsafe { rtcCommitScene(scene.0) };
        self.check("building a scene")?;
        Ok(scene)
    }

    /// Creates a geometry that is not committed yet.
    fn geometry(&self, kind: RTCGeometryType) -> Result<GeometryHandle, AccelError> {
        // SAFETY: the device is valid.
        let handle = GeometryHandle(unsafe { rtcNewGeometry(self.handle, kind) });
        self.check("creating a geometry")?;
        Ok(handle)
    }

    /// Creates a committed geometry for a primitive, which must outlive it and must not move.
    fn primitive(&self, primitive: &Primitive) -> Result<GeometryHandle, AccelError> {
        let handle = match &primitive.shape {
            Shape::Mesh(mesh) if !mesh.moves() => {
                let handle = self.mesh(mesh)?;
                if primitive.alpha.is_some() {
                    // SAFETY: the handle is valid; every query passes a `QueryContext`, as the
                    // callback requires.
                    unsafe {
                        rtcSetGeometryIntersectFilterFunction(handle.0, Some(opacity_filter));
                        rtcSetGeometryOccludedFilterFunction(handle.0, Some(opacity_filter));
                    }
                }
                handle
            }
            shape => {
                let handle = self.geometry(RTCGeometryType::USER)?;
                // SAFETY: the handle is valid; the bounds callback gets the shape, which outlives
                // the geometry; every query passes a `QueryContext`, as the callbacks require.
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

    /// Creates a geometry for a mesh, not committed yet.
    fn mesh(&self, mesh: &Mesh) -> Result<GeometryHandle, AccelError> {
        let (positions, triangles) = (mesh.positions(), mesh.triangles());
        let handle = self.geometry(RTCGeometryType::TRIANGLE)?;
        if triangles.is_empty() {
            return Ok(handle);
        }
        let (vertex, index) = (RTCBufferType::VERTEX, RTCBufferType::INDEX);
        let (vertex_size, index_size) = (size_of::<Vec3>(), size_of::<[u32; 3]>());
        // Copy the vertices: Embree reads 16 bytes per vertex, beyond the end of a shared buffer.
        // SAFETY: the handle is valid, and the new buffer has room for all vertices.
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
        // SAFETY: the indices live as long as the geometry, are not written, and `Mesh` guarantees
        // their range.
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
            // SAFETY: this owns the handle. All scenes are released before, so releasing it
            // destroys the device, and no callback follows.
            unsafe {
                rtcSetDeviceMemoryMonitorFunction(self.handle, None, null_mut());
                rtcReleaseDevice(self.handle);
            }
        }
    }
}

/// An Embree scene.
pub(super) struct SceneHandle(pub(super) RTCScene);

impl SceneHandle {
    /// Attaches a committed geometry with the next id.
    fn attach(&self, handle: &GeometryHandle) {
        // SAFETY: both are valid; the scene holds a reference to the geometry.
        unsafe { rtcAttachGeometry(self.0, handle.0) };
    }
}

impl Drop for SceneHandle {
    fn drop(&mut self) {
        // SAFETY: this owns the reference; null is allowed.
        unsafe { rtcReleaseScene(self.0) };
    }
}

/// A reference to an Embree geometry.
struct GeometryHandle(RTCGeometry);

impl Drop for GeometryHandle {
    fn drop(&mut self) {
        // SAFETY: this owns the reference; null is allowed.
        unsafe { rtcReleaseGeometry(self.0) };
    }
}

/// Updates the device's memory counter; see `rtcSetDeviceMemoryMonitorFunction`.
unsafe extern "C" fn count_memory(counter: *mut c_void, bytes: isize, _post: bool) -> bool {
    // SAFETY: the counter outlives the device and is only used as an atomic.
    unsafe { &*counter.cast::<AtomicIsize>() }.fetch_add(bytes, Ordering::Relaxed);
    true
}
