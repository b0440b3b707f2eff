//! A Julia set in metal: the escape time of z² + c at the surface point mixes three lobes of Cook and Torrance 1982, *A
//! reflectance model for computer graphics*, after the shader `Fractal` of Clarberg et al. 2010, whose source was not published.
//!
//! Each lobe is F·D·G / (4 cos θi cos θo) with
//!
//! - D = exp(−tan²δ/m²) / (π m² cos⁴δ), Beckmann's distribution, δ between the half vector h and the normal;
//! - G = min(1, 2 (n·h)(n·wi)/(h·wi), 2 (n·h)(n·wo)/(h·wi)), masking and shadowing by V-shaped grooves;
//! - F = ½ ((g − c)/(g + c))² (1 + ((c(g + c) − 1)/(c(g − c) + 1))²), c = h·wi, g² = η² + c² − 1, Fresnel's formula for unpolarised
//!   light, with a real index of refraction η per colour: that of a dielectric, or for a metal with the reflectance F₀ at normal
//!   incidence (1 + √F₀)/(1 − √F₀), as they choose it.
//!
//! D and the factor 1/4 are normalised: D cos δ integrates to 1 over the hemisphere. F·D·G/π over the cosines without the
//! quarter, as printed in 1982, would reflect up to four times what arrives. Reciprocal, and the albedo is at most 1. It is without
//! bound where both wi and wo graze.

const INV_PI = 0.3183098861837907;

/// Logarithm of what counts as nothing beside the peak of a lobe. It keeps off subnormal numbers, which are slow.
const FAINT = -80.0;

/// Rounds of the iteration, at most.
const ROUNDS = 64;

/// Square of the radius beyond which an orbit has escaped.
const ESCAPED = 256.0;

struct Material {
    /// Surface point: texture coordinates, the set in the middle of the unit square. range: [0, 1], default: 0.5
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

/// How long the orbit of the surface point takes to escape, smoothly from 0, at once, to 1, never.
fn escape_time(uv: vec2f, c: vec2f) -> f32 {
    var z = 3.0 * uv - 1.5;
    var r2 = dot(z, z);
    var rounds = 0;
    while rounds < ROUNDS && r2 < ESCAPED {
        z = vec2f(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
        r2 = dot(z, z);
        rounds += 1;
    }
    // Orbits that escape grow to the square in each round: the fraction of a round by which they overshot.
    let overshot = log2(log2(max(r2, ESCAPED)) / log2(ESCAPED));
    return sqrt(clamp((f32(rounds) - overshot) / f32(ROUNDS), 0.0, 1.0));
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

/// F · π D cos⁴δ of a lobe.
fn lobe(tan2: f32, c: f32, eta: vec3f, m: f32) -> vec3f {
    let a = 1.0 / (m * m);
    return fresnel(c, eta) * (a * exp(max(-tan2 * a, FAINT)));
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let t = escape_time(m.uv, m.c);
    // With H = wi + wo of any length, h·wi is |H|/2. The floors matter only within 1e-4 rad of the horizon or below it.
    let h = wi + wo;
    let tangent2 = h.x * h.x + h.y * h.y;
    let z2 = max(h.z * h.z, 1e-12);
    let length2 = tangent2 + z2;
    let tan2 = min(tangent2 / z2, -FAINT);
    let c = min(0.5 * sqrt(length2), 1.0);
    // Weights of the lobes: tents around 0, 1/2 and 1.
    let before = max(1.0 - 2.0 * t, 0.0);
    let after = max(2.0 * t - 1.0, 0.0);
    let lobes = before * lobe(tan2, c, m.eta_0, m.m_0)
        + (1.0 - before - after) * lobe(tan2, c, m.eta_1, m.m_1)
        + after * lobe(tan2, c, m.eta_2, m.m_2);
    let masking = min(1.0, 4.0 * h.z * min(wi.z, wo.z) / length2);
    let sec2 = 1.0 + tan2;
    return lobes * (INV_PI * sec2 * sec2 * masking / (4.0 * max(wi.z * wo.z, 1e-8)));
}
