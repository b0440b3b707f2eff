struct Material {
    /// Diffuse albedo. range: [0, 1]
    kd: vec3f,
}

var wood: sampler2D;

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd;
}
