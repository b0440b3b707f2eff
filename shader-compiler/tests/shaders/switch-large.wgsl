//! A switch with more cases than are lowered to a chain of ifs.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn weight(k: u32) -> f32 {
    switch k {
        case 0u { return 0.0000; }
        case 1u { return 0.5385; }
        case 2u { return 0.0769; }
        case 3u { return 0.6154; }
        case 4u { return 0.1538; }
        case 5u { return 0.6923; }
        case 6u { return 0.2308; }
        case 7u { return 0.7692; }
        case 8u { return 0.3077; }
        case 9u { return 0.8462; }
        case 10u { return 0.3846; }
        case 11u { return 0.9231; }
        case 12u { return 0.4615; }
        case 13u { return 0.0000; }
        case 14u { return 0.5385; }
        case 15u { return 0.0769; }
        case 16u { return 0.6154; }
        case 17u { return 0.1538; }
        case 18u { return 0.6923; }
        case 19u { return 0.2308; }
        default { return 2.0; }
    }
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd * weight(u32(wi.z * 24.0)) + weight(u32(m.n)) * 0.1;
}
