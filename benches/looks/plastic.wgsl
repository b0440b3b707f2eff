//! cosine: included
//!
//! A diffuse base below a glossy dielectric.

struct Material {
    /// Albedo. range: [0, 1], default: 0.8
    base_color: vec3f,
    /// Roughness of the diffuse base. range: [0, 1], default: 0
    base_diffuse_roughness: f32,
    /// Roughness √α. range: [0, 1], default: 0.3
    specular_roughness: f32,
    /// Index of refraction. range: [1, 10], default: 1.5
    specular_ior: f32,
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
    let rough = facets(anisotropic(m.specular_roughness, 0.0), cosine_o);
    let fresnel = dielectric_fresnel(cosine_h, m.specular_ior);
    let gain = 1.0 + rough.missing * fresnel;
    let below = max(1.0 - (normal_reflectance(m.specular_ior) * rough.a + rough.b) * gain, 0.0);
    let base = diffuse(m.base_color, m.base_diffuse_roughness, wi, wo, cosine_i, cosine_o);
    return vec3f(fresnel * gain * mirror_lobe(rough, h, h2, cosine_i)) + below * base;
}

/// Reflects wo by a visible facet.
fn mirrored(d: vec2f, wo: vec3f, alpha: vec2f) -> vec3f {
    let n = visible_normal(d, wo, alpha);
    return normalize((2.0 * dot(wo, n) / dot(n, n)) * n - wo);
}

/// The probability of the facets.
fn facet_probability(rough: Facets, m: Material) -> f32 {
    let e = normal_reflectance(m.specular_ior) * rough.a + rough.b;
    return e / (e + (1.0 - e) * largest(m.base_color) + 1e-3);
}

fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    if wi.z <= 0.0 || wo.z <= 0.0 {
        return 0.0;
    }
    let h = wi + wo;
    let rough = facets(anisotropic(m.specular_roughness, 0.0), clamp(wo.z, MIN_COSINE, 1.0));
    let p = facet_probability(rough, m);
    return p * mirror_pdf(rough, h, dot(h, h), wo) + (1.0 - p) * wi.z * INV_PI;
}

fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    let rough = facets(anisotropic(m.specular_roughness, 0.0), clamp(wo.z, MIN_COSINE, 1.0));
    let p = facet_probability(rough, m);
    let is_facet = u.x < p;
    let x = select((u.x - p) / (1.0 - p), u.x / p, is_facet);
    let d = disk(vec2f(clamp(x, 0.0, 0.99999994), u.y));
    let diffuse = vec3f(d, sqrt(max(1.0 - dot(d, d), 6e-8)));
    return select(diffuse, mirrored(d, wo, rough.alpha), is_facet);
}
