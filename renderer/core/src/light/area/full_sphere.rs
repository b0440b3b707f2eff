//! Sampling of full spheres by the cone of directions that they subtend.

use super::EmitterSample;
use lightbound_math::sampling::warp::{one_minus_cos, uniform_cone, uniform_cone_pdf};
use lightbound_math::{Frame, Vec2, Vec3};

/// A full sphere in render space.
#[derive(Clone, Copy, Debug)]
pub(super) struct FullSphere {
    pub center: Vec3,
    pub radius: f32,
}

impl FullSphere {
    /// Returns the centre, and 1 − cos of the half angle of the cone that the sphere subtends at
    /// `from`; `None` if `from` is inside the sphere or too close to it.
    pub fn cone(&self, from: Vec3, offset: f32) -> Option<(Vec3, f32)> {
        let d2 = from.distance_squared(self.center);
        let min_distance = self.radius * (1.0 + 1e-4) + 2.0 * offset;
        (d2 > min_distance * min_distance)
            .then(|| (self.center, one_minus_cos(self.radius * self.radius / d2)))
    }

    /// Samples a direction in the cone with half angle θ that the sphere subtends, given 1 − cos θ.
    /// The sampled point is the ray's first intersection with the sphere.
    pub fn sample_cone(&self, from: Vec3, one_minus_cos: f32, u: Vec2) -> EmitterSample {
        let to_center = self.center - from;
        let d = to_center.length();
        let local = uniform_cone(u, one_minus_cos);
        let wi = Frame::from_normal(to_center / d).to_world(local);
        let sin2 = local.x * local.x + local.y * local.y;
        let t = d * local.z - (self.radius * self.radius - d * d * sin2).max(0.0).sqrt();
        let n = (from + t * wi - self.center).normalize();
        EmitterSample {
            p: self.center + self.radius * n,
            n,
            wi,
            pdf: uniform_cone_pdf(one_minus_cos),
        }
    }
}
