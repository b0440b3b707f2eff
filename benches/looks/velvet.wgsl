//! cosine: included
//!
//! Fuzz over a diffuse base below a dielectric that reflects nothing.

struct Material {
    /// Albedo. range: [0, 1], default: 0.8
    base_color: vec3f,
    /// Roughness of the diffuse base. range: [0, 1], default: 0
    base_diffuse_roughness: f32,
    /// Colour of the fuzz. range: [0, 1], default: 1
    fuzz_color: vec3f,
    /// Roughness of the fuzz. range: [0, 1], default: 0.5
    fuzz_roughness: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    if wi.z <= 0.0 || wo.z <= 0.0 {
        return vec3f(0.0);
    }
    let cosine_i = max(wi.z, MIN_COSINE);
    let cosine_o = clamp(wo.z, MIN_COSINE, 1.0);
    let below = max(1.0 - facets(vec2f(0.09), cosine_o).b, 0.0);
    let s = below * diffuse(m.base_color, m.base_diffuse_roughness, wi, wo, cosine_i, cosine_o);
    let y = max(m.fuzz_roughness, 0.01);
    let albedo = fuzz_albedo(cosine_o, y);
    let fuzz = albedo * fuzz_lobe(wi, wo, cosine_o, y, cosine_i);
    return fuzz * m.fuzz_color + (1.0 - albedo) * s;
}

/// The probability of the fuzz.
fn fuzz_probability(cosine_o: f32, m: Material) -> f32 {
    let albedo = fuzz_albedo(cosine_o, max(m.fuzz_roughness, 0.01));
    let fuzz = albedo * largest(m.fuzz_color);
    return fuzz / (fuzz + (1.0 - albedo) * largest(m.base_color) + 1e-3);
}

fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    if wi.z <= 0.0 || wo.z <= 0.0 {
        return 0.0;
    }
    let cosine_o = clamp(wo.z, MIN_COSINE, 1.0);
    let p = fuzz_probability(cosine_o, m);
    let fuzz = fuzz_lobe(wi, wo, cosine_o, max(m.fuzz_roughness, 0.01), wi.z);
    return p * fuzz + (1.0 - p) * wi.z * INV_PI;
}

fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    let cosine_o = clamp(wo.z, MIN_COSINE, 1.0);
    let p = fuzz_probability(cosine_o, m);
    let is_fuzz = u.x < p;
    let x = select((u.x - p) / (1.0 - p), u.x / p, is_fuzz);
    let d = disk(vec2f(clamp(x, 0.0, 0.99999994), u.y));
    let diffuse = vec3f(d, sqrt(max(1.0 - dot(d, d), 6e-8)));
    let fuzz = normalize(fuzz_direction(diffuse, wo, cosine_o, max(m.fuzz_roughness, 0.01)));
    return select(diffuse, fuzz, is_fuzz);
}
