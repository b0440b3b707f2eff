//! Arithmetic on signed and unsigned integers.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let a = vec2i(wi.xy * 8.0);
    let b = abs(a.x * 3 - a.y) + max(a.x, -a.y) + clamp(a.y, -2, 5) * sign(a.x);
    let u = min(u32(m.n) * 2654435761u >> 28u, 12u);
    return m.kd * f32(b & 15) / 16.0 + f32(u) * 0.03125 + f32(dot(a, vec2i(1, 2)) & 3) * 0.25;
}
