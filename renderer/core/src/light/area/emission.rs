//! Emission of area lights towards a shading point.

use glam::BVec3;
use lightbound_math::Vec3;

/// Minimum distance between the end of a shadow ray and a light's surface, relative to the largest
/// coordinate of the ray's origin: 4 ulps of 1.
pub(crate) const FAR_OFFSET_ULPS: f32 = 4.0 * f32::EPSILON;

/// A sampled point of an area light: position, unit normal of the front, and unit direction and
/// density per steradian from the shading point.
pub(in crate::light) struct EmitterSample {
    pub p: Vec3,
    pub n: Vec3,
    pub wi: Vec3,
    pub pdf: f32,
}

impl EmitterSample {
    /// Creates the sample of a position with its normal and density per m², as seen from `from`.
    /// The density per steradian may be 0, infinite or NaN if the light is edge-on, too near or too
    /// far.
    #[inline(always)]
    pub fn seen_from(from: Vec3, (p, n, area_pdf): (Vec3, Vec3, f32)) -> EmitterSample {
        let d = p - from;
        let distance2 = d.length_squared();
        let wi = d * (1.0 / distance2.sqrt());
        EmitterSample { p, n, wi, pdf: area_pdf * distance2 / n.dot(wi).abs() }
    }
}

/// Emission of an area light.
pub(in crate::light) struct SurfaceEmission {
    /// Radiance, W·sr⁻¹·m⁻².
    pub le: Vec3,
    /// Minimum distance between the surface and the end of shadow rays from nearby.
    pub offset: f32,
    /// −1 if the back emits, else 1.
    pub side: f32,
    /// Whether both sides emit.
    pub two_sided: bool,
}

impl SurfaceEmission {
    /// Returns the radiance of a sample at `from`, and the endpoint of the shadow ray. The radiance
    /// is 0 if the point does not emit towards `from`, or if the density is not positive and
    /// finite.
    #[inline(always)]
    pub fn incident(
        &self,
        from: Vec3,
        &EmitterSample { p, n, wi, pdf }: &EmitterSample,
    ) -> (Vec3, Vec3) {
        let cosine = n.dot(wi);
        let emits = (self.two_sided | (self.side * cosine < 0.0)) & (pdf > 0.0) & pdf.is_finite();
        // The rounding error of the ray's direction is relative to its origin, even for small
        // lights.
        let offset = self.offset + FAR_OFFSET_ULPS * from.abs().max_element();
        (Vec3::select(BVec3::splat(emits), self.le, Vec3::ZERO), p + n * offset.copysign(-cosine))
    }
}
