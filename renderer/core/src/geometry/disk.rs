//! Disks, annuli and their sectors.
//!
//! As in pbrt: at a height z of the object space, orthogonal to z, between two radii and up to an
//! angle around z, with an affine transform. Arithmetic is in double precision.

use super::placement::{self, Placement};
use super::{ShapeError, ShapeHit, ShapePoint};
use glam::DVec3;
use lightbound_math::sampling::warp::uniform_disk;
use lightbound_math::{Aabb, Ray, Transform, Vec2, Vec3};

/// A disk, annulus or sector, with its own transform.
///
/// Surface coordinates are those of pbrt: u = φ / φmax, v is 0 at the rim and 1 at the inner
/// radius. The front is +z.
#[derive(Clone, Debug)]
pub struct Disk {
    placement: Placement,
    height: f64,
    radius: f64,
    inner: f64,
    phi_max: f64,
    magnitude: f32,
}

impl Disk {
    /// The ring between `inner` and `radius` at `height`, between angles 0 and `phimax` degrees.
    ///
    /// *Errors*: radius or angle not positive and finite, inner radius not in [0, radius), height
    /// not finite.
    pub fn new(
        transform: &Transform,
        height: f32,
        radius: f32,
        inner: f32,
        phimax: f32,
    ) -> Result<Disk, ShapeError> {
        let r = placement::positive("disk", "radius", radius)?;
        let phi_max = placement::phi_max("disk", phimax)?;
        if !(inner >= 0.0 && inner < radius) {
            let expected = "a number from 0 to less than the radius";
            return Err(ShapeError { shape: "disk", name: "innerradius", value: inner, expected });
        }
        if !height.is_finite() {
            return Err(ShapeError {
                shape: "disk",
                name: "height",
                value: height,
                expected: "a finite number",
            });
        }
        let placement = Placement::new(transform);
        let disk = Disk {
            placement,
            height: height.into(),
            radius: r,
            inner: inner.into(),
            phi_max,
            magnitude: 0.0,
        };
        Ok(Disk { magnitude: disk.aabb().magnitude(), ..disk })
    }

    pub(super) fn aabb(&self) -> Aabb {
        let (r, h) = (self.radius, self.height);
        self.placement.aabb(DVec3::new(-r, -r, h), DVec3::new(r, r, h), None)
    }

    pub(super) fn intersect(&self, ray: &Ray) -> Option<ShapeHit> {
        let (o, d) = self.placement.local_ray(ray);
        let t = (self.height - o.z) / d.z;
        // For a ray in the plane, t is NaN or infinite and rejected here.
        if !(t as f32 >= ray.tmin && (t as f32) < ray.tmax) {
            return None;
        }
        let p = o + t * d;
        let r = p.truncate().length();
        let phi = placement::azimuth(p);
        (r >= self.inner && r <= self.radius && phi <= self.phi_max).then(|| ShapeHit {
            t: t as f32,
            u: (phi / self.phi_max) as f32,
            v: ((self.radius - r) / (self.radius - self.inner)) as f32,
        })
    }

    pub(super) fn point(&self, u: f32, v: f32) -> ShapePoint {
        let (sin, cos) = libm::sincos(f64::from(u) * self.phi_max);
        let r = self.radius - f64::from(v) * (self.radius - self.inner);
        let p = self.placement.point(DVec3::new(r * cos, r * sin, self.height));
        let ng = self.normal();
        let dpdu = self.placement.vector(self.phi_max * r * DVec3::new(-sin, cos, 0.0));
        ShapePoint {
            p,
            ng,
            ns: ng,
            uv: Vec2::new(u, v),
            dpdu,
            magnitude: self.magnitude,
            extent: 0.0,
        }
    }

    pub(super) fn area(&self) -> f32 {
        let local = 0.5 * self.phi_max * (self.radius * self.radius - self.inner * self.inner);
        (local * self.placement.jacobian(DVec3::Z)) as f32
    }

    /// Unit normal of the front.
    pub(crate) fn normal(&self) -> Vec3 {
        self.placement.normal(DVec3::Z)
    }

    /// A point sampled uniformly by area.
    pub(crate) fn sample_area(&self, u: Vec2) -> Vec3 {
        let (x, y) = if self.is_full() {
            let d = uniform_disk(u).as_dvec2() * self.radius;
            (d.x, d.y)
        } else {
            let [inner2, outer2] = [self.inner, self.radius].map(|r| r * r);
            let r = (inner2 + f64::from(u.x) * (outer2 - inner2)).sqrt();
            let (sin, cos) = libm::sincos(f64::from(u.y) * self.phi_max);
            (r * cos, r * sin)
        };
        self.placement.point(DVec3::new(x, y, self.height))
    }

    /// A bounding box of the points that [`Disk::sample_area`] maps a rectangle of the square to.
    pub(crate) fn extent(&self, lo: Vec2, hi: Vec2) -> Aabb {
        let (r, phi) = if self.is_full() {
            concentric_ranges(lo, hi, self.radius)
        } else {
            let [inner2, outer2] = [self.inner, self.radius].map(|r| r * r);
            let r =
                [lo.x, hi.x].map(|u| (inner2 + f64::from(u) * (outer2 - inner2)).max(0.0).sqrt());
            (r, [lo.y, hi.y].map(|u| f64::from(u) * self.phi_max))
        };
        let [x, y] = placement::polar_box(r, phi);
        let slack = DVec3::new(1.0, 1.0, 0.0) * (placement::COORDINATE_SLACK * self.radius);
        self.placement.aabb(
            DVec3::new(x[0], y[0], self.height) - slack,
            DVec3::new(x[1], y[1], self.height) + slack,
            None,
        )
    }

    fn is_full(&self) -> bool {
        self.inner == 0.0 && self.phi_max >= std::f64::consts::TAU
    }

    /// See [`ShapePoint::magnitude`].
    pub(crate) fn magnitude(&self) -> f32 {
        self.magnitude
    }
}

/// Ranges of radius and angle to which [`uniform_disk`], times `radius`, maps a rectangle of the
/// square.
///
/// With the square's coordinates a and b in [−1, 1], the radius is the larger of |a| and |b|. The
/// angle is monotone in that of (a, b), so its extremes over a convex set without the centre are at
/// corners.
fn concentric_ranges(lo: Vec2, hi: Vec2, radius: f64) -> (placement::Range, placement::Range) {
    let [a, b] = [(lo.x, hi.x), (lo.y, hi.y)]
        .map(|(lo, hi)| [2.0 * f64::from(lo) - 1.0, 2.0 * f64::from(hi) - 1.0]);
    let max_abs = |[lo, hi]: [f64; 2]| lo.abs().max(hi.abs());
    let min_abs = |range: [f64; 2]| {
        if range[0] <= 0.0 && range[1] >= 0.0 { 0.0 } else { range[0].abs().min(range[1].abs()) }
    };
    let r = [min_abs(a).max(min_abs(b)) * radius, max_abs(a).max(max_abs(b)) * radius];
    let full_turn = (r, [0.0, std::f64::consts::TAU]);
    if a[0] < 0.0 && a[1] > 0.0 && b[0] < 0.0 && b[1] > 0.0 {
        return full_turn;
    }
    let angle = |u: Vec2| {
        let d = uniform_disk(u).as_dvec2();
        (d != glam::DVec2::ZERO).then(|| libm::atan2(d.y, d.x))
    };
    let Some(middle) = angle(0.5 * (lo + hi)) else { return full_turn };
    let corners = [lo, hi, Vec2::new(lo.x, hi.y), Vec2::new(hi.x, lo.y)];
    // Angles relative to the middle, within half a turn.
    let turns = corners
        .into_iter()
        .filter_map(angle)
        .map(|phi| libm::remainder(phi - middle, std::f64::consts::TAU));
    let (min, max) = turns.fold((0.0, 0.0), |(lo, hi): (f64, f64), t| (lo.min(t), hi.max(t)));
    (r, [middle + min, middle + max])
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

    #[test]
    fn errors_name_the_invalid_parameter() {
        let make = |h, r, i, phi| {
            Disk::new(&Transform::IDENTITY, h, r, i, phi).map(|_| ()).map_err(|e| e.to_string())
        };
        assert_eq!(make(1.0, 1.0, 0.5, 360.0), Ok(()));
        assert!(make(1.0, 1.0, 1.0, 360.0).unwrap_err().contains("innerradius"));
        assert!(make(f32::NAN, 1.0, 0.0, 360.0).unwrap_err().contains("height"));
        assert!(make(0.0, -1.0, 0.0, 360.0).unwrap_err().contains("radius"));
        assert!(make(0.0, 1.0, 0.0, f32::NAN).unwrap_err().contains("phimax"));
    }

    #[test]
    fn reported_coordinates_are_on_the_ray() {
        let disk = Disk::new(&placed(), 0.5, 1.5, 0.4, 200.0).unwrap();
        let b = disk.aabb();
        let random = |i: u32, k: u32| 2.0 * unit_float(hash(hash(5, i), k)) - 1.0;
        let mut hits = 0;
        for i in 0..3000 {
            let v = |k| Vec3::new(random(i, k), random(i, k + 1), random(i, k + 2));
            let (o, to) = (b.center() + 20.0 * v(0), b.center() + 2.0 * v(3));
            let ray = Ray::new(o, 0.3 * (to - o));
            let Some(h) = disk.intersect(&ray) else { continue };
            hits += 1;
            let at = disk.point(h.u, h.v);
            // At grazing angles, a small error in t is a small error along the surface.
            assert!(
                (at.p - ray.at(h.t)).length() < 1e-5 * o.length(),
                "{i}: {} {}",
                at.p,
                ray.at(h.t)
            );
            assert!(b.min.cmple(at.p).all() && b.max.cmpge(at.p).all());
            assert!(at.ng.dot(at.dpdu.normalize()).abs() < 1e-5);
        }
        assert!(hits > 100, "{hits}");
    }

    #[test]
    fn coordinates_and_area() {
        let disk = Disk::new(&Transform::IDENTITY, 1.0, 2.0, 1.0, 360.0).unwrap();
        let h = disk.intersect(&Ray::new(Vec3::new(0.0, 1.5, 5.0), -Vec3::Z)).unwrap();
        assert_eq!(h, ShapeHit { t: 4.0, u: 0.25, v: 0.5 });
        assert_eq!(disk.point(h.u, h.v).ng, Vec3::Z);
        assert!((disk.area() - 3.0 * PI).abs() < 1e-5);
        let ellipse = Disk::new(&placed(), 0.0, 1.0, 0.0, 360.0).unwrap();
        assert!((ellipse.area() - PI).abs() < 1e-5, "half axes 2 and 1/2");
        assert_eq!(disk.intersect(&Ray::new(Vec3::new(0.0, 0.5, 5.0), -Vec3::Z)), None, "the hole");
    }

    #[test]
    fn invalid_rays_miss() {
        let disk = Disk::new(&Transform::IDENTITY, 0.0, 1.0, 0.0, 360.0).unwrap();
        for d in [Vec3::ZERO, Vec3::splat(f32::NAN), Vec3::X, Vec3::INFINITY] {
            for o in [Vec3::ZERO, Vec3::Z, Vec3::splat(f32::NAN), Vec3::INFINITY] {
                assert_eq!(disk.intersect(&Ray::new(o, d)), None, "{o} {d}");
            }
        }
    }
}
