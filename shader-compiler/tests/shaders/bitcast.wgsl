//! Bit casts between floats and integers.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let halved = bitcast<f32>(bitcast<u32>(m.n) - (1u << 23u));
    let rough = bitcast<vec3f>(bitcast<vec3i>(m.kd) & vec3i(-65536));
    return rough * halved * wi.z * 0.05;
}
