//! The reflection lobes of Burley 2012, *Physically-based shading at Disney*: a diffuse lobe with
//! retroreflection at grazing angles, its flattened variant for subsurface scattering, sheen, an
//! anisotropic specular lobe, and a clear coat.
//!
//! - With F(x) = (1 − x)⁵, diffuse reflection is mix(1, Fd90, F(cos θi)) mix(1, Fd90, F(cos θo)),
//!   where Fd90 = 1/2 + 2 roughness cos²θd.
//! - Specular microfacets are Trowbridge–Reitz (GTR with the exponent 2) with separable masking;
//!   those of the coat are GTR with the exponent 1 and fixed masking.
//!
//! As in `ggx.wgsl`, nothing is rearranged to help bounds.

const PI = 3.141592653589793;

struct Material {
    /// range: [0, 1], default: 0.8
    base_color: vec3f,
    /// range: [0, 1], default: 0
    metallic: f32,
    /// range: [0, 1], default: 0
    subsurface: f32,
    /// range: [0, 1], default: 0.5
    specular: f32,
    /// range: [0.05, 1], default: 0.5
    roughness: f32,
    /// range: [0, 1], default: 0
    specular_tint: f32,
    /// range: [0, 1], default: 0
    anisotropic: f32,
    /// range: [0, 1], default: 0
    sheen: f32,
    /// range: [0, 1], default: 0.5
    sheen_tint: f32,
    /// range: [0, 1], default: 0
    clearcoat: f32,
    /// range: [0, 1], default: 1
    clearcoat_gloss: f32,
}

fn weight(cosine: f32) -> f32 {
    let c = clamp(1.0 - cosine, 0.0, 1.0);
    return c * c * c * c * c;
}

/// G₁ of a direction over twice its cosine.
fn masking(w: vec3f, alpha: vec2f) -> f32 {
    let x = w.x * alpha.x;
    let y = w.y * alpha.y;
    return 1.0 / (w.z + sqrt(x * x + y * y + w.z * w.z));
}

fn coat_masking(cosine: f32) -> f32 {
    let a2 = 0.25 * 0.25;
    let c2 = cosine * cosine;
    return 1.0 / (cosine + sqrt(a2 + c2 - a2 * c2));
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    if wi.z <= 0.0 || wo.z <= 0.0 {
        return vec3f(0.0);
    }
    let h = normalize(wi + wo);
    let cosine = dot(wi, h);
    let luminance = dot(m.base_color, vec3f(0.3, 0.6, 0.1));
    var tint = vec3f(1.0);
    if luminance > 0.0 {
        tint = m.base_color / luminance;
    }
    let dielectric = m.specular * 0.08 * mix(vec3f(1.0), tint, m.specular_tint);
    let f0 = mix(dielectric, m.base_color, m.metallic);

    // Diffuse reflection and its flattened variant.
    let fi = weight(wi.z);
    let fo = weight(wo.z);
    let grazing = 0.5 + 2.0 * cosine * cosine * m.roughness;
    let diffuse = mix(1.0, grazing, fi) * mix(1.0, grazing, fo);
    let flat_grazing = cosine * cosine * m.roughness;
    let flattened = mix(1.0, flat_grazing, fi) * mix(1.0, flat_grazing, fo);
    let subsurface = 1.25 * (flattened * (1.0 / (wi.z + wo.z) - 0.5) + 0.5);
    let fh = weight(cosine);
    let sheen = fh * m.sheen * mix(vec3f(1.0), tint, m.sheen_tint);

    // Specular reflection.
    let aspect = sqrt(1.0 - 0.9 * m.anisotropic);
    let alpha = max(vec2f(m.roughness * m.roughness / aspect, m.roughness * m.roughness * aspect),
        vec2f(0.001));
    let x = h.x / alpha.x;
    let y = h.y / alpha.y;
    let t = x * x + y * y + h.z * h.z;
    let d = 1.0 / (PI * alpha.x * alpha.y * t * t);
    let f = mix(f0, vec3f(1.0), fh);
    let g = masking(wi, alpha) * masking(wo, alpha);

    // Clear coat.
    let a = mix(0.1, 0.001, m.clearcoat_gloss);
    let a2 = a * a;
    let coat_d = (a2 - 1.0) / (PI * log(a2) * (1.0 + (a2 - 1.0) * h.z * h.z));
    let coat_f = mix(0.04, 1.0, fh);
    let coat_g = coat_masking(wi.z) * coat_masking(wo.z);

    return (mix(diffuse, subsurface, m.subsurface) / PI * m.base_color + sheen) * (1.0 - m.metallic)
        + g * d * f + 0.25 * m.clearcoat * coat_g * coat_f * coat_d;
}
