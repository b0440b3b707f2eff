//! cosine: included
//!
//! A coat over a mix of metal and a glossy dielectric.

struct Material {
    /// Albedo, and reflectance of the metal. range: [0, 1], default: 0.8
    base_color: vec3f,
    /// Share of the metal. range: [0, 1], default: 0
    base_metalness: f32,
    /// Roughness √α of the base. range: [0, 1], default: 0.3
    specular_roughness: f32,
    /// Weight of the coat. range: [0, 1], default: 1
    coat_weight: f32,
    /// Transmittance of the coat. range: [0, 1], default: 1
    coat_color: vec3f,
    /// Roughness √α of the coat. range: [0, 1], default: 0
    coat_roughness: f32,
}

const COAT_IOR = 1.6;

/// The facets of the base, which the coat widens.
fn base_facets(cosine_o: f32, m: Material) -> Facets {
    let rough2 = square(m.specular_roughness);
    let coat_rough2 = square(m.coat_roughness);
    let widened = sqrt(sqrt(min(rough2 * rough2 + 2.0 * coat_rough2 * coat_rough2, 1.0)));
    let roughness = mix(m.specular_roughness, widened, m.coat_weight);
    return facets(anisotropic(roughness, 0.0), cosine_o);
}

/// The index of the base relative to the coat.
fn base_index(m: Material) -> f32 {
    return mix(1.5, 1.6 / 1.5, m.coat_weight);
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

    let ior = base_index(m);
    let base = base_facets(cosine_o, m);
    let base_lobe = mirror_lobe(base, h, h2, cosine_i);
    let c5 = pow5(1.0 - cosine_h);
    let metal = compensated(mix(m.base_color, vec3f(1.0), c5), base) * base_lobe;
    let fresnel = dielectric_fresnel(cosine_h, ior);
    let gain_d = 1.0 + base.missing * fresnel;
    let below_d = max(1.0 - (normal_reflectance(ior) * base.a + base.b) * gain_d, 0.0);
    let lambert = m.base_color * (INV_PI * cosine_i);
    let dielectric = vec3f(fresnel * gain_d * base_lobe) + below_d * lambert;
    let s = mix(dielectric, metal, m.base_metalness);

    let facets_c = facets(anisotropic(m.coat_roughness, 0.0), cosine_o);
    let coat_f0 = normal_reflectance(COAT_IOR);
    let f = dielectric_fresnel(cosine_h, COAT_IOR);
    let gain = 1.0 + facets_c.missing * f;
    let coat = f * gain * mirror_lobe(facets_c, h, h2, cosine_i);
    let below = max(1.0 - m.coat_weight * (coat_f0 * facets_c.a + facets_c.b) * gain, 0.0);
    let inside = 1.0 - (1.0 - coat_f0) / square(COAT_IOR);
    let darkening = (1.0 - inside) / (1.0 - m.base_color * inside);
    let transmitted = mix(vec3f(1.0), m.coat_color, m.coat_weight)
        * mix(vec3f(1.0), darkening, m.coat_weight);
    return vec3f(m.coat_weight * coat) + (below * transmitted) * s;
}

/// Reflects wo by a visible facet.
fn mirrored(d: vec2f, wo: vec3f, alpha: vec2f) -> vec3f {
    let n = visible_normal(d, wo, alpha);
    return normalize((2.0 * dot(wo, n) / dot(n, n)) * n - wo);
}

/// Probabilities of coat, base and diffuse lobe.
fn probabilities(coat: Facets, base: Facets, m: Material) -> vec3f {
    let f0 = normal_reflectance(base_index(m));
    let e = min(f0 * base.a + base.b, 1.0);
    let color = largest(m.base_color);
    let e_coat = m.coat_weight * (normal_reflectance(COAT_IOR) * coat.a + coat.b);
    let below = (1.0 - e_coat) * largest(mix(vec3f(1.0), m.coat_color, m.coat_weight));
    let facet = mix(e, color * base.a + base.b, m.base_metalness);
    let diffuse = (1.0 - m.base_metalness) * (1.0 - e) * color;
    let weights = vec3f(e_coat, below * facet, below * diffuse + 1e-3);
    return weights / (weights.x + weights.y + weights.z);
}

fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    if wi.z <= 0.0 || wo.z <= 0.0 {
        return 0.0;
    }
    let h = wi + wo;
    let h2 = dot(h, h);
    let cosine_o = clamp(wo.z, MIN_COSINE, 1.0);
    let coat = facets(anisotropic(m.coat_roughness, 0.0), cosine_o);
    let base = base_facets(cosine_o, m);
    let p = probabilities(coat, base, m);
    return p.x * mirror_pdf(coat, h, h2, wo) + p.y * mirror_pdf(base, h, h2, wo)
        + p.z * wi.z * INV_PI;
}

fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    let cosine_o = clamp(wo.z, MIN_COSINE, 1.0);
    let coat = facets(anisotropic(m.coat_roughness, 0.0), cosine_o);
    let base = base_facets(cosine_o, m);
    let p = probabilities(coat, base, m);
    let is_coat = u.x < p.x;
    let is_base = !is_coat && u.x < p.x + p.y;
    let start = select(select(p.x + p.y, p.x, is_base), 0.0, is_coat);
    let width = select(select(p.z, p.y, is_base), p.x, is_coat);
    let d = disk(vec2f(clamp((u.x - start) / max(width, 1e-20), 0.0, 0.99999994), u.y));
    let diffuse = vec3f(d, sqrt(max(1.0 - dot(d, d), 6e-8)));
    let alpha = select(base.alpha, coat.alpha, is_coat);
    return select(diffuse, mirrored(d, wo, alpha), is_coat || is_base);
}
