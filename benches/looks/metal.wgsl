//! cosine: included
//!
//! Rough metal.

struct Material {
    /// Reflectance at normal incidence. range: [0, 1], default: 0.8
    base_color: vec3f,
    /// Roughness √α. range: [0, 1], default: 0.3
    specular_roughness: f32,
    /// Stretches highlights along x. range: [0, 1], default: 0
    specular_roughness_anisotropy: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    if wi.z <= 0.0 || wo.z <= 0.0 {
        return vec3f(0.0);
    }
    let cosine_i = max(wi.z, MIN_COSINE);
    let h = wi + wo;
    let h2 = dot(h, h);
    let c = 1.0 - min(0.5 * sqrt(h2), 1.0);
    let alpha = anisotropic(m.specular_roughness, m.specular_roughness_anisotropy);
    let rough = facets(alpha, clamp(wo.z, MIN_COSINE, 1.0));
    let fresnel = mix(m.base_color, vec3f(1.0), pow5(c));
    return compensated(fresnel, rough) * mirror_lobe(rough, h, h2, cosine_i);
}

/// Reflects wo by a visible facet.
fn mirrored(d: vec2f, wo: vec3f, alpha: vec2f) -> vec3f {
    let n = visible_normal(d, wo, alpha);
    return normalize((2.0 * dot(wo, n) / dot(n, n)) * n - wo);
}

fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    if wi.z <= 0.0 || wo.z <= 0.0 {
        return 0.0;
    }
    let h = wi + wo;
    let alpha = anisotropic(m.specular_roughness, m.specular_roughness_anisotropy);
    return mirror_pdf(facets(alpha, clamp(wo.z, MIN_COSINE, 1.0)), h, dot(h, h), wo);
}

fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    let alpha = anisotropic(m.specular_roughness, m.specular_roughness_anisotropy);
    return mirrored(disk(u), wo, alpha);
}
