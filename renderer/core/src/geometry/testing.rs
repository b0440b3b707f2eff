//! Helpers for tests of shapes.

use super::Shape;
use glam::{DAffine3, DQuat, dvec3};
use lightbound_math::sampling::{hash, unit_float};
use lightbound_math::{Ray, Transform, Vec3};

/// Returns a transform that rotates, translates, scales nonuniformly and swaps handedness.
pub fn skewed() -> Transform {
    let scale = DAffine3::from_scale(dvec3(2.0, 0.5, -1.0));
    Transform::new(
        DAffine3::from_rotation_translation(DQuat::from_rotation_x(0.7), dvec3(3.0, -2.0, 5.0))
            * scale,
    )
    .unwrap()
}

/// Traces `n` random rays against the first element, and asserts that hits lie on their ray and in
/// the bounding box. Returns the number of hits.
pub fn assert_hits_lie_on_rays(shape: &Shape, n: u32) -> u32 {
    let random = |i: u32, k: u32| 2.0 * unit_float(hash(hash(11, i), k)) - 1.0;
    let b = shape.aabb(0);
    let mut hits = 0;
    for i in 0..n {
        let v = |k| Vec3::new(random(i, k), random(i, k + 1), random(i, k + 2));
        let (o, target) = (b.center() + 20.0 * v(0), b.center() + 2.0 * v(3));
        let ray = Ray::new(o, 0.3 * (target - o));
        let Some(h) = shape.intersect(0, &ray) else { continue };
        hits += 1;
        let at = shape.point(0, h.coordinates(), ray.d, ray.time);
        // At grazing angles, a small error in t is a small error along the surface.
        assert!(
            (at.p - ray.at(h.t)).length() < 1e-5 * o.length(),
            "ray {i}: {} is not on the ray at {}",
            at.p,
            ray.at(h.t)
        );
        assert!(b.min.cmple(at.p).all() && b.max.cmpge(at.p).all());
        assert!(at.ng.dot(at.dpdu.normalize()).abs() < 1e-5);
        let second = shape.intersect(0, &Ray { tmin: h.t.next_up(), ..ray });
        assert!(second.is_none_or(|x| x.t > h.t));
    }
    hits
}
