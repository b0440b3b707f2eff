struct Material {
    kd: vec3f,
    /// Whether it is thin. default: 1
    k: bool,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd / 3.14159265;
}
