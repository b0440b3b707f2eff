//! Rough diffuse reflection: the qualitative model of Oren and Nayar, *Generalization of Lambert's
//! reflectance model*, SIGGRAPH 1994, for V-shaped grooves with Lambertian facets and without
//! interreflection:
//!
//!     kd/π (A + B max(0, cos(φi − φo)) sin α tan β),   α = max(θi, θo), β = min(θi, θo),
//!     A = 1 − σ²/(2 (σ² + 0.33)), B = 0.45 σ²/(σ² + 0.09)
//!
//! Reciprocal. The albedo is at most kd up to 60° from the normal, for all σ. Towards the horizon
//! it is A + B/2 times kd, which exceeds kd by up to 1.6 % for σ below 19°. Directions are sampled
//! from the cosine.

const INV_PI = 0.3183098861837907;

struct Material {
    /// Diffuse albedo of the facets. range: [0, 1], default: 0.5, lobe: diffuse
    kd: vec3f,
    /// Roughness: standard deviation of the inclination of the facets, in degrees.
    /// range: [0, 90], default: 20
    sigma: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let sigma = radians(m.sigma);
    let sigma2 = sigma * sigma;
    let a = 1.0 - 0.5 * sigma2 / (sigma2 + 0.33);
    let b = 0.45 * sigma2 / (sigma2 + 0.09);
    // cos(φi − φo) sin θi sin θo. It is divided by the cosine of the smaller angle; the clamp takes
    // effect only within 1e-4 rad of the horizon or below it.
    let azimuthal = max(wi.x * wo.x + wi.y * wo.y, 0.0);
    return m.kd * (INV_PI * (a + b * azimuthal / max(max(wi.z, wo.z), 1e-4)));
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
