//! sides: both if transmission_weight or geometry_thin_walled
//! cosine: included
//!
//! OpenPBR Surface 1.1.1 (Academy Software Foundation 2025, *OpenPBR Surface specification*): fuzz
//! over a coat over a base, which is a mix of metal and a glossy dielectric. What lies below a layer
//! is scaled by 1 − E, where E is the directional albedo of the layer for the view direction:
//!
//!     s = fuzz + (1 − E_fuzz) (coat + (1 − E_coat) T (mix(dielectric, metal, metalness)))
//!     dielectric = F reflection + mix(opaque, (1 − F) refraction, transmission weight)
//!     opaque = (1 − E_reflection) mix(diffuse, subsurface, subsurface weight)
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
//! - The boundary of a volume refracts (Walter et al. 2007, *Microfacet models for refraction
//!   through rough surfaces*), with the index of the base: a coat does not bend light, and what
//!   passes it once gets the square root of its colour. Radiance that enters a volume is scaled by
//!   the squared index, as by `dielectric`. From inside, the base reflects as a dielectric,
//!   without coat and fuzz.
//! - A thin wall lets light pass straight on, as if it reflected it on the other side. It reflects at
//!   both of its faces, 2F/(1 + F), and the subsurface scatters (1 + anisotropy)/2 of its light to the
//!   other side.
//!
//! What depends on the scene is not here:
//!
//! - With a `transmission_depth`, light is coloured inside of the volume, by a medium of the scene.
//!   Without one, it is coloured where it passes the surface. `transmission_scatter…` and
//!   `transmission_dispersion…` have no effect.
//! - Subsurface scattering is the diffuse reflection of `subsurface_color`, as for a mean free path
//!   of zero: the `subsurface_radius…` have no effect. Pbrt's `subsurface` has volumes that scatter.
//! - Emission and opacity have no effect: in a scene, they are properties of the shape
//!   (`AreaLightSource`, and `alpha`). Tangents are angles, and the coat may have a normal of its own,
//!   in the shading frame.
//!
//! One lobe is sampled, in proportion to estimates of their albedos: visible normals (Heitz 2018;
//! Dupuy and Benyoub 2023), which F then reflects or lets pass, the cosine, or the lobe of fuzz.
//!
//! Roughness along each axis is at least 0.001, so that every lobe can be sampled; indices are in
//! [1, 10], that of a volume is at least 1.01, and `specular_weight` is at most 1. Light that would
//! scatter between facets while it is refracted is lost: a tenth for the roughness 0.6, and up to
//! three tenths for 1. Not reciprocal, since layers are scaled by the
//! albedo for the view direction. Fits of these albedos are off by 2 %, so that a white surface
//! reflects up to 1.02 times the light that it receives, and at least 0.95 up to 85° from the normal;
//! smooth metal and coats up to 1.09 times near 85°.
//! With anisotropy it is more, up to 1.1 times at 0.9: masking is that of isotropic facets, as in
//! MaterialX.
//! They overestimate the albedo of a dielectric that reflects little: with `specular_weight` 0, a
//! diffuse base loses 3 % at 60°, and a third at 85°, as in MaterialX.

const PI = 3.141592653589793;
const INV_PI = 0.3183098861837907;

/// Minimum roughness α along an axis.
const MIN_ALPHA = 0.001;

/// Directions with smaller cosines count as directions with this cosine.
const MIN_COSINE = 1e-6;

/// Nothing is scattered at smaller cosines.
const MIN_SCATTERED = 1e-9;

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
    /// Share of the dielectric base that transmits light. range: [0, 1], default: 0
    transmission_weight: f32,
    /// Colour of transmitted light. range: [0, 1], default: 1
    transmission_color: vec3f,
    /// Distance in which a volume has this colour; 0 colours light at the surface.
    /// range: [0, inf), default: 0
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
    /// Angle in radians from the x axis to the direction of anisotropy of the base.
    /// range: [-7, 7], default: 0
    geometry_rotation: f32,
    /// Normal of the coat in the shading frame, of any length. range: [-1, 1], default: (0, 0, 1)
    geometry_coat_normal: vec3f,
    /// Angle in radians from the x axis to the direction of anisotropy of the coat, in its frame.
    /// range: [-7, 7], default: 0
    geometry_coat_rotation: f32,
    /// Whether the surface is a thin wall, and does not bound a volume. default: false
    geometry_thin_walled: bool,
}

fn square(x: f32) -> f32 {
    return x * x;
}

fn pow5(x: f32) -> f32 {
    return square(x * x) * x;
}

fn largest(v: vec3f) -> f32 {
    return max(max(v.x, v.y), v.z);
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

/// The linear transform from the lobe of fuzz to a cosine lobe, aligned with wo: (a x + b z, a y, z).
/// The coefficients a and b are fits of MaterialX 1.39.
fn fuzz_transform(x: f32, y: f32) -> vec2f {
    let a = (2.58126 * x + 0.813703 * y) * y / (1.0 + 0.310327 * x * x + 2.60994 * x * y);
    let b = sqrt(max(1.0 - x, 0.0)) * (y - 1.0) * (y * y * y)
        / (0.0000254053 + 1.71228 * x - 1.71506 * x * y + 1.34174 * y * y);
    return vec2f(a, b);
}

/// The x axis of the lobe of fuzz.
fn fuzz_tangent(wo: vec3f) -> vec2f {
    let length2 = dot(wo.xy, wo.xy);
    let along = wo.xy * inverseSqrt(max(length2, 1e-20));
    return select(vec2f(1.0, 0.0), along, length2 > 1e-20);
}

/// The lobe of fuzz, which integrates to 1: a linearly transformed cosine.
fn fuzz_lobe(wi: vec3f, wo: vec3f, x: f32, y: f32, cosine_i: f32) -> f32 {
    let t = fuzz_transform(x, y);
    let tangent = fuzz_tangent(wo);
    let u = t.x * dot(wi.xy, tangent) + t.y * cosine_i;
    let v = t.x * (wi.y * tangent.x - wi.x * tangent.y);
    let ratio = t.x / (u * u + v * v + cosine_i * cosine_i);
    return INV_PI * cosine_i * (ratio * ratio);
}

/// Samples the lobe of fuzz: transforms a direction d of the cosine lobe.
fn fuzz_direction(d: vec3f, wo: vec3f, x: f32, y: f32) -> vec3f {
    let t = fuzz_transform(x, y);
    let tangent = fuzz_tangent(wo);
    let u = d.x - t.y * d.z;
    return vec3f(u * tangent.x - d.y * tangent.y, u * tangent.y + d.y * tangent.x, t.x * d.z);
}

/// The part of F that is reflected, with light that scatters between facets.
fn compensated(f: vec3f, facets: Facets) -> vec3f {
    return f * (1.0 + facets.missing * f);
}

/// Whether all light that the material scatters is on the side of wo.
fn only_reflects(m: Material) -> bool {
    return m.transmission_weight <= 0.0 && !m.geometry_thin_walled;
}

/// The factor that turns directions so that wo is above the surface.
fn side_of(wo: vec3f) -> f32 {
    return select(1.0, -1.0, wo.z < 0.0);
}

/// A direction in a frame that is turned by an angle around the z axis.
fn turned(w: vec3f, angle: f32) -> vec3f {
    if angle != 0.0 {
        let c = cos(angle);
        let s = sin(angle);
        return vec3f(c * w.x + s * w.y, c * w.y - s * w.x, w.z);
    }
    return w;
}

/// Whether the coat's normal differs from that of the surface.
fn is_tilted(m: Material) -> bool {
    return m.geometry_coat_normal.x != 0.0 || m.geometry_coat_normal.y != 0.0;
}

/// Rotates by 180° about the bisector of both normals, which swaps them. The x axis is reversed, too,
/// which does not matter, since facets are symmetric.
fn half_turn(w: vec3f, m: Material) -> vec3f {
    let n = m.geometry_coat_normal;
    let upper = select(-n, n, n.z > 0.0) * inverseSqrt(max(dot(n, n), 1e-12));
    let axis = vec3f(upper.xy, upper.z + 1.0);
    return (2.0 * dot(axis, w) / dot(axis, axis)) * axis - w;
}

/// The sign of z for a view direction that is above the surface.
fn coat_side(o: vec3f, m: Material) -> f32 {
    if is_tilted(m) {
        return select(1.0, -1.0, half_turn(o, m).z < 0.0);
    }
    return 1.0;
}

/// A direction in the frame of the coat, which is mirrored if it is seen from behind.
fn to_coat(w: vec3f, side: f32, m: Material) -> vec3f {
    var v = w;
    if is_tilted(m) {
        let t = half_turn(w, m);
        v = vec3f(t.xy, side * t.z);
    }
    return turned(v, m.geometry_coat_rotation);
}

fn from_coat(w: vec3f, side: f32, m: Material) -> vec3f {
    let v = turned(w, -m.geometry_coat_rotation);
    if is_tilted(m) {
        return half_turn(vec3f(v.xy, side * v.z), m);
    }
    return v;
}

/// Whether the dielectric reflects: not if its index is 1.
fn dielectric_reflects(m: Material) -> bool {
    return m.specular_weight > 0.0 || m.thin_film_weight > 0.0 || m.transmission_weight > 0.0;
}

fn has_film(m: Material) -> bool {
    return m.thin_film_weight > 0.0 && m.thin_film_thickness > 0.0;
}

/// The index of a dielectric whose reflectance at normal incidence is scaled by `specular_weight`.
fn weighted_index(index: f32, m: Material) -> f32 {
    let root = sqrt(min(m.specular_weight * normal_reflectance(index), 0.99999));
    return (1.0 + root) / (1.0 - root);
}

/// What the view direction o, which is above the surface, sees of the base.
struct Base {
    facets: Facets,
    metal: Metal,
    /// Index of the dielectric relative to what is outside of it, at least 1, and its F₀.
    ior: f32,
    f0: f32,
    /// Index of the volume.
    index: f32,
    /// Whether o is inside of the volume.
    inside: bool,
}

fn base(o: vec3f, side: f32, m: Material) -> Base {
    var b: Base;
    // The coat widens lobes of the base, and changes the index relative to it.
    let rough2 = square(m.specular_roughness);
    let coat_rough2 = square(m.coat_roughness);
    let widened = sqrt(sqrt(min(rough2 * rough2 + 2.0 * coat_rough2 * coat_rough2, 1.0)));
    let roughness = mix(m.specular_roughness, widened, m.coat_weight);
    b.facets = facets(anisotropic(roughness, m.specular_roughness_anisotropy), view_cosine(o));
    b.metal = metal(m);
    b.inside = side < 0.0 && m.transmission_weight > 0.0 && !m.geometry_thin_walled;
    // For smooth facets near 85°, fits miss up to 8 % of the albedo, which light that is reflected
    // inside many times would gain.
    let faded = b.facets.missing * min(625.0 * b.facets.alpha2, 1.0);
    b.facets.missing = select(b.facets.missing, faded, b.inside);
    b.index = max(weighted_index(m.specular_ior, m), 1.01);
    let ratio = m.specular_ior / m.coat_ior;
    let relative = mix(m.specular_ior, max(ratio, 1.0 / ratio), m.coat_weight);
    b.ior = select(weighted_index(relative, m), b.index, b.inside);
    b.f0 = normal_reflectance(b.ior);
    return b;
}

fn view_cosine(o: vec3f) -> f32 {
    return clamp(o.z, MIN_COSINE, 1.0);
}

fn coat_facets(o: vec3f, m: Material) -> Facets {
    return facets(anisotropic(m.coat_roughness, m.coat_roughness_anisotropy), view_cosine(o));
}

/// The cosine outside of the volume of a direction with this cosine on the side of o; 0 for total
/// reflection.
fn outer_cosine(cosine: f32, b: Base) -> f32 {
    let outer2 = 1.0 - square(b.index) * (1.0 - cosine * cosine);
    return select(cosine, sqrt(max(outer2, 0.0)), b.inside);
}

/// Reflectances of the base for an angle.
struct Reflectance {
    /// F of the dielectric.
    dielectric: vec3f,
    /// The gain by light that scatters between facets, and F with it.
    gain: vec3f,
    reflected: vec3f,
    /// What metal reflects, with light that scatters between facets.
    metal: vec3f,
}

fn reflectance(cosine: f32, b: Base, m: Material) -> Reflectance {
    var r: Reflectance;
    let outer = outer_cosine(cosine, b);
    let is_total = b.inside && outer <= 0.0;
    r.dielectric = vec3f(select(dielectric_fresnel(outer, b.ior), 1.0, is_total));
    r.gain = 1.0 + b.facets.missing * r.dielectric;
    r.reflected = r.dielectric * r.gain;
    r.metal = compensated(metal_fresnel(cosine, b.metal), b.facets);
    if has_film(m) {
        let film_d = select(film_dielectric(outer, b.ior, m), vec3f(1.0), is_total);
        let film_m = compensated(film_metal(cosine, b.metal, m), b.facets);
        let gain = 1.0 + b.facets.missing * film_d;
        r.dielectric = mix(r.dielectric, film_d, m.thin_film_weight);
        r.gain = mix(r.gain, gain, m.thin_film_weight);
        r.reflected = mix(r.reflected, film_d * gain, m.thin_film_weight);
        r.metal = mix(r.metal, film_m, m.thin_film_weight);
    }
    return r;
}

/// What both faces of a thin wall reflect.
fn wall_reflectance(f: vec3f) -> vec3f {
    return 2.0 * f / (1.0 + f);
}

/// The colour of light that passes the surface. The path through a thin wall is longer at oblique
/// angles.
fn transmittance(b: Base, m: Material) -> vec3f {
    let sine2 = 1.0 - square(b.facets.cosine);
    let stretch = inverseSqrt(1.0 - sine2 / square(b.index));
    let wall = pow(m.transmission_color, vec3f(stretch));
    let surface = select(m.transmission_color, vec3f(1.0), m.transmission_depth > 0.0);
    return select(surface, wall, m.geometry_thin_walled);
}

/// The share of the subsurface's light that leaves a surface on the side of wi.
fn reflected_share(m: Material) -> f32 {
    return select(1.0, 0.5 * (1.0 - m.subsurface_scatter_anisotropy), m.geometry_thin_walled);
}

/// The coat, for the view direction.
struct Coat {
    /// Albedo, times the weight.
    albedo: f32,
    /// Factors of light that the base reflects, and of light that it transmits.
    reflected: vec3f,
    transmitted: vec3f,
}

fn coat(facets: Facets, gain: f32, b: Base, m: Material) -> Coat {
    var c: Coat;
    let f0 = normal_reflectance(m.coat_ior);
    c.albedo = select(m.coat_weight * ((f0 * facets.a + facets.b) * gain), 0.0, b.inside);
    let below = max(1.0 - c.albedo, 0.0);
    let inside = 1.0 - (1.0 - f0) / square(m.coat_ior);
    let albedo = mix(
        mix(m.base_color, m.subsurface_color, m.subsurface_weight),
        m.base_color * m.specular_weight,
        m.base_metalness,
    );
    let darkening = min((1.0 - inside) / (1.0 - albedo * inside), vec3f(1.0));
    let darkened = mix(vec3f(1.0), darkening, m.coat_weight * m.coat_darkening);
    let twice = mix(vec3f(1.0), m.coat_color, m.coat_weight) * darkened;
    c.reflected = below * select(twice, vec3f(1.0), b.inside);
    c.transmitted = below * mix(vec3f(1.0), sqrt(m.coat_color), m.coat_weight);
    return c;
}

/// Facets that refract o to i, on the other side.
struct Refraction {
    /// The cosine between facet and o.
    cosine_o: f32,
    /// 2 D i o/(i + o)², for i = nᵢ |i·h| and o = nₒ |o·h|.
    density: f32,
    index_i: f32,
    index_o: f32,
}

fn refraction(b: Base, i: vec3f, o: vec3f) -> Refraction {
    var r: Refraction;
    r.index_o = select(1.0, b.index, b.inside);
    r.index_i = select(b.index, 1.0, b.inside);
    let h = r.index_i * i + r.index_o * o;
    let h2 = max(dot(h, h), 1e-12);
    // Both sum to h², and differ by nᵢ² − nₒ².
    let difference = (r.index_i - r.index_o) * (r.index_i + r.index_o);
    let along_i = 0.5 * (h2 + difference);
    let along_o = 0.5 * (h2 - difference);
    // Both directions must see the facet from their own side.
    let connected = along_i * h.z * i.z > 0.0 && along_o * h.z * o.z > 0.0;
    let x = h.x * b.facets.alpha.y;
    let y = h.y * b.facets.alpha.x;
    let z = h.z * b.facets.alpha2;
    let scale = b.facets.alpha2 / (x * x + y * y + z * z);
    r.cosine_o = min(abs(along_o) * inverseSqrt(h2) / r.index_o, 1.0);
    r.density = select(
        0.0,
        2.0 * INV_PI * b.facets.alpha2 * abs(along_i * scale) * abs(along_o * scale),
        connected,
    );
    return r;
}

/// What the dielectric transmits to the other side, without layers above.
fn transmitted_light(b: Base, i: vec3f, o: vec3f, m: Material) -> vec3f {
    let cosine_i = clamp(-i.z, MIN_COSINE, 1.0);
    let subsurface = m.subsurface_weight * (1.0 - reflected_share(m));
    let below = 1.0 - dielectric_albedo(b, m);
    var s = m.subsurface_color
        * ((1.0 - m.transmission_weight) * below * subsurface * (INV_PI * cosine_i));
    if m.transmission_weight > 0.0 {
        let color = m.transmission_weight * transmittance(b, m);
        if m.geometry_thin_walled {
            let mirrored = vec3f(i.xy, -i.z);
            let h = mirrored + o;
            let h2 = max(dot(h, h), 1e-12);
            let r = reflectance(min(0.5 * sqrt(h2), 1.0), b, m);
            let passes = (1.0 - wall_reflectance(r.dielectric)) * (1.0 + b.facets.missing);
            s += color * passes * mirror_lobe(b.facets, h, h2, cosine_i);
        } else {
            let t = refraction(b, i, o);
            let passes = 1.0 - reflectance(t.cosine_o, b, m).dielectric;
            let masking = sigma(i, b.facets.alpha) / cosine_i;
            s += color * passes * (t.density * t.index_o
                / (t.index_i * (b.facets.cosine * masking + sigma(o, b.facets.alpha))));
        }
    }
    return (1.0 - m.base_metalness) * s;
}

/// The albedo of the dielectric's reflection.
fn dielectric_albedo(b: Base, m: Material) -> f32 {
    let r = reflectance(b.facets.cosine, b, m);
    let e = largest((b.f0 * b.facets.a + b.facets.b) * r.gain);
    return min(select(e, max(e, largest(r.dielectric)), b.inside), 1.0);
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let side = side_of(wo);
    let i = turned(side * wi, m.geometry_rotation);
    let o = turned(side * wo, m.geometry_rotation);
    if o.z <= 0.0 || (i.z <= 0.0 && only_reflects(m)) {
        return vec3f(0.0);
    }
    let cosine_i = max(i.z, MIN_COSINE);
    let cosine_o = view_cosine(o);
    let h = i + o;
    let h2 = dot(h, h);
    let cosine_h = min(0.5 * sqrt(h2), 1.0);

    let b = base(o, side, m);
    let lobe = mirror_lobe(b.facets, h, h2, cosine_i);
    let r = reflectance(cosine_h, b, m);

    // Diffuse and subsurface reflection.
    let rough_diffuse =
        diffuse(m.base_color, m.base_diffuse_roughness, i, o, cosine_i, cosine_o);
    let subsurface = m.subsurface_color * (reflected_share(m) * INV_PI * cosine_i);
    let opaque = mix(m.base_weight * rough_diffuse, subsurface, m.subsurface_weight);
    var below_d = max(1.0 - (b.f0 * b.facets.a + b.facets.b) * r.gain, vec3f(0.0));
    if b.inside {
        below_d = vec3f(1.0 - dielectric_albedo(b, m));
    }
    var reflected = r.reflected;
    if m.geometry_thin_walled {
        let wall = wall_reflectance(r.dielectric) * (1.0 + b.facets.missing);
        reflected = mix(reflected, wall, m.transmission_weight);
    }
    // Conditions, since a lobe with the weight 0 costs as much as any other if it may be infinite.
    var s = vec3f(0.0);
    if m.base_metalness < 1.0 {
        s = below_d * ((1.0 - m.transmission_weight) * opaque);
        if dielectric_reflects(m) {
            let tint = select(m.specular_color, vec3f(1.0), b.inside);
            s = tint * reflected * lobe + s;
        }
        s *= 1.0 - m.base_metalness;
    }
    if m.base_metalness > 0.0 {
        s += r.metal * (m.specular_weight * lobe) * m.base_metalness;
    }
    let reflects = i.z > 0.0;
    if !only_reflects(m) {
        s = select(transmitted_light(b, i, o, m), s, reflects);
    }

    if m.coat_weight > 0.0 {
        let coat_z = coat_side(side * wo, m);
        let coat_i = to_coat(side * wi, coat_z, m);
        let coat_o = to_coat(side * wo, coat_z, m);
        let facets = coat_facets(coat_o, m);
        let f = dielectric_fresnel(cosine_h, m.coat_ior);
        let gain = 1.0 + facets.missing * f;
        let c = coat(facets, gain, b, m);
        let lobe_c = mirror_lobe(facets, coat_i + coat_o, h2, max(coat_i.z, MIN_COSINE));
        s *= select(c.transmitted, c.reflected, reflects);
        let is_above = reflects && !b.inside && (!is_tilted(m) || coat_i.z > 0.0);
        s += select(0.0, m.coat_weight * (f * gain * lobe_c), is_above);
    }
    if m.fuzz_weight > 0.0 {
        let y = max(m.fuzz_roughness, 0.01);
        let albedo = fuzz_albedo(cosine_o, y);
        let fuzz = albedo * fuzz_lobe(i, o, cosine_o, y, cosine_i);
        let weight = select(m.fuzz_weight, 0.0, b.inside);
        s = weight * select(0.0, fuzz, reflects) * m.fuzz_color + (1.0 - weight * albedo) * s;
    }
    return select(vec3f(0.0), s, abs(wi.z) > MIN_SCATTERED && o.z > MIN_SCATTERED);
}

/// Probabilities of the lobes, relative to each other: facets of the base and the coat, fuzz, and
/// diffuse light on the side of wo and on the other one.
struct Lobes {
    base: f32,
    coat: f32,
    fuzz: f32,
    diffuse: f32,
    transmitted: f32,
}

/// Relative probabilities for the view direction o, which is not turned by `geometry_rotation`, and
/// what it sees of the base.
fn lobes(b: Base, o: vec3f, m: Material) -> Lobes {
    var p: Lobes;
    var e = 0.0;
    if dielectric_reflects(m) {
        e = b.f0 * b.facets.a + b.facets.b;
        if b.inside || has_film(m) {
            e = dielectric_albedo(b, m);
        }
        e = min(e, 1.0);
        // The fit is 0 for some directions if metal is black and smooth, but the lobe is not.
        var mirror = largest(b.metal.f0) * b.facets.a + b.facets.b;
        if has_film(m) {
            mirror = largest(reflectance(b.facets.cosine, b, m).metal);
        }
        let metal = m.specular_weight * max(mirror, 0.02);
        let clear = m.transmission_weight * (1.0 - e) * largest(transmittance(b, m));
        let tint = select(largest(m.specular_color), 1.0, b.inside);
        p.base = mix(tint * e + clear, metal, m.base_metalness);
    }
    let opaque = (1.0 - m.base_metalness) * (1.0 - m.transmission_weight) * (1.0 - e);
    let subsurface = m.subsurface_weight * largest(m.subsurface_color);
    let share = reflected_share(m);
    let diffuse = (1.0 - m.subsurface_weight) * m.base_weight * largest(m.base_color);
    p.diffuse = opaque * (diffuse + subsurface * share);
    p.transmitted = opaque * subsurface * (1.0 - share);
    var below = 1.0;
    if m.coat_weight > 0.0 {
        let facets = coat_facets(to_coat(o, coat_side(o, m), m), m);
        let c = coat(facets, 1.0, b, m);
        p.coat = c.albedo;
        below = largest(c.reflected);
    }
    if m.fuzz_weight > 0.0 {
        let albedo = fuzz_albedo(b.facets.cosine, max(m.fuzz_roughness, 0.01));
        let weight = select(m.fuzz_weight * albedo, 0.0, b.inside);
        p.fuzz = weight * largest(m.fuzz_color);
        p.coat *= 1.0 - weight;
        below *= 1.0 - weight;
    }
    p.base *= below;
    p.transmitted *= below;
    if m.base_metalness < 1.0 {
        p.diffuse = p.diffuse * below + 1e-3;
    }
    return p;
}

fn total(p: Lobes) -> f32 {
    return max(p.base + p.coat + p.fuzz + p.diffuse + p.transmitted, 1e-6);
}

/// The probability that a facet of the base reflects.
fn reflection_probability(cosine: f32, b: Base, m: Material) -> f32 {
    let r = reflectance(cosine, b, m);
    let wall = wall_reflectance(r.dielectric);
    let f = select(r.dielectric, wall, m.geometry_thin_walled);
    let tint = select(m.specular_color, vec3f(1.0), b.inside);
    let mirrors = mix(
        tint * mix(r.dielectric, f, m.transmission_weight),
        m.specular_weight * r.metal,
        m.base_metalness,
    );
    let passes = (1.0 - m.base_metalness) * m.transmission_weight
        * largest((1.0 - f) * transmittance(b, m));
    let reflected = largest(mirrors) + 1e-6;
    return reflected / (reflected + passes);
}

/// The length of a direction after stretching by α.
fn sigma(w: vec3f, alpha: vec2f) -> f32 {
    return sqrt(square(alpha.x * w.x) + square(alpha.y * w.y) + w.z * w.z);
}

/// The density of visible normals divided by the Jacobian of the reflection.
fn mirror_pdf(f: Facets, h: vec3f, h2: f32, o: vec3f) -> f32 {
    let x = h.x * f.alpha.y;
    let y = h.y * f.alpha.x;
    let z = h.z * f.alpha2;
    let ratio = f.alpha2 * h2 / (x * x + y * y + z * z);
    let density = 0.5 * INV_PI * f.alpha2 * (ratio * ratio);
    return density / (f.cosine + sigma(o, f.alpha));
}

fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    let side = side_of(wo);
    let i = turned(side * wi, m.geometry_rotation);
    let o = turned(side * wo, m.geometry_rotation);
    if o.z <= 0.0 || (i.z <= 0.0 && only_reflects(m)) {
        return 0.0;
    }
    let reflects = i.z > 0.0;
    let b = base(o, side, m);
    let p = lobes(b, side * wo, m);
    // A wall lets light pass as if it reflected it on the other side.
    let h = select(i, vec3f(i.xy, abs(i.z)), m.geometry_thin_walled) + o;
    let h2 = dot(h, h);
    var density = select(p.transmitted, p.diffuse, reflects) * abs(i.z) * INV_PI;
    let mirror = mirror_pdf(b.facets, h, h2, o);
    if m.transmission_weight > 0.0 {
        let share = reflection_probability(min(0.5 * sqrt(h2), 1.0), b, m);
        var passed = (1.0 - share) * mirror;
        if !m.geometry_thin_walled {
            let t = refraction(b, i, o);
            passed = (1.0 - reflection_probability(t.cosine_o, b, m)) * t.density * t.index_i
                / (t.index_o * (b.facets.cosine + sigma(o, b.facets.alpha)));
        }
        density += p.base * select(passed, share * mirror, reflects);
    } else if dielectric_reflects(m) {
        density += select(0.0, p.base * mirror, reflects);
    }
    if m.coat_weight > 0.0 {
        let coat_z = coat_side(side * wo, m);
        let coat_i = to_coat(side * wi, coat_z, m);
        let coat_o = to_coat(side * wo, coat_z, m);
        let mirror_c = mirror_pdf(coat_facets(coat_o, m), coat_i + coat_o, h2, coat_o);
        let is_above = reflects && (!is_tilted(m) || coat_i.z > 0.0);
        density += select(0.0, p.coat * mirror_c, is_above);
    }
    if m.fuzz_weight > 0.0 {
        let y = max(m.fuzz_roughness, 0.01);
        let fuzz = fuzz_lobe(i, o, b.facets.cosine, y, max(i.z, MIN_COSINE));
        density += select(0.0, p.fuzz * fuzz, reflects);
    }
    density /= total(p);
    return select(0.0, density, min(abs(wi.z), abs(wo.z)) > MIN_SCATTERED);
}

/// Samples a normal visible from o, of any length. In the stretched space, where facets form a
/// sphere, it lies halfway between o and a uniform point on the cap z > −o.z.
fn visible_normal(d: vec2f, o: vec3f, alpha: vec2f) -> vec3f {
    let r2 = dot(d, d);
    let length = sigma(o, alpha);
    let height = length + o.z;
    let n = alpha * o.xy + d * sqrt(height * max(2.0 * length - r2 * height, 0.0));
    return vec3f(alpha * n, max(1.0 - r2, 1e-7) * height);
}

/// Maps a uniform sample to the unit disk by the concentric map of Shirley and Chiu 1997, *A low
/// distortion map between disk and square*. Sine and cosine up to π/4 are polynomials.
fn disk(u: vec2f) -> vec2f {
    let p = 2.0 * u - 1.0;
    let x_major = abs(p.x) > abs(p.y);
    let r = select(p.y, p.x, x_major);
    let t = select(p.x, p.y, x_major) / select(r, 1.0, r == 0.0);
    let s = t * t;
    let sine = t * (0.7853982 + s * (-0.08074543 + s * (0.002490007 + s * -3.59544e-5)));
    let cosine =
        1.0 + s * (-0.30842514 + s * (0.015854325 + s * (-3.259386e-4 + s * 3.5298043e-6)));
    return r * vec2f(select(sine, cosine, x_major), select(cosine, sine, x_major));
}

/// A third random number in [0, 1): a hash of the other two, statistically independent of them.
fn hash_uniform(u: vec2f) -> f32 {
    var bits = bitcast<u32>(u.x) * 747796405u + bitcast<u32>(u.y);
    bits = (bits ^ (bits >> 16u)) * 2891336453u;
    bits = (bits ^ (bits >> 15u)) * 277803737u;
    return f32((bits ^ (bits >> 16u)) >> 8u) * 5.9604645e-8;
}

/// The direction to which a facet of the base sends o; a grazing one, with a density of 0, if it is on
/// the wrong side.
fn scattered(n: vec3f, o: vec3f, passes: bool, b: Base, m: Material) -> vec3f {
    let n2 = dot(n, n);
    let c = dot(o, n);
    var i = (2.0 * c / n2) * n - o;
    if passes && m.geometry_thin_walled {
        i = vec3f(i.xy, -i.z);
    } else if passes {
        let index_o = select(1.0, b.index, b.inside);
        let index_i = select(b.index, 1.0, b.inside);
        let cosine = index_o * c;
        // By Snell's law; 0 for total internal reflection.
        let refracted = sqrt(max(
            (index_i - index_o) * (index_i + index_o) * n2 + cosine * cosine, 0.0,
        ));
        i = ((cosine - refracted) / n2) * n - index_o * o;
    }
    if only_reflects(m) {
        // The density is 0 on the other side.
        return i;
    }
    let valid = select(i.z > 0.0, i.z < 0.0, passes);
    return select(vec3f(1.0, 0.0, 0.0), i, valid);
}

fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    let side = side_of(wo);
    let o = turned(side * wo, m.geometry_rotation);
    let b = base(o, side, m);
    let p = lobes(b, side * wo, m);
    // u.x selects the lobe, then is remapped to [0, 1) for reuse. Rounding can place x past the last
    // lobe. Pure metal has no diffuse lobe to fall back to, so the base is chosen.
    let x = u.x * total(p);
    let after_coat = p.base + p.coat;
    let after_fuzz = after_coat + p.fuzz;
    let after_diffuse = after_fuzz + p.diffuse;
    let is_metal = m.base_metalness >= 1.0;
    let is_base = (is_metal && ((p.coat <= 0.0 && p.fuzz <= 0.0) || x >= after_fuzz))
        || (p.base > 0.0 && x < p.base);
    let is_coat = p.coat > 0.0 && !is_base && x < after_coat;
    let is_facet = is_base || is_coat;
    let is_fuzz = p.fuzz > 0.0 && !is_facet && x < after_fuzz;
    let is_transmitted = p.transmitted > 0.0 && !is_facet && !is_fuzz && x >= after_diffuse;
    var start = select(after_fuzz, after_diffuse, is_transmitted);
    start = select(select(select(start, after_coat, is_fuzz), p.base, is_coat), 0.0, is_base);
    var width = select(p.diffuse, p.transmitted, is_transmitted);
    width = select(select(select(width, p.fuzz, is_fuzz), p.coat, is_coat), p.base, is_base);
    let d = disk(vec2f(clamp((x - start) / max(width, 1e-20), 0.0, 0.99999994), u.y));

    // Diffuse lobes. The clamp keeps directions above the horizon, so the density is never 0.
    let z = sqrt(max(1.0 - dot(d, d), 6e-8));
    var i = vec3f(d, select(z, -z, is_transmitted));
    if m.fuzz_weight > 0.0 && is_fuzz {
        i = fuzz_direction(vec3f(d, z), side * wo, view_cosine(o), max(m.fuzz_roughness, 0.01));
    }
    if is_facet {
        let coat_z = coat_side(side * wo, m);
        var view = o;
        var alpha = b.facets.alpha;
        if m.coat_weight > 0.0 && is_coat {
            view = to_coat(side * wo, coat_z, m);
            alpha = anisotropic(m.coat_roughness, m.coat_roughness_anisotropy);
        }
        let n = visible_normal(d, view, alpha);
        var passes = false;
        if m.transmission_weight > 0.0 && is_base {
            let cosine_o = min(dot(o, n) * inverseSqrt(dot(n, n)), 1.0);
            passes = hash_uniform(u) >= reflection_probability(cosine_o, b, m);
        }
        let scattered_i = scattered(n, view, passes, b, m);
        i = turned(scattered_i, -m.geometry_rotation);
        if m.coat_weight > 0.0 && is_coat {
            i = from_coat(scattered_i, coat_z, m);
            if is_tilted(m) {
                i = select(vec3f(1.0, 0.0, 0.0), i, scattered_i.z > 0.0 && i.z > 0.0);
            }
        }
    }
    return i * (side * inverseSqrt(max(dot(i, i), 1e-20)));
}
