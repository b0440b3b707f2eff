//! Code shared by spheres, disks and cylinders: the object transform, bounding boxes and parameter
//! checks. All arithmetic is in double precision, so that rays, points and areas agree.

use super::ShapeError;
use glam::{DAffine3, DMat3, DVec3};
use lightbound_math::{Aabb, Ray, Transform, Vec3};

/// The transform from a shape's object space to its parent space (the world, or the space of the
/// object that is instanced), with its inverse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ObjectTransform {
    forward: DAffine3,
    inverse: DAffine3,
}

impl ObjectTransform {
    pub(crate) fn new(transform: &Transform) -> ObjectTransform {
        let a = transform.affine();
        let column = |c: glam::Vec3A| Vec3::from(c).as_dvec3();
        let matrix3 = DMat3::from_cols(
            column(a.matrix3.x_axis),
            column(a.matrix3.y_axis),
            column(a.matrix3.z_axis),
        );
        let forward = DAffine3 { matrix3, translation: column(a.translation) };
        ObjectTransform { forward, inverse: forward.inverse() }
    }

    /// Returns this transform followed by another one.
    pub(crate) fn followed_by(&self, transform: &Transform) -> ObjectTransform {
        let forward = ObjectTransform::new(transform).forward * self.forward;
        ObjectTransform { forward, inverse: forward.inverse() }
    }

    /// Returns the origin and direction of a ray in object space; `t` values are unchanged.
    pub(crate) fn local_ray(&self, ray: &Ray) -> (DVec3, DVec3) {
        (
            self.inverse.transform_point3(ray.o.as_dvec3()),
            self.inverse.transform_vector3(ray.d.as_dvec3()),
        )
    }

    /// Transforms a point from object space to the parent space.
    pub(crate) fn point(&self, p: DVec3) -> Vec3 {
        self.double_point(p).as_vec3()
    }

    /// Like [`ObjectTransform::point`], in double precision.
    pub(crate) fn double_point(&self, p: DVec3) -> DVec3 {
        self.forward.transform_point3(p)
    }

    /// Transforms a vector from object space to the parent space.
    pub(crate) fn vector(&self, v: DVec3) -> Vec3 {
        self.double_vector(v).as_vec3()
    }

    /// Like [`ObjectTransform::vector`], in double precision.
    pub(crate) fn double_vector(&self, v: DVec3) -> DVec3 {
        self.forward.transform_vector3(v)
    }

    /// Transforms a normal from object space to the parent space, and normalises it.
    pub(crate) fn normal(&self, n: DVec3) -> Vec3 {
        self.normal_vector(n).normalize_or(n).as_vec3()
    }

    /// Transforms a normal without normalising it; linear in `n`.
    pub(crate) fn normal_vector(&self, n: DVec3) -> DVec3 {
        self.inverse.matrix3.transpose() * n
    }

    /// Returns the derivative of the unit normal in the parent space, given the normal `n` in object
    /// space and its derivative.
    pub(crate) fn normal_derivative(&self, n: DVec3, dn: DVec3) -> Vec3 {
        let (n, dn) = (self.normal_vector(n), self.normal_vector(dn));
        let unit = n.normalize();
        ((dn - unit * unit.dot(dn)) / n.length()).as_vec3()
    }

    /// Returns the area Jacobian of the transform, |det M| |M⁻ᵀ n|, for a surface with unit normal
    /// `n` in object space.
    pub(crate) fn jacobian(&self, n: DVec3) -> f64 {
        self.forward.matrix3.determinant().abs() * self.normal_vector(n).length()
    }

    /// Returns [`ObjectTransform::jacobian`] for a surface with unit normal `n` in the parent
    /// space.
    pub(crate) fn jacobian_at_normal(&self, n: Vec3) -> f64 {
        self.forward.matrix3.determinant().abs()
            / (self.forward.matrix3.transpose() * n.as_dvec3()).length()
    }

    /// Returns the scale factor if the transform scales uniformly (to within 10⁻⁵), else `None`.
    pub(crate) fn uniform_scale(&self) -> Option<f64> {
        let m = self.forward.matrix3;
        let gram = m.transpose() * m;
        let s2 = (gram.x_axis.x + gram.y_axis.y + gram.z_axis.z) / 3.0;
        gram.abs_diff_eq(DMat3::from_diagonal(DVec3::splat(s2)), 1e-5 * s2).then(|| s2.sqrt())
    }

    /// Returns the bounding box in the parent space, padded for rounding errors. In object space,
    /// the shape lies in the box `[min, max]` and, if a radius is given, in a sphere around the
    /// origin.
    pub(crate) fn aabb(&self, min: DVec3, max: DVec3, radius: Option<f64>) -> Aabb {
        let m = self.forward.matrix3;
        let abs = DMat3::from_cols(m.x_axis.abs(), m.y_axis.abs(), m.z_axis.abs());
        let center = self.forward.transform_point3(0.5 * (min + max));
        let half = abs * (0.5 * (max - min));
        let (mut lo, mut hi) = (center - half, center + half);
        if let Some(radius) = radius {
            let rows = m.transpose();
            let extent = radius
                * DVec3::new(rows.x_axis.length(), rows.y_axis.length(), rows.z_axis.length());
            lo = lo.max(self.forward.translation - extent);
            hi = hi.min(self.forward.translation + extent);
        }
        let pad = 4.0 * f64::from(f32::EPSILON) * lo.abs().max(hi.abs()).max_element();
        Aabb { min: (lo - pad).as_vec3(), max: (hi + pad).as_vec3() }
    }
}

/// Returns the parameters in the segment of `ray` at which the line o + t d meets the sphere of a
/// radius around the origin, in ascending order. With o.z = d.z = 0, the sphere stands for the
/// cylinder around the z axis.
///
/// The discriminant is computed from the point of the line nearest to the centre, so that origins
/// may be far away (Haines et al. 2019, *Precision Improvements for Ray/Sphere Intersection*, Ray
/// Tracing Gems, ch. 7).
pub(super) fn sphere_hits(
    o: DVec3,
    d: DVec3,
    radius: f64,
    ray: &Ray,
) -> impl Iterator<Item = f64> + use<> {
    let a = d.length_squared();
    let b = -o.dot(d);
    let nearest = o + (b / a) * d;
    let discriminant = a * (radius * radius - nearest.length_squared());
    let hits = (discriminant >= 0.0 && a > 0.0).then(|| {
        let q = b + discriminant.sqrt().copysign(b);
        let (t0, t1) = (q / a, (o.length_squared() - radius * radius) / q);
        [t0.min(t1), t0.max(t1)]
    });
    let (tmin, tmax) = (ray.tmin, ray.tmax);
    hits.into_iter().flatten().filter(move |&t| t as f32 >= tmin && (t as f32) < tmax)
}

/// A range of a polar coordinate.
pub(super) type Range = [f64; 2];

/// Returns the bounding box of r (cos φ, sin φ) for ranges of r ≥ 0 and φ.
pub(super) fn polar_box(r: Range, phi: Range) -> [Range; 2] {
    use std::f64::consts::{FRAC_PI_2, PI};
    [0.0, FRAC_PI_2].map(|shift| {
        let [a, b] = phi.map(|p| p - shift);
        let [cos_a, cos_b] = [a, b].map(libm::cos);
        // Whether [a, b] contains `angle` plus a multiple of 2π.
        let contains =
            |angle: f64| ((b - angle) / (2.0 * PI)).floor() >= ((a - angle) / (2.0 * PI)).ceil();
        let hi = if contains(0.0) { 1.0 } else { cos_a.max(cos_b) };
        let lo = if contains(PI) { -1.0 } else { cos_a.min(cos_b) };
        [if lo < 0.0 { r[1] * lo } else { r[0] * lo }, if hi > 0.0 { r[1] * hi } else { r[0] * hi }]
    })
}

/// Slack for the rounding error of positions computed from parametric coordinates (u, v), relative
/// to the shape's size.
pub(super) const COORDINATE_SLACK: f64 = 1e-6;

/// Returns `value` in double precision, or an error unless it is finite and positive.
pub(super) fn positive(
    shape: &'static str,
    name: &'static str,
    value: f32,
) -> Result<f64, ShapeError> {
    if value > 0.0 && value.is_finite() {
        Ok(value.into())
    } else {
        Err(ShapeError { shape, name, value, expected: "a finite number above 0" })
    }
}

/// Converts the parameter `phimax` from degrees to radians. It must be positive, and is clamped to
/// 360°.
pub(super) fn phi_max(shape: &'static str, degrees: f32) -> Result<f64, ShapeError> {
    Ok(positive(shape, "phimax", degrees)?.min(360.0).to_radians())
}

/// Returns the angle of (x, y), in [0, 2π).
pub(super) fn azimuth(p: DVec3) -> f64 {
    let phi = libm::atan2(p.y, p.x);
    if phi < 0.0 { phi + std::f64::consts::TAU } else { phi }
}
