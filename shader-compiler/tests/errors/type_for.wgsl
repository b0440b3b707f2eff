struct Material {
    /// Diffuse albedo. range: [0, 1]
    kd: vec3f,
    /// Specular exponent. range: [1, 10000], default: 50
    exponent: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    for (var k = 0; k; k++) {
    }
    return wo;
}
