//! Shifts by constant and dynamic amounts.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let n = u32(m.n) & 31u;
    let a = (1u << n) >> (n / 2u);
    let b = i32(wi.x * 1024.0) >> 3u;
    let c = vec2i(wo.xy * 64.0) << vec2u(1u, 2u);
    return m.kd * log2(f32(a) + 1.0) * 0.05 + abs(f32(b)) * 0.001 + f32((c.x ^ c.y) & 255) * 0.001;
}
