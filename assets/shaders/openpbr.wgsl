//! cosine: included
//!
//! OpenPBR Surface 1.1.1 (Academy Software Foundation 2025, *OpenPBR Surface specification*): fuzz
//! over a coat over a base, which is a mix of metal and a glossy dielectric. What lies below a layer
//! is scaled by 1 − E, where E is the directional albedo of the layer for the view direction:
//!
//!     s = fuzz + (1 − E_fuzz) (coat + (1 − E_coat) T (mix(dielectric, metal, metalness)))
//!     dielectric = reflection + (1 − E_reflection) mix(diffuse, subsurface, subsurface weight)
//!
//! - Facets of metal, dielectric and coat are Trowbridge–Reitz (GGX), with height-correlated masking
//!   for the roughness √(αx αy). Light that scatters between facets is restored after Turquin 2019,
//!   *Practical multiple scattering compensation for microfacet models*: a factor 1 + F (1/E₁ − 1),
//!   where E₁ is the albedo of facets that reflect everything.
//! - E of facets is F₀ A + B, times that factor; A and B are MaterialX's rational fits.
//! - A dielectric has the exact Fresnel term, for the index that `specular_weight` scales. Metal has
//!   the F82-tint model of Kutz, Hašan and Edmondson 2021, *Novel aspects of the Adobe Standard
//!   Material*.
//! - A thin film follows Belcour and Barla 2017, *A practical extension to microfacet theory for the
//!   modeling of varying iridescence*, with two orders of interference.
//! - The diffuse base is EON (Portsmouth, Kutz and Hill 2025, *EON: a practical energy-preserving
//!   rough diffuse BRDF*).
//! - Fuzz is the sheen of Zeltner, Burley and Chiang 2022, *Practical multiple-scattering sheen using
//!   linearly transformed cosines*, with MaterialX's fits of the coefficients.
//! - T is the transmittance of the coat, and the darkening by light that it reflects back to the
//!   base. A rough coat widens the lobes of the base.
//!
//! The material reflects and does not transmit:
//!
//! - `transmission_weight` is the share of the dielectric base that refracts light; this light is
//!   absorbed. Its other parameters, `transmission_…`, have no effect. Use `dielectric` for glass.
//! - Subsurface scattering is the diffuse reflection of `subsurface_color`, as for a mean free path
//!   of zero: the `subsurface_radius…` have no effect. If the wall is thin,
//!   (1 + `subsurface_scatter_anisotropy`)/2 of the light would be transmitted; it is absorbed.
//! - Emission and opacity have no effect: in a scene, they are properties of the shape
//!   (`AreaLightSource`, and `alpha`). The directions of normals and tangents are those of the
//!   shape, for the coat as well.
//!
//! Roughness along each axis is at least 0.001, so that every lobe can be sampled; indices are in
//! [1, 10], and `specular_weight` is at most 1. Not reciprocal, since layers are scaled by the
//! albedo for the view direction. Fits of these albedos are off by 2 %, so that a white surface
//! reflects up to 1.02 times the light that it receives, and at least 0.95 up to 85° from the normal.
//! They overestimate the albedo of a dielectric that reflects little: with `specular_weight` 0, a
//! diffuse base loses 3 % at 60°, and a third at 85°, as in MaterialX.

const PI = 3.141592653589793;
const INV_PI = 0.3183098861837907;

/// Minimum roughness α along an axis.
const MIN_ALPHA = 0.001;

/// Directions with smaller cosines count as directions with this cosine.
const MIN_COSINE = 1e-6;

struct Material {
    /// Weight of the reflection by the diffuse and metallic base. range: [0, 1], default: 1
    base_weight: f32,
    /// Albedo of the diffuse base; reflectance of metal at normal incidence.
    /// range: [0, 1], default: 0.8
    base_color: vec3f,
    /// Roughness of the diffuse base. range: [0, 1], default: 0
    base_diffuse_roughness: f32,
    /// From a dielectric base, 0, to a metallic one, 1. range: [0, 1], default: 0
    base_metalness: f32,
    /// Weight of the reflection by metal; scales the reflectance of the dielectric at normal
    /// incidence. range: [0, 1], default: 1
    specular_weight: f32,
    /// Tint of the dielectric's reflection; reflectance of metal at 82°, relative to Schlick's.
    /// range: [0, 1], default: 1
    specular_color: vec3f,
    /// Roughness √α of the base. range: [0, 1], default: 0.3
    specular_roughness: f32,
    /// Index of refraction of the dielectric base. range: [1, 10], default: 1.5
    specular_ior: f32,
    /// Stretches highlights of the base along x. range: [0, 1], default: 0
    specular_roughness_anisotropy: f32,
    /// Share of the dielectric base that transmits light; what it transmits is absorbed.
    /// range: [0, 1], default: 0
    transmission_weight: f32,
    /// No effect. range: [0, 1], default: 1
    transmission_color: vec3f,
    /// No effect. range: [0, inf), default: 0
    transmission_depth: f32,
    /// No effect. range: [0, 1], default: 0
    transmission_scatter: vec3f,
    /// No effect. range: [-1, 1], default: 0
    transmission_scatter_anisotropy: f32,
    /// No effect. range: [0, 1], default: 0
    transmission_dispersion_scale: f32,
    /// No effect. range: [0, inf), default: 20
    transmission_dispersion_abbe_number: f32,
    /// Share of the opaque dielectric base with the colour `subsurface_color`.
    /// range: [0, 1], default: 0
    subsurface_weight: f32,
    /// Albedo of the subsurface. range: [0, 1], default: 0.8
    subsurface_color: vec3f,
    /// No effect. range: [0, inf), default: 1
    subsurface_radius: f32,
    /// No effect. range: [0, 1], default: (1, 0.5, 0.25)
    subsurface_radius_scale: vec3f,
    /// From back to forward scattering; affects thin walls only. range: [-1, 1], default: 0
    subsurface_scatter_anisotropy: f32,
    /// Weight of the coat. range: [0, 1], default: 0
    coat_weight: f32,
    /// Transmittance of the coat. range: [0, 1], default: 1
    coat_color: vec3f,
    /// Roughness √α of the coat. range: [0, 1], default: 0
    coat_roughness: f32,
    /// Stretches highlights of the coat along x. range: [0, 1], default: 0
    coat_roughness_anisotropy: f32,
    /// Index of refraction of the coat. range: [1, 10], default: 1.6
    coat_ior: f32,
    /// Share of the darkening of the base by interreflections in the coat.
    /// range: [0, 1], default: 1
    coat_darkening: f32,
    /// Weight of the fuzz. range: [0, 1], default: 0
    fuzz_weight: f32,
    /// Colour of the fuzz. range: [0, 1], default: 1
    fuzz_color: vec3f,
    /// Roughness of the fuzz. range: [0, 1], default: 0.5
    fuzz_roughness: f32,
    /// Coverage of the base by a thin film. range: [0, 1], default: 0
    thin_film_weight: f32,
    /// Thickness of the film in micrometres. range: [0, 10], default: 0.5
    thin_film_thickness: f32,
    /// Index of refraction of the film. range: [1, 10], default: 1.4
    thin_film_ior: f32,
    /// No effect. range: [0, inf), default: 0
    emission_luminance: f32,
    /// No effect. range: [0, 1], default: 1
    emission_color: vec3f,
    /// No effect. range: [0, 1], default: 1
    geometry_opacity: f32,
    /// Whether the surface is a thin wall: part of the light from the subsurface is lost.
    /// default: false
    geometry_thin_walled: bool,
}

fn square(x: f32) -> f32 {
    return x * x;
}

fn pow5(x: f32) -> f32 {
    return square(x * x) * x;
}

/// Roughness α along x and y.
fn anisotropic(roughness: f32, anisotropy: f32) -> vec2f {
    let y = 1.0 - anisotropy;
    let x = roughness * roughness * sqrt(2.0 / (1.0 + y * y));
    return clamp(vec2f(x, y * x), vec2f(MIN_ALPHA), vec2f(1.0));
}

/// Reflectance at normal incidence.
fn normal_reflectance(ior: f32) -> f32 {
    return square((ior - 1.0) / (ior + 1.0));
}

/// Facets with roughness α, and what depends on the view direction.
struct Facets {
    alpha: vec2f,
    /// αx αy, the square of the roughness for masking.
    alpha2: f32,
    /// Cosine of the view direction, and its masking √(α² + (1 − α²) cos²).
    cosine: f32,
    masking: f32,
    /// The albedo for F = F₀ + (1 − F₀)(1 − cos)⁵ is F₀ a + b.
    a: f32,
    b: f32,
    /// 1/E₁ − 1.
    missing: f32,
}

/// The albedo is a fit of MaterialX 1.39 (*Rational quadratic fit to Monte Carlo data for GGX
/// directional albedo*).
fn facets(alpha: vec2f, cosine: f32) -> Facets {
    var f: Facets;
    f.alpha = alpha;
    f.alpha2 = alpha.x * alpha.y;
    f.cosine = cosine;
    f.masking = sqrt(f.alpha2 + (1.0 - f.alpha2) * (cosine * cosine));
    let y = sqrt(f.alpha2);
    let c0 = vec4f(0.1003, 0.9345, 1.0, 1.0)
        + y * (vec4f(9.748, 2.229, 8.263, 15.94) + y * vec4f(-8.245, -0.7684, -7.507, 41.26));
    let c1 = vec4f(-0.6303, -2.323, -1.765, 0.2281)
        + y * (vec4f(-2.038, -3.748, 11.53, -55.83) + y * vec4f(19.99, 0.2913, 15.86, 300.2));
    let c2 = vec4f(29.34, 1.424, 28.96, 13.08)
        + y * (vec4f(-26.44, 1.436, -36.11, 54.9) + y * vec4f(-5.448, 0.6286, 33.37, -285.1));
    let r = c0 + cosine * (c1 + cosine * c2);
    f.a = saturate(r.x / r.z);
    f.b = saturate(r.y / r.w);
    f.missing = 1.0 / max(f.a + f.b, 1e-3) - 1.0;
    return f;
}

/// D G₂/(4 cos θo), the reflection of a perfect mirror. Dividing G₂ by both cosines, and multiplying
/// by one, leaves cos θi in one place.
fn mirror_lobe(f: Facets, h: vec3f, h2: f32, cosine_i: f32) -> f32 {
    let x = h.x * f.alpha.y;
    let y = h.y * f.alpha.x;
    let z = h.z * f.alpha2;
    let ratio = f.alpha2 * h2 / (x * x + y * y + z * z);
    let masking = sqrt(1.0 - f.alpha2 + f.alpha2 / (cosine_i * cosine_i));
    return 0.5 * INV_PI * f.alpha2 * (ratio * ratio) / (f.cosine * masking + f.masking);
}

/// Reflectances of a dielectric with an index n of at least 1 for both polarisations, parallel and
/// perpendicular, in a form with tight bounds: with c for the cosine and g = √(n² − 1 + c²), the
/// perpendicular one is ((n² − 1)/(g + c)²)², and the parallel one is that times
/// ((c (g + c) − 1)/(c (g − c) + 1))², where g − c = (n² − 1)/(g + c).
fn polarised_fresnel(c: f32, ior: f32) -> vec2f {
    let k = (ior - 1.0) * (ior + 1.0);
    let sum = sqrt(max(k + c * c, 1e-12)) + c;
    let t = 1.0 / sum;
    let perpendicular = square(k * t * t);
    let quotient = (c * sum - 1.0) / (1.0 + k * (c * t));
    return vec2f(perpendicular * min(quotient * quotient, 1.0), perpendicular);
}

fn dielectric_fresnel(cosine: f32, ior: f32) -> f32 {
    let f = polarised_fresnel(cosine, ior);
    return 0.5 * (f.x + f.y);
}

/// F₀ of metal, and the amount a by which (1 − cos)⁶ cos reduces Schlick's F.
struct Metal {
    f0: vec3f,
    a: vec3f,
}

fn metal(m: Material) -> Metal {
    let f0 = m.base_weight * m.base_color;
    let schlick82 = mix(f0, vec3f(1.0), pow5(6.0 / 7.0));
    // 1/(cos (1 − cos)⁶) at the cosine 1/7.
    return Metal(f0, schlick82 * (1.0 - m.specular_color) * 17.651385);
}

fn metal_fresnel(cosine: f32, metal: Metal) -> vec3f {
    let c = 1.0 - cosine;
    let c5 = pow5(c);
    return max(mix(metal.f0, vec3f(1.0), c5) - metal.a * (cosine * c * c5), vec3f(0.0));
}

/// Sensitivity of the CIE X, Y and Z responses to a wave with a path difference in metres and phase
/// shifts, relative to their integrals: Gaussian fits of Belcour and Barla 2017.
fn sensitivity(path: f32, shift: vec3f) -> vec3f {
    let p = 2.0 * PI * path;
    let p2 = p * p;
    let xyz = vec3f(0.84659, 1.0002219, 1.0011225)
        * cos(vec3f(1.681e6, 1.7953e6, 2.2084e6) * p + shift)
        * exp(vec3f(-4.3278e9, -9.3046e9, -6.6121e9) * p2);
    let second = 0.1538683 * cos(2.2399e6 * p + shift.x) * exp(-4.5282e9 * p2);
    return xyz + vec3f(second, 0.0, 0.0);
}

/// Reflectance in XYZ of one polarisation of a film whose surface reflects `top`, on a base that
/// reflects `base`; the phase of light that is reflected inside shifts by `shift` in total.
fn film_polarised(top: f32, base: vec3f, path: f32, shift: vec3f) -> vec3f {
    let transmitted = 1.0 - top;
    let both = top * base;
    let amplitude = sqrt(both);
    let mean = transmitted * transmitted * base / max(1.0 - both, vec3f(1e-6));
    let first = (mean - transmitted) * amplitude;
    return top + mean + 2.0 * (first * sensitivity(path, shift)
        + first * amplitude * sensitivity(2.0 * path, 2.0 * shift));
}

/// What a film on a base reflects: `parallel` and `perpendicular` are the reflectances of the base
/// in the film, and `shift` their phase shift.
fn film_fresnel(
    cosine: f32,
    cosine_film: f32,
    parallel: vec3f,
    perpendicular: vec3f,
    shift_p: vec3f,
    shift_s: vec3f,
    m: Material,
) -> vec3f {
    let top = polarised_fresnel(cosine, m.thin_film_ior);
    let path = 2e-6 * m.thin_film_ior * m.thin_film_thickness * cosine_film;
    // Beyond Brewster's angle, the phase of the parallel polarisation does not shift.
    let brewster = inverseSqrt(1.0 + m.thin_film_ior * m.thin_film_ior);
    let top_p = select(PI, 0.0, cosine < brewster);
    let xyz = 0.5 * (film_polarised(top.x, parallel, path, shift_p + top_p)
        + film_polarised(top.y, perpendicular, path, shift_s + PI));
    let rgb = vec3f(
        dot(xyz, vec3f(2.3706743, -0.9000405, -0.4706338)),
        dot(xyz, vec3f(-0.5138850, 1.4253036, 0.0885814)),
        dot(xyz, vec3f(0.0052982, -0.0146949, 1.0093968)),
    );
    return saturate(rgb);
}

fn film_cosine(cosine: f32, m: Material) -> f32 {
    return sqrt(max(1.0 - (1.0 - cosine * cosine) / square(m.thin_film_ior), 0.0));
}

/// As `polarised_fresnel`, for any index without total reflection.
fn relative_fresnel(c: f32, ior: f32) -> vec2f {
    let refracted = sqrt(max(ior * ior - 1.0 + c * c, 0.0));
    let parallel = (ior * ior * c - refracted) / max(ior * ior * c + refracted, 1e-9);
    let perpendicular = (c - refracted) / max(c + refracted, 1e-9);
    return vec2f(parallel * parallel, perpendicular * perpendicular);
}

/// The film on a dielectric, whose index relative to the film is at least the sine in the film. Phase
/// shifts are relative to those where the index increases.
fn film_dielectric(cosine: f32, ior: f32, m: Material) -> vec3f {
    let inside = film_cosine(cosine, m);
    let ratio = ior / m.thin_film_ior;
    let base = relative_fresnel(inside, ratio);
    let shift_s = select(0.0, PI, ratio < 1.0);
    let is_below_brewster = inside * inside * (1.0 + ratio * ratio) < 1.0;
    let shift_p = select(shift_s, PI - shift_s, is_below_brewster);
    return film_fresnel(
        cosine, inside, vec3f(base.x), vec3f(base.y), vec3f(shift_p), vec3f(shift_s), m,
    );
}

/// The film on metal, whose phase shift is that of the dielectric with the same F₀.
fn film_metal(cosine: f32, metal: Metal, m: Material) -> vec3f {
    let inside = film_cosine(cosine, m);
    let f = 0.5 * metal_fresnel(inside, metal);
    let root = sqrt(clamp(metal.f0, vec3f(0.01), vec3f(0.99)));
    let ior = (1.0 + root) / (1.0 - root);
    let shift = select(vec3f(0.0), vec3f(PI), ior < vec3f(m.thin_film_ior));
    return film_fresnel(cosine, inside, f, f, shift, shift, m);
}

/// What a cosine misses of the albedo of the diffuse lobe: 1 − E = σ/(1 + (1/2 − 2/(3π)) σ) times
/// this for the roughness σ. A polynomial fit with a relative error of at most 0.0009.
fn diffuse_missing(x: f32) -> f32 {
    return x * (0.318036985
        + x * (0.154167109 + x * (-0.244771684 + x * (0.14263324 - x * 0.082028174))));
}

/// EON times the cosine of wi.
fn diffuse(
    color: vec3f,
    roughness: f32,
    wi: vec3f,
    wo: vec3f,
    cosine_i: f32,
    cosine_o: f32,
) -> vec3f {
    let scale = 1.0 / (1.0 + 0.28779341 * roughness);
    let s = dot(wi.xy, wo.xy);
    let t = select(1.0, max(cosine_i, cosine_o), s > 0.0);
    let single = color * (scale * (1.0 + roughness * (s / t)));
    // 1 − E̅ = 0.2153052 σ · scale cancels what both cosines share.
    let mean = (1.0 + 0.07248821 * roughness) * scale;
    let between = scale * roughness * diffuse_missing(cosine_o) * (1.0 / 0.2153052);
    let multiple = color * color * (mean * between / (1.0 - color * (1.0 - mean)));
    return (single + multiple * diffuse_missing(cosine_i)) * (INV_PI * cosine_i);
}

/// The albedo of fuzz for the view direction: a fit of MaterialX 1.39 to the table of Zeltner et al.
fn fuzz_albedo(x: f32, y: f32) -> f32 {
    let s = y * (0.0206607 + 1.58491 * y) / (0.0379424 + y * (1.32227 + y));
    let m = y * (-0.193854 + y * (-1.14885 + y * (1.7932 - 0.95943 * y * y))) / (0.046391 + y);
    let o = y * (0.000654023 + (-0.0207818 + 0.119681 * y) * y) / (1.26264 + y * (-1.92021 + y));
    return saturate(exp(-0.5 * square((x - m) / s)) / (s * sqrt(2.0 * PI)) + o);
}

/// The lobe of fuzz, which integrates to 1: a linearly transformed cosine, aligned with wo. The
/// coefficients are fits of MaterialX 1.39.
fn fuzz_lobe(wi: vec3f, wo: vec3f, x: f32, y: f32, cosine_i: f32) -> f32 {
    let a = (2.58126 * x + 0.813703 * y) * y / (1.0 + 0.310327 * x * x + 2.60994 * x * y);
    let b = sqrt(max(1.0 - x, 0.0)) * (y - 1.0) * (y * y * y)
        / (0.0000254053 + 1.71228 * x - 1.71506 * x * y + 1.34174 * y * y);
    let length2 = dot(wo.xy, wo.xy);
    let along = wo.xy * inverseSqrt(max(length2, 1e-20));
    let tangent = select(vec2f(1.0, 0.0), along, length2 > 1e-20);
    let u = a * dot(wi.xy, tangent) + b * cosine_i;
    let v = a * (wi.y * tangent.x - wi.x * tangent.y);
    let ratio = a / (u * u + v * v + cosine_i * cosine_i);
    return INV_PI * cosine_i * (ratio * ratio);
}

/// The part of F that is reflected, with light that scatters between facets.
fn compensated(f: vec3f, facets: Facets) -> vec3f {
    return f * (1.0 + facets.missing * f);
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    if wi.z <= 0.0 || wo.z <= 0.0 {
        return vec3f(0.0);
    }
    let cosine_i = max(wi.z, MIN_COSINE);
    let cosine_o = clamp(wo.z, MIN_COSINE, 1.0);
    let h = wi + wo;
    let h2 = dot(h, h);
    let cosine_h = min(0.5 * sqrt(h2), 1.0);

    // The coat widens lobes of the base, and changes the index relative to it.
    let rough2 = square(m.specular_roughness);
    let coat_rough2 = square(m.coat_roughness);
    let widened = sqrt(sqrt(min(rough2 * rough2 + 2.0 * coat_rough2 * coat_rough2, 1.0)));
    let roughness = mix(m.specular_roughness, widened, m.coat_weight);
    let ratio = m.specular_ior / m.coat_ior;
    let relative = mix(m.specular_ior, max(ratio, 1.0 / ratio), m.coat_weight);
    let root = sqrt(min(m.specular_weight * normal_reflectance(relative), 0.99999));
    let ior = (1.0 + root) / (1.0 - root);
    let f0 = root * root;

    let base_facets =
        facets(anisotropic(roughness, m.specular_roughness_anisotropy), cosine_o);
    let base_lobe = mirror_lobe(base_facets, h, h2, cosine_i);
    let metallic = metal(m);
    var reflected_d = vec3f(dielectric_fresnel(cosine_h, ior));
    var gain_d = 1.0 + base_facets.missing * reflected_d;
    reflected_d *= gain_d;
    var reflected_m = compensated(metal_fresnel(cosine_h, metallic), base_facets);
    if m.thin_film_weight > 0.0 && m.thin_film_thickness > 0.0 {
        let film_d = film_dielectric(cosine_h, ior, m);
        let film_m = compensated(film_metal(cosine_h, metallic, m), base_facets);
        gain_d = mix(gain_d, 1.0 + base_facets.missing * film_d, m.thin_film_weight);
        reflected_d = mix(reflected_d, compensated(film_d, base_facets), m.thin_film_weight);
        reflected_m = mix(reflected_m, film_m, m.thin_film_weight);
    }

    // Diffuse and subsurface reflection.
    let wall = select(1.0, 0.5 * (1.0 - m.subsurface_scatter_anisotropy), m.geometry_thin_walled);
    let rough_diffuse =
        diffuse(m.base_color, m.base_diffuse_roughness, wi, wo, cosine_i, cosine_o);
    let subsurface = m.subsurface_color * (wall * INV_PI * cosine_i);
    let opaque = mix(m.base_weight * rough_diffuse, subsurface, m.subsurface_weight);
    let below_d = max(1.0 - (f0 * base_facets.a + base_facets.b) * gain_d, vec3f(0.0));
    let dielectric = m.specular_color * reflected_d * base_lobe
        + below_d * ((1.0 - m.transmission_weight) * opaque);
    let metal_reflection = reflected_m * (m.specular_weight * base_lobe);
    var s = mix(dielectric, metal_reflection, m.base_metalness);

    if m.coat_weight > 0.0 {
        let coat_facets =
            facets(anisotropic(m.coat_roughness, m.coat_roughness_anisotropy), cosine_o);
        let coat_f0 = normal_reflectance(m.coat_ior);
        let f = dielectric_fresnel(cosine_h, m.coat_ior);
        let gain = 1.0 + coat_facets.missing * f;
        let coat = f * gain * mirror_lobe(coat_facets, h, h2, cosine_i);
        let coat_albedo = (coat_f0 * coat_facets.a + coat_facets.b) * gain;
        let below = max(1.0 - m.coat_weight * coat_albedo, 0.0);
        let inside = 1.0 - (1.0 - coat_f0) / square(m.coat_ior);
        let albedo = mix(
            mix(m.base_color, m.subsurface_color, m.subsurface_weight),
            m.base_color * m.specular_weight,
            m.base_metalness,
        );
        let darkening = min((1.0 - inside) / (1.0 - albedo * inside), vec3f(1.0));
        let transmitted = mix(vec3f(1.0), m.coat_color, m.coat_weight)
            * mix(vec3f(1.0), darkening, m.coat_weight * m.coat_darkening);
        s = m.coat_weight * coat + (below * transmitted) * s;
    }
    if m.fuzz_weight > 0.0 {
        let y = max(m.fuzz_roughness, 0.01);
        let albedo = fuzz_albedo(cosine_o, y);
        let fuzz = albedo * fuzz_lobe(wi, wo, cosine_o, y, cosine_i);
        s = m.fuzz_weight * fuzz * m.fuzz_color + (1.0 - m.fuzz_weight * albedo) * s;
    }
    return s;
}
