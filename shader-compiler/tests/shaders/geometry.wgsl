//! Geometric functions of vectors.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let n = vec3f(0.0, 0.0, 1.0);
    let h = normalize(wi + wo);
    let t = normalize(cross(n, h + vec3f(0.5, 0.25, 0.0)));
    let f = faceForward(t, wi, h);
    return m.kd * (length(wi.xy) + distance(wi, wo)) + abs(dot(f, wo)) * 0.5;
}
