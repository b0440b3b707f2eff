// BSDFs of MaterialX's physically based shading nodes. Directions are turned so that the view
// direction o is above the surface, and values are s, the BSDF times the cosine of i.

/// What a BSDF scatters, and what it leaves for a BSDF below it.
struct MxBsdf {
    s: vec3f,
    below: vec3f,
}

/// Directions, half vector h and its square, and cosines of at least 1e-6.
struct MxDirections {
    i: vec3f,
    o: vec3f,
    h: vec3f,
    h2: f32,
    cosine_i: f32,
    cosine_o: f32,
    cosine_h: f32,
    // Whether the light is on the side of the viewer, and whether that is the inside.
    reflects: bool,
    inside: bool,
}

fn mx_directions(wi: vec3f, wo: vec3f) -> MxDirections {
    var d: MxDirections;
    let side = select(1.0, -1.0, wo.z < 0.0);
    d.i = side * wi;
    d.o = side * wo;
    d.h = d.i + d.o;
    d.h2 = max(dot(d.h, d.h), 1e-12);
    d.cosine_i = max(d.i.z, 1e-6);
    d.cosine_o = clamp(d.o.z, 1e-6, 1.0);
    d.cosine_h = min(0.5 * sqrt(d.h2), 1.0);
    d.reflects = d.i.z > 0.0;
    d.inside = wo.z < 0.0;
    return d;
}

// Directions in a frame whose x axis is at this angle.
fn mx_turned(d: MxDirections, angle: f32) -> MxDirections {
    var r = d;
    if angle != 0.0 {
        r.i = mx_rotated(d.i, angle);
        r.o = mx_rotated(d.o, angle);
        r.h = r.i + r.o;
    }
    return r;
}

// A direction in a frame that is turned by an angle around the z axis.
fn mx_rotated(w: vec3f, angle: f32) -> vec3f {
    let c = cos(angle);
    let s = sin(angle);
    return vec3f(c * w.x + s * w.y, c * w.y - s * w.x, w.z);
}

fn mx_no_bsdf() -> MxBsdf {
    return MxBsdf(vec3f(0.0), vec3f(1.0));
}

fn mx_layer_bsdf(top: MxBsdf, base: MxBsdf) -> MxBsdf {
    return MxBsdf(top.s + top.below * base.s, top.below * base.below);
}

fn mx_mix_bsdf(bg: MxBsdf, fg: MxBsdf, t: f32) -> MxBsdf {
    return MxBsdf(mix(bg.s, fg.s, t), mix(bg.below, fg.below, t));
}

fn mx_add_bsdf(a: MxBsdf, b: MxBsdf) -> MxBsdf {
    return MxBsdf(a.s + b.s, max(a.below + b.below - 1.0, vec3f(0.0)));
}

fn mx_multiply_bsdf(a: MxBsdf, factor: vec3f) -> MxBsdf {
    return MxBsdf(a.s * factor, a.below);
}

// A lobe that scatters what it receives, or absorbs it.
fn mx_opaque_bsdf(s: vec3f, reflects: bool, weight: f32) -> MxBsdf {
    return MxBsdf(weight * select(vec3f(0.0), s, reflects), vec3f(1.0 - weight));
}

// The qualitative model of Oren and Nayar 1994, with the correction of the specification.
fn mx_oren_nayar_bsdf(d: MxDirections, weight: f32, color: vec3f, roughness: f32) -> MxBsdf {
    let sigma2 = roughness * roughness;
    let a = 1.0 - 0.5 * sigma2 / (sigma2 + 0.33);
    let b = 0.45 * sigma2 / (sigma2 + 0.09);
    let along = dot(d.i.xy, d.o.xy);
    let t = select(0.0, along / max(d.cosine_i, d.cosine_o), along > 0.0);
    let s = color * ((a + b * t) * (d.cosine_i * 0.3183098861837907));
    return mx_opaque_bsdf(s, d.reflects, weight);
}

fn mx_subsurface_bsdf(d: MxDirections, weight: f32, color: vec3f) -> MxBsdf {
    return mx_oren_nayar_bsdf(d, weight, color, 0.0);
}

// Burley 2012, *Physically based shading at Disney*.
fn mx_burley_bsdf(d: MxDirections, weight: f32, color: vec3f, roughness: f32) -> MxBsdf {
    let f90 = 0.5 + 2.0 * roughness * (d.cosine_h * d.cosine_h);
    let fresnel_i = 1.0 + (f90 - 1.0) * mx_pow5(1.0 - min(d.cosine_i, 1.0));
    let fresnel_o = 1.0 + (f90 - 1.0) * mx_pow5(1.0 - d.cosine_o);
    let s = color * (fresnel_i * fresnel_o * (d.cosine_i * 0.3183098861837907));
    return mx_opaque_bsdf(s, d.reflects, weight);
}

fn mx_translucent_bsdf(d: MxDirections, weight: f32, color: vec3f) -> MxBsdf {
    let s = color * (max(-d.i.z, 0.0) * 0.3183098861837907);
    return mx_opaque_bsdf(s, !d.reflects, weight);
}

/// Facets of Trowbridge and Reitz with height-correlated masking for √(αx αy); the albedo for
/// F = F₀ + (1 − F₀)(1 − cos)⁵ is F₀ a + b, and missing is 1/E₁ − 1.
struct MxFacets {
    alpha: vec2f,
    alpha2: f32,
    masking: f32,
    a: f32,
    b: f32,
    missing: f32,
}

// Fits of MaterialX 1.39 (*Rational quadratic fit to Monte Carlo data for GGX directional albedo*).
fn mx_facets(d: MxDirections, roughness: vec2f) -> MxFacets {
    var f: MxFacets;
    f.alpha = clamp(roughness, vec2f(0.001), vec2f(1.0));
    f.alpha2 = f.alpha.x * f.alpha.y;
    let x = d.cosine_o;
    f.masking = sqrt(f.alpha2 + (1.0 - f.alpha2) * (x * x));
    let y = sqrt(f.alpha2);
    let c0 = vec4f(0.1003, 0.9345, 1.0, 1.0)
        + y * (vec4f(9.748, 2.229, 8.263, 15.94) + y * vec4f(-8.245, -0.7684, -7.507, 41.26));
    let c1 = vec4f(-0.6303, -2.323, -1.765, 0.2281)
        + y * (vec4f(-2.038, -3.748, 11.53, -55.83) + y * vec4f(19.99, 0.2913, 15.86, 300.2));
    let c2 = vec4f(29.34, 1.424, 28.96, 13.08)
        + y * (vec4f(-26.44, 1.436, -36.11, 54.9) + y * vec4f(-5.448, 0.6286, 33.37, -285.1));
    let r = c0 + x * (c1 + x * c2);
    f.a = saturate(r.x / r.z);
    f.b = saturate(r.y / r.w);
    f.missing = 1.0 / max(f.a + f.b, 1e-3) - 1.0;
    return f;
}

// The density of facets with the normal h, divided by 2.
fn mx_half_density(d: MxDirections, f: MxFacets) -> f32 {
    let x = d.h.x * f.alpha.y;
    let y = d.h.y * f.alpha.x;
    let z = d.h.z * f.alpha2;
    let ratio = f.alpha2 * d.h2 / (x * x + y * y + z * z);
    return 0.15915494309189535 * f.alpha2 * (ratio * ratio);
}

// The length of a direction after stretching by the roughness.
fn mx_stretched(w: vec3f, alpha: vec2f) -> f32 {
    return sqrt(alpha.x * w.x * (alpha.x * w.x) + alpha.y * w.y * (alpha.y * w.y) + w.z * w.z);
}

// The density of the reflection if visible facets are sampled.
fn mx_mirror_pdf(d: MxDirections, f: MxFacets) -> f32 {
    return mx_half_density(d, f) / (d.cosine_o + mx_stretched(d.o, f.alpha));
}

// The reflection of a perfect mirror.
fn mx_mirror_lobe(d: MxDirections, f: MxFacets) -> f32 {
    let masking = sqrt(1.0 - f.alpha2 + f.alpha2 / (d.cosine_i * d.cosine_i));
    return mx_half_density(d, f) / (d.cosine_o * masking + f.masking);
}

// What facets with these reflectances reflect, with light that scatters between them (Turquin 2019,
// *Practical multiple scattering compensation for microfacet models*).
fn mx_reflection(d: MxDirections, f: MxFacets, fresnel: vec3f) -> vec3f {
    let s = fresnel * (1.0 + f.missing * fresnel) * mx_mirror_lobe(d, f);
    return select(vec3f(0.0), s, d.reflects);
}

fn mx_dielectric_bsdf(
    d: MxDirections,
    weight: f32,
    tint: vec3f,
    ior: f32,
    roughness: vec2f,
    film: MxFilm,
) -> MxBsdf {
    var f = mx_facets(d, roughness);
    // For smooth facets near 85°, fits miss up to 8 % of the albedo, which light that is reflected
    // inside many times would gain.
    let faded = f.missing * min(625.0 * f.alpha2, 1.0);
    f.missing = select(f.missing, faded, d.inside);
    let index = max(ior, 1.0001);
    let fresnel = mx_boundary_fresnel(d.cosine_h, index, d.inside, film);
    let smooth_albedo = mx_boundary_fresnel(d.cosine_o, index, d.inside, mx_no_film());
    let fit = (mx_normal_reflectance(index) * f.a + f.b) * (1.0 + f.missing * fresnel);
    let albedo = min(select(fit, max(fit, smooth_albedo), d.inside), vec3f(1.0));
    return MxBsdf(weight * (tint * mx_reflection(d, f, fresnel)), 1.0 - weight * albedo);
}

/// Refraction by facets (Walter et al. 2007), without the reflectance, and its density if visible
/// facets are sampled; the cosine between facet and o.
struct MxRefraction {
    lobe: f32,
    pdf: f32,
    cosine_o: f32,
}

fn mx_refraction(d: MxDirections, ior: f32, roughness: vec2f) -> MxRefraction {
    let f = mx_facets(d, roughness);
    let index = max(ior, 1.01);
    let index_o = select(1.0, index, d.inside);
    let index_i = select(index, 1.0, d.inside);
    let h = index_i * d.i + index_o * d.o;
    let h2 = max(dot(h, h), 1e-12);
    // Both sum to h², and differ by nᵢ² − nₒ².
    let difference = (index_i - index_o) * (index_i + index_o);
    let along_i = 0.5 * (h2 + difference);
    let along_o = 0.5 * (h2 - difference);
    let connected =
        along_i * h.z * d.i.z > 0.0 && along_o * h.z * d.o.z > 0.0 && !d.reflects;
    let x = h.x * f.alpha.y;
    let y = h.y * f.alpha.x;
    let z = h.z * f.alpha2;
    let scale = f.alpha2 / (x * x + y * y + z * z);
    let density = select(
        0.0,
        0.6366197723675814 * f.alpha2 * abs(along_i * scale) * abs(along_o * scale),
        connected,
    );
    let cosine_i = clamp(-d.i.z, 1e-6, 1.0);
    let masking = sqrt(1.0 - f.alpha2 + f.alpha2 / (cosine_i * cosine_i));
    let ratio = index_o / index_i;
    let lobe = density * ratio / (d.cosine_o * masking + f.masking);
    let pdf = density / (ratio * (d.cosine_o + mx_stretched(d.o, f.alpha)));
    let cosine_o = min(abs(along_o) * inverseSqrt(h2) / index_o, 1.0);
    return MxRefraction(lobe, pdf, cosine_o);
}

// The scatter mode T. It has no reflectance: a layer above scales it.
fn mx_refracting_bsdf(
    d: MxDirections,
    weight: f32,
    tint: vec3f,
    ior: f32,
    roughness: vec2f,
) -> MxBsdf {
    let r = mx_refraction(d, ior, roughness);
    return MxBsdf(tint * (weight * r.lobe), vec3f(1.0 - weight));
}

// The scatter mode RT: facets refract what they do not reflect.
fn mx_glass_bsdf(
    d: MxDirections,
    weight: f32,
    tint: vec3f,
    ior: f32,
    roughness: vec2f,
    film: MxFilm,
) -> MxBsdf {
    let reflection = mx_dielectric_bsdf(d, weight, tint, ior, roughness, film);
    let r = mx_refraction(d, ior, roughness);
    let passes = 1.0 - mx_boundary_fresnel(r.cosine_o, max(ior, 1.01), d.inside, film);
    return MxBsdf(reflection.s + tint * passes * (weight * r.lobe), vec3f(1.0 - weight));
}

fn mx_conductor_bsdf(
    d: MxDirections,
    weight: f32,
    ior: vec3f,
    extinction: vec3f,
    roughness: vec2f,
    film: MxFilm,
) -> MxBsdf {
    let f = mx_facets(d, roughness);
    let fresnel = mx_conductor_fresnel(d.cosine_h, ior, extinction, film);
    return MxBsdf(weight * mx_reflection(d, f, fresnel), vec3f(1.0 - weight));
}

// Below it is the mean of the channels, as in MaterialX.
fn mx_schlick_bsdf(
    d: MxDirections,
    weight: f32,
    color0: vec3f,
    color82: vec3f,
    color90: vec3f,
    exponent: f32,
    roughness: vec2f,
    film: MxFilm,
) -> MxBsdf {
    let f = mx_facets(d, roughness);
    let fresnel = mx_schlick(d.cosine_h, color0, color82, color90, exponent, film);
    let gain = 1.0 + f.missing * fresnel;
    // b is for the exponent 5. The mean of (1 − c)^p over facets with 2c dc is 2/((p + 1)(p + 2)).
    let total = f.a + f.b;
    let share = min(f.b * 42.0 / ((exponent + 1.0) * (exponent + 2.0)), total);
    let fit = color0 * (total - share) + color90 * share;
    let view = mx_tinted_schlick(d.cosine_o, color0, color82, color90, exponent) * total;
    let albedo = select(max(fit, view), fit, exponent == 5.0) * gain;
    let below = max(1.0 - weight * dot(albedo, vec3f(1.0 / 3.0)), 0.0);
    return MxBsdf(weight * mx_reflection(d, f, fresnel), vec3f(below));
}

// The sheen of Estevez and Kulla 2017 with V of Neubelt and Pettineo, and MaterialX's fit of the
// albedo. It is scaled where it would reflect more light than it receives.
fn mx_sheen_bsdf(d: MxDirections, weight: f32, color: vec3f, roughness: f32) -> MxBsdf {
    let alpha = max(roughness, 0.005);
    let inverse = 1.0 / alpha;
    let sin2 = saturate(1.0 - d.h.z * d.h.z / d.h2);
    let lobe = (2.0 + inverse) * pow(sin2, 0.5 * inverse) * 0.15915494309189535;
    let cosines = d.cosine_i + d.cosine_o - d.cosine_i * d.cosine_o;
    let albedo = mx_sheen_albedo(d.cosine_o, roughness);
    let s = color * (lobe * d.cosine_i / (4.0 * cosines * max(albedo, 1.0)));
    let below = 1.0 - weight * min(albedo, 1.0);
    return MxBsdf(weight * select(vec3f(0.0), s, d.reflects), vec3f(below));
}

fn mx_sheen_albedo(cosine: f32, roughness: f32) -> f32 {
    let x = cosine;
    let y = roughness;
    let r = vec2f(13.673, 1.0) + y * (vec2f(799.08825, 442.78211) + y * vec2f(1086.96473, 3045.55075))
        + x * (vec2f(-68.78018, 61.57746) + y * vec2f(-905.00061, 2597.49308)
            + x * vec2f(60.28956, 121.81241));
    return max(r.x / r.y, 0.0);
}
