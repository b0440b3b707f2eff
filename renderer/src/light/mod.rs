//! Lights, and how to pick one.

use crate::math::{Vec2, Vec3};

/// Light arriving at a point, drawn by [`Light::sample_li`].
#[derive(Clone, Copy, Debug)]
pub struct LightSample {
    /// Unit direction to the light.
    pub wi: Vec3,
    /// Where the shadow ray ends (already moved off the light's own surface); `None` for lights at infinity.
    pub target: Option<Vec3>,
    /// Incident radiance along −wi, W·sr⁻¹·m⁻²; for delta lights the irradiance on a surface facing the light, W·m⁻².
    pub radiance: Vec3,
    /// Density per steradian; 1 for delta lights.
    pub pdf: f32,
    /// Whether no direction sampler can hit the light.
    pub delta: bool,
}

/// A source of light.
pub trait Light {
    /// Draws light that arrives at `p` (unoccluded). `None` where none arrives.
    fn sample_li(&self, p: Vec3, u: Vec2) -> Option<LightSample>;

    /// Emitted power, luminance-weighted; the scale of its pick probability. Relative errors here cost noise, never bias.
    fn power(&self) -> f32;
}
