//! The ray test with a segment of a curve, which subdivides its control points until they are nearly
//! straight, in coordinates of the ray (Nakamaru and Ohno 2002).

use super::super::ShapeHit;
use super::bezier::Bezier;
use glam::{DVec2, DVec3};
use lightbound_math::Ray;

/// Unit normals at the ends of a segment of a ribbon, interpolated along a great circle.
#[derive(Clone, Copy, Debug)]
pub(super) struct RibbonNormals {
    ends: [DVec3; 2],
    angle: f64,
}

impl RibbonNormals {
    pub(super) fn new(ends: [DVec3; 2]) -> RibbonNormals {
        RibbonNormals { ends, angle: libm::acos(ends[0].dot(ends[1]).clamp(-1.0, 1.0)) }
    }

    pub(super) fn map(self, f: impl Fn(DVec3) -> DVec3) -> RibbonNormals {
        RibbonNormals { ends: self.ends.map(f), ..self }
    }

    /// Returns a multiple of the normal at u.
    pub(super) fn at(&self, u: f64) -> DVec3 {
        let [from, to] = self.ends;
        let sin = libm::sin(self.angle);
        if sin < 1e-6 {
            return from.lerp(to, u);
        }
        (libm::sin((1.0 - u) * self.angle) * from + libm::sin(u * self.angle) * to) / sin
    }
}

/// Coordinates in which a ray is the positive z axis.
pub(super) struct RayFrame {
    origin: DVec3,
    axes: [DVec3; 3],
}

impl RayFrame {
    /// Creates the frame of a ray with unit direction `d`. The x axis is along `chord`, so that
    /// bounding boxes are tight.
    pub(super) fn new(origin: DVec3, d: DVec3, chord: DVec3) -> RayFrame {
        let x = chord - d * d.dot(chord);
        let is_usable = x.length_squared() > 1e-20 * chord.length_squared();
        let x = if is_usable { x.normalize() } else { d.any_orthonormal_vector() };
        RayFrame { origin, axes: [x, d.cross(x), d] }
    }

    pub(super) fn vector(&self, v: DVec3) -> DVec3 {
        DVec3::from_array(self.axes.map(|axis| axis.dot(v)))
    }

    pub(super) fn point(&self, p: DVec3) -> DVec3 {
        self.vector(p - self.origin)
    }
}

/// A ray test with a segment, in the frame of the ray.
pub(super) struct CurveTest<'a> {
    /// Widths at the ends of the segment.
    pub widths: [f64; 2],
    /// Normals of a ribbon.
    pub normals: Option<RibbonNormals>,
    /// Length of the ray's direction.
    pub length: f64,
    pub ray: &'a Ray,
    pub nearest: Option<ShapeHit>,
}

impl CurveTest<'_> {
    fn width(&self, u: f64) -> f64 {
        self.widths[0] + (self.widths[1] - self.widths[0]) * u
    }

    /// Returns whether the ray segment meets the bounding box of a part of the curve.
    pub(super) fn enters(&self, curve: &Bezier, u0: f64, u1: f64) -> bool {
        let [min, max] = curve.bounds();
        let half = 0.5 * self.width(u0).max(self.width(u1));
        let tmax = self.nearest.map_or(self.ray.tmax, |hit| hit.t);
        // Room for the rounding of t to single precision.
        let [near, far] = [self.ray.tmin, tmax].map(|t| f64::from(t) * self.length);
        min.x <= half
            && max.x >= -half
            && min.y <= half
            && max.y >= -half
            && min.z - half <= far + 1e-6 * far.abs()
            && max.z + half >= near - 1e-6 * near.abs()
    }

    pub(super) fn recurse(&mut self, curve: &Bezier, [u0, u1]: [f64; 2], depth: u32) {
        if depth == 0 {
            return self.intersect_leaf(curve, [u0, u1]);
        }
        let middle = 0.5 * (u0 + u1);
        for (half, u) in curve.halves().iter().zip([[u0, middle], [middle, u1]]) {
            if self.enters(half, u[0], u[1]) {
                self.recurse(half, u, depth - 1);
            }
        }
    }

    /// Tests an almost straight part of the curve.
    fn intersect_leaf(&mut self, curve: &Bezier, [u0, u1]: [f64; 2]) {
        let u_at = |s: f64| u0 + (u1 - u0) * s;
        // The line across the strip at s meets the ray where this function is zero. For strips that
        // face the ray, the point at s is then the nearest one.
        let misfit = |s: f64| {
            let (c, tangent) = curve.evaluate(s);
            let along = c.x * tangent.x + c.y * tangent.y;
            self.normals.map_or(along, |normals| {
                let n = normals.at(u_at(s));
                along * n.z - (c.x * n.x + c.y * n.y) * tangent.z
            })
        };
        let ends = [misfit(0.0), misfit(1.0)];
        let is_bracketed = match self.normals {
            None => ends[0] <= 0.0 && ends[1] >= 0.0,
            Some(_) => ends[0].min(ends[1]) <= 0.0 && ends[0].max(ends[1]) >= 0.0,
        };
        if !is_bracketed {
            return;
        }
        let s = root(misfit, ends);
        let (c, tangent) = curve.evaluate(s);
        let u = u_at(s);
        let across = match self.normals {
            None => DVec3::new(-tangent.y, tangent.x, 0.0),
            Some(normals) => tangent.cross(normals.at(u)),
        };
        let Some(across) = across.try_normalize() else { return };
        let flat = DVec2::new(across.x, across.y);
        let offset = -flat.dot(DVec2::new(c.x, c.y)) / flat.length_squared();
        let width = self.width(u);
        // NaN, for ribbons that the ray sees edge-on, is outside.
        let is_inside = offset.abs() <= 0.5 * width && width > 0.0;
        if !is_inside {
            return;
        }
        let t = ((c.z + offset * across.z) / self.length) as f32;
        let is_nearest = self.nearest.is_none_or(|nearest| t < nearest.t);
        if t >= self.ray.tmin && t < self.ray.tmax && is_nearest {
            let v = (0.5 + offset / width) as f32;
            self.nearest = Some(ShapeHit::new(t, u as f32, v));
        }
    }
}

/// Returns a root in [0, 1] of a function whose `ends` do not have the same sign, by the Illinois
/// method, a regula falsi that converges superlinearly.
fn root(f: impl Fn(f64) -> f64, ends: [f64; 2]) -> f64 {
    let (mut a, mut b) = ((0.0, ends[0]), (1.0, ends[1]));
    for _ in 0..MAX_ROOT_STEPS {
        let s = a.0 - a.1 * (b.0 - a.0) / (b.1 - a.1);
        // Both ends are zero.
        let s = if s.is_nan() { 0.5 } else { s };
        let value = f(s);
        if value == 0.0 || (s - b.0).abs() < ROOT_TOLERANCE {
            return s;
        }
        if (value < 0.0) == (b.1 < 0.0) {
            a.1 *= 0.5;
        } else {
            a = b;
        }
        b = (s, value);
    }
    b.0
}

/// Maximum number of evaluations for a root; a few suffice.
const MAX_ROOT_STEPS: u32 = 40;

/// Precision of a root, relative to a nearly straight part of a curve.
const ROOT_TOLERANCE: f64 = 1e-9;
