//! Disks, annuli and their sectors.
//!
//! As in pbrt: in object space, a disk is orthogonal to z at a given height, between two radii and
//! up to an angle around z. It has an affine transform. Arithmetic is in double precision.

use super::quadric::{self, ObjectTransform};
use super::{ShapeError, ShapeHit, ShapePoint, SurfaceDerivatives};
use glam::DVec3;
use lightbound_math::sampling::warp::uniform_disk;
use lightbound_math::{Aabb, Ray, Transform, Vec2, Vec3};

/// A disk, annulus or sector, with its own transform.
///
/// Surface coordinates are those of pbrt: u = φ / φmax, v is 0 at the rim and 1 at the inner
/// radius. The front is +z.
#[derive(Clone, Debug)]
pub struct Disk {
    object_transform: ObjectTransform,
    height: f64,
    radius: f64,
    inner_radius: f64,
    phi_max: f64,
    magnitude: f32,
}

impl Disk {
    /// Creates the ring between `inner_radius` and `radius` at `height`, between angles 0 and
    /// `phimax` degrees.
    ///
    /// # Errors
    /// If `radius` or `phimax` is not positive and finite, `inner_radius` is not in [0, radius), or
    /// `height` is not finite.
    pub fn new(
        transform: &Transform,
        height: f32,
        radius: f32,
        inner_radius: f32,
        phimax: f32,
    ) -> Result<Disk, ShapeError> {
        let r = quadric::positive("disk", "radius", radius)?;
        let phi_max = quadric::phi_max("disk", phimax)?;
        if !(inner_radius >= 0.0 && inner_radius < radius) {
            let expected = "a number from 0 to less than the radius";
            return Err(ShapeError {
                shape: "disk",
                name: "innerradius",
                value: inner_radius,
                expected,
            });
        }
        if !height.is_finite() {
            return Err(ShapeError {
                shape: "disk",
                name: "height",
                value: height,
                expected: "a finite number",
            });
        }
        let object_transform = ObjectTransform::new(transform);
        let disk = Disk {
            object_transform,
            height: height.into(),
            radius: r,
            inner_radius: inner_radius.into(),
            phi_max,
            magnitude: 0.0,
        };
        Ok(Disk { magnitude: disk.aabb().magnitude(), ..disk })
    }

    /// Transforms the disk. The front stays +z of its object space.
    pub(super) fn transformed(&self, transform: &Transform) -> Disk {
        let object_transform = self.object_transform.followed_by(transform);
        let disk = Disk { object_transform, ..self.clone() };
        Disk { magnitude: disk.aabb().magnitude(), ..disk }
    }

    pub(super) fn aabb(&self) -> Aabb {
        let (r, h) = (self.radius, self.height);
        self.object_transform.aabb(DVec3::new(-r, -r, h), DVec3::new(r, r, h), None)
    }

    pub(super) fn intersect(&self, ray: &Ray) -> Option<ShapeHit> {
        let (o, d) = self.object_transform.local_ray(ray);
        let t = (self.height - o.z) / d.z;
        // For a ray parallel to the disk, t is NaN or infinite and rejected here.
        if !(t as f32 >= ray.tmin && (t as f32) < ray.tmax) {
            return None;
        }
        let p = o + t * d;
        let r = p.truncate().length();
        let phi = quadric::azimuth(p);
        (r >= self.inner_radius && r <= self.radius && phi <= self.phi_max).then(|| {
            ShapeHit::new(
                t as f32,
                (phi / self.phi_max) as f32,
                ((self.radius - r) / (self.radius - self.inner_radius)) as f32,
            )
        })
    }

    pub(super) fn point(&self, u: f32, v: f32) -> ShapePoint {
        let (sin, cos) = libm::sincos(f64::from(u) * self.phi_max);
        let r = self.radius - f64::from(v) * (self.radius - self.inner_radius);
        let p = self.object_transform.point(DVec3::new(r * cos, r * sin, self.height));
        let ng = self.normal();
        let dpdu = self.object_transform.vector(self.phi_max * r * DVec3::new(-sin, cos, 0.0));
        ShapePoint {
            p,
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
        let (sin, cos) = libm::sincos(f64::from(u) * self.phi_max);
        let width = self.radius - self.inner_radius;
        let r = self.radius - f64::from(v) * width;
        let vector = |v: DVec3| self.object_transform.vector(v);
        SurfaceDerivatives {
            dpdu: vector(self.phi_max * r * DVec3::new(-sin, cos, 0.0)),
            dpdv: vector(-width * DVec3::new(cos, sin, 0.0)),
            ..SurfaceDerivatives::default()
        }
    }

    pub(super) fn area(&self) -> f32 {
        let local = 0.5
            * self.phi_max
            * (self.radius * self.radius - self.inner_radius * self.inner_radius);
        (local * self.object_transform.jacobian(DVec3::Z)) as f32
    }

    /// Returns the unit normal of the front.
    pub(crate) fn normal(&self) -> Vec3 {
        self.object_transform.normal(DVec3::Z)
    }

    /// Returns the centre and the vectors to the rim along x and y; `None` for rings and sectors, of
    /// which [`Disk::sample_area`] samples positions.
    pub(crate) fn full_frame(&self) -> Option<[DVec3; 3]> {
        let axis = |v: DVec3| self.object_transform.double_vector(self.radius * v);
        self.is_full().then(|| {
            let center = self.object_transform.double_point(DVec3::new(0.0, 0.0, self.height));
            [center, axis(DVec3::X), axis(DVec3::Y)]
        })
    }

    /// Samples a position of a ring or sector uniformly by area.
    pub(crate) fn sample_area(&self, u: Vec2) -> Vec3 {
        let [inner2, outer2] = [self.inner_radius, self.radius].map(|r| r * r);
        let r = (inner2 + f64::from(u.x) * (outer2 - inner2)).sqrt();
        let (sin, cos) = libm::sincos(f64::from(u.y) * self.phi_max);
        self.object_transform.point(DVec3::new(r * cos, r * sin, self.height))
    }

    /// Returns a bounding box of the sampled positions for a rectangle of the unit square: those of
    /// [`Disk::sample_area`], or of the concentric map on a full disk.
    pub(crate) fn extent(&self, lo: Vec2, hi: Vec2) -> Aabb {
        let (r, phi) = if self.is_full() {
            concentric_ranges(lo, hi, self.radius)
        } else {
            let [inner2, outer2] = [self.inner_radius, self.radius].map(|r| r * r);
            let r =
                [lo.x, hi.x].map(|u| (inner2 + f64::from(u) * (outer2 - inner2)).max(0.0).sqrt());
            (r, [lo.y, hi.y].map(|u| f64::from(u) * self.phi_max))
        };
        let [x, y] = quadric::polar_box(r, phi);
        let slack = DVec3::new(1.0, 1.0, 0.0) * (quadric::COORDINATE_SLACK * self.radius);
        self.object_transform.aabb(
            DVec3::new(x[0], y[0], self.height) - slack,
            DVec3::new(x[1], y[1], self.height) + slack,
            None,
        )
    }

    /// Returns whether the disk has no hole and covers all angles.
    fn is_full(&self) -> bool {
        self.inner_radius == 0.0 && self.phi_max >= std::f64::consts::TAU
    }

    /// Returns [`ShapePoint::magnitude`].
    pub(crate) fn magnitude(&self) -> f32 {
        self.magnitude
    }
}

/// Returns the ranges of radius and angle onto which [`uniform_disk`], scaled by `radius`, maps a
/// rectangle of the unit square.
///
/// With the square's coordinates a and b in [−1, 1], the radius is the larger of |a| and |b|. The
/// angle increases with the angle of (a, b), so its extremes over a convex set without the centre
/// are at corners.
fn concentric_ranges(lo: Vec2, hi: Vec2, radius: f64) -> (quadric::Range, quadric::Range) {
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
    // Angles relative to the middle, in [−π, π].
    let offsets = corners
        .into_iter()
        .filter_map(angle)
        .map(|phi| libm::remainder(phi - middle, std::f64::consts::TAU));
    let (min, max) = offsets.fold((0.0, 0.0), |(lo, hi): (f64, f64), t| (lo.min(t), hi.max(t)));
    (r, [middle + min, middle + max])
}

#[cfg(test)]
mod tests {
    use super::super::Shape;
    use super::super::testing::{assert_hits_lie_on_rays, skewed};
    use super::*;
    use std::f32::consts::PI;

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
    fn hits_lie_on_the_ray() {
        let disk = Disk::new(&skewed(), 0.5, 1.5, 0.4, 200.0).unwrap();
        let hits = assert_hits_lie_on_rays(&Shape::Disk(disk), 3000);
        assert!(hits > 100, "{hits}");
    }

    #[test]
    fn coordinates_and_areas_match_closed_forms() {
        let disk = Disk::new(&Transform::IDENTITY, 1.0, 2.0, 1.0, 360.0).unwrap();
        let h = disk.intersect(&Ray::new(Vec3::new(0.0, 1.5, 5.0), -Vec3::Z)).unwrap();
        assert_eq!(h, ShapeHit::new(4.0, 0.25, 0.5));
        assert_eq!(disk.point(h.u, h.v).ng, Vec3::Z);
        assert!((disk.area() - 3.0 * PI).abs() < 1e-5);
        let ellipse = Disk::new(&skewed(), 0.0, 1.0, 0.0, 360.0).unwrap();
        assert!((ellipse.area() - PI).abs() < 1e-5, "area of an ellipse with half axes 2 and 1/2");
        assert_eq!(
            disk.intersect(&Ray::new(Vec3::new(0.0, 0.5, 5.0), -Vec3::Z)),
            None,
            "ray through the hole"
        );
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
