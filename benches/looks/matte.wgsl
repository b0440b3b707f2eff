//! cosine: included
//!
//! A diffuse base below a dielectric that reflects nothing.

struct Material {
    /// Albedo. range: [0, 1], default: 0.8
    base_color: vec3f,
    /// Roughness of the diffuse base. range: [0, 1], default: 0
    base_diffuse_roughness: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    if wi.z <= 0.0 || wo.z <= 0.0 {
        return vec3f(0.0);
    }
    let cosine_i = max(wi.z, MIN_COSINE);
    let cosine_o = clamp(wo.z, MIN_COSINE, 1.0);
    let below = max(1.0 - facets(vec2f(0.09), cosine_o).b, 0.0);
    return below * diffuse(m.base_color, m.base_diffuse_roughness, wi, wo, cosine_i, cosine_o);
}

fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    return max(wi.z, 0.0) * INV_PI;
}

fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    let d = disk(u);
    return vec3f(d, sqrt(max(1.0 - dot(d, d), 6e-8)));
}
