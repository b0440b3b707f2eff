//! Non-square matrices.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let a = mat2x4f(vec4f(wi, 1.0), vec4f(wo, m.n * 0.1));
    let b = mat4x2f(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0);
    let c = b * a;
    let d = transpose(a) * vec4f(m.kd, 1.0);
    return m.kd * abs(determinant(c)) * 0.01 + abs(d.x * d.y) * 0.1;
}
