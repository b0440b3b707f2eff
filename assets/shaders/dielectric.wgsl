//! sides: both
//!
//! Rough glass: Trowbridge–Reitz (GGX) microfacets that reflect and refract (Walter et al. 2007,
//! *Microfacet models for refraction through rough surfaces*):
//!
//!     s D(h) G₂(wi, wo) |wi·h| |wo·h| nₒ² / (cos θi cos θo (nᵢ wi·h + nₒ wo·h)²),
//!     h ∥ nᵢ wi + nₒ wo
//!
//! nᵢ and nₒ are the indices of refraction on the sides of wi and wo: 1 above the surface, η below.
//! For reflection, s is the Fresnel reflectance F for unpolarised light, and the formula becomes
//! the usual F D G₂/(4 cos θi cos θo). For refraction, s is 1 − F. D and G₂ are those of
//! conductor.wgsl, on both sides of the surface.
//!
//! Equals pbrt-v4's `dielectric`, for radiance: refracted light is scaled by nₒ²/nᵢ², so f nᵢ² is
//! reciprocal. Without this scale, the albedo is at most 1. Light that would scatter between facets
//! is lost. Nothing is scattered if η is 1 to four digits, where h is lost in rounding. Unbounded
//! where both wi and wo approach grazing angles.
//!
//! Normals visible from wo are sampled (Heitz 2018; Dupuy and Benyoub 2023). F then selects
//! reflection or refraction, with a third random number that is a hash of the other two.

const INV_PI = 0.3183098861837907;

/// Nothing is scattered at smaller cosines.
const MIN_COSINE = 1e-9;

/// Indices that differ by less count as equal.
const MIN_INDEX_DIFFERENCE = 1e-4;

struct Material {
    /// Index of refraction below the surface, relative to above.
    /// range: [0.0001, 10000], default: 1.5
    eta: f32,
    /// Roughness along x. range: [0.0001, 1000], default: 0.1
    alpha_x: f32,
    /// Roughness along y. range: [0.0001, 1000], default: 0.1
    alpha_y: f32,
}

/// σ(w), the length of w after stretching.
fn sigma(w: vec3f, m: Material) -> f32 {
    let x = m.alpha_x * w.x;
    let y = m.alpha_y * w.y;
    return sqrt(x * x + y * y + w.z * w.z);
}

/// F and 1 − F, both in full precision. Each cosine is multiplied by the index on its side and by a
/// common factor.
fn fresnel(cosine: f32, refracted: f32, eta_i: f32, eta_t: f32) -> vec2f {
    let eta_i2 = eta_i * eta_i;
    let eta_t2 = eta_t * eta_t;
    let p = eta_t2 * cosine + eta_i2 * refracted;
    let q = cosine + refracted;
    let scale = 1.0 / (p * q);
    let parallel = (eta_t2 * cosine - eta_i2 * refracted) * (q * scale);
    let perpendicular = (cosine - refracted) * (p * scale);
    let both = eta_t * eta_i * q * scale;
    let transmitted = both * both + p * scale * (p * scale);
    return vec2f(
        0.5 * (parallel * parallel + perpendicular * perpendicular),
        2.0 * cosine * refracted * transmitted,
    );
}

/// Common factor of the value and the density, 2 s D i o/(i + o)² with i = nᵢ |wi·h| and
/// o = nₒ |wo·h|; 0 if no facet connects the directions.
fn scattered(wi: vec3f, wo: vec3f, index_i: f32, index_o: f32, m: Material) -> f32 {
    let h = index_i * wi + index_o * wo;
    let h2 = dot(h, h);
    // i + o = h², and i − o = nᵢ² − nₒ².
    let difference = (index_i - index_o) * (index_i + index_o);
    let i = 0.5 * (h2 + difference);
    let o = 0.5 * (h2 - difference);
    let same = wi.z * wo.z > 0.0;
    let opposite = index(-wo, m);
    let reflected = sqrt(max((opposite - index_o) * (opposite + index_o) * h2 + o * o, 0.0));
    let shares = fresnel(abs(o), select(abs(i), reflected, same), index_o, opposite);
    // Both directions must see the facet from their own side.
    let connected = i * h.z * wi.z > 0.0 && o * h.z * wo.z > 0.0;
    let scatters = connected && min(abs(wi.z), abs(wo.z)) > MIN_COSINE
        && abs(m.eta - 1.0) >= MIN_INDEX_DIFFERENCE;
    // D over a common denominator; the length of h cancels.
    let alpha = m.alpha_x * m.alpha_y;
    let x = h.x * m.alpha_y;
    let y = h.y * m.alpha_x;
    let z = h.z * alpha;
    let scale = alpha / (x * x + y * y + z * z);
    let s = select(shares.y, shares.x, same);
    return select(0.0, 2.0 * INV_PI * s * alpha * abs(i * scale) * abs(o * scale), scatters);
}

/// The index of refraction on the side of w.
fn index(w: vec3f, m: Material) -> f32 {
    return select(m.eta, 1.0, w.z > 0.0);
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let index_i = index(wi, m);
    let index_o = index(wo, m);
    let denominator = sigma(wi, m) * abs(wo.z) + sigma(wo, m) * abs(wi.z);
    return vec3f(
        scattered(wi, wo, index_i, index_o, m) * index_o
            / max(index_i * denominator, MIN_COSINE * MIN_COSINE),
    );
}

fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    let index_i = index(wi, m);
    let index_o = index(wo, m);
    return scattered(wi, wo, index_i, index_o, m) * index_i
        / (index_o * (abs(wo.z) + sigma(wo, m)));
}

/// Samples a normal visible from wo, of any length; wo is above the surface. In the stretched
/// space, where facets form a sphere, it lies halfway between wo and a uniform point on the cap
/// z > −wo.z.
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

/// A third random number in [0, 1): a hash of the other two, statistically independent of them.
fn hash_uniform(u: vec2f) -> f32 {
    var bits = bitcast<u32>(u.x) * 747796405u + bitcast<u32>(u.y);
    bits = (bits ^ (bits >> 16u)) * 2891336453u;
    bits = (bits ^ (bits >> 15u)) * 277803737u;
    return f32((bits ^ (bits >> 16u)) >> 8u) * 5.9604645e-8;
}

fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    let side = select(-1.0, 1.0, wo.z > 0.0);
    let up = side * wo;
    let index_o = index(wo, m);
    let opposite = index(-wo, m);
    let n = visible_normal(u, up, m);
    let n2 = dot(n, n);
    let c = dot(up, n);
    let cosine = index_o * c;
    // By Snell's law; 0 for total internal reflection.
    let refracted =
        sqrt(max((opposite - index_o) * (opposite + index_o) * n2 + cosine * cosine, 0.0));
    let reflects = hash_uniform(u) < fresnel(cosine, refracted, index_o, opposite).x;
    let wi = ((cosine + select(-refracted, cosine, reflects)) / n2) * n - index_o * up;
    // Discard light that a facet sends to the wrong side: return a grazing direction, where the
    // density is 0.
    return select(vec3f(1.0, 0.0, 0.0), wi * (side / sqrt(dot(wi, wi))), (wi.z > 0.0) == reflects);
}
