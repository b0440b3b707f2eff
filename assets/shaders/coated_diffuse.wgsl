//! draft
const INV_PI = 0.3183098861837907;
const INV_TWO_PI = 0.15915494309189535;

/// Cosines up to this one count as along the surface, where the coat reflects nothing.
const GRAZING = 1e-9;

/// A coat less rough along both axes is polished; the value is pbrt-v4's.
const SMOOTH = 1e-3;

/// The least roughness of one axis where the other is rough.
const MIN_ALPHA = 1e-4;

struct Material {
    /// Albedo of the base. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Index of refraction of the coat. range: [1, 3], default: 1.5
    eta: f32,
    /// Roughness of the coat along x; below 0.001 along both axes it is polished. range: [0, 1000], default: 0
    alpha_x: f32,
    /// Roughness of the coat along y. range: [0, 1000], default: 0
    alpha_y: f32,
    /// Thickness of the coat, in mean free paths. range: [0, 1000], default: 0.01
    thickness: f32,
}

/// The roughness of the coat's facets.
fn roughness(m: Material) -> vec2f {
    return max(vec2f(m.alpha_x, m.alpha_y), vec2f(MIN_ALPHA));
}

fn is_polished(m: Material) -> bool {
    return max(m.alpha_x, m.alpha_y) < SMOOTH;
}

/// σ(w), the length of w after stretching.
fn sigma(w: vec3f, alpha: vec2f) -> f32 {
    let x = alpha.x * w.x;
    let y = alpha.y * w.y;
    return sqrt(x * x + y * y + w.z * w.z);
}

/// A mean cosine at the facets that w sees; that of w where the coat is smooth.
fn mean_cosine(w: vec3f, sigma: f32) -> f32 {
    return min(0.5 * (w.z + sigma), 1.0);
}

/// F and 1 − F, each with all its digits, from the cosine outside and η times that in the coat, in a common unit.
fn fresnel(cosine: f32, refracted: f32, eta: f32) -> vec2f {
    let eta2 = eta * eta;
    let p = eta2 * cosine + refracted;
    let q = cosine + refracted;
    let scale = 1.0 / (p * q);
    let parallel = (eta2 * cosine - refracted) * (q * scale);
    let perpendicular = (cosine - refracted) * (p * scale);
    let a = eta * q * scale;
    let b = p * scale;
    let transmitted = 2.0 * cosine * refracted * (a * a + b * b);
    return vec2f(0.5 * (parallel * parallel + perpendicular * perpendicular), transmitted);
}

/// η times the cosine in the coat.
fn refract_cosine(c: f32, eta: f32) -> f32 {
    return sqrt((eta - 1.0) * (eta + 1.0) + c * c);
}

/// What η² times the internal reflectance is short of η².
fn transmittance(eta: f32) -> f32 {
    let y = (eta - 1.0) / (eta + 1.0);
    return 1.0 - y * (0.60073961 + y * (-1.8300335 + y * (7.90437113 + y * (-13.55487049 + y * 9.36841349))));
}

/// The part of diffuse light, reflected within the coat, that is not absorbed.
fn internal_reflectance(m: Material) -> f32 {
    let eta2 = m.eta * m.eta;
    let r = sqrt(max(eta2 - 1.0, 1e-6));
    let a = r / (r + 0.89 * m.eta * m.thickness);
    let a2 = a * a;
    return (eta2 - transmittance(m.eta)) * (a2 * a2);
}

fn coat_density(h: vec3f, h2: f32, alpha: vec2f) -> f32 {
    let a = alpha.x * alpha.y;
    let x = h.x * alpha.y;
    let y = h.y * alpha.x;
    let z = h.z * a;
    let ratio = a * h2 / (x * x + y * y + z * z);
    return INV_TWO_PI * a * (ratio * ratio);
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let alpha = roughness(m);
    let sigma_i = sigma(wi, alpha);
    let sigma_o = sigma(wo, alpha);
    let c_i = mean_cosine(wi, sigma_i);
    let c_o = mean_cosine(wo, sigma_o);
    let g_i = refract_cosine(c_i, m.eta);
    let g_o = refract_cosine(c_o, m.eta);
    let t_i = fresnel(c_i, g_i, m.eta).y;
    let t_o = fresnel(c_o, g_o, m.eta).y;
    let path = exp(-m.thickness * m.eta * (1.0/g_i + 1.0/g_o));
    let base = INV_PI * t_i * t_o * path * m.kd / (m.eta * m.eta - m.kd * internal_reflectance(m));
    let h = wi + wo;
    let h2 = dot(h, h);
    let c = 0.5 * h2;
    let g = sqrt((m.eta - 1.0) * (m.eta + 1.0) * h2 + c * c);
    let coat = fresnel(c, g, m.eta).x * coat_density(h, h2, alpha) / (sigma_i * wo.z + sigma_o * wi.z);
    return base + select(coat, 0.0, is_polished(m) || min(wi.z, wo.z) <= GRAZING);
}
