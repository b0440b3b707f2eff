//! sides: both if transparency
//! cosine: included
//!
//! `UsdPreviewSurface` (Pixar, *UsdPreviewSurface specification* 2.6), after MaterialX 1.39's graph of
//! BSDFs. What lies below a layer is scaled by 1 − E, where E is the directional
//! albedo of the layer for the view direction:
//!
//!     s = coat + (1 − E_coat) mix(reflection + (1 − E) base, metal, metallic)
//!     base = mix(diffuse, refraction, transparency)
//!
//! - Facets are Trowbridge–Reitz (GGX), with light that scatters between them, and Schlick's F. Metal
//!   has the complex index of Gulbrandsen 2014.
//! - The transmitted lobe is smooth, whatever `roughness` is. From inside, the surface is a smooth
//!   dielectric.
//!
//! What depends on the scene is not here: emission, and the opacity mask. As in MaterialX, layers are
//! scaled by the albedo for the view direction and the mean of its channels, so that the BSDF is not
//! reciprocal.

struct Material {
    /// Albedo of the diffuse base; reflectance of metal at normal incidence, and at the edge.
    /// range: [0, 1], default: 0.18
    diffuseColor: vec3f,
    /// Whether to use `specularColor` instead of `metallic`. default: false
    useSpecularWorkflow: bool,
    /// Reflectance at normal incidence. range: [0, 1], default: 0
    specularColor: vec3f,
    /// From a dielectric base, 0, to a metallic one, 1. range: [0, 1], default: 0
    metallic: f32,
    /// Roughness √α. range: [0, 1], default: 0.5
    roughness: f32,
    /// Weight of the coat. range: [0, 1], default: 0
    clearcoat: f32,
    /// Roughness √α of the coat. range: [0, 1], default: 0.01
    clearcoatRoughness: f32,
    /// Share of the light below the surface that is transmitted. range: [0, 1], default: 0
    transparency: f32,
    /// Index of refraction, also of the coat. range: [1, 10], default: 1.5
    ior: f32,
}

fn specular_alpha(m: Material) -> vec2f {
    return vec2f(m.roughness * m.roughness);
}

fn coat_alpha(m: Material) -> vec2f {
    return vec2f(m.clearcoatRoughness * m.clearcoatRoughness);
}

/// Directions. Only a volume has an inside.
fn directions(wi: vec3f, wo: vec3f, m: Material) -> MxDirections {
    var d = mx_directions(wi, wo);
    d.inside = d.inside && m.transparency > 0.0;
    return d;
}

/// The share of metal.
fn metalness(m: Material) -> f32 {
    return select(m.metallic, 0.0, m.useSpecularWorkflow);
}

/// Reflectances at normal incidence and at 90°.
fn f0(m: Material) -> vec3f {
    let tint = mix(vec3f(1.0), m.diffuseColor, m.metallic);
    let mixed = mix(tint * mx_normal_reflectance(m.ior), tint, m.metallic);
    return select(mixed, m.specularColor, m.useSpecularWorkflow);
}

fn f90(m: Material) -> vec3f {
    let tint = mix(vec3f(1.0), m.diffuseColor, m.metallic);
    return select(tint, vec3f(1.0), m.useSpecularWorkflow);
}

/// The base that is not metal.
fn dielectric(d: MxDirections, m: Material) -> vec3f {
    let weight = select(1.0 - m.metallic, 1.0, m.useSpecularWorkflow);
    let alpha = specular_alpha(m);
    let white = vec3f(1.0);
    var top = mx_schlick_bsdf(d, 1.0, f0(m), white, f90(m), 5.0, alpha, mx_no_film());
    var s = mx_oren_nayar_bsdf(d, weight, m.diffuseColor, 0.0).s;
    if m.transparency > 0.0 {
        if d.inside {
            top = mx_dielectric_bsdf(d, 1.0, white, m.ior, vec2f(0.0), mx_no_film());
        }
        let passed = mx_transmission(d, 1.0, m.ior, vec2f(0.0), mx_no_film(), false);
        s = mix(top.below * s, passed, m.transparency);
    } else {
        s = top.below * s;
    }
    return top.s + s;
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let d = directions(wi, wo, m);
    // Conditions, since a lobe with the weight 0 costs as much as any other if it may be infinite.
    var s = vec3f(0.0);
    if metalness(m) < 1.0 {
        s = (1.0 - metalness(m)) * dielectric(d, m);
    }
    if metalness(m) > 0.0 {
        let index = mx_artistic_index(m.diffuseColor, m.diffuseColor);
        let alpha = specular_alpha(m);
        s += metalness(m) * mx_conductor_bsdf(d, 1.0, index.n, index.k, alpha, mx_no_film()).s;
    }
    if m.clearcoat > 0.0 {
        let reflectance = vec3f(mx_normal_reflectance(m.ior));
        let weight = select(m.clearcoat, 0.0, d.inside);
        let white = vec3f(1.0);
        let coat = mx_schlick_bsdf(
            d, weight, reflectance, white, white, 5.0, coat_alpha(m), mx_no_film(),
        );
        s = coat.s + coat.below * s;
    }
    return select(vec3f(0.0), s, min(abs(wi.z), abs(wo.z)) > 1e-9);
}

/// The lobes that are sampled, in proportion to estimates of their albedos.
fn lobes(wo: vec3f, m: Material) -> MxLobes {
    let d = directions(wo, wo, m);
    var p = mx_no_lobes();
    p.base_alpha = specular_alpha(m);
    p.ior = m.ior;
    let f = mx_facets(d, p.base_alpha);
    let dielectric = 1.0 - metalness(m);
    let largest = mx_largest(m.diffuseColor);
    var e = min(mx_largest(f0(m)) * f.a + mx_largest(f90(m)) * f.b, 1.0);
    if m.transparency > 0.0 {
        let fresnel = mx_boundary_fresnel(d.cosine_o, m.ior, d.inside, mx_no_film());
        e = select(e, fresnel.x, d.inside);
        p.base_alpha = select(p.base_alpha, vec2f(0.0), d.inside && metalness(m) <= 0.0);
        p.refracted_alpha = vec2f(0.0);
        let share = mx_refracted_share(e, p.refracted_alpha);
        p.refracted = dielectric * m.transparency * share;
    }
    // Fits may be 0 for smooth facets, but their lobes are not.
    p.base = dielectric * max(e, 0.02) + metalness(m) * max(largest * f.a + f.b, 0.02);
    p.diffuse = dielectric * (1.0 - m.transparency) * (1.0 - e) * largest;
    if m.clearcoat > 0.0 {
        p.coat_alpha = coat_alpha(m);
        let facets = mx_facets(d, p.coat_alpha);
        let albedo = mx_normal_reflectance(m.ior) * facets.a + facets.b;
        p.coat = select(m.clearcoat * albedo, 0.0, d.inside);
        p.base *= 1.0 - p.coat;
        p.refracted *= 1.0 - p.coat;
        p.diffuse *= 1.0 - p.coat;
    }
    p.diffuse += 1e-3;
    return p;
}

fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    return mx_lobes_pdf(wi, wo, lobes(wo, m));
}

fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    return mx_lobes_sample(u, wo, lobes(wo, m));
}
