struct Material {
    kd: vec3f,
    lobes: array<f32, 3>,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd / 3.14159265;
}
