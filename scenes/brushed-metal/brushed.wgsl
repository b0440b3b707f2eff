//! Brushed metal with a spatially varying grain: anisotropic Trowbridge–Reitz microfacets (GGX of
//! Walter et al. 2007) with height-correlated masking (Heitz 2014) and Schlick's Fresnel term
//! (1994).
//!
//! The grain is an image. Red and green store the cosine and sine of twice its angle to the
//! tangent, mapped from [-1, 1] to [0, 1]: opposite directions have the same value, so there is no
//! seam. Blue increases the roughness across the grain. The shading frame is first rotated along
//! the grain. The rest is a standard anisotropic metal.

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
    // Halves the angle. Where texels of all directions average out, the grain follows the tangent.
    let cosine = select(1.0, twice.x / length(twice), dot(twice, twice) > 1e-6);
    var result = m;
    result.direction = vec2f(sqrt(max(0.5 + 0.5 * cosine, 0.0)), select(-1.0, 1.0, twice.y > 0.0) * sqrt(max(0.5 - 0.5 * cosine, 0.0)));
    result.alpha_y = m.alpha_y * (0.6 + 0.8 * texel.b);
    return result;
}

/// Rotates a direction of the shading frame, so that x is along the grain.
fn to_grain(w: vec3f, d: vec2f) -> vec3f {
    return vec3f(d.x * w.x + d.y * w.y, d.x * w.y - d.y * w.x, w.z);
}

/// The inverse rotation.
fn from_grain(w: vec3f, d: vec2f) -> vec3f {
    return vec3f(d.x * w.x - d.y * w.y, d.x * w.y + d.y * w.x, w.z);
}

/// Length of a direction in the stretched space of the distribution.
fn stretched(w: vec3f, m: Material) -> f32 {
    return length(vec3f(m.alpha_x * w.x, m.alpha_y * w.y, w.z));
}

/// Density of normals at a unit vector h.
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
    // Masking and 1/(4 cos θi cos θo) combined.
    let visible = 0.5 / max(o.z * stretched(i, m) + i.z * stretched(o, m), 1e-6);
    let x = 1.0 - clamp(dot(i, h), 0.0, 1.0);
    let x2 = x * x;
    return (m.f0 + (1.0 - m.f0) * (x2 * x2 * x)) * (facets(h, m) * visible);
}

/// Samples normals visible from wo, as spherical caps (Dupuy and Benyoub 2023).
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

/// Density of visible normals divided by 4 (wo · h), the density of directions.
fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    let d = m.direction;
    let o = to_grain(wo, d);
    let h = normalize(to_grain(wi, d) + o);
    return select(0.0, 0.5 * facets(h, m) / (o.z + stretched(o, m)), wi.z > 0.0);
}
