//! sides: both
//!
//! Rough glass: Trowbridge–Reitz (GGX) microfacets that reflect and refract (Walter et al. 2007, *Microfacet models for refraction
//! through rough surfaces*). With the index of refraction n of the side on which a direction lies, 1 above and η below,
//!
//!     h ∥ nᵢ wi + nₒ wo,    s D(h) G₂(wi, wo) |wi·h| |wo·h| nₒ² / (cos θi cos θo (nᵢ wi·h + nₒ wo·h)²)
//!
//! where s is F, the Fresnel reflectance for unpolarised light, on one side, and 1 − F across
//! sides. On one side this is the usual F D G₂/(4 cos θi cos θo). D and G₂ are those of
//! conductor.wgsl, on both sides of the surface.
//!
//! It is pbrt-v4's `dielectric`, for radiance: refracted light is scaled by nₒ²/nᵢ². So f nᵢ² is
//! reciprocal. Without this scale, the albedo is at most 1. Light that would scatter between facets
//! is lost. Nothing is scattered if η is 1 to four digits, where h is lost in rounding. Unbounded
//! where both wi and wo approach grazing angles.
//!
//! Sampled by the normals visible from wo (Heitz 2018; Dupuy and Benyoub 2023). F then selects
//! reflection or refraction, with a third random number that is a hash of the given two.

const INV_PI = 0.3183098861837907;

/// Smaller cosines count as grazing, where nothing is scattered.
const GRAZING = 1e-9;

/// Indices with a smaller difference count as equal.
const MATCHED = 1e-4;

struct Material {
    /// Index of refraction of the side below over that above. range: [0.0001, 10000], default: 1.5
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

/// F and 1 − F, both in full precision, from the cosines on both sides of the interface, each times
/// the index there and a common factor.
fn fresnel(cosine: f32, refracted: f32, before: f32, behind: f32) -> vec2f {
    let before2 = before * before;
    let behind2 = behind * behind;
    let p = behind2 * cosine + before2 * refracted;
    let q = cosine + refracted;
    let scale = 1.0 / (p * q);
    let parallel = (behind2 * cosine - before2 * refracted) * (q * scale);
    let perpendicular = (cosine - refracted) * (p * scale);
    let both = behind * before * q * scale;
    let transmitted = both * both + p * scale * (p * scale);
    return vec2f(0.5 * (parallel * parallel + perpendicular * perpendicular), 2.0 * cosine * refracted * transmitted);
}

/// Common factor of the value and the density, 0 if no facet connects the directions: 2 s D i o/(i
/// + o)², i = nᵢ |wi·h|, o = nₒ |wo·h|.
fn scattered(wi: vec3f, wo: vec3f, index_i: f32, index_o: f32, m: Material) -> f32 {
    let h = index_i * wi + index_o * wo;
    let h2 = dot(h, h);
    // i + o = h², and i − o = nᵢ² − nₒ².
    let difference = (index_i - index_o) * (index_i + index_o);
    let i = 0.5 * (h2 + difference);
    let o = 0.5 * (h2 - difference);
    let same = wi.z * wo.z > 0.0;
    let behind = index(-wo, m);
    let reflected = sqrt(max((behind - index_o) * (behind + index_o) * h2 + o * o, 0.0));
    let shares = fresnel(abs(o), select(abs(i), reflected, same), index_o, behind);
    // wo and wi each see the facet from the side that they are on.
    let connected = i * h.z * wi.z > 0.0 && o * h.z * wo.z > 0.0;
    let scatters = connected && min(abs(wi.z), abs(wo.z)) > GRAZING && abs(m.eta - 1.0) >= MATCHED;
    // D over a common denominator; lengths of h cancel.
    let alpha = m.alpha_x * m.alpha_y;
    let x = h.x * m.alpha_y;
    let y = h.y * m.alpha_x;
    let z = h.z * alpha;
    let scale = alpha / (x * x + y * y + z * z);
    return select(0.0, 2.0 * INV_PI * select(shares.y, shares.x, same) * alpha * abs(i * scale) * abs(o * scale), scatters);
}

/// The index of refraction on the side of w.
fn index(w: vec3f, m: Material) -> f32 {
    return select(m.eta, 1.0, w.z > 0.0);
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let index_i = index(wi, m);
    let index_o = index(wo, m);
    let denominator = sigma(wi, m) * abs(wo.z) + sigma(wo, m) * abs(wi.z);
    return vec3f(scattered(wi, wo, index_i, index_o, m) * index_o / max(index_i * denominator, GRAZING * GRAZING));
}

fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    let index_i = index(wi, m);
    let index_o = index(wo, m);
    return scattered(wi, wo, index_i, index_o, m) * index_i / (index_o * (abs(wo.z) + sigma(wo, m)));
}

/// A normal of any length that is visible from wo, which is above the surface. In the stretched
/// space, where facets form a sphere, it lies halfway between wo and a uniform point of the cap z >
/// −wo.z.
fn visible_normal(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    let alpha = vec2f(m.alpha_x, m.alpha_y);
    let d = disk(u);
    let r2 = dot(d, d);
    let length = sigma(wo, m);
    let height = length + wo.z;
    let n = alpha * wo.xy + d * sqrt(height * max(2.0 * length - r2 * height, 0.0));
    return vec3f(alpha * n, max(1.0 - r2, 1e-7) * height);
}

/// A uniform point of the unit disk (Shirley and Chiu 1997, *A low distortion map between disk and square*), with polynomials for
/// the sine and cosine of up to an eighth of a turn.
fn disk(u: vec2f) -> vec2f {
    let p = 2.0 * u - 1.0;
    let swap = abs(p.x) > abs(p.y);
    let r = select(p.y, p.x, swap);
    let t = select(p.x, p.y, swap) / select(r, 1.0, r == 0.0);
    let s = t * t;
    let sine = t * (0.7853982 + s * (-0.08074543 + s * (0.002490007 + s * -3.59544e-5)));
    let cosine = 1.0 + s * (-0.30842514 + s * (0.015854325 + s * (-3.259386e-4 + s * 3.5298043e-6)));
    return r * vec2f(select(sine, cosine, swap), select(cosine, sine, swap));
}

/// A third random number in [0, 1): a hash of the other two, statistically independent of them.
fn third(u: vec2f) -> f32 {
    var bits = bitcast<u32>(u.x) * 747796405u + bitcast<u32>(u.y);
    bits = (bits ^ (bits >> 16u)) * 2891336453u;
    bits = (bits ^ (bits >> 15u)) * 277803737u;
    return f32((bits ^ (bits >> 16u)) >> 8u) * 5.9604645e-8;
}

fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    let side = select(-1.0, 1.0, wo.z > 0.0);
    let up = side * wo;
    let index_o = index(wo, m);
    let behind = index(-wo, m);
    let n = visible_normal(u, up, m);
    let n2 = dot(n, n);
    let c = dot(up, n);
    let cosine = index_o * c;
    // By Snell's law; 0 for total reflection.
    let refracted = sqrt(max((behind - index_o) * (behind + index_o) * n2 + cosine * cosine, 0.0));
    let reflects = third(u) < fresnel(cosine, refracted, index_o, behind).x;
    let wi = ((cosine + select(-refracted, cosine, reflects)) / n2) * n - index_o * up;
    // Light that a facet sends to the wrong side is lost: return a grazing direction, where nothing
    // is scattered.
    return select(vec3f(1.0, 0.0, 0.0), wi * (side / sqrt(dot(wi, wi))), (wi.z > 0.0) == reflects);
}
