//! Ideal diffuse reflection (Lambert 1760): kd/π, the same in all directions.
//!
//! Reciprocal; the albedo is kd.

const INV_PI = 0.3183098861837907;

struct Material {
    /// Diffuse albedo. range: [0, 1], default: 0.5
    kd: vec3f,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd * INV_PI;
}
