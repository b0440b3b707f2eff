//! Spheres and partial spheres.
//!
//! As in pbrt: a sphere is centred at the origin of object space, and clipped at two heights z and
//! at an angle around z. Affine transforms may turn it into an ellipsoid. Arithmetic is in double
//! precision.

use super::quadric::{self, ObjectTransform};
use super::{ShapeError, ShapeHit, ShapePoint, SurfaceDerivatives};
use glam::DVec3;
use lightbound_math::{Aabb, Ray, Transform, Vec2, Vec3};

/// A sphere or partial sphere, with its own transform.
///
/// Surface coordinates are those of pbrt: u = φ / φmax, v is linear in the polar angle from `zmin`
/// to `zmax`. Normals point outwards even if the transform swaps handedness.
#[derive(Clone, Debug)]
pub struct Sphere {
    object_transform: ObjectTransform,
    radius: f64,
    /// Lower and upper height.
    z: [f64; 2],
    /// Polar angles of the two heights; the first angle is the larger.
    theta: [f64; 2],
    phi_max: f64,
    magnitude: f32,
}

impl Sphere {
    /// Creates a sphere of `radius`, clipped to heights between `zmin` and `zmax` (in any order,
    /// clamped to the radius) and angles between 0 and `phimax` degrees.
    ///
    /// # Errors
    /// If `radius` or `phimax` is not positive and finite, a height is NaN, or the range of heights
    /// is empty.
    pub fn new(
        transform: &Transform,
        radius: f32,
        zmin: f32,
        zmax: f32,
        phimax: f32,
    ) -> Result<Sphere, ShapeError> {
        let r = quadric::positive("sphere", "radius", radius)?;
        let phi_max = quadric::phi_max("sphere", phimax)?;
        for (name, value) in [("zmin", zmin), ("zmax", zmax)] {
            if value.is_nan() {
                return Err(ShapeError { shape: "sphere", name, value, expected: "a number" });
            }
        }
        let z = [zmin.min(zmax), zmin.max(zmax)].map(|z| f64::from(z).clamp(-r, r));
        if z[0] >= z[1] {
            let expected = "a height inside the sphere that differs from zmin";
            return Err(ShapeError { shape: "sphere", name: "zmax", value: zmax, expected });
        }
        let object_transform = ObjectTransform::new(transform);
        Ok(Sphere {
            object_transform,
            radius: r,
            z,
            theta: z.map(|z| libm::acos(z / r)),
            phi_max,
            magnitude: magnitude(&object_transform, r),
        })
    }

    /// Transforms the sphere. Normals still point outwards.
    pub(super) fn transformed(&self, transform: &Transform) -> Sphere {
        let object_transform = self.object_transform.followed_by(transform);
        let magnitude = magnitude(&object_transform, self.radius);
        Sphere { object_transform, magnitude, ..self.clone() }
    }

    /// Creates a full sphere.
    ///
    /// # Errors
    /// If the radius is not positive and finite.
    pub fn full(transform: &Transform, radius: f32) -> Result<Sphere, ShapeError> {
        Sphere::new(transform, radius, -radius, radius, 360.0)
    }

    pub(super) fn aabb(&self) -> Aabb {
        let r = self.radius;
        self.object_transform.aabb(
            DVec3::new(-r, -r, self.z[0]),
            DVec3::new(r, r, self.z[1]),
            Some(r),
        )
    }

    pub(super) fn intersect(&self, ray: &Ray) -> Option<ShapeHit> {
        let (o, d) = self.object_transform.local_ray(ray);
        quadric::sphere_hits(o, d, self.radius, ray).find_map(|t| {
            let p = o + t * d;
            let phi = quadric::azimuth(p);
            let theta = libm::atan2(p.truncate().length(), p.z);
            let inside = phi <= self.phi_max && theta <= self.theta[0] && theta >= self.theta[1];
            inside.then(|| {
                ShapeHit::new(
                    t as f32,
                    (phi / self.phi_max) as f32,
                    ((theta - self.theta[0]) / (self.theta[1] - self.theta[0])) as f32,
                )
            })
        })
    }

    pub(super) fn point(&self, u: f32, v: f32) -> ShapePoint {
        let (sin_phi, cos_phi) = libm::sincos(f64::from(u) * self.phi_max);
        let theta = self.theta[0] + f64::from(v) * (self.theta[1] - self.theta[0]);
        let (sin_theta, cos_theta) = libm::sincos(theta);
        let n = DVec3::new(cos_phi * sin_theta, sin_phi * sin_theta, cos_theta);
        let p = self.radius * n;
        let ng = self.object_transform.normal(n);
        let dpdu = self.object_transform.vector(self.phi_max * DVec3::new(-p.y, p.x, 0.0));
        ShapePoint {
            p: self.object_transform.point(p),
            ng,
            ns: ng,
            uv: Vec2::new(u, v),
            dpdu,
            magnitude: self.magnitude,
            extent: 0.0,
            clearance: 0.0,
        }
    }

    pub(super) fn derivatives(&self, u: f32, v: f32) -> SurfaceDerivatives {
        let (sin_phi, cos_phi) = libm::sincos(f64::from(u) * self.phi_max);
        let theta_range = self.theta[1] - self.theta[0];
        let (sin_theta, cos_theta) = libm::sincos(self.theta[0] + f64::from(v) * theta_range);
        let n = DVec3::new(cos_phi * sin_theta, sin_phi * sin_theta, cos_theta);
        let by_u = self.phi_max * DVec3::new(-n.y, n.x, 0.0);
        let by_v = theta_range * DVec3::new(cos_phi * cos_theta, sin_phi * cos_theta, -sin_theta);
        let transform = &self.object_transform;
        SurfaceDerivatives {
            dpdu: transform.vector(self.radius * by_u),
            dpdv: transform.vector(self.radius * by_v),
            dndu: transform.normal_derivative(n, by_u),
            dndv: transform.normal_derivative(n, by_v),
        }
    }

    /// Returns the area: exact for uniform scales, else by the midpoint rule on 64 × 64 cells of
    /// equal area in object space, with an error of about 10⁻³ for axis ratios up to 4.
    pub(super) fn area(&self) -> f32 {
        const N: usize = 64;
        if let Some(scale) = self.object_transform.uniform_scale() {
            return (scale * scale * self.local_area()) as f32;
        }
        let mut jacobian = 0.0;
        for i in 0..N * N {
            let at = Vec2::new((i % N) as f32 + 0.5, (i / N) as f32 + 0.5) / N as f32;
            jacobian += self.object_transform.jacobian(self.local_direction(at));
        }
        (jacobian / (N * N) as f64 * self.local_area()) as f32
    }

    /// Returns the area in object space: φmax r (zmax − zmin), after Archimedes.
    fn local_area(&self) -> f64 {
        self.phi_max * self.radius * (self.z[1] - self.z[0])
    }

    /// Maps the unit square to directions from the centre, preserving relative area in object
    /// space.
    fn local_direction(&self, u: Vec2) -> DVec3 {
        let z = (self.z[0] + f64::from(u.y) * (self.z[1] - self.z[0])) / self.radius;
        let (sin, cos) = libm::sincos(f64::from(u.x) * self.phi_max);
        let r = (1.0 - z * z).max(0.0).sqrt();
        DVec3::new(r * cos, r * sin, z)
    }

    /// Samples a point uniformly in object space; returns position, outward unit normal and density
    /// per m².
    pub(crate) fn sample_area(&self, u: Vec2) -> (Vec3, Vec3, f32) {
        let n = self.local_direction(u);
        let pdf = 1.0 / (self.local_area() * self.object_transform.jacobian(n));
        (self.object_transform.point(self.radius * n), self.object_transform.normal(n), pdf as f32)
    }

    /// Returns bounds on [`Sphere::sample_area`] for a rectangle of the unit square: a box around
    /// the positions, and vectors with a convex hull that contains positive multiples of the
    /// outward normals.
    pub(crate) fn extent(&self, lo: Vec2, hi: Vec2) -> (Aabb, [DVec3; 8]) {
        let slack = quadric::COORDINATE_SLACK;
        let height = |u: f32| (self.z[0] + f64::from(u) * (self.z[1] - self.z[0])) / self.radius;
        let z = [(height(lo.y) - slack).max(-1.0), (height(hi.y) + slack).min(1.0)];
        let ring = z.map(|z| ((1.0 - z) * (1.0 + z)).max(0.0).sqrt());
        let equator = z[0] <= 0.0 && z[1] >= 0.0;
        let r = [ring[0].min(ring[1]), if equator { 1.0 } else { ring[0].max(ring[1]) }];
        let [x, y] = quadric::polar_box(
            r,
            [f64::from(lo.x) * self.phi_max - slack, f64::from(hi.x) * self.phi_max + slack],
        );
        let corner = |i: usize| DVec3::new(x[i & 1], y[i >> 1 & 1], z[i >> 2]);
        let bounds = self.object_transform.aabb(
            self.radius * corner(0),
            self.radius * corner(7),
            Some(self.radius),
        );
        (bounds, std::array::from_fn(|i| self.object_transform.normal_vector(corner(i))))
    }

    /// Returns the density per m² of [`Sphere::sample_area`] at a point with the outward or inward
    /// unit normal `ng`.
    pub(crate) fn area_pdf(&self, ng: Vec3) -> f32 {
        (1.0 / (self.local_area() * self.object_transform.jacobian_at_normal(ng))) as f32
    }

    /// Returns centre and radius, if this is a full sphere with a uniform scale.
    pub(crate) fn as_full_sphere(&self) -> Option<(Vec3, f32)> {
        let is_full =
            self.phi_max >= std::f64::consts::TAU && self.z == [-self.radius, self.radius];
        let scale = self.object_transform.uniform_scale()?;
        is_full.then(|| (self.object_transform.point(DVec3::ZERO), (scale * self.radius) as f32))
    }

    /// Returns [`ShapePoint::magnitude`].
    pub(crate) fn magnitude(&self) -> f32 {
        self.magnitude
    }
}

/// Returns the largest absolute coordinate of a full sphere.
fn magnitude(object_transform: &ObjectTransform, radius: f64) -> f32 {
    object_transform.aabb(DVec3::splat(-radius), DVec3::splat(radius), Some(radius)).magnitude()
}

#[cfg(test)]
mod tests {
    use super::super::Shape;
    use super::super::testing::{assert_hits_lie_on_rays, skewed};
    use super::*;
    use glam::{DAffine3, dvec3};
    use std::f32::consts::PI;

    #[test]
    fn invalid_parameters_are_errors() {
        let make = |r, lo, hi, phi| {
            Sphere::new(&Transform::IDENTITY, r, lo, hi, phi).map(|_| ()).map_err(|e| e.to_string())
        };
        assert_eq!(make(1.0, 0.5, -0.5, 720.0), Ok(()));
        assert_eq!(
            make(0.0, 0.0, 1.0, 360.0).unwrap_err(),
            "sphere: \"radius\" is 0, expected a finite number above 0"
        );
        for (r, lo, hi, phi) in [
            (f32::NAN, -1.0, 1.0, 360.0),
            (1.0, f32::NAN, 1.0, 360.0),
            (1.0, 2.0, 3.0, 360.0),
            (1.0, -1.0, 1.0, 0.0),
            (f32::INFINITY, -1.0, 1.0, 90.0),
        ] {
            assert!(make(r, lo, hi, phi).is_err(), "{r} {lo} {hi} {phi}");
        }
    }

    #[test]
    fn hits_lie_on_the_ray() {
        let sphere = Sphere::new(&skewed(), 1.5, -1.0, 1.2, 250.0).unwrap();
        let hits = assert_hits_lie_on_rays(&Shape::Sphere(sphere), 5000);
        assert!(hits > 500, "{hits}");
    }

    #[test]
    fn hits_have_outward_normals_and_pbrt_coordinates() {
        let s = Sphere::full(&Transform::IDENTITY, 2.0).unwrap();
        let top = s.intersect(&Ray::new(Vec3::new(0.0, 0.0, 9.0), -Vec3::Z)).unwrap();
        assert_eq!((top.t, top.v), (7.0, 1.0));
        let side = s.intersect(&Ray::new(Vec3::new(0.0, 9.0, 0.0), -Vec3::Y)).unwrap();
        assert_eq!((side.u, side.v), (0.25, 0.5));
        let at = s.point(side.u, side.v);
        assert!(
            (at.ng - Vec3::Y).length() < 1e-6
                && (at.dpdu - Vec3::new(-4.0 * PI, 0.0, 0.0)).length() < 1e-4
        );
        // From inside, rays hit the far side, on their segment only.
        let inside = Ray::new(Vec3::new(1.0, 0.0, 0.0), Vec3::X);
        assert_eq!(s.intersect(&inside).unwrap().t, 1.0);
        assert_eq!(s.intersect(&Ray { tmax: 1.0, ..inside }), None);
        assert_eq!(s.intersect(&Ray { tmin: 1.0, ..inside }).unwrap().t, 1.0);
    }

    #[test]
    fn hits_are_precise_for_far_origins() {
        let s = Sphere::full(&Transform::IDENTITY, 1.0).unwrap();
        for distance in [1e3f32, 1e6, 1e9] {
            let ray = Ray::new(Vec3::new(0.6, 0.0, distance), Vec3::new(0.0, 0.0, -distance));
            let h = s.intersect(&ray).unwrap();
            assert!((s.point(h.u, h.v).p - Vec3::new(0.6, 0.0, 0.8)).length() < 1e-6, "{distance}");
        }
    }

    #[test]
    fn areas_match_closed_forms() {
        let full =
            Sphere::full(&Transform::new(DAffine3::from_scale(dvec3(3.0, 3.0, 3.0))).unwrap(), 2.0)
                .unwrap();
        assert!((full.area() / (4.0 * PI * 36.0) - 1.0).abs() < 1e-5);
        // Area of an oblate spheroid with half axes 1, 1, c: 2π (1 + c² / e · artanh e), where
        // e² = 1 − c².
        let c = 0.25f64;
        let e = (1.0 - c * c).sqrt();
        let expected = 2.0 * std::f64::consts::PI * (1.0 + c * c / e * e.atanh());
        let flat =
            Sphere::full(&Transform::new(DAffine3::from_scale(dvec3(1.0, 1.0, c))).unwrap(), 1.0)
                .unwrap();
        assert!(
            (f64::from(flat.area()) / expected - 1.0).abs() < 1e-3,
            "{} {expected}",
            flat.area()
        );
    }

    #[test]
    fn invalid_rays_miss() {
        let s = Sphere::full(&skewed(), 1.0).unwrap();
        for d in [Vec3::ZERO, Vec3::splat(f32::NAN), Vec3::INFINITY] {
            assert_eq!(s.intersect(&Ray::new(Vec3::ZERO, d)), None, "{d}");
            assert_eq!(s.intersect(&Ray::new(Vec3::splat(f32::NAN), d)), None);
            assert_eq!(s.intersect(&Ray::new(Vec3::INFINITY, d)), None);
        }
    }
}
