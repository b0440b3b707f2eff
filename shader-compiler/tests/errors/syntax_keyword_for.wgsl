struct Material {
    kd: vec3f,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    var s = m.kd;
    fro (var i = 0; i < 3; i++) { s *= 0.5; }
    return s;
}
