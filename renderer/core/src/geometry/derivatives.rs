//! Derivatives of positions and normals with respect to texture coordinates.
//!
//! Bump maps and texture filters need them at few hits, so they are computed apart from the
//! [surface interaction](super::Surface). Conventions follow pbrt-v4, with one exception: ∂p/∂v is
//! that of the texture coordinates. pbrt-v4 replaces it for meshes with normals, by a vector as long
//! as ∂p/∂u.

use super::{Geometry, Hit, Shape};
use lightbound_math::{Vec2, Vec3};

/// Derivatives of a surface with respect to its texture coordinates u and v; zero if undefined.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SurfaceDerivatives {
    /// ∂p/∂u.
    pub dpdu: Vec3,
    /// ∂p/∂v.
    pub dpdv: Vec3,
    /// ∂n/∂u of the unit shading normal.
    pub dndu: Vec3,
    /// ∂n/∂v of the unit shading normal.
    pub dndv: Vec3,
}

impl SurfaceDerivatives {
    /// Converts derivatives with respect to surface coordinates by the chain rule. `du` and `dv`
    /// are the derivatives of the texture coordinates.
    pub(super) fn chain(&self, du: Vec2, dv: Vec2) -> SurfaceDerivatives {
        let det = du.perp_dot(dv);
        let along = |by_u: Vec3, by_v: Vec3| {
            [(by_u * dv.y - by_v * du.y) / det, (by_v * du.x - by_u * dv.x) / det]
        };
        let ([dpdu, dpdv], [dndu, dndv]) =
            (along(self.dpdu, self.dpdv), along(self.dndu, self.dndv));
        SurfaceDerivatives { dpdu, dpdv, dndu, dndv }.finite_or_zero()
    }

    fn finite_or_zero(self) -> SurfaceDerivatives {
        let SurfaceDerivatives { dpdu, dpdv, dndu, dndv } = self;
        let is_finite = [dpdu, dpdv, dndu, dndv].iter().all(|v| v.is_finite());
        if is_finite { self } else { SurfaceDerivatives::default() }
    }

    /// Applies functions to the derivatives of the position and of the normal.
    fn map(self, p: impl Fn(Vec3) -> Vec3, n: impl Fn(Vec3) -> Vec3) -> SurfaceDerivatives {
        let SurfaceDerivatives { dpdu, dpdv, dndu, dndv } = self;
        SurfaceDerivatives { dpdu: p(dpdu), dpdv: p(dpdv), dndu: n(dndu), dndv: n(dndv) }
    }
}

/// Returns the derivative of n/|n|, given `n` and its derivative; zero if undefined.
pub(super) fn unit_derivative(n: Vec3, dn: Vec3) -> Vec3 {
    let scale = 1.0 / n.length();
    let unit = n * scale;
    let derivative = (dn - unit * unit.dot(dn)) * scale;
    if derivative.is_finite() { derivative } else { Vec3::ZERO }
}

impl Shape {
    /// Returns the derivatives at surface coordinates (u, v, w), for the normals of
    /// [`Shape::point`] and a ray of direction `d` at `time`, seconds.
    fn derivatives(
        &self,
        element: u32,
        coordinates: [f32; 3],
        d: Vec3,
        time: f32,
    ) -> SurfaceDerivatives {
        let [u, v, _] = coordinates;
        match self {
            Shape::Mesh(m) => m.derivatives(element, u, v, time),
            Shape::Bilinear(b) => b.derivatives(element, u, v, time),
            Shape::Sphere(s) => s.derivatives(u, v),
            Shape::Disk(d) => d.derivatives(u, v),
            Shape::Cylinder(c) => c.derivatives(u),
            Shape::Implicit(i) => i.derivatives(element, coordinates.into(), d),
            Shape::Displaced(d) => d.derivatives(element, coordinates[2]),
            // As in pbrt-v4, the normals of curves have no derivatives.
            Shape::Curves(c) => {
                let [p0, p, p1] = [0.0, v, 1.0].map(|v| c.point(element, u, v, d));
                let (dpdu, dpdv) = (p.dpdu, p1.p - p0.p);
                SurfaceDerivatives { dpdu, dpdv, ..SurfaceDerivatives::default() }
            }
        }
    }
}

impl Geometry {
    /// Returns the derivatives in render space at a hit, which must not be a miss, of a ray of
    /// direction `d`.
    pub fn derivatives(&self, hit: &Hit, d: Vec3) -> SurfaceDerivatives {
        let primitive = &self.primitives[hit.primitive as usize];
        let (sign, shape) = (primitive.normal_sign(), &primitive.shape);
        if hit.instance == Hit::NONE {
            let derivatives = shape.derivatives(hit.element, hit.coordinates(), d, hit.time);
            return derivatives.map(|dp| dp, |dn| sign * dn);
        }
        let t = self.instance_transform(hit.instance, hit.time);
        let d = t.inverse().vector(d);
        let derivatives = shape.derivatives(hit.element, hit.coordinates(), d, hit.time);
        let n = t.normal(shape.point(hit.element, hit.coordinates(), d, hit.time).ns);
        derivatives
            .map(|dp| t.vector(dp), |dn| sign * unit_derivative(n, t.normal(dn)))
            .finite_or_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BilinearMesh, Cylinder, Disk, Instance, Mesh, Primitive, Sphere, Surface};
    use super::*;
    use glam::{DAffine3, DQuat, dvec3};
    use lightbound_math::sampling::testing::points;
    use lightbound_math::{Transform, vec2, vec3};

    fn transform() -> Transform {
        let rotated = DAffine3::from_quat(DQuat::from_rotation_x(0.7));
        Transform::new(rotated * DAffine3::from_scale(dvec3(-1.5, 1.0, 0.8))).unwrap()
    }

    /// Returns shapes of all types, with and without vertex normals and texture coordinates.
    fn shapes() -> Vec<Shape> {
        let t = transform();
        let p = vec![vec3(0.0, 0.0, 0.0), vec3(2.0, 0.1, 0.0), vec3(0.2, 1.5, 0.3)];
        let corners = [p.clone(), vec![vec3(1.7, 1.4, -0.4)]].concat();
        let n = vec![vec3(0.1, 0.3, 1.0), vec3(-0.2, 0.1, 1.0), vec3(0.0, -0.4, 1.0)];
        let corner_n = [n.clone(), vec![vec3(0.3, 0.2, 1.0)]].concat();
        let uv = vec![vec2(0.1, 0.9), vec2(0.7, 0.8), vec2(0.3, 0.2)];
        let corner_uv = [uv.clone(), vec![vec2(0.9, 0.1)]].concat();
        let mesh = |n: &[Vec3], uv: &[Vec2]| {
            Mesh::new(p.clone(), vec![[0, 1, 2]], n.into(), uv.into()).unwrap()
        };
        let patch = |n: &[Vec3], uv: &[Vec2]| {
            let patch = BilinearMesh::new(corners.clone(), vec![[0, 1, 2, 3]], n.into(), uv.into());
            patch.unwrap()
        };
        vec![
            Shape::Mesh(mesh(&n, &uv)),
            Shape::Mesh(mesh(&[], &[])),
            Shape::Mesh(mesh(&n, &uv).transformed(&t).unwrap()),
            Shape::Bilinear(patch(&corner_n, &corner_uv)),
            Shape::Bilinear(patch(&[], &corner_uv)),
            Shape::Bilinear(patch(&[], &[]).transformed(&t).unwrap()),
            Shape::Sphere(Sphere::full(&t, 1.3).unwrap()),
            Shape::Disk(Disk::new(&t, 0.4, 1.2, 0.3, 300.0).unwrap()),
            Shape::Cylinder(Cylinder::new(&t, 0.9, -0.5, 1.0, 200.0).unwrap()),
        ]
    }

    #[test]
    fn derivatives_match_finite_differences() {
        let shapes = shapes();
        let count = shapes.len() as u32;
        let primitives = shapes.into_iter().zip(0..).map(|(shape, i)| Primitive {
            shape,
            material: 0,
            first_light: None,
            alpha: None,
            flip: i % 2 == 0,
            media: None,
        });
        let primitives: Vec<_> = primitives.collect();
        let (transform, motion) = (transform(), None);
        let instances = vec![Instance { group: 0, transform, first_light: 0, motion }];
        let geometry = Geometry { primitives, instances, ..Geometry::default() };
        for (primitive, instance) in (0..count).flat_map(|p| [(p, Hit::NONE), (p, 0)]) {
            for at in points(20, primitive) {
                let (u, v) = (0.05 + 0.4 * at.x, 0.05 + 0.4 * at.y);
                let hit = |u: f32, v: f32| Hit {
                    t: 1.0,
                    u,
                    v,
                    w: 0.0,
                    primitive,
                    element: 0,
                    instance,
                    time: 0.0,
                };
                let surface = |u, v| geometry.surface(&hit(u, v), -Vec3::Z);
                let derivatives = geometry.derivatives(&hit(u, v), -Vec3::Z);
                const STEP: f32 = 2e-3;
                // Along each surface coordinate: differences of positions, normals and texture
                // coordinates.
                let centred = |value: &dyn Fn(&Surface) -> Vec3| {
                    let difference =
                        |a: Surface, b: Surface| (value(&a) - value(&b)) / (2.0 * STEP);
                    [
                        difference(surface(u + STEP, v), surface(u - STEP, v)),
                        difference(surface(u, v + STEP), surface(u, v - STEP)),
                    ]
                };
                let uvs = centred(&|s| s.uv.extend(0.0));
                let expected = |by_u: Vec3, by_v: Vec3| uvs.map(|uv| by_u * uv.x + by_v * uv.y);
                let SurfaceDerivatives { dpdu, dpdv, dndu, dndv } = derivatives;
                for (name, found, expected) in [
                    ("p", centred(&|s| s.p), expected(dpdu, dpdv)),
                    ("n", centred(&|s| s.frame.n), expected(dndu, dndv)),
                ] {
                    for (a, b) in found.into_iter().zip(expected) {
                        let limit = 2e-3 * (1.0 + b.length());
                        assert!(
                            (a - b).length() < limit,
                            "{name} of {primitive} in {instance}: {a} {b}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn undefined_derivatives_are_zero() {
        let p = vec![Vec3::ZERO, Vec3::X, Vec3::Y];
        let same = Mesh::new(p, vec![[0, 1, 2]], vec![], vec![vec2(0.5, 0.5); 3]).unwrap();
        let derivatives = Shape::Mesh(same).derivatives(0, [0.3, 0.3, 0.0], -Vec3::Z, 0.0);
        assert_eq!(derivatives, SurfaceDerivatives::default());
        let sphere = Shape::Sphere(Sphere::full(&Transform::IDENTITY, 1.0).unwrap());
        let pole = sphere.derivatives(0, [0.5, 1.0, 0.0], -Vec3::Z, 0.0);
        assert!(
            pole.dpdu.length() < 1e-6 && (pole.dpdv.length() - std::f32::consts::PI).abs() < 1e-5
        );
    }
}
