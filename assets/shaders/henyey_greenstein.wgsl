//! Phase function of Henyey and Greenstein 1941, *Diffuse radiation in the galaxy*:
//!
//!     p = (1 − g²) / (4π (1 + g² − 2g cos θ)^(3/2))
//!
//! where θ is the angle by which light turns: cos θ = −wi · wo. The mean of cos θ is g: light
//! continues forward for g > 0, returns for g < 0, and is scattered uniformly for g = 0. Equals
//! pbrt-v4's phase function of all media.
//!
//! Reciprocal; the albedo is 1. The base of the power is computed as (1 − |g|)² + |g| |wi ± wo|²,
//! a sum of squares: no digits cancel at the peak, and bounds are tight. Directions are sampled
//! exactly.

const INV_4_PI = 0.07957747154594767;

struct Material {
    /// Mean cosine of the angle by which light turns. range: [-0.999, 0.999], default: 0
    g: f32,
}

fn phase(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    let a = abs(m.g);
    // 0 at the peak.
    let d = wi + select(-wo, wo, m.g >= 0.0);
    let base = (1.0 - a) * (1.0 - a) + a * dot(d, d);
    return INV_4_PI * (1.0 - a) * (1.0 + a) / (base * sqrt(base));
}

fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    return phase(wi, wo, m);
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

fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    let a = abs(m.g);
    let p = disk(u);
    // Inversion of the cumulative distribution x of the angle α to the peak, solved for 1 − cos α:
    // no digits cancel for small angles.
    let x = 1.0 - p.z * p.z;
    let q = (1.0 - a) / (1.0 - a + 2.0 * a * x);
    let one_minus_cos = min(2.0 * q * q * (1.0 - x) * (1.0 + a * x), 2.0);
    let sine = sqrt(one_minus_cos * (2.0 - one_minus_cos));
    let z = 1.0 - one_minus_cos;
    return vec3f(sine * p.xy, select(z, -z, m.g >= 0.0));
}
