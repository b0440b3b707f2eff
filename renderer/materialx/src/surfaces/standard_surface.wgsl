//! sides: both if transmission or thin_walled
//! cosine: included
//!
//! Standard surface 1.0.1 (Georgiev et al. 2019, *Autodesk standard surface*), after MaterialX 1.39's
//! graph of BSDFs. What lies below a layer is scaled by 1 − E, where E is the
//! directional albedo of the layer for the view direction:
//!
//!     s = coat + (1 − E_coat) tint · mix(specular + (1 − E_specular) base, metal, metalness)
//!     base = mix(sheen + (1 − E_sheen) mix(diffuse, subsurface, subsurface), refraction, transmission)
//!
//! - The diffuse base is the qualitative model of Oren and Nayar 1994; sheen is that of Estevez and
//!   Kulla 2017.
//! - Facets are Trowbridge–Reitz (GGX), with light that scatters between them. Metal has the complex
//!   index of Gulbrandsen 2014; a thin film follows Belcour and Barla 2017.
//! - Facets let pass what they do not reflect: with `transmission`, 1 − E is 1 − F at the facet. From
//!   inside, a volume reflects without coat, tint and weight.
//! - A thin wall lets light pass straight on, and its subsurface sends all of its light to the other
//!   side.
//!
//! What depends on the scene is not here: emission, opacity, and the volume below the surface, which
//! has the colour `transmission_color` if there is a `transmission_depth`. Subsurface scattering is
//! diffuse reflection. As in MaterialX, layers are scaled by the albedo for the view direction, so that
//! the BSDF is not reciprocal, and anisotropic facets have the masking of isotropic ones.

struct Material {
    /// Weight of the diffuse and metallic base. range: [0, 1], default: 0.8
    base: f32,
    /// Albedo of the diffuse base; reflectance of metal at normal incidence.
    /// range: [0, 1], default: 1
    base_color: vec3f,
    /// Roughness of the diffuse base. range: [0, 1], default: 0
    diffuse_roughness: f32,
    /// From a dielectric base, 0, to a metallic one, 1. range: [0, 1], default: 0
    metalness: f32,
    /// Weight of the dielectric's reflection, and of the colour at the edge of metal.
    /// range: [0, 1], default: 1
    specular: f32,
    /// Tint of the reflection; colour at the edge of metal. range: [0, 1], default: 1
    specular_color: vec3f,
    /// Roughness √α of the base. range: [0, 1], default: 0.2
    specular_roughness: f32,
    /// Index of refraction. range: [1, 10], default: 1.5
    specular_IOR: f32,
    /// Stretches highlights along the tangent. range: [0, 1], default: 0
    specular_anisotropy: f32,
    /// Angle in radians from the x axis to the tangent of the base. range: [-7, 7], default: 0
    specular_rotation: f32,
    /// Share of the dielectric base that transmits light. range: [0, 1], default: 0
    transmission: f32,
    /// Colour of transmitted light. range: [0, 1], default: 1
    transmission_color: vec3f,
    /// Distance in which a volume has this colour; 0 colours light at the surface.
    /// range: [0, inf), default: 0
    transmission_depth: f32,
    /// Added to the roughness for transmitted light. range: [-1, 1], default: 0
    transmission_extra_roughness: f32,
    /// Share of the opaque base with the colour `subsurface_color`. range: [0, 1], default: 0
    subsurface: f32,
    /// Albedo of the subsurface. range: [0, 1], default: 1
    subsurface_color: vec3f,
    /// Weight of the sheen. range: [0, 1], default: 0
    sheen: f32,
    /// Colour of the sheen. range: [0, 1], default: 1
    sheen_color: vec3f,
    /// Roughness of the sheen. range: [0, 1], default: 0.3
    sheen_roughness: f32,
    /// Weight of the coat. range: [0, 1], default: 0
    coat: f32,
    /// Transmittance of the coat. range: [0, 1], default: 1
    coat_color: vec3f,
    /// Roughness √α of the coat. range: [0, 1], default: 0.1
    coat_roughness: f32,
    /// Stretches highlights of the coat along its tangent. range: [0, 1], default: 0
    coat_anisotropy: f32,
    /// Angle in radians from the x axis to the tangent of the coat. range: [-7, 7], default: 0
    coat_rotation: f32,
    /// Index of refraction of the coat. range: [1, 10], default: 1.5
    coat_IOR: f32,
    /// Normal of the coat in the shading frame, of any length. range: [-1, 1], default: (0, 0, 1)
    coat_normal: vec3f,
    /// How much a coat saturates the colours below it. range: [0, 1], default: 0
    coat_affect_color: f32,
    /// How much a rough coat roughens the base. range: [0, 1], default: 0
    coat_affect_roughness: f32,
    /// Thickness of a film on the base in nanometres. range: [0, 10000], default: 0
    thin_film_thickness: f32,
    /// Index of refraction of the film. range: [1, 10], default: 1.5
    thin_film_IOR: f32,
    /// Whether the surface is a thin wall, and does not bound a volume. default: false
    thin_walled: bool,
}

/// Roughness α along both axes.
fn anisotropic(roughness: f32, anisotropy: f32) -> vec2f {
    let aspect = sqrt(1.0 - min(anisotropy, 0.98));
    let alpha = roughness * roughness;
    return vec2f(min(alpha / aspect, 1.0), alpha * aspect);
}

/// Roughness below the coat.
fn covered(roughness: f32, m: Material) -> f32 {
    return mix(roughness, 1.0, m.coat_affect_roughness * m.coat * m.coat_roughness);
}

fn specular_alpha(m: Material) -> vec2f {
    return anisotropic(covered(m.specular_roughness, m), m.specular_anisotropy);
}

fn transmission_alpha(m: Material) -> vec2f {
    let roughness = saturate(m.specular_roughness + m.transmission_extra_roughness);
    return anisotropic(covered(roughness, m), m.specular_anisotropy);
}

/// A colour below the coat.
fn saturated(color: vec3f, m: Material) -> vec3f {
    if m.coat > 0.0 && m.coat_affect_color > 0.0 {
        return pow(color, vec3f(1.0 + m.coat * m.coat_affect_color));
    }
    return color;
}

fn film(m: Material) -> MxFilm {
    return MxFilm(m.thin_film_thickness, m.thin_film_IOR);
}

/// Whether facets of the dielectric scatter light.
fn has_specular(m: Material) -> bool {
    return m.specular > 0.0 || m.transmission > 0.0;
}

/// Weight and tint of the dielectric's reflection, which are 1 inside of a volume.
fn specular_weight(inside: bool, m: Material) -> f32 {
    return select(m.specular, 1.0, inside);
}

fn specular_tint(inside: bool, m: Material) -> vec3f {
    return select(m.specular_color, vec3f(1.0), inside);
}

/// The colour of light that passes the surface.
fn transmittance(m: Material) -> vec3f {
    return select(m.transmission_color, vec3f(1.0), m.transmission_depth > 0.0 && !m.thin_walled);
}

/// Directions. Only a volume has an inside.
fn directions(wi: vec3f, wo: vec3f, m: Material) -> MxDirections {
    var d = mx_directions(wi, wo);
    d.inside = d.inside && m.transmission > 0.0 && !m.thin_walled;
    return d;
}

/// The opaque base without metal.
fn opaque_base(d: MxDirections, m: Material) -> MxBsdf {
    var base = mx_oren_nayar_bsdf(d, m.base, saturated(m.base_color, m), m.diffuse_roughness);
    if m.subsurface > 0.0 {
        let color = saturated(m.subsurface_color, m);
        var subsurface = mx_subsurface_bsdf(d, 1.0, color);
        if m.thin_walled {
            subsurface = mx_translucent_bsdf(d, 1.0, color);
        }
        base = mx_mix_bsdf(base, subsurface, m.subsurface);
    }
    if m.sheen > 0.0 {
        let weight = select(m.sheen, 0.0, d.inside);
        let sheen = mx_sheen_bsdf(d, weight, m.sheen_color, m.sheen_roughness);
        base = mx_layer_bsdf(sheen, base);
    }
    return base;
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let d = directions(wi, wo, m);
    let turned = mx_turned(d, m.specular_rotation);
    let alpha = specular_alpha(m);
    let is_wall = m.thin_walled;
    // Conditions, since a lobe with the weight 0 costs as much as any other if it may be infinite.
    var s = vec3f(0.0);
    if m.metalness < 1.0 {
        s = opaque_base(d, m).s;
        if has_specular(m) {
            let weight = specular_weight(d.inside, m);
            let tint = specular_tint(d.inside, m);
            let top = mx_dielectric_bsdf(turned, weight, tint, m.specular_IOR, alpha, film(m));
            s = top.below * s;
            var reflected = top.s;
            if m.transmission > 0.0 {
                let passed = mx_transmission(
                    turned, weight, m.specular_IOR, transmission_alpha(m), film(m), is_wall,
                );
                s = mix(s, transmittance(m) * passed, m.transmission);
                if is_wall {
                    let f = mx_boundary_fresnel(d.cosine_h, m.specular_IOR, false, film(m));
                    let facets = mx_facets(turned, alpha);
                    let wall = mx_reflection(turned, facets, mx_wall_fresnel(f));
                    reflected = mix(reflected, weight * tint * wall, m.transmission);
                }
            }
            s = reflected + s;
        }
        s *= 1.0 - m.metalness;
    }
    if m.metalness > 0.0 {
        let index = mx_artistic_index(m.base * m.base_color, m.specular * m.specular_color);
        let metal = mx_conductor_bsdf(turned, 1.0, index.n, index.k, alpha, film(m));
        s += metal.s * m.metalness;
    }
    if m.coat > 0.0 {
        let c = mx_coat_directions(d, m.coat_normal, m.coat_rotation);
        let alpha_c = anisotropic(m.coat_roughness, m.coat_anisotropy);
        let weight = select(m.coat, 0.0, d.inside);
        let coat = mx_dielectric_bsdf(c, weight, vec3f(1.0), m.coat_IOR, alpha_c, mx_no_film());
        let is_below = d.inside && d.reflects;
        let tint = select(mix(vec3f(1.0), m.coat_color, m.coat), vec3f(1.0), is_below);
        s = coat.s + coat.below * tint * s;
    }
    return select(vec3f(0.0), s, min(abs(wi.z), abs(wo.z)) > 1e-9);
}

/// The lobes that are sampled, in proportion to estimates of their albedos.
fn lobes(wo: vec3f, m: Material) -> MxLobes {
    let d = directions(wo, wo, m);
    var p = mx_no_lobes();
    p.base_alpha = specular_alpha(m);
    p.base_angle = m.specular_rotation;
    p.ior = m.specular_IOR;
    p.is_wall = m.thin_walled;
    let f = mx_facets(d, p.base_alpha);
    let fresnel = mx_boundary_fresnel(d.cosine_o, m.specular_IOR, d.inside, mx_no_film());
    let fit = mx_normal_reflectance(m.specular_IOR) * f.a + f.b;
    let weight = specular_weight(d.inside, m);
    let e = min(weight * select(fit, max(fit, fresnel.x), d.inside), 1.0);
    // Films reflect more than the fits, and those may be 0 for smooth facets, but their lobes are not.
    let least = select(0.02, 0.1, m.thin_film_thickness > 0.0);
    let dielectric = 1.0 - m.metalness;
    if has_specular(m) {
        let tint = mx_largest(specular_tint(d.inside, m));
        p.base = dielectric * tint * max(e, least * weight);
    }
    if m.metalness > 0.0 {
        p.base += m.metalness * max(m.base * mx_largest(m.base_color) * f.a + f.b, least);
    }
    if m.transmission > 0.0 {
        p.refracted_alpha = transmission_alpha(m);
        let share = mx_refracted_share(e, p.refracted_alpha);
        p.refracted = dielectric * m.transmission * share * mx_largest(transmittance(m));
    }
    let opaque = dielectric * (1.0 - m.transmission) * (1.0 - e);
    let subsurface = m.subsurface * mx_largest(m.subsurface_color);
    let diffuse = (1.0 - m.subsurface) * m.base * mx_largest(m.base_color);
    let sheen_albedo = min(mx_sheen_albedo(d.cosine_o, m.sheen_roughness), 1.0);
    let sheen = m.sheen * mx_largest(m.sheen_color) * sheen_albedo;
    p.diffuse = opaque * (diffuse + select(subsurface, 0.0, m.thin_walled) + sheen);
    p.transmitted = opaque * select(0.0, subsurface, m.thin_walled);
    if m.coat > 0.0 {
        p.coat_normal = m.coat_normal;
        p.coat_angle = m.coat_rotation;
        p.coat_alpha = anisotropic(m.coat_roughness, m.coat_anisotropy);
        let c = mx_coat_directions(d, m.coat_normal, m.coat_rotation);
        let facets = mx_facets(c, p.coat_alpha);
        let weight = select(m.coat, 0.0, d.inside);
        p.coat = weight * (mx_normal_reflectance(m.coat_IOR) * facets.a + facets.b);
        let below = (1.0 - p.coat) * mx_largest(mix(vec3f(1.0), m.coat_color, weight));
        p.base *= below;
        p.refracted *= below;
        p.diffuse *= below;
        p.transmitted *= below;
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
