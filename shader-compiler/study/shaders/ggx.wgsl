//! Rough metal as it is often written: microfacets of Trowbridge and Reitz (GGX; Walter et al. 2007,
//! *Microfacet models for refraction through rough surfaces*), Smith's height-correlated masking and
//! shadowing (Heitz 2014, *Understanding the masking-shadowing function in microfacet-based BRDFs*),
//! and the Fresnel term of Schlick 1994, *An inexpensive BRDF model for physically-based rendering*:
//!
//!     F(wi·h) D(h) G₂(wi, wo) / (4 cos θi cos θo)
//!
//! In contrast to the library's `conductor`, nothing is rearranged to help bounds: the half vector is
//! normalized, Λ divides by cos², the last line divides by both cosines, and a condition excludes
//! directions below the horizon. It is measured to show what bounds cost for such shaders.

struct Material {
    /// Reflectance at normal incidence. range: [0, 1], default: (0.9, 0.6, 0.3)
    f0: vec3f,
    /// Roughness. range: [0.001, 1], default: 0.3
    alpha: f32,
}

/// Smith's Λ.
fn lambda(w: vec3f, alpha2: f32) -> f32 {
    let cos2 = w.z * w.z;
    return 0.5 * (sqrt(1.0 + alpha2 * (1.0 - cos2) / cos2) - 1.0);
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    if wi.z <= 0.0 || wo.z <= 0.0 {
        return vec3f(0.0);
    }
    let h = normalize(wi + wo);
    let alpha2 = m.alpha * m.alpha;
    let t = 1.0 + (alpha2 - 1.0) * h.z * h.z;
    let d = alpha2 / (3.14159265 * t * t);
    let g = 1.0 / (1.0 + lambda(wi, alpha2) + lambda(wo, alpha2));
    let c = 1.0 - max(dot(wi, h), 0.0);
    let f = m.f0 + (1.0 - m.f0) * (c * c * c * c * c);
    return f * (d * g / (4.0 * wi.z * wo.z));
}
