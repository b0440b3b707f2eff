//! Modified Phong with a diffuse term (Lafortune and Willems 1994, *Using the modified Phong
//! reflectance model for physically based rendering*, report CW 197, KU Leuven):
//!
//!     kd/π + ks (n + 2)/(2π) cosⁿα
//!
//! where α is the angle between wi and the mirror direction of wo. Reciprocal. The albedo is at
//! most kd + ks, which should not exceed 1. The lobe darkens at grazing angles, where half of it is
//! below the horizon.
//!
//! Directions are sampled from the lobe or from the cosine, in proportion to ks and kd.

const INV_PI = 0.3183098861837907;

struct Material {
    /// Diffuse albedo. range: [0, 1], default: 0.4, lobe: diffuse
    kd: vec3f,
    /// Albedo of the lobe at normal incidence. range: [0, 1], default: 0.3
    ks: vec3f,
    /// Specular exponent n. range: [1, 10000], default: 50
    exponent: f32,
}

/// cosⁿα.
fn peak(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    // wi · reflect(-wo, n) for the normal n = +z.
    let cos_alpha = max(wi.z * wo.z - (wi.x * wo.x + wi.y * wo.y), 0.0);
    return pow(cos_alpha, m.exponent);
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let lobe = (0.5 * m.exponent + 1.0) * peak(wi, wo, m);
    return (m.kd + m.ks * lobe) * INV_PI;
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

/// Probability of sampling the lobe: its share of the albedo.
fn lobe_share(m: Material) -> f32 {
    let kd = max(max(m.kd.x, m.kd.y), m.kd.z);
    let ks = max(max(m.ks.x, m.ks.y), m.ks.z);
    return ks / max(kd + ks, 1e-20);
}

fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    // u.x selects the lobe or the cosine, then is remapped to [0, 1) for reuse.
    let share = lobe_share(m);
    let in_lobe = u.x < share;
    let remapped = select(u.x - share, u.x, in_lobe) / select(1.0 - share, share, in_lobe);
    let p = disk(vec2f(remapped, u.y));
    // Uniform in (0, 1].
    let v = max(1.0 - p.z * p.z, 6e-8);
    // In a frame around the lobe: cos α = v^(1/(n + 1)). 1 − cos α is computed directly, by a
    // series for small angles, to keep its precision.
    let x = -log(v) / (m.exponent + 1.0);
    let one_minus_cos = select(1.0 - exp(-x), x * (1.0 - 0.5 * x), x < 1e-3);
    let z = 1.0 - one_minus_cos;
    let xy = p.xy * sqrt(one_minus_cos * (2.0 - one_minus_cos));
    // Rotate +z to the mirror direction (-wo.x, -wo.y, wo.z).
    let k = dot(wo.xy, xy);
    let rotated = vec3f(xy - wo.xy * (z + k / (1.0 + wo.z)), k + wo.z * z);
    return unit(select(vec3f(p.xy * p.z, sqrt(v)), rotated, in_lobe));
}

/// Mixture of the density of the lobe, (n + 1)/(2π) cosⁿα including directions below the horizon,
/// and the cosine.
fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    let lobe = (0.5 * m.exponent + 0.5) * peak(wi, wo, m);
    return mix(max(wi.z, 0.0), lobe, lobe_share(m)) * INV_PI;
}
