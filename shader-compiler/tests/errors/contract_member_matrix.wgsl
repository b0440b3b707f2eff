struct Material {
    kd: vec3f,
    frame: mat3x3f,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd / 3.14159265;
}
