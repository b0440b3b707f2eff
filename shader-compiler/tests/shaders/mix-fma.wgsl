//! mix and fma.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let a = mix(m.kd, vec3f(0.25), wi.z);
    let b = mix(wi, wo, m.kd);
    return a + abs(fma(b, vec3f(m.n * 0.01), wo)) + mix(0.0, 0.5, abs(wi.x));
}
