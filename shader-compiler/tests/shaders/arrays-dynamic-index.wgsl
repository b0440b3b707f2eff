//! A constant array and a variable array, read and written at dynamic indices.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

const table = array(0.1, 0.2, 0.4, 0.8, 1.6);

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    var bins: array<f32, 4>;
    let k = u32(wi.z * 3.999);
    bins[k] = table[k + 1u];
    bins[i32(wo.z * 3.0)] += 0.5;
    return m.kd * (bins[k] + bins[3] + table[i32(wi.x * 4.0)]);
}
