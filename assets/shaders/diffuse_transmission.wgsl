//! sides: both
//! Ideal diffuse reflection and transmission, for thin leaves and paper: kr/π on the side of the
//! incident light, kt/π on the other, as in pbrt-v4's `DiffuseTransmission`.
//!
//! Reciprocal; the albedo is kr + kt, which should not exceed 1. The side is sampled in proportion
//! to the largest components of kr and kt, the direction from the cosine.

const INV_PI = 0.3183098861837907;

struct Material {
    /// Diffuse reflectance. range: [0, 1], default: 0.25, lobe: diffuse
    kr: vec3f,
    /// Diffuse transmittance. range: [0, 1], default: 0.25, lobe: diffuse
    kt: vec3f,
}

fn is_reflection(wi: vec3f, wo: vec3f) -> bool {
    return (wi.z < 0.0) == (wo.z < 0.0);
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return select(m.kt, m.kr, is_reflection(wi, wo)) * INV_PI;
}

/// Maps a uniform sample to the unit disk by the concentric map of Shirley and Chiu 1997, *A low
/// distortion map between disk and square*. Sine and cosine up to π/4 are polynomials.
fn disk(u: vec2f) -> vec2f {
    let a = 2.0 * u - 1.0;
    let x_major = abs(a.x) > abs(a.y);
    let r = select(a.y, a.x, x_major);
    let t = select(a.x, a.y, x_major) / select(r, 1.0, r == 0.0);
    let t2 = t * t;
    let s = t * (0.78539816 + t2 * (-0.08074543 + t2 * (0.002490007 - t2 * 3.59544e-5)));
    let c = 1.0 + t2 * (-0.30842514 + t2 * (0.015854325 + t2 * (-3.259386e-4 + t2 * 3.5298043e-6)));
    return r * select(vec2f(s, c), vec2f(c, s), x_major);
}

/// Probability of sampling reflection.
fn reflection_probability(m: Material) -> f32 {
    let kr = max(max(m.kr.x, m.kr.y), m.kr.z);
    let kt = max(max(m.kt.x, m.kt.y), m.kt.z);
    return kr / max(kr + kt, 1e-20);
}

fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    // u.x selects the side, then is remapped to [0, 1) for reuse.
    let share = reflection_probability(m);
    let reflect = u.x < share;
    let remapped = select(u.x - share, u.x, reflect) / select(1.0 - share, share, reflect);
    let d = disk(vec2f(remapped, u.y));
    // The clamp keeps directions at least half a step of u above the horizon, so the density is
    // never 0.
    let z = sqrt(max(1.0 - dot(d, d), 6e-8));
    return vec3f(d, select(z, -z, reflect == (wo.z < 0.0)));
}

fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    let share = reflection_probability(m);
    return select(1.0 - share, share, is_reflection(wi, wo)) * abs(wi.z) * INV_PI;
}
