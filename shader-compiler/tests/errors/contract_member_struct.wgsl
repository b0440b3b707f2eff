struct Lobe {
    k: f32,
}

struct Material {
    kd: vec3f,
    lobe: Lobe,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd / 3.14159265;
}
