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
