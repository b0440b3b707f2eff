//! Packed floats of reduced precision.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let color = unpack4x8unorm(pack4x8unorm(vec4f(m.kd, 1.0)));
    let normal = unpack2x16snorm(pack2x16snorm(wi.xy));
    let coarse = unpack4x8snorm(pack4x8snorm(vec4f(wo, 0.0)));
    let half = unpack2x16float(pack2x16float(vec2f(m.n, wi.z)));
    let fine = unpack2x16unorm(pack2x16unorm(abs(wo.xy)));
    return color.xyz * half.x * 0.01 + abs(coarse.xyz) * 0.25 + abs(normal.x) * fine.y + half.y * 0.125;
}
