//! sides: both if transmission or diffuse_transmission
//! cosine: included
//!
//! The material of glTF 2.0 (Khronos Group 2021, *glTF 2.0 specification*, appendix B) with its
//! extensions: sheen under a clear coat, over a base that mixes metal and a glossy dielectric. The
//! dielectric may transmit light, through a thin wall or into a volume, or diffusely:
//!
//!     s = clearcoat C + (1 − clearcoat E_C) (S + (1 − E_S) mix(dielectric, metal, metallic))
//!     dielectric = F G + (1 − F) transmission T + (1 − E) (1 − transmission) diffuse
//!
//! - G, the reflection of facets, is D V with D of Trowbridge and Reitz (GGX) and Smith's
//!   height-correlated V, for α = roughness². With anisotropy, α along the tangent is
//!   mix(α, 1, strength²) (KHR_materials_anisotropy).
//! - F is Schlick's f₀ + (f₉₀ − f₀) (1 − cos)⁵, for the angle between view direction and facet. For
//!   metal, f₀ is the base colour; for the dielectric, that of `ior`, times `specular_color` and
//!   `specular` (KHR_materials_ior, KHR_materials_specular). Inside of a volume, it is that of the
//!   angle outside, and 1 for total reflection.
//! - A film multiplies interference in (KHR_materials_iridescence, after Belcour and Barla 2017, *A
//!   practical extension to microfacet theory for the modeling of varying iridescence*).
//! - T is tinted by the base colour (KHR_materials_transmission). Through a thin wall, it is G for
//!   the mirrored direction. Into a volume (KHR_materials_volume), facets refract (Walter et al.
//!   2007, *Microfacet models for refraction through rough surfaces*).
//! - C is a coat with f₀ = 0.04 (KHR_materials_clearcoat). Its cosines are those to its own normal,
//!   or the opposite one where that faces away from wo. S is `sheen_color` times D V with D of
//!   Estevez and Kulla 2017, *Production friendly microfacet sheen BRDF*, and V of Neubelt and
//!   Pettineo (KHR_materials_sheen).
//!
//! Appendix B weights the diffuse lobe by 1 − F, which reflects up to twice the light that arrives at
//! grazing angles. Here, E is the directional albedo of the lobe above for the view direction, a
//! rational fit of MaterialX 1.39 for facets. So the material conserves energy within 3 %, the error
//! of the fits, but is not reciprocal. Light that would scatter between facets is lost, as in
//! appendix B. Radiance that enters a volume is scaled by the squared index, as by `dielectric`.
//!
//! Roughness α is at least 0.001, and roughness of sheen at least 0.1. A volume with an index below
//! 1.01 refracts as one with 1.01. The coat has no effect from inside of a volume.
//!
//! One lobe is sampled, in proportion to estimates of their albedos: visible normals (Heitz 2018;
//! Dupuy and Benyoub 2023), which F then reflects or lets pass, or the cosine.

const PI = 3.141592653589793;
const INV_PI = 0.3183098861837907;

/// Minimum roughness α along an axis.
const MIN_ALPHA = 0.001;

/// Directions with smaller cosines count as directions with this cosine.
const MIN_COSINE = 1e-6;

/// Nothing is scattered at smaller cosines.
const MIN_SCATTERED = 1e-9;

struct Material {
    /// Diffuse albedo, or reflectance of metal at normal incidence. range: [0, 1], default: 1
    base_color: vec3f,
    /// Factor of the base colour. range: [0, 1], default: 1
    base_color_factor: vec3f,
    /// Another factor of the base colour, that of the vertices. range: [0, 1], default: 1
    vertex_color: vec3f,
    /// From a dielectric, 0, to metal, 1. range: [0, 1], default: 0
    metallic: f32,
    /// Roughness √α. range: [0, 1], default: 0.5
    roughness: f32,
    /// Index of refraction; with 0, a dielectric reflects like metal. range: [0, 10], default: 1.5
    ior: f32,
    /// Weight of the reflection of a dielectric. range: [0, 1], default: 1
    specular: f32,
    /// Tint of this reflection at normal incidence. range: [0, 100], default: 1
    specular_color: vec3f,
    /// Stretches highlights along the tangent. range: [0, 1], default: 0
    anisotropy: f32,
    /// Angle from the tangent to that direction, in radians. range: [-7, 7], default: 0
    anisotropy_rotation: f32,
    /// Direction that takes the place of the tangent, of any length.
    /// range: [-1, 1], default: (1, 0, 0)
    anisotropy_direction: vec3f,
    /// Weight of the coat. range: [0, 1], default: 0
    clearcoat: f32,
    /// Roughness √α of the coat. range: [0, 1], default: 0
    clearcoat_roughness: f32,
    /// Normal of the coat in the shading frame, of any length. range: [-1, 1], default: (0, 0, 1)
    clearcoat_normal: vec3f,
    /// Colour of the sheen. range: [0, 1], default: 0
    sheen_color: vec3f,
    /// Roughness √α of the sheen. range: [0, 1], default: 0.5
    sheen_roughness: f32,
    /// Weight of the film. range: [0, 1], default: 0
    iridescence: f32,
    /// Index of refraction of the film. range: [1, 10], default: 1.3
    iridescence_ior: f32,
    /// Thickness of the film in nanometres. range: [0, 10000], default: 400
    iridescence_thickness: f32,
    /// Share of the light below the surface of a dielectric that is transmitted.
    /// range: [0, 1], default: 0
    transmission: f32,
    /// Share of the rest that is transmitted diffusely. range: [0, 1], default: 0
    diffuse_transmission: f32,
    /// Colour of the diffuse transmission. range: [0, 1], default: 1
    diffuse_transmission_color: vec3f,
    /// Whether the surface is a thin wall, and does not bound a volume. default: true
    thin_walled: bool,
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

fn schlick(f0: vec3f, f90: vec3f, cosine: f32) -> vec3f {
    return f0 + (f90 - f0) * pow5(1.0 - cosine);
}

/// Facets with roughness α, and what depends on the view direction, which is above the surface.
struct Facets {
    alpha: vec2f,
    /// Cosine of the view direction, and its length after stretching.
    cosine: f32,
    sigma: f32,
    /// The albedo is f₀ a + f₉₀ b.
    a: f32,
    b: f32,
}

/// The length of a direction after stretching.
fn sigma(w: vec3f, alpha: vec2f) -> f32 {
    return sqrt(square(alpha.x * w.x) + square(alpha.y * w.y) + w.z * w.z);
}

/// The albedo is a fit of MaterialX 1.39 (*Rational quadratic fit to Monte Carlo data for GGX
/// directional albedo*).
fn facets(alpha: vec2f, wo: vec3f) -> Facets {
    var f: Facets;
    f.alpha = clamp(alpha, vec2f(MIN_ALPHA), vec2f(1.0));
    f.cosine = clamp(wo.z, MIN_COSINE, 1.0);
    f.sigma = sigma(wo, f.alpha);
    let x = f.cosine;
    let y = sqrt(f.alpha.x * f.alpha.y);
    let c0 = vec4f(0.1003, 0.9345, 1.0, 1.0)
        + y * (vec4f(9.748, 2.229, 8.263, 15.94) + y * vec4f(-8.245, -0.7684, -7.507, 41.26));
    let c1 = vec4f(-0.6303, -2.323, -1.765, 0.2281)
        + y * (vec4f(-2.038, -3.748, 11.53, -55.83) + y * vec4f(19.99, 0.2913, 15.86, 300.2));
    let c2 = vec4f(29.34, 1.424, 28.96, 13.08)
        + y * (vec4f(-26.44, 1.436, -36.11, 54.9) + y * vec4f(-5.448, 0.6286, 33.37, -285.1));
    let r = c0 + x * (c1 + x * c2);
    f.a = saturate(r.x / r.z);
    f.b = saturate(r.y / r.w);
    return f;
}

/// D/2 for a half vector of any length with square h2. A common denominator saves a division.
fn half_density(f: Facets, h: vec3f, h2: f32) -> f32 {
    let alpha = f.alpha.x * f.alpha.y;
    let x = h.x * f.alpha.y;
    let y = h.y * f.alpha.x;
    let z = h.z * alpha;
    let ratio = alpha * h2 / (x * x + y * y + z * z);
    return 0.5 * INV_PI * alpha * (ratio * ratio);
}

/// D V cos θi. The masking of wi is divided by its cosine, so that the cosine is in one place.
fn mirror_lobe(f: Facets, h: vec3f, h2: f32, wi: vec3f) -> f32 {
    let slope = wi.xy / max(wi.z, MIN_COSINE);
    let masking = sqrt(square(f.alpha.x * slope.x) + square(f.alpha.y * slope.y) + 1.0);
    return half_density(f, h, h2) / (f.cosine * masking + f.sigma);
}

/// The density of visible normals divided by the Jacobian of the reflection.
fn mirror_pdf(f: Facets, h: vec3f, h2: f32) -> f32 {
    return half_density(f, h, h2) / (f.cosine + f.sigma);
}

/// The x axis of the lobes.
fn lobe_axis(m: Material) -> vec2f {
    let c = cos(m.anisotropy_rotation);
    let s = sin(m.anisotropy_rotation);
    let d = m.anisotropy_direction.xy;
    if d.x != 1.0 || d.y != 0.0 {
        let length2 = dot(d, d);
        let t = clamp(d * inverseSqrt(max(length2, 1e-12)), vec2f(-1.0), vec2f(1.0));
        let axis = vec2f(c * t.x - s * t.y, s * t.x + c * t.y);
        return select(vec2f(c, s), axis, length2 > 1e-12);
    }
    return vec2f(c, s);
}

/// The frame of the lobes: both directions are reflected so that wo is above the surface, and turned
/// so that the x axis is that of the anisotropy.
fn to_lobes(w: vec3f, side: f32, m: Material) -> vec3f {
    let x = lobe_axis(m);
    return side * vec3f(x.x * w.x + x.y * w.y, x.x * w.y - x.y * w.x, w.z);
}

fn from_lobes(w: vec3f, side: f32, m: Material) -> vec3f {
    let x = lobe_axis(m);
    return side * vec3f(x.x * w.x - x.y * w.y, x.y * w.x + x.x * w.y, w.z);
}

fn base_facets(wo: vec3f, m: Material) -> Facets {
    let alpha = square(m.roughness);
    return facets(vec2f(mix(alpha, 1.0, square(m.anisotropy)), alpha), wo);
}

/// The coat as seen from wo.
struct Coat {
    facets: Facets,
    /// The view direction in the frame of the coat, where its normal is the z axis.
    o: vec3f,
    /// The frame of the coat is that of the lobes after half a turn about this axis, and after a
    /// change of the sign of z if this is negative.
    axis: vec3f,
    sign: f32,
}

/// Whether the coat has a frame of its own.
fn is_tilted(m: Material) -> bool {
    return m.clearcoat_normal.x != 0.0 || m.clearcoat_normal.y != 0.0;
}

fn half_turn(w: vec3f, axis: vec3f) -> vec3f {
    return (2.0 * dot(axis, w)) * axis - w;
}

fn coat(o: vec3f, side: f32, m: Material) -> Coat {
    var c: Coat;
    c.o = o;
    c.axis = vec3f(0.0, 0.0, 1.0);
    c.sign = 1.0;
    if is_tilted(m) {
        let n = to_lobes(m.clearcoat_normal, side, m);
        let upper = select(-n, n, n.z > 0.0) * inverseSqrt(max(dot(n, n), 1e-12));
        let middle = vec3f(upper.xy, upper.z + 1.0);
        c.axis = middle * inverseSqrt(dot(middle, middle));
        let turned = half_turn(o, c.axis);
        c.sign = select(-1.0, 1.0, turned.z > 0.0);
        c.o = vec3f(turned.xy, abs(turned.z));
    }
    c.facets = facets(vec2f(square(m.clearcoat_roughness)), c.o);
    return c;
}

fn to_coat(w: vec3f, c: Coat, m: Material) -> vec3f {
    if is_tilted(m) {
        let turned = half_turn(w, c.axis);
        return vec3f(turned.xy, c.sign * turned.z);
    }
    return w;
}

fn from_coat(w: vec3f, c: Coat, m: Material) -> vec3f {
    if is_tilted(m) {
        return half_turn(vec3f(w.xy, c.sign * w.z), c.axis);
    }
    return w;
}

/// Whether the coat reflects to a direction in its frame that is above the surface.
fn is_above_coat(w: vec3f, m: Material) -> bool {
    return !is_tilted(m) || w.z > 0.0;
}

/// What the base is made of.
struct Base {
    color: vec3f,
    /// Reflectance of the dielectric at normal and at grazing incidence.
    f0: vec3f,
    f90: vec3f,
    /// Index of refraction for light that is transmitted.
    index: f32,
    /// Whether wo is inside of a volume.
    inside: bool,
}

fn base(side: f32, m: Material) -> Base {
    var b: Base;
    b.color = saturate(m.base_color * m.base_color_factor * m.vertex_color);
    let root = (m.ior - 1.0) / (m.ior + 1.0);
    b.f0 = min(root * root * m.specular_color, vec3f(1.0)) * m.specular;
    b.f90 = vec3f(m.specular);
    b.index = max(m.ior, 1.01);
    b.inside = side < 0.0 && !m.thin_walled;
    return b;
}

/// The cosine outside of the volume of a direction with this cosine on the side of wo; 0 for total
/// reflection.
fn outer_cosine(cosine: f32, b: Base) -> f32 {
    let outer2 = 1.0 - square(b.index) * (1.0 - cosine * cosine);
    return select(cosine, sqrt(max(outer2, 0.0)), b.inside);
}

/// The reflectance of the dielectric without a film; 1 for total reflection.
fn dielectric_reflectance(cosine: f32, b: Base) -> vec3f {
    let outer = outer_cosine(cosine, b);
    return select(schlick(b.f0, b.f90, outer), vec3f(1.0), b.inside && outer <= 0.0);
}

/// Sensitivity to red, green and blue for a path difference in nanometres and a phase shift:
/// Gaussian fits of Belcour and Barla 2017, converted from XYZ to linear sRGB.
fn sensitivity(path: f32, shift: vec3f) -> vec3f {
    let p = 2e-9 * PI * path;
    let p2 = p * p;
    let x1 = 0.84659 * cos(1.681e6 * p + shift) * exp(-4.3278e9 * p2);
    let x2 = 0.1538683 * cos(2.2399e6 * p + shift.x) * exp(-4.5282e9 * p2);
    let y = 1.0002219 * cos(1.7953e6 * p + shift) * exp(-9.3046e9 * p2);
    let z = 1.0011225 * cos(2.2084e6 * p + shift) * exp(-6.6121e9 * p2);
    return (x1 + x2) * vec3f(3.2404542, -0.969266, 0.0556434)
        + y * vec3f(-1.5371385, 1.8760108, -0.2040259)
        + z * vec3f(-0.4985314, 0.041556, 1.0572252);
}

/// Reflectance of a film on a base with reflectance f₀: evalIridescence of the extension.
fn film_fresnel(cosine: f32, f0: vec3f, m: Material) -> vec3f {
    let index = mix(1.0, m.iridescence_ior, smoothstep(0.0, 30.0, m.iridescence_thickness));
    let inner2 = 1.0 - (1.0 - cosine * cosine) / square(index);
    let inner = sqrt(max(inner2, 0.0));
    let top = vec3f(square((index - 1.0) / (index + 1.0)));
    let r12 = schlick(top, vec3f(1.0), cosine);
    let t121 = 1.0 - r12;
    let root = sqrt(clamp(f0 + 0.0001, vec3f(0.0), vec3f(0.9999)));
    let base_index = (1.0 + root) / (1.0 - root);
    let r1 = (base_index - index) / (base_index + index);
    let r23 = schlick(r1 * r1, vec3f(1.0), inner);
    let shift = PI + select(vec3f(0.0), vec3f(PI), base_index < vec3f(index));
    let path = 2.0 * index * m.iridescence_thickness * inner;
    let r123 = clamp(r12 * r23, vec3f(1e-5), vec3f(0.9999));
    let amplitude = sqrt(r123);
    let rs = t121 * t121 * r23 / (1.0 - r123);
    let first = (rs - t121) * amplitude;
    let film = r12 + rs
        + 2.0 * (first * sensitivity(path, shift)
            + first * amplitude * sensitivity(2.0 * path, 2.0 * shift));
    return clamp(film, vec3f(0.0), vec3f(1.0));
}

/// Reflectances of dielectric and metal for an angle.
struct Reflectance {
    dielectric: vec3f,
    metal: vec3f,
}

fn reflectance(cosine: f32, b: Base, m: Material) -> Reflectance {
    var r: Reflectance;
    r.dielectric = dielectric_reflectance(cosine, b);
    r.metal = schlick(b.color, vec3f(1.0), cosine);
    if m.iridescence > 0.0 {
        let weight = select(m.iridescence, 0.0, b.inside);
        r.dielectric = mix(r.dielectric, film_fresnel(cosine, b.f0, m), weight);
        r.metal = mix(r.metal, film_fresnel(cosine, b.color, m), weight);
    }
    return r;
}

/// The albedo of the dielectric's reflection.
fn dielectric_albedo(f: Facets, b: Base, m: Material) -> f32 {
    var e = b.f0 * f.a + b.f90 * f.b;
    if m.iridescence > 0.0 {
        e = mix(e, film_fresnel(f.cosine, b.f0, m) * (f.a + f.b), m.iridescence);
    }
    let inner = dielectric_reflectance(f.cosine, b);
    return min(largest(select(e, max(e, inner), b.inside)), 1.0);
}

/// The albedo of sheen: a fit to numerical integrals, with an error of 0.025 where it is below 1.
fn sheen_albedo(x: f32, r: f32) -> f32 {
    let y = vec4f(1.0, r, 1.0 / r, r * r);
    let c0 = dot(y, vec4f(0.65816, -2.539, 0.091677, 1.3277));
    let c1 = dot(y, vec4f(-1.5705, 2.1648, -1.443, -1.486));
    let c2 = dot(y, vec4f(1.2683, -2.2066, 1.6618, 1.5244));
    let c3 = dot(y, vec4f(7.1802, -7.5484, -3.8045, 2.7513));
    return exp(c0 + x * (c1 + x * (c2 + x * c3)));
}

/// D V cos θi of sheen with the roughness r.
fn sheen_lobe(h: vec3f, h2: f32, cosine_i: f32, cosine_o: f32, r: f32) -> f32 {
    let inverse = 1.0 / (r * r);
    let sin2 = saturate(1.0 - h.z * h.z / h2);
    let d = (2.0 + inverse) * pow(sin2, 0.5 * inverse) * (0.5 * INV_PI);
    return d * cosine_i / (4.0 * (cosine_i + cosine_o - cosine_i * cosine_o));
}

/// Facets that refract wo to wi, on the other side.
struct Refraction {
    /// The cosine between facet and wo.
    cosine_o: f32,
    /// 2 D i o/(i + o)², for i = nᵢ |wi·h| and o = nₒ |wo·h|.
    density: f32,
    index_i: f32,
    index_o: f32,
}

fn refraction(f: Facets, b: Base, wi: vec3f, wo: vec3f) -> Refraction {
    var r: Refraction;
    r.index_o = select(1.0, b.index, b.inside);
    r.index_i = select(b.index, 1.0, b.inside);
    let h = r.index_i * wi + r.index_o * wo;
    let h2 = max(dot(h, h), 1e-12);
    // i + o = h², and i − o = nᵢ² − nₒ².
    let difference = (r.index_i - r.index_o) * (r.index_i + r.index_o);
    let i = 0.5 * (h2 + difference);
    let o = 0.5 * (h2 - difference);
    // Both directions must see the facet from their own side.
    let connected = i * h.z * wi.z > 0.0 && o * h.z * wo.z > 0.0;
    let alpha = f.alpha.x * f.alpha.y;
    let x = h.x * f.alpha.y;
    let y = h.y * f.alpha.x;
    let z = h.z * alpha;
    let scale = alpha / (x * x + y * y + z * z);
    r.cosine_o = min(abs(o) * inverseSqrt(h2) / r.index_o, 1.0);
    r.density =
        select(0.0, 2.0 * INV_PI * alpha * abs(i * scale) * abs(o * scale), connected);
    return r;
}

/// The share of light that facets let pass, where the dielectric reflects F.
fn passes(f: vec3f, m: Material) -> f32 {
    return (1.0 - m.metallic) * m.transmission * max(1.0 - largest(f), 0.0);
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let side = select(-1.0, 1.0, wo.z > 0.0);
    let o = to_lobes(wo, side, m);
    let i = to_lobes(wi, side, m);
    let reflects = i.z > 0.0;
    let cosine_i = clamp(abs(i.z), MIN_COSINE, 1.0);
    let b = base(side, m);
    let f = base_facets(o, m);
    // Thin walls let light pass as if they reflected it, on the other side.
    let mirrored = vec3f(i.xy, abs(i.z));
    let h = mirrored + o;
    let h2 = max(dot(h, h), 1e-12);
    let cosine_h = min(0.5 * sqrt(h2), 1.0);
    let lobe = mirror_lobe(f, h, h2, mirrored);
    let r = reflectance(cosine_h, b, m);

    let below = 1.0 - dielectric_albedo(f, b, m);
    let opaque = (1.0 - m.metallic) * (1.0 - m.transmission) * below * (INV_PI * cosine_i);
    let mixed = mix(r.dielectric, r.metal, m.metallic);
    let above = mixed * lobe + b.color * (opaque * (1.0 - m.diffuse_transmission));
    let index_ratio = select(1.0, select(1.0 / b.index, b.index, b.inside), !m.thin_walled);
    var through = m.diffuse_transmission_color
        * (opaque * m.diffuse_transmission * square(index_ratio));
    if m.transmission > 0.0 {
        if m.thin_walled {
            through += b.color * (passes(r.dielectric, m) * lobe);
        } else {
            let t = refraction(f, b, i, o);
            let masking = sigma(i, f.alpha) / cosine_i;
            let passed = passes(reflectance(t.cosine_o, b, m).dielectric, m);
            through += b.color * (passed * t.density * t.index_o
                / (t.index_i * (f.cosine * masking + f.sigma)));
        }
    }
    var s = select(through, above, reflects);
    if largest(m.sheen_color) > 0.0 {
        let roughness = max(m.sheen_roughness, 0.1);
        let albedo = sheen_albedo(f.cosine, roughness);
        // Where the lobe would gain energy, it is scaled.
        let gain = 1.0 / max(albedo, 1.0);
        let sheen = sheen_lobe(h, h2, cosine_i, f.cosine, roughness) * gain;
        s = m.sheen_color * select(0.0, sheen, reflects)
            + (1.0 - largest(m.sheen_color) * min(albedo, 1.0)) * s;
    }
    if m.clearcoat > 0.0 {
        let weight = select(m.clearcoat, 0.0, b.inside);
        let c = coat(o, side, m);
        let coat_i = to_coat(mirrored, c, m);
        let lobe = mirror_lobe(c.facets, to_coat(h, c, m), h2, coat_i);
        let coated = (0.04 + 0.96 * pow5(1.0 - cosine_h)) * lobe;
        s = vec3f(weight * select(0.0, coated, reflects && is_above_coat(coat_i, m)))
            + (1.0 - weight * min(0.04 * c.facets.a + c.facets.b, 1.0)) * s;
    }
    return select(vec3f(0.0), s, min(abs(wi.z), abs(wo.z)) > MIN_SCATTERED);
}

/// Probabilities of the lobes: facets, coat, diffuse reflection, diffuse transmission.
fn probabilities(f: Facets, o: vec3f, side: f32, b: Base, m: Material) -> vec4f {
    let e = dielectric_albedo(f, b, m);
    let below = (1.0 - m.metallic) * (1.0 - e);
    let color = largest(b.color);
    let metal = (color * f.a + f.b) * m.metallic;
    let facet = metal + (1.0 - m.metallic) * e + below * m.transmission * color;
    let opaque = below * (1.0 - m.transmission);
    var diffuse = opaque * (1.0 - m.diffuse_transmission) * color;
    let transmitted =
        opaque * m.diffuse_transmission * largest(m.diffuse_transmission_color);
    var coated = 0.0;
    if m.clearcoat > 0.0 {
        let c = coat(o, side, m).facets;
        coated = select(m.clearcoat * (0.04 * c.a + c.b), 0.0, b.inside);
    }
    if largest(m.sheen_color) > 0.0 {
        let albedo = min(sheen_albedo(f.cosine, max(m.sheen_roughness, 0.1)), 1.0);
        diffuse += largest(m.sheen_color) * albedo;
    }
    let weights = vec4f(facet, coated, diffuse + 1e-3, transmitted);
    return weights / (weights.x + weights.y + weights.z + weights.w);
}

/// The probability that a facet reflects.
fn reflection_probability(r: Reflectance, b: Base, m: Material) -> f32 {
    let reflected = largest(mix(r.dielectric, r.metal, m.metallic)) + 1e-6;
    return reflected / (reflected + passes(r.dielectric, m) * largest(b.color));
}

fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    let side = select(-1.0, 1.0, wo.z > 0.0);
    let o = to_lobes(wo, side, m);
    let i = to_lobes(wi, side, m);
    let reflects = i.z > 0.0;
    let b = base(side, m);
    let f = base_facets(o, m);
    let mirrored = vec3f(i.xy, abs(i.z));
    let h = mirrored + o;
    let h2 = max(dot(h, h), 1e-12);
    let cosine_h = min(0.5 * sqrt(h2), 1.0);
    let p = probabilities(f, o, side, b, m);
    let mirror = mirror_pdf(f, h, h2);
    let cosine = abs(i.z) * INV_PI;
    var density = select(p.w, p.z, reflects) * cosine;
    if m.transmission > 0.0 {
        let share = reflection_probability(reflectance(cosine_h, b, m), b, m);
        let reflected = p.x * share * mirror;
        if m.thin_walled {
            density += select(p.x * (1.0 - share) * mirror, reflected, reflects);
        } else {
            let t = refraction(f, b, i, o);
            let passing = 1.0 - reflection_probability(reflectance(t.cosine_o, b, m), b, m);
            let refracted = p.x * passing * t.density * t.index_i
                / (t.index_o * (f.cosine + f.sigma));
            density += select(refracted, reflected, reflects);
        }
    } else {
        density += select(0.0, p.x * mirror, reflects);
    }
    if m.clearcoat > 0.0 {
        let c = coat(o, side, m);
        let coated = p.y * mirror_pdf(c.facets, to_coat(h, c, m), h2);
        density += select(0.0, coated, reflects && is_above_coat(to_coat(mirrored, c, m), m));
    }
    return select(0.0, density, min(abs(wi.z), abs(wo.z)) > MIN_SCATTERED);
}

/// Samples a normal visible from wo, of any length. In the stretched space, where facets form a
/// sphere, it lies halfway between wo and a uniform point on the cap z > −wo.z.
fn visible_normal(d: vec2f, wo: vec3f, f: Facets) -> vec3f {
    let r2 = dot(d, d);
    let height = f.sigma + wo.z;
    let n = f.alpha * wo.xy + d * sqrt(height * max(2.0 * f.sigma - r2 * height, 0.0));
    return vec3f(f.alpha * n, max(1.0 - r2, 1e-7) * height);
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

fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    let side = select(-1.0, 1.0, wo.z > 0.0);
    let o = to_lobes(wo, side, m);
    let b = base(side, m);
    let f = base_facets(o, m);
    let p = probabilities(f, o, side, b, m);
    // u.x selects the lobe, then is remapped to [0, 1) for reuse.
    let ends = vec3f(p.x, p.x + p.y, p.x + p.y + p.z);
    let is_facet = u.x < ends.x;
    let is_coat = !is_facet && u.x < ends.y;
    let is_diffuse = !is_facet && !is_coat && u.x < ends.z;
    let start = select(
        select(select(ends.z, ends.y, is_diffuse), ends.x, is_coat), 0.0, is_facet,
    );
    let width = select(select(select(p.w, p.z, is_diffuse), p.y, is_coat), p.x, is_facet);
    let x = clamp((u.x - start) / max(width, 1e-20), 0.0, 0.99999994);
    let d = disk(vec2f(x, u.y));

    // Diffuse lobes. The clamp keeps directions above the horizon, so the density is never 0.
    let z = sqrt(max(1.0 - dot(d, d), 6e-8));
    var i = vec3f(d, select(-z, z, is_diffuse));
    if is_facet || is_coat {
        var lobe = f;
        var view = o;
        let layer = coat(o, side, m);
        if m.clearcoat > 0.0 && is_coat {
            lobe = layer.facets;
            view = layer.o;
        }
        let n = visible_normal(d, view, lobe);
        let n2 = dot(n, n);
        let c = dot(view, n);
        i = (2.0 * c / n2) * n - view;
        var valid = i.z > 0.0;
        if is_tilted(m) && m.clearcoat > 0.0 && is_coat {
            i = from_coat(i, layer, m);
            valid = valid && i.z > 0.0;
        }
        if m.transmission > 0.0 && is_facet {
            let cosine_o = min(c * inverseSqrt(n2), 1.0);
            let share = reflection_probability(reflectance(cosine_o, b, m), b, m);
            if hash_uniform(u) >= share {
                if m.thin_walled {
                    i = vec3f(i.xy, -i.z);
                    valid = i.z < 0.0;
                } else {
                    let index_o = select(1.0, b.index, b.inside);
                    let index_i = select(b.index, 1.0, b.inside);
                    let cosine = index_o * c;
                    // By Snell's law; 0 for total internal reflection.
                    let refracted = sqrt(max(
                        (index_i - index_o) * (index_i + index_o) * n2 + cosine * cosine, 0.0,
                    ));
                    i = ((cosine - refracted) / n2) * n - index_o * o;
                    valid = i.z < 0.0;
                }
            }
        }
        // Discard light that a facet sends to the wrong side: return a grazing direction, where the
        // density is 0.
        i = select(vec3f(1.0, 0.0, 0.0), i, valid);
    }
    return from_lobes(i * inverseSqrt(max(dot(i, i), 1e-20)), side, m);
}
