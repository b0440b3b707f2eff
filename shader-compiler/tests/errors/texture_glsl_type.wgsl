struct Material {
    /// Diffuse albedo. range: [0, 1]
    kd: vec3f,
}

uniform sampler2D wood;

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd;
}
