//! Rays.

use super::Vec3;

/// A ray segment `o + t d`, `t` in `[tmin, tmax)`. `d` need not be unit; `t` counts in units of its
/// length.
///
/// *Shape*: eight consecutive floats `o, tmin, d, tmax`, the layout of Embree's rays without its
/// trailing fields.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Ray {
    /// Origin.
    pub o: Vec3,
    /// Start of the segment.
    pub tmin: f32,
    /// Direction.
    pub d: Vec3,
    /// End of the segment; may be infinite.
    pub tmax: f32,
}

impl Ray {
    /// The half line from `o` along `d`.
    pub fn new(o: Vec3, d: Vec3) -> Ray {
        Ray { o, tmin: 0.0, d, tmax: f32::INFINITY }
    }

    /// The part of the line between `o` and `target`; `t` is 0 at `o` and 1 at `target`.
    pub fn segment(o: Vec3, target: Vec3) -> Ray {
        Ray { o, tmin: 0.0, d: target - o, tmax: 1.0 }
    }

    /// The point at parameter `t`.
    pub fn at(&self, t: f32) -> Vec3 {
        self.o + t * self.d
    }
}
