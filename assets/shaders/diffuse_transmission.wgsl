//! sides: both
//! Ideal diffuse reflection and transmission, as of thin leaves and paper: kr/π to the side of the
//! incident light, kt/π to the other, as in pbrt-v4's `DiffuseTransmission`.
//!
//! Reciprocal; the albedo is kr + kt, which should not exceed 1. Sampled by the cosine, on sides
//! with probabilities proportional to the largest components of kr and kt.

const INV_PI = 0.3183098861837907;

struct Material {
    /// Reflected part. range: [0, 1], default: 0.25
    kr: vec3f,
    /// Transmitted part. range: [0, 1], default: 0.25
    kt: vec3f,
}

/// Whether `wi` and `wo` are on the same side.
fn reflected(wi: vec3f, wo: vec3f) -> bool {
    return (wi.z < 0.0) == (wo.z < 0.0);
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return select(m.kt, m.kr, reflected(wi, wo)) * INV_PI;
}

/// A uniform point of the unit disk, by the concentric map of Shirley and Chiu 1997; sine and cosine up to π/4 are polynomials.
fn disk(u: vec2f) -> vec2f {
    let a = 2.0 * u - 1.0;
    let wide = abs(a.x) > abs(a.y);
    let r = select(a.y, a.x, wide);
    let t = select(a.x, a.y, wide) / select(r, 1.0, r == 0.0);
    let t2 = t * t;
    let s = t * (0.78539816 + t2 * (-0.08074543 + t2 * (0.002490007 - t2 * 3.59544e-5)));
    let c = 1.0 + t2 * (-0.30842514 + t2 * (0.015854325 + t2 * (-3.259386e-4 + t2 * 3.5298043e-6)));
    return r * select(vec2f(s, c), vec2f(c, s), wide);
}

/// Probability of sampling reflection.
fn reflected_share(m: Material) -> f32 {
    let kr = max(max(m.kr.x, m.kr.y), m.kr.z);
    let kt = max(max(m.kt.x, m.kt.y), m.kt.z);
    return kr / max(kr + kt, 1e-20);
}

fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    // u.x selects the side, and is remapped to [0, 1) for reuse.
    let share = reflected_share(m);
    let reflect = u.x < share;
    let rest = select(u.x - share, u.x, reflect) / select(1.0 - share, share, reflect);
    let d = disk(vec2f(rest, u.y));
    // The clamp is half a step of u above the horizon, so that the density is never 0.
    let z = sqrt(max(1.0 - dot(d, d), 6e-8));
    return vec3f(d, select(z, -z, reflect == (wo.z < 0.0)));
}

fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    let share = reflected_share(m);
    return select(1.0 - share, share, reflected(wi, wo)) * abs(wi.z) * INV_PI;
}
