//! A half vector with Blinn and GGX lobes (Walter et al. 2007), and sines computed from cosines.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Roughness. range: [0.05, 1], default: 0.3
    alpha: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let n = vec3f(0.0, 0.0, 1.0);
    let h = normalize(wi + wo);
    let cos_h = max(dot(n, h), 0.0);
    let cos_d = max(dot(h, wi), 0.0);
    let a2 = m.alpha * m.alpha;
    let t = cos_h * cos_h * (a2 - 1.0) + 1.0;
    let d = a2 / (3.14159265 * t * t);
    let f = 0.04 + 0.96 * pow(1.0 - cos_d, 5.0);
    let exponent = 2.0 / a2;
    let blinn = (exponent + 2.0) * pow(cos_h, exponent);
    let sines = sqrt(max(1.0 - wi.z * wi.z, 0.0)) * sqrt(wo.x * wo.x + wo.y * wo.y);
    return m.kd * (blinn + 0.1 * sines) + d * f;
}
