//! The Trowbridge–Reitz (GGX) distribution of microfacet normals, anisotropic, with Smith's masking and shadowing.
//!
//! The microsurface is a stretched ellipsoid, so most quantities are those of the stretched direction: σ(w) = √(αx²x² + αy²y² + z²)
//! is its length, and Smith's G₁(w) = 2z / (z + σ(w)). Masking and shadowing are height-correlated, G₂ = 1 / (1 + Λ(wi) + Λ(wo))
//! (Heitz 2014, *Understanding the Masking-Shadowing Function in Microfacet-Based BRDFs*), on both sides of the surface, as in
//! pbrt-v4. Written with σ no formula divides by a cosine. Normals are drawn from those visible from `wo` (Heitz 2018) by
//! spherical caps (Dupuy & Benyoub 2023, *Sampling Visible GGX Normals with Spherical Caps*).
//!
//! All functions want `wo` and the facet normal `m` in the upper hemisphere; the sign of `wi.z` does not matter.

use crate::math::{Vec2, Vec3, vec3};
use crate::sampling::warp;
use std::f32::consts::FRAC_1_PI;

/// The distribution, given by the roughness along x and y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrowbridgeReitz {
    alpha: Vec2,
}

/// Below this roughness a lobe is treated as a delta function; the value is pbrt-v4's.
const SMOOTH: f32 = 1e-3;
/// The least roughness of one axis where the other is rough; the value is pbrt-v4's.
const MIN_ALPHA: f32 = 1e-4;
/// Keeps squares finite; a surface this rough is as good as any rougher one.
const MAX_ALPHA: f32 = 1e3;

impl TrowbridgeReitz {
    /// The distribution with roughness `alpha` along x and y; limited to [10⁻⁴, 10³], the lower bound where it is NaN.
    pub fn new(alpha: Vec2) -> TrowbridgeReitz {
        TrowbridgeReitz { alpha: alpha.max(Vec2::splat(MIN_ALPHA)).min(Vec2::splat(MAX_ALPHA)) }
    }

    /// Whether the surface is as good as a mirror: both roughnesses below 10⁻³.
    #[inline]
    pub fn is_smooth(&self) -> bool {
        self.alpha.max_element() < SMOOTH
    }

    /// Density D(m) of facet normals: facet area per surface area and steradian.
    #[inline]
    pub fn d(&self, m: Vec3) -> f32 {
        let (x, y) = (m.x / self.alpha.x, m.y / self.alpha.y);
        let e = x * x + y * y + m.z * m.z;
        FRAC_1_PI / (self.alpha.x * self.alpha.y * e * e)
    }

    /// σ(w), the length of `w` after stretching.
    #[inline]
    fn sigma(&self, w: Vec3) -> f32 {
        let (x, y) = (self.alpha.x * w.x, self.alpha.y * w.y);
        (x * x + y * y + w.z * w.z).sqrt()
    }

    /// Masking and shadowing over the cosines: G₂(wi, wo) / (cosθᵢ cosθₒ).
    #[inline]
    pub fn g2_over_cosines(&self, wi: Vec3, wo: Vec3) -> f32 {
        2.0 / (self.sigma(wi) * wo.z + self.sigma(wo) * wi.z.abs())
    }

    /// G₂(wi, wo) / G₁(wo), in [0, 1]: what remains of a sample's weight besides the Fresnel term.
    #[inline]
    pub fn g2_over_g1(&self, wi: Vec3, wo: Vec3) -> f32 {
        let (sigma_o, cos_i) = (self.sigma(wo), wi.z.abs());
        cos_i * (wo.z + sigma_o) / (self.sigma(wi) * wo.z + sigma_o * cos_i)
    }

    /// Density of normals visible from `wo` over `wo·m`: G₁(wo) D(m) / cosθₒ, per steradian of facet normals.
    #[inline]
    pub fn visible_d_over_dot(&self, m: Vec3, wo: Vec3) -> f32 {
        2.0 * self.d(m) / (wo.z + self.sigma(wo))
    }

    /// Draws a normal visible from `wo`, with density `wo·m` × [`TrowbridgeReitz::visible_d_over_dot`].
    ///
    /// In the stretched space the visible half of the unit sphere, seen as normals, is the cap around `wo` halved towards `wo`:
    /// a uniform point c of the cap z > −wo.z, plus `wo`, has the direction sought.
    #[inline]
    pub fn sample(&self, wo: Vec3, u: Vec2) -> Vec3 {
        let w = vec3(self.alpha.x * wo.x, self.alpha.y * wo.y, wo.z).normalize_or(Vec3::Z);
        let h = w + warp::uniform_cone(u, 1.0 + w.z);
        vec3(self.alpha.x * h.x, self.alpha.y * h.y, h.z.max(0.0)).normalize_or(Vec3::Z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::chi_square::chi_square_sphere;

    const ALPHAS: [Vec2; 4] = [Vec2::new(0.05, 0.05), Vec2::new(0.1, 0.5), Vec2::new(0.7, 0.7), Vec2::new(1.5, 0.6)];

    fn direction(degrees: f32, azimuth: f32) -> Vec3 {
        let ((s, c), (sp, cp)) = (degrees.to_radians().sin_cos(), azimuth.to_radians().sin_cos());
        vec3(s * cp, s * sp, c)
    }

    #[test]
    fn from_above_every_facet_is_visible() {
        // So there the density of visible normals is D(m) cosθ; the χ² test below shows that it integrates to 1.
        for alpha in ALPHAS {
            let d = TrowbridgeReitz::new(alpha);
            let m = direction(20.0, 50.0);
            assert!((d.visible_d_over_dot(m, Vec3::Z) - d.d(m)).abs() < 1e-4 * d.d(m));
        }
    }

    #[test]
    fn masking_and_shadowing_agree_with_their_definitions() {
        let lambda = |alpha: Vec2, w: Vec3| {
            let tan2 = ((alpha.x * w.x).powi(2) + (alpha.y * w.y).powi(2)) / (w.z * w.z);
            0.5 * ((1.0 + tan2).sqrt() - 1.0)
        };
        for alpha in ALPHAS {
            let d = TrowbridgeReitz::new(alpha);
            let (wi, wo) = (direction(70.0, 200.0), direction(40.0, 30.0));
            let (li, lo) = (lambda(alpha, wi), lambda(alpha, wo));
            let g1 = wo.z * d.visible_d_over_dot(Vec3::Z, wo) / d.d(Vec3::Z);
            assert!((g1 - 1.0 / (1.0 + lo)).abs() < 1e-6);
            assert!((d.g2_over_cosines(wi, wo) * wi.z * wo.z - 1.0 / (1.0 + li + lo)).abs() < 1e-5);
            assert!((d.g2_over_g1(wi, wo) - (1.0 + lo) / (1.0 + li + lo)).abs() < 1e-6);
        }
    }

    #[test]
    fn visible_normals_follow_their_density() {
        let angles = [0.0, 30.0, 60.0, 85.0];
        for alpha in ALPHAS {
            let d = TrowbridgeReitz::new(alpha);
            for angle in angles {
                let wo = direction(angle, 25.0);
                let pdf = |m: Vec3| if m.z > 0.0 { wo.dot(m).max(0.0) * d.visible_d_over_dot(m, wo) } else { 0.0 };
                let sample = |u: [f32; 3]| Some(d.sample(wo, Vec2::new(u[0], u[1]))).filter(|m| wo.dot(*m) > 0.0);
                let name = format!("visible normals, α {alpha}, {angle}°");
                chi_square_sphere(&name, 20_000, sample, pdf, ALPHAS.len() * angles.len());
            }
        }
    }

    #[test]
    fn extremes_are_finite() {
        for alpha in [0.0, 1e-3, 1.0, f32::INFINITY, f32::NAN] {
            let d = TrowbridgeReitz::new(Vec2::new(alpha, 0.5));
            for wo in [Vec3::Z, Vec3::X, Vec3::Y, vec3(1.0, 0.0, 1e-8)] {
                for u in [0.0, 0.5, 1.0 - f32::EPSILON / 2.0] {
                    for v in [0.0, 1e-7, 1.0 - f32::EPSILON / 2.0] {
                        let m = d.sample(wo, Vec2::new(u, v));
                        assert!((m.length() - 1.0).abs() < 1e-5 && m.z >= 0.0, "{alpha} {wo} {u} {v}: {m}");
                        assert!(d.d(m).is_finite());
                    }
                }
            }
        }
    }
}
