//! A rough metal under a clear dielectric coat, polished or rough, in closed form: replaces
//! pbrt-v4's `coatedconductor`.
//!
//!     F(wo·h) D(h) G₂(wi, wo) / (4 cos θi cos θo)
//!     + T(wi) T(wo) exp(−t (l(wi) + l(wo))) f/η² / (1 − r Fₘ)
//!
//! - The first term is reflection by the rough coat, as in dielectric.wgsl. For a polished coat it
//!   is a delta function, which the renderer adds: F(cos θo) in the mirror direction.
//! - f = Fₘ D G₂/(4 cos cos) is the BRDF of conductor.wgsl for the refracted directions of wi and
//!   wo, by Snell's law at the coat's mean surface, with the metal's index relative to the coat's.
//!   The factor 1/η² accounts for the smaller solid angles inside. A rough coat blurs, which
//!   increases the metal's squared roughness: α² + (b(wi)² + b(wo)²) αc²/4. If a facet of the coat
//!   rotates, the direction that it refracts rotates b times as far.
//! - T is the transmittance of the interface, 1 − F if the coat is polished. t is the thickness of
//!   the coat, and l the path length through a coat of thickness 1. The coat absorbs with an
//!   extinction coefficient of 1 and does not scatter. T and l are the same as in
//!   coated_diffuse.wgsl.
//! - r is the fraction of the metal's reflection that the coat reflects back to the metal, averaged
//!   over wi and wo, minus the absorption on the way there and back. Interreflected light is
//!   assumed to leave in the same directions as other light. Interreflections then form a geometric
//!   series with the sum 1/(1 − r Fₘ). For a nearly polished metal under a polished coat r is F, as
//!   for two mirrors. Otherwise r is a fit. Where Fₘ exceeds 1, the series takes 1.
//!
//! The albedo below the coat was compared with random walks like pbrt-v4's, with 10⁵ paths, in f64
//! and without a depth limit (η of 1.5 and 2; metals that reflect 95 % and 44 %, α from 0.05 to
//! 0.9; wo up to 75° from the normal). It differs
//!
//! - under a polished coat of η = 1.5, by up to 6 %, at 75° by up to 8 %; of η = 2, by up to 9 %;
//! - under a coat of roughness 0.1, by up to 12 %, but 28 % too high at 75° if the metal is much
//!   smoother than the coat;
//! - under a coat of roughness 0.3, by up to 5 % over a metal of α = 0.5, and 15 % too low over one
//!   of 0.9; over smoother metals it is too high, by up to 26 %, at 75° by up to 39 %.
//!
//! Under a polished coat, light that the metal reflects once is correct within 2 %; interreflected
//! light should spread wider than it does here. Albedos stay below 1, except for a perfect metal
//! under a coat of η = 3, where they stay below 1.007. Reciprocal; unbounded where both wi and wo
//! approach grazing angles.
//!
//! Three distributions are sampled: normals of a rough coat visible from wo, normals of the metal
//! visible from the refraction of wo (Heitz 2018; Dupuy and Benyoub 2023), and the cosine. The
//! probability of the cosine increases with the roughness of the metal. Directions that would not
//! leave the coat are discarded.

const INV_PI = 0.3183098861837907;
const INV_TWO_PI = 0.15915494309189535;

/// The coat reflects nothing at smaller cosines.
const MIN_COSINE = 1e-9;

/// A coat with less roughness along both axes counts as polished.
const MAX_POLISHED_ALPHA = 0.001;

/// Minimum roughness along one axis of a coat that is rough along the other.
const MIN_ALPHA = 1e-4;

/// The largest float below 1.
const ONE_MINUS_EPSILON = 0.99999994;

/// Reflectance of a typical metal, assumed by the sampler.
const METAL_REFLECTANCE = 0.7;

struct Material {
    /// Index of refraction of the metal in vacuum.
    /// range: [0.0001, 10000], default: (0.10511414, 0.9779329, 1.2046659)
    eta: vec3f,
    /// Extinction coefficient of the metal.
    /// range: [0, 10000], default: (3.2734907, 2.5925198, 2.369188)
    k: vec3f,
    /// Roughness of the metal along x. range: [0.0001, 1000], default: 0.1
    alpha_x: f32,
    /// Roughness of the metal along y. range: [0.0001, 1000], default: 0.1
    alpha_y: f32,
    /// Index of refraction of the coat. range: [1, 3], default: 1.5
    coat_eta: f32,
    /// Roughness of the coat along x. Below 0.001 along both axes it is polished.
    /// range: [0, 1000], default: 0.1
    coat_alpha_x: f32,
    /// Roughness of the coat along y. range: [0, 1000], default: 0.1
    coat_alpha_y: f32,
    /// Thickness of the coat in mean free paths; the coat absorbs and does not scatter.
    /// range: [0, 1000], default: 0.01
    thickness: f32,
    /// Reflectance of the metal in the coat at normal incidence, beyond that of its index; see
    /// conductor.wgsl. range: [-1, 1], default: 0
    excess: vec3f,
}

/// A direction and its refraction into the coat.
struct CoatRefraction {
    /// cos θ.
    z: f32,
    /// Reflectance and transmittance of the coat's facets.
    shares: vec2f,
    /// The refracted direction, pointing away from the metal, with length η.
    inside: vec3f,
    /// Path length through a coat of thickness 1.
    path_length: f32,
}

/// The roughness of the coat's facets.
fn coat_roughness(m: Material) -> vec2f {
    return max(vec2f(m.coat_alpha_x, m.coat_alpha_y), vec2f(MIN_ALPHA));
}

fn is_polished(m: Material) -> bool {
    return max(m.coat_alpha_x, m.coat_alpha_y) < MAX_POLISHED_ALPHA;
}

/// Whether the coat's facets can reflect light from wi to wo.
fn reflects(wi: vec3f, wo: vec3f, m: Material) -> bool {
    return !is_polished(m) && min(wi.z, wo.z) > MIN_COSINE;
}

/// Squared tangential length of w after stretching: αx²w.x² + αy²w.y².
fn stretch2(w: vec3f, alpha: vec2f) -> f32 {
    let s = alpha * w.xy;
    return dot(s, s);
}

/// σ(w), the length of w after stretching.
fn sigma(w: vec3f, alpha: vec2f) -> f32 {
    return sqrt(stretch2(w, alpha) + w.z * w.z);
}

/// η times the normal component of the refraction of a vector with squared length n2 and normal
/// component c.
fn refract_cosine(c: f32, n2: f32, eta: f32) -> f32 {
    return sqrt(max((eta - 1.0) * (eta + 1.0) * n2 + c * c, 1e-12 * n2));
}

/// F and 1 − F, both in full precision, from the cosine outside and η times the cosine in the coat.
/// Both may be scaled by a common factor.
fn fresnel(cosine: f32, refracted: f32, eta: f32) -> vec2f {
    let eta2 = eta * eta;
    let p = eta2 * cosine + refracted;
    let q = cosine + refracted;
    let scale = 1.0 / (p * q);
    let a = q * scale;
    let b = p * scale;
    let parallel = (eta2 * cosine - refracted) * a;
    let perpendicular = (cosine - refracted) * b;
    let transmitted = 2.0 * cosine * refracted * (eta2 * (a * a) + b * b);
    return vec2f(0.5 * (parallel * parallel + perpendicular * perpendicular), transmitted);
}

/// Refraction of w into the coat; see coated_diffuse.wgsl.
fn refract_into_coat(w: vec3f, coat: vec2f, m: Material) -> CoatRefraction {
    let eta = m.coat_eta;
    let z = max(w.z, MIN_COSINE);
    let inside = refract_cosine(z, 1.0, eta);
    let c = min(0.5 * (z + sqrt(z * z + 5.3 * stretch2(w, coat))), 1.0);
    let shares = fresnel(c, refract_cosine(c, 1.0, eta), eta);
    let mean = 0.5 * (coat.x + coat.y);
    let masked = mean * mean * (2.13 - 1.68 * z);
    let transmittance = shares.y * (1.0 + 3.37 * mean) / (1.0 + 3.37 * mean + masked);
    let grazing = 1.0 - min(z, 1.0);
    let detour = 1.0 + 3.0 * mean / (1.0 + 0.8 * mean) * (grazing * grazing * grazing);
    return CoatRefraction(
        z,
        vec2f(shares.x, transmittance),
        vec3f(w.xy, inside),
        eta * detour / inside,
    );
}

/// b² η². If a facet rotates by δ, the refracted direction rotates by (cos θt − cos θ/η) δ.
fn bend2(p: CoatRefraction) -> f32 {
    let bend = p.inside.z - p.z;
    return bend * bend;
}

/// Effective roughness of the metal under the coat, from the sum of b² η² for wi and wo.
fn metal_roughness(coat: vec2f, bends2: f32, m: Material) -> vec2f {
    let metal = vec2f(m.alpha_x, m.alpha_y);
    return sqrt(metal * metal + (0.25 / (m.coat_eta * m.coat_eta)) * bends2 * (coat * coat));
}

/// r under a polished coat, for light that leaves in direction p. Between F, for a polished metal,
/// and the internal reflectance for diffuse light, for a rough metal. Directions close to total
/// internal reflection approach the latter at a lower roughness.
fn returned_fraction(p: CoatRefraction, alpha: vec2f, m: Material) -> f32 {
    let critical = refract_cosine(0.0, 1.0, m.coat_eta);
    let beyond = p.inside.z - critical;
    let a2 = alpha.x * alpha.y;
    let diffuse = 0.846 * critical / ((0.81 + critical) * (1.0 + 0.602 * a2));
    return p.shares.x + (diffuse - p.shares.x) * (1.0 - beyond / sqrt(beyond * beyond + 3.87 * a2));
}

/// Ratio of the internal reflectance of a rough coat to that of a polished one; see `base` in
/// coated_diffuse.wgsl.
fn rough_coat_ratio(coat: vec2f, eta: f32) -> f32 {
    let eta2 = eta * eta;
    let y = (eta - 1.0) / (eta + 1.0);
    let reflected = eta2 - 1.0 + y * (0.60073961
        + y * (-1.8300335 + y * (7.90437113 + y * (-13.55487049 + y * 9.36841349))));
    let mean = 0.5 * (coat.x + coat.y);
    return reflected
        / max(reflected + (2.53 * eta2 - 1.15 * reflected) * (mean * (mean + 0.12)), 1e-6);
}

/// D/2 for a half vector of any length with square h2. A common denominator saves a division.
fn half_density(h: vec3f, h2: f32, alpha: vec2f) -> f32 {
    let a = alpha.x * alpha.y;
    let x = h.x * alpha.y;
    let y = h.y * alpha.x;
    let z = h.z * a;
    let ratio = a * h2 / (x * x + y * y + z * z);
    return INV_TWO_PI * a * (ratio * ratio);
}

/// F of the metal for a squared cosine in the coat, at least 0; see conductor.wgsl.
fn metal_fresnel(cos2: f32, m: Material) -> vec3f {
    let sin2 = 1.0 - cos2;
    let scale = 1.0 / (m.coat_eta * m.coat_eta);
    let eta2 = scale * (m.eta * m.eta);
    let k2 = scale * (m.k * m.k);
    let t = eta2 - k2 - sin2;
    let p = sqrt(t * t + 4.0 * eta2 * k2);
    let c = sqrt(2.0 * cos2 * max(p + t, vec3f()));
    let s = p + cos2;
    let parallel = cos2 * p + sin2 * sin2;
    let index = (s - c) * parallel / ((s + c) * (parallel + sin2 * c));
    let grazing = 1.0 - sqrt(cos2);
    return max(index + m.excess * (1.0 - grazing * grazing), vec3f());
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let coat = coat_roughness(m);
    let i = refract_into_coat(wi, coat, m);
    let o = refract_into_coat(wo, coat, m);
    let metal = metal_roughness(coat, bend2(i) + bend2(o), m);
    let attenuation = exp(max(-m.thickness * (i.path_length + o.path_length), -80.0));

    let n = i.inside + o.inside;
    let n2 = dot(n, n);
    let reflected = metal_fresnel(min(0.25 * n2 / (m.coat_eta * m.coat_eta), 1.0), m);
    let r = 0.5 * rough_coat_ratio(coat, m.coat_eta) * attenuation
        * (returned_fraction(i, metal, m) + returned_fraction(o, metal, m));
    let facets = half_density(n, n2, metal)
        / (sigma(i.inside, metal) * o.inside.z + sigma(o.inside, metal) * i.inside.z);
    let below = i.shares.y * o.shares.y * attenuation * facets * reflected
        / (1.0 - r * min(reflected, vec3f(1.0)));

    var surface = 0.0;
    if reflects(wi, wo, m) {
        let h = wi + wo;
        let h2 = dot(h, h);
        let c = 0.5 * h2;
        let f = fresnel(c, refract_cosine(c, h2, m.coat_eta), m.coat_eta).x;
        surface = f * half_density(h, h2, coat) / (sigma(wi, coat) * wo.z + sigma(wo, coat) * wi.z);
    }
    return surface + below;
}

/// Probability of sampling the coat: approximately its share of the reflected light.
fn coat_share(o: CoatRefraction, m: Material) -> f32 {
    return select(o.shares.x / (o.shares.x + METAL_REFLECTANCE * o.shares.y), 0.0, is_polished(m));
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

/// Probability of sampling the cosine instead of the metal. It increases with the metal's
/// roughness, since the coat then reflects more light back to the metal, and that light leaves in
/// other directions.
fn diffuse_share(metal: vec2f, eta: f32) -> f32 {
    let width = metal.x * metal.y * (eta - 1.0) * (eta + 1.0);
    return 0.8 * width / (width + 0.15);
}

fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    let coat = coat_roughness(m);
    let o = refract_into_coat(wo, coat, m);
    // u.x selects the lobe, then is remapped to [0, 1) for reuse.
    let share = coat_share(o, m);
    let metal = metal_roughness(coat, 2.0 * bend2(o), m);
    let both = share + (1.0 - share) * diffuse_share(metal, m.coat_eta);
    let surface = u.x < share;
    let diffuse = !surface && u.x < both;
    let low = select(select(both, share, diffuse), 0.0, surface);
    let high = select(select(1.0, both, diffuse), share, surface);
    let d = disk(vec2f(min((u.x - low) / (high - low), ONE_MINUS_EPSILON), u.y));
    let r2 = dot(d, d);
    // A normal visible from w: in the stretched space, where facets form a sphere, it lies halfway
    // between w and a uniform point on the cap z > −w.z.
    let w = select(o.inside, wo, surface);
    let alpha = select(metal, coat, surface);
    let length = sigma(w, alpha);
    let height = length + w.z;
    let n = alpha * w.xy + d * sqrt(height * max(2.0 * length - r2 * height, 0.0));
    let h = vec3f(alpha * n, max(1.0 - r2, 1e-7) * height);
    // Under the coat, the mirrored direction has length η, so leaving the coat keeps its tangential
    // component.
    let mirrored = (2.0 * dot(w, h) / dot(h, h)) * h - w;
    let is_discarded = !diffuse && mirrored.z <= 0.0;
    let xy = select(mirrored.xy, d, diffuse);
    let z2 = 1.0 - dot(xy, xy);
    return select(vec3f(xy, sqrt(max(z2, 0.0))), vec3f(1.0, 0.0, 0.0), is_discarded || z2 <= 0.0);
}

/// Mixture of the densities of the coat, the metal and the cosine. A solid angle dω about wi is
/// cos θi/(η z) dω in the coat, where z belongs to the refracted direction of length η.
fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    let coat = coat_roughness(m);
    let o = refract_into_coat(wo, coat, m);
    let metal = metal_roughness(coat, 2.0 * bend2(o), m);
    let inside = vec3f(wi.xy, refract_cosine(max(wi.z, MIN_COSINE), 1.0, m.coat_eta));
    let n = inside + o.inside;
    let below = half_density(n, dot(n, n), metal) * max(wi.z, 0.0)
        / (inside.z * (o.inside.z + sigma(o.inside, metal)));
    let share = coat_share(o, m);
    var surface = 0.0;
    if reflects(wi, wo, m) {
        let h = wi + wo;
        surface = half_density(h, dot(h, h), coat) / (wo.z + sigma(wo, coat));
    }
    let diffuse = diffuse_share(metal, m.coat_eta);
    return share * surface
        + (1.0 - share) * (diffuse * INV_PI * max(wi.z, 0.0) + (1.0 - diffuse) * below);
}
