struct Material {
    kd: vec3f,
    /// Whether it is thin. range: [0, 1]
    k: bool,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd / 3.14159265;
}
