//! Reflected and refracted directions.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let n = vec3f(0.0, 0.0, 1.0);
    let r = reflect(-wi, n);
    let t = refract(-wi, n, 1.0 / 1.5);
    let inside = refract(t, n, 1.5);
    return m.kd * pow(max(dot(r, wo), 0.0), m.n) + abs(t) * 0.125 + abs(inside) * 0.0625;
}
