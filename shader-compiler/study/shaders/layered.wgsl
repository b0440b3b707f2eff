//! Layers as in OpenPBR Surface 1.1 (Academy Software Foundation 2024), reduced to its opaque part: a
//! coat over a mix of metal and glossy diffuse.
//!
//! - All lobes are isotropic GGX with α = roughness² and height-correlated Smith masking, as in
//!   `ggx.wgsl`.
//! - Dielectric interfaces have Schlick's Fresnel term with F₀ = ((η − 1)/(η + 1))².
//! - The metal has the F82-tint model of Kutz, Hašan and Edmondson 2021, *Novel aspects of the Adobe
//!   Standard Material*: F₀ + (1 − F₀)(1 − μ)⁵ − a μ (1 − μ)⁶, which is the tint times Schlick's term
//!   at μ = 1/7.
//! - The diffuse base is Fujii's variant of Oren and Nayar: ρ/π (A + B s/t) with
//!   A = 1/(1 + (1/2 − 2/(3π)) σ), B = σ A, s = wi·wo − cos θi cos θo, and t = max(cos θi, cos θo) if
//!   s > 0, else 1.
//! - An interface attenuates what is below it by 1 − F for both directions, an approximation of
//!   OpenPBR's albedo scaling.
//!
//! As in `ggx.wgsl`, nothing is rearranged to help bounds.

const PI = 3.141592653589793;

struct Material {
    /// range: [0, 1], default: 1
    base_weight: f32,
    /// Albedo of the diffuse base, or reflectance of the metal. range: [0, 1], default: 0.8
    base_color: vec3f,
    /// range: [0, 1], default: 0
    base_diffuse_roughness: f32,
    /// range: [0, 1], default: 0
    base_metalness: f32,
    /// range: [0, 1], default: 1
    specular_weight: f32,
    /// range: [0, 1], default: 1
    specular_color: vec3f,
    /// range: [0.05, 1], default: 0.3
    specular_roughness: f32,
    /// range: [1, 3], default: 1.5
    specular_ior: f32,
    /// range: [0, 1], default: 0.5
    coat_weight: f32,
    /// range: [0, 1], default: 1
    coat_color: vec3f,
    /// range: [0.05, 1], default: 0.1
    coat_roughness: f32,
    /// range: [1, 3], default: 1.6
    coat_ior: f32,
}

fn pow5(x: f32) -> f32 {
    let x2 = x * x;
    return x2 * x2 * x;
}

fn f0_of(ior: f32) -> f32 {
    let r = (ior - 1.0) / (ior + 1.0);
    return r * r;
}

fn schlick(f0: f32, cosine: f32) -> f32 {
    return mix(f0, 1.0, pow5(1.0 - cosine));
}

/// D G₂/(4 cos θi cos θo), with Λ = (√(1 + α² tan²θ) − 1)/2 over a common denominator.
fn lobe(h: vec3f, wi: vec3f, wo: vec3f, roughness: f32) -> f32 {
    let alpha = roughness * roughness;
    let a2 = alpha * alpha;
    let t = 1.0 + (a2 - 1.0) * h.z * h.z;
    let d = a2 / (PI * t * t);
    let si = wo.z * sqrt(a2 + (1.0 - a2) * wi.z * wi.z);
    let so = wi.z * sqrt(a2 + (1.0 - a2) * wo.z * wo.z);
    return d * 0.5 / (si + so);
}

fn metal(m: Material, cosine: f32) -> vec3f {
    let f0 = m.base_weight * m.base_color;
    let edge = f0 + (1.0 - f0) * pow5(6.0 / 7.0);
    let a = edge * (1.0 - m.specular_color) * 17.6513;
    let c = 1.0 - cosine;
    return max(f0 + (1.0 - f0) * pow5(c) - a * (cosine * c * pow5(c)), vec3f(0.0));
}

fn diffuse(m: Material, wi: vec3f, wo: vec3f) -> vec3f {
    let a = 1.0 / (1.0 + (0.5 - 2.0 / (3.0 * PI)) * m.base_diffuse_roughness);
    let b = m.base_diffuse_roughness * a;
    let s = dot(wi, wo) - wi.z * wo.z;
    let shape = a + b * select(s, s / max(wi.z, wo.z), s > 0.0);
    return m.base_weight * m.base_color * (shape / PI);
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    if wi.z <= 0.0 || wo.z <= 0.0 {
        return vec3f(0.0);
    }
    let h = normalize(wi + wo);
    let cosine = clamp(dot(wi, h), 0.0, 1.0);
    let base_lobe = lobe(h, wi, wo, m.specular_roughness);
    let f0 = m.specular_weight * f0_of(m.specular_ior);
    let interior = (1.0 - schlick(f0, saturate(wi.z))) * (1.0 - schlick(f0, saturate(wo.z)));
    let glossy = m.specular_color * (schlick(f0, cosine) * base_lobe) + diffuse(m, wi, wo) * interior;
    let base = mix(glossy, metal(m, cosine) * (m.specular_weight * base_lobe), m.base_metalness);
    let coat_f0 = m.coat_weight * f0_of(m.coat_ior);
    let below = (1.0 - schlick(coat_f0, saturate(wi.z))) * (1.0 - schlick(coat_f0, saturate(wo.z)));
    let tint = mix(vec3f(1.0), m.coat_color, m.coat_weight);
    return m.coat_weight * schlick(f0_of(m.coat_ior), cosine) * lobe(h, wi, wo, m.coat_roughness)
        + tint * below * base;
}
