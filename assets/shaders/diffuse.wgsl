//! Ideal diffuse reflection (Lambert 1760): kd/π, the same in all directions.
//!
//! Reciprocal; the albedo is kd. Directions are sampled from the cosine, so s/pdf = kd everywhere.

const INV_PI = 0.3183098861837907;

struct Material {
    /// Diffuse albedo. range: [0, 1], default: 0.5, lobe: diffuse
    kd: vec3f,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd * INV_PI;
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

fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    let d = disk(u);
    // The clamp keeps directions at least half a step of u above the horizon, so the density is
    // never 0.
    return vec3f(d, sqrt(max(1.0 - dot(d, d), 6e-8)));
}

fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    return max(wi.z, 0.0) * INV_PI;
}
