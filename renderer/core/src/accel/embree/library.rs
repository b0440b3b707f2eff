//! The C interface of Embree 4, from a library that is loaded at run time.
//!
//! Names of types, constants and functions are those of the headers, without the prefix `rtc` for
//! functions and fields.

use crate::accel::{AccelError, embree_path};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// Names of the library, for the loader of the system.
const NAMES: &[&str] = if cfg!(target_os = "windows") {
    &["embree4.dll"]
} else if cfg!(target_os = "macos") {
    &["libembree4.dylib"]
} else {
    &["libembree4.so.4", "libembree4.so"]
};

pub(super) type RTCDevice = *mut c_void;
pub(super) type RTCScene = *mut c_void;
pub(super) type RTCGeometry = *mut c_void;

pub(super) const RTC_ERROR_NONE: c_int = 0;
pub(super) const RTC_DEVICE_PROPERTY_VERSION_MAJOR: c_int = 1;
pub(super) const RTC_DEVICE_PROPERTY_VERSION_MINOR: c_int = 2;
pub(super) const RTC_DEVICE_PROPERTY_VERSION_PATCH: c_int = 3;
pub(super) const RTC_DEVICE_PROPERTY_NATIVE_RAY8_SUPPORTED: c_int = 33;
pub(super) const RTC_DEVICE_PROPERTY_NATIVE_RAY16_SUPPORTED: c_int = 34;
pub(super) const RTC_SCENE_FLAG_ROBUST: c_int = 1 << 2;
pub(super) const RTC_GEOMETRY_TYPE_TRIANGLE: c_int = 0;
pub(super) const RTC_GEOMETRY_TYPE_USER: c_int = 120;
pub(super) const RTC_GEOMETRY_TYPE_INSTANCE: c_int = 121;
pub(super) const RTC_BUFFER_TYPE_INDEX: c_int = 0;
pub(super) const RTC_BUFFER_TYPE_VERTEX: c_int = 1;
pub(super) const RTC_FORMAT_UINT3: c_int = 0x5003;
pub(super) const RTC_FORMAT_FLOAT3: c_int = 0x9003;
pub(super) const RTC_FORMAT_FLOAT3X4_COLUMN_MAJOR: c_int = 0x9234;
pub(super) const RTC_RAY_QUERY_FLAG_INCOHERENT: c_int = 0;
pub(super) const RTC_RAY_QUERY_FLAG_COHERENT: c_int = 1 << 16;
pub(super) const RTC_FEATURE_FLAG_ALL: c_int = -1;
pub(super) const RTC_INVALID_GEOMETRY_ID: c_uint = c_uint::MAX;

/// `RTCBounds`.
#[repr(C, align(16))]
#[derive(Default)]
pub(super) struct RTCBounds {
    /// The fourth float is padding.
    pub(super) lower: [f32; 4],
    pub(super) upper: [f32; 4],
}

/// `RTCIntersectArguments` and `RTCOccludedArguments`, which have the same fields.
#[repr(C)]
pub(super) struct QueryArguments {
    pub(super) flags: c_int,
    pub(super) feature_mask: c_int,
    pub(super) context: *mut c_void,
    pub(super) filter: Option<Filter>,
    /// The callback of shapes, instead of that of the geometry.
    pub(super) shape: *const c_void,
    /// `minWidthDistanceFactor`, which some builds of the library have.
    pub(super) min_width_distance_factor: f32,
}

#[repr(C)]
pub(super) struct RTCFilterFunctionNArguments {
    pub(super) valid: *mut c_int,
    pub(super) geometry_user_ptr: *mut c_void,
    pub(super) context: *mut c_void,
    pub(super) ray: *mut c_void,
    pub(super) hit: *mut c_void,
    pub(super) n: c_uint,
}

#[repr(C)]
pub(super) struct RTCBoundsFunctionArguments {
    pub(super) geometry_user_ptr: *mut c_void,
    pub(super) prim_id: c_uint,
    pub(super) time_step: c_uint,
    pub(super) bounds_o: *mut RTCBounds,
}

/// `RTCIntersectFunctionNArguments` and `RTCOccludedFunctionNArguments`, which have the same
/// fields.
#[repr(C)]
pub(super) struct ShapeArguments {
    pub(super) valid: *mut c_int,
    pub(super) geometry_user_ptr: *mut c_void,
    pub(super) prim_id: c_uint,
    pub(super) context: *mut c_void,
    /// `RTCRayHitN` or `RTCRayN`.
    pub(super) ray: *mut c_void,
    pub(super) n: c_uint,
    pub(super) geom_id: c_uint,
}

type MemoryMonitor = unsafe extern "C" fn(*mut c_void, isize, bool) -> bool;
type Filter = unsafe extern "C" fn(*const RTCFilterFunctionNArguments);
type Bounds = unsafe extern "C" fn(*const RTCBoundsFunctionArguments);
type ShapeQuery = unsafe extern "C" fn(*const ShapeArguments);

/// Declares the functions that are used.
macro_rules! functions {
    ($($name:ident = $symbol:literal: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The loaded library.
        pub(super) struct Library {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            /// Keeps the functions in memory.
            _library: libloading::Library,
        }

        impl Library {
            /// Looks up the functions.
            fn new(library: libloading::Library) -> Result<Library, String> {
                $(
                    // SAFETY: The types are those of Embree's headers, version 4.
                    let $name = *unsafe { library.get($symbol.as_bytes()) }
                        .map_err(|_| format!("it has no function {}", $symbol))?;
                )*
                Ok(Library { $($name,)* _library: library })
            }
        }
    };
}

functions! {
    new_device = "rtcNewDevice": fn(*const c_char) -> RTCDevice;
    release_device = "rtcReleaseDevice": fn(RTCDevice);
    get_device_property = "rtcGetDeviceProperty": fn(RTCDevice, c_int) -> isize;
    get_device_error = "rtcGetDeviceError": fn(RTCDevice) -> c_int;
    set_device_memory_monitor_function = "rtcSetDeviceMemoryMonitorFunction":
        fn(RTCDevice, Option<MemoryMonitor>, *mut c_void);
    new_scene = "rtcNewScene": fn(RTCDevice) -> RTCScene;
    set_scene_flags = "rtcSetSceneFlags": fn(RTCScene, c_int);
    attach_geometry = "rtcAttachGeometry": fn(RTCScene, RTCGeometry) -> c_uint;
    commit_scene = "rtcCommitScene": fn(RTCScene);
    get_scene_bounds = "rtcGetSceneBounds": fn(RTCScene, *mut RTCBounds);
    release_scene = "rtcReleaseScene": fn(RTCScene);
    new_geometry = "rtcNewGeometry": fn(RTCDevice, c_int) -> RTCGeometry;
    set_geometry_instanced_scene = "rtcSetGeometryInstancedScene": fn(RTCGeometry, RTCScene);
    set_geometry_transform = "rtcSetGeometryTransform":
        fn(RTCGeometry, c_uint, c_int, *const c_void);
    set_geometry_intersect_filter_function = "rtcSetGeometryIntersectFilterFunction":
        fn(RTCGeometry, Option<Filter>);
    set_geometry_occluded_filter_function = "rtcSetGeometryOccludedFilterFunction":
        fn(RTCGeometry, Option<Filter>);
    set_geometry_user_primitive_count = "rtcSetGeometryUserPrimitiveCount": fn(RTCGeometry, c_uint);
    set_geometry_user_data = "rtcSetGeometryUserData": fn(RTCGeometry, *mut c_void);
    set_geometry_bounds_function = "rtcSetGeometryBoundsFunction":
        fn(RTCGeometry, Option<Bounds>, *mut c_void);
    set_geometry_intersect_function = "rtcSetGeometryIntersectFunction":
        fn(RTCGeometry, Option<ShapeQuery>);
    set_geometry_occluded_function = "rtcSetGeometryOccludedFunction":
        fn(RTCGeometry, Option<ShapeQuery>);
    set_new_geometry_buffer = "rtcSetNewGeometryBuffer":
        fn(RTCGeometry, c_int, c_uint, c_int, usize, usize) -> *mut c_void;
    set_shared_geometry_buffer = "rtcSetSharedGeometryBuffer":
        fn(RTCGeometry, c_int, c_uint, c_int, *const c_void, usize, usize, usize);
    commit_geometry = "rtcCommitGeometry": fn(RTCGeometry);
    release_geometry = "rtcReleaseGeometry": fn(RTCGeometry);
    intersect1 = "rtcIntersect1": fn(RTCScene, *mut c_void, *mut QueryArguments);
    intersect4 = "rtcIntersect4": fn(*const c_int, RTCScene, *mut c_void, *mut QueryArguments);
    intersect8 = "rtcIntersect8": fn(*const c_int, RTCScene, *mut c_void, *mut QueryArguments);
    intersect16 = "rtcIntersect16": fn(*const c_int, RTCScene, *mut c_void, *mut QueryArguments);
    occluded1 = "rtcOccluded1": fn(RTCScene, *mut c_void, *mut QueryArguments);
    occluded4 = "rtcOccluded4": fn(*const c_int, RTCScene, *mut c_void, *mut QueryArguments);
    occluded8 = "rtcOccluded8": fn(*const c_int, RTCScene, *mut c_void, *mut QueryArguments);
    occluded16 = "rtcOccluded16": fn(*const c_int, RTCScene, *mut c_void, *mut QueryArguments);
}

impl Library {
    /// Returns the library that the environment variable names, or that of the system. The first
    /// call loads it.
    pub(super) fn get() -> Result<&'static Library, AccelError> {
        static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
        let library = LIBRARY.get_or_init(Library::load).as_ref();
        library.map_err(|causes| AccelError::NoEmbree(causes.clone()))
    }

    fn load() -> Result<Library, String> {
        let names = match embree_path() {
            Some(path) => vec![path],
            None => NAMES.iter().map(Into::into).collect(),
        };
        let mut causes = Vec::new();
        for name in names {
            // SAFETY: The initialization of Embree has no requirements.
            match unsafe { libloading::Library::new(&name) } {
                Ok(library) => return Library::new(library),
                Err(cause) => causes.push(cause.to_string()),
            }
        }
        Err(causes.join("; "))
    }
}
