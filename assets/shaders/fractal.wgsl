//! A Julia set in metal. The escape time of z² + c at the surface point mixes three lobes of Cook
//! and Torrance 1982, *A reflectance model for computer graphics*. Modelled on the shader `Fractal`
//! of Clarberg et al. 2010, which was published without source code.
//!
//! Each lobe is F·D·G / (4 cos θi cos θo) with
//!
//! - D = exp(−tan²δ/m²) / (π m² cos⁴δ), Beckmann's distribution, where δ is the angle between the
//!   half vector h and the normal;
//! - G = min(1, 2 (n·h)(n·wi)/(h·wi), 2 (n·h)(n·wo)/(h·wi)), masking and shadowing by V-shaped
//!   grooves;
//! - F = ½ ((g − c)/(g + c))² (1 + ((c(g + c) − 1)/(c(g − c) + 1))²), Fresnel's formula for
//!   unpolarised light, where c = h·wi and g² = η² + c² − 1. The index of refraction η is real,
//!   with one value per colour. For a metal with reflectance F₀ at normal incidence it is
//!   (1 + √F₀)/(1 − √F₀), as Cook and Torrance suggest.
//!
//! D cos δ integrates to 1 over the hemisphere. The formula printed in 1982, F·D·G/π over the
//! cosines without the factor 1/4, would reflect up to four times the incident light. Reciprocal;
//! the albedo is at most 1. Unbounded where both wi and wo approach grazing angles.
//!
//! Half vectors are sampled from the lobes, in proportion to the albedos of the lobes by Schlick's
//! approximation. Directions below the horizon are discarded and have zero density.

const INV_PI = 0.3183098861837907;

/// Minimum exponent of a lobe, which avoids subnormal numbers, as they are slow.
const MIN_EXPONENT = -80.0;

/// Maximum number of iterations.
const MAX_ITERATIONS = 64;

/// Square of the radius beyond which an orbit escapes.
const ESCAPE_RADIUS2 = 256.0;

struct Material {
    /// Texture coordinates of the surface point; the set is in the middle of the unit square.
    /// range: [0, 1], default: 0.5
    uv: vec2f,
    /// Constant of the iteration. range: [-2, 2], default: (-0.8, 0.156)
    c: vec2f,
    /// Index of refraction where orbits escape at once. range: [1.01, 100], default: (78, 9, 6.5)
    eta_0: vec3f,
    /// Roughness there: root mean square slope of the facets. range: [0.02, 1], default: 0.3
    m_0: f32,
    /// Index of refraction half-way. range: [1.01, 100], default: (78, 11, 3.4)
    eta_1: vec3f,
    /// Roughness half-way. range: [0.02, 1], default: 0.15
    m_1: f32,
    /// Index of refraction inside the set. range: [1.01, 100], default: (1.5, 2.1, 1.8)
    eta_2: vec3f,
    /// Roughness inside the set. range: [0.02, 1], default: 0.5
    m_2: f32,
}

/// Escape time of the surface point's orbit, smoothly from 0 (at once) to 1 (never).
fn escape_time(uv: vec2f, c: vec2f) -> f32 {
    var z = 3.0 * uv - 1.5;
    var r2 = dot(z, z);
    var iterations = 0;
    while iterations < MAX_ITERATIONS && r2 < ESCAPE_RADIUS2 {
        z = vec2f(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
        r2 = dot(z, z);
        iterations += 1;
    }
    // Subtract the fraction of an iteration by which the orbit overshot the radius. An escaping
    // orbit squares its magnitude in each iteration.
    let overshot = log2(log2(max(r2, ESCAPE_RADIUS2)) / log2(ESCAPE_RADIUS2));
    return sqrt(clamp((f32(iterations) - overshot) / f32(MAX_ITERATIONS), 0.0, 1.0));
}

/// F for each colour.
fn fresnel(c: f32, eta: vec3f) -> vec3f {
    let g = sqrt(eta * eta + (c * c - 1.0));
    let sum = g + c;
    let difference = g - c;
    let p = c * sum - 1.0;
    let q = c * difference + 1.0;
    let s = sum * q;
    return 0.5 * (difference * difference) * (q * q + p * p) / (s * s);
}

/// π D cos⁴δ for each lobe.
fn peaks(tan2: f32, m: Material) -> vec3f {
    let roughness = vec3f(m.m_0, m.m_1, m.m_2);
    let a = 1.0 / (roughness * roughness);
    return a * exp(max(-tan2 * a, vec3f(MIN_EXPONENT)));
}

/// Weights of the lobes: tent functions around 0, 1/2 and 1.
fn weights(m: Material) -> vec3f {
    let t = escape_time(m.uv, m.c);
    let first = max(1.0 - 2.0 * t, 0.0);
    let last = max(2.0 * t - 1.0, 0.0);
    return vec3f(first, 1.0 - first - last, last);
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    // With H = wi + wo of any length, h·wi is |H|/2. The clamps take effect only within 1e-4 rad of
    // the horizon or below it.
    let h = wi + wo;
    let tangent2 = h.x * h.x + h.y * h.y;
    let z2 = max(h.z * h.z, 1e-12);
    let length2 = tangent2 + z2;
    let tan2 = min(tangent2 / z2, -MIN_EXPONENT);
    let c = min(0.5 * sqrt(length2), 1.0);
    let weight = weights(m);
    let peak = peaks(tan2, m);
    let lobes = weight.x * (fresnel(c, m.eta_0) * peak.x)
        + weight.y * (fresnel(c, m.eta_1) * peak.y)
        + weight.z * (fresnel(c, m.eta_2) * peak.z);
    let masking = min(1.0, 4.0 * h.z * min(wi.z, wo.z) / length2);
    let sec2 = 1.0 + tan2;
    return lobes * (INV_PI * sec2 * sec2 * masking / (4.0 * max(wi.z * wo.z, 1e-8)));
}

/// Maps a uniform sample to the unit disk, as (cos φ, sin φ, r), by the concentric map of Shirley
/// and Chiu 1997. Sine and cosine up to π/4 are polynomials.
fn disk(u: vec2f) -> vec3f {
    let a = 2.0 * u - 1.0;
    let x_major = abs(a.x) > abs(a.y);
    let r = select(a.y, a.x, x_major);
    let t = select(a.x, a.y, x_major) / select(r, 1.0, r == 0.0);
    let t2 = t * t;
    let s = t * (0.78539816 + t2 * (-0.08074543 + t2 * (0.002490007 - t2 * 3.59544e-5)));
    let c = 1.0 + t2 * (-0.30842514 + t2 * (0.015854325 + t2 * (-3.259386e-4 + t2 * 3.5298043e-6)));
    return vec3f(select(vec2f(s, c), vec2f(c, s), x_major) * select(1.0, -1.0, r < 0.0), abs(r));
}

/// Renormalises a nearly unit vector with one Newton step.
fn unit(w: vec3f) -> vec3f {
    return w * (1.5 - 0.5 * dot(w, w));
}

/// Probabilities of sampling the lobes: approximately their shares of the albedo for `wo`.
fn shares(wo: vec3f, m: Material) -> vec3f {
    let eta = vec3f(
        max(max(m.eta_0.x, m.eta_0.y), m.eta_0.z),
        max(max(m.eta_1.x, m.eta_1.y), m.eta_1.z),
        max(max(m.eta_2.x, m.eta_2.y), m.eta_2.z),
    );
    let r = (eta - 1.0) / (eta + 1.0);
    let grazing = 1.0 - wo.z;
    let grazing2 = grazing * grazing;
    let albedo = weights(m) * mix(r * r, vec3f(1.0), grazing2 * grazing2 * grazing);
    return albedo / (albedo.x + albedo.y + albedo.z);
}

fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    // u.x selects a lobe, then is remapped to [0, 1) for reuse. At least one of the first and last
    // lobes has weight 0.
    let share = shares(wo, m);
    let last = 1.0 - share.z;
    let in_first = u.x < share.x;
    let in_last = u.x >= last;
    let low = select(select(share.x, last, in_last), 0.0, in_first);
    let width = select(select(last - share.x, share.z, in_last), share.x, in_first);
    let roughness = select(select(m.m_1, m.m_2, in_last), m.m_0, in_first);
    let p = disk(vec2f((u.x - low) / width, u.y));
    // tan²δ = −m² ln v for v uniform in (0, 1].
    let tan2 = roughness * roughness * -log(max(1.0 - p.z * p.z, 6e-8));
    let h = vec3f(p.xy * sqrt(tan2), 1.0);
    return unit(h * (2.0 * dot(wo, h) / (1.0 + tan2)) - wo);
}

/// Mixture of the densities D cos δ / (4 h·wo) of the lobes. h = wi + wo has any length.
fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    let h = wi + wo;
    let tangent2 = h.x * h.x + h.y * h.y;
    let z2 = max(h.z * h.z, 1e-12);
    let lobes = dot(shares(wo, m), peaks(min(tangent2 / z2, -MIN_EXPONENT), m));
    return select(0.0, lobes * INV_PI * (tangent2 + z2) / (2.0 * z2 * sqrt(z2)), wi.z > 0.0);
}
