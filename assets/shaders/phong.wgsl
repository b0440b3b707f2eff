//! Modified Phong with a diffuse term (Lafortune and Willems 1994, *Using the modified Phong reflectance model for physically
//! based rendering*, report CW 197, KU Leuven):
//!
//!     kd/π + ks (n + 2)/(2π) cosⁿα,   α between wi and the mirror direction of wo
//!
//! Reciprocal. The albedo is at most kd + ks, which should not pass 1; the lobe darkens at grazing angles, where half of it lies
//! below the horizon.

const INV_PI = 0.3183098861837907;

struct Material {
    /// Diffuse albedo. range: [0, 1], default: 0.4
    kd: vec3f,
    /// Albedo of the lobe at normal incidence. range: [0, 1], default: 0.3
    ks: vec3f,
    /// Specular exponent n. range: [1, 10000], default: 50
    exponent: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    // wi · reflect(-wo, n), the normal n being +z.
    let cos_alpha = max(wi.z * wo.z - (wi.x * wo.x + wi.y * wo.y), 0.0);
    let lobe = (0.5 * m.exponent + 1.0) * pow(cos_alpha, m.exponent);
    return (m.kd + m.ks * lobe) * INV_PI;
}
