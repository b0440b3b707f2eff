//! sides: both
//! cosine: included
//!
//! Hair and fur: light is reflected by a dielectric cylinder with tilted scales (p = 0), transmitted
//! (p = 1), or transmitted after one (p = 2) or more (p = 3) internal reflections (Marschner et al.
//! 2003, *Light scattering from human hair fibers*; Chiang et al. 2016, *A practical and
//! controllable hair and fur model for production path tracing*):
//!
//!     s = Σ Mₚ(θi, θo) Aₚ(θo, h) Nₚ(φi − φo, h)
//!
//! The x axis of the frame is along the fibre; θ is the angle to its normal plane, φ the azimuth in
//! that plane. M is the energy-conserving longitudinal lobe of d'Eon et al. 2011, A the attenuation
//! by Fresnel reflection and absorption, N a logistic distribution around the azimuth of a path
//! through a smooth cylinder, trimmed to a full turn. Equals pbrt-v4's `hair`.
//!
//! M is evaluated as exp(−|Δ|²/(2v)) I₀(a) exp(−a)/(v (1 − exp(−2/v))), where Δ is the difference of
//! the unit vectors of both angles. No factor overflows for small v, and bounds are tight. Nothing
//! is scattered more than 40 e-foldings below a peak.
//!
//! Not reciprocal, since A depends on wo alone. The albedo is at most 1, and 1 without absorption.
//! A lobe p is sampled in proportion to the mean of Aₚ, then θ from Mₚ and φ from Nₚ, which takes a
//! third random number, a hash of the other two. Without absorption, s equals the density.

const PI = 3.14159265358979;

struct Material {
    /// Absorption per radius of the fibre. It is added to those by reflectance and pigments.
    /// range: [0, inf), default: 0
    sigma_a: vec3f,
    /// Colour of thick white-lit hair with the same absorption. range: [0, 1], default: 1
    reflectance: vec3f,
    /// Concentration of eumelanin, for brown and black hair. range: [0, inf), default: 0
    eumelanin: f32,
    /// Concentration of pheomelanin, for blond and red hair. range: [0, inf), default: 0
    pheomelanin: f32,
    /// Index of refraction of the fibre. range: [1, 10], default: 1.55
    eta: f32,
    /// Longitudinal roughness. range: [0.01, 1], default: 0.3
    beta_m: f32,
    /// Azimuthal roughness. range: [0.01, 1], default: 0.3
    beta_n: f32,
    /// Tilt of the scales in degrees. range: [-90, 90], default: 2
    alpha: f32,
    /// Offset of the ray from the axis, in radii. 1 − 2v is added for the texture coordinate v.
    /// range: [-1, 1], default: 0
    h: f32,
}

fn material(p: SurfacePoint, m: Material) -> Material {
    var result = m;
    let b = m.beta_n;
    let c = 5.969 + b * (-0.215 + b * (2.532 + b * (-10.73 + b * (5.574 + b * 0.245))));
    let root = log(max(m.reflectance, vec3f(1e-30))) / c;
    result.sigma_a = m.sigma_a + root * root + m.eumelanin * vec3f(0.419, 0.697, 1.37)
        + m.pheomelanin * vec3f(0.187, 0.4, 1.05);
    result.reflectance = vec3f(1.0);
    result.eumelanin = 0.0;
    result.pheomelanin = 0.0;
    result.h = m.h + (1.0 - 2.0 * p.uv.y);
    return result;
}

/// What depends on wo and the material alone.
struct Fibre {
    /// Attenuation of each p.
    a0: f32,
    a1: vec3f,
    a2: vec3f,
    a3: vec3f,
    /// Azimuths of the paths with p = 0, 1, 2, and of wo, as unit vectors.
    n0: vec2f,
    n1: vec2f,
    n2: vec2f,
    n3: vec2f,
    /// Sine and cosine of θo after the tilt for each p.
    t0: vec2f,
    t1: vec2f,
    t2: vec2f,
    t3: vec2f,
    /// Variance of M for p = 0.
    v: f32,
    /// Scale of the logistic distribution.
    s: f32,
}

/// Rotates by the angle whose cosine and sine are `r`.
fn rotate(e: vec2f, r: vec2f) -> vec2f {
    return vec2f(e.x * r.x - e.y * r.y, e.x * r.y + e.y * r.x);
}

/// Cosine and sine of twice an angle.
fn twice(c: f32, s: f32) -> vec2f {
    return vec2f(1.0 - 2.0 * s * s, 2.0 * s * c);
}

fn power4(x: f32) -> f32 {
    return (x * x) * (x * x);
}

fn fresnel(cosine: f32, eta: f32) -> f32 {
    let t = sqrt(max(eta * eta - 1.0 + cosine * cosine, 0.0));
    let parallel = (eta * eta * cosine - t) / (eta * eta * cosine + t);
    let perpendicular = (cosine - t) / (cosine + t);
    return min(0.5 * (parallel * parallel + perpendicular * perpendicular), 1.0);
}

/// The sine and cosine of θ rotated by an angle; the cosine is not negative.
fn tilted(theta: vec2f, c: f32, s: f32) -> vec2f {
    return vec2f(theta.x * c + theta.y * s, abs(theta.y * c - theta.x * s));
}

fn fibre(wo: vec3f, m: Material) -> Fibre {
    var f: Fibre;
    let theta = vec2f(wo.x, length(wo.yz));
    let h = m.h;
    let cos_o = sqrt(max(1.0 - h * h, 0.0));
    // Refraction, longitudinally and in the normal plane.
    let sin_t = theta.x / m.eta;
    let cos_t = sqrt(max(1.0 - sin_t * sin_t, 1e-8));
    let sin_gamma =
        clamp(h * theta.y / sqrt(max(m.eta * m.eta - theta.x * theta.x, 1e-8)), -1.0, 1.0);
    let cos_gamma = sqrt(max(1.0 - sin_gamma * sin_gamma, 0.0));
    let transmitted = exp(-m.sigma_a * (2.0 * cos_gamma / cos_t));
    let r = fresnel(max(theta.y * cos_o, 1e-9), m.eta);
    f.a0 = r;
    f.a1 = (1.0 - r) * (1.0 - r) * transmitted;
    f.a2 = f.a1 * transmitted * r;
    f.a3 = f.a2 * transmitted * r / max(1.0 - transmitted * r, vec3f(1e-7));
    // The azimuth of a path turns by −2γo at its ends, and by π + 2γt inside.
    f.n3 = select(vec2f(1.0, 0.0), wo.yz / theta.y, theta.y > 0.0);
    let inside = twice(cos_gamma, sin_gamma);
    f.n0 = rotate(f.n3, twice(cos_o, -h));
    f.n1 = -rotate(f.n0, inside);
    f.n2 = -rotate(f.n1, inside);
    // Scales tilt the lobes by −2α, α and 4α.
    let s1 = sin(m.alpha * (PI / 180.0));
    let c1 = sqrt(max(1.0 - s1 * s1, 0.0));
    let k2 = twice(c1, s1);
    let k4 = twice(k2.x, k2.y);
    f.t0 = tilted(theta, k2.x, -k2.y);
    f.t1 = tilted(theta, c1, s1);
    f.t2 = tilted(theta, k4.x, k4.y);
    f.t3 = theta;
    let b = m.beta_m;
    let root = 0.726 * b + 0.812 * b * b + 3.7 * power4(power4(b) * b);
    f.v = root * root;
    let n = m.beta_n;
    f.s = 0.626657069 * (0.265 * n + 1.194 * n * n + 5.372 * power4(power4(n) * n) * n * n);
    return f;
}

/// I₀(x) exp(−x) for x ≥ 0 (Abramowitz and Stegun 1964, 9.8.1 and 9.8.2).
fn bessel(x: f32) -> f32 {
    let low = min(x, 3.75);
    let t = low * low * (1.0 / 14.0625);
    let near = 1.0 + t * (3.5156229 + t * (3.0899424 + t * (1.2067492
        + t * (0.2659732 + t * (0.0360768 + t * 0.0045813)))));
    let high = max(x, 3.75);
    let r = 3.75 / high;
    let far = 0.39894228 + r * (0.01328592 + r * (0.00225319 + r * (-0.00157565 + r * (0.00916281
        + r * (-0.02057706 + r * (0.02635537 + r * (-0.01647633 + r * 0.00392377)))))));
    return select(far / sqrt(high), near * exp(-low), x < 3.75);
}

/// M of sine and cosine of θi, and those of θo.
fn longitudinal(i: vec2f, o: vec2f, v: f32) -> f32 {
    let d = vec2f(i.x + o.x, i.y - o.y);
    let exponent = -0.5 * (d.x * d.x + d.y * d.y) / v;
    let peak = bessel(i.y * o.y / v) / (v * (1.0 - exp(-2.0 / v)));
    return select(0.0, exp(exponent) * peak, exponent > -40.0);
}

/// N of an azimuth, as a vector of any length, around `n`.
fn azimuthal(i: vec2f, n: vec2f, s: f32) -> f32 {
    let angle = atan2(abs(i.y * n.x - i.x * n.y), i.x * n.x + i.y * n.y) / s;
    let e = exp(-angle);
    let q = exp(-PI / s);
    let peak = (1.0 + q) / (s * (1.0 - q));
    return select(0.0, e * peak / ((1.0 + e) * (1.0 + e)), angle < 40.0);
}

/// M N of p = 0, 1, 2, and of all further ones.
fn lobes(wi: vec3f, f: Fibre) -> vec4f {
    let theta = vec2f(wi.x, length(wi.yz));
    return vec4f(
        longitudinal(theta, f.t0, f.v) * azimuthal(wi.yz, f.n0, f.s),
        longitudinal(theta, f.t1, 0.25 * f.v) * azimuthal(wi.yz, f.n1, f.s),
        longitudinal(theta, f.t2, 4.0 * f.v) * azimuthal(wi.yz, f.n2, f.s),
        longitudinal(theta, f.t3, 4.0 * f.v) * (0.5 / PI),
    );
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let f = fibre(wo, m);
    let l = lobes(wi, f);
    return l.x * f.a0 + l.y * f.a1 + l.z * f.a2 + l.w * f.a3;
}

/// Probabilities of p.
fn probabilities(f: Fibre) -> vec4f {
    let third = vec3f(1.0 / 3.0);
    let a = vec4f(f.a0, dot(f.a1, third), dot(f.a2, third), dot(f.a3, third));
    // All vanish if only absorbed light enters the fibre.
    return a / max(a.x + a.y + a.z + a.w, 1e-30);
}

fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    let f = fibre(wo, m);
    return dot(lobes(wi, f), probabilities(f));
}

/// A third random number in [0, 1): a hash of the other two, statistically independent of them.
fn hash_uniform(u: vec2f) -> f32 {
    var bits = bitcast<u32>(u.x) * 747796405u + bitcast<u32>(u.y);
    bits = (bits ^ (bits >> 16u)) * 2891336453u;
    bits = (bits ^ (bits >> 15u)) * 277803737u;
    return f32((bits ^ (bits >> 16u)) >> 8u) * 5.9604645e-8;
}

fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    let f = fibre(wo, m);
    // u.x selects p, then is remapped to [0, 1) for reuse.
    let a = probabilities(f);
    let b = vec3f(a.x, a.x + a.y, a.x + a.y + a.z);
    var n = f.n0;
    var t = f.t0;
    var v = f.v;
    var x = u.x / max(a.x, 1e-20);
    if u.x >= b.z {
        n = f.n3;
        t = f.t3;
        v = 4.0 * f.v;
        x = (u.x - b.z) / max(a.w, 1e-20);
    } else if u.x >= b.y {
        n = f.n2;
        t = f.t2;
        v = 4.0 * f.v;
        x = (u.x - b.y) / max(a.z, 1e-20);
    } else if u.x >= b.x {
        n = f.n1;
        t = f.t1;
        v = 0.25 * f.v;
        x = (u.x - b.x) / max(a.y, 1e-20);
    }
    // N by inversion; uniform for p = 3.
    let y = 2.0 * min(x, 0.99999994) - 1.0;
    let q = exp(-PI / f.s);
    let k = (1.0 - q) / (1.0 + q);
    let logistic = clamp(f.s * log((1.0 + k * y) / (1.0 - k * y)), -PI, PI);
    let turn = select(logistic, PI * y, u.x >= b.z);
    let azimuth = rotate(n, vec2f(cos(turn), sin(turn)));
    // M: a direction at an angle with cosine 1 − d around θo, mirrored at the normal plane.
    let z = 1.0 - u.y;
    let d = min(-v * log(z + u.y * exp(-2.0 / v)), 2.0);
    let radius = sqrt(max(d * (2.0 - d), 0.0));
    let around = 2.0 * PI * hash_uniform(u);
    let p = radius * vec2f(cos(around), sin(around));
    let sin_i = p.x * t.y - (1.0 - d) * t.x;
    let cos_i = length(vec2f((1.0 - d) * t.y + p.x * t.x, p.y));
    return normalize(vec3f(sin_i, cos_i * azimuth));
}
