//! A material that transmits light.
//! sides: both

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let through = wi.z * wo.z < 0.0;
    return select(m.kd, m.kd.zyx * pow(abs(wi.z), m.n), through);
}
