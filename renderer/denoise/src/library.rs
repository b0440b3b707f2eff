//! The C interface of Open Image Denoise, with safe wrappers.
//!
//! A device has networks and threads, and a filter has images. Both are objects of the library, with
//! a count of their references.
#![allow(unsafe_code)]

use crate::{DenoiseError, LIBRARY_VARIABLE};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

/// Names of the library, for the loader of the system.
const NAMES: &[&str] = if cfg!(target_os = "windows") {
    &["OpenImageDenoise.dll"]
} else if cfg!(target_os = "macos") {
    &["libOpenImageDenoise.2.dylib", "libOpenImageDenoise.dylib"]
} else {
    &["libOpenImageDenoise.so.2", "libOpenImageDenoise.so"]
};

/// `OIDN_DEVICE_TYPE_CPU`.
const CPU: c_int = 1;
/// `OIDN_FORMAT_FLOAT3`.
const FLOAT3: c_int = 3;
/// `OIDN_ERROR_NONE`.
const NO_ERROR: c_int = 0;

/// An object of the library.
type Object = *mut c_void;

/// Declares the functions that are used.
macro_rules! functions {
    ($($name:ident = $symbol:literal: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The loaded library.
        pub(crate) struct Library {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            /// Keeps the functions in memory.
            _library: libloading::Library,
        }

        impl Library {
            /// Looks up the functions.
            fn new(library: libloading::Library) -> Result<Library, DenoiseError> {
                $(
                    // SAFETY: The types are those of `OpenImageDenoise/oidn.h`, version 2.
                    let $name = *unsafe { library.get($symbol.to_bytes()) }.map_err(|_| {
                        DenoiseError::Outdated($symbol.to_str().expect("names are ASCII"))
                    })?;
                )*
                Ok(Library { $($name,)* _library: library })
            }
        }
    };
}

functions! {
    new_device = c"oidnNewDevice": fn(c_int) -> Object;
    set_device_int = c"oidnSetDeviceInt": fn(Object, *const c_char, c_int);
    set_device_bool = c"oidnSetDeviceBool": fn(Object, *const c_char, bool);
    get_device_int = c"oidnGetDeviceInt": fn(Object, *const c_char) -> c_int;
    get_device_error = c"oidnGetDeviceError": fn(Object, *mut *const c_char) -> c_int;
    commit_device = c"oidnCommitDevice": fn(Object);
    release_device = c"oidnReleaseDevice": fn(Object);
    new_filter = c"oidnNewFilter": fn(Object, *const c_char) -> Object;
    set_image = c"oidnSetSharedFilterImage":
        fn(Object, *const c_char, *mut c_void, c_int, usize, usize, usize, usize, usize);
    set_filter_bool = c"oidnSetFilterBool": fn(Object, *const c_char, bool);
    commit_filter = c"oidnCommitFilter": fn(Object);
    execute_filter = c"oidnExecuteFilter": fn(Object);
    release_filter = c"oidnReleaseFilter": fn(Object);
}

impl Library {
    /// Loads the library that the environment variable names, or that of the system.
    pub fn load() -> Result<Library, DenoiseError> {
        let named = std::env::var_os(LIBRARY_VARIABLE).filter(|path| !path.is_empty());
        let names = match named {
            Some(path) => vec![path],
            None => NAMES.iter().map(Into::into).collect(),
        };
        let mut causes = Vec::new();
        for name in names {
            // SAFETY: The initialization of Open Image Denoise has no requirements.
            match unsafe { libloading::Library::new(&name) } {
                Ok(library) => return Library::new(library),
                Err(cause) => causes.push(cause.to_string()),
            }
        }
        Err(DenoiseError::Missing(causes.join("; ")))
    }
}

/// A device: the CPU.
pub(crate) struct Device<'a> {
    library: &'a Library,
    device: Object,
}

impl Device<'_> {
    /// Creates a device with this number of threads.
    pub fn new(library: &Library, threads: usize) -> Result<Device<'_>, DenoiseError> {
        // SAFETY: Functions of the library take objects that it returned, which may be null after
        // an error, and names that end in 0.
        unsafe {
            let device = Device { library, device: (library.new_device)(CPU) };
            device.check()?;
            let threads = c_int::try_from(threads).unwrap_or(c_int::MAX);
            (library.set_device_int)(device.device, c"numThreads".as_ptr(), threads);
            // Other threads may be at work.
            (library.set_device_bool)(device.device, c"setAffinity".as_ptr(), false);
            (library.commit_device)(device.device);
            device.check()?;
            Ok(device)
        }
    }

    /// Returns the version: ten thousands, hundreds and ones.
    pub fn version(&self) -> u32 {
        // SAFETY: The device is an object of the library.
        let version = unsafe { (self.library.get_device_int)(self.device, c"version".as_ptr()) };
        version.max(0) as u32
    }

    /// Fails if the library has reported an error since the last call.
    fn check(&self) -> Result<(), DenoiseError> {
        let mut message = ptr::null();
        // SAFETY: The library accepts a null device, for errors while one is created. A message is
        // a string that ends in 0, and is valid until the next call from this thread.
        unsafe {
            let code = (self.library.get_device_error)(self.device, &mut message);
            if code == NO_ERROR && !self.device.is_null() {
                return Ok(());
            }
            let message = match message.is_null() {
                true => format!("error {code}"),
                false => CStr::from_ptr(message).to_string_lossy().into_owned(),
            };
            Err(DenoiseError::Failed(message))
        }
    }
}

impl Drop for Device<'_> {
    fn drop(&mut self) {
        if !self.device.is_null() {
            // SAFETY: The device is an object of the library, and is not used afterwards.
            unsafe { (self.library.release_device)(self.device) }
        }
    }
}

/// A filter of ray-traced images with its input, which it borrows.
pub(crate) struct Filter<'a> {
    device: &'a Device<'a>,
    filter: Object,
    size: [usize; 2],
}

impl<'a> Filter<'a> {
    /// Creates a filter of images with a width and a height in pixels.
    pub fn new(device: &'a Device<'a>, size: [usize; 2]) -> Filter<'a> {
        // SAFETY: The device is an object of the library.
        let filter = unsafe { (device.library.new_filter)(device.device, c"RT".as_ptr()) };
        Filter { device, filter, size }
    }

    /// Adds an image.
    ///
    /// # Panics
    /// If the image has a wrong number of pixels.
    pub fn input(self, name: &str, image: &'a [[f32; 3]]) -> Filter<'a> {
        assert_eq!(image.len(), self.size[0] * self.size[1], "{name} has a wrong size");
        // The library only reads images that are not the output.
        self.set_image(name, image.as_ptr().cast_mut().cast());
        self
    }

    /// Sets an option.
    pub fn flag(self, name: &str, value: bool) -> Filter<'a> {
        let name = CString::new(name).expect("names have no 0");
        // SAFETY: The filter is an object of the library.
        unsafe { (self.device.library.set_filter_bool)(self.filter, name.as_ptr(), value) };
        self
    }

    /// Writes the filtered image.
    ///
    /// # Panics
    /// If it has a wrong number of pixels.
    pub fn run(self, output: &mut [[f32; 3]]) -> Result<(), DenoiseError> {
        assert_eq!(output.len(), self.size[0] * self.size[1], "the output has a wrong size");
        self.set_image("output", output.as_mut_ptr().cast());
        // SAFETY: The filter is an object of the library; all images outlive this call.
        unsafe {
            (self.device.library.commit_filter)(self.filter);
            (self.device.library.execute_filter)(self.filter);
        }
        self.device.check()
    }

    fn set_image(&self, name: &str, pixels: *mut c_void) {
        let name = CString::new(name).expect("names have no 0");
        let [width, height] = self.size;
        // SAFETY: The image has width × height pixels without gaps, which strides of 0 mean.
        unsafe {
            let set = self.device.library.set_image;
            set(self.filter, name.as_ptr(), pixels, FLOAT3, width, height, 0, 0, 0);
        }
    }
}

impl Drop for Filter<'_> {
    fn drop(&mut self) {
        if !self.filter.is_null() {
            // SAFETY: The filter is an object of the library, and is not used afterwards.
            unsafe { (self.device.library.release_filter)(self.filter) }
        }
    }
}
