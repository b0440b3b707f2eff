//! Zero-initialized variables and zero-value constructors.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

struct S { a: vec3f, b: array<f32, 2>, c: bool, d: mat2x2f, e: u32 }

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    var s: S;
    let t = S();
    s.a += m.kd;
    s.b[1] += wi.z;
    if t.c || s.e > 0u { return vec3f(1.0); }
    return s.a * s.b[1] + t.a + s.d[1].x + vec3f() + f32();
}
