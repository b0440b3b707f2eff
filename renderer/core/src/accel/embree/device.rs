//! RAII handles of Embree objects: device, scenes and geometries.

use super::callbacks::{opacity_filter, shape_bounds, shape_intersect, shape_occluded};
use super::library::*;
use crate::accel::AccelError;
use crate::geometry::{Geometry, Mesh, Primitive, Shape};
use lightbound_math::Vec3;
use std::ffi::{CString, c_int, c_void};
use std::ops::Range;
use std::ptr::{from_ref, null_mut};
use std::sync::atomic::{AtomicIsize, Ordering};

/// An Embree device that tracks its memory use.
pub(super) struct Device {
    library: &'static Library,
    handle: RTCDevice,
    memory: Box<AtomicIsize>,
}

impl Device {
    pub(super) fn new(threads: usize) -> Result<Device, AccelError> {
        let library = Library::get()?;
        let config = CString::new(format!("threads={threads}")).expect("a number has no NUL");
        // SAFETY: the string is NUL-terminated and lives until the call returns.
        let handle = unsafe { (library.new_device)(config.as_ptr()) };
        let device = Device { library, handle, memory: Box::default() };
        // Without a device, Embree returns the error of the current thread.
        device.check("creating a device")?;
        // Earlier versions have the same functions with other parameters.
        let [major, minor, patch] = device.version();
        if major != 4 {
            return Err(AccelError::NoEmbree(format!("it has version {major}.{minor}.{patch}")));
        }
        let counter = from_ref::<AtomicIsize>(&device.memory).cast_mut().cast();
        // SAFETY: the counter is boxed and outlives the handle, see `drop`; the callback only adds
        // to it.
        unsafe {
            (library.set_device_memory_monitor_function)(handle, Some(count_memory), counter)
        };
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
        let error = unsafe { (self.library.get_device_error)(self.handle) };
        let is_ok = error == RTC_ERROR_NONE && !self.handle.is_null();
        if is_ok { Ok(()) } else { Err(AccelError::Embree(format!("{action}: error {error}"))) }
    }

    /// Returns the major, minor and patch version of the library.
    pub(super) fn version(&self) -> [isize; 3] {
        [
            RTC_DEVICE_PROPERTY_VERSION_MAJOR,
            RTC_DEVICE_PROPERTY_VERSION_MINOR,
            RTC_DEVICE_PROPERTY_VERSION_PATCH,
        ]
        // SAFETY: the handle is valid.
        .map(|property| unsafe { (self.library.get_device_property)(self.handle, property) })
    }

    /// Returns the largest packet width that the CPU supports natively, at least 4.
    pub(super) fn width(&self) -> usize {
        // SAFETY: the handle is valid.
        let has =
            |property| unsafe { (self.library.get_device_property)(self.handle, property) } != 0;
        if has(RTC_DEVICE_PROPERTY_NATIVE_RAY16_SUPPORTED) {
            16
        } else if has(RTC_DEVICE_PROPERTY_NATIVE_RAY8_SUPPORTED) {
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
        let library = self.library;
        // SAFETY: the handle is valid.
        let scene = SceneHandle { library, handle: unsafe { (library.new_scene)(self.handle) } };
        self.check("creating a scene")?;
        // SAFETY: the scene is valid and not committed yet.
        unsafe { (self.library.set_scene_flags)(scene.handle, RTC_SCENE_FLAG_ROBUST) };
        for primitive in &geometry.primitives[range.start as usize..range.end as usize] {
            let handle = self.primitive(primitive)?;
            scene.attach(&handle);
        }
        if !groups.is_empty() {
            for instance in &geometry.instances[..geometry.moving_instances().start] {
                let handle = self.geometry(RTC_GEOMETRY_TYPE_INSTANCE)?;
                let columns: [f32; 12] = instance.transform.affine().to_cols_array();
                // SAFETY: both handles are valid; the instance holds a reference to its scene;
                // twelve floats are read.
                unsafe {
                    (self.library.set_geometry_instanced_scene)(
                        handle.handle,
                        groups[instance.group as usize].handle,
                    );
                    (self.library.set_geometry_transform)(
                        handle.handle,
                        0,
                        RTC_FORMAT_FLOAT3X4_COLUMN_MAJOR,
                        columns.as_ptr().cast(),
                    );
                    (self.library.commit_geometry)(handle.handle);
                }
                scene.attach(&handle);
            }
        }
        // SAFETY: all attached geometries are committed, and their shared buffers outlive the
        // scene.
        unsafe { (self.library.commit_scene)(scene.handle) };
        self.check("building a scene")?;
        Ok(scene)
    }

    /// Creates a geometry that is not committed yet.
    fn geometry(&self, kind: c_int) -> Result<GeometryHandle, AccelError> {
        // SAFETY: the device is valid.
        let handle = unsafe { (self.library.new_geometry)(self.handle, kind) };
        let handle = GeometryHandle { library: self.library, handle };
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
                        (self.library.set_geometry_intersect_filter_function)(
                            handle.handle,
                            Some(opacity_filter),
                        );
                        (self.library.set_geometry_occluded_filter_function)(
                            handle.handle,
                            Some(opacity_filter),
                        );
                    }
                }
                handle
            }
            shape => {
                let handle = self.geometry(RTC_GEOMETRY_TYPE_USER)?;
                // SAFETY: the handle is valid; the bounds callback gets the shape, which outlives
                // the geometry; every query passes a `QueryContext`, as the callbacks require.
                unsafe {
                    (self.library.set_geometry_user_primitive_count)(handle.handle, shape.len());
                    (self.library.set_geometry_user_data)(
                        handle.handle,
                        from_ref(shape).cast_mut().cast(),
                    );
                    (self.library.set_geometry_bounds_function)(
                        handle.handle,
                        Some(shape_bounds),
                        null_mut(),
                    );
                    (self.library.set_geometry_intersect_function)(
                        handle.handle,
                        Some(shape_intersect),
                    );
                    (self.library.set_geometry_occluded_function)(
                        handle.handle,
                        Some(shape_occluded),
                    );
                }
                handle
            }
        };
        // SAFETY: the handle is valid and its buffers and callbacks are set.
        unsafe { (self.library.commit_geometry)(handle.handle) };
        self.check("committing a geometry")?;
        Ok(handle)
    }

    /// Creates a geometry for a mesh, not committed yet.
    fn mesh(&self, mesh: &Mesh) -> Result<GeometryHandle, AccelError> {
        let (positions, triangles) = (mesh.positions(), mesh.triangles());
        let handle = self.geometry(RTC_GEOMETRY_TYPE_TRIANGLE)?;
        if triangles.is_empty() {
            return Ok(handle);
        }
        let (vertex, index) = (RTC_BUFFER_TYPE_VERTEX, RTC_BUFFER_TYPE_INDEX);
        let (vertex_size, index_size) = (size_of::<Vec3>(), size_of::<[u32; 3]>());
        // Copy the vertices: Embree reads 16 bytes per vertex, beyond the end of a shared buffer.
        // SAFETY: the handle is valid, and the new buffer has room for all vertices.
        unsafe {
            let buffer = (self.library.set_new_geometry_buffer)(
                handle.handle,
                vertex,
                0,
                RTC_FORMAT_FLOAT3,
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
            (self.library.set_shared_geometry_buffer)(
                handle.handle,
                index,
                0,
                RTC_FORMAT_UINT3,
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
                (self.library.set_device_memory_monitor_function)(self.handle, None, null_mut());
                (self.library.release_device)(self.handle);
            }
        }
    }
}

/// An Embree scene.
pub(super) struct SceneHandle {
    pub(super) library: &'static Library,
    pub(super) handle: RTCScene,
}

impl SceneHandle {
    /// Attaches a committed geometry with the next id.
    fn attach(&self, handle: &GeometryHandle) {
        // SAFETY: both are valid; the scene holds a reference to the geometry.
        unsafe { (self.library.attach_geometry)(self.handle, handle.handle) };
    }
}

impl Drop for SceneHandle {
    fn drop(&mut self) {
        // SAFETY: this owns the reference; null is allowed.
        unsafe { (self.library.release_scene)(self.handle) };
    }
}

/// A reference to an Embree geometry.
struct GeometryHandle {
    library: &'static Library,
    handle: RTCGeometry,
}

impl Drop for GeometryHandle {
    fn drop(&mut self) {
        // SAFETY: this owns the reference; null is allowed.
        unsafe { (self.library.release_geometry)(self.handle) };
    }
}

/// Updates the device's memory counter; see `rtcSetDeviceMemoryMonitorFunction`.
unsafe extern "C" fn count_memory(counter: *mut c_void, bytes: isize, _post: bool) -> bool {
    // SAFETY: the counter outlives the device and is only used as an atomic.
    unsafe { &*counter.cast::<AtomicIsize>() }.fetch_add(bytes, Ordering::Relaxed);
    true
}
