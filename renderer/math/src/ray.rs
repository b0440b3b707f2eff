//! Rays.

use super::Vec3;

/// A ray segment `o + t d` with `t` in `[tmin, tmax)`.
///
/// `d` need not be a unit vector; `t` is in units of its length.
///
/// *Layout*: eight consecutive floats `o, tmin, d, tmax`, like Embree's `RTCRay` without `time` and
/// the fields after `tfar`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Ray {
    /// Origin.
    pub o: Vec3,
    /// Parameter of the segment's start.
    pub tmin: f32,
    /// Direction.
    pub d: Vec3,
    /// Parameter of the segment's end; may be infinite.
    pub tmax: f32,
    /// Time at which the ray meets moving surfaces, seconds.
    pub time: f32,
}

impl Ray {
    /// Creates the ray from `o` along `d`, at time 0.
    pub fn new(o: Vec3, d: Vec3) -> Ray {
        Ray { o, tmin: 0.0, d, tmax: f32::INFINITY, time: 0.0 }
    }

    /// Creates the segment between `o` and `target`, at time 0; `t` is 0 at `o` and 1 at `target`.
    pub fn segment(o: Vec3, target: Vec3) -> Ray {
        Ray { tmax: 1.0, ..Ray::new(o, target - o) }
    }

    /// Returns the point at parameter `t`.
    pub fn at(&self, t: f32) -> Vec3 {
        self.o + t * self.d
    }
}
