//! Rough metal: Trowbridge–Reitz (GGX) microfacets with Fresnel reflectance for a complex index of
//! refraction.
//!
//!     F(wo·h) D(h) G₂(wi, wo) / (4 cos θi cos θo)
//!
//! after Torrance and Sparrow 1967, *Theory for off-specular reflection from roughened surfaces*,
//! and Walter et al. 2007, *Microfacet models for refraction through rough surfaces*, with the unit
//! half vector h and
//!
//! - D = 1/(π αx αy ((h·x/αx)² + (h·y/αy)² + (h·z)²)²);
//! - G₂ = 1/(1 + Λ(wi) + Λ(wo)), Smith's height-correlated masking and shadowing (Heitz 2014,
//!   *Understanding the masking-shadowing function in microfacet-based BRDFs*). With
//!   σ(w) = √(αx²w.x² + αy²w.y² + w.z²) and Λ(w) = (σ(w)/cos θ − 1)/2,
//!   G₂/(cos θi cos θo) = 2/(σ(wi) cos θo + σ(wo) cos θi), without a division by a cosine;
//! - F for unpolarised light and the index η − i k of each colour, plus an excess e (1 − (1 −
//!   cos)²). The excess makes up for what the index of a colour cannot reproduce: the mean over
//!   wavelengths. With coefficients fitted to a metal, F is within 0.003 of spectral integration.
//!   The red of gold then exceeds 1 near normal incidence, because gold is outside the gamut of
//!   sRGB.
//!
//! Equals pbrt-v4's `conductor`. Normals visible from wo are sampled (Heitz 2018) as spherical caps
//! (Dupuy and Benyoub 2023, *Sampling visible GGX normals with spherical caps*). Reciprocal; the
//! albedo is at most 1 without an excess. Light that would scatter between facets is lost; rougher
//! metals lose more. Unbounded where both wi and wo approach grazing angles.

const INV_TWO_PI = 0.15915494309189535;

/// Nothing is reflected at smaller cosines.
const MIN_COSINE = 1e-9;

struct Material {
    /// Index of refraction.
    /// range: [0.0001, 10000], default: (0.10511414, 0.9779329, 1.2046659)
    eta: vec3f,
    /// Extinction coefficient. range: [0, 10000], default: (3.2734907, 2.5925198, 2.369188)
    k: vec3f,
    /// Roughness along x. range: [0.0001, 1000], default: 0.1
    alpha_x: f32,
    /// Roughness along y. range: [0.0001, 1000], default: 0.1
    alpha_y: f32,
    /// Reflectance at normal incidence beyond that of the index. range: [-1, 1], default: 0
    excess: vec3f,
}

/// σ(w), the length of w after stretching.
fn sigma(w: vec3f, m: Material) -> f32 {
    let x = m.alpha_x * w.x;
    let y = m.alpha_y * w.y;
    return sqrt(x * x + y * y + w.z * w.z);
}

/// D/2 for a half vector of any length with square h2. A common denominator saves a division.
fn half_density(h: vec3f, h2: f32, m: Material) -> f32 {
    let alpha = m.alpha_x * m.alpha_y;
    let x = h.x * m.alpha_y;
    let y = h.y * m.alpha_x;
    let z = h.z * alpha;
    let ratio = alpha * h2 / (x * x + y * y + z * z);
    return INV_TWO_PI * alpha * (ratio * ratio);
}

/// F for a squared cosine, at least 0.
///
/// With t = η² − k² − sin²θ, p = √(t² + 4η²k²) and 2a² = p + t for each colour, the perpendicular
/// reflectance is (s − c)/(s + c), where s = p + cos²θ and c = 2a cos θ. The parallel reflectance
/// is the perpendicular one times (S − C)/(S + C), where S = p cos²θ + sin⁴θ and C = c sin²θ (Born
/// and Wolf, *Principles of optics*). Their mean is (s − c) S/((s + c)(S + C)).
fn fresnel(cos2: f32, m: Material) -> vec3f {
    let sin2 = 1.0 - cos2;
    let eta2 = m.eta * m.eta;
    let k2 = m.k * m.k;
    let t = eta2 - k2 - sin2;
    let p = sqrt(t * t + 4.0 * eta2 * k2);
    let c = sqrt(2.0 * cos2 * max(p + t, vec3f()));
    let s = p + cos2;
    let parallel = cos2 * p + sin2 * sin2;
    let index = (s - c) * parallel / ((s + c) * (parallel + sin2 * c));
    let grazing = 1.0 - sqrt(cos2);
    return max(index + m.excess * (1.0 - grazing * grazing), vec3f());
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let h = wi + wo;
    let h2 = dot(h, h);
    // cos² of half the angle between wi and wo, clamped away from 0 so that F is not 0/0 for η = 1
    // and k = 0.
    let f = fresnel(clamp(0.25 * h2, 1e-12, 1.0), m);
    let lobe = half_density(h, h2, m) / (sigma(wi, m) * wo.z + sigma(wo, m) * wi.z);
    return f * select(0.0, lobe, min(wi.z, wo.z) > MIN_COSINE);
}

/// Samples a normal visible from wo, of any length. In the stretched space, where facets form a
/// sphere, it lies halfway between wo and a uniform point on the cap z > −wo.z.
fn visible_normal(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    let alpha = vec2f(m.alpha_x, m.alpha_y);
    let d = disk(u);
    let r2 = dot(d, d);
    let length = sigma(wo, m);
    let height = length + wo.z;
    let n = alpha * wo.xy + d * sqrt(height * max(2.0 * length - r2 * height, 0.0));
    return vec3f(alpha * n, max(1.0 - r2, 1e-7) * height);
}

/// Maps a uniform sample to the unit disk by the concentric map of Shirley and Chiu 1997, *A low
/// distortion map between disk and square*. Sine and cosine up to π/4 are polynomials.
fn disk(u: vec2f) -> vec2f {
    let p = 2.0 * u - 1.0;
    let x_major = abs(p.x) > abs(p.y);
    let r = select(p.y, p.x, x_major);
    let t = select(p.x, p.y, x_major) / select(r, 1.0, r == 0.0);
    let s = t * t;
    let sine = t * (0.7853982 + s * (-0.08074543 + s * (0.002490007 + s * -3.59544e-5)));
    let cosine =
        1.0 + s * (-0.30842514 + s * (0.015854325 + s * (-3.259386e-4 + s * 3.5298043e-6)));
    return r * vec2f(select(sine, cosine, x_major), select(cosine, sine, x_major));
}

fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    let h = visible_normal(u, wo, m);
    let wi = (2.0 * dot(wo, h) / dot(h, h)) * h - wo;
    // Renormalise with one Newton step.
    return wi * (1.5 - 0.5 * dot(wi, wi));
}

/// The density of visible normals, G₁(wo) D (wo·h)/cos θo with G₁ = 2 cos θo/(cos θo + σ(wo)),
/// divided by the Jacobian of the reflection, 4 (wo·h).
fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    let h = wi + wo;
    let density = half_density(h, dot(h, h), m) / (wo.z + sigma(wo, m));
    return select(0.0, density, min(wi.z, wo.z) > MIN_COSINE);
}
