//! Cylinders and partial cylinders.
//!
//! As in pbrt: a cylinder around the z axis of object space, without caps, between two heights and
//! angles. An affine transform can make its cross section elliptic. Arithmetic is in double
//! precision.

use super::quadric::{self, ObjectTransform};
use super::{ShapeError, ShapeHit, ShapePoint, SurfaceDerivatives};
use glam::DVec3;
use lightbound_math::{Aabb, Ray, Transform, Vec2, Vec3};
use std::f64::consts::PI;

/// A cylinder or partial cylinder, with its own transform.
///
/// Surface coordinates are those of pbrt: u = φ / φmax, v is linear in z from `zmin` to `zmax`.
/// Normals point outwards even if the transform swaps handedness.
#[derive(Clone, Debug)]
pub struct Cylinder {
    object_transform: ObjectTransform,
    radius: f64,
    /// Lower and upper height.
    z: [f64; 2],
    phi_max: f64,
    magnitude: f32,
}

impl Cylinder {
    /// Creates a cylinder of `radius` for heights between `zmin` and `zmax` (in any order) and
    /// angles between 0 and `phimax` degrees.
    ///
    /// # Errors
    /// If `radius` or `phimax` is not positive and finite, a height is not finite, or the heights
    /// are equal.
    pub fn new(
        transform: &Transform,
        radius: f32,
        zmin: f32,
        zmax: f32,
        phimax: f32,
    ) -> Result<Cylinder, ShapeError> {
        const SHAPE: &str = "cylinder";
        let radius = quadric::positive(SHAPE, "radius", radius)?;
        let phi_max = quadric::phi_max(SHAPE, phimax)?;
        for (name, value) in [("zmin", zmin), ("zmax", zmax)] {
            if !value.is_finite() {
                return Err(ShapeError { shape: SHAPE, name, value, expected: "a finite number" });
            }
        }
        if zmin == zmax {
            let expected = "a height that differs from zmin";
            return Err(ShapeError { shape: SHAPE, name: "zmax", value: zmax, expected });
        }
        let z = [zmin.min(zmax), zmin.max(zmax)].map(f64::from);
        let object_transform = ObjectTransform::new(transform);
        let cylinder = Cylinder { object_transform, radius, z, phi_max, magnitude: 0.0 };
        Ok(Cylinder { magnitude: cylinder.aabb().magnitude(), ..cylinder })
    }

    /// Transforms the cylinder. Normals still point outwards.
    pub(super) fn transformed(&self, transform: &Transform) -> Cylinder {
        let object_transform = self.object_transform.followed_by(transform);
        let cylinder = Cylinder { object_transform, ..self.clone() };
        Cylinder { magnitude: cylinder.aabb().magnitude(), ..cylinder }
    }

    /// Returns the bounding box of the full cylinder, whatever its angles.
    pub(super) fn aabb(&self) -> Aabb {
        let r = self.radius;
        self.object_transform.aabb(DVec3::new(-r, -r, self.z[0]), DVec3::new(r, r, self.z[1]), None)
    }

    pub(super) fn intersect(&self, ray: &Ray) -> Option<ShapeHit> {
        let (o, d) = self.object_transform.local_ray(ray);
        let [o2, d2] = [o, d].map(|v| v.with_z(0.0));
        quadric::sphere_hits(o2, d2, self.radius, ray).find_map(|t| {
            let p = o + t * d;
            let phi = quadric::azimuth(p);
            let inside = phi <= self.phi_max && p.z >= self.z[0] && p.z <= self.z[1];
            inside.then(|| {
                ShapeHit::new(
                    t as f32,
                    (phi / self.phi_max) as f32,
                    ((p.z - self.z[0]) / (self.z[1] - self.z[0])) as f32,
                )
            })
        })
    }

    pub(super) fn point(&self, u: f32, v: f32) -> ShapePoint {
        let n = self.local_normal(u);
        let ng = self.object_transform.normal(n);
        let dpdu = self.phi_max * self.radius * DVec3::new(-n.y, n.x, 0.0);
        ShapePoint {
            p: self.object_transform.point(self.local_point(n, v)),
            ng,
            ns: ng,
            uv: Vec2::new(u, v),
            dpdu: self.object_transform.vector(dpdu),
            magnitude: self.magnitude,
            extent: 0.0,
            clearance: 0.0,
        }
    }

    pub(super) fn derivatives(&self, u: f32) -> SurfaceDerivatives {
        let n = self.local_normal(u);
        let by_u = self.phi_max * DVec3::new(-n.y, n.x, 0.0);
        let by_v = DVec3::new(0.0, 0.0, self.z[1] - self.z[0]);
        let transform = &self.object_transform;
        SurfaceDerivatives {
            dpdu: transform.vector(self.radius * by_u),
            dpdv: transform.vector(by_v),
            dndu: transform.normal_derivative(n, by_u),
            dndv: Vec3::ZERO,
        }
    }

    /// Returns the outward unit normal in object space.
    fn local_normal(&self, u: f32) -> DVec3 {
        let (sin, cos) = libm::sincos(f64::from(u) * self.phi_max);
        DVec3::new(cos, sin, 0.0)
    }

    /// Returns the point in object space with normal `n`.
    fn local_point(&self, n: DVec3, v: f32) -> DVec3 {
        (self.radius * n).with_z(self.z[0] + f64::from(v) * (self.z[1] - self.z[0]))
    }

    /// Returns the area: exact for uniform scales, else by the midpoint rule with 256 samples in u.
    pub(super) fn area(&self) -> f32 {
        const N: usize = 256;
        if let Some(scale) = self.object_transform.uniform_scale() {
            return (scale * scale * self.local_area()) as f32;
        }
        let u = |i: usize| (i as f32 + 0.5) / N as f32;
        let jacobian = |i| self.object_transform.jacobian(self.local_normal(u(i)));
        ((0..N).map(jacobian).sum::<f64>() / N as f64 * self.local_area()) as f32
    }

    fn local_area(&self) -> f64 {
        self.phi_max * self.radius * (self.z[1] - self.z[0])
    }

    /// Samples a point uniformly in object space; returns position, outward unit normal and density
    /// per m².
    pub(crate) fn sample_area(&self, u: Vec2) -> (Vec3, Vec3, f32) {
        let n = self.local_normal(u.x);
        let pdf = 1.0 / (self.local_area() * self.object_transform.jacobian(n));
        let p = self.object_transform.point(self.local_point(n, u.y));
        (p, self.object_transform.normal(n), pdf as f32)
    }

    /// Returns bounds on [`Cylinder::sample_area`] for a rectangle of the unit square: a box around
    /// the positions, and vectors with a convex hull that contains positive multiples of the
    /// outward normals.
    pub(crate) fn extent(&self, lo: Vec2, hi: Vec2) -> (Aabb, [DVec3; 4]) {
        let slack = quadric::COORDINATE_SLACK;
        let phi = [f64::from(lo.x) * self.phi_max - slack, f64::from(hi.x) * self.phi_max + slack];
        let [x, y] = quadric::polar_box([1.0, 1.0], phi);
        let height = |v: f32| self.z[0] + f64::from(v) * (self.z[1] - self.z[0]);
        let z_slack = slack * (self.z[1] - self.z[0]);
        let r = self.radius;
        let bounds = self.object_transform.aabb(
            DVec3::new(r * x[0], r * y[0], height(lo.y) - z_slack),
            DVec3::new(r * x[1], r * y[1], height(hi.y) + z_slack),
            None,
        );
        // Below 180°, the normals at both ends span all normals between them.
        let normal = |i: usize| match phi[1] - phi[0] < PI {
            true => {
                let (sin, cos) = libm::sincos(phi[i & 1]);
                DVec3::new(cos, sin, 0.0)
            }
            false => DVec3::new(x[i & 1], y[i >> 1], 0.0),
        };
        (bounds, std::array::from_fn(|i| self.object_transform.normal_vector(normal(i))))
    }

    /// Returns the density per m² of [`Cylinder::sample_area`] at a point with the outward or
    /// inward unit normal `ng`.
    pub(crate) fn area_pdf(&self, ng: Vec3) -> f32 {
        (1.0 / (self.local_area() * self.object_transform.jacobian_at_normal(ng))) as f32
    }

    /// Returns [`ShapePoint::magnitude`].
    pub(crate) fn magnitude(&self) -> f32 {
        self.magnitude
    }
}

#[cfg(test)]
mod tests {
    use super::super::Shape;
    use super::super::testing::{assert_hits_lie_on_rays, skewed};
    use super::*;
    use glam::{DAffine3, dvec3};
    use lightbound_math::Cone;
    use lightbound_math::vec3;
    use std::f32::consts::PI;

    #[test]
    fn invalid_parameters_are_errors() {
        let make = |r, lo, hi, phi| {
            Cylinder::new(&Transform::IDENTITY, r, lo, hi, phi)
                .map(|_| ())
                .map_err(|e| e.to_string())
        };
        assert_eq!(make(1.0, 3.0, -0.5, 720.0), Ok(()));
        assert_eq!(
            make(0.0, 0.0, 1.0, 360.0).unwrap_err(),
            "cylinder: \"radius\" is 0, expected a finite number above 0"
        );
        for (r, lo, hi, phi) in [
            (f32::NAN, -1.0, 1.0, 360.0),
            (1.0, f32::NAN, 1.0, 360.0),
            (1.0, -1.0, f32::INFINITY, 360.0),
            (1.0, 2.0, 2.0, 360.0),
            (1.0, -1.0, 1.0, 0.0),
        ] {
            assert!(make(r, lo, hi, phi).is_err(), "{r} {lo} {hi} {phi}");
        }
    }

    #[test]
    fn hits_lie_on_the_ray() {
        let cylinder = Cylinder::new(&skewed(), 1.5, -1.0, 1.2, 250.0).unwrap();
        let hits = assert_hits_lie_on_rays(&Shape::Cylinder(cylinder), 5000);
        assert!(hits > 300, "{hits}");
    }

    #[test]
    fn hits_have_outward_normals_and_pbrt_coordinates() {
        let c = Cylinder::new(&Transform::IDENTITY, 2.0, 1.0, 5.0, 360.0).unwrap();
        let side = c.intersect(&Ray::new(vec3(0.0, 9.0, 2.0), -Vec3::Y)).unwrap();
        assert_eq!((side.t, side.u, side.v), (7.0, 0.25, 0.25));
        let at = c.point(side.u, side.v);
        assert!((at.ng - Vec3::Y).length() < 1e-6);
        assert!((at.dpdu - vec3(-4.0 * PI, 0.0, 0.0)).length() < 1e-4);
        // There are no caps, and rays along the axis miss.
        assert_eq!(c.intersect(&Ray::new(vec3(0.5, 0.0, 9.0), -Vec3::Z)), None);
        assert_eq!(c.intersect(&Ray::new(vec3(0.0, 9.0, 0.5), -Vec3::Y)), None);
        let inside = Ray::new(vec3(1.0, 0.0, 3.0), Vec3::X);
        assert_eq!(c.intersect(&inside).unwrap().t, 1.0);
        assert_eq!(c.intersect(&Ray { tmax: 1.0, ..inside }), None);
        // Without the near half, rays hit the far one.
        let half = Cylinder::new(&Transform::IDENTITY, 2.0, 1.0, 5.0, 180.0).unwrap();
        assert_eq!(
            half.intersect(&Ray::new(vec3(0.5, -9.0, 2.0), Vec3::Y)).unwrap().t,
            9.0 + 3.75f32.sqrt()
        );
    }

    #[test]
    fn hits_are_precise_for_far_origins() {
        let c = Cylinder::new(&Transform::IDENTITY, 1.0, -1.0, 1.0, 360.0).unwrap();
        for distance in [1e3f32, 1e6, 1e9] {
            let ray = Ray::new(vec3(0.6, distance, 0.5), vec3(0.0, -distance, 0.0));
            let h = c.intersect(&ray).unwrap();
            assert!((c.point(h.u, h.v).p - vec3(0.6, 0.8, 0.5)).length() < 1e-6, "{distance}");
        }
    }

    #[test]
    fn parts_have_narrow_normals() {
        let c = Cylinder::new(&Transform::IDENTITY, 1.0, -1.0, 2.0, 360.0).unwrap();
        let cone = |lo, hi| {
            let (_, normals) = c.extent(Vec2::new(lo, 0.0), Vec2::new(hi, 1.0));
            Cone::around_hull(normals.into_iter())
        };
        assert!((cone(0.0, 0.25).cos - 0.5f32.sqrt()).abs() < 1e-3);
        assert!((cone(0.3, 0.6).cos - (0.3 * PI).cos()).abs() < 1e-3);
    }

    #[test]
    fn areas_match_closed_forms() {
        let scaled = |x, y, z| {
            let t = Transform::new(DAffine3::from_scale(dvec3(x, y, z))).unwrap();
            Cylinder::new(&t, 1.0, -1.0, 2.0, 360.0).unwrap().area()
        };
        assert!((scaled(3.0, 3.0, 3.0) / (2.0 * PI * 27.0) - 1.0).abs() < 1e-5);
        // The perimeter of an ellipse with half axes 2 and 1 is 9.688448.
        assert!((scaled(2.0, 1.0, 1.0) / (3.0 * 9.688_448) - 1.0).abs() < 1e-5);
    }
}
