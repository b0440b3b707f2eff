//! Columns and elements of matrices, at constant and dynamic indices.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    var a = mat3x3f(wi, wo, m.kd);
    let k = u32(wi.z * 2.9);
    a[k] = a[(k + 1u) % 3u];
    a[1][k] = 0.5;
    a[2].y += a[0].z;
    let b = mat2x3f(a[0], a[k]);
    return abs(b[1]) + abs(a[2]) * 0.5;
}
