//! Anisotropic Phong of Ashikhmin and Shirley 2000, *An anisotropic Phong BRDF model*, Journal of
//! Graphics Tools 5(2), with its diffuse term:
//!
//!     √((nu + 1)(nv + 1))/(8π) · (n·h)^((nu (h·x)² + nv (h·y)²)/(1 − (n·h)²))
//!         / ((h·wi) max(n·wi, n·wo)) · F(h·wi)
//!     + 28 Rd/(23π) (1 − Rs) (1 − (1 − n·wi/2)⁵) (1 − (1 − n·wo/2)⁵)
//!
//! with the unit half vector h and F(c) = Rs + (1 − Rs)(1 − c)⁵ (Schlick 1994). Rd is kd here and
//! Rs is ks. Reciprocal; the albedo is at most 1. Unbounded where both wi and wo approach grazing
//! angles.
//!
//! Half vectors are sampled from the lobe, as in the paper, or directions from the cosine, in
//! proportion to the albedos of the two terms. Directions below the horizon are discarded and have
//! zero density.

const INV_PI = 0.3183098861837907;

struct Material {
    /// Diffuse albedo, under the specular layer. range: [0, 1], default: 0.4, lobe: diffuse
    kd: vec3f,
    /// Specular reflectance at normal incidence. range: [0, 1], default: 0.05
    ks: vec3f,
    /// Exponent of the lobe along x. range: [1, 10000], default: 1000
    n_u: f32,
    /// Exponent of the lobe along y. range: [1, 10000], default: 50
    n_v: f32,
}

fn pow5(x: f32) -> f32 {
    let x2 = x * x;
    return x2 * x2 * x;
}

/// The specular lobe at a half vector.
struct Lobe {
    /// √((nu + 1)(nv + 1)) times the power of n·h: the density of wi, times 8π (h·wi).
    peak: f32,
    h_wi: f32,
}

fn lobe(wi: vec3f, wo: vec3f, m: Material) -> Lobe {
    // With H = wi + wo of any length, h·wi is |H|/2. The power is written in terms of 1/(n·h)² = 1
    // + tan²δ, which needs no root and keeps its precision. The clamps take effect only if h is the
    // normal, or within 1e-4 rad of the horizon or below it.
    let h = wi + wo;
    let x2 = h.x * h.x;
    let y2 = h.y * h.y;
    let tangent2 = x2 + y2;
    let z2 = max(h.z * h.z, 1e-12);
    let exponent = (m.n_u * x2 + m.n_v * y2) / max(tangent2, 1e-20);
    let power = pow(1.0 + tangent2 / z2, -0.5 * exponent);
    return Lobe(sqrt((m.n_u + 1.0) * (m.n_v + 1.0)) * power, 0.5 * sqrt(tangent2 + z2));
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let l = lobe(wi, wo, m);
    let specular = l.peak / (8.0 * l.h_wi * max(max(wi.z, wo.z), 1e-4));
    let fresnel = m.ks + (1.0 - m.ks) * pow5(1.0 - l.h_wi);
    let diffuse = (28.0 / 23.0) * (1.0 - pow5(1.0 - 0.5 * wi.z)) * (1.0 - pow5(1.0 - 0.5 * wo.z));
    return (fresnel * specular + m.kd * (1.0 - m.ks) * diffuse) * INV_PI;
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

/// Probability of sampling the lobe: approximately its share of the albedo for `wo`, but never 0,
/// since the lobe reflects even for ks = 0.
fn lobe_share(wo: vec3f, m: Material) -> f32 {
    let ks = max(max(m.ks.x, m.ks.y), m.ks.z);
    let diffuse_albedo = m.kd * (1.0 - m.ks);
    let kd = max(max(diffuse_albedo.x, diffuse_albedo.y), diffuse_albedo.z);
    let diffuse = kd * (1.0 - pow5(1.0 - 0.5 * wo.z));
    let specular = max(ks + (1.0 - ks) * pow5(1.0 - wo.z), 1e-3);
    return specular / (specular + diffuse);
}

fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    // u.x selects the lobe or the cosine, then is remapped to [0, 1) for reuse.
    let share = lobe_share(wo, m);
    let in_lobe = u.x < share;
    let remapped = select(u.x - share, u.x, in_lobe) / select(1.0 - share, share, in_lobe);
    let p = disk(vec2f(remapped, u.y));
    // Uniform in (0, 1].
    let v = max(1.0 - p.z * p.z, 6e-8);
    // The azimuth φ of h is a uniform angle ψ, warped by tan φ = √((nu + 1)/(nv + 1)) tan ψ. Then
    // nu cos²φ + nv sin²φ + 1 = 1/q², and n·h = v^(q²).
    let q = p.xy * inverseSqrt(vec2f(m.n_u, m.n_v) + 1.0);
    let q2 = dot(q, q);
    // tan²δ = v^(−2q²) − 1, by a series for small angles.
    let y = -2.0 * q2 * log(v);
    let tan2 = select(exp(y) - 1.0, y * (1.0 + 0.5 * y), y < 1e-3);
    let h = vec3f(q * sqrt(tan2 / q2), 1.0);
    let mirrored = h * (2.0 * dot(wo, h) / (1.0 + tan2)) - wo;
    return unit(select(vec3f(p.xy * p.z, sqrt(v)), mirrored, in_lobe));
}

/// Mixture of the density of the lobe, √((nu + 1)(nv + 1))/(8π) (n·h)^(…) / (h·wo), and the cosine.
fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    let l = lobe(wi, wo, m);
    return select(0.0, mix(wi.z, l.peak / (8.0 * l.h_wi), lobe_share(wo, m)) * INV_PI, wi.z > 0.0);
}
