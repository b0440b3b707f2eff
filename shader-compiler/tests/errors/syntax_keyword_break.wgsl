struct Material {
    kd: vec3f,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    var s = m.kd;
    loop { if s.x < 0.1 { brake; } s *= 0.5; }
    return s;
}
