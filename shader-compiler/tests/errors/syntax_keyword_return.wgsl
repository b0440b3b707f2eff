struct Material {
    kd: vec3f,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    retrun m.kd / 3.14159265;
}
