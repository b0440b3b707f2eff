//! Packed 8-bit integers and their dot products.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let a = pack4xI8Clamp(vec4i(vec4f(wi, 1.0) * 200.0));
    let b = pack4xU8(vec4u(vec4f(m.kd, 1.0) * 255.0));
    let u = unpack4xU8(b);
    let s = unpack4xI8(a);
    return vec3f(u.xyz) / 255.0 + abs(vec3f(s.xyz)) / 1024.0 + f32(abs(dot4I8Packed(a, a)) + i32(dot4U8Packed(b, 0x01010101u))) * 1e-6;
}
