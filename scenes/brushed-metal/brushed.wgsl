//! Brushed metal whose grain turns from place to place: anisotropic microfacets with Trowbridge and Reitz's distribution (GGX of
//! Walter et al. 2007) and the masking of height-correlated facets (Heitz 2014), Fresnel's term after Schlick 1994.
//!
//! The grain is an image: red and green hold cosine and sine of twice its angle to the tangent, which has no seam where a direction
//! meets its opposite, from 0 to 1 in place of -1 to 1; blue makes grooves rougher across. The shading frame is turned along the
//! grain before anything else is done; all that follows is a usual anisotropic metal.

const INV_PI = 0.3183098861837907;

struct Material {
    /// Reflectance at normal incidence. range: [0, 1], default: (0.91, 0.92, 0.92)
    f0: vec3f,
    /// Roughness along the grain. range: [0.01, 1], default: 0.07
    alpha_x: f32,
    /// Roughness across the grain. range: [0.01, 1], default: 0.32
    alpha_y: f32,
    /// How often the image of the grain repeats in each texture coordinate. range: [0, 1000], default: 1
    repeats: f32,
    /// Cosine and sine of the angle of the grain, as found in the image. range: [-1, 1], default: 0
    direction: vec2f,
}

var grain: texture_2d<f32>;
var smoothly: sampler;

fn material(p: SurfacePoint, m: Material) -> Material {
    let texel = textureSample(grain, smoothly, m.repeats * p.uv);
    let twice = 2.0 * texel.rg - 1.0;
    // Half the angle. Where texels of all directions meet, there is none: along the tangent.
    let cosine = select(1.0, twice.x / length(twice), dot(twice, twice) > 1e-6);
    var result = m;
    result.direction = vec2f(sqrt(max(0.5 + 0.5 * cosine, 0.0)), select(-1.0, 1.0, twice.y > 0.0) * sqrt(max(0.5 - 0.5 * cosine, 0.0)));
    result.alpha_y = m.alpha_y * (0.6 + 0.8 * texel.b);
    return result;
}

/// A direction of the shading frame, turned so that x is along the grain.
fn to_grain(w: vec3f, d: vec2f) -> vec3f {
    return vec3f(d.x * w.x + d.y * w.y, d.x * w.y - d.y * w.x, w.z);
}

/// Back again.
fn from_grain(w: vec3f, d: vec2f) -> vec3f {
    return vec3f(d.x * w.x - d.y * w.y, d.x * w.y + d.y * w.x, w.z);
}

/// Length of a direction on the hemisphere that the distribution is stretched from.
fn stretched(w: vec3f, m: Material) -> f32 {
    return length(vec3f(m.alpha_x * w.x, m.alpha_y * w.y, w.z));
}

/// Density of normals around a unit h.
fn facets(h: vec3f, m: Material) -> f32 {
    let q = vec3f(h.x / m.alpha_x, h.y / m.alpha_y, h.z);
    let q2 = dot(q, q);
    return INV_PI / (m.alpha_x * m.alpha_y * q2 * q2);
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let d = m.direction;
    let i = to_grain(wi, d);
    let o = to_grain(wo, d);
    let h = normalize(i + o);
    // Masking and 1/(4 cos θi cos θo) together.
    let visible = 0.5 / max(o.z * stretched(i, m) + i.z * stretched(o, m), 1e-6);
    let x = 1.0 - clamp(dot(i, h), 0.0, 1.0);
    let x2 = x * x;
    return (m.f0 + (1.0 - m.f0) * (x2 * x2 * x)) * (facets(h, m) * visible);
}

/// Normals as they are seen from wo, by spherical caps (Dupuy and Benyoub 2023).
fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    let d = m.direction;
    let o = to_grain(wo, d);
    let alpha = vec3f(m.alpha_x, m.alpha_y, 1.0);
    let view = normalize(o * alpha);
    let phi = 6.2831853 * u.x;
    let z = (1.0 - u.y) * (1.0 + view.z) - view.z;
    let r = sqrt(clamp(1.0 - z * z, 0.0, 1.0));
    let h = normalize((vec3f(r * cos(phi), r * sin(phi), z) + view) * alpha);
    return normalize(from_grain(reflect(-o, h), d));
}

/// The density of the visible normals, over 4 (wo · h) for directions.
fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    let d = m.direction;
    let o = to_grain(wo, d);
    let h = normalize(to_grain(wi, d) + o);
    return select(0.0, 0.5 * facets(h, m) / (o.z + stretched(o, m)), wi.z > 0.0);
}
