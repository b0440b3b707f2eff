struct Material {
    kd: vec3f,
}

const exponent: f32 = 50; /// range: [1, 1000]

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd / 3.14159265;
}
