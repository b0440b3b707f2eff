//! sides: both if transmission
//! cosine: included
//!
//! The material of glTF 2.0 with its extensions, after MaterialX 1.39's graph of BSDFs for `gltf_pbr`.
//! What lies below a layer is scaled by 1 − E, where E is the directional albedo of the
//! layer for the view direction:
//!
//!     s = coat + (1 − E_coat) (sheen + (1 − E_sheen) mix(dielectric, metal, metallic))
//!     dielectric = reflection + (1 − E) mix(diffuse, refraction, transmission)
//!
//! - Facets are Trowbridge–Reitz (GGX), with light that scatters between them, which glTF leaves out,
//!   and Schlick's F. A film follows Belcour and Barla 2017. The coat has the exact F for the index 1.5.
//! - The diffuse base is Lambertian; sheen is that of Estevez and Kulla 2017.
//! - Facets let pass what they do not reflect: with `transmission`, 1 − E is 1 − F at the facet. From
//!   inside, a volume reflects as a dielectric without coat, sheen and specular weights.
//! - With a `thickness` of 0, the surface is a thin wall that lets light pass straight on.
//!
//! What depends on the scene is not here: emission, opacity, and the volume below the surface. As in
//! MaterialX, layers are scaled by the albedo for the view direction and the mean of its channels, so
//! that the BSDF is not reciprocal, and coloured reflection of a high index may gain light.

struct Material {
    /// Albedo of the dielectric base; reflectance of metal at normal incidence; colour of transmitted
    /// light. range: [0, 1], default: 1
    base_color: vec3f,
    /// From a dielectric base, 0, to a metallic one, 1. range: [0, 1], default: 1
    metallic: f32,
    /// Roughness √α. range: [0, 1], default: 1
    roughness: f32,
    /// Share of the light below the surface of a dielectric that is transmitted.
    /// range: [0, 1], default: 0
    transmission: f32,
    /// Weight of the reflection of a dielectric. range: [0, 1], default: 1
    specular: f32,
    /// Tint of this reflection at normal incidence. range: [0, 100], default: 1
    specular_color: vec3f,
    /// Index of refraction. range: [1, 10], default: 1.5
    ior: f32,
    /// Weight of the film. range: [0, 1], default: 0
    iridescence: f32,
    /// Index of refraction of the film. range: [1, 10], default: 1.3
    iridescence_ior: f32,
    /// Thickness of the film in nanometres. range: [0, 10000], default: 100
    iridescence_thickness: f32,
    /// Colour of the sheen. range: [0, 1], default: 0
    sheen_color: vec3f,
    /// Roughness √α of the sheen. range: [0, 1], default: 0
    sheen_roughness: f32,
    /// Weight of the coat. range: [0, 1], default: 0
    clearcoat: f32,
    /// Roughness √α of the coat. range: [0, 1], default: 0
    clearcoat_roughness: f32,
    /// Normal of the coat in the shading frame, of any length. range: [-1, 1], default: (0, 0, 1)
    clearcoat_normal: vec3f,
    /// Thickness of the volume below the surface; 0 is a thin wall. range: [0, inf), default: 0
    thickness: f32,
    /// Stretches highlights along the tangent. range: [0, 1], default: 0
    anisotropy_strength: f32,
    /// Angle in radians from the x axis to that direction. range: [-7, 7], default: 0
    anisotropy_rotation: f32,
}

fn base_alpha(m: Material) -> vec2f {
    let alpha = m.roughness * m.roughness;
    return vec2f(mix(alpha, 1.0, m.anisotropy_strength * m.anisotropy_strength), alpha);
}

fn coat_alpha(m: Material) -> vec2f {
    return vec2f(m.clearcoat_roughness * m.clearcoat_roughness);
}

/// Directions. Only a volume has an inside.
fn directions(wi: vec3f, wo: vec3f, m: Material) -> MxDirections {
    var d = mx_directions(wi, wo);
    d.inside = d.inside && m.transmission > 0.0 && m.thickness > 0.0;
    return d;
}

/// F of the dielectric at normal incidence.
fn dielectric_f0(m: Material) -> vec3f {
    return m.specular * min(m.specular_color * mx_normal_reflectance(m.ior), vec3f(1.0));
}

/// Schlick's F, mixed with that of a film.
fn schlick(d: MxDirections, f0: vec3f, f90: vec3f, film_weight: f32, m: Material) -> MxBsdf {
    let alpha = base_alpha(m);
    let white = vec3f(1.0);
    var s = mx_schlick_bsdf(d, 1.0, f0, white, f90, 5.0, alpha, mx_no_film());
    if film_weight > 0.0 {
        let film = MxFilm(m.iridescence_thickness, m.iridescence_ior);
        let covered = mx_schlick_bsdf(d, 1.0, f0, white, f90, 5.0, alpha, film);
        s = mx_mix_bsdf(s, covered, film_weight);
    }
    return s;
}

fn dielectric(d: MxDirections, turned: MxDirections, m: Material) -> vec3f {
    let is_wall = m.thickness <= 0.0;
    var top = schlick(turned, dielectric_f0(m), vec3f(m.specular), m.iridescence, m);
    var reflected = top.s;
    if m.transmission > 0.0 && d.inside {
        top = mx_dielectric_bsdf(turned, 1.0, vec3f(1.0), m.ior, base_alpha(m), mx_no_film());
        reflected = top.s;
    }
    var s = top.below * mx_oren_nayar_bsdf(d, 1.0, m.base_color, 0.0).s;
    if m.transmission > 0.0 {
        let weight = select(m.specular, 1.0, d.inside);
        let passed =
            mx_transmission(turned, weight, m.ior, base_alpha(m), mx_no_film(), is_wall);
        s = mix(s, m.base_color * passed, m.transmission);
        if is_wall {
            let f = mx_schlick(
                d.cosine_h, dielectric_f0(m), vec3f(1.0), vec3f(m.specular), 5.0, mx_no_film(),
            );
            let facets = mx_facets(turned, base_alpha(m));
            let wall = mx_reflection(turned, facets, mx_wall_fresnel(f));
            reflected = mix(reflected, wall, m.transmission);
        }
    }
    return reflected + s;
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let d = directions(wi, wo, m);
    let turned = mx_turned(d, m.anisotropy_rotation);
    // Conditions, since a lobe with the weight 0 costs as much as any other if it may be infinite.
    var s = vec3f(0.0);
    if m.metallic < 1.0 {
        s = (1.0 - m.metallic) * dielectric(d, turned, m);
    }
    if m.metallic > 0.0 {
        s += m.metallic * schlick(turned, m.base_color, vec3f(1.0), m.iridescence, m).s;
    }
    let sheen_weight = mx_largest(m.sheen_color);
    if sheen_weight > 0.0 {
        let weight = select(sheen_weight, 0.0, d.inside);
        let color = m.sheen_color / max(sheen_weight, 1e-6);
        let sheen = mx_sheen_bsdf(d, weight, color, m.sheen_roughness * m.sheen_roughness);
        s = sheen.s + sheen.below * s;
    }
    if m.clearcoat > 0.0 {
        let c = mx_coat_directions(d, m.clearcoat_normal, 0.0);
        let weight = select(m.clearcoat, 0.0, d.inside);
        let coat = mx_dielectric_bsdf(c, weight, vec3f(1.0), 1.5, coat_alpha(m), mx_no_film());
        s = coat.s + coat.below * s;
    }
    return select(vec3f(0.0), s, min(abs(wi.z), abs(wo.z)) > 1e-9);
}

/// The lobes that are sampled, in proportion to estimates of their albedos.
fn lobes(wo: vec3f, m: Material) -> MxLobes {
    let d = directions(wo, wo, m);
    var p = mx_no_lobes();
    p.base_alpha = base_alpha(m);
    p.base_angle = m.anisotropy_rotation;
    p.ior = m.ior;
    p.is_wall = m.thickness <= 0.0;
    let f = mx_facets(d, p.base_alpha);
    var e = mx_largest(dielectric_f0(m)) * f.a + m.specular * f.b;
    if m.transmission > 0.0 {
        let fresnel = mx_boundary_fresnel(d.cosine_o, m.ior, d.inside, mx_no_film());
        e = select(e, fresnel.x, d.inside);
    }
    e = min(e, 1.0);
    // Films reflect more than the fits, and those may be 0 for smooth facets, but their lobes are not.
    let least = select(0.02, 0.1, m.iridescence > 0.0);
    let dielectric = 1.0 - m.metallic;
    let largest = mx_largest(m.base_color);
    p.base = dielectric * max(e, least * max(m.specular, m.iridescence))
        + m.metallic * max(largest * f.a + f.b, least);
    if m.transmission > 0.0 {
        p.refracted_alpha = p.base_alpha;
        let share = mx_refracted_share(e, p.refracted_alpha);
        p.refracted = dielectric * m.transmission * share * largest;
    }
    let sheen = mx_largest(m.sheen_color);
    p.diffuse = dielectric * (1.0 - m.transmission) * (1.0 - e) * largest
        + sheen * min(mx_sheen_albedo(d.cosine_o, m.sheen_roughness * m.sheen_roughness), 1.0);
    if m.clearcoat > 0.0 {
        p.coat_normal = m.clearcoat_normal;
        p.coat_alpha = coat_alpha(m);
        let facets = mx_facets(mx_coat_directions(d, m.clearcoat_normal, 0.0), p.coat_alpha);
        p.coat = select(m.clearcoat * (0.04 * facets.a + facets.b), 0.0, d.inside);
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
