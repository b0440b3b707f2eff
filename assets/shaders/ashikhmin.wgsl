//! Anisotropic Phong of Ashikhmin and Shirley 2000, *An anisotropic Phong BRDF model*, Journal of Graphics Tools 5(2), with its
//! diffuse term:
//!
//!     √((nu + 1)(nv + 1))/(8π) · (n·h)^((nu (h·x)² + nv (h·y)²)/(1 − (n·h)²)) / ((h·wi) max(n·wi, n·wo)) · F(h·wi)
//!     + 28 Rd/(23π) (1 − Rs) (1 − (1 − n·wi/2)⁵) (1 − (1 − n·wo/2)⁵),   F(c) = Rs + (1 − Rs)(1 − c)⁵   (Schlick 1994)
//!
//! with the unit half vector h; Rd is kd here and Rs is ks. Reciprocal, and the albedo is at most 1. It is without bound where both
//! wi and wo graze.

const INV_PI = 0.3183098861837907;

struct Material {
    /// Diffuse albedo, under the specular layer. range: [0, 1], default: 0.4
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

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    // With H = wi + wo of any length, h·wi is |H|/2, and the power is one of 1/(n·h)² = 1 + tan²δ, which needs no root and keeps its
    // digits. The floors matter only where h is the normal, within 1e-4 rad of the horizon, or below it.
    let h = wi + wo;
    let x2 = h.x * h.x;
    let y2 = h.y * h.y;
    let tangent2 = x2 + y2;
    let z2 = max(h.z * h.z, 1e-12);
    let h_wi = 0.5 * sqrt(tangent2 + z2);
    let exponent = (m.n_u * x2 + m.n_v * y2) / max(tangent2, 1e-20);
    let power = pow(1.0 + tangent2 / z2, -0.5 * exponent);
    let lobe = sqrt((m.n_u + 1.0) * (m.n_v + 1.0)) * power / (8.0 * h_wi * max(max(wi.z, wo.z), 1e-4));
    let fresnel = m.ks + (1.0 - m.ks) * pow5(1.0 - h_wi);
    let shape = (28.0 / 23.0) * (1.0 - pow5(1.0 - 0.5 * wi.z)) * (1.0 - pow5(1.0 - 0.5 * wo.z));
    return (fresnel * lobe + m.kd * (1.0 - m.ks) * shape) * INV_PI;
}
