//! Brushed metal with a spatially varying grain: anisotropic Trowbridge–Reitz microfacets (GGX of
//! Walter et al. 2007) with height-correlated masking (Heitz 2014) and Schlick's Fresnel term
//! (1994).
//!
//! The grain is an image. Red and green store the cosine and sine of twice the angle between grain
//! and tangent, mapped from [-1, 1] to [0, 1]: opposite directions have the same value, so there is
//! no seam. Blue increases the roughness across the grain. Directions are first rotated so that x
//! is along the grain; the rest is a standard anisotropic metal.

const INV_PI = 0.3183098861837907;

struct Material {
    /// Reflectance at normal incidence. range: [0, 1], default: (0.91, 0.92, 0.92)
    f0: vec3f,
    /// Roughness along the grain. range: [0.01, 1], default: 0.07
    alpha_x: f32,
    /// Roughness across the grain. range: [0.01, 1], default: 0.32
    alpha_y: f32,
    /// Number of repetitions of the grain image per unit of the texture coordinates.
    /// range: [0, 1000], default: 1
    repeats: f32,
    /// Cosine and sine of the angle of the grain; computed from the image.
    /// range: [-1, 1], default: 0
    direction: vec2f,
}

var grain: texture_2d<f32>;
var grain_sampler: sampler;

fn material(p: SurfacePoint, m: Material) -> Material {
    let texel = textureSample(grain, grain_sampler, m.repeats * p.uv);
    let doubled = 2.0 * texel.rg - 1.0;
    // Halve the angle. Where texels of opposite values cancel, the grain follows the tangent.
    let cosine = select(1.0, doubled.x / length(doubled), dot(doubled, doubled) > 1e-6);
    var result = m;
    result.direction = vec2f(
        sqrt(max(0.5 + 0.5 * cosine, 0.0)),
        select(-1.0, 1.0, doubled.y > 0.0) * sqrt(max(0.5 - 0.5 * cosine, 0.0)),
    );
    result.alpha_y = m.alpha_y * (0.6 + 0.8 * texel.b);
    return result;
}

/// Rotates a direction from the shading frame to the frame of the grain, with x along the grain.
fn to_grain(w: vec3f, d: vec2f) -> vec3f {
    return vec3f(d.x * w.x + d.y * w.y, d.x * w.y - d.y * w.x, w.z);
}

/// The inverse rotation.
fn from_grain(w: vec3f, d: vec2f) -> vec3f {
    return vec3f(d.x * w.x - d.y * w.y, d.x * w.y + d.y * w.x, w.z);
}

/// Length of a direction in the stretched space of the distribution.
fn stretched_length(w: vec3f, m: Material) -> f32 {
    return length(vec3f(m.alpha_x * w.x, m.alpha_y * w.y, w.z));
}

/// Density of microfacet normals at a unit vector h.
fn normal_density(h: vec3f, m: Material) -> f32 {
    let q = vec3f(h.x / m.alpha_x, h.y / m.alpha_y, h.z);
    let q2 = dot(q, q);
    return INV_PI / (m.alpha_x * m.alpha_y * q2 * q2);
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let d = m.direction;
    let i = to_grain(wi, d);
    let o = to_grain(wo, d);
    let h = normalize(i + o);
    // Masking combined with 1/(4 cos θi cos θo).
    let visible = 0.5 / max(o.z * stretched_length(i, m) + i.z * stretched_length(o, m), 1e-6);
    let x = 1.0 - clamp(dot(i, h), 0.0, 1.0);
    let x2 = x * x;
    return (m.f0 + (1.0 - m.f0) * (x2 * x2 * x)) * (normal_density(h, m) * visible);
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

/// Density of directions: the density of visible normals divided by 4 (wo · h).
fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    let d = m.direction;
    let o = to_grain(wo, d);
    let h = normalize(to_grain(wi, d) + o);
    return select(0.0, 0.5 * normal_density(h, m) / (o.z + stretched_length(o, m)), wi.z > 0.0);
}
