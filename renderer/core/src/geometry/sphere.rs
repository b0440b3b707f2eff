//! Spheres and parts of spheres.
//!
//! As in pbrt: around the origin of object space, clipped at two heights z and at an angle around
//! z. Affine transforms may turn them into ellipsoids. Arithmetic is in double precision, and the
//! discriminant is computed from the point of the ray nearest to the centre, so that origins may be
//! far away (Haines et al. 2019, *Precision Improvements for Ray/Sphere Intersection*, Ray Tracing
//! Gems, ch. 7).

use super::placement::{self, Placement};
use super::{ShapeError, ShapeHit, ShapePoint};
use glam::DVec3;
use lightbound_math::{Aabb, Ray, Transform, Vec2, Vec3};

/// A sphere or a part of one, with its own transform.
///
/// Surface coordinates are those of pbrt: u = φ / φmax, v is linear in the polar angle from `zmin`
/// to `zmax`. Normals point outwards, whatever the handedness of the transform.
#[derive(Clone, Debug)]
pub struct Sphere {
    placement: Placement,
    radius: f64,
    z: [f64; 2],
    /// Polar angles of the two heights; the first is the larger.
    theta: [f64; 2],
    phi_max: f64,
    magnitude: f32,
}

impl Sphere {
    /// A sphere of `radius`, clipped to heights between `zmin` and `zmax` (in any order, clamped to
    /// the radius) and angles between 0 and `phimax` degrees.
    ///
    /// *Errors*: radius or angle not positive and finite, a height that is NaN, an empty range of
    /// heights.
    pub fn new(
        transform: &Transform,
        radius: f32,
        zmin: f32,
        zmax: f32,
        phimax: f32,
    ) -> Result<Sphere, ShapeError> {
        let r = placement::positive("sphere", "radius", radius)?;
        let phi_max = placement::phi_max("sphere", phimax)?;
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
        let placement = Placement::new(transform);
        let magnitude = placement.aabb(DVec3::splat(-r), DVec3::splat(r), Some(r)).magnitude();
        Ok(Sphere {
            placement,
            radius: r,
            z,
            theta: z.map(|z| libm::acos(z / r)),
            phi_max,
            magnitude,
        })
    }

    /// A full sphere.
    ///
    /// *Errors*: the radius is not positive and finite.
    pub fn full(transform: &Transform, radius: f32) -> Result<Sphere, ShapeError> {
        Sphere::new(transform, radius, -radius, radius, 360.0)
    }

    pub(super) fn aabb(&self) -> Aabb {
        let r = self.radius;
        self.placement.aabb(DVec3::new(-r, -r, self.z[0]), DVec3::new(r, r, self.z[1]), Some(r))
    }

    pub(super) fn intersect(&self, ray: &Ray) -> Option<ShapeHit> {
        let (o, d) = self.placement.local_ray(ray);
        let a = d.length_squared();
        let b = -o.dot(d);
        let nearest = o + (b / a) * d;
        let discriminant = a * (self.radius * self.radius - nearest.length_squared());
        if !(discriminant >= 0.0 && a > 0.0) {
            return None;
        }
        let q = b + discriminant.sqrt().copysign(b);
        let (t0, t1) = (q / a, (o.length_squared() - self.radius * self.radius) / q);
        [t0.min(t1), t0.max(t1)].into_iter().find_map(|t| {
            if !(t as f32 >= ray.tmin && (t as f32) < ray.tmax) {
                return None;
            }
            let p = o + t * d;
            let phi = placement::azimuth(p);
            let theta = libm::atan2(p.truncate().length(), p.z);
            let inside = phi <= self.phi_max && theta <= self.theta[0] && theta >= self.theta[1];
            inside.then(|| ShapeHit {
                t: t as f32,
                u: (phi / self.phi_max) as f32,
                v: ((theta - self.theta[0]) / (self.theta[1] - self.theta[0])) as f32,
            })
        })
    }

    pub(super) fn point(&self, u: f32, v: f32) -> ShapePoint {
        let (sin_phi, cos_phi) = libm::sincos(f64::from(u) * self.phi_max);
        let theta = self.theta[0] + f64::from(v) * (self.theta[1] - self.theta[0]);
        let (sin_theta, cos_theta) = libm::sincos(theta);
        let n = DVec3::new(cos_phi * sin_theta, sin_phi * sin_theta, cos_theta);
        let p = self.radius * n;
        let ng = self.placement.normal(n);
        let dpdu = self.placement.vector(self.phi_max * DVec3::new(-p.y, p.x, 0.0));
        ShapePoint {
            p: self.placement.point(p),
            ng,
            ns: ng,
            uv: Vec2::new(u, v),
            dpdu,
            magnitude: self.magnitude,
            extent: 0.0,
        }
    }

    /// Area: exact for uniform scales, else by the midpoint rule on 64 × 64 cells of equal area in
    /// object space, with an error of about 10⁻³ up to axis ratios of 4.
    pub(super) fn area(&self) -> f32 {
        const N: usize = 64;
        if let Some(scale) = self.placement.uniform_scale() {
            return (scale * scale * self.local_area()) as f32;
        }
        let mut jacobian = 0.0;
        for i in 0..N * N {
            let at = Vec2::new((i % N) as f32 + 0.5, (i / N) as f32 + 0.5) / N as f32;
            jacobian += self.placement.jacobian(self.local_at(at));
        }
        (jacobian / (N * N) as f64 * self.local_area()) as f32
    }

    /// Area in object space: φmax r (zmax − zmin), after Archimedes.
    fn local_area(&self) -> f64 {
        self.phi_max * self.radius * (self.z[1] - self.z[0])
    }

    /// Maps the unit square to directions from the centre, preserving area in object space.
    fn local_at(&self, u: Vec2) -> DVec3 {
        let z = (self.z[0] + f64::from(u.y) * (self.z[1] - self.z[0])) / self.radius;
        let (sin, cos) = libm::sincos(f64::from(u.x) * self.phi_max);
        let r = (1.0 - z * z).max(0.0).sqrt();
        DVec3::new(r * cos, r * sin, z)
    }

    /// Samples a point uniformly in object space; returns position, outward unit normal and density
    /// per m².
    pub(crate) fn sample_area(&self, u: Vec2) -> (Vec3, Vec3, f32) {
        let n = self.local_at(u);
        let pdf = 1.0 / (self.local_area() * self.placement.jacobian(n));
        (self.placement.point(self.radius * n), self.placement.normal(n), pdf as f32)
    }

    /// Bounds of [`Sphere::sample_area`] for a rectangle of the square: a box of the positions, and
    /// vectors whose hull contains positive multiples of the outward normals.
    pub(crate) fn extent(&self, lo: Vec2, hi: Vec2) -> (Aabb, [DVec3; 8]) {
        let slack = placement::COORDINATE_SLACK;
        let height = |u: f32| (self.z[0] + f64::from(u) * (self.z[1] - self.z[0])) / self.radius;
        let z = [(height(lo.y) - slack).max(-1.0), (height(hi.y) + slack).min(1.0)];
        let ring = z.map(|z| ((1.0 - z) * (1.0 + z)).max(0.0).sqrt());
        let equator = z[0] <= 0.0 && z[1] >= 0.0;
        let r = [ring[0].min(ring[1]), if equator { 1.0 } else { ring[0].max(ring[1]) }];
        let [x, y] = placement::polar_box(
            r,
            [f64::from(lo.x) * self.phi_max - slack, f64::from(hi.x) * self.phi_max + slack],
        );
        let corner = |i: usize| DVec3::new(x[i & 1], y[i >> 1 & 1], z[i >> 2]);
        let bounds = self.placement.aabb(
            self.radius * corner(0),
            self.radius * corner(7),
            Some(self.radius),
        );
        (bounds, std::array::from_fn(|i| self.placement.normal_vector(corner(i))))
    }

    /// Density per m² of [`Sphere::sample_area`] at a point with outward (or inward) unit normal
    /// `ng`.
    pub(crate) fn area_pdf(&self, ng: Vec3) -> f32 {
        (1.0 / (self.local_area() * self.placement.jacobian_at_normal(ng))) as f32
    }

    /// Centre and radius of a full sphere with a uniform scale, else `None`.
    pub(crate) fn as_world_sphere(&self) -> Option<(Vec3, f32)> {
        let is_full =
            self.phi_max >= std::f64::consts::TAU && self.z == [-self.radius, self.radius];
        let scale = self.placement.uniform_scale()?;
        is_full.then(|| (self.placement.point(DVec3::ZERO), (scale * self.radius) as f32))
    }

    /// See [`ShapePoint::magnitude`].
    pub(crate) fn magnitude(&self) -> f32 {
        self.magnitude
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::{DAffine3, DQuat, dvec3};
    use lightbound_math::sampling::{hash, unit_float};
    use std::f32::consts::PI;

    fn placed() -> Transform {
        let scale = DAffine3::from_scale(dvec3(2.0, 0.5, -1.0));
        Transform::new(
            DAffine3::from_rotation_translation(DQuat::from_rotation_x(0.7), dvec3(3.0, -2.0, 5.0))
                * scale,
        )
        .unwrap()
    }

    fn random(i: u32, k: u32) -> f32 {
        2.0 * unit_float(hash(hash(11, i), k)) - 1.0
    }

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
    fn reported_coordinates_are_on_the_ray() {
        let s = Sphere::new(&placed(), 1.5, -1.0, 1.2, 250.0).unwrap();
        let b = s.aabb();
        let mut hits = 0;
        for i in 0..5000 {
            let v = |k| Vec3::new(random(i, k), random(i, k + 1), random(i, k + 2));
            let (o, to) = (b.center() + 20.0 * v(0), b.center() + 2.0 * v(3));
            let ray = Ray::new(o, 0.3 * (to - o));
            let Some(h) = s.intersect(&ray) else { continue };
            hits += 1;
            let at = s.point(h.u, h.v);
            assert!(
                (at.p - ray.at(h.t)).length() < 1e-5 * o.length(),
                "{i}: {} {}",
                at.p,
                ray.at(h.t)
            );
            assert!(b.min.cmple(at.p).all() && b.max.cmpge(at.p).all());
            let tangent = at.dpdu.normalize();
            assert!(at.ng.dot(tangent).abs() < 1e-5);
            let second = s.intersect(&Ray { tmin: h.t.next_up(), ..ray });
            assert!(second.is_none_or(|x| x.t > h.t));
        }
        assert!(hits > 500, "{hits}");
    }

    #[test]
    fn orientation_and_coordinates() {
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
    fn far_origins_stay_precise() {
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
        // An oblate spheroid with half axes 1, 1, c: 2π (1 + c² / e · artanh e), e² = 1 − c².
        let c = 0.25f64;
        let e = (1.0 - c * c).sqrt();
        let want = 2.0 * std::f64::consts::PI * (1.0 + c * c / e * e.atanh());
        let flat =
            Sphere::full(&Transform::new(DAffine3::from_scale(dvec3(1.0, 1.0, c))).unwrap(), 1.0)
                .unwrap();
        assert!((f64::from(flat.area()) / want - 1.0).abs() < 1e-3, "{} {want}", flat.area());
    }

    #[test]
    fn invalid_rays_miss() {
        let s = Sphere::full(&placed(), 1.0).unwrap();
        for d in [Vec3::ZERO, Vec3::splat(f32::NAN), Vec3::INFINITY] {
            assert_eq!(s.intersect(&Ray::new(Vec3::ZERO, d)), None, "{d}");
            assert_eq!(s.intersect(&Ray::new(Vec3::splat(f32::NAN), d)), None);
            assert_eq!(s.intersect(&Ray::new(Vec3::INFINITY, d)), None);
        }
    }
}
